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

bool contains(const std::vector<int>& sorted, int value) {
  return std::binary_search(sorted.begin(), sorted.end(), value);
}

}  // namespace

FusionSearch::FusionSearch(const LayerGraph& graph, const Constants& constants, UnitCost& cost, GroupMemory& memory,
                           const FusionOptions& options)
    : graph_(graph), constants_(constants), cost_(cost), chip_(cost.chip()), memory_(memory), options_(options) {
  if (chip_.cores > 1) options_.whole_maps = false;  // each core has an SRAM of its own: maps pass through DRAM
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
  const std::size_t freedom = options_.whole_maps ? std::min(fresh.size(), kFreePlacements) : 0;
  for (std::size_t bits = 0; bits < (std::size_t{1} << freedom); ++bits) {
    std::vector<int> spilled, live = fixed;
    for (std::size_t k = 0; k < fresh.size(); ++k) {
      const bool out =
          !options_.whole_maps || (bits >> std::min(k, kFreePlacements - 1) & 1U) != 0 || root(fresh[k]).crosses;
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
  LayerSite site = layer_site(graph_, id, spilled, semantics::sram_lines(chip_));
  // A layer alone that hands all over at its end looks cheaper than the group that would hide its neighbour.
  site.vector_neighbours.clear();
  site.byte_cycles = options_.byte_share / cost_.dram_bytes_per_cycle();
  return plans_
      .emplace(LayerKey{id, key}, layer_plans(l, graph_, constants_.layers[static_cast<std::size_t>(id)], site, cost_))
      .first->second;
}

/// A layer alone on several cores, each with its share; all maps are in DRAM.
const FusionSearch::Load& FusionSearch::shared_load(int id) {
  const auto [known, fresh] = shared_loads_.emplace(id, Load{});
  if (!fresh) return known->second;
  Load& load = known->second;
  const LayerConstants& constants = constants_.layers[static_cast<std::size_t>(id)];
  LayerSite site = layer_site(graph_, id, std::vector<bool>(graph_.roots.size(), true), sram_lines_);
  site.byte_cycles = options_.byte_share / cost_.dram_bytes_per_cycle();
  for (const CoreShare& share : core_shares(layer(id), graph_, constants, sram_lines_, cost_)) {
    site.rows = share.rows;
    site.channels = share.channels;
    const std::vector<LayerPlan> plans = layer_plans(layer(id), graph_, constants, site, cost_);
    if (plans.empty()) {
      load.busy = kNoPlan;
      return load;
    }
    load.busy = std::max(load.busy, plans.front().estimate);
    load.bytes += plans.front().bytes;
    load.free_lines += sram_lines_ - plans.front().lines();
  }
  return load;
}

void FusionSearch::extend_by_layer(int cut, int state) {
  if (can_fuse(layer(cut), chip_) && can_group(graph_, cut, cut + 1, chip_) && wished_strips(cut, cut + 1) > 1) return;
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
    if (chip_.cores > 1 && (can_fuse(l, chip_) || l.kind == LayerKind::copy)) {
      const Load& load = shared_load(cut);
      if (load.busy >= kNoPlan) return;
      add(next, load);
    } else if (can_fuse(l, chip_) || l.kind == LayerKind::copy) {
      std::vector<bool> spilled(graph_.roots.size(), false);
      for (const int r : now) spilled[static_cast<std::size_t>(r)] = true;
      const std::vector<LayerPlan>& all = plans(cut, spilled);
      const auto plan = std::find_if(all.begin(), all.end(), [&](const LayerPlan& p) { return p.lines() <= free; });
      if (plan == all.end()) return;
      add(next, {plan->estimate, plan->bytes + plan->instruction_bytes + imports, 0, free - plan->lines()});
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

void FusionSearch::extend_by_groups(int cut, int state) {
  const int layers = static_cast<int>(graph_.layers.size());
  const int effort = std::clamp(options_.effort, 0, static_cast<int>(kDeepest.size()) - 1);
  int deepest = options_.deepest > 0 ? options_.deepest : kDeepest[static_cast<std::size_t>(effort)];
  if (options_.deepest == 0 && layer(cut).out.n > 1) deepest *= 2;  // until the maps of all images fit
  std::int64_t weights = 0;
  for (int end = cut + 1; end <= std::min(layers, cut + deepest); ++end) {
    if (!can_fuse(layer(end - 1), chip_)) break;
    if (std::find(options_.alone.begin(), options_.alone.end(), end - 1) != options_.alone.end()) break;
    weights += constant_lines(end - 1);
    if (weights > kMostWeights * sram_lines_) break;
    if (!can_group(graph_, cut, end, chip_)) continue;
    if (chip_.cores > 1 && most_cuts(graph_, cut, end, chip_).rows < chip_.cores) continue;
    const std::int64_t wished = wished_strips(cut, end);
    if (wished < 0) continue;
    if (wished == 0) extend_by_streaming(cut, state, end);
    if (weights > sram_lines_) continue;
    if (wished > 1) {
      try_levels(cut, state, end, wished);
      continue;
    }
    int level = try_levels(cut, state, end, 1);
    if (wished == 1) continue;
    if (level > 0 && options_.cut_columns) {  // narrower buffers leave room for more rows at once
      for (const GroupPlan& plan : strip_plans(cut, end)) try_group(cut, state, plan);
    }
    if (layer(cut).out.n == 1 || chip_.conv.engines == 1 || chip_.cores > 1) continue;
    for (level = static_cast<int>(kGains.size()); level-- > -1;) {
      GroupPlan plan = level < 0 ? whole_maps_plan(cut, end) : group_plan(cut, end, level, chip_.conv.engines, 1);
      stream_if_wished(plan);
      plan.ahead = 1;
      plan.lead = lead_layer(cut, end);
      if (fact(plan).least_lines > room(cut, end)) continue;
      try_group(cut, state, plan);
      plan.lead = -1;
      try_group(cut, state, plan);
    }
  }
}

/// The group in so many strips, from low buffers to high ones; the last level that fits.
int FusionSearch::try_levels(int cut, int state, int end, std::int64_t strips) {
  int level = static_cast<int>(kGains.size());
  for (; level > 0; --level) {
    GroupPlan plan = group_plan(cut, end, level - 1, 1, strips);
    stream_if_wished(plan);
    if (fact(plan).least_lines > room(cut, end)) break;
    for (const int ahead : {0, 1, 2}) {
      plan.ahead = ahead;
      try_group(cut, state, plan);
    }
    plan.ahead = 1;
    plan.lead = strips == 1 ? lead_layer(cut, end) : -1;
    if (plan.lead >= 0) try_group(cut, state, plan);
  }
  return level;
}

/// Into how many strips layers [cut, end) must be cut by the user's wish; 0: as is best; -1: they cannot.
std::int64_t FusionSearch::wished_strips(int cut, int end) const {
  std::int64_t strips = 0;
  for (int id = cut; id < end; ++id) {
    const Layer& l = layer(id);
    if (l.wished_columns == 0) continue;
    const std::int64_t wished = ceil_div(l.out.w, l.wished_columns);
    if (strips != 0 && strips != wished) return -1;
    strips = wished;
  }
  if (strips == 0 && options_.strips == 0) return 0;
  const std::int64_t most = most_cuts(graph_, cut, end, chip_).columns;
  if (strips == 0) return std::min(options_.strips, most);
  return strips <= most ? strips : -1;
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
    lines += buffered_lines(plan, f, now);
    if (lines > available) return;
    State next = follow(from, cut, state, plan, live, newly);
    const Traffic traffic = group_traffic(plan, f, now);
    add(next, {images * image_cycles(plan, f, traffic.imports), traffic.bytes, f.constant_bytes, available - lines});
    offer(plan.end, std::move(next));
  });
}

}  // namespace tessera::compiler
