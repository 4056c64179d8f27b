// What groups of layers take and cost: the part of FusionSearch that makes plans of them and knows nothing of cuts and
// states.
#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "compiler/schedule/fusion_search.hpp"
#include "compiler/schedule/import_plan.hpp"
#include "hw/common/error.hpp"
#include "hw/common/units.hpp"
#include "isa/semantics/layout.hpp"

namespace tessera::compiler {
namespace {

constexpr double kChunkOverhead = 40;  // cycles of an instruction beside its work
constexpr int kFrontLevel = 5;         // of layers in front of those that run whole images
constexpr double kLeastGain = 0.99;    // of a layer's cycles, for a further choice
constexpr double kSeam = 0.05;         // of work on other units, that is not hidden
constexpr double kLedSeam = 0.025;     // of it, where some layers are a step ahead
constexpr double kInTurn = 0.5;        // of it, where images take turns
constexpr double kLoadBytes = 64;
constexpr std::array<std::int64_t, 6> kStrips = {1, 2, 3, 4, 6, 8};  // of columns
constexpr std::array<double, 3> kParts = {0.95, 0.6, 0.35};          // of the SRAM that a group in strips may take

/// Its rows are windows of the input's.
bool reads_rows(const Layer& l) { return l.kind == LayerKind::conv || l.kh > 1; }

bool contains(const std::vector<int>& sorted, int value) {
  return std::binary_search(sorted.begin(), sorted.end(), value);
}

}  // namespace

/// Lines that buffers around the layer hold for rows that it makes at once, roughly.
double FusionSearch::rows_lines(int id, std::int64_t rows) const {
  const Layer& l = layer(id);
  const Root& in = root(graph_.values[static_cast<std::size_t>(l.inputs[0])].root);
  const std::int64_t read = reads_rows(l) ? rows * l.sy : rows;
  return static_cast<double>(buffer_lines(root(l.output_root), rows, chip_) + buffer_lines(in, read, chip_));
}

/// From one row at a time on, whichever layer gains most cycles for the lines it takes makes more rows at once, until
/// the level's part of all that can be gained is.
const GroupPlan& FusionSearch::group_plan(int first, int end, int level, std::int64_t together, std::int64_t strips) {
  GroupPlan& plan = memory_.plans[{first, end, level, static_cast<int>(together), static_cast<int>(strips)}];
  if (!plan.rows.empty()) return plan;
  plan.first = first;
  plan.end = end;
  plan.level = level;
  plan.together = together;
  plan.cuts = {chip_.cores, strips};
  std::vector<const std::vector<ChunkRows>*> all;  // by layer
  std::vector<std::size_t> at;                     // by layer: choice
  double left = 0;                                 // to gain
  for (int id = first; id < end; ++id) {
    all.push_back(&chunk_choices(id, together, strips));
    at.push_back(0);
    left += all.back()->front().cycles - all.back()->back().cycles;
  }
  left *= kGains[static_cast<std::size_t>(level)];
  while (left > 0) {
    double best = 0;
    std::size_t chosen = at.size();
    for (std::size_t i = 0; i < at.size(); ++i) {
      const ChunkRows& now = (*all[i])[at[i]];
      if (now.gain <= best) continue;
      best = now.gain;
      chosen = i;
    }
    if (chosen == at.size()) break;
    const std::vector<ChunkRows>& rows = *all[chosen];
    const std::size_t to = rows[at[chosen]].next;
    left -= rows[at[chosen]].cycles - rows[to].cycles;
    at[chosen] = to;
  }
  for (int id = first; id < end; ++id) {
    const auto i = static_cast<std::size_t>(id - first);
    const ChunkRows& chosen = (*all[i])[at[i]];
    plan.rows.push_back(chosen.rows);
    plan.row_cycles.push_back(chosen.cycles / static_cast<double>(layer(id).out.h));
  }
  plan.steps = ceil_div(ceil_div(layer(end - 1).out.h, chip_.cores), plan.rows.back());
  return plan;
}

std::int64_t FusionSearch::constant_lines(int id) const {
  const LayerConstants& c = constants_.layers[static_cast<std::size_t>(id)];
  const std::int64_t line = chip_.sram.line_bytes;
  return (c.layout ? ceil_div(c.layout->sram_bytes(), line) : 0) + ceil_div(c.params_bytes, line) +
         ceil_div(c.table_bytes, line);
}

/// Of the other engines' copies of its weights.
std::int64_t FusionSearch::copy_lines(const GroupPlan& plan, int id) {
  const Layer& l = layer(id);
  if (l.kind != LayerKind::conv) return 0;
  if (!copies_weights(member_split(plan, l, graph_, id, cost_))) return 0;
  return (chip_.conv.engines - 1) *
         ceil_div(constants_.layers[static_cast<std::size_t>(id)].layout->sram_bytes(), chip_.sram.line_bytes);
}

/// Layer by layer with an image an engine, but for what is in front of the lead.
GroupPlan FusionSearch::whole_maps_plan(int first, int end) {
  GroupPlan plan = group_plan(first, end, kFrontLevel, chip_.conv.engines, 1);
  plan.level = -1;
  for (int id = std::max(first, lead_layer(first, end)); id < end; ++id) {
    plan.rows[static_cast<std::size_t>(id - first)] = layer(id).out.h;
  }
  plan.steps = ceil_div(layer(end - 1).out.h, plan.rows.back());
  return plan;
}

/// Where the images in front may be a turn ahead: behind vector work, so that it is done under the convolutions of the
/// images before it, or behind the layer that reads what LOAD brings. -1: nowhere.
int FusionSearch::lead_layer(int first, int end) const {
  for (int id = first + 1; id < end; ++id) {
    if (layer(id - 1).kind == LayerKind::edp && layer(id).kind == LayerKind::conv) return id;
  }
  const std::vector<int>& read = layer(first).inputs;
  const bool imports = std::any_of(
      read.begin(), read.end(), [&](int t) { return root(graph_.values[static_cast<std::size_t>(t)].root).imported; });
  return imports && first + 1 < end ? first + 1 : -1;
}

/// Lines of the buffers of the group's maps that are not in SRAM as a whole.
std::int64_t FusionSearch::buffered_lines(const GroupPlan& plan, const GroupFact& fact,
                                          const std::vector<int>& spilled) const {
  std::int64_t sum = 0;
  std::vector<BufferUse> uses;
  for (const RootFact& r : fact.roots) {
    if (r.buffer_lines == 0 || !contains(spilled, r.root)) continue;
    sum += r.buffer_lines;
    uses.push_back(r.use);
    uses.back().lines = r.buffer_lines;
  }
  if (layer(plan.first).out.n == 1) return sum;
  return plan.together * lay_buffers(uses, fact.front, fact.tail, INT64_MAX).lines;
}

const std::vector<Region>& FusionSearch::regions(const GroupPlan& plan) {
  std::vector<Region>& known = memory_.regions[{plan.first, plan.end, static_cast<int>(plan.cuts.columns)}];
  if (!known.empty()) return known;
  for (std::int64_t row = 0; row < plan.cuts.rows; ++row) {
    for (std::int64_t column = 0; column < plan.cuts.columns; ++column) {
      known.push_back(group_region(graph_, plan, row, column, chip_));
    }
  }
  return known;
}

FusionSearch::GroupFact& FusionSearch::fact(const GroupPlan& plan) {
  const std::array<int, 8> key = {
      plan.first,
      plan.end,
      plan.level,
      plan.ahead,
      static_cast<int>(plan.together),
      plan.lead,
      static_cast<int>(plan.cuts.columns),
      static_cast<int>(std::count_if(plan.streamed.begin(), plan.streamed.end(), [](auto p) { return p > 0; }))};
  const auto found = memory_.facts.find(key);
  if (found != memory_.facts.end()) return found->second;
  GroupFact f;
  const std::vector<bool> all(graph_.roots.size(), true);
  const std::vector<Region>& strips = regions(plan);
  // Strips differ in columns only, so that the first says how high the buffers of all are; each core has its own.
  std::vector<GroupTrace> traces;
  for (std::size_t i = 0; i < strips.size(); i += static_cast<std::size_t>(plan.cuts.columns)) {
    traces.push_back(trace_group(graph_, plan, strips[i], all));
  }
  const GroupTrace& trace = traces.front();
  const std::vector<BufferUse> uses = buffer_uses(graph_, trace);
  f.front = trace.front;
  f.tail = trace.tail;
  for (const int r : touched(plan.first, plan.end)) {
    RootFact fact;
    fact.root = r;
    if (const LineBuffer* buffer = trace.buffer_of(r)) {
      for (std::size_t i = 0; i < strips.size(); ++i) {
        const Area& there = strips[i].there[static_cast<std::size_t>(r)];
        const LineBuffer* own = traces[i / static_cast<std::size_t>(plan.cuts.columns)].buffer_of(r);
        fact.buffer_lines = std::max(fact.buffer_lines, buffer_lines(root(r), own->rows, there.columns, chip_));
      }
      fact.use = uses[static_cast<std::size_t>(buffer - trace.buffers.data())];
    }
    fact.inside = root(r).first_layer >= plan.first && root(r).last_layer < plan.end;
    for (int id = plan.first; id < plan.end; ++id) {
      fact.written = fact.written || layer(id).output_root == r;
      for (const int t : layer(id).inputs) {
        fact.read = fact.read || graph_.values[static_cast<std::size_t>(t)].root == r;
      }
    }
    fact.loaded = 0;
    for (const Region& strip : strips) {
      fact.loaded += static_cast<double>(strip.there[static_cast<std::size_t>(r)].pixels()) /
                     static_cast<double>(root(r).shape.h * root(r).shape.w);
    }
    f.roots.push_back(fact);
  }
  add_constants(plan, f);
  f.constant_bytes *= static_cast<double>(plan.cuts.rows);  // each core loads its own
  f.least_lines = buffered_lines(plan, f, touched(plan.first, plan.end)) + f.weight_lines;
  f.in_place = trace.in_place;
  for (const GroupChunk& chunk : trace.chunks) {
    const bool conv = !chunk.load && layer(chunk.layer).kind == LayerKind::conv;
    if (conv && plan.streams(chunk.layer)) {
      f.streamed_bytes +=
          static_cast<double>(constants_.layers[static_cast<std::size_t>(chunk.layer)].useful_weight_bytes);
    }
    f.instruction_bytes +=
        conv ? kInstructionBytes * static_cast<double>(chip_.conv.engines / plan.together) : kLoadBytes;
  }
  f.instruction_bytes *= static_cast<double>(strips.size());
  f.streamed_bytes *= static_cast<double>(strips.size());
  return memory_.facts.emplace(key, std::move(f)).first->second;
}

double FusionSearch::chunk_cycles(int id, const Area& area, std::int64_t together) {
  const Rows& rows = area.rows;
  const auto key = std::make_tuple(id, rows.first, rows.end, area.columns.first, area.columns.end, together);
  const auto known = memory_.chunk_cycles.find(key);
  if (known != memory_.chunk_cycles.end()) return known->second;
  const Layer& l = layer(id);
  const Tile tile{0, rows, {0, l.out.c}, area.columns};
  const double cycles = l.kind == LayerKind::conv ? best_split(l, graph_, tile, together > 1, cost_).cycles
                                                  : static_cast<double>(cost_.edp(edp_geometry(l, graph_, tile)));
  return memory_.chunk_cycles.emplace(key, cycles + kChunkOverhead).first->second;
}

/// Fewer cycles with more rows; what gains nothing is left out.
/// From each choice the next that gains most for the lines it takes.
void FusionSearch::weigh_steps(int id, std::vector<ChunkRows>& choices) const {
  for (std::size_t from = 0; from < choices.size(); ++from) {
    ChunkRows& now = choices[from];
    for (std::size_t c = from + 1; c < choices.size(); ++c) {
      const double lines = rows_lines(id, choices[c].rows) - rows_lines(id, now.rows);
      const double gain = (now.cycles - choices[c].cycles) / std::max(1.0, lines);
      if (gain <= now.gain) continue;
      now.gain = gain;
      now.next = c;
    }
  }
}

/// Heights to try, ascending: a third more each time, and of convolutions what fills the engines' pixel lanes too.
std::vector<std::int64_t> FusionSearch::chunk_heights(std::int64_t height, bool conv) const {
  std::int64_t full = chip_.conv.engines;
  for (const isa::PixelShape& shape : chip_.conv.pixel_shapes)
    full = std::max<std::int64_t>(full, chip_.conv.engines * shape.py);
  std::set<std::int64_t> heights;
  for (std::int64_t rows = 1; rows < height; rows = std::max(rows + 1, rows * 4 / 3)) {
    heights.insert(conv && rows > full ? std::min(height, round_up(rows, full)) : rows);
  }
  heights.insert(height);
  return {heights.begin(), heights.end()};
}

const std::vector<FusionSearch::ChunkRows>& FusionSearch::chunk_choices(int id, std::int64_t together,
                                                                        std::int64_t strips) {
  std::vector<ChunkRows>& choices = memory_.chunk_choices[std::make_tuple(id, together, strips)];
  if (!choices.empty()) return choices;
  const std::int64_t height = ceil_div(layer(id).out.h, chip_.cores);
  const std::int64_t width = strip_width(layer(id), strips, chip_);
  const auto cycles = [&](std::int64_t rows) {
    const std::int64_t first = (layer(id).out.h - rows) / 2;  // away from the padding
    return chunk_cycles(id, {{first, first + rows}, {0, width}}, together) * static_cast<double>(strips * height) /
           static_cast<double>(rows);
  };
  if (layer(id).wished_rows > 0) {
    choices = {{layer(id).wished_rows, cycles(layer(id).wished_rows), 0, 0}};
    return choices;
  }
  for (const std::int64_t rows : chunk_heights(height, layer(id).kind == LayerKind::conv)) {
    const double now = cycles(rows);
    if (choices.empty() || now < kLeastGain * choices.back().cycles) choices.push_back({rows, now, 0, 0});
  }
  weigh_steps(id, choices);
  return choices;
}

/// Cycles of a layer for an area in chunks; those that see no padding above or below are alike.
double FusionSearch::area_cycles(int id, const Area& area, std::int64_t rows, std::int64_t together) {
  const Layer& l = layer(id);
  const std::int64_t margin = l.pad_top + (l.kh - 1) * l.dy;
  double sum = 0, inner = -1;
  for (std::int64_t first = area.rows.first; first < area.rows.end; first += rows) {
    const Rows chunk{first, std::min(first + rows, area.rows.end)};
    const bool alike = chunk.count() == rows && first * l.sy >= l.pad_top && (chunk.end - 1) * l.sy + margin < l.in.h;
    const double cycles = alike && inner >= 0 ? inner : chunk_cycles(id, {chunk, area.columns}, together);
    if (alike) inner = cycles;
    sum += cycles;
  }
  return sum;
}

void FusionSearch::time_group(const GroupPlan& plan, GroupFact& f) {
  f.timed = true;
  std::vector<double> conv(static_cast<std::size_t>(plan.cuts.rows), 0), edp = conv;  // by core
  for (int id = plan.first; id < plan.end; ++id) {
    std::map<std::pair<std::size_t, std::int64_t>, double> known;  // by core, columns: what a strip in the middle takes
    const std::vector<Region>& all = regions(plan);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Area& made = all[i].made_by(id);
      const std::size_t core = i / static_cast<std::size_t>(plan.cuts.columns);
      const bool inner = made.columns.first > 0 && made.columns.end < layer(id).out.w;
      double cycles = 0;
      if (const auto same = known.find({core, made.columns.count()}); inner && same != known.end()) {
        cycles = same->second;
      } else {
        cycles = area_cycles(id, made, chunk_rows(plan, layer(id), id), plan.together);
        if (inner) known[{core, made.columns.count()}] = cycles;
      }
      (layer(id).kind == LayerKind::conv ? conv : edp)[core] += cycles;
    }
  }
  f.conv = *std::max_element(conv.begin(), conv.end());
  f.edp = *std::max_element(edp.begin(), edp.end());
}

/// What the group moves when these maps are in DRAM.
FusionSearch::Traffic FusionSearch::group_traffic(const GroupPlan& plan, const GroupFact& f,
                                                  const std::vector<int>& spilled) const {
  const auto images = static_cast<double>(layer(plan.first).out.n);
  Traffic out;
  out.bytes = f.constant_bytes + images * f.instruction_bytes +
              std::ceil(images / static_cast<double>(plan.together)) * f.streamed_bytes;
  double streamed = 0;  // bytes
  for (const RootFact& r : f.roots) {
    const Root& map = root(r.root);
    if (!contains(spilled, r.root)) {
      if (map.imported && map.first_layer >= plan.first) out.bytes += map_bytes(r.root);
      continue;
    }
    if (r.read && !r.written) streamed += r.loaded * map_bytes(r.root);
    if (r.read && map.imported) {
      out.imports += r.loaded / static_cast<double>(plan.cuts.rows) * static_cast<double>(map.shape.h) *
                     import_plan(map, !map.channels_last, chip_, cost_.dram_bytes_per_cycle()).cycles();
    }
    if (r.written && !r.inside) out.bytes += map_bytes(r.root);
  }
  out.bytes += streamed;
  out.imports = std::max(options_.import_wait * out.imports, streamed / images / cost_.dram_bytes_per_cycle());
  return out;
}

/// Of all plans in strips those that take fewer lines than any that costs less, whole rows among them; at most a few
/// for each number of strips, as high as a part of the SRAM holds.
const std::vector<GroupPlan>& FusionSearch::strip_plans(int first, int end) {
  const auto [known, fresh] = strip_plans_.emplace(std::make_pair(first, end), std::vector<GroupPlan>{});
  if (!fresh) return known->second;
  struct Offer {
    GroupPlan plan;
    std::int64_t lines = 0;
    double cost = 0;
  };
  std::vector<Offer> offers;
  const auto consider = [&](const GroupPlan& plan) {
    GroupFact& f = fact(plan);
    if (!f.timed) time_group(plan, f);
    const Traffic traffic = group_traffic(plan, f, touched(first, end));
    const double cost =
        image_cycles(plan, f, traffic.imports) + options_.byte_share * traffic.bytes / cost_.dram_bytes_per_cycle();
    offers.push_back({plan, f.least_lines, cost});
  };
  const std::int64_t most = most_cuts(graph_, first, end, chip_).columns;
  for (const std::int64_t strips : kStrips) {
    if (strips > most) break;
    int level = 0;
    for (const double part : kParts) {
      const auto lines = static_cast<std::int64_t>(part * static_cast<double>(sram_lines_));
      GroupPlan plan;
      const auto fits = [&](int at) {
        plan = group_plan(first, end, at, 1, strips);
        plan.ahead = 1;
        return fact(plan).least_lines <= lines;
      };
      const auto levels = static_cast<int>(kGains.size());
      const int before = level;
      while (level < levels && !fits(level)) ++level;
      if (level == levels) break;
      if (strips == 1 || level > before || part == kParts.front()) consider(plan);
    }
  }
  std::stable_sort(offers.begin(), offers.end(), [](const Offer& a, const Offer& b) { return a.lines < b.lines; });
  double least = kNoPlan;
  for (const Offer& offer : offers) {
    if (offer.cost >= least) continue;
    least = offer.cost;
    if (offer.plan.cuts.columns > 1) known->second.push_back(offer.plan);
  }
  return known->second;
}

/// Cycles of an image, with `imports` of LOAD and REORDER.
double FusionSearch::image_cycles(const GroupPlan& plan, const GroupFact& f, double imports) const {
  const double all = f.conv + f.edp + imports;
  // Without room ahead a line buffer's next rows wait for the reader of the last.
  const double longest = plan.ahead > 0 ? std::max({f.conv, f.edp, imports}) : all;
  // Images that go through whole layers do not overlap unless some layers are ahead.
  const bool leads = f.front > 0;
  return longest + (leads ? kLedSeam : plan.together > 1 ? kInTurn : kSeam) * (all - longest);
}

}  // namespace tessera::compiler
