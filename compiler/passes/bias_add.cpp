#include "compiler/passes/bias_add.hpp"

#include "compiler/ir/builder.hpp"
#include "compiler/passes/rewrite.hpp"

namespace tessera::compiler {
std::vector<float> per_channel(const Tensor& constant, const Shape& out) {
  if (constant.shape.size() > out.size()) return {};
  const std::int64_t channels = out[1];
  const std::size_t shift = out.size() - constant.shape.size();
  for (std::size_t i = 0; i < constant.shape.size(); ++i) {
    const bool channel_axis = i + shift == 1 && constant.shape[i] == channels;
    if (constant.shape[i] != 1 && !channel_axis) return {};
  }
  std::vector<float> values(static_cast<std::size_t>(channels));
  for (std::size_t c = 0; c < values.size(); ++c) values[c] = constant.data<float>()[constant.elements() == 1 ? 0 : c];
  return values;
}

namespace {

bool takes_bias(const Node& node) {
  if (is_op(node, "Gemm")) return node.float_attr("beta", 1.0F) == 1.0F;
  return is_op(node, "Conv") || is_op(node, "ConvTranspose");
}

}  // namespace

std::size_t fold_bias_add(Graph& graph) {
  Wiring wiring(graph);
  std::size_t folded = 0;
  for (Node& node : graph.nodes) {
    if (node.outputs.empty() || !takes_bias(node)) continue;
    Node* add = wiring.sole_reader(node.outputs[0]);
    if (add == nullptr || !is_op(*add, "Add") || !has_shape(graph, node.outputs[0])) continue;
    const Shape out = graph.shape_of(node.outputs[0]);
    const Tensor* constant = float_constant(graph, add->inputs[add->inputs[0] == node.outputs[0] ? 1 : 0]);
    if (constant == nullptr) continue;
    std::vector<float> values = per_channel(*constant, out);
    const std::string old_name = input_or_empty(node, 2);
    const Tensor* old_bias = float_constant(graph, old_name);
    const bool bias_fits = old_name.empty() || (old_bias != nullptr && old_bias->shape == Shape{out[1]});
    if (values.empty() || !bias_fits) continue;
    for (std::size_t c = 0; old_bias != nullptr && c < values.size(); ++c) values[c] += old_bias->data<float>()[c];
    node.inputs.resize(3);
    node.inputs[2] = add_constant(graph, node, "bias", float_tensor({out[1]}, values));
    wiring.absorb(node, *add);
    ++folded;
  }
  wiring.finish();
  return folded;
}

}  // namespace tessera::compiler
