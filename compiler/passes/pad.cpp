#include "compiler/passes/pad.hpp"

#include <algorithm>

#include "compiler/passes/rewrite.hpp"

namespace tessera::compiler {
namespace {

using Ints = std::vector<std::int64_t>;

/// Pads of the spatial axes, begins then ends; empty when the Pad does anything else.
Ints zero_spatial_pads(const Graph& graph, const Node& pad) {
  const auto pads = graph.constants.find(input_or_empty(pad, 1));
  if (pad.string_attr("mode", "constant") != "constant" || pads == graph.constants.end()) return {};
  if (const std::string value = input_or_empty(pad, 2); !value.empty()) {
    const auto fill = graph.constants.find(value);
    if (fill == graph.constants.end() || fill->second.elements() != 1 || fill->second.as_doubles()[0] != 0.0) return {};
  }
  if (!has_shape(graph, pad.inputs[0])) return {};
  const std::size_t rank = graph.shape_of(pad.inputs[0]).size();
  Ints amounts = pads->second.as_ints();
  if (const std::string axes = input_or_empty(pad, 3); !axes.empty()) {  // opset 18
    const auto given = graph.constants.find(axes);
    if (given == graph.constants.end()) return {};
    const Ints list = given->second.as_ints();
    Ints all(2 * rank, 0);
    for (std::size_t i = 0; i < list.size(); ++i) {
      const auto axis = static_cast<std::size_t>(list[i] < 0 ? list[i] + static_cast<std::int64_t>(rank) : list[i]);
      all[axis] = amounts[i];
      all[axis + rank] = amounts[i + list.size()];
    }
    amounts = all;
  }
  if (rank < 3 || amounts.size() != 2 * rank) return {};
  Ints spatial;
  for (std::size_t i = 0; i < amounts.size(); ++i) {
    const bool on_map = i % rank >= 2;
    if (amounts[i] < 0 || (!on_map && amounts[i] != 0)) return {};
    if (on_map) spatial.push_back(amounts[i]);
  }
  return spatial;
}

}  // namespace

std::size_t fold_pad(Graph& graph) {
  Wiring wiring(graph);
  std::size_t folded = 0;
  for (Node& pad : graph.nodes) {
    if (pad.outputs.empty() || !is_op(pad, "Pad")) continue;
    Node* conv = wiring.sole_reader(pad.outputs[0]);
    if (conv == nullptr || !is_op(*conv, "Conv") || conv->inputs[0] != pad.outputs[0]) continue;
    const std::string mode = conv->string_attr("auto_pad", "NOTSET");
    const Ints more = zero_spatial_pads(graph, pad);
    if (mode != "NOTSET" || more.empty()) continue;
    Ints pads = conv->ints_attr("pads", Ints(more.size(), 0));
    std::transform(pads.begin(), pads.end(), more.begin(), pads.begin(), std::plus<>());
    conv->attributes["pads"] = pads;
    conv->fused.push_back(pad.name);
    (void)wiring.bypass(pad, std::string(pad.inputs[0]));  // cannot fail: the Pad's value is no graph output
    ++folded;
  }
  wiring.finish();
  return folded;
}

}  // namespace tessera::compiler
