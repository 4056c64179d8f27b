// Seeded random programs of the RTL slice: copies by LOAD, STORE and REORDER, convolutions, and NOPs, whose streams
// meet in few banks and on the memory. Legal and race-free by construction: an instruction waits, through a semaphore,
// for every earlier one of another queue whose bytes it touches. Leaves out: running them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isa/chip.hpp"
#include "isa/program/program.hpp"

namespace tessera::cosim {

/// One section (now and then two) of about `instructions` instructions.
[[nodiscard]] isa::Program random_program(const isa::ChipConfig& chip, std::uint64_t seed, int instructions);

/// Overrides of timing keys that the RTL does not see: memories and interconnects of every pace, by seed.
[[nodiscard]] std::vector<std::string> random_memory(std::uint64_t seed);

}  // namespace tessera::cosim
