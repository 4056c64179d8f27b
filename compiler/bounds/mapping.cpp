#include "compiler/bounds/mapping.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "compiler/schedule/conv_modes.hpp"
#include "compiler/schedule/tile.hpp"
#include "hw/common/error.hpp"
#include "hw/common/units.hpp"
#include "hw/models/conv/cost.hpp"
#include "hw/models/edp/cost.hpp"
#include "hw/models/gemm/cost.hpp"
#include "isa/semantics/layout.hpp"

namespace tessera::compiler {
namespace {

constexpr std::int64_t kMostRows = 32768;  // of one instruction's fields

/// Every size that ceil(n / k) takes for k = 1, 2, ..., up to `most`, falling.
std::vector<std::int64_t> sizes(std::int64_t n, std::int64_t most) {
  std::set<std::int64_t> all;
  for (std::int64_t k = 1; k <= n; ++k) {
    const std::int64_t size = ceil_div(n, k);
    if (size <= most) all.insert(size);
    if (size == 1) break;
  }
  return {all.rbegin(), all.rend()};
}

/// [0, n) in pieces of `size`.
std::vector<Rows> pieces_of(std::int64_t n, std::int64_t size) {
  std::vector<Rows> out;
  for (std::int64_t at = 0; at < n; at += size) out.push_back({at, std::min(at + size, n)});
  return out;
}

std::int64_t map_lines(const MapShape& s, const isa::ChipConfig& chip) {
  return semantics::map_layout(s.c, s.h, s.w, chip).bytes / chip.sram.line_bytes;
}

/// Positions of [0, extent) that a window of `kernel` taps sees over `count` outputs; `grain`: positions that count as
/// one.
std::int64_t touched(std::int64_t extent, std::int64_t count, std::int64_t kernel, std::int64_t stride,
                     std::int64_t dilation, std::int64_t pad, std::int64_t grain) {
  std::vector<bool> seen(static_cast<std::size_t>(ceil_div(extent, grain)), false);
  for (std::int64_t o = 0; o < count; ++o) {
    for (std::int64_t k = 0; k < kernel; ++k) {
      const std::int64_t at = o * stride - pad + k * dilation;
      if (at >= 0 && at < extent) seen[static_cast<std::size_t>(at / grain)] = true;
    }
  }
  return std::count(seen.begin(), seen.end(), true);
}

const char* mode_name(isa::ConvMode mode) {
  switch (mode) {
    case isa::ConvMode::dense:
      return "dense";
    case isa::ConvMode::depthwise:
      return "depthwise";
    case isa::ConvMode::fold:
      return "fold";
  }
  return "";
}

/// The port with the most lines against the cycles of the array; both shared by the engines.
void set_limit(Mapping& m, std::int64_t engines, std::int64_t line) {
  const std::pair<Bytes, const char*> ports[] = {{m.ports.activations, "port A"},
                                                 {m.ports.weights, "port W"},
                                                 {m.ports.residual, "port R"},
                                                 {m.ports.output, "port O"}};
  const auto* most = std::max_element(std::begin(ports), std::end(ports),
                                      [](const auto& a, const auto& b) { return a.first < b.first; });
  m.port_cycles = ceil_div(most->first / line, engines);
  m.limit = ceil_div(m.steps, engines) >= m.port_cycles ? "array" : most->second;
}

}  // namespace

const MappingSearch::Instruction& MappingSearch::best(isa::Conv conv) {
  const std::array<std::int32_t, 18> key = {static_cast<std::int32_t>(conv.mode),
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
                                            conv.fold,
                                            conv.has_residual ? 1 : 0};
  auto found = known_.find(key);
  if (found == known_.end()) found = known_.emplace(key, search(conv)).first;
  return found->second;
}

MappingSearch::Instruction MappingSearch::search(isa::Conv conv) const {
  Instruction best;
  const std::int64_t entries = std::min<std::int64_t>(chip_.conv.accumulators, 255);
  const std::int64_t cout_tiles = conv.mode == isa::ConvMode::depthwise
                                      ? 1
                                      : ceil_div<std::int64_t>(conv.cout / conv.groups, chip_.conv.cout_lanes);
  for (std::size_t shape = 0; shape < chip_.conv.pixel_shapes.size(); ++shape) {
    const isa::PixelShape& pixels = chip_.conv.pixel_shapes[shape];
    put(conv.pixel_shape, static_cast<std::int64_t>(shape));
    for (const std::int64_t t : sizes(cout_tiles, entries)) {
      put(conv.t, t);
      for (const std::int64_t gx : sizes(ceil_div<std::int64_t>(conv.out_w, pixels.px), entries / t)) {
        put(conv.gx, gx);
        int larger = 0;  // heights tried that the window holds
        for (const std::int64_t gy : sizes(ceil_div<std::int64_t>(conv.out_h, pixels.py), entries / t / gx)) {
          put(conv.gy, gy);
          if (hw::conv_check(conv, chip_)) continue;
          for (const isa::ConvOrder order : {isa::ConvOrder::pixels_outer, isa::ConvOrder::channels_outer}) {
            conv.order = order;
            const Cycles cycles = hw::conv_cycles(conv, chip_);
            if (!best.legal || cycles < best.cycles) best = {true, conv, cycles};
          }
          if (++larger == 3) break;  // lower tiles read more halo and drain as often
        }
      }
    }
  }
  return best;
}

void MappingSearch::consider_mode(Layer layer, const LayerGraph& graph, Mapping& best_so_far) {
  const std::int64_t engines = chip_.conv.engines * chip_.cores;
  const std::int64_t images = layer.out.n, height = layer.out.h, channels = layer.out.c;
  struct Part {
    Cycles longest = 0, sum = 0;
    std::int64_t steps = 0, weight_lines = 0;
    isa::Conv first;
    bool legal = true;
  };
  const auto measure = [&](const std::vector<Rows>& rows, const std::vector<Rows>& parts) {
    Part part;
    for (const Rows& r : rows) {
      for (const Rows& c : parts) {
        const Instruction& one = best(conv_geometry(layer, graph, {0, r, c}));
        if (!one.legal) {
          part.legal = false;
          return part;
        }
        const hw::ConvCost cost = hw::conv_cost(one.conv, chip_);
        if (part.sum == 0) part.first = one.conv;
        part.longest = std::max(part.longest, one.cycles);
        part.sum += one.cycles;
        part.steps += cost.compute_steps;
        part.weight_lines += cost.weight_lines;
      }
    }
    return part;
  };
  double least_sum = 1e300;
  const auto consider = [&](const Part& part, Cycles cycles, const char* split) {
    if (!part.legal) return;
    least_sum = std::min(least_sum, static_cast<double>(part.sum * images));
    if (best_so_far.cycles > 0 && best_so_far.cycles <= cycles) return;
    best_so_far.cycles = cycles;
    best_so_far.steps = part.steps * images;
    best_so_far.ports.weights =
        (part.weight_lines + ceil_div(semantics::kParamBytes * channels, chip_.sram.line_bytes)) * images *
        chip_.sram.line_bytes;
    const isa::Conv& c = part.first;
    const isa::PixelShape& shape = chip_.conv.pixel_shapes[c.pixel_shape];
    best_so_far.text =
        detail::concat(mode_name(c.mode), c.mode == isa::ConvMode::fold ? detail::concat(" ", +c.fold) : "", ", ",
                       layer.columns > 1 ? detail::concat(layer.columns, " columns as channels, ") : "", shape.px, "x",
                       shape.py, " pixels, tile ", +c.gx, "x", +c.gy, "x", +c.t,
                       c.order == isa::ConvOrder::pixels_outer ? ", pixels outer, " : ", channels outer, ", split);
  };
  const std::vector<Rows> all_rows = pieces_of(height, kMostRows), all_channels = {{0, channels}};
  const Part whole = measure(all_rows, all_channels);
  consider(whole, whole.sum * ceil_div(images, engines), images > 1 && engines > 1 ? "an image an engine" : "whole");
  std::set<std::int64_t> heights;
  std::int64_t tallest = 1;
  for (const isa::PixelShape& shape : chip_.conv.pixel_shapes) {
    heights.insert(ceil_div(height, engines));
    heights.insert(round_up<std::int64_t>(ceil_div(height, engines), shape.py));
    tallest = std::max<std::int64_t>(tallest, shape.py);
  }
  for (const std::int64_t h : heights) {
    if (engines == 1 || h >= height || h > kMostRows) continue;
    const Part rows = measure(pieces_of(height, h), all_channels);
    consider(rows, rows.longest * images, "engines by rows");
  }
  const std::int64_t granule = channel_granule(layer, chip_);
  if (engines > 1 && granule > 0 && channels > granule) {
    const std::int64_t share = ceil_div(ceil_div(channels, granule), engines) * granule;
    const Part split = measure(all_rows, pieces_of(channels, share));
    consider(split, split.longest * images, "engines by channels");
  }
  // Rows that fill no group of one pixel shape may fit another: only the sum of the engines' time can gain.
  for (std::int64_t rest = 1; tallest > 1 && rest < 2 * tallest && rest < height && height <= kMostRows; ++rest) {
    const Part two = measure({{0, height - rest}, {height - rest, height}}, all_channels);
    if (two.legal) least_sum = std::min(least_sum, static_cast<double>(two.sum * images));
  }
  if (least_sum < 1e300 && (best_so_far.engine_cycles == 0 || least_sum < best_so_far.engine_cycles)) {
    best_so_far.engine_cycles = least_sum;
  }
}

Mapping MappingSearch::convolution(const Layer& layer, const LayerGraph& graph) {
  Mapping m;
  const std::int64_t px = semantics::pixels_per_line(chip_), line = chip_.sram.line_bytes;
  for (const Layer& form : conv_forms(layer, graph, chip_)) {
    consider_mode(form, graph, m);
    const Bytes read = form.in.n * ceil_div(form.in.c, chip_.layout.channel_block) *
                       touched(form.in.h, form.out.h, form.kh, form.sy, form.dy, form.pad_top, 1) *
                       touched(form.in.w, form.out.w, form.kw, form.sx, form.dx, form.pad_left, px) * line;
    if (m.ports.activations == 0 || read < m.ports.activations) m.ports.activations = read;
  }
  m.ports.output = layer.out.n * map_lines(layer.out, chip_) * line;
  if (layer.residual != nullptr) m.ports.residual = m.ports.output;
  set_limit(m, chip_.conv.engines * chip_.cores, line);
  return m;
}

Mapping MappingSearch::elementwise(const Layer& layer, const LayerGraph& graph) const {
  Mapping m;
  const std::int64_t line = chip_.sram.line_bytes;
  std::int64_t elements = 0;
  for (const Rows& rows : pieces_of(layer.out.h, kMostRows)) {
    const isa::Edp edp = edp_geometry(layer, graph, {0, rows, {0, layer.out.c}});
    m.engine_cycles += static_cast<double>(hw::edp_cycles(edp, chip_) * layer.out.n);
    elements += hw::edp_elements_issued(edp, chip_) * layer.out.n;
  }
  m.cycles = ceil_div(static_cast<Cycles>(m.engine_cycles), chip_.cores);
  m.steps = elements / chip_.edp.lanes;
  m.ports.activations = layer.in.n * map_lines(layer.in, chip_) * line;
  if (layer.inputs.size() == 2) {
    const MapShape& b = graph.values[static_cast<std::size_t>(layer.inputs[1])].shape;
    m.ports.residual = b.n * map_lines(b, chip_) * line;
  }
  m.ports.output = layer.out.n * map_lines(layer.out, chip_) * line;
  set_limit(m, chip_.cores, line);
  m.text = "whole map";
  return m;
}

Mapping MappingSearch::product(const Layer& layer) const {
  Mapping m;
  const QNode& node = *layer.node;
  isa::Gemm gemm;
  gemm.trans_a = layer.trans_a;
  gemm.trans_b = layer.trans_b;
  put(gemm.n, node.n);
  put(gemm.k, node.k);
  const std::int64_t line = chip_.sram.line_bytes;
  for (const isa::GemmDataflow flow : {isa::GemmDataflow::weight_stationary, isa::GemmDataflow::output_stationary}) {
    gemm.dataflow = flow;
    put(gemm.m, std::min<std::int64_t>(node.m, kMostRows));
    if (hw::gemm_check(gemm, chip_)) continue;
    double cycles = 0;
    for (const Rows& rows : pieces_of(node.m, kMostRows)) {
      put(gemm.m, rows.count());
      cycles += static_cast<double>(hw::gemm_cycles(gemm, chip_));
    }
    // Products of a batch follow each other in one instruction; the hand-over between them costs nothing at best.
    const isa::GemmDataflow chosen = flow;
    isa::Gemm pair = gemm;
    put(pair.m, std::min<std::int64_t>(node.m, kMostRows));
    const auto one = static_cast<double>(hw::gemm_cycles(pair, chip_));
    put(pair.batch, 2);
    const double more = std::min(cycles, cycles - one + static_cast<double>(hw::gemm_cycles(pair, chip_)) - one);
    const double total = cycles + more * static_cast<double>(node.batch - 1);
    if (m.engine_cycles > 0 && m.engine_cycles <= total) continue;
    m.engine_cycles = total;
    m.steps = hw::gemm_macs_issued(gemm, chip_) / (chip_.gemm.rows * chip_.gemm.cols) * node.batch;
    m.text = chosen == isa::GemmDataflow::weight_stationary ? "weight-stationary" : "output-stationary";
  }
  m.cycles = ceil_div(static_cast<Cycles>(m.engine_cycles), chip_.cores);
  const auto matrix = [&](std::int64_t rows, std::int64_t columns) { return rows * ceil_div(columns, line) * line; };
  m.ports.activations = matrix(node.m, node.k) * (node.shared_a ? 1 : node.batch);
  m.ports.weights = matrix(node.k, node.n) * (node.shared_b ? 1 : node.batch);
  m.ports.output = matrix(node.m, node.n) * node.batch;
  set_limit(m, chip_.cores, line);
  return m;
}

Mapping MappingSearch::best(const Layer& layer, const LayerGraph& graph) {
  switch (layer.kind) {
    case LayerKind::conv:
      return convolution(layer, graph);
    case LayerKind::edp:
    case LayerKind::copy:
      return elementwise(layer, graph);
    case LayerKind::gemm:
      return product(layer);
    case LayerKind::move:
    case LayerKind::stream:
    case LayerKind::host:
      break;
  }
  return {};
}

}  // namespace tessera::compiler
