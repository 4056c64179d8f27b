// Runs a compiled program on the SystemC chip: builds the modules from a chip file, starts section after section
// through the control ports, executes host steps between them, applies values at finish, collects the accounts. Leaves
// out: reports and traces (runtime, traces), the RTL backend (hw/cosim).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hw/models/dram/storage.hpp"
#include "hw/platform/dram_layout.hpp"
#include "hw/platform/run_result.hpp"
#include "isa/chip.hpp"
#include "isa/isa.hpp"
#include "isa/program/program.hpp"

namespace tessera::hw {
class IssueSource;
class IssueTarget;
class MemoryObserver;
class Sram;
}  // namespace tessera::hw
namespace tessera::dram {
class CommandObserver;
}

namespace tessera::platform {

/// What a host step cost. Values are the callback's own business (it may skip them when timing_only).
struct HostCost {
  Cycles cycles = 0;  // core cycles
  Bytes read_bytes = 0;
  Bytes write_bytes = 0;
};

/// Sees every instruction once it has finished, in the order of (finish, core, queue). Never changes a cycle.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  virtual void on_instruction(const isa::Instruction& instruction, const hw::InstructionRecord& record) = 0;
};

/// Units that stand in place of the models' (RTL: hw/cosim). They move their own bytes.
class ForeignUnits {
 public:
  virtual ~ForeignUnits() = default;
  [[nodiscard]] virtual bool has(int queue) const = 0;
  /// The unit of a queue that it has; attached to the scratchpad.
  [[nodiscard]] virtual std::unique_ptr<hw::IssueTarget> make(int core, int queue, const std::string& name,
                                                              hw::Sram& sram, hw::IssueSource& source) = 0;
  /// The scratchpad's bytes (empty when timing_only), before the first cycle.
  virtual void connect(int core, std::vector<std::uint8_t>& sram) = 0;
  /// Why the run is over; empty: it is not.
  [[nodiscard]] virtual std::string failure() const = 0;
};

struct RunOptions {
  bool timing_only = false;              // no values: SRAM and DRAM contents stay as they are
  bool no_shortcuts = false;             // step every unit in every cycle
  bool ideal_sram = false;               // no refusal
  bool ideal_dram = false;               // latency 1, unlimited bandwidth
  bool ideal_overlap = false;            // waits only for true data dependences (needs timing_only)
  std::uint64_t process_order_seed = 0;  // not 0: modules are created in a shuffled order; results must not change
  Cycles soft_reset = 0;                 // not 0: a soft reset in this cycle, which ends the section that runs then
  Cycles max_cycles = 0;                 // not 0: ProgramError when the run gets this far
  int frames = 1;
  /// Required if the program has host steps.
  std::function<HostCost(const isa::HostStep&)> host_step;
  /// Called before each frame starts (to place inputs) and after it ended (to fetch outputs).
  std::function<void(int frame)> begin_frame, end_frame;
  /// Called after the last frame with the final SRAM of each core (empty when timing_only).
  std::function<void(int core, const std::vector<std::uint8_t>& sram)> end_run;
  /// Called before the ProgramError of a fault or a stuck section, whose interrupt is up in cycle n.
  std::function<void(int queue, std::uint32_t word, isa::FaultCause cause, Cycles n)> on_fault;
  std::function<void(Cycles n)> on_stuck;
  /// Called for every cycle that a unit loses to a bank conflict, in the order of cycles.
  std::function<void(int core, int queue, Cycles n)> on_conflict;
  RunObserver* observer = nullptr;
  ForeignUnits* foreign_units = nullptr;
  hw::MemoryObserver* memory_observer = nullptr;
  dram::CommandObserver* dram_observer = nullptr;  // commands of every channel; none with `fixed` memory
};

/// What can be refused before the first cycle: UserError, or ProgramError for a stream that no ring holds.
void check_program(const isa::Program& program, const isa::ChipConfig& chip, const RunOptions& options);

/// `dram` holds the program already (load_program) and the inputs. Faults, stuck machines, non-zero semaphores at a
/// section's end and the watchdog are ProgramErrors that say where and why.
[[nodiscard]] hw::RunResult run_program(const isa::Program& program, const isa::ChipConfig& chip,
                                        const DramLayout& layout, hw::DramStorage& dram, const RunOptions& options);
/// Places and loads the program first.
[[nodiscard]] hw::RunResult run_program(const isa::Program& program, const isa::ChipConfig& chip, hw::DramStorage& dram,
                                        const RunOptions& options);

}  // namespace tessera::platform
