// The SystemC module of STORE: an AXI write manager (nb_transport, hw/tlm/axi.hpp) around StoreCore. What it shares
// with LOAD is in hw/models/load/dma_module.hpp.
#pragma once

#include "hw/models/load/dma_module.hpp"
#include "hw/models/store/store_core.hpp"

namespace tessera::hw {

class Store : public DmaModule<StoreCore, StoreOutputs, isa::Store> {
 public:
  Store(const sc_core::sc_module_name& name, int core, const DmaConfig& config, Sram& sram, IssueSource& source,
        MemoryProbe probe);

 private:
  [[nodiscard]] Raise raise() const override;
  [[nodiscard]] StoreOutputs outputs(Cycles n, bool alone) override { return core_.outputs(n, alone); }
  bool interrupt(Cycles n) override { return core_.interrupt(n); }
  [[nodiscard]] bool requests_in(Cycles) override { return core_.reading_ahead(); }
  [[nodiscard]] bool moving() const override { return out_.read; }
  bool answer(Cycles n, bool response) override;
  void classify(Cycles n, bool granted) override;
  void go_to_sleep(Cycles n) override;
  void stay_awake() override { drain_from_ = kNever; }

  Cycles drain_from_ = kNever;  // since the module sleeps: cycle from which only B are awaited
};

}  // namespace tessera::hw
