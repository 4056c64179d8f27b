#include "hw/models/load/load.hpp"

#include <utility>

namespace tessera::hw {

Load::Load(const sc_core::sc_module_name& name, int core, const DmaConfig& config, Sram& sram, IssueSource& source,
           MemoryProbe probe)
    : DmaModule(name, isa::QueueId::load, core, config, sram, source, std::move(probe)) {}

Load::Raise Load::raise() const {
  return {out_.raise_ar, tlm::TLM_READ_COMMAND, tlm_base::Manager::load, out_.ar_address, out_.ar_beats};
}

bool Load::answer(Cycles n, bool response) {
  core_.beat(n, response);
  axi_bytes_ += config_.data_bytes;
  // A freed credit may raise an AR in this very cycle; the beat itself can be used from the next one on.
  const bool credit_helps = response && core_.state().generating && !core_.state().ar_held;
  evaluate_.notify(credit_helps ? n : n + 1);
  return response;
}

void Load::classify(Cycles n, bool granted) {
  account_.catch_up(n, kNever);
  if (out_.segment && (out_.banks == 0 || granted)) {
    account_.busy(n);
  } else if (out_.segment) {
    account_.stall(n, StallCause::sram_bank_conflict);
    lost(n);
  } else {
    account_.wait(n);
  }
}

void Load::go_to_sleep(Cycles) { account_.sleep(); }

}  // namespace tessera::hw
