// Opset differences of activation, normalisation and resampling operators.
#include <limits>

#include "compiler/import/opset.hpp"
#include "compiler/import/tensor.hpp"
#include "compiler/ir/builder.hpp"
#include "compiler/ir/marks.hpp"

namespace tessera::compiler::opset_rules_detail {

void clip_limits(Node& node, OpsetContext& context) {
  node.inputs.resize(3);
  const auto move = [&](const char* key, std::size_t position) {
    if (node.attributes.count(key) == 0) return;
    node.inputs[position] = context.constant(node, key, float_tensor({}, {node.float_attr(key, 0.0F)}));
    node.attributes.erase(key);
  };
  move("min", 1);
  move("max", 2);
  while (node.inputs.back().empty()) node.inputs.pop_back();
}

namespace {

void old_resampling(Node& node, const std::string& scales) {
  node.op = "Resize";
  node.inputs = {node.inputs[0], "", scales};
  node.attributes["coordinate_transformation_mode"] = std::string("asymmetric");
  node.attributes["nearest_mode"] = std::string("floor");
  if (node.attributes.count("mode") == 0) node.attributes["mode"] = std::string("nearest");
}

}  // namespace

void upsample(Node& node, OpsetContext& context) {
  if (node.inputs.size() > 1) return old_resampling(node, node.inputs[1]);
  const auto it = node.attributes.find("scales");
  const auto* scales = it == node.attributes.end() ? nullptr : std::get_if<std::vector<float>>(&it->second);
  if (scales == nullptr) context.refuse(node, "expected scales as input 1 or as a list of numbers in an attribute");
  const auto rank = static_cast<std::int64_t>(scales->size());
  const std::string name = context.constant(node, "scales", float_tensor({rank}, *scales));
  node.attributes.erase("scales");
  old_resampling(node, name);
}

void resize_10(Node& node, OpsetContext& context) {
  if (node.inputs.size() != 2) context.refuse(node, "expected two inputs, X and scales");
  old_resampling(node, node.inputs[1]);
}

void batch_norm_8(Node& node, OpsetContext& context) {
  if (node.int_attr("spatial", 1) != 1) context.refuse(node, "spatial = 0 is not supported: expected spatial = 1");
  node.attributes.erase("spatial");
}

void batch_norm_training(Node& node, OpsetContext& context) {
  bool trains = node.int_attr("training_mode", 0) != 0;
  for (std::size_t i = 1; i < node.outputs.size(); ++i) trains = trains || !node.outputs[i].empty();
  if (trains) context.refuse(node, "training mode is not supported: export the model for inference");
  if (node.inputs.size() != 5) context.refuse(node, "expected five inputs");
  node.outputs.resize(1);
  node.attributes.erase("training_mode");
  node.attributes.erase("momentum");
}

void dropout_attribute(Node& node, OpsetContext&) { node.attributes.erase("ratio"); }

void dropout_training(Node& node, OpsetContext& context) {
  const auto constant_is_nonzero = [&](std::size_t i) {
    if (node.inputs.size() <= i || node.inputs[i].empty()) return false;
    const auto it = context.graph.constants.find(node.inputs[i]);
    return it != context.graph.constants.end() && it->second.elements() == 1 && it->second.as_doubles()[0] != 0.0;
  };
  const bool default_ratio = node.inputs.size() < 2 || node.inputs[1].empty();  // 0.5
  if (constant_is_nonzero(2) && (default_ratio || constant_is_nonzero(1))) {
    context.refuse(node, "training mode is not supported: export the model for inference");
  }
  const bool known = node.inputs.size() < 3 || node.inputs[2].empty() || context.graph.is_constant(node.inputs[2]);
  if (known) node.inputs.resize(1);
}

void softmax_2d(Node& node, OpsetContext&) {
  node.attributes["axis"] = node.int_attr("axis", 1);
  node.attributes[kCoercedSoftmax] = std::int64_t{1};
}

void quantize_21(Node& node, OpsetContext& context) {
  if (node.int_attr("block_size", 0) != 0) {
    context.refuse(node,
                   "scales a block of elements (block_size) are not supported: expected one scale, or one a channel");
  }
  node.attributes.erase("block_size");
  node.attributes.erase("saturate");  // of float8 alone
  const std::int64_t type = node.int_attr("output_dtype", 0);
  node.attributes.erase("output_dtype");
  const bool has_zero_point = node.inputs.size() > 2 && !node.inputs[2].empty();
  if (type == 0 || has_zero_point) return;
  const DType dtype = dtype_from_onnx(static_cast<std::int32_t>(type));
  if (dtype != DType::i8 && dtype != DType::u8) {
    context.refuse(node, "output_dtype " + onnx_type_text(static_cast<std::int32_t>(type)) +
                             " is not supported: expected int8 or uint8");
  }
  if (node.inputs.size() < 2) context.refuse(node, "has no scale: expected it as input 1");
  const auto scale = context.graph.constants.find(node.inputs[1]);
  const Shape shape = scale == context.graph.constants.end() ? Shape{} : scale->second.shape;
  node.inputs.resize(3);
  node.inputs[2] = context.constant(node, "zero_point", Tensor::make(dtype, shape));
}

void sum_to_adds(Node& node, OpsetContext& context) {
  if (node.inputs.size() == 1) {
    node.op = "Identity";
    return;
  }
  std::string sum = node.inputs[0];
  for (std::size_t i = 1; i + 1 < node.inputs.size(); ++i) {
    Node add;
    add.name = node.name + "/" + std::to_string(i);
    add.op = "Add";
    add.inputs = {sum, node.inputs[i]};
    add.outputs = {add.name};
    sum = add.name;
    context.before.push_back(add);
  }
  node.op = "Add";
  node.inputs = {sum, node.inputs.back()};
}

}  // namespace tessera::compiler::opset_rules_detail
