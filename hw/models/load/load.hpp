// The SystemC module of LOAD: an AXI read manager (nb_transport, hw/tlm/axi.hpp) around LoadCore. No periodic process:
// it sleeps while nothing but memory can move it. Leaves out: bytes (applied at finish by the platform).
#pragma once

#include <systemc>

#include <tlm_utils/simple_initiator_socket.h>

#include "hw/models/load/dma_account.hpp"
#include "hw/models/load/load_core.hpp"
#include "hw/models/sram/sram.hpp"
#include "hw/models/unit/issue.hpp"
#include "hw/tlm/payload_pool.hpp"

namespace tessera::hw {

class Load : public sc_core::sc_module, public IssueTarget, public SramClient {
 public:
  SC_HAS_PROCESS(Load);
  Load(const sc_core::sc_module_name& name, int core, const DmaConfig& config, Sram& sram, IssueSource& source,
       MemoryProbe probe);

  tlm_utils::simple_initiator_socket<Load> mem_isock;

  // IssueTarget
  [[nodiscard]] bool ready(bool nop) const override { return core_.ready(nop); }
  [[nodiscard]] bool busy() const override { return !core_.idle(); }
  void start(const isa::Instruction& instruction, Cycles n, std::uint64_t base) override;
  [[nodiscard]] const UnitAccount& account() const override { return account_.account(); }
  [[nodiscard]] Cycles stepped_cycles() const override { return stepped_; }
  // SramClient: LOAD is driven by its beats, cycle by cycle while it has any; it is never fast-forwarded.
  void set_private(bool is_private, Cycles) override { private_ = is_private; }
  [[nodiscard]] bool requests_in(Cycles) override { return false; }

  [[nodiscard]] Bytes axi_bytes() const { return axi_bytes_; }

 private:
  void on_evaluate();
  void on_commit();
  void classify(Cycles n, bool segment, bool moved);
  tlm::tlm_sync_enum nb_bw(tlm::tlm_generic_payload& trans, tlm::tlm_phase& phase, sc_core::sc_time& delay);

  int core_id_;
  DmaConfig config_;
  Sram& sram_;
  IssueSource& source_;
  LoadCore core_;
  DmaAccount account_;
  tlm_base::PayloadPool pool_;
  bool private_ = true;
  // This cycle
  LoadOutputs out_;
  bool evaluated_ = false;
  bool accepted_ = false;
  bool popped_ = false;
  Cycles nop_cycles_ = 0;
  semantics::DmaShape shape_;
  std::uint64_t base_ = 0;
  Bytes axi_bytes_ = 0;
  Cycles stepped_ = 0;
  sc_core::sc_event evaluate_event_;
  sc_core::sc_event commit_event_;
};

}  // namespace tessera::hw
