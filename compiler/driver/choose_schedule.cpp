#include "compiler/driver/choose_schedule.hpp"

#include <optional>

#include "compiler/emit/emit.hpp"
#include "compiler/schedule/unit_cost.hpp"
#include "hw/common/error.hpp"

namespace tessera::compiler {
namespace {

// Below these parts of the layer schedule's cycles or bytes a fused schedule is worth having: the prediction knows no
// bank conflicts and may err by less.
constexpr double kLeastGain = 0.97;
constexpr double kLeastSaving = 0.99;

// Searches that assume different times for the rows of images: how far they hide is the whole's to say.
constexpr double kImportWaits[] = {1.2, 3.0};
constexpr double kByteShare = 3.0;  // of the time that DRAM traffic takes, beside the cycles

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

bool better(const Prediction& fused, const Prediction& layer) {
  return fused.cycles <= layer.cycles &&
         (fused.cycles < kLeastGain * layer.cycles || fused.bytes < kLeastSaving * layer.bytes);
}

}  // namespace

Schedule choose_schedule(const QGraph& graph, const isa::ChipConfig& chip, const ScheduleOptions& options) {
  ScheduleOptions layer = options;
  layer.fused = false;
  if (!options.fused) return make_schedule(graph, chip, layer);
  const auto by_layer = predict(graph, chip, layer);
  const double byte_cycles = kByteShare / UnitCost(chip).dram_bytes_per_cycle();
  const auto worth = [&](const Prediction& p) { return p.cycles + byte_cycles * p.bytes; };
  std::optional<Prediction> best;
  ScheduleOptions chosen = layer;
  ScheduleOptions candidate = options;
  for (const double wait : kImportWaits) {
    candidate.fusion.import_wait = wait;
    const auto p = predict(graph, chip, candidate);
    if (!p || (by_layer && !better(*p, *by_layer)) || (best && worth(*best) <= worth(*p))) continue;
    best = p;
    chosen = candidate;
  }
  return make_schedule(graph, chip, chosen);
}

}  // namespace tessera::compiler
