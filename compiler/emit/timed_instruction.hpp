// An instruction as the prediction sees it: where it runs, what it waits for and signals, its length in the ring, and
// the work itself, which stays where it is.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/emit/order.hpp"
#include "isa/isa.hpp"

namespace tessera::compiler {

struct TimedInstruction {
  std::uint8_t core = 0;
  std::uint8_t queue = 0;
  std::uint16_t layer = 0;
  std::uint8_t words = 1;
  Cycles nop_cycles = 0;            // of a NOP
  const isa::Body* work = nullptr;  // nullptr: a NOP; must outlive the prediction of its section
  std::vector<SemaphoreStep> waits, signals;
};

}  // namespace tessera::compiler
