#include "hw/models/store/store.hpp"

#include <algorithm>
#include <utility>

namespace tessera::hw {

Store::Store(const sc_core::sc_module_name& name, int core, const DmaConfig& config, Sram& sram, IssueSource& source,
             MemoryProbe probe)
    : DmaModule(name, isa::QueueId::store, core, config, sram, source, std::move(probe)) {}

Store::Raise Store::raise() const {
  return {out_.raise_aw, tlm::TLM_WRITE_COMMAND, tlm_base::Manager::store, out_.aw_address, out_.aw_beats};
}

bool Store::answer(Cycles n, bool) {
  core_.response();
  evaluate_.notify(n);
  return true;
}

void Store::classify(Cycles n, bool granted) {
  account_.catch_up(n, drain_from_);
  if (out_.read && !out_.ahead && !granted) {
    account_.stall(n, StallCause::sram_bank_conflict);
    lost(n);
  } else if (out_.read || out_.raise_aw) {
    account_.busy(n);
  } else if (core_.blocked_on_memory(n)) {
    account_.wait(n);
  } else if (core_.only_responses() && n > core_.state().w_last) {
    account_.stall(n, StallCause::drain);
  } else {
    account_.busy(n);
  }
}

void Store::go_to_sleep(Cycles n) {
  if (!core_.reading_ahead() && core_.blocked_on_memory(n + 1)) {
    account_.sleep();
  } else {
    // Lines read ahead, W beats and read latency are STORE's own work; behind the last W beat only B are awaited.
    drain_from_ = core_.only_responses() ? std::max(n, core_.state().w_last) + 1 : kNever - 1;
  }
}

}  // namespace tessera::hw
