// What an EDP instruction costs, as pure functions for the compiler. Cycles are those of a run that the SRAM arbiter
// never refuses; rules: README.md. Legality: isa/semantics/legal.hpp.
#pragma once

#include "hw/common/units.hpp"
#include "isa/chip.hpp"
#include "isa/isa.hpp"

namespace tessera::hw {

/// Engine cycles: index of the last output write + 1.
[[nodiscard]] Cycles edp_cycles(const isa::Edp& edp, const isa::ChipConfig& chip);

/// Element slots issued: cycles in which a line is in the lanes x lanes.
[[nodiscard]] std::int64_t edp_elements_issued(const isa::Edp& edp, const isa::ChipConfig& chip);

}  // namespace tessera::hw
