// What a set of lock-step programs has exercised: bins that a run fills, and the names of those that stayed empty.
// Bins of instructions follow from the ISA's field table, so that a new opcode, mode or flag has its bin by itself.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "hw/cosim/rtl_core.hpp"
#include "hw/platform/run_result.hpp"
#include "isa/chip.hpp"
#include "isa/isa.hpp"
#include "isa/program/program.hpp"

namespace tessera::cosim {

class Bins {
 public:
  /// Every bin of the units in RTL, empty.
  Bins();

  /// Instructions of a program that ran: each choice and flag of each opcode, NOPs of each queue, waits and signals,
  /// operands at either end of the scratchpad.
  void count_program(const isa::Program& program, const isa::ChipConfig& chip);
  /// Where its cycles went. `faulted`: a fault ended it; only such runs can spend cycles on the cause `fault`, and its
  /// share is of theirs.
  void count_run(const hw::RunResult& run, const isa::ChipConfig& chip, const Coverage& coverage, bool faulted);
  void count_fault(isa::FaultCause cause) { ++bins_[std::string("fault ") + isa::to_string(cause)]; }
  void count_stuck() { ++bins_["stuck"]; }
  void count_soft_reset() { ++bins_["soft reset"]; }
  void add(const Bins& other);

  /// Names in the order of the alphabet. A stall cause is filled when some unit spent 1 % of its cycles on it.
  [[nodiscard]] std::vector<std::string> unfilled() const;
  /// Bins that no machine of these runs can fill, by name, each with the reason; neither filled nor unfilled.
  [[nodiscard]] std::map<std::string, std::string> not_applicable() const;
  [[nodiscard]] std::size_t size() const { return bins_.size() + stalls_.size() - not_applicable().size(); }
  /// Of a bin "stall CAUSE": the most of any unit's cycles, in percent.
  [[nodiscard]] double most_percent(const std::string& name) const;

 private:
  struct Share {
    Cycles stalled = 0, of = 0;
  };
  void add_unit(int queue);
  void count_instruction(int queue, const isa::Instruction& instruction);
  void count_ends(int queue, const isa::Instruction& instruction, const isa::ChipConfig& chip);

  std::map<std::string, std::int64_t> bins_;
  std::map<std::string, std::map<std::string, Share>> stalls_;  // by cause, unit
  std::int64_t runs_ = 0;
  std::map<std::string, std::int64_t> unable_;  // by cause: runs on machines that know no such stall
};

}  // namespace tessera::cosim
