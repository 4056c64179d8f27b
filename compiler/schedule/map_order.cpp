#include "compiler/schedule/map_order.hpp"

#include <algorithm>

#include "hw/common/units.hpp"
#include "isa/semantics/layout.hpp"

namespace tessera::compiler {
namespace {

// Rows from which engines share a map by rows: with fewer they fill the pixel lanes badly and read all weights twice.
constexpr std::int64_t kLeastRows = 8;

semantics::MapLayout layout_of(const MapShape& shape, const isa::ChipConfig& chip) {
  return semantics::map_layout(shape.c, shape.h, shape.w, chip);
}

}  // namespace

bool maps_leave_room(const LayerGraph& graph, const isa::ChipConfig& chip) {
  const std::int64_t lines = chip.sram.banks * (chip.sram.size_bytes / chip.sram.line_bytes);
  for (int id = 0; id < static_cast<int>(graph.layers.size()); ++id) {
    std::int64_t live = 0;
    for (const Root& root : graph.roots) {
      if (root.first_layer < 0 || root.first_layer > id || root.last_layer < id) continue;
      const semantics::MapLayout map = layout_of(root.shape, chip);
      live += root.shape.n * map.blocks * map.block_lines();
    }
    if (2 * live > lines) return false;
  }
  return true;
}

MapOrder map_order(const LayerGraph& graph, int index, const isa::ChipConfig& chip) {
  const Root& root = graph.roots[static_cast<std::size_t>(index)];
  const semantics::MapLayout map = layout_of(root.shape, chip);
  MapOrder order{false, map.row_lines, map.block_lines(), 0};
  if (!graph.halved || root.shape.n > 1) return order;
  const bool one_shape = std::all_of(graph.values.begin(), graph.values.end(), [&](const Value& v) {
    return v.root != index || (v.shape.h == root.shape.h && v.shape.w == root.shape.w);
  });
  if (one_shape && root.shape.h >= kLeastRows) {
    order.rows_outside = true;
    order.row_lines = map.blocks * map.row_lines;
    order.block_lines = map.row_lines;
    order.half_lines = root.shape.h / 2 * order.row_lines;
  } else {
    const std::int64_t tiles = ceil_div(root.shape.c, chip.conv.cout_lanes);
    order.half_lines = tiles / 2 * chip.conv.cout_lanes / chip.layout.channel_block * order.block_lines;
  }
  return order;
}

}  // namespace tessera::compiler
