// The access plan of a REORDER instruction: one read port, one write port.
#pragma once

#include <memory>

#include "hw/models/unit/access.hpp"
#include "isa/chip.hpp"
#include "isa/isa.hpp"

namespace tessera::hw {

/// The instruction must be legal (isa/semantics/legal.hpp); the plan keeps references to neither argument.
[[nodiscard]] std::unique_ptr<AccessPlan> make_reorder_plan(const isa::Reorder& reorder, const isa::ChipConfig& chip);

}  // namespace tessera::hw
