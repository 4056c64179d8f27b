// Constants of a layer in SRAM: the part of Walk that takes room for weights, parameters and tables and LOADs them.
#include "compiler/schedule/walk.hpp"
#include "hw/common/error.hpp"
#include "hw/common/units.hpp"

namespace tessera::compiler {
namespace {

constexpr std::int64_t kApartBytes = 8192;  // of weights from which a second LOAD costs less than meeting in a bank

}  // namespace

const Walk::ConstantTile::Weights& Walk::ConstantTile::of(const Rows& channels, std::int64_t engine) const {
  for (const Weights& part : weights) {
    if (part.engine >= 0 && part.engine != engine) continue;
    if (part.channels.first <= channels.first && channels.end <= part.channels.end) return part;
  }
  TESSERA_CHECK(false, "channels ", channels.first, "..", channels.end, " lie in no part of the weights");
}

Walk::ConstantTile Walk::load_whole(int id, std::uint8_t core, const LayerPlan& plan, const Rows& channels) {
  const LayerConstants& c = constants_.layers[static_cast<std::size_t>(id)];
  const std::int64_t line = chip_.sram.line_bytes;
  ConstantTile tile;
  const auto load = [&](LineRange& range, std::int64_t offset, std::int64_t bytes, const char* what) {
    range = take(id, core, ceil_div(bytes, line), Fit::oldest, what);
    for (const DmaPiece& piece :
         linear_pieces(isa::base_register_of(isa::BufferKind::weights), offset, range.first * line, bytes, 0, 0)) {
      WorkItem& w = item(core, isa::QueueId::load, id);
      w.kind = isa::Traffic::params;
      w.useful_bytes = piece.bytes;
      w.tile = what;
      w.body = piece.body;
    }
  };
  if (c.layout && plan.params_whole) {
    load(tile.params, c.params_offset + semantics::kParamBytes * channels.first,
         semantics::kParamBytes * channels.count(), "parameters");
    tile.first_param_channel = channels.first;
  }
  if (!c.layout && c.params_bytes > 0) load(tile.params, c.params_offset, c.params_bytes, "average factors");
  if (c.table_bytes > 0) load(tile.table, c.table_offset, c.table_bytes, "table");
  return tile;
}

Walk::ConstantTile Walk::load_constants(int id, std::uint8_t core, const LayerPlan& plan, const Rows& channels,
                                        const ConstantTile* whole) {
  const LayerConstants& c = constants_.layers[static_cast<std::size_t>(id)];
  ConstantTile tile = *whole;
  if (!c.layout) return tile;
  const std::int64_t line = chip_.sram.line_bytes;
  const std::uint8_t base = isa::base_register_of(isa::BufferKind::weights);
  const std::string text = detail::concat("channels ", channels.first, "..", channels.end - 1);
  if (!plan.params_whole) {
    const std::int64_t bytes = semantics::kParamBytes * channels.count();
    tile.params = take(id, core, ceil_div(bytes, line), Fit::oldest, "parameters");
    tile.first_param_channel = channels.first;
    for (const DmaPiece& piece : linear_pieces(base, c.params_offset + semantics::kParamBytes * channels.first,
                                               tile.params.first * line, bytes, 0, 0)) {
      WorkItem& w = item(core, isa::QueueId::load, id);
      w.kind = isa::Traffic::params;
      w.useful_bytes = piece.bytes;
      w.tile = "parameters, " + text;
      w.body = piece.body;
    }
  }
  const std::int64_t all = c.weight_offset(channels.end) - c.weight_offset(channels.first);
  const bool parts = plan.split == EngineSplit::channels || plan.split == EngineSplit::crossed;
  if (parts && all >= kApartBytes) {
    const Layer& l = graph_.layers[static_cast<std::size_t>(id)];
    for (const Rows& part : cut(channels, chip_.conv.engines, channel_granule(l, chip_))) {
      load_weights(id, core, part, tile);
    }
  } else {
    load_weights(id, core, channels, tile);
  }
  if (copies_weights(plan.split)) copy_weights(id, core, tile);
  return tile;
}

/// REORDER makes the other engines' copies of weights that were loaded, in other banks.
void Walk::copy_weights(int id, std::uint8_t core, ConstantTile& tile) {
  const std::int64_t line = chip_.sram.line_bytes;
  ConstantTile::Weights first = tile.weights.back();
  tile.weights.back().engine = 0;
  for (std::int64_t engine = 1; engine < chip_.conv.engines; ++engine) {
    ConstantTile::Weights copy = first;
    copy.engine = engine;
    copy.range = take(id, core, first.range.lines, Fit::oldest, "a copy of the weights", tile.weights.back().range);
    tile.weights.push_back(copy);
    isa::Reorder reorder;
    put(reorder.src_base, first.range.first * line);
    put(reorder.dst_base, copy.range.first * line);
    put(reorder.run_bytes, line);
    put(reorder.dims[5].count, first.range.lines);
    put(reorder.dims[5].src_stride, line);
    put(reorder.dims[5].dst_stride, line);
    WorkItem& w = item(core, isa::QueueId::reorder, id);
    w.tile = detail::concat("weights of engine ", engine);
    w.body = reorder;
  }
}

/// Adds a part to the tile's weights.
void Walk::load_weights(int id, std::uint8_t core, const Rows& channels, ConstantTile& tile) {
  const LayerConstants& c = constants_.layers[static_cast<std::size_t>(id)];
  const std::int64_t line = chip_.sram.line_bytes;
  const std::uint8_t base = isa::base_register_of(isa::BufferKind::weights);
  const std::string text = detail::concat("channels ", channels.first, "..", channels.end - 1);
  const std::int64_t first = c.weight_offset(channels.first);
  const std::int64_t bytes = c.weight_offset(channels.end) - first;
  const LineRange other = tile.weights.empty() ? LineRange{-1, 0} : tile.weights.back().range;
  const LineRange range = take(id, core, ceil_div(bytes, line), Fit::oldest, "weights", other);
  tile.weights.push_back({range, channels});
  const semantics::WeightLayout& layout = *c.layout;
  const std::int64_t tiles = bytes / layout.tile_bytes();
  const std::int64_t stored = layout.packed() ? layout.valid_bytes() : layout.tile_bytes();
  const std::int64_t total = tiles * stored;
  const std::int64_t useful = c.useful_weights(channels.first, channels.end);
  std::int64_t done = 0;
  for (const DmaPiece& piece :
       linear_pieces(base, c.weights_offset + first / layout.tile_bytes() * stored, range.first * line, total,
                     layout.packed() ? layout.valid_bytes() : 0, layout.tile_bytes())) {
    WorkItem& w = item(core, isa::QueueId::load, id);
    w.kind = isa::Traffic::weights;
    w.useful_bytes = (done + piece.bytes) * useful / total - done * useful / total;  // shares that sum to the whole
    w.tile = "weights, " + text;
    w.body = piece.body;
    done += piece.bytes;
  }
}

}  // namespace tessera::compiler
