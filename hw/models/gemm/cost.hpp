// What a GEMM instruction costs, as pure functions for the compiler. Cycles are those of a run that the SRAM arbiter
// never refuses; rules and derivation: README.md.
#pragma once

#include <optional>
#include <string>

#include "hw/common/units.hpp"
#include "isa/chip.hpp"
#include "isa/isa.hpp"

namespace tessera::hw {

/// Why the unit cannot execute the instruction, or nothing: the instruction's own shape rules (isa/semantics/legal.hpp)
/// and what the array asks for. Not where operands lie.
[[nodiscard]] std::optional<std::string> gemm_check(const isa::Gemm& gemm, const isa::ChipConfig& chip);

/// Engine cycles: index of the last output write + 1.
[[nodiscard]] Cycles gemm_cycles(const isa::Gemm& gemm, const isa::ChipConfig& chip);

/// Busy span of the array, first operand in to last partial sum out (counter gemm.array_cycles).
[[nodiscard]] Cycles gemm_array_cycles(const isa::Gemm& gemm, const isa::ChipConfig& chip);

/// Steps x R x C.
[[nodiscard]] std::int64_t gemm_macs_issued(const isa::Gemm& gemm, const isa::ChipConfig& chip);

}  // namespace tessera::hw
