// The lock-step checker: one program on the SystemC chip (hw/platform) and on the RTL, compared at retirement. Start
// and finish of every instruction, section ends, bank conflicts of each unit and AXI bytes are cycle differences; final
// SRAM and DRAM bytes are value differences, against the model and, by the random runs, the reference executor.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "hw/cosim/rtl_core.hpp"
#include "isa/chip.hpp"
#include "isa/program/program.hpp"

namespace tessera::cosim {

struct LockstepResult {
  std::int64_t programs = 0;
  std::int64_t instructions = 0;
  std::int64_t value_differences = 0;
  std::int64_t cycle_differences = 0;
  std::string first;                  // the first divergence in time: instruction, field, both values
  std::int64_t programs_refused = 0;  // with an AR or AW that was not accepted at once
  Coverage coverage;

  [[nodiscard]] bool equal() const { return value_differences == 0 && cycle_differences == 0; }
  /// Sums; keeps the first divergence, with `name` in front of it.
  void add(const LockstepResult& other, const std::string& name);
};

struct LockstepOptions {
  std::uint64_t data_seed = 1;   // bytes of the input and scratch buffers
  bool check_reference = false;  // legality, races and values by tessera::reference as well
  bool no_shortcuts = false;     // of the model
};

/// `model_chip` is what the model is built from: normally `chip`; another one shows that the checker can fail.
[[nodiscard]] LockstepResult run_lockstep(const isa::Program& program, const isa::ChipConfig& chip,
                                          const isa::ChipConfig& model_chip, const LockstepOptions& options);

/// `count` random programs from `seed` on, each on its own memory (random_program.hpp). `chip` names a chip of the
/// slice, `sets` override its values and those of the memory. `progress` is told the number of programs done.
[[nodiscard]] LockstepResult run_random_lockstep(const std::string& chip, const std::vector<std::string>& sets,
                                                 std::uint64_t seed, int count,
                                                 const std::function<void(int)>& progress = {});

/// Two lines: coverage, and "lockstep: N programs, ...".
[[nodiscard]] std::string lockstep_text(const LockstepResult& result);

}  // namespace tessera::cosim
