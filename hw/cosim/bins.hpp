// What a set of lock-step programs has exercised: bins that a run fills, and the names of those that stayed empty.
// Bins of instructions follow from the ISA's field table, so that a new opcode, mode or flag has its bin by itself.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "hw/cosim/rtl_core.hpp"
#include "hw/platform/run_result.hpp"
#include "isa/isa.hpp"
#include "isa/program/program.hpp"

namespace tessera::cosim {

class Bins {
 public:
  /// Every bin of the units in RTL, empty.
  Bins();

  /// Instructions of a program that ran: each choice and flag of each opcode, NOPs of each queue, waits and signals.
  void count_program(const isa::Program& program);
  /// Where its cycles went. `faulted`: a fault ended it; only such runs can spend cycles on the cause `fault`, and its
  /// share is of theirs.
  void count_run(const hw::RunResult& run, const Coverage& coverage, bool faulted);
  void count_fault(isa::FaultCause cause) { ++bins_[std::string("fault ") + isa::to_string(cause)]; }
  void count_stuck() { ++bins_["stuck"]; }
  void add(const Bins& other);

  /// Names in the order of the alphabet. A stall cause is filled when some unit spent 1 % of its cycles on it.
  [[nodiscard]] std::vector<std::string> unfilled() const;
  [[nodiscard]] std::size_t size() const { return bins_.size() + stalls_.size(); }

 private:
  struct Share {
    Cycles stalled = 0, of = 0;
  };
  void add_unit(int queue);
  void count_instruction(int queue, const isa::Instruction& instruction);

  std::map<std::string, std::int64_t> bins_;
  std::map<std::string, std::map<std::string, Share>> stalls_;  // by cause, unit
};

}  // namespace tessera::cosim
