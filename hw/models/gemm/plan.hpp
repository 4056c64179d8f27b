// The access plan of a GEMM instruction: ports A, B (operands), P (parameters), O (result).
#pragma once

#include <memory>

#include "hw/models/unit/access.hpp"
#include "isa/chip.hpp"
#include "isa/isa.hpp"

namespace tessera::hw {

/// The instruction must pass gemm_check; the plan keeps references to neither argument.
[[nodiscard]] std::unique_ptr<AccessPlan> make_gemm_plan(const isa::Gemm& gemm, const isa::ChipConfig& chip);

}  // namespace tessera::hw
