// What a CONV instruction costs, as pure functions for the compiler: legality on this engine, cycles, lanes issued.
// The cycles are those of a run that is never refused by the SRAM arbiter; rules and derivation: README.md.
#pragma once

#include <optional>
#include <string>

#include "hw/common/units.hpp"
#include "isa/chip.hpp"
#include "isa/isa.hpp"

namespace tessera::hw {

/// Bytes of the input window of the largest tile: fullest bank x banks x bytes of an entry.
[[nodiscard]] Bytes conv_window_bytes(const isa::Conv& conv, const isa::ChipConfig& chip);

/// Why the engine cannot execute the instruction, or nothing: the instruction's own shape rules
/// (isa/semantics/legal.hpp) and the engine's window. Not where operands lie.
[[nodiscard]] std::optional<std::string> conv_check(const isa::Conv& conv, const isa::ChipConfig& chip);

/// Engine cycles: index of the last output write + 1. The instruction must pass conv_check.
[[nodiscard]] Cycles conv_cycles(const isa::Conv& conv, const isa::ChipConfig& chip);

/// The same with what a schedule search also asks for.
struct ConvCost {
  Cycles cycles = 0;
  std::int64_t compute_steps = 0;  // cycles in which the MAC array works
  std::int64_t macs_issued = 0;    // lane-cycles
  std::int64_t tiles = 0;
  std::int64_t weight_lines = 0;  // read on port W, parameters excluded
};
[[nodiscard]] ConvCost conv_cost(const isa::Conv& conv, const isa::ChipConfig& chip);

}  // namespace tessera::hw
