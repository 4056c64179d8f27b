#include "hw/models/conv/cost.hpp"

#include <algorithm>

#include "hw/common/error.hpp"
#include "hw/models/conv/geometry.hpp"
#include "isa/semantics/legal.hpp"

namespace tessera::hw {
namespace {

Cycles cycles_of(const ConvGeometry& geometry) {
  Cycles sum = geometry.prologue_cycles();
  Cycles previous_drain = 0;
  ConvTile tile = geometry.first();
  while (true) {
    ConvTile next = tile;
    const bool more = geometry.advance(next);
    sum += geometry.tile_cycles(tile, more ? &next : nullptr, previous_drain);
    previous_drain = geometry.drain_cycles(tile);
    if (!more) break;
    tile = next;
  }
  return sum + previous_drain + geometry.write_skew();
}

}  // namespace

Bytes conv_window_bytes(const isa::Conv& conv, const isa::ChipConfig& chip) {
  const isa::PixelShape& shape = chip.conv.pixel_shapes.at(conv.pixel_shape);
  const std::int64_t width = std::min<std::int64_t>(conv.gx * shape.px, conv.out_w);
  const std::int64_t height = std::min<std::int64_t>(conv.gy * shape.py, conv.out_h);
  const std::int64_t rows = conv_bank_entries_y(conv, height, shape.py);
  const std::int64_t banks = shape.px * shape.py;
  if (conv.mode == isa::ConvMode::fold) {
    const std::int64_t passes = ceil_div<std::int64_t>(conv.kw, conv.fold);
    return ceil_div<std::int64_t>(width, shape.px) * passes * rows * banks * chip.conv.cin_lanes;
  }
  const std::int64_t lanes = conv.mode == isa::ConvMode::depthwise ? chip.conv.cout_lanes : chip.conv.cin_lanes;
  return conv_bank_entries_x(conv, width, shape.px) * rows * banks * lanes;
}

std::optional<std::string> conv_check(const isa::Conv& conv, const isa::ChipConfig& chip) {
  const auto no = [](const auto&... parts) { return std::optional<std::string>(detail::concat(parts...)); };
  if (auto fault = semantics::find_shape_fault(conv, chip)) return fault;
  if (conv.mode == isa::ConvMode::depthwise && conv.t != 1) return no("depthwise needs t = 1, found ", +conv.t);
  const Bytes window = conv_window_bytes(conv, chip);
  if (window > chip.conv.window_bytes) {
    return no("the window of a tile takes ", window, " bytes: conv.window_bytes is ", chip.conv.window_bytes);
  }
  return std::nullopt;
}

Cycles conv_cycles(const isa::Conv& conv, const isa::ChipConfig& chip) {
  return cycles_of(ConvGeometry(conv, chip, ConvGeometry::Detail::cost));
}

ConvCost conv_cost(const isa::Conv& conv, const isa::ChipConfig& chip) {
  const ConvGeometry geometry(conv, chip, ConvGeometry::Detail::cost);
  ConvCost cost;
  cost.cycles = cycles_of(geometry);
  cost.compute_steps = geometry.compute_steps();
  const std::int64_t lanes = conv.mode == isa::ConvMode::depthwise ? chip.conv.depthwise_taps : chip.conv.cin_lanes;
  cost.macs_issued = cost.compute_steps * lanes * chip.conv.cout_lanes * chip.conv.pixel_lanes;
  cost.tiles = geometry.tile_count();
  cost.weight_lines = geometry.weight_lines_total();
  return cost;
}

const char* ConvLimits::longest() const {
  const Cycles longest = most();
  return array == longest ? "array" : window == longest ? "window" : weights == longest ? "weights" : "drain";
}

Cycles ConvLimits::most() const { return std::max({array, window, weights, drain}); }

ConvLimits& ConvLimits::operator+=(const ConvLimits& other) {
  array += other.array;
  window += other.window;
  weights += other.weights;
  drain += other.drain;
  return *this;
}

ConvLimits conv_limits(const isa::Conv& conv, const isa::ChipConfig& chip) {
  const ConvGeometry geometry(conv, chip, ConvGeometry::Detail::cost);
  ConvLimits limits;
  limits.array = geometry.compute_steps();
  limits.weights = geometry.weight_lines_total();
  ConvTile tile = geometry.first();
  limits.window = geometry.fill_cycles(tile, 0);
  for (bool more = true; more;) {
    for (std::int64_t k = 1; k < geometry.cin_tiles(tile); ++k) limits.window += geometry.fill_cycles(tile, k);
    for (std::int64_t t = 0; t < geometry.channels(tile).tiles; ++t) limits.weights += geometry.param_lines(tile, t);
    limits.drain += geometry.drain_cycles(tile);
    ConvTile next = tile;
    more = geometry.advance(next);
    if (more) limits.window += geometry.next_fill_cycles(tile, next);
    tile = next;
  }
  return limits;
}

}  // namespace tessera::hw
