#include "compiler/driver/choose_schedule.hpp"

#include <optional>

#include "compiler/emit/emit.hpp"
#include "hw/common/error.hpp"

namespace tessera::compiler {
namespace {

// Below these parts of the layer schedule's cycles or bytes a fused schedule is worth having: the prediction knows no
// bank conflicts and may err by less.
constexpr double kLeastGain = 0.97;
constexpr double kLeastSaving = 0.99;

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
  const auto by_groups = predict(graph, chip, options);
  const bool better =
      by_groups &&
      (!by_layer || (by_groups->cycles <= by_layer->cycles && (by_groups->cycles < kLeastGain * by_layer->cycles ||
                                                               by_groups->bytes < kLeastSaving * by_layer->bytes)));
  return make_schedule(graph, chip, better ? options : layer);
}

}  // namespace tessera::compiler
