#include "compiler/schedule/fusion_search.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "compiler/schedule/import_plan.hpp"
#include "hw/common/error.hpp"
#include "hw/common/units.hpp"
#include "isa/semantics/layout.hpp"

namespace tessera::compiler {
namespace {

constexpr std::array<int, 4> kDeepest = {4, 12, 24, 64};  // layers of a group, by effort
constexpr std::size_t kStates = 64;                       // kept at a cut
constexpr std::size_t kFreePlacements = 4;                // new maps of a group whose placements are all tried
constexpr double kChunkOverhead = 40;                     // cycles of an instruction beside its work
// By level: the part that is gained of the cycles that more rows at once can gain.
constexpr std::array<double, 8> kGains = {1.0, 0.98, 0.95, 0.9, 0.8, 0.6, 0.3, 0.0};
constexpr int kFrontLevel = 5;       // of layers in front of those that run whole images
constexpr double kLeastGain = 0.99;  // of a layer's cycles, for a further choice
constexpr double kSeam = 0.05;       // of work on other units, that is not hidden
constexpr double kLedSeam = 0.025;   // of it, where some layers are a step ahead
constexpr double kInTurn = 0.5;      // of it, where images take turns
constexpr double kInstructionBytes = 128;
constexpr double kLoadBytes = 64;

/// Its rows are windows of the input's.
bool reads_rows(const Layer& l) { return l.kind == LayerKind::conv || l.kh > 1; }

bool contains(const std::vector<int>& sorted, int value) {
  return std::binary_search(sorted.begin(), sorted.end(), value);
}

}  // namespace

FusionSearch::FusionSearch(const LayerGraph& graph, const Constants& constants, UnitCost& cost,
                           const FusionOptions& options)
    : graph_(graph), constants_(constants), cost_(cost), chip_(cost.chip()), options_(options) {
  for (const Root& r : graph.roots) map_lines_.push_back(r.shape.n * buffer_lines(r, r.shape.h, chip_));
}

FusionPlan FusionSearch::best(std::int64_t sram_lines, const std::vector<double>& margin) {
  sram_lines_ = sram_lines;
  margin_ = &margin;
  const int layers = static_cast<int>(graph_.layers.size());
  cuts_.assign(static_cast<std::size_t>(layers) + 1, {});
  offered_.assign(cuts_.size(), {});
  cuts_[0].push_back({});
  for (int cut = 0; cut < layers; ++cut) {
    std::vector<State>& states = cuts_[static_cast<std::size_t>(cut)];
    std::stable_sort(states.begin(), states.end(), [](const State& a, const State& b) { return a.cost < b.cost; });
    if (states.size() > kStates) states.resize(kStates);
    for (std::size_t s = 0; s < states.size(); ++s) extend(cut, static_cast<int>(s));
  }
  FusionPlan out;
  const std::vector<State>& ends = cuts_.back();
  if (ends.empty()) return out;
  const State* at =
      &*std::min_element(ends.begin(), ends.end(), [](const State& a, const State& b) { return a.cost < b.cost; });
  out.found = true;
  out.cost = at->cost;
  out.spilled.assign(graph_.roots.size(), false);
  while (at->from_cut >= 0) {
    for (const int r : at->newly_spilled) out.spilled[static_cast<std::size_t>(r)] = true;
    if (at->group.steps > 0) out.groups.push_back(at->group);
    at = &cuts_[static_cast<std::size_t>(at->from_cut)][static_cast<std::size_t>(at->from_state)];
  }
  std::reverse(out.groups.begin(), out.groups.end());
  return out;
}

void FusionSearch::extend(int cut, int state) {
  extend_by_layer(cut, state);
  if (can_fuse(layer(cut), chip_)) extend_by_groups(cut, state);
}

FusionSearch::State FusionSearch::follow(const State& from, int cut, int state, const GroupPlan& plan,
                                         const std::vector<int>& live, const std::vector<int>& newly_spilled) {
  State next;
  next.spilled = live;
  next.cost = from.cost;
  next.ahead = from.ahead;
  next.from_cut = cut;
  next.from_state = state;
  next.group = plan;
  next.newly_spilled = newly_spilled;
  return next;
}

void FusionSearch::offer(int cut, State next) {
  std::vector<State>& states = cuts_[static_cast<std::size_t>(cut)];
  const auto [known, fresh] = offered_[static_cast<std::size_t>(cut)].emplace(next.spilled, states.size());
  if (fresh) {
    states.push_back(std::move(next));
    return;
  }
  State& s = states[known->second];
  if (next.cost - next.ahead < s.cost - s.ahead) s = std::move(next);
}

/// Bytes that a map moves when its rows go to or come from DRAM once.
double FusionSearch::map_bytes(int index) const { return static_cast<double>(root(index).shape.elements()); }

std::vector<int> FusionSearch::touched(int first, int end) const {
  std::vector<int> roots;
  const auto add = [&](int r) {
    if (r >= 0 && std::find(roots.begin(), roots.end(), r) == roots.end()) roots.push_back(r);
  };
  for (int id = first; id < end; ++id) {
    for (const int t : layer(id).inputs) add(graph_.values[static_cast<std::size_t>(t)].root);
    add(layer(id).output_root);
  }
  std::sort(roots.begin(), roots.end());
  return roots;
}

template <typename Visit>
void FusionSearch::placements(int first, int end, const std::vector<int>& before, Visit visit) const {
  std::vector<int> fixed;  // spilled maps that live on
  for (const int r : before) {
    if (root(r).last_layer >= end) fixed.push_back(r);
  }
  std::vector<int> fresh;
  for (const int r : touched(first, end)) {
    if (root(r).first_layer >= first && root(r).last_layer >= end) fresh.push_back(r);
  }
  const std::size_t freedom = std::min(fresh.size(), kFreePlacements);
  for (std::size_t bits = 0; bits < (std::size_t{1} << freedom); ++bits) {
    std::vector<int> spilled, live = fixed;
    for (std::size_t k = 0; k < fresh.size(); ++k) {
      const bool out =
          (bits >> std::min(k, kFreePlacements - 1) & 1U) != 0 || root(fresh[k]).crosses || !options_.whole_maps;
      if (out && !root(fresh[k]).keep) spilled.push_back(fresh[k]);
    }
    live.insert(live.end(), spilled.begin(), spilled.end());
    std::sort(live.begin(), live.end());
    visit(spilled, live);
  }
}

/// Lines of whole maps in SRAM while layers [first, end) run: those that live then and are not spilled.
/// Results of `in_place` layers lie over operands.
std::int64_t FusionSearch::resident_lines(int first, int end, const std::vector<int>& spilled,
                                          const std::vector<int>& in_place) const {
  std::int64_t lines = 0;
  for (std::size_t r = 0; r < graph_.roots.size(); ++r) {
    const Root& map = graph_.roots[r];
    if (map.first_layer < 0 || map.first_layer >= end || map.last_layer < first) continue;
    if (!contains(spilled, static_cast<int>(r))) lines += map_lines_[r];
  }
  for (const int id : in_place) {
    const Layer& l = layer(id);
    const int from =
        graph_.values[static_cast<std::size_t>(l.inputs[static_cast<std::size_t>(overwritten_operand(graph_, id))])]
            .root;
    if (!contains(spilled, from) && !contains(spilled, l.output_root)) lines -= map_lines(l.output_root);
  }
  return lines;
}

std::int64_t FusionSearch::room(int first, int end) const {
  double margin = 0;
  for (int id = first; id < end; ++id) margin = std::max(margin, (*margin_)[static_cast<std::size_t>(id)]);
  return static_cast<std::int64_t>(static_cast<double>(sram_lines_) * (1.0 - margin));
}

/// Traffic runs ahead of its layers as far as free SRAM holds it; what must be there at the beginning and is not, is
/// waited for.
void FusionSearch::add(State& state, const Load& load) const {
  const double rate = cost_.dram_bytes_per_cycle();
  const double first = load.first_bytes / rate;
  const double rest = (load.bytes - load.first_bytes) / rate;
  const double wait = std::max(0.0, first - state.ahead);
  state.ahead = std::max(0.0, state.ahead - first);
  const double run = std::max(load.busy, rest - state.ahead);
  state.ahead =
      std::clamp(state.ahead + run - rest, 0.0, static_cast<double>(load.free_lines * chip_.sram.line_bytes) / rate);
  state.cost += wait + run + options_.byte_share * load.bytes / rate;
}

const std::vector<LayerPlan>& FusionSearch::plans(int id, const std::vector<bool>& spilled) {
  const Layer& l = layer(id);
  std::vector<bool> key;
  for (const int t : l.inputs) {
    key.push_back(spilled[static_cast<std::size_t>(graph_.values[static_cast<std::size_t>(t)].root)]);
  }
  key.push_back(spilled[static_cast<std::size_t>(l.output_root)]);
  const auto found = plans_.find({id, key});
  if (found != plans_.end()) return found->second;
  LayerSite site = layer_site(graph_, id, spilled, chip_.sram.banks * chip_.sram.size_bytes / chip_.sram.line_bytes);
  site.byte_cycles = options_.byte_share / cost_.dram_bytes_per_cycle();
  return plans_
      .emplace(LayerKey{id, key}, layer_plans(l, graph_, constants_.layers[static_cast<std::size_t>(id)], site, cost_))
      .first->second;
}

void FusionSearch::extend_by_layer(int cut, int state) {
  const State from = cuts_[static_cast<std::size_t>(cut)][static_cast<std::size_t>(state)];
  const Layer& l = layer(cut);
  const std::vector<int> own = touched(cut, cut + 1);
  const std::vector<int> over = overwritten_operand(graph_, cut) >= 0 ? std::vector<int>{cut} : std::vector<int>{};
  placements(cut, cut + 1, from.spilled, [&](const std::vector<int>& fresh, const std::vector<int>& live) {
    std::vector<int> now = from.spilled;
    now.insert(now.end(), fresh.begin(), fresh.end());
    std::vector<int> newly = fresh;
    // A map that nobody else touches, as an output of the network: tile by tile.
    for (const int r : own) {
      if (root(r).first_layer < cut || root(r).last_layer > cut || root(r).keep) continue;
      now.push_back(r);
      newly.push_back(r);
    }
    std::sort(now.begin(), now.end());
    const std::int64_t free = room(cut, cut + 1) - resident_lines(cut, cut + 1, now, over);
    if (free < 0) return;
    GroupPlan alone;
    alone.steps = 0;
    State next = follow(from, cut, state, alone, live, newly);
    double imports = 0;
    for (const int r : own) {
      if (!contains(now, r) && root(r).imported && root(r).first_layer >= cut) imports += map_bytes(r);
    }
    if (can_fuse(l, chip_) || l.kind == LayerKind::copy) {
      std::vector<bool> spilled(graph_.roots.size(), false);
      for (const int r : now) spilled[static_cast<std::size_t>(r)] = true;
      const std::vector<LayerPlan>& all = plans(cut, spilled);
      const auto plan = std::find_if(all.begin(), all.end(), [&](const LayerPlan& p) { return p.lines() <= free; });
      if (plan == all.end()) return;
      const double tiles = std::ceil(static_cast<double>(l.out.h) / static_cast<double>(plan->tile_rows)) *
                           std::ceil(static_cast<double>(l.out.c) / static_cast<double>(plan->tile_channels)) *
                           static_cast<double>(l.out.n);
      add(next, {plan->estimate, plan->bytes + imports + tiles * kInstructionBytes * 2, 0, free - plan->lines()});
    } else if (l.kind == LayerKind::move) {
      double bytes = imports;
      for (const int r : own) {
        if (contains(now, r)) bytes += map_bytes(r);
      }
      add(next, {0, bytes, 0, free});
    }
    offer(cut + 1, std::move(next));
  });
}

/// Lines that buffers around the layer hold for rows that it makes at once, roughly.
double FusionSearch::rows_lines(int id, std::int64_t rows) const {
  const Layer& l = layer(id);
  const Root& in = root(graph_.values[static_cast<std::size_t>(l.inputs[0])].root);
  const std::int64_t read = reads_rows(l) ? rows * l.sy : rows;
  return static_cast<double>(buffer_lines(root(l.output_root), rows, chip_) + buffer_lines(in, read, chip_));
}

/// From one row at a time on, whichever layer gains most cycles for the lines it takes makes more rows at once, until
/// the level's part of all that can be gained is.
const GroupPlan& FusionSearch::group_plan(int first, int end, int level, std::int64_t together) {
  GroupPlan& plan = group_plans_[{first, end, level, static_cast<int>(together)}];
  if (!plan.rows.empty()) return plan;
  plan.first = first;
  plan.end = end;
  plan.level = level;
  plan.together = together;
  const auto choices = [&](int id) -> const std::vector<ChunkRows>& { return chunk_choices(id, together); };
  std::vector<std::size_t> at;  // by layer: choice
  double left = 0;              // to gain
  for (int id = first; id < end; ++id) {
    at.push_back(0);
    left += choices(id).front().cycles - choices(id).back().cycles;
  }
  left *= kGains[static_cast<std::size_t>(level)];
  while (left > 0) {
    double best = 0;
    int chosen = -1;
    std::size_t to = 0;
    for (int id = first; id < end; ++id) {
      const std::vector<ChunkRows>& all = choices(id);
      const ChunkRows& now = all[at[static_cast<std::size_t>(id - first)]];
      for (std::size_t c = at[static_cast<std::size_t>(id - first)] + 1; c < all.size(); ++c) {
        const double lines = rows_lines(id, all[c].rows) - rows_lines(id, now.rows);
        const double ratio = (now.cycles - all[c].cycles) / std::max(1.0, lines);
        if (ratio <= best) continue;
        best = ratio;
        chosen = id;
        to = c;
      }
    }
    if (chosen < 0) break;
    std::size_t& choice = at[static_cast<std::size_t>(chosen - first)];
    left -= choices(chosen)[choice].cycles - choices(chosen)[to].cycles;
    choice = to;
  }
  for (int id = first; id < end; ++id) {
    const ChunkRows& chosen = choices(id)[at[static_cast<std::size_t>(id - first)]];
    plan.rows.push_back(chosen.rows);
    plan.row_cycles.push_back(chosen.cycles / static_cast<double>(layer(id).out.h));
  }
  plan.steps = ceil_div(layer(end - 1).out.h, plan.rows.back());
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
  if (plan.together == 1 || l.kind != LayerKind::conv) return 0;
  if (member_split(plan, l, graph_, id, cost_) != EngineSplit::copied) return 0;
  return (chip_.conv.engines - 1) *
         ceil_div(constants_.layers[static_cast<std::size_t>(id)].layout->sram_bytes(), chip_.sram.line_bytes);
}

void FusionSearch::extend_by_groups(int cut, int state) {
  const int layers = static_cast<int>(graph_.layers.size());
  const int effort = std::clamp(options_.effort, 0, static_cast<int>(kDeepest.size()) - 1);
  int deepest = options_.deepest > 0 ? options_.deepest : kDeepest[static_cast<std::size_t>(effort)];
  if (options_.deepest == 0 && layer(cut).out.n > 1) deepest *= 2;  // until the maps of all images fit
  std::int64_t weights = 0;
  for (int end = cut + 1; end <= std::min(layers, cut + deepest); ++end) {
    if (!can_fuse(layer(end - 1), chip_)) break;
    weights += constant_lines(end - 1);
    if (weights > sram_lines_) break;
    if (!can_group(graph_, cut, end, chip_)) continue;
    for (int level = static_cast<int>(kGains.size()); level-- > 0;) {
      GroupPlan plan = group_plan(cut, end, level, 1);
      if (fact(plan).least_lines > room(cut, end)) break;
      for (const int ahead : {0, 1, 2}) {
        plan.ahead = ahead;
        try_group(cut, state, plan);
      }
      plan.ahead = 1;
      plan.lead = lead_layer(cut, end);
      if (plan.lead >= 0) try_group(cut, state, plan);
    }
    if (layer(cut).out.n == 1 || chip_.conv.engines == 1) continue;
    for (int level = static_cast<int>(kGains.size()); level-- > -1;) {
      GroupPlan plan = level < 0 ? whole_maps_plan(cut, end) : group_plan(cut, end, level, chip_.conv.engines);
      plan.ahead = 1;
      plan.lead = lead_layer(cut, end);
      if (fact(plan).least_lines > room(cut, end)) continue;
      try_group(cut, state, plan);
      plan.lead = -1;
      try_group(cut, state, plan);
    }
  }
}

/// Layer by layer with an image an engine, but for what is in front of the lead.
GroupPlan FusionSearch::whole_maps_plan(int first, int end) {
  GroupPlan plan = group_plan(first, end, kFrontLevel, chip_.conv.engines);
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

FusionSearch::GroupFact& FusionSearch::fact(const GroupPlan& plan) {
  const std::array<int, 6> key = {plan.first, plan.end, plan.level, plan.ahead, static_cast<int>(plan.together),
                                  plan.lead};
  const auto found = facts_.find(key);
  if (found != facts_.end()) return found->second;
  GroupFact f;
  const std::vector<bool> all(graph_.roots.size(), true);
  const GroupTrace trace = trace_group(graph_, plan, all);
  const std::vector<BufferUse> uses = buffer_uses(graph_, trace);
  f.front = trace.front;
  f.tail = trace.tail;
  for (const int r : touched(plan.first, plan.end)) {
    RootFact fact;
    fact.root = r;
    if (const LineBuffer* buffer = trace.buffer_of(r)) {
      fact.buffer_lines = buffer_lines(root(r), buffer->rows, chip_);
      fact.use = uses[static_cast<std::size_t>(buffer - trace.buffers.data())];
    }
    fact.inside = root(r).first_layer >= plan.first && root(r).last_layer < plan.end;
    for (int id = plan.first; id < plan.end; ++id) {
      fact.written = fact.written || layer(id).output_root == r;
      for (const int t : layer(id).inputs) {
        fact.read = fact.read || graph_.values[static_cast<std::size_t>(t)].root == r;
      }
    }
    f.roots.push_back(fact);
  }
  for (int id = plan.first; id < plan.end; ++id) {
    const LayerConstants& c = constants_.layers[static_cast<std::size_t>(id)];
    f.weight_lines += constant_lines(id) + copy_lines(plan, id);
    f.constant_bytes += static_cast<double>(c.useful_weight_bytes + c.params_bytes + c.table_bytes);
  }
  f.least_lines = buffered_lines(plan, f, touched(plan.first, plan.end)) + f.weight_lines;
  f.in_place = trace.in_place;
  for (const GroupChunk& chunk : trace.chunks) {
    const bool conv = !chunk.load && layer(chunk.layer).kind == LayerKind::conv;
    f.instruction_bytes +=
        conv ? kInstructionBytes * static_cast<double>(chip_.conv.engines / plan.together) : kLoadBytes;
  }
  return facts_.emplace(key, std::move(f)).first->second;
}

double FusionSearch::chunk_cycles(int id, const Rows& rows, std::int64_t together) {
  const auto key = std::make_tuple(id, rows.first, rows.end, together);
  const auto known = chunk_cycles_.find(key);
  if (known != chunk_cycles_.end()) return known->second;
  const Layer& l = layer(id);
  const Tile tile{0, rows, {0, l.out.c}};
  const double cycles = l.kind == LayerKind::conv ? best_split(l, graph_, tile, together > 1, cost_).cycles
                                                  : static_cast<double>(cost_.edp(edp_geometry(l, graph_, tile)));
  return chunk_cycles_.emplace(key, cycles + kChunkOverhead).first->second;
}

/// Fewer cycles with more rows; what gains nothing is left out.
const std::vector<FusionSearch::ChunkRows>& FusionSearch::chunk_choices(int id, std::int64_t together) {
  std::vector<ChunkRows>& choices = chunk_choices_[{id, together}];
  if (!choices.empty()) return choices;
  const std::int64_t height = layer(id).out.h;
  const auto cycles = [&](std::int64_t rows) {
    const std::int64_t first = (height - rows) / 2;  // away from the padding
    return chunk_cycles(id, {first, first + rows}, together) * static_cast<double>(height) / static_cast<double>(rows);
  };
  if (layer(id).wished_rows > 0) {
    choices = {{layer(id).wished_rows, cycles(layer(id).wished_rows)}};
    return choices;
  }
  for (std::int64_t rows = 1;; rows = std::min(height, std::max(rows + 1, rows * 4 / 3))) {
    const double now = cycles(rows);
    if (choices.empty() || now < kLeastGain * choices.back().cycles) choices.push_back({rows, now});
    if (rows == height) break;
  }
  return choices;
}

void FusionSearch::time_group(const GroupPlan& plan, GroupFact& f) {
  f.timed = true;
  const std::vector<bool> none(graph_.roots.size(), false);
  for (const GroupChunk& chunk : trace_group(graph_, plan, none).chunks) {
    (layer(chunk.layer).kind == LayerKind::conv ? f.conv : f.edp) +=
        chunk_cycles(chunk.layer, chunk.rows, plan.together);
  }
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

void FusionSearch::try_group(int cut, int state, const GroupPlan& plan) {
  GroupFact& f = fact(plan);
  const std::int64_t available = room(plan.first, plan.end);
  if (f.least_lines > available) return;
  if (!f.timed) time_group(plan, f);
  if (f.conv >= kNoPlan) return;
  const auto images = static_cast<double>(layer(plan.first).out.n);
  const State from = cuts_[static_cast<std::size_t>(cut)][static_cast<std::size_t>(state)];
  placements(plan.first, plan.end, from.spilled, [&](const std::vector<int>& fresh, const std::vector<int>& live) {
    std::vector<int> now = from.spilled;
    now.insert(now.end(), fresh.begin(), fresh.end());
    std::vector<int> newly = fresh;
    for (const RootFact& r : f.roots) {
      if (!r.inside || root(r.root).keep) continue;
      now.push_back(r.root);
      newly.push_back(r.root);
    }
    std::sort(now.begin(), now.end());
    std::int64_t lines = resident_lines(plan.first, plan.end, now, f.in_place) + f.weight_lines;
    double bytes = f.constant_bytes + images * f.instruction_bytes;
    double streamed = 0;  // bytes
    double imports = 0;   // line writes: one for the pixels of a line and channel
    for (const RootFact& r : f.roots) {
      if (!contains(now, r.root)) {
        if (root(r.root).imported && root(r.root).first_layer >= plan.first) bytes += map_bytes(r.root);
        continue;
      }
      if (r.read && !r.written) {
        bytes += map_bytes(r.root);
        streamed += map_bytes(r.root);
      }
      if (r.read && root(r.root).imported) {
        const Root& image = root(r.root);
        imports += static_cast<double>(image.shape.h) *
                   import_plan(image, !image.channels_last, chip_, cost_.dram_bytes_per_cycle()).cycles();
      }
      if (r.written && !r.inside) bytes += map_bytes(r.root);
    }
    lines += buffered_lines(plan, f, now);
    if (lines > available) return;
    State next = follow(from, cut, state, plan, live, newly);
    imports *= options_.import_wait;
    imports = std::max(imports, streamed / images / cost_.dram_bytes_per_cycle());
    add(next, {images * image_cycles(plan, f, imports), bytes, f.constant_bytes, available - lines});
    offer(plan.end, std::move(next));
  });
}

}  // namespace tessera::compiler
