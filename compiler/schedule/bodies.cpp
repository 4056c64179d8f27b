// Instructions of one tile: the part of Walk that fills operand addresses.
#include <algorithm>

#include "compiler/schedule/walk.hpp"
#include "hw/common/error.hpp"
#include "hw/common/units.hpp"

namespace tessera::compiler {
namespace {

constexpr std::int64_t kStaggerWorth = 8;  // windows' reads in an instruction, for which waiting one of them pays

}  // namespace

/// `part`: of tile_parts, which are put down side by side with those of the other engines' tiles.
void Walk::body(int id, std::uint8_t core, const LayerPlan& plan, const Tile& tile, std::int64_t part,
                const std::vector<SramView>& in, const SramView& out, const ConstantTile& constants) {
  const Layer& l = graph_.layers[static_cast<std::size_t>(id)];
  if (l.kind == LayerKind::copy && l.output_channel % chip_.layout.channel_block != 0) {
    reorder_body(id, core, tile, in[0], out);
    return;
  }
  if (l.kind != LayerKind::conv) {
    edp_body(id, core, tile, in, out, constants);
    return;
  }
  const bool parts = tile_parts(l, tile, plan.split, chip_) > 1;
  std::vector<EnginePiece> pieces = engine_pieces(l, tile, plan.split, chip_);
  if (parts) pieces = {pieces[static_cast<std::size_t>(part)]};
  for (const EnginePiece& piece : pieces) {
    std::int64_t engine = piece.engine;
    if (engine < 0) {  // a tile that is not shared takes the engines in turn
      engine = next_engine_;
      next_engine_ = (next_engine_ + 1) % chip_.conv.engines;
    }
    conv_body(id, core, piece.tile, in, out, constants, engine);
    WorkItem& w = sections.back().items.back();
    const auto& conv = std::get<isa::Conv>(w.body);
    if (parts) w.in_turn = static_cast<std::int64_t>(conv.w_base);
    if (piece.engine > 0 && stagger_) w.delay = static_cast<Cycles>(engine) * stagger(conv, plan.split);
  }
  // By images the last engine's begin follows in the next tile.
  if (!by_images(plan.split) || tile.n / engine_images(l.out.n, chip_) + 1 == chip_.conv.engines) stagger_ = false;
}

/// Engines that begin together read the same windows in the same cycles, and go on so. Half a beat apart one reads
/// while the other computes; 0: that gains nothing.
Cycles Walk::stagger(const isa::Conv& conv, EngineSplit split) const {
  if (split == EngineSplit::copied || split == EngineSplit::crossed) return 0;
  if (split == EngineSplit::images) {  // the weights of a slot are read one behind the other, and so in each slot
    return ceil_div(chip_.conv.cin_lanes * chip_.conv.cout_lanes, chip_.sram.line_bytes);
  }
  const UnitCost::Burst burst = cost_.window_burst(conv);
  if (burst.lines * chip_.conv.engines > burst.cycles + burst.cycles / 4) return 0;
  return burst.total > kStaggerWorth * burst.lines ? static_cast<Cycles>(burst.lines) : 0;
}

void Walk::conv_body(int id, std::uint8_t core, const Tile& tile, const std::vector<SramView>& in, const SramView& out,
                     const ConstantTile& constants, std::int64_t engine) {
  const Layer& l = graph_.layers[static_cast<std::size_t>(id)];
  const LayerConstants& c = constants_.layers[static_cast<std::size_t>(id)];
  const Value& value = graph_.values[static_cast<std::size_t>(l.inputs[0])];
  const std::int64_t cb = chip_.layout.channel_block;
  const std::int64_t line = chip_.sram.line_bytes;
  const Rows columns = output_columns(l, tile);
  isa::Conv conv = conv_geometry(l, graph_, tile);
  const std::int64_t in_channel = value.first_channel + input_channels(l, tile.channels).first;
  conv.in = operand(in[0], input_rows(l, tile.rows).first, in_channel / cb, input_columns(l, columns).first, chip_);
  conv.out = operand(out, tile.rows.first, (l.output_channel + tile.channels.first) / cb, columns.first, chip_);
  if (conv.has_residual) {
    const Value& other = graph_.values[static_cast<std::size_t>(l.inputs[1])];
    conv.residual =
        operand(in[1], tile.rows.first, (other.first_channel + tile.channels.first) / cb, columns.first, chip_);
  }
  const ConstantTile::Weights& weights = constants.of(tile.channels, engine);
  put(conv.w_base,
      weights.range.first * line + c.weight_offset(tile.channels.first) - c.weight_offset(weights.channels.first));
  put(conv.p_base,
      constants.params.first * line + semantics::kParamBytes * (tile.channels.first - constants.first_param_channel));
  if (!cost_.choose(conv)) {
    user_error(l.node->name,
               ": the convolution does not fit the engine even with one pixel group a tile: ", cost_.why());
  }
  const auto queue = static_cast<isa::QueueId>(static_cast<std::int64_t>(isa::QueueId::conv0) + engine);
  WorkItem& w = item(core, queue, id);
  w.tile = tile_text(tile, l);
  w.body = conv;
}

void Walk::edp_body(int id, std::uint8_t core, const Tile& tile, const std::vector<SramView>& in, const SramView& out,
                    const ConstantTile& constants) {
  const Layer& l = graph_.layers[static_cast<std::size_t>(id)];
  const std::int64_t cb = chip_.layout.channel_block;
  const std::int64_t line = chip_.sram.line_bytes;
  isa::Edp edp = edp_geometry(l, graph_, tile);
  const Rows columns = output_columns(l, tile);
  const auto source = [&](std::size_t i, std::int64_t row, std::int64_t column) {
    const Value& value = graph_.values[static_cast<std::size_t>(l.inputs[i])];
    return operand(in[i], row, (value.first_channel + tile.channels.first) / cb, column, chip_);
  };
  edp.a = source(0, input_rows(l, tile.rows).first, input_columns(l, columns).first);
  if (edp.has_b) edp.b = l.b_broadcast ? source(1, 0, 0) : source(1, tile.rows.first, columns.first);
  edp.out = operand(out, tile.rows.first, (l.output_channel + tile.channels.first) / cb, columns.first, chip_);
  if (constants.params.first >= 0) put(edp.p_base, constants.params.first * line);
  if (constants.table.first >= 0) put(edp.stages[0].table_base, constants.table.first * line);
  WorkItem& w = item(core, isa::QueueId::edp, id);
  w.tile = tile_text(tile, l);
  w.body = edp;
}

/// A Concat part that starts inside a channel block: runs of channels that stay neighbours on both sides.
void Walk::reorder_body(int id, std::uint8_t core, const Tile& tile, const SramView& in, const SramView& out) {
  const Layer& l = graph_.layers[static_cast<std::size_t>(id)];
  const Value& value = graph_.values[static_cast<std::size_t>(l.inputs[0])];
  const std::int64_t cb = chip_.layout.channel_block;
  const std::int64_t line = chip_.sram.line_bytes;
  for (std::int64_t c = tile.channels.first; c < tile.channels.end;) {
    const std::int64_t from = value.first_channel + c;
    const std::int64_t to = l.output_channel + c;
    const std::int64_t run = std::min({cb - from % cb, cb - to % cb, tile.channels.end - c});
    isa::Reorder reorder;
    put(reorder.src_base, in.line_of(tile.rows.first, from / cb) * line + from % cb);
    put(reorder.dst_base, out.line_of(tile.rows.first, to / cb) * line + to % cb);
    put(reorder.run_bytes, run);
    put(reorder.dims[4].count, tile.rows.count());
    put(reorder.dims[4].src_stride, in.row_lines * line);
    put(reorder.dims[4].dst_stride, out.row_lines * line);
    put(reorder.dims[5].count, l.out.w);
    put(reorder.dims[5].src_stride, cb);
    put(reorder.dims[5].dst_stride, cb);
    WorkItem& w = item(core, isa::QueueId::reorder, id);
    w.tile = detail::concat(tile_text(tile, l), ", channel ", c);
    w.body = reorder;
    c += run;
  }
}

}  // namespace tessera::compiler
