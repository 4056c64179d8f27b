#include "compiler/passes/identity.hpp"

#include <algorithm>
#include <optional>

#include "compiler/passes/rewrite.hpp"
#include "compiler/passes/slice_range.hpp"

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

/// Constant integers of an optional input: empty when absent, nullopt when computed.
std::optional<std::vector<std::int64_t>> known_ints(const Graph& graph, const Node& node, std::size_t input) {
  const std::string name = input_or_empty(node, input);
  if (name.empty()) return std::vector<std::int64_t>{};
  if (!graph.is_constant(name)) return std::nullopt;
  return graph.constants.at(name).as_ints();
}

/// A Slice whose result has the input's shape takes every element; they keep their order unless an axis runs backwards.
bool slice_keeps_order(const Graph& graph, const Node& node) {
  const auto starts = known_ints(graph, node, 1), ends = known_ints(graph, node, 2);
  const auto axes = known_ints(graph, node, 3), steps = known_ints(graph, node, 4);
  if (!starts || !ends || !axes || !steps) return false;
  const std::vector<SliceRange> ranges =
      slice_ranges(node, graph.shape_of(node.inputs[0]), *starts, *ends, *axes, *steps);
  return std::all_of(ranges.begin(), ranges.end(), [](const SliceRange& r) { return r.count <= 1 || r.step == 1; });
}

/// Pads that cancel (1 in front, -1 behind) keep the shape but move elements: only zeros count.
bool pads_nothing(const Graph& graph, const Node& node) {
  const auto pads = known_ints(graph, node, 1);
  return pads && !pads->empty() && std::all_of(pads->begin(), pads->end(), [](std::int64_t pad) { return pad == 0; });
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
  if (node.op == "Slice") return slice_keeps_order(graph, node);
  if (node.op == "Pad") return pads_nothing(graph, node);
  return node.op == "Reshape" || node.op == "Flatten" || node.op == "Squeeze" || node.op == "Unsqueeze" ||
         node.op == "Expand" || node.op == "Tile";
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
