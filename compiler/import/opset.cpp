#include "compiler/import/opset.hpp"

#include <algorithm>
#include <iterator>

#include "compiler/ir/builder.hpp"
#include "compiler/ir/topology.hpp"
#include "hw/common/error.hpp"

namespace tessera::compiler {

std::string OpsetContext::constant(const Node& node, const std::string& role, Tensor tensor) {
  // A name with the node's own in it meets others only in odd files; those get a number.
  std::string name = node.name + "/" + role;
  if (graph.constants.count(name) + graph.values.count(name) != 0) name = unique_name(graph, name);
  graph.constants.emplace(name, std::move(tensor));
  return name;
}

void OpsetContext::refuse(const Node& node, const std::string& text) const {
  user_error("node '", node.name, "' (", node.op, ", opset ", opset, "): ", text);
}

namespace opset_rules_detail {

void attribute_to_input(Node& node, OpsetContext& context, const std::string& key, std::size_t position) {
  const auto it = node.attributes.find(key);
  if (it == node.attributes.end()) return;
  const Ints values = node.ints_attr(key, {});
  if (node.inputs.size() <= position) node.inputs.resize(position + 1);
  node.inputs[position] = context.constant(node, key, int64_tensor({static_cast<std::int64_t>(values.size())}, values));
  node.attributes.erase(key);
}

namespace {

void axes_to_input(Node& node, OpsetContext& context) { attribute_to_input(node, context, "axes", 1); }

void split_to_input(Node& node, OpsetContext& context) { attribute_to_input(node, context, "split", 1); }

void slice_to_inputs(Node& node, OpsetContext& context) {
  if (node.attributes.count("starts") == 0 || node.attributes.count("ends") == 0) {
    context.refuse(node, "expected the attributes starts and ends");
  }
  attribute_to_input(node, context, "starts", 1);
  attribute_to_input(node, context, "ends", 2);
  attribute_to_input(node, context, "axes", 3);
}

void pad_to_inputs(Node& node, OpsetContext& context) {
  if (node.attributes.count("pads") == 0) context.refuse(node, "expected the attribute pads");
  attribute_to_input(node, context, "pads", 1);
  if (node.attributes.count("value") != 0) {
    node.inputs.resize(3);
    node.inputs[2] = context.constant(node, "value", float_tensor({}, {node.float_attr("value", 0.0F)}));
    node.attributes.erase("value");
  }
}

void topk_to_input(Node& node, OpsetContext& context) {
  const std::int64_t k = node.int_attr("k", -1);
  if (k < 0) context.refuse(node, "expected the attribute k");
  node.inputs.resize(2);
  node.inputs[1] = context.constant(node, "k", int64_tensor({1}, {k}));
  node.attributes.erase("k");
}

/// Opset 18 moved the axes of every reduction but ReduceSum to an input; a constant goes back to the attribute.
void reduce_axes_to_attribute(Node& node, OpsetContext& context) {
  const std::int64_t noop = node.int_attr("noop_with_empty_axes", 0);
  const bool given = node.inputs.size() > 1 && !node.inputs[1].empty();
  if (given) {
    const auto axes = context.graph.constants.find(node.inputs[1]);
    if (axes == context.graph.constants.end()) return;  // the shape function reads it after folding
    const Ints values = axes->second.as_ints();
    node.inputs.resize(1);
    node.attributes.erase("noop_with_empty_axes");
    if (!values.empty() || noop == 0) node.attributes["axes"] = values;
    if (values.empty() && noop != 0) node = Node{node.name, "Identity", "", {node.inputs[0]}, node.outputs, {}, {}};
    if (values.empty() && noop == 0) node.attributes.erase("axes");
  } else if (noop != 0) {
    node = Node{node.name, "Identity", "", {node.inputs.at(0)}, node.outputs, {}, {}};
  } else {
    node.attributes.erase("noop_with_empty_axes");
  }
}

}  // namespace
}  // namespace opset_rules_detail

const std::vector<OpsetRule>& opset_rules() {
  using namespace opset_rules_detail;
  static const std::vector<OpsetRule> rules = [] {
    std::vector<OpsetRule> list = {
        {"Squeeze", 7, 12, "axes move from the attribute to input 1", axes_to_input},
        {"Unsqueeze", 7, 12, "axes move from the attribute to input 1", axes_to_input},
        {"ReduceSum", 7, 12, "axes move from the attribute to input 1", axes_to_input},
        {"Split", 7, 12, "split moves from the attribute to input 1", split_to_input},
        {"Slice", 7, 9, "starts, ends and axes move from attributes to inputs", slice_to_inputs},
        {"Pad", 7, 10, "pads and value move from attributes to inputs", pad_to_inputs},
        {"TopK", 7, 9, "k moves from the attribute to input 1", topk_to_input},
        {"Clip", 7, 10, "min and max move from attributes to inputs", clip_limits},
        {"Upsample", 7, 9, "becomes Resize with asymmetric coordinates, rounded down", upsample},
        {"Resize", 10, 10, "asymmetric coordinates, rounded down; scales become input 2", resize_10},
        {"BatchNormalization", 7, 8, "spatial = 1 is dropped, spatial = 0 is refused", batch_norm_8},
        {"BatchNormalization", 7, 21, "training outputs and training_mode are refused", batch_norm_training},
        {"Dropout", 7, 11, "ratio is dropped: inference passes its input on", dropout_attribute},
        {"Dropout", 12, 21, "training with a ratio other than 0 is refused; ratio and mode are dropped",
         dropout_training},
        {"Softmax", 7, 12, "works on the input coerced to 2-D, axis 1 by default", softmax_2d},
        {"LogSoftmax", 7, 12, "works on the input coerced to 2-D, axis 1 by default", softmax_2d},
        {"Hardmax", 7, 12, "works on the input coerced to 2-D, axis 1 by default", softmax_2d},
        {"QuantizeLinear", 21, 21, "output_dtype becomes a zero point of 0 of that type; blocks of scales are refused",
         quantize_21},
        {"DequantizeLinear", 21, 21, "blocks of scales are refused", quantize_21},
        {"Sum", 7, 21, "becomes Add, several for more than two inputs, Identity for one", sum_to_adds},
    };
    for (const char* op : {"ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum",
                           "ReduceLogSumExp", "ReduceSumSquare"}) {
      list.push_back({op, 18, 21, "constant axes move from input 1 to the attribute", reduce_axes_to_attribute});
    }
    return list;
  }();
  return rules;
}

std::vector<Node> to_opset13(Node node, Graph& graph, std::int64_t opset) {
  OpsetContext context{graph, opset, {}};
  if (node.domain.empty()) {
    if (opset < 7) opset_rules_detail::from_before_7(node, context);
    opset = std::max<std::int64_t>(opset, 7);
    const std::string op = node.op;  // a rule may rename it
    for (const OpsetRule& rule : opset_rules()) {
      if (op == rule.op && opset >= rule.first && opset <= rule.last) {
        if (node.inputs.empty() || node.inputs[0].empty() || node.outputs.empty()) {
          context.refuse(node, "expected at least one input and one output");
        }
        rule.apply(node, context);
      }
    }
  }
  std::vector<Node> result = std::move(context.before);
  result.push_back(std::move(node));
  return result;
}

}  // namespace tessera::compiler
