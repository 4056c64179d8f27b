// Which instructions are legal beyond what the decoder sees: rules between fields, and ranges inside SRAM and DRAM.
// Used by the executor (ProgramError), the timed models (queue fault with the same cause) and the compiler's
// self-check.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isa/chip.hpp"
#include "isa/isa.hpp"
#include "isa/semantics/footprint.hpp"

namespace tessera::semantics {

struct Fault {
  isa::FaultCause cause = isa::FaultCause::none;
  std::string text;  // "conv.a_int16 = 1: expected 0; int16 activations are not supported yet"
};

/// Rules between fields of one instruction and the chip. Everything else in this room assumes they hold.
[[nodiscard]] std::optional<Fault> find_field_fault(const isa::Instruction& instruction, const isa::ChipConfig& chip);

/// The part of these rules that needs no operands' places: shape, tile and mode. What is wrong, or nothing; a search of
/// schedules asks it before operands have places.
[[nodiscard]] std::optional<std::string> find_shape_fault(const isa::Conv& conv, const isa::ChipConfig& chip);
[[nodiscard]] std::optional<std::string> find_shape_fault(const isa::Gemm& gemm, const isa::ChipConfig& chip);

/// Legal bytes behind each DRAM base register.
using DramLimits = std::array<std::uint64_t, 8>;

/// First range of a footprint outside the SRAM (sram_range) or outside a limit (dram_limit).
[[nodiscard]] std::optional<Fault> find_range_fault(const std::vector<Range>& ranges, const isa::ChipConfig& chip,
                                                    const DramLimits& limits);

/// Field faults first, then range faults of the footprint.
[[nodiscard]] std::optional<Fault> find_fault(const isa::Instruction& instruction, const isa::ChipConfig& chip,
                                              const DramLimits& limits);

}  // namespace tessera::semantics
