#include "compiler/passes/transpose.hpp"

#include "compiler/ir/builder.hpp"
#include "compiler/passes/rewrite.hpp"

namespace tessera::compiler {
namespace {

Ints permutation(const Graph& graph, const Node& node) {
  const std::size_t rank = graph.shape_of(node.inputs[0]).size();
  Ints reversed;
  for (std::size_t i = rank; i-- > 0;) reversed.push_back(static_cast<std::int64_t>(i));
  return node.ints_attr("perm", reversed);
}

}  // namespace

std::size_t merge_transposes(Graph& graph) {
  Wiring wiring(graph);
  std::size_t merged = 0;
  for (Node& first : graph.nodes) {
    if (first.outputs.empty() || !is_op(first, "Transpose") || !has_shape(graph, first.inputs[0])) continue;
    Ints order = permutation(graph, first);
    for (;;) {
      Node* second = wiring.sole_reader(first.outputs[0]);
      if (second == nullptr || !is_op(*second, "Transpose") || !has_shape(graph, first.outputs[0])) break;
      // Axis i of the second's result is axis perm[i] of the first's, which is axis order[perm[i]] of its input.
      Ints both;
      for (const std::int64_t axis : permutation(graph, *second)) both.push_back(order[static_cast<std::size_t>(axis)]);
      order = both;
      wiring.absorb(first, *second);
      first.attributes["perm"] = order;
      ++merged;
    }
  }
  wiring.finish();
  return merged;
}

}  // namespace tessera::compiler
