// How the engines share a tile, and what they then meet in (layer_plan.hpp).
#include <algorithm>

#include "compiler/schedule/layer_plan.hpp"
#include "compiler/schedule/map_order.hpp"
#include "hw/common/units.hpp"
#include "isa/semantics/layout.hpp"

namespace tessera::compiler {
namespace {

constexpr std::int64_t kCopyPart = 32;    // of the SRAM that weights take of which each engine has a copy
constexpr double kWeightsMeeting = 0.4;   // of the cycles of engines by rows: lines of weights from which copies pay
constexpr double kWeightsRefused = 0.15;  // of the lines of weights that both read: a cycle in which one waits

}  // namespace

double image_share(const Layer& layer, const isa::ChipConfig& chip) {
  return static_cast<double>(engine_images(layer.out.n, chip)) / static_cast<double>(layer.out.n);
}

std::int64_t engine_images(std::int64_t images, const isa::ChipConfig& chip) {
  return ceil_div(images, chip.conv.engines);
}

const char* split_name(EngineSplit split) {
  switch (split) {
    case EngineSplit::none:
      break;
    case EngineSplit::rows:
      return "rows";
    case EngineSplit::rows_copied:
      return "rows, weights copied";
    case EngineSplit::channels:
      return "channels";
    case EngineSplit::images:
      return "images";
    case EngineSplit::copied:
      return "images, weights copied";
    case EngineSplit::crossed:
      return "images, channels crossed";
  }
  return "none";
}

std::int64_t tile_parts(const Layer& layer, const Tile& tile, EngineSplit split, const isa::ChipConfig& chip) {
  if (split != EngineSplit::crossed) return 1;
  return static_cast<std::int64_t>(engine_pieces(layer, tile, split, chip).size());
}

std::vector<EnginePiece> engine_pieces(const Layer& layer, const Tile& tile, EngineSplit split,
                                       const isa::ChipConfig& chip) {
  const std::int64_t engines = chip.conv.engines;
  const std::int64_t granule = channel_granule(layer, chip);
  std::vector<EnginePiece> pieces;
  const auto next = [&] { return static_cast<std::int64_t>(pieces.size()); };
  if (by_rows(split)) {
    for (const Rows& rows : cut(tile.rows, engines, 1))
      pieces.push_back({{tile.n, rows, tile.channels, tile.columns}, next()});
  } else if (split == EngineSplit::channels && granule > 0) {
    for (const Rows& part : cut(tile.channels, engines, granule))
      pieces.push_back({{tile.n, tile.rows, part, tile.columns}, next()});
  } else if (by_images(split)) {
    const std::int64_t engine = tile.n / engine_images(layer.out.n, chip);
    std::vector<Rows> parts = {tile.channels};
    if (split == EngineSplit::crossed && granule > 0) parts = cut(tile.channels, engines, granule);
    std::rotate(parts.begin(), parts.begin() + engine % static_cast<std::int64_t>(parts.size()), parts.end());
    for (const Rows& part : parts) pieces.push_back({{tile.n, tile.rows, part, tile.columns}, engine});
  }
  if (pieces.empty()) pieces.push_back({tile, -1});
  if (pieces.size() == 1 && !by_images(split)) pieces.front().engine = -1;
  return pieces;
}

namespace {

MapOrder order_of(const LayerGraph& graph, int root, MapsLie maps, const isa::ChipConfig& chip) {
  return map_order(graph, root, maps == MapsLie::halved, graph.placement.map_banks, chip);
}

/// The engines' pieces of the tile are two halves of the map that share no bank (map_order.hpp), or that engines which
/// go through them side by side never meet in: rows that are half the map apart lie more than a bank apart.
bool halves(const Layer& layer, const Tile& tile, EngineSplit split, const MapOrder& order, std::int64_t rows,
            const isa::ChipConfig& chip) {
  if (tile.rows.count() < layer.out.h) return false;
  if (order.rows_outside) {
    const std::int64_t bank_lines = semantics::bank_lines(chip);
    return by_rows(split) && (order.half_lines > 0 || rows / 2 * order.row_lines > bank_lines);
  }
  return order.half_lines > 0 && split == EngineSplit::channels && tile.channels.count() == layer.out.c;
}

bool read_apart(const Layer& layer, const LayerGraph& graph, const Tile& tile, EngineSplit split, MapsLie maps,
                const isa::ChipConfig& chip) {
  if (maps == MapsLie::elsewhere) return false;
  const MapOrder order = order_of(graph, graph.values[static_cast<std::size_t>(layer.inputs[0])].root, maps, chip);
  if (!order.rows_outside && layer.mode != isa::ConvMode::depthwise) return false;
  return halves(layer, tile, split, order, layer.in.h, chip);
}

/// Lines that the engines write to banks that both write; 0: to other banks, or nobody knows.
std::int64_t written_together(const Layer& layer, const LayerGraph& graph, const Tile& tile, EngineSplit split,
                              MapsLie maps, const isa::ChipConfig& chip) {
  if (maps == MapsLie::elsewhere || tile.rows.count() < layer.out.h) return 0;
  const MapOrder order = order_of(graph, layer.output_root, maps, chip);
  if (maps == MapsLie::whole && !order.rows_outside) return 0;
  if (halves(layer, tile, split, order, layer.out.h, chip)) return 0;
  const semantics::MapLayout map = semantics::map_layout(tile.channels.count(), layer.out.h, layer.out.w, chip);
  return map.blocks * map.block_lines();
}

}  // namespace

/// Engines that share a tile meet in the banks of what both read: by channels the rows of the input, by rows those
/// and the weights, by images the weights. One line a cycle is all that a bank gives.
double split_cycles(const Layer& layer, const LayerGraph& graph, const Tile& tile, EngineSplit split, UnitCost& cost,
                    MapsLie maps) {
  Cycles longest = 0, sum = 0;
  ConvPorts together;
  const std::vector<EnginePiece> pieces = engine_pieces(layer, tile, split, cost.chip());
  for (const EnginePiece& piece : pieces) {
    isa::Conv conv = conv_geometry(layer, graph, piece.tile);
    const auto cycles = cost.choose(conv);
    if (!cycles) return kNoPlan;
    longest = std::max(longest, *cycles);
    sum += *cycles;
    const ConvPorts ports = cost.ports(conv);
    together.window_lines += ports.window_lines;
    together.weight_lines += ports.weight_lines;
  }
  if (by_images(split)) {
    // Crossed, an engine goes on to its next part when the other has done the one that it had meanwhile.
    auto cycles =
        static_cast<double>(split == EngineSplit::crossed ? longest * static_cast<Cycles>(pieces.size()) : sum);
    if (split == EngineSplit::images) {
      cycles = std::max(cycles, static_cast<double>(together.weight_lines * cost.chip().conv.engines));
    }
    return cycles * image_share(layer, cost.chip());
  }
  if (pieces.size() < 2) return static_cast<double>(longest);
  if (!read_apart(layer, graph, tile, split, maps, cost.chip()))
    longest = std::max(longest, static_cast<Cycles>(together.window_lines));
  longest = std::max(longest, static_cast<Cycles>(written_together(layer, graph, tile, split, maps, cost.chip())));
  const auto weights = static_cast<double>(split == EngineSplit::rows ? together.weight_lines : 0);
  return std::max(static_cast<double>(longest) + kWeightsRefused * weights, weights);
}

namespace {

/// A copy of the weights for each engine is a small part of the SRAM, and of whole lines.
bool can_copy(const Layer& layer, const isa::ChipConfig& chip) {
  const semantics::WeightLayout layout = weight_layout(layer, chip);
  return !layout.packed() && layout.sram_bytes() * kCopyPart <= chip.sram.banks * chip.sram.size_bytes;
}

/// Engines that share the tile by rows often want a line of the weights in the same cycle.
bool weights_meet(const Layer& layer, const LayerGraph& graph, const Tile& tile, UnitCost& cost) {
  double lines = 0, longest = 1;
  for (const EnginePiece& piece : engine_pieces(layer, tile, EngineSplit::rows, cost.chip())) {
    isa::Conv conv = conv_geometry(layer, graph, piece.tile);
    const auto cycles = cost.choose(conv);
    if (!cycles) return false;
    lines += static_cast<double>(cost.ports(conv).weight_lines);
    longest = std::max(longest, static_cast<double>(*cycles));
  }
  return lines > kWeightsMeeting * longest;
}

}  // namespace

SplitChoice best_split(const Layer& layer, const LayerGraph& graph, const Tile& tile, bool images, UnitCost& cost,
                       MapsLie maps) {
  SplitChoice best{EngineSplit::none, kNoPlan};
  const auto consider = [&](EngineSplit split, double meeting) {
    const double cycles = split_cycles(layer, graph, tile, split, cost, maps);
    if (meeting * cycles < best.cycles) best = {split, cycles};
  };
  if (images && layer.out.n > 1 && cost.chip().conv.engines > 1) {
    consider(EngineSplit::images, 1.0);
    if (can_copy(layer, cost.chip())) consider(EngineSplit::copied, 1.0);
    consider(EngineSplit::crossed, 1.0);
  }
  consider(EngineSplit::none, 1.0);
  const bool apart = read_apart(layer, graph, tile, EngineSplit::rows, maps, cost.chip());
  const bool copy = graph.copies && can_copy(layer, cost.chip()) && weights_meet(layer, graph, tile, cost);
  consider(copy ? EngineSplit::rows_copied : EngineSplit::rows, apart ? 1.0 : kRowsMeeting);
  consider(EngineSplit::channels, 1.0);
  return best;
}

EngineSplit member_split(const GroupPlan& plan, const Layer& layer, const LayerGraph& graph, int id, UnitCost& cost) {
  if (layer.kind != LayerKind::conv) return EngineSplit::none;
  const std::int64_t rows = chunk_rows(plan, layer, id);
  const std::int64_t first = (layer.out.h - rows) / 2;
  const Rows columns{0, strip_width(layer, plan.cuts.columns, cost.chip())};
  return best_split(layer, graph, {0, {first, first + rows}, {0, layer.out.c}, columns}, plan.together > 1, cost).split;
}

std::vector<Rows> weight_parts(const GroupPlan& plan, const Layer& layer, int id, const isa::ChipConfig& chip) {
  const std::int64_t parts = plan.streamed.empty() ? 0 : plan.streamed[static_cast<std::size_t>(id - plan.first)];
  if (parts <= 1) return {{0, layer.out.c}};
  return cut({0, layer.out.c}, parts, channel_granule(layer, chip));
}

}  // namespace tessera::compiler
