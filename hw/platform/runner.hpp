// Drives a chip through the sections of a program, as the driver on the host would: registers, doorbell, interrupt,
// host step. Its register accesses take no time (README.md). Collects records and applies values at finish.
#pragma once

#include <array>
#include <exception>
#include <memory>
#include <string>
#include <systemc>
#include <utility>
#include <vector>

#include <tlm_utils/simple_initiator_socket.h>

#include "hw/platform/chip.hpp"
#include "hw/platform/true_dependences.hpp"
#include "hw/tlm/agenda.hpp"
#include "isa/semantics/execute.hpp"

namespace tessera::platform {

class Runner : public sc_core::sc_module, public hw::CpListener {
 public:
  Runner(const sc_core::sc_module_name& name, const isa::Program& program, const isa::ChipConfig& config,
         const DramLayout& layout, hw::DramStorage& dram, const RunOptions& options);

  ~Runner() override;

  /// Binds to the chip; it must outlive the run.
  void connect(Chip& chip);
  /// After the simulation: throws the ProgramError it ended with, if any.
  void check_outcome() const;
  [[nodiscard]] hw::RunResult result();
  [[nodiscard]] const std::vector<std::uint8_t>& sram(int core) const {
    return cores_[static_cast<std::size_t>(core)].sram;
  }

  // CpListener
  void on_finish(int core, const isa::Instruction& instruction, const hw::InstructionRecord& record) override;
  void on_global_signal(int core, const isa::Signal& signal) override;
  void on_state(int core, hw::CpState state) override;

 private:
  struct CoreSide {
    std::unique_ptr<tlm_utils::simple_initiator_socket<Runner>> control_isock;
    std::vector<std::uint8_t> sram;
    hw::CpState state = hw::CpState::running;
  };

  void on_event();
  void next(Cycles n);
  void on_watchdog();
  void on_reset();
  void begin_section(Cycles n);
  void begin_npu_section(const isa::Section& section);
  void begin_host_step(const isa::Section& section, Cycles n);
  void end_section(Cycles n);
  void decode_section(const isa::Section& section);
  /// Who waits for a global semaphore, and who will signal what (for the attribution of waits).
  void route_semaphores(const isa::Section& section);
  void tell_observer();
  /// Ideal overlap: does the head of this queue lack a true dependence?
  [[nodiscard]] bool lacks_dependence(int core, int queue) const;
  void fail(const std::string& text);
  [[nodiscard]] std::string fault_text(int core, Cycles n);
  [[nodiscard]] std::string stuck_text(Cycles n);
  [[nodiscard]] std::vector<std::string> layer_names() const;
  void write_register(int core, std::uint32_t offset, std::uint32_t value);
  [[nodiscard]] bool all_stopped() const;

  const isa::Program& program_;
  const isa::ChipConfig& config_;
  const DramLayout& layout_;
  const RunOptions& options_;
  Chip* chip_ = nullptr;
  hw::BasedStorage dram_;
  std::vector<CoreSide> cores_;
  std::vector<DecodedStream> decoded_;                                  // of the section that runs
  std::vector<std::vector<std::vector<Dependence>>> needs_;             // ideal overlap: by stream, instruction
  std::vector<std::array<std::vector<Cycles>, hw::kQueues>> finishes_;  // ideal overlap: by core, queue

  int frame_ = 0;
  std::size_t section_ = 0;
  bool in_host_step_ = false;
  Cycles host_end_ = 0;
  std::array<int, hw::kSemaphores> waiter_{};  // core that waits for a global semaphore, -1: none
  std::exception_ptr failure_;                 // what the run ends with
  bool finished_ = false;

  std::vector<std::pair<isa::Instruction, hw::InstructionRecord>> observed_;  // finished in one cycle, not yet told
  hw::RunResult result_;
  UnitAccount host_;
  tlm_base::Process next_;
  tlm_base::Process watchdog_;
  tlm_base::Process reset_;
};

}  // namespace tessera::platform
