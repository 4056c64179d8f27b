// SystemC module of the memory system: AXI target sockets (hw/tlm/axi.hpp) around MemoryCore. nb_transport, because
// overlap, back-pressure and outstanding limits are the point. No periodic process: it sleeps until the next event.
#pragma once

#include <memory>
#include <systemc>
#include <tlm>
#include <vector>

#include <tlm_utils/simple_target_socket.h>

#include "hw/models/interconnect/memory_core.hpp"
#include "hw/tlm/agenda.hpp"
#include "hw/tlm/axi.hpp"

namespace tessera::hw {

class MemorySystem : public sc_core::sc_module, private MemoryListener {
 public:
  using Socket = tlm_utils::simple_target_socket_tagged<MemorySystem>;

  MemorySystem(const sc_core::sc_module_name& name, const MemoryConfig& config);
  MemorySystem(const sc_core::sc_module_name& name, const isa::ChipConfig& chip, int cores);

  /// Socket of a core's manager: index core * 3 + manager.
  [[nodiscard]] Socket& tsock(int core, tlm_base::Manager manager);

  /// Owner of the current cycle: state of the manager's oldest outstanding burst; nullopt without one.
  [[nodiscard]] std::optional<StallCause> cause_of(int core, tlm_base::Manager manager);
  /// Cycles before the current one with an outstanding burst, by the state of the oldest. Take one at the begin and one
  /// at the end of a wait: the difference is the wait by cause.
  [[nodiscard]] CauseTotals totals(int core, tlm_base::Manager manager);

  [[nodiscard]] bool idle() const { return core_.idle(); }
  [[nodiscard]] MemoryResult results(Cycles end) { return core_.results(end); }
  void set_observer(MemoryObserver* observer) { core_.set_observer(observer); }
  void set_command_observer(dram::CommandObserver* observer) { core_.set_command_observer(observer); }
  [[nodiscard]] MemoryCore& core() { return core_; }

 private:
  void start_of_simulation() override { wake(); }  // background traffic needs no request to begin
  void on_event();
  void wake();
  void on_accept(int port, void* user) override;
  void on_beat(int port, void* user) override;
  void on_response(int port, void* user) override;
  tlm::tlm_sync_enum nb_fw(int port, tlm::tlm_generic_payload& trans, tlm::tlm_phase& phase, sc_core::sc_time& delay);
  void check(int port, const tlm::tlm_generic_payload& trans, const tlm_base::AxiExtension& axi) const;

  MemoryCore core_;
  std::vector<std::unique_ptr<Socket>> sockets_;
  tlm_base::Process advance_;
  Cycles scheduled_ = kNever;
  bool advancing_ = false;
};

}  // namespace tessera::hw
