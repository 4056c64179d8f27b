// The access plan of a CONV instruction: ports A (input), W (weights, parameters), R (residual), O (output).
#pragma once

#include <memory>

#include "hw/models/unit/access.hpp"
#include "isa/chip.hpp"
#include "isa/isa.hpp"

namespace tessera::hw {

/// The instruction must pass conv_check; the plan keeps references to neither argument.
[[nodiscard]] std::unique_ptr<AccessPlan> make_conv_plan(const isa::Conv& conv, const isa::ChipConfig& chip);

}  // namespace tessera::hw
