// The access plan of an EDP instruction: ports A (first operand, constants), B (second operand), O (result).
#pragma once

#include <memory>

#include "hw/models/unit/access.hpp"
#include "isa/chip.hpp"
#include "isa/isa.hpp"

namespace tessera::hw {

/// The instruction must be legal (isa/semantics/legal.hpp); the plan keeps references to neither argument.
[[nodiscard]] std::unique_ptr<AccessPlan> make_edp_plan(const isa::Edp& edp, const isa::ChipConfig& chip);

}  // namespace tessera::hw
