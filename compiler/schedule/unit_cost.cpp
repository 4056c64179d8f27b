#include "compiler/schedule/unit_cost.hpp"

#include <algorithm>
#include <vector>

#include "compiler/schedule/tile.hpp"
#include "hw/common/error.hpp"
#include "hw/models/conv/cost.hpp"
#include "hw/models/edp/cost.hpp"
#include "hw/models/gemm/cost.hpp"
#include "hw/models/interconnect/stream_rate.hpp"
#include "hw/models/reorder/cost.hpp"

namespace tessera::compiler {
namespace {

// What a line on a port counts beside the cycles: engines that share a layer meet in banks as often as their ports
// work.
constexpr double kPortLine = 0.1;

/// The smallest tile sizes that give each number of tiles: n, ceil(n / 2), ceil(n / 3) ... 1, without repeats.
std::vector<std::int64_t> even_cuts(std::int64_t n, std::int64_t largest) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t tiles = 1; tiles <= n; ++tiles) {
    const std::int64_t size = ceil_div(n, tiles);
    if (size > largest) {
      tiles = std::max(tiles, ceil_div(n, largest) - 1);
      continue;
    }
    if (sizes.empty() || sizes.back() != size) sizes.push_back(size);
    if (size == 1) break;
  }
  return sizes;
}

std::int64_t window_lines(const isa::Conv& conv, std::int64_t tiles, const isa::ChipConfig& chip) {
  const isa::PixelShape& shape = chip.conv.pixel_shapes[conv.pixel_shape];
  const auto span = [](std::int64_t outputs, std::int64_t stride, std::int64_t kernel, std::int64_t dilation) {
    return (outputs - 1) * stride + (kernel - 1) * dilation + 1;
  };
  const std::int64_t rows = std::min<std::int64_t>(
      conv.in_h, span(std::min<std::int64_t>(conv.gy * shape.py, conv.out_h), conv.sy, conv.kh, conv.dy));
  const std::int64_t columns = std::min<std::int64_t>(
      conv.in_w, span(std::min<std::int64_t>(conv.gx * shape.px, conv.out_w), conv.sx, conv.kw, conv.dx));
  const std::int64_t cb = chip.layout.channel_block;
  const std::int64_t blocks =
      conv.mode == isa::ConvMode::depthwise ? 1 : ceil_div<std::int64_t>(conv.cin / conv.groups, cb);
  return tiles * rows * (ceil_div(columns * cb, chip.sram.line_bytes) + 1) * blocks;
}

}  // namespace

ConvPorts conv_ports(const isa::Conv& conv, const isa::ChipConfig& chip) {
  const hw::ConvCost cost = hw::conv_cost(conv, chip);
  return {window_lines(conv, cost.tiles, chip), cost.weight_lines};
}

UnitCost::UnitCost(const isa::ChipConfig& chip) : chip_(chip), dram_bytes_per_cycle_(hw::peak_bytes_per_cycle(chip)) {}

UnitCost::Key UnitCost::key_of(const isa::Conv& conv) {
  return {static_cast<std::int32_t>(conv.mode),
          conv.in_h,
          conv.in_w,
          conv.cin,
          conv.out_h,
          conv.out_w,
          conv.cout,
          conv.groups,
          conv.kh,
          conv.kw,
          conv.sy,
          conv.sx,
          conv.dy,
          conv.dx,
          conv.pad_top,
          conv.pad_left,
          conv.fold};
}

std::optional<Cycles> UnitCost::choose(isa::Conv& conv) {
  const Key key = key_of(conv);
  auto found = known_.find(key);
  if (found == known_.end()) found = known_.emplace(key, search(conv)).first;
  const Choice& best = found->second;
  if (!best.legal) {
    why_ = best.why;
    return std::nullopt;
  }
  put(conv.pixel_shape, best.shape);
  put(conv.gx, best.gx);
  put(conv.gy, best.gy);
  put(conv.t, best.t);
  conv.order = best.order;
  return best.cycles;
}

UnitCost::Burst UnitCost::window_burst(const isa::Conv& conv) const {
  const hw::ConvCost cost = hw::conv_cost(conv, chip_);
  const std::int64_t cin_tiles =
      conv.mode == isa::ConvMode::dense ? ceil_div<std::int64_t>(conv.cin / conv.groups, chip_.conv.cin_lanes) : 1;
  const std::int64_t phases = cost.tiles * cin_tiles;
  return {window_lines(conv, 1, chip_) / cin_tiles, cost.cycles / std::max<std::int64_t>(1, phases), cost.cycles};
}

UnitCost::Choice UnitCost::search(isa::Conv conv) {
  Choice best;
  double least = 0;
  const std::int64_t entries = std::min<std::int64_t>(chip_.conv.accumulators, 255);
  const std::int64_t cout_tiles = ceil_div<std::int64_t>(conv.cout / conv.groups, chip_.conv.cout_lanes);
  const std::int64_t most_t = conv.mode == isa::ConvMode::depthwise ? 1 : cout_tiles;
  for (std::size_t shape = 0; shape < chip_.conv.pixel_shapes.size(); ++shape) {
    put(conv.pixel_shape, static_cast<std::int64_t>(shape));
    const std::int64_t full_x = ceil_div<std::int64_t>(conv.out_w, chip_.conv.pixel_shapes[shape].px);
    const std::int64_t full_y = ceil_div<std::int64_t>(conv.out_h, chip_.conv.pixel_shapes[shape].py);
    for (std::int64_t t = 1; t <= std::min(most_t, entries); t = std::min(t * 2, std::max(most_t, t + 1))) {
      put(conv.t, t);
      for (const std::int64_t gx : even_cuts(full_x, entries / t)) {
        put(conv.gx, gx);
        const std::vector<std::int64_t> heights = even_cuts(full_y, entries / t / gx);
        for (std::size_t i = 0; i < heights.size(); ++i) {
          put(conv.gy, heights[i]);
          conv.order = isa::ConvOrder::pixels_outer;
          if (const auto objection = hw::conv_check(conv, chip_)) {
            if (!best.legal) best.why = *objection;
            continue;  // a lower tile may fit the window
          }
          for (const isa::ConvOrder order : {isa::ConvOrder::pixels_outer, isa::ConvOrder::channels_outer}) {
            if (order == isa::ConvOrder::channels_outer && t >= most_t && conv.groups == 1) continue;
            conv.order = order;
            const hw::ConvCost cost = hw::conv_cost(conv, chip_);
            const ConvPorts ports{window_lines(conv, cost.tiles, chip_), cost.weight_lines};
            const double worth = static_cast<double>(cost.cycles) +
                                 kPortLine * static_cast<double>(ports.window_lines + ports.weight_lines);
            if (best.legal && worth >= least) continue;
            least = worth;
            best = {true, cost.cycles, static_cast<std::int64_t>(shape), gx, heights[i], t, order, ports, {}};
          }
          break;  // smaller tiles of the same width and channels only add phases
        }
      }
    }
  }
  return best;
}

std::optional<Cycles> UnitCost::choose(isa::Gemm& gemm) {
  std::optional<Cycles> best;
  isa::GemmDataflow chosen = gemm.dataflow;
  for (const isa::GemmDataflow flow : {isa::GemmDataflow::weight_stationary, isa::GemmDataflow::output_stationary}) {
    gemm.dataflow = flow;
    if (const auto objection = hw::gemm_check(gemm, chip_)) {
      why_ = *objection;
      continue;
    }
    const Cycles cycles = hw::gemm_cycles(gemm, chip_);
    if (best && *best <= cycles) continue;
    best = cycles;
    chosen = flow;
  }
  gemm.dataflow = chosen;
  return best;
}

Cycles UnitCost::edp(const isa::Edp& edp) const { return hw::edp_cycles(edp, chip_); }
Cycles UnitCost::reorder(const isa::Reorder& reorder) const { return hw::reorder_cycles(reorder, chip_); }

}  // namespace tessera::compiler
