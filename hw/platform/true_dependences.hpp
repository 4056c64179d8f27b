// Which instructions an instruction truly needs: those that wrote last what it reads. For `ideal_overlap`, where
// nothing else is waited for (buffers reused as if there were always another one). Leaves out: time.
#pragma once

#include <cstdint>
#include <vector>

#include "hw/platform/dram_layout.hpp"
#include "isa/chip.hpp"
#include "isa/isa.hpp"

namespace tessera::platform {

/// One queue of a section, decoded.
struct DecodedStream {
  std::uint8_t core = 0, queue = 0;
  std::vector<isa::Instruction> instructions;
  std::vector<std::uint32_t> first_word;  // of each instruction
};

/// Instructions [0, count) of a queue must have finished.
struct Dependence {
  std::uint8_t core = 0, queue = 0;
  std::uint32_t count = 0;
};

/// For each stream and instruction its true dependences, queue order aside. ProgramError if the section is stuck (the
/// order of writes comes from its semaphores).
[[nodiscard]] std::vector<std::vector<std::vector<Dependence>>> true_dependences(
    const std::vector<DecodedStream>& streams, const isa::ChipConfig& chip, const DramLayout& layout);

}  // namespace tessera::platform
