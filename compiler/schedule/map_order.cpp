#include "compiler/schedule/map_order.hpp"

#include <algorithm>
#include <limits>

#include "hw/common/units.hpp"
#include "isa/isa.hpp"
#include "isa/semantics/layout.hpp"

namespace tessera::compiler {
namespace {

// Rows from which engines share a map by rows: with fewer they fill the pixel lanes badly and read all weights twice.
constexpr std::int64_t kLeastRows = 8;

constexpr std::int64_t kMostPitch = std::numeric_limits<decltype(isa::SramTensor::row_pitch)>::max();

semantics::MapLayout layout_of(const MapShape& shape, const isa::ChipConfig& chip) {
  return semantics::map_layout(shape.c, shape.h, shape.w, chip);
}

}  // namespace

bool maps_leave_room(const LayerGraph& graph, const isa::ChipConfig& chip) {
  const std::int64_t lines = semantics::sram_lines(chip);
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

std::int64_t row_pitch(std::int64_t rows, std::int64_t row_lines, std::int64_t banks, const isa::ChipConfig& chip) {
  const std::int64_t bank_lines = semantics::bank_lines(chip);
  const std::int64_t in_bank = std::min(ceil_div(rows, banks), bank_lines / row_lines);
  if (in_bank == 0 || banks <= 1) return row_lines;
  return std::max(row_lines, std::min(bank_lines / in_bank, kMostPitch));
}

MapOrder line_order(const Root& root, std::int64_t rows, const Rows& columns, std::int64_t banks,
                    const isa::ChipConfig& chip) {
  const std::int64_t row = ceil_div(columns.count(), semantics::pixels_per_line(chip));
  const std::int64_t blocks = ceil_div(root.shape.c, chip.layout.channel_block);
  if (banks == 0 || blocks * row > kMostPitch) return {false, row, row * rows, blocks * rows * row, 0};
  const std::int64_t pitch = row_pitch(rows, blocks * row, banks, chip);
  return {true, pitch, row, pitch * (rows - 1) + blocks * row, 0};
}

MapOrder map_order(const LayerGraph& graph, int index, bool halved, std::int64_t banks, const isa::ChipConfig& chip) {
  const Root& root = graph.roots[static_cast<std::size_t>(index)];
  const auto rows_over = [&](std::int64_t count) {
    return line_order(root, root.shape.h, {0, root.shape.w}, count, chip);
  };
  if (root.shape.n > 1) return rows_over(0);
  const bool one_shape = std::all_of(graph.values.begin(), graph.values.end(), [&](const Value& v) {
    return v.root != index || (v.shape.h == root.shape.h && v.shape.w == root.shape.w);
  });
  if (!one_shape) banks = 0;
  if (!halved) return rows_over(banks);
  if (one_shape && root.shape.h >= kLeastRows) {
    MapOrder order = rows_over(std::max<std::int64_t>(banks, 1));
    order.half_lines = root.shape.h / 2 * order.row_lines;
    return order;
  }
  MapOrder order = rows_over(banks);
  if (order.rows_outside) return order;
  const std::int64_t tiles = ceil_div(root.shape.c, chip.conv.cout_lanes);
  order.half_lines = tiles / 2 * chip.conv.cout_lanes / chip.layout.channel_block * order.block_lines;
  return order;
}

}  // namespace tessera::compiler
