#include "hw/models/store/store.hpp"

#include <algorithm>
#include <utility>

#include "hw/common/error.hpp"
#include "hw/tlm/clock.hpp"

namespace tessera::hw {

using tlm_base::kCommit;
using tlm_base::kEvaluate;
using tlm_base::notify_at;
using tlm_base::now_cycle;

namespace {
constexpr int kQueue = static_cast<int>(isa::QueueId::store);
}

Store::Store(const sc_core::sc_module_name& name, int core, const DmaConfig& config, Sram& sram, IssueSource& source,
             MemoryProbe probe)
    : sc_module(name),
      mem_isock("mem_isock"),
      core_id_(core),
      config_(config),
      sram_(sram),
      source_(source),
      core_(config),
      account_(std::move(probe)),
      evaluate_event_("evaluate"),
      commit_event_("commit") {
  mem_isock.register_nb_transport_bw(this, &Store::nb_bw);
  sram.attach(kQueue, *this);
  SC_METHOD(on_evaluate);
  sensitive << evaluate_event_;
  dont_initialize();
  SC_METHOD(on_commit);
  sensitive << commit_event_;
  dont_initialize();
}

void Store::start(const isa::Instruction& instruction, Cycles n, std::uint64_t base) {
  TESSERA_CHECK(!popped_, "STORE popped twice in cycle ", n);
  popped_ = true;
  nop_cycles_ = 0;
  if (const auto* nop = std::get_if<isa::Nop>(&instruction.body)) {
    nop_cycles_ = nop->cycles;
  } else {
    shape_ = semantics::dma_shape(std::get<isa::Store>(instruction.body));
    base_ = base;
  }
  notify_at(commit_event_, n, kCommit);
}

tlm::tlm_sync_enum Store::nb_bw(tlm::tlm_generic_payload& trans, tlm::tlm_phase& phase, sc_core::sc_time&) {
  notify_at(evaluate_event_, now_cycle(), kEvaluate);
  if (phase == tlm::END_REQ) {
    core_.handshake();
    return tlm::TLM_ACCEPTED;
  }
  core_.response();
  if (trans.is_response_error()) source_.bus_error(kQueue);
  trans.release();
  return tlm::TLM_COMPLETED;
}

void Store::on_evaluate() {
  const Cycles n = now_cycle();
  evaluated_ = true;
  accepted_ = false;
  out_ = core_.outputs(n);
  if (out_.raise_aw) {
    tlm::tlm_generic_payload& trans = pool_.acquire(
        tlm::TLM_WRITE_COMMAND, out_.aw_address, tlm_base::Manager::store, static_cast<std::uint8_t>(core_id_),
        static_cast<int>(out_.aw_beats), static_cast<int>(config_.data_bytes));
    axi_bytes_ += out_.aw_beats * config_.data_bytes;
    tlm::tlm_phase phase = tlm::BEGIN_REQ;
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    accepted_ = mem_isock->nb_transport_fw(trans, phase, delay) == tlm::TLM_UPDATED;
  }
  if (out_.banks != 0) sram_.request(kQueue, out_.banks);
  notify_at(commit_event_, n, kCommit);
}

void Store::classify(Cycles n, bool read, bool granted) {
  account_.catch_up(n, drain_from_);
  if (read && !granted) {
    account_.stall(n, StallCause::sram_bank_conflict);
  } else if (read || out_.raise_aw) {
    account_.busy(n);
  } else if (core_.blocked_on_memory(n)) {
    account_.wait(n);
  } else if (core_.only_responses() && n > core_.state().w_last) {
    account_.stall(n, StallCause::drain);
  } else {
    account_.busy(n);
  }
}

void Store::on_commit() {
  const Cycles n = now_cycle();
  if (!evaluated_) out_ = StoreOutputs{};
  const bool was_busy = !core_.idle();
  const bool was_ready = core_.ready(false);
  const bool is_nop = core_.state().nop_end >= 0;
  const bool granted = out_.banks != 0 && sram_.granted(kQueue);
  if (evaluated_ && out_.read && !private_) ++stepped_;
  if (was_busy) {
    if (is_nop) {
      account_.busy(n);
    } else {
      classify(n, out_.read, granted);
    }
  }
  if (popped_) {
    if (nop_cycles_ > 0) {
      core_.start_nop(n, nop_cycles_);
    } else {
      core_.start(n, shape_, base_);
    }
    if (!was_busy) {
      account_.begin(n);
      account_.busy(n);
    }
  }
  const bool finishes = core_.commit(n, out_, granted, accepted_);
  if (finishes)
    source_.finished(kQueue, n + 1, account_.take(), is_nop ? 0 : core_.finished_beats() * config_.data_bytes);
  if (popped_ || finishes) {
    if (core_.in_flight() > 0) {
      sram_.claim(kQueue, core_.banks(), false);
    } else {
      sram_.release(kQueue);
    }
  }
  if (core_.ready(false) != was_ready) source_.wake(n + 1);
  const Cycles next = core_.next_wake(n);
  if (next < kNever) notify_at(evaluate_event_, next, kEvaluate);
  drain_from_ = kNever;
  if (next > n + 1 && !core_.idle() && core_.state().nop_end < 0) {
    if (core_.blocked_on_memory(n + 1)) {
      account_.sleep();
    } else {
      // W beats and read latency are STORE's own work; behind the last W beat only B are awaited.
      drain_from_ = core_.only_responses() ? std::max(n, core_.state().w_last) + 1 : kNever - 1;
    }
  }
  evaluated_ = popped_ = false;
}

}  // namespace tessera::hw
