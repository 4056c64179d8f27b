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

/// What an instruction would take if only one of the engine's parts took time. The parts work side by side, so none is
/// longer than `conv_cycles`; what that is above the longest is prologue, last drain, skew and parts taking turns.
struct ConvLimits {
  Cycles array = 0;    // the mode's closed form: steps of the MAC array
  Cycles window = 0;   // port A: lines into the window, pixels that meet in a window bank one after the other
  Cycles weights = 0;  // port W: weight and parameter lines
  Cycles drain = 0;    // ports O and R: output lines
  /// The longest: "array", "window", "weights" or "drain", the first of equals.
  [[nodiscard]] const char* longest() const;
  [[nodiscard]] Cycles most() const;
  ConvLimits& operator+=(const ConvLimits& other);
};
[[nodiscard]] ConvLimits conv_limits(const isa::Conv& conv, const isa::ChipConfig& chip);

}  // namespace tessera::hw
