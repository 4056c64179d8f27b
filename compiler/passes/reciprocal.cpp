#include "compiler/passes/reciprocal.hpp"

#include <algorithm>

#include "compiler/passes/rewrite.hpp"

namespace tessera::compiler {

std::size_t divide_by_multiplying(Graph& graph) {
  std::size_t changed = 0;
  for (Node& node : graph.nodes) {
    if (!is_op(node, "Div") || graph.is_constant(node.inputs[0])) continue;
    const Tensor* divisor = float_constant(graph, node.inputs[1]);
    if (divisor == nullptr) continue;
    Tensor factor = *divisor;
    float* const x = factor.data<float>();
    if (std::any_of(x, x + factor.elements(), [](float v) { return v == 0.0F; })) continue;
    std::transform(x, x + factor.elements(), x, [](float v) { return 1.0F / v; });
    node.inputs[1] = add_constant(graph, node, "reciprocal", std::move(factor));
    node.op = "Mul";
    ++changed;
  }
  return changed;
}

}  // namespace tessera::compiler
