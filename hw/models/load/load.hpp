// The SystemC module of LOAD: an AXI read manager (nb_transport, hw/tlm/axi.hpp) around LoadCore. What it shares with
// STORE is in dma_module.hpp.
#pragma once

#include "hw/models/load/dma_module.hpp"
#include "hw/models/load/load_core.hpp"

namespace tessera::hw {

class Load : public DmaModule<LoadCore, LoadOutputs, isa::Load> {
 public:
  Load(const sc_core::sc_module_name& name, int core, const DmaConfig& config, Sram& sram, IssueSource& source,
       MemoryProbe probe);

 private:
  [[nodiscard]] Raise raise() const override;
  [[nodiscard]] LoadOutputs outputs(Cycles n, bool) override { return core_.outputs(n); }
  [[nodiscard]] bool moving() const override { return out_.segment; }
  bool answer(Cycles n, bool response) override;
  void classify(Cycles n, bool granted) override;
  void go_to_sleep(Cycles n) override;
};

}  // namespace tessera::hw
