#include "compiler/driver/choose_schedule.hpp"

#include <optional>
#include <vector>

#include "compiler/emit/emit.hpp"
#include "compiler/schedule/unit_cost.hpp"
#include "hw/common/error.hpp"

namespace tessera::compiler {
namespace {

/// What emission says of a schedule.
struct Prediction {
  double cycles = 0, bytes = 0;
};

std::optional<Prediction> predict(const QGraph& graph, const isa::ChipConfig& chip, ScheduleOptions options) {
  options.timing_only = true;
  try {
    const isa::Program program = emit(make_schedule(graph, chip, options), chip, {});
    return Prediction{static_cast<double>(program.predicted.cycles), static_cast<double>(program.predicted.dram_bytes)};
  } catch (const UserError&) {
    return std::nullopt;
  }
}

}  // namespace

Schedule choose_schedule(const QGraph& graph, const isa::ChipConfig& chip, const ScheduleOptions& options) {
  ScheduleOptions layer = options;
  layer.fused = false;
  if (!options.fused) return make_schedule(graph, chip, layer);
  const auto by_layer = predict(graph, chip, layer);
  const double byte_cycles = options.fusion.byte_share / UnitCost(chip).dram_bytes_per_cycle();
  const auto worth = [&](const Prediction& p) { return p.cycles + byte_cycles * p.bytes; };
  std::optional<Prediction> best;
  ScheduleOptions chosen = layer;
  for (const ScheduleOptions& candidate : {options}) {
    const auto p = predict(graph, chip, candidate);
    if (!p || (by_layer && p->cycles > by_layer->cycles)) continue;
    if (best && worth(*best) <= worth(*p)) continue;
    best = p;
    chosen = candidate;
  }
  return make_schedule(graph, chip, chosen);
}

}  // namespace tessera::compiler
