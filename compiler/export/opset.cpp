#include "compiler/export/opset.hpp"

#include <algorithm>
#include <set>

#include "compiler/ir/builder.hpp"
#include "compiler/ir/topology.hpp"

namespace tessera::compiler {
namespace {

/// Opset in which an operator of ONNX came after 13, or in which it takes the types used here.
std::int64_t needed_opset(const Graph& graph, const Node& node) {
  static const std::map<std::string, std::int64_t> born = {
      {"Bernoulli", 15},  {"CastLike", 15}, {"BitwiseAnd", 18},        {"BitwiseNot", 18},         {"BitwiseOr", 18},
      {"BitwiseXor", 18}, {"Gelu", 20},     {"GridSample", 16},        {"GroupNormalization", 18}, {"HardSwish", 14},
      {"Mish", 18},       {"Trilu", 14},    {"LayerNormalization", 17}};
  if (node.op == "QuantizeLinear" || node.op == "DequantizeLinear") {
    const bool to_integer = node.op == "QuantizeLinear";
    const bool has_zero_point = node.inputs.size() > 2 && !node.inputs[2].empty();
    const DType type =
        has_zero_point ? graph.dtype_of(node.inputs[2]) : graph.dtype_of(to_integer ? node.outputs[0] : node.inputs[0]);
    return type == DType::i16 || type == DType::u16 ? 21 : 13;
  }
  if (node.op == "Reshape" && node.attributes.count("allowzero") != 0) return 14;
  if (node.op == "Shape" && (node.attributes.count("start") != 0 || node.attributes.count("end") != 0)) return 15;
  if (node.op == "Pad" && node.inputs.size() > 3) return 18;
  if (node.op == "Resize" && node.attributes.count("axes") + node.attributes.count("antialias") != 0) return 18;
  if (node.op == "Split" && node.attributes.count("num_outputs") != 0) return 18;
  if (node.op.rfind("Reduce", 0) == 0 && node.op != "ReduceSum" && node.inputs.size() > 1) return 18;
  if (node.op == "AveragePool" && node.attributes.count("dilations") != 0) return 19;
  const auto it = born.find(node.op);
  return it == born.end() ? 13 : it->second;
}

}  // namespace

std::int64_t export_opset(const Graph& graph) {
  std::int64_t opset = std::max<std::int64_t>(graph.opset, 13);
  for (const Node& node : graph.nodes) {
    if (node.domain.empty()) opset = std::max(opset, needed_opset(graph, node));
  }
  return opset;
}

std::vector<Node> nodes_for_opset(const Graph& graph, std::int64_t opset, std::map<std::string, Tensor>& constants) {
  std::vector<Node> nodes = graph.nodes;
  if (opset < 18) return nodes;
  for (Node& node : nodes) {
    if (!node.domain.empty()) continue;
    const bool reduces = node.op.rfind("Reduce", 0) == 0 && node.op != "ReduceSum";
    if (const auto axes = node.attributes.find("axes"); reduces && axes != node.attributes.end()) {
      const Ints list = node.ints_attr("axes", {});
      const std::string name = unique_name(graph, node.name + "/axes");
      constants[name] = int64_tensor({static_cast<std::int64_t>(list.size())}, list);
      node.inputs.resize(1);
      node.inputs.push_back(name);
      node.attributes.erase(axes);
    }
    if (node.op == "Split" && (node.inputs.size() < 2 || node.inputs[1].empty())) {
      node.inputs.resize(1);
      node.attributes["num_outputs"] = static_cast<std::int64_t>(node.outputs.size());
    }
  }
  return nodes;
}

}  // namespace tessera::compiler
