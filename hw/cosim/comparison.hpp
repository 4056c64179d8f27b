// Two runs of one program side by side: counts what differs, and tells the divergence that is first in time with its
// instruction and the last events of both sides. Leaves out: running them (lockstep.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hw/platform/run_result.hpp"
#include "isa/chip.hpp"
#include "isa/isa.hpp"
#include "isa/program/program.hpp"

namespace tessera::cosim {

class Comparison {
 public:
  Comparison(const isa::Program& program, const isa::ChipConfig& chip, const hw::RunResult& model,
             const hw::RunResult& rtl)
      : program_(program), chip_(chip), model_(model), rtl_(rtl) {}

  /// Start and finish of every instruction, ends of sections, accounts, bytes on AXI.
  void compare_runs();
  /// How the runs ended.
  void compare_ends(const std::string& model, const std::string& rtl);
  /// Bytes of a memory: `where` is "SRAM", or "DRAM NAME" of the buffer with this base register and offset.
  struct Place {
    std::string where;
    bool dram = false;
    std::uint8_t base_register = 0;
    std::uint64_t offset = 0;
  };
  void compare_bytes(const Place& place, const char* whose, const std::vector<std::uint8_t>& expected,
                     const std::vector<std::uint8_t>& rtl);

  [[nodiscard]] std::int64_t cycle_differences() const { return cycle_differences_; }
  [[nodiscard]] std::int64_t value_differences() const { return value_differences_; }
  /// Empty if nothing differs.
  [[nodiscard]] std::string first() const;

 private:
  template <typename T>
  void cycles(const T& model, const T& rtl, Cycles when, const std::string& what);
  void compare_instructions();
  void compare_units();
  void note(Cycles when, const std::string& text);
  [[nodiscard]] std::string name(const hw::InstructionRecord& record) const;
  /// The record of the instruction that wrote a byte last, if any did.
  [[nodiscard]] const hw::InstructionRecord* last_writer(const Place& place, std::uint64_t byte);
  [[nodiscard]] const isa::Instruction* instruction_of(const hw::InstructionRecord& record) const;

  const isa::Program& program_;
  const isa::ChipConfig& chip_;
  const hw::RunResult& model_;
  const hw::RunResult& rtl_;
  std::int64_t cycle_differences_ = 0, value_differences_ = 0;
  Cycles when_ = 0;  // of the first divergence
  std::string first_;
  mutable std::vector<std::vector<std::vector<isa::Instruction>>> decoded_;  // by section, stream
};

}  // namespace tessera::cosim
