// The lock-step checker: one program on the SystemC chip (hw/platform) and on the RTL, compared at retirement. Start
// and finish of every instruction, section ends, counters of each unit and AXI bytes are cycle differences; final SRAM
// and DRAM bytes are value differences, against the model and, by the random runs, the reference executor.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "hw/cosim/bins.hpp"
#include "hw/cosim/rtl_core.hpp"
#include "hw/platform/platform.hpp"
#include "isa/chip.hpp"
#include "isa/program/program.hpp"

namespace tessera::cosim {

/// Processor seconds that a run takes; 0: not measured.
struct CpuSeconds {
  double rtl = 0, model = 0, timing_only = 0, no_shortcuts = 0;
};

struct LockstepResult {
  std::int64_t programs = 0;
  std::int64_t instructions = 0;
  std::array<std::int64_t, isa::kQueueIdValues> instructions_of{};  // by queue
  Cycles cycles = 0;                                                // of the RTL, all programs
  CpuSeconds cpu;
  std::int64_t value_differences = 0;
  std::int64_t cycle_differences = 0;
  std::string first;                  // the first divergence in time: instruction, layer, field, both values, events
  std::string shortest;               // of a random program that differs: a short one, as assembly
  std::int64_t ended_early = 0;       // programs that ended with a fault or stuck
  std::int64_t programs_refused = 0;  // with an AR or AW that was not accepted at once
  Coverage coverage;
  Bins bins;

  [[nodiscard]] bool equal() const { return value_differences == 0 && cycle_differences == 0; }
  /// Sums; keeps the first divergence, with `name` in front of it.
  void add(const LockstepResult& other, const std::string& name);
};

struct LockstepOptions {
  /// Fills the inputs of a prepared memory; default: random bytes in input and scratch buffers.
  std::function<void(hw::DramStorage&)> place_inputs;
  /// Carries out a host step on one side's memory.
  std::function<platform::HostCost(const isa::HostStep&, hw::DramStorage&)> host_step;
  std::uint64_t data_seed = 1;   // bytes of the input and scratch buffers
  bool check_reference = false;  // legality, races and values by tessera::reference as well
  bool no_shortcuts = false;     // of the model
  Cycles soft_reset = 0;         // not 0: in this cycle of both
  bool every_way = false;        // the model runs timing-only and with no_shortcuts too, for their time: same cycles
  bool edges = false;            // those of all signals of a wave are compared
  bool scratch_outside = false;  // the scratch buffer lies behind the end of the DRAM: bus errors
};

/// `model_chip` is what the model is built from: normally `chip`; another one shows that the checker can fail. A
/// program that ends with a fault or stuck must do so on both sides: same cause, place and cycle (no values are
/// compared).
[[nodiscard]] LockstepResult run_lockstep(const isa::Program& program, const isa::ChipConfig& chip,
                                          const isa::ChipConfig& model_chip, const LockstepOptions& options);

/// `count` random programs from `seed` on, each on its own memory (random_program.hpp), one of eight with a fault.
/// `chip` names a chip of the slice, `sets` override its values and those of the memory. Ends with the first program
/// that differs, which it shrinks unless it shall only be found. `progress` is told the number of programs done.
enum class OnDifference { shrink, stop };
[[nodiscard]] LockstepResult run_random_lockstep(const std::string& chip, const std::vector<std::string>& sets,
                                                 std::uint64_t seed, int count,
                                                 const std::function<void(int)>& progress = {},
                                                 OnDifference on_difference = OnDifference::shrink);

/// Coverage, unfilled bins, instructions of each queue, and last "lockstep: N programs, ...".
[[nodiscard]] std::string lockstep_text(const LockstepResult& result);

/// "cycles: N\nseconds: rtl ...", for runs with `every_way`.
[[nodiscard]] std::string cpu_text(const LockstepResult& result);

}  // namespace tessera::cosim
