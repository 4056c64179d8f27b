#include "compiler/driver/predictor.hpp"

#include "compiler/emit/emit.hpp"
#include "hw/common/error.hpp"

namespace tessera::compiler {
namespace {

constexpr std::int64_t kWider = 4;

}  // namespace

Predictor::Predictor(const QGraph& graph, const isa::ChipConfig& chip) : graph_(graph), memory_(chip), wide_(chip) {
  wide_.dram.channels *= kWider;
}

std::optional<Prediction> Predictor::predict(ScheduleOptions options) {
  options.timing_only = true;
  asked_.insert(key_of(options));
  try {
    const isa::Program program = emit(make(options), memory_.cost.chip(), {});
    Prediction out;
    out.cycles = static_cast<double>(program.predicted.cycles);
    out.bytes = static_cast<double>(program.predicted.dram_bytes);
    out.compulsory = static_cast<double>(program.compulsory_read + program.compulsory_write);
    for (const isa::Buffer& buffer : program.buffers) {
      if (buffer.kind == isa::BufferKind::instructions) out.instruction_bytes += static_cast<double>(buffer.size);
    }
    for (const isa::LayerInfo& layer : program.layers) {
      out.groups.push_back(layer.group);
      out.ends.push_back(static_cast<double>(program.groups[layer.group].predicted_end));
    }
    return out;
  } catch (const UserError&) {
    return std::nullopt;
  }
}

double Predictor::wide_cycles(ScheduleOptions options) {
  options.timing_only = true;
  return static_cast<double>(emit(make(options), wide_, {}).predicted.cycles);
}

Predictor::Key Predictor::key_of(const ScheduleOptions& options) {
  const Placement& placement = options.placement;
  return {options.fused,
          options.fusion.key(),
          {options.halved, options.copies, options.short_neighbours, options.count_bytes,
           static_cast<int>(placement.banks), static_cast<int>(placement.line_banks),
           static_cast<int>(placement.map_banks), static_cast<int>(options.rows_stay)}};
}

}  // namespace tessera::compiler
