// Which instructions must have finished before another can start, over all legal timings of a section.
//
// Semaphores with one waiting queue make the machine confluent: what can run stays able to run, so "run everything that
// can, without queue C beyond instruction i and without queue A beyond a" has one outcome. need(C, i, A) is the least a
// for which instruction i of C can start in that outcome: the number of instructions of A that have finished before it
// in every timing. Growing i and a only grows the outcome, so one pass over the section serves all i of a pair (C, A):
// Q^2 passes, exact also for semaphores that several queues signal.
#pragma once

#include <cstdint>
#include <vector>

#include "hw/reference/section.hpp"

namespace tessera::reference {

class HappensBefore {
 public:
  /// The section must complete (the executor has shown it).
  explicit HappensBefore(const Section& section);

  /// True if `first` has finished before `second` starts, in every legal timing.
  [[nodiscard]] bool before(InstructionId first, InstructionId second) const {
    if (first.queue == second.queue) return first.index < second.index;
    return first.index < need_[second.queue][second.index * queues_ + first.queue];
  }

 private:
  std::size_t queues_;
  std::vector<std::vector<std::uint32_t>> need_;  // [queue C][instruction i * queues + queue A]
};

/// ProgramError if a semaphore can rise above 255 in some legal timing.
void check_semaphore_overflow(const Section& section);

}  // namespace tessera::reference
