#include "compiler/passes/identity.hpp"

#include <algorithm>

#include "compiler/passes/rewrite.hpp"

namespace tessera::compiler {
namespace {

/// Whether the axes of more than one element keep their order: then a Transpose moves no element.
bool keeps_order(const Shape& in, const std::vector<std::int64_t>& perm) {
  std::int64_t last = -1;
  for (const std::int64_t axis : perm) {
    if (in[static_cast<std::size_t>(axis)] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

bool changes_nothing(const Graph& graph, const Wiring& wiring, const Node& node) {
  if (!node.domain.empty() || node.inputs.empty()) return false;
  if (node.op == "Identity") return true;
  if (node.op == "Dropout") {
    // Import refused training with constants; a mode that is computed stays to be refused by name.
    const bool mask_is_read = node.outputs.size() > 1 && wiring.is_read(node.outputs[1]);
    return !mask_is_read && input_or_empty(node, 2).empty();
  }
  if (node.op == "Concat") return node.inputs.size() == 1;
  if (!has_shape(graph, node.inputs[0]) || !has_shape(graph, node.outputs[0])) return false;
  const Shape& in = graph.shape_of(node.inputs[0]);
  if (in != graph.shape_of(node.outputs[0])) return false;
  if (node.op == "Cast") return graph.dtype_of(node.inputs[0]) == graph.dtype_of(node.outputs[0]);
  if (node.op == "Transpose") {
    std::vector<std::int64_t> reversed;
    for (std::size_t i = in.size(); i-- > 0;) reversed.push_back(static_cast<std::int64_t>(i));
    return keeps_order(in, node.ints_attr("perm", reversed));
  }
  return node.op == "Reshape" || node.op == "Flatten" || node.op == "Squeeze" || node.op == "Unsqueeze" ||
         node.op == "Expand";
}

}  // namespace

std::size_t remove_identity(Graph& graph) {
  Wiring wiring(graph);
  std::size_t removed = 0;
  for (Node& node : graph.nodes) {
    if (!changes_nothing(graph, wiring, node)) continue;
    const std::string input = node.inputs[0];
    Node* maker = wiring.maker(input);
    if (!wiring.bypass(node, input)) continue;
    ++removed;
    if (maker == nullptr) continue;
    maker->fused.push_back(node.name);
    maker->fused.insert(maker->fused.end(), node.fused.begin(), node.fused.end());
  }
  wiring.finish();
  return removed;
}

}  // namespace tessera::compiler
