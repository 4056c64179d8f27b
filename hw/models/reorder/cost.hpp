// What a REORDER instruction costs, as a pure function for the compiler. Cycles are those of a run that the SRAM
// arbiter never refuses; rules: README.md. Legality: isa/semantics/legal.hpp.
#pragma once

#include "hw/common/units.hpp"
#include "isa/chip.hpp"
#include "isa/isa.hpp"

namespace tessera::hw {

/// Pairs of (source line, destination line) that the copy passes through, one a cycle.
[[nodiscard]] std::int64_t reorder_steps(const isa::Reorder& reorder, const isa::ChipConfig& chip);

/// Engine cycles: index of the last write + 1.
[[nodiscard]] Cycles reorder_cycles(const isa::Reorder& reorder, const isa::ChipConfig& chip);

}  // namespace tessera::hw
