// A legal random program with one thing wrong: every fault cause, and a wait that nobody serves. Leaves out: running
// it (lockstep.hpp).
#pragma once

#include "hw/common/random.hpp"
#include "isa/chip.hpp"
#include "isa/isa.hpp"
#include "isa/program/program.hpp"

namespace tessera::cosim {

/// The first word of some instruction gets a reserved bit, a field breaks a rule, an operand leaves its memory, just or
/// by far, a semaphore overflows, a DMA uses the scratch buffer, which must lie outside the DRAM (bus_error), or (none)
/// a wait is never met.
[[nodiscard]] isa::Program with_fault(isa::Program program, const isa::ChipConfig& chip, isa::FaultCause cause,
                                      Random& random);

/// Changes one field of a LOAD, STORE, GEMM, EDP or REORDER such that a rule between fields is broken; false if nothing
/// came of it.
[[nodiscard]] bool break_field_rule(isa::Instruction& instruction, const isa::ChipConfig& chip, Random& random);

/// Moves one operand of such an instruction to the first place at which it leaves the scratchpad; false if nothing came
/// of it.
[[nodiscard]] bool leave_scratchpad(isa::Instruction& instruction, const isa::ChipConfig& chip, Random& random);

}  // namespace tessera::cosim
