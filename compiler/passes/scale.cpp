#include "compiler/passes/scale.hpp"

#include "compiler/passes/batch_norm.hpp"
#include "compiler/passes/bias_add.hpp"
#include "compiler/passes/rewrite.hpp"

namespace tessera::compiler {

std::size_t fold_scale(Graph& graph) {
  Wiring wiring(graph);
  std::size_t folded = 0;
  for (Node& node : graph.nodes) {
    if (node.outputs.empty() || !(is_op(node, "Conv") || is_op(node, "ConvTranspose"))) continue;
    Node* mul = wiring.sole_reader(node.outputs[0]);
    if (mul == nullptr || !is_op(*mul, "Mul") || !has_shape(graph, node.outputs[0])) continue;
    const Tensor* constant = float_constant(graph, mul->inputs[mul->inputs[0] == node.outputs[0] ? 1 : 0]);
    if (constant == nullptr) continue;
    const std::vector<float> values = per_channel(*constant, graph.shape_of(node.outputs[0]));
    if (values.empty() || !takes_scale(graph, node, values.size())) continue;
    fold_into(graph, node, {{values.begin(), values.end()}, std::vector<double>(values.size(), 0.0)});
    wiring.absorb(node, *mul);
    ++folded;
  }
  wiring.finish();
  return folded;
}

}  // namespace tessera::compiler
