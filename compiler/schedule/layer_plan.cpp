#include "compiler/schedule/layer_plan.hpp"

#include <algorithm>
#include <cmath>

#include "compiler/schedule/import_plan.hpp"
#include "hw/common/error.hpp"
#include "hw/common/units.hpp"

namespace tessera::compiler {
namespace {

// What an instruction costs beside its work, for ranking plans only: issue, operand latency, drain.
constexpr double kTileOverhead = 60;
constexpr double kIssueOverhead = 10;  // the part of it that the blocks' cost functions do not hold
constexpr double kLoadOverhead = 50;
constexpr double kTileInstructions = 2;  // of an engine and what goes with it
// Share of the first piece's load and of a tile's time that is not hidden under a neighbour on the same unit.
constexpr double kFirstPiece = 0.1;
// Plans whose compute time is asked from the cost functions after the ranking by estimates.
constexpr std::size_t kRefined = 16;

/// A plan and what its estimate is made of.
struct Candidate {
  LayerPlan plan;
  double tiles = 1;
  double load = 0, load_tile = 0, store = 0;
  double compute = 0, compute_tile = 0;
};

class Planner {
 public:
  Planner(const Layer& layer, const LayerGraph& graph, const LayerConstants& constants, const LayerSite& site,
          UnitCost& cost)
      : layer_(layer), graph_(graph), constants_(constants), site_(site), cost_(cost), chip_(cost.chip()) {
    cb_ = chip_.layout.channel_block;
    line_pixels_ = chip_.sram.line_bytes / cb_;
    in_row_lines_ = ceil_div(layer.in.w, line_pixels_);
    out_row_lines_ = ceil_div(layer.out.w, line_pixels_);
    for (std::size_t i = 0; i < site.input_image.size(); ++i) {
      if (site.input_image[i] && !site.input_streamed[i]) import_cycles_ = std::max(import_cycles_, image_cycles(i));
    }
    for (const int id : site.vector_neighbours) {
      const Layer& other = graph.layers[static_cast<std::size_t>(id)];
      vector_cycles_ += static_cast<double>(
          other.out.n * cost.edp(edp_geometry(other, graph, {0, {0, other.out.h}, {0, other.out.c}})));
    }
  }

  std::vector<LayerPlan> plans() {
    std::vector<Candidate> out;
    const std::int64_t granule = channel_granule(layer_, chip_);
    const std::int64_t channels = site_.channels.count();
    std::vector<std::int64_t> channel_sizes = {channels};
    if (granule > 0) {
      const std::int64_t units = ceil_div(channels, granule);
      for (const std::int64_t n : cuts(units)) {
        const std::int64_t size = std::min(channels, ceil_div(units, n) * granule);
        if (channel_sizes.back() != size) channel_sizes.push_back(size);
      }
    }
    std::vector<std::int64_t> row_sizes;
    for (const std::int64_t n : cuts(site_.rows.count())) {
      const std::int64_t size = ceil_div(site_.rows.count(), n);
      if (row_sizes.empty() || row_sizes.back() != size) row_sizes.push_back(size);
    }
    if (layer_.wished_rows > 0) row_sizes = {std::min(layer_.wished_rows, site_.rows.count())};
    for (const std::int64_t tc : channel_sizes) {
      for (const std::int64_t th : row_sizes) {
        for (const bool channels_outer : {true, false}) {
          if (!channels_outer && (tc == channels || layer_.kind != LayerKind::conv)) continue;
          for (const bool twice : {true, false}) out.push_back(candidate(th, tc, channels_outer, twice));
        }
      }
    }
    out.erase(
        std::remove_if(out.begin(), out.end(), [&](const Candidate& c) { return c.plan.lines() > site_.sram_lines; }),
        out.end());
    const auto worth = [&](const Candidate& c) {
      return c.plan.estimate + site_.byte_cycles * (c.plan.bytes + c.plan.instruction_bytes);
    };
    const auto cheaper = [&](const Candidate& a, const Candidate& b) { return worth(a) < worth(b); };
    std::stable_sort(out.begin(), out.end(), cheaper);
    // Of whole maps the estimates know least: engines may then have halves that lie apart.
    const auto whole = [&](const Candidate& c) { return c.plan.tile_rows == site_.rows.count(); };
    auto head = out.begin() + static_cast<std::ptrdiff_t>(std::min(kRefined, out.size()));
    if (site_.maps != MapsLie::elsewhere) head = std::stable_partition(head, out.end(), whole);
    if (layer_.kind == LayerKind::conv) std::for_each(out.begin(), head, [&](Candidate& c) { refine(c); });
    std::stable_sort(out.begin(), head, cheaper);
    std::vector<LayerPlan> plans;
    plans.reserve(out.size());
    for (Candidate& c : out) plans.push_back(std::move(c.plan));
    return plans;
  }

 private:
  static std::vector<std::int64_t> cuts(std::int64_t n) {
    std::vector<std::int64_t> out;
    for (std::int64_t i = 1; i <= n; i = i < 8 ? i + 1 : i + i / 4) out.push_back(i);
    if (out.back() != n) out.push_back(n);
    return out;
  }

  Candidate candidate(std::int64_t th, std::int64_t tc, bool channels_outer, bool twice) {
    const double rows = static_cast<double>(site_.rows.count());
    const double row_tiles = (std::ceil(rows / static_cast<double>(th)) + static_cast<double>(site_.row_cuts)) *
                             static_cast<double>(site_.images);
    const double channel_tiles = std::ceil(static_cast<double>(site_.channels.count()) / static_cast<double>(tc));
    const double tiles = row_tiles * channel_tiles;
    Candidate c;
    c.tiles = tiles;
    LayerPlan& p = c.plan;
    p.tile_rows = th;
    p.tile_channels = tc;
    p.channels_outer = channels_outer;
    p.double_buffered = twice && tiles > 1;
    const Rows tile_in = input_rows(layer_, {site_.rows.first, site_.rows.first + th});
    const Rows tile_channels{site_.channels.first, std::min(site_.channels.first + tc, site_.channels.end)};
    const Rows in_channels = input_channels(layer_, tile_channels);
    // A tile in the middle of the map reads the most rows.
    const std::int64_t span = layer_.kind == LayerKind::conv || layer_.kh > 1
                                  ? std::min((th - 1) * layer_.sy + (layer_.kh - 1) * layer_.dy + 1, layer_.in.h)
                                  : tile_in.count();
    const std::int64_t in_rows = std::max(span, tile_in.count());
    const double bandwidth = cost_.dram_bytes_per_cycle();
    p.instruction_bytes = tiles * kTileInstructions * kInstructionBytes;

    for (std::size_t i = 0; i < site_.input_streamed.size(); ++i) {
      if (!site_.input_streamed[i]) continue;
      const bool vector = i == 1 && layer_.b_broadcast;
      const bool residual = is_residual(layer_, i);
      const std::int64_t operand_rows = vector ? 1 : residual ? th : in_rows;
      const std::int64_t row_lines = vector ? 1 : residual ? out_row_lines_ : in_row_lines_;
      const std::int64_t width = vector ? 1 : residual ? layer_.out.w : layer_.in.w;
      const Rows part = !residual ? in_channels : channels_outer ? tile_channels : site_.channels;
      p.buffers.push_back(ceil_div(part.count(), cb_) * operand_rows * row_lines);
      const double share = site_.input_share.empty() ? 1 : site_.input_share[i];
      const double bytes = share * static_cast<double>(operand_rows * part.count() * width);
      double cycles = bytes / bandwidth;
      if (site_.input_image[i]) {
        const Root& map =
            graph_.roots[static_cast<std::size_t>(graph_.values[static_cast<std::size_t>(layer_.inputs[i])].root)];
        const double row = part.count() == map.shape.c ? import_plan(map, !map.channels_last, chip_, bandwidth).cycles()
                                                       : static_cast<double>(part.count() * row_lines);
        cycles = std::max(cycles, share * static_cast<double>(operand_rows) * row);
      }
      const bool again = channels_outer || layer_.kind != LayerKind::conv;
      p.bytes += bytes * row_tiles * (again ? channel_tiles : 1);
      c.load_tile += cycles;
      c.load += (cycles + kLoadOverhead) * row_tiles * (again ? channel_tiles : 1);
    }
    constants_of(p, tc, channels_outer, row_tiles, channel_tiles, c.load, c.load_tile);
    const double out_bytes = site_.output_share * static_cast<double>(th * tc * layer_.out.w);
    if (site_.output_streamed) {
      c.store = tiles * (out_bytes / bandwidth + kLoadOverhead);
      p.bytes += site_.output_share *
                 static_cast<double>(site_.rows.count() * site_.channels.count() * layer_.out.w * site_.images);
    }
    if (!site_.output_resident)
      p.buffers.push_back(ceil_div(tc, cb_) * th * out_row_lines_ + partial_block(tc) * th * out_row_lines_);

    c.compute_tile = tile_cycles(th, tc, p.split);
    c.compute = c.compute_tile * rows / static_cast<double>(th) * static_cast<double>(site_.images) *
                    static_cast<double>(site_.channels.count()) / static_cast<double>(tc) +
                kTileOverhead * tiles;
    set_estimate(c);
    return c;
  }

  /// Of LOAD and REORDER until operand i, a map that stays, has come from its image; 0: it was there before.
  [[nodiscard]] double image_cycles(std::size_t i) const {
    const Root& map =
        graph_.roots[static_cast<std::size_t>(graph_.values[static_cast<std::size_t>(layer_.inputs[i])].root)];
    if (map.first_layer < 0 || &graph_.layers[static_cast<std::size_t>(map.first_layer)] != &layer_) return 0;
    return static_cast<double>(map.shape.n * map.shape.h) *
           import_plan(map, !map.channels_last, chip_, cost_.dram_bytes_per_cycle()).cycles();
  }

  void set_estimate(Candidate& c) const {
    const double dram = c.load + c.store;  // both share the DRAM
    if (!site_.streams()) {
      // Only constants are loaded, whatever the plan, and ahead of time: the engines' time counts, the size of the
      // first piece a little. A neighbour on another unit starts when the first tile is done.
      c.plan.estimate = std::max(c.compute, import_cycles_) + kFirstPiece * c.load_tile + handed_over(c);
    } else if (c.plan.double_buffered) {
      c.plan.estimate = std::max(c.compute, dram) + c.load_tile + c.compute_tile + c.store / c.tiles;
    } else {
      c.plan.estimate = c.compute + dram;
    }
  }

  /// What a neighbour on another unit has left to do alone: a tile's time, or its own share of a tile when it is
  /// faster.
  [[nodiscard]] double handed_over(const Candidate& c) const {
    if (!site_.handover) return kFirstPiece * c.compute_tile;
    if (site_.vector_neighbours.empty()) return c.compute_tile;
    return std::max(kFirstPiece * c.compute_tile, std::min(c.compute_tile, vector_cycles_ / c.tiles));
  }

  /// The same with the engine's own cost function, edges and remainders included.
  void refine(Candidate& c) {
    const std::int64_t th = c.plan.tile_rows;
    const std::int64_t tc = c.plan.tile_channels;
    const Rows first_rows{site_.rows.first, std::min(site_.rows.first + th, site_.rows.end)};
    const Rows first_channels{site_.channels.first, std::min(site_.channels.first + tc, site_.channels.end)};
    // Engines side by side hold what belongs to their tiles at the same time.
    const bool images = !site_.streams() && c.plan.channels_outer;
    const SplitChoice choice = best_split(layer_, graph_, {0, first_rows, first_channels}, images, cost_, site_.maps);
    c.plan.split = choice.split;
    if (copies_weights(choice.split)) {
      const std::int64_t bytes =
          constants_.weight_offset(first_channels.end) - constants_.weight_offset(first_channels.first);
      c.plan.buffers.push_back((chip_.conv.engines - 1) * ceil_div(bytes, chip_.sram.line_bytes));
    }
    c.compute_tile = choice.cycles;
    c.compute = 0;
    const std::int64_t full_rows = site_.rows.count() / th, full_channels = site_.channels.count() / tc;
    const Rows rest_rows{site_.rows.first + full_rows * th, site_.rows.end};
    const Rows rest_channels{site_.channels.first + full_channels * tc, site_.channels.end};
    const auto add = [&](const Rows& rows, const Rows& channels, std::int64_t times) {
      if (times == 0 || rows.count() == 0 || channels.count() == 0) return;
      c.compute +=
          static_cast<double>(times * site_.images) * (exact_tile(rows, channels, c.plan.split) + kIssueOverhead);
    };
    add(first_rows, first_channels, full_rows * full_channels);
    add(rest_rows, first_channels, full_channels);
    add(first_rows, rest_channels, full_rows);
    add(rest_rows, rest_channels, 1);
    set_estimate(c);
  }

  double exact_tile(const Rows& rows, const Rows& channels, EngineSplit split) {
    return split_cycles(layer_, graph_, {0, rows, channels}, split, cost_, site_.maps);
  }

  /// A Concat part that starts inside a block touches one block more.
  [[nodiscard]] std::int64_t partial_block(std::int64_t) const { return layer_.output_channel % cb_ != 0 ? 1 : 0; }

  void constants_of(LayerPlan& p, std::int64_t tc, bool channels_outer, double row_tiles, double channel_tiles,
                    double& load, double& load_tile) const {
    const std::int64_t line = chip_.sram.line_bytes;
    const double bandwidth = cost_.dram_bytes_per_cycle();
    const double passes = channels_outer || channel_tiles <= 1 ? 1 : row_tiles;
    if (constants_.layout) {
      const std::int64_t first = constants_.weight_offset(site_.channels.first);
      const std::int64_t end = constants_.weight_offset(std::min(site_.channels.first + tc, site_.channels.end));
      p.buffers.push_back((end - first) / line);
      load_tile += static_cast<double>(end - first) / bandwidth;
      load += passes * channel_tiles * (static_cast<double>(end - first) / bandwidth + kLoadOverhead);
      p.bytes += passes * static_cast<double>(constants_.useful_weights(site_.channels.first, site_.channels.end) +
                                              constants_.params_bytes);
      p.params_whole = ceil_div(constants_.params_bytes, line) <= site_.sram_lines / 32;
      const std::int64_t params = p.params_whole ? constants_.params_bytes : semantics::kParamBytes * tc;
      p.buffers.push_back(ceil_div(params, line));
      load += (p.params_whole ? 1 : passes * channel_tiles) * (static_cast<double>(params) / bandwidth + kLoadOverhead);
    } else {
      if (constants_.params_bytes > 0) p.buffers.push_back(ceil_div(constants_.params_bytes, line));
      if (constants_.table_bytes > 0) p.buffers.push_back(ceil_div(constants_.table_bytes, line));
    }
  }

  /// Estimate of a tile on all engines, and how they share it.
  double tile_cycles(std::int64_t th, std::int64_t tc, EngineSplit& split) const {
    split = EngineSplit::none;
    if (layer_.kind != LayerKind::conv) return edp_cycles(th, tc);
    const double alone = conv_cycles(th, tc);
    const std::int64_t engines = chip_.conv.engines;
    if (engines == 1) return alone;
    double best = alone;
    const std::int64_t granule = channel_granule(layer_, chip_);
    if (site_.images > 1 && !site_.streams()) {
      best = alone * image_share(layer_, chip_);
      split = EngineSplit::images;
    }
    if (th > 1) {
      const double by_rows = kRowsMeeting * conv_cycles(ceil_div(th, engines), tc);
      if (by_rows < best) {
        best = by_rows;
        split = EngineSplit::rows;
      }
    }
    if (granule > 0 && tc > granule) {
      const double by_channels = conv_cycles(th, ceil_div(ceil_div(tc, granule), engines) * granule);
      if (by_channels < best) {
        best = by_channels;
        split = EngineSplit::channels;
      }
    }
    return best;
  }

  [[nodiscard]] double edp_cycles(std::int64_t th, std::int64_t tc) const {
    const std::int64_t lines = th * ceil_div(tc, cb_) * out_row_lines_;
    const bool window = layer_.kind == LayerKind::edp && layer_.kh * layer_.kw > 1;
    const double reads = window ? static_cast<double>(layer_.kh * layer_.kw) : 1.0;
    const double lane_steps = static_cast<double>(chip_.sram.line_bytes) / static_cast<double>(chip_.edp.lanes);
    return static_cast<double>(lines) * std::max(reads, lane_steps);
  }

  /// max(steps, window lines, weight lines) of the dataflow (MACHINE.md section 7) with the best tile.
  [[nodiscard]] double conv_cycles(std::int64_t th, std::int64_t tc) const {
    const std::int64_t co = chip_.conv.cout_lanes;
    const std::int64_t groups = layer_.node->groups;
    const bool depthwise = layer_.mode == isa::ConvMode::depthwise;
    const double taps_x = layer_.mode == isa::ConvMode::fold ? static_cast<double>(ceil_div(layer_.kw, layer_.fold))
                                                             : static_cast<double>(layer_.kw);
    double best = 1e300;
    for (const isa::PixelShape& shape : chip_.conv.pixel_shapes) {
      const double groups_of_pixels = static_cast<double>(ceil_div(layer_.out.w, shape.px) * ceil_div(th, shape.py));
      if (depthwise) {
        const double steps =
            groups_of_pixels * static_cast<double>(ceil_div(tc, co) * layer_.kh *
                                                   ceil_div(layer_.kw, chip_.conv.depthwise_taps) * layer_.sx);
        const double window = static_cast<double>(ceil_div(tc, cb_) * input_rows_of(th) * in_row_lines_ * line_fill());
        best = std::min(best, std::max(steps, window));
        continue;
      }
      const std::int64_t cin_g = layer_.in.c / groups;
      const std::int64_t cout_g = groups == 1 ? tc : layer_.out.c / groups;
      const double conv_groups = groups == 1 ? 1 : static_cast<double>(tc) / static_cast<double>(cout_g);
      const double cin_tiles = static_cast<double>(ceil_div(cin_g, chip_.conv.cin_lanes));
      const auto cout_tiles = static_cast<double>(ceil_div(cout_g, co));
      const double steps = groups_of_pixels * cin_tiles * static_cast<double>(layer_.kh) * taps_x * cout_tiles;
      const double weight_lines = cin_tiles * cout_tiles * static_cast<double>(layer_.kh) * taps_x *
                                  static_cast<double>(ceil_div(chip_.conv.cin_lanes * co, chip_.sram.line_bytes));
      const double window_lines =
          static_cast<double>(ceil_div(cin_g, cb_) * input_rows_of(th) * in_row_lines_ * line_fill());
      for (double t = 1; t <= static_cast<double>(chip_.conv.accumulators); t *= 2) {
        const double used_t = std::min(t, cout_tiles);
        const double pixels =
            std::min(std::floor(static_cast<double>(chip_.conv.accumulators) / used_t), groups_of_pixels);
        const double cycles = std::max({steps, window_lines * std::ceil(cout_tiles / used_t),
                                        weight_lines * std::ceil(groups_of_pixels / std::max(1.0, pixels))});
        best = std::min(best, cycles * conv_groups);
        if (t >= cout_tiles) break;
      }
    }
    return best;
  }

  /// Cycles to write one input line into the window banks: pixels of a line that meet in one bank.
  [[nodiscard]] std::int64_t line_fill() const {
    return layer_.mode == isa::ConvMode::fold ? 1 : std::min(layer_.sx, line_pixels_);
  }

  [[nodiscard]] std::int64_t input_rows_of(std::int64_t th) const {
    return std::min(layer_.in.h, (th - 1) * layer_.sy + (layer_.kh - 1) * layer_.dy + 1);
  }

  const Layer& layer_;
  const LayerGraph& graph_;
  const LayerConstants& constants_;
  const LayerSite& site_;
  UnitCost& cost_;
  const isa::ChipConfig& chip_;
  double vector_cycles_ = 0;  // of the neighbours on EDP
  double import_cycles_ = 0;  // of the operands' images, under which the layer may begin
  std::int64_t cb_ = 1, line_pixels_ = 1, in_row_lines_ = 1, out_row_lines_ = 1;
};

}  // namespace

LayerSite layer_site(const LayerGraph& graph, int id, const std::vector<bool>& spilled, std::int64_t sram_lines) {
  const Layer& l = graph.layers[static_cast<std::size_t>(id)];
  const auto root_of = [&](int value) { return graph.values[static_cast<std::size_t>(value)].root; };
  LayerSite site;
  site.rows = {0, l.out.h};
  site.channels = {0, l.out.c};
  site.images = l.out.n;
  site.sram_lines = sram_lines;
  for (const int t : l.inputs) {
    const bool imported = graph.roots[static_cast<std::size_t>(root_of(t))].imported;
    site.input_streamed.push_back(spilled[static_cast<std::size_t>(root_of(t))]);
    site.input_image.push_back(imported);
    site.handover = site.handover || imported;
  }
  bool unknown = site.handover;  // how long a neighbour on another unit takes
  site.output_streamed = spilled[static_cast<std::size_t>(l.output_root)];
  site.output_resident = !site.output_streamed;
  if (!site.streams()) site.maps = graph.halved ? MapsLie::halved : MapsLie::whole;
  const auto reads = [&](const Layer& reader, int root) {
    return std::any_of(reader.inputs.begin(), reader.inputs.end(), [&](int t) { return root_of(t) == root; });
  };
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    const Layer& other = graph.layers[i];
    if (other.kind == l.kind && l.kind == LayerKind::conv) continue;
    if ((other.output_root < 0 || !reads(l, other.output_root)) && !reads(other, l.output_root)) continue;
    site.handover = true;
    if (l.kind != LayerKind::conv || other.kind != LayerKind::edp) unknown = true;
    site.vector_neighbours.push_back(static_cast<int>(i));
  }
  if (unknown || !graph.short_neighbours) site.vector_neighbours.clear();
  return site;
}

std::int64_t LayerPlan::lines() const {
  std::int64_t lines = 0;
  for (const std::int64_t b : buffers) lines += b;
  return double_buffered ? 2 * lines : lines;
}

std::vector<LayerPlan> layer_plans(const Layer& layer, const LayerGraph& graph, const LayerConstants& constants,
                                   const LayerSite& site, UnitCost& cost) {
  return Planner(layer, graph, constants, site, cost).plans();
}

std::vector<CoreShare> core_shares(const Layer& layer, const LayerGraph& graph, const LayerConstants& constants,
                                   std::int64_t sram_lines, UnitCost& cost) {
  const Rows rows{0, layer.out.h}, channels{0, layer.out.c};
  const std::int64_t cores = cost.chip().cores;
  if (cores == 1) return {{rows, channels}};
  const std::int64_t granule = channel_granule(layer, cost.chip());
  const std::vector<Rows> by_rows = cut(rows, cores, 1);
  const std::vector<Rows> by_channels = granule > 0 ? cut(channels, cores, granule) : std::vector<Rows>{channels};
  bool use_rows = by_rows.size() > 1;
  if (use_rows && by_channels.size() > 1) {
    LayerSite site;
    site.images = layer.out.n;
    site.input_streamed.assign(layer.inputs.size(), true);
    site.input_image.assign(layer.inputs.size(), false);
    site.output_streamed = true;
    site.sram_lines = sram_lines;
    const auto estimate = [&](const Rows& r, const Rows& c) {
      site.rows = r;
      site.channels = c;
      const auto plans = layer_plans(layer, graph, constants, site, cost);
      return plans.empty() ? kNoPlan : plans.front().estimate;
    };
    use_rows = estimate(by_rows[0], channels) <= estimate(rows, by_channels[0]);
  }
  std::vector<CoreShare> shares;
  for (const Rows& part : use_rows ? by_rows : by_channels) {
    shares.push_back(use_rows ? CoreShare{part, channels} : CoreShare{rows, part});
  }
  return shares;
}

std::vector<Rows> cut(const Rows& range, std::int64_t parts, std::int64_t granule) {
  TESSERA_CHECK(range.count() > 0 && parts > 0 && granule > 0, "cut of ", range.count(), " into ", parts);
  const std::int64_t units = ceil_div(range.count(), granule);
  const std::int64_t pieces = std::min(parts, units);
  std::vector<Rows> out;
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < pieces; ++i) {
    const std::int64_t next = units * (i + 1) / pieces;
    out.push_back({range.first + at * granule, std::min(range.first + next * granule, range.end)});
    at = next;
  }
  return out;
}

}  // namespace tessera::compiler
