// From a schedule to a program: footprints -> waits and signals (order.hpp) -> words, streams and attribution.
#pragma once

#include <string>

#include "compiler/schedule/work.hpp"
#include "isa/chip.hpp"
#include "isa/program/program.hpp"

namespace tessera::compiler {

struct EmitOptions {
  bool one_at_a_time = false;      // schedule `naive`
  std::string schedule = "layer";  // its name, recorded
};

/// Fills Program::sections and the prediction. UserError when a section exceeds the chip's rings.
[[nodiscard]] isa::Program emit(Schedule schedule, const isa::ChipConfig& chip, const EmitOptions& options);

}  // namespace tessera::compiler
