// Groups whose weights find no room together: the part of FusionSearch that lets those of the largest layers come again
// for each chunk.
#include <algorithm>
#include <array>

#include "compiler/schedule/fusion_search.hpp"
#include "hw/common/units.hpp"

namespace tessera::compiler {
namespace {

constexpr std::array<std::int64_t, 3> kFewSteps = {2, 3, 4};
constexpr int kFewStepsLevel = 100;         // of groups in so many steps
constexpr std::size_t kMostStreamed = 4;    // layers
constexpr std::int64_t kStreamedPart = 16;  // of the SRAM that a part of such weights takes

}  // namespace

/// Lines and bytes of the group's constants.
void FusionSearch::add_constants(const GroupPlan& plan, GroupFact& f) {
  std::int64_t part = 0;
  for (int id = plan.first; id < plan.end; ++id) {
    const LayerConstants& c = constants_.layers[static_cast<std::size_t>(id)];
    f.constant_bytes += static_cast<double>(c.params_bytes + c.table_bytes);
    if (plan.streams(id)) {
      f.weight_lines += ceil_div(c.params_bytes, chip_.sram.line_bytes);
      part = std::max(part, part_lines(plan, id));
    } else {
      f.weight_lines += constant_lines(id) + copy_lines(plan, id);
      f.constant_bytes += static_cast<double>(c.useful_weight_bytes);
    }
  }
  f.weight_lines += 2 * part;  // the next one is loaded meanwhile
}

/// Lines of the largest part of the layer's weights that is loaded at a time.
std::int64_t FusionSearch::part_lines(const GroupPlan& plan, int id) const {
  const LayerConstants& c = constants_.layers[static_cast<std::size_t>(id)];
  std::int64_t most = 0;
  for (const Rows& part : weight_parts(plan, layer(id), id, chip_)) {
    most = std::max(most, c.weight_offset(part.end) - c.weight_offset(part.first));
  }
  return ceil_div(most, chip_.sram.line_bytes);
}

/// Into which the layer's weights are cut when they come for each chunk.
std::int64_t FusionSearch::parts_of(int id) const {
  if (layer(id).kind != LayerKind::conv) return 0;
  return std::max<std::int64_t>(1, ceil_div(kStreamedPart * constant_lines(id), sram_lines_));
}

void FusionSearch::stream_if_wished(GroupPlan& plan) const {
  if (options_.weights_stay) return;
  plan.streamed.clear();
  for (int id = plan.first; id < plan.end; ++id) plan.streamed.push_back(parts_of(id));
}

/// Each layer's rows in so many chunks.
GroupPlan FusionSearch::few_steps(int first, int end, std::int64_t steps) const {
  GroupPlan plan;
  plan.first = first;
  plan.end = end;
  plan.level = kFewStepsLevel + static_cast<int>(steps);
  plan.cuts.rows = chip_.cores;
  for (int id = first; id < end; ++id) {
    const std::int64_t wished = layer(id).wished_rows;
    const std::int64_t height = ceil_div(layer(id).out.h, chip_.cores);
    plan.rows.push_back(wished > 0 ? wished : ceil_div(height, std::min(steps, height)));
  }
  plan.steps = ceil_div(ceil_div(layer(end - 1).out.h, chip_.cores), plan.rows.back());
  return plan;
}

/// Bytes that maps between the layers would move.
double FusionSearch::saved_bytes(int first, int end) const {
  double bytes = 0;
  for (const int r : touched(first, end)) {
    if (root(r).first_layer >= first && root(r).last_layer < end && !root(r).imported) bytes += 2 * map_bytes(r);
  }
  return bytes;
}

/// In few steps, or in the lowest buffers.
void FusionSearch::extend_by_streaming(int cut, int state, int end) {
  if (layer(cut).out.n > 1 || !options_.weights_stay) return;
  for (const std::int64_t steps : kFewSteps) try_streamed(cut, state, few_steps(cut, end, steps));
  try_streamed(cut, state, group_plan(cut, end, static_cast<int>(kGains.size()) - 1, 1, 1));
}

/// Where not all weights find room together: the largest ones come again for each chunk, unless that moves more than
/// the maps between would.
void FusionSearch::try_streamed(int cut, int state, const GroupPlan& resident) {
  const double most = saved_bytes(resident.first, resident.end);
  if (most == 0 || fact(resident).least_lines <= room(resident.first, resident.end)) return;
  std::vector<int> convs;
  for (int id = resident.first; id < resident.end; ++id) {
    if (layer(id).kind == LayerKind::conv) convs.push_back(id);
  }
  std::stable_sort(convs.begin(), convs.end(), [&](int a, int b) { return constant_lines(a) > constant_lines(b); });
  GroupPlan plan = resident;
  plan.streamed.assign(static_cast<std::size_t>(plan.end - plan.first), 0);
  double again = 0;
  for (std::size_t i = 0; i < std::min(convs.size(), kMostStreamed); ++i) {
    const int id = convs[i];
    const auto at = static_cast<std::size_t>(id - plan.first);
    const std::int64_t chunks = ceil_div(layer(id).out.h, plan.rows[at]);
    again += static_cast<double>((chunks - 1) * constants_.layers[static_cast<std::size_t>(id)].useful_weight_bytes);
    if (again >= most) return;
    plan.streamed[at] = parts_of(id);
    if (again == 0 || fact(plan).least_lines > room(plan.first, plan.end)) continue;
    for (const int ahead : {0, 1}) {
      plan.ahead = ahead;
      try_group(cut, state, plan);
    }
    plan.ahead = 0;
  }
}

}  // namespace tessera::compiler
