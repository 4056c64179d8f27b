#include "compiler/passes/reshape.hpp"

#include "compiler/ir/builder.hpp"
#include "compiler/passes/rewrite.hpp"

namespace tessera::compiler {
namespace {

bool is_view(const Graph& graph, const Node& node) {
  const bool view =
      is_op(node, "Reshape") || is_op(node, "Flatten") || is_op(node, "Squeeze") || is_op(node, "Unsqueeze");
  return view && has_shape(graph, node.outputs[0]);
}

}  // namespace

std::size_t merge_reshapes(Graph& graph) {
  Wiring wiring(graph);
  std::size_t merged = 0;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    Node& first = graph.nodes[i];
    if (first.outputs.empty() || !is_view(graph, first)) continue;
    Node* next = wiring.sole_reader(first.outputs[0]);
    if (next == nullptr || !is_view(graph, *next) || next->inputs[0] != first.outputs[0]) continue;
    // `first` becomes the Reshape of the whole chain, as far as inner values have no other reader.
    while (next != nullptr && is_view(graph, *next) && next->inputs[0] == first.outputs[0]) {
      wiring.absorb(first, *next);
      ++merged;
      next = wiring.sole_reader(first.outputs[0]);
    }
    const Shape shape = graph.shape_of(first.outputs[0]);
    first.op = "Reshape";
    first.attributes.clear();
    const bool empty_axis = element_count(shape) == 0;
    if (empty_axis) first.attributes["allowzero"] = std::int64_t{1};
    const auto rank = static_cast<std::int64_t>(shape.size());
    first.inputs = {first.inputs[0], add_constant(graph, first, "shape", int64_tensor({rank}, shape))};
  }
  wiring.finish();
  return merged;
}

}  // namespace tessera::compiler
