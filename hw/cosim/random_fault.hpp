// A legal random program with one thing wrong: every fault cause, and a wait that nobody serves. Leaves out: running
// it (lockstep.hpp).
#pragma once

#include "hw/common/random.hpp"
#include "isa/chip.hpp"
#include "isa/isa.hpp"
#include "isa/program/program.hpp"

namespace tessera::cosim {

/// The first word of some instruction gets a reserved bit, an operand leaves its memory, a semaphore overflows, or
/// (none) a wait is never met. bus_error: `program` stays as it is, its scratch buffer must lie outside the DRAM
/// (bus_error_memory).
[[nodiscard]] isa::Program with_fault(isa::Program program, isa::FaultCause cause, Random& random);

}  // namespace tessera::cosim
