#include "hw/models/load/load.hpp"

#include <utility>

#include "hw/common/error.hpp"
#include "hw/tlm/clock.hpp"

namespace tessera::hw {

using tlm_base::kCommit;
using tlm_base::kEvaluate;
using tlm_base::notify_at;
using tlm_base::now_cycle;

namespace {
constexpr int kQueue = static_cast<int>(isa::QueueId::load);
}

Load::Load(const sc_core::sc_module_name& name, int core, const DmaConfig& config, Sram& sram, IssueSource& source,
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
  mem_isock.register_nb_transport_bw(this, &Load::nb_bw);
  sram.attach(kQueue, *this);
  SC_METHOD(on_evaluate);
  sensitive << evaluate_event_;
  dont_initialize();
  SC_METHOD(on_commit);
  sensitive << commit_event_;
  dont_initialize();
}

void Load::start(const isa::Instruction& instruction, Cycles n, std::uint64_t base) {
  TESSERA_CHECK(!popped_, "LOAD popped twice in cycle ", n);
  popped_ = true;
  nop_cycles_ = 0;
  if (const auto* nop = std::get_if<isa::Nop>(&instruction.body)) {
    nop_cycles_ = nop->cycles;
  } else {
    shape_ = semantics::dma_shape(std::get<isa::Load>(instruction.body));
    base_ = base;
  }
  notify_at(commit_event_, n, kCommit);
}

tlm::tlm_sync_enum Load::nb_bw(tlm::tlm_generic_payload& trans, tlm::tlm_phase& phase, sc_core::sc_time&) {
  const Cycles n = now_cycle();
  if (phase == tlm::END_REQ) {
    core_.handshake();
    notify_at(evaluate_event_, n, kEvaluate);
    return tlm::TLM_ACCEPTED;
  }
  const bool last = phase == tlm::BEGIN_RESP;
  core_.beat(n, last);
  axi_bytes_ += config_.data_bytes;
  // A freed credit may raise an AR in this very cycle; the beat itself can be used from the next one on.
  const bool credit_helps = last && core_.state().generating && !core_.state().ar_held;
  notify_at(evaluate_event_, credit_helps ? n : n + 1, kEvaluate);
  if (!last) return tlm::TLM_ACCEPTED;
  if (trans.is_response_error()) source_.bus_error(kQueue);
  trans.release();
  return tlm::TLM_COMPLETED;
}

void Load::on_evaluate() {
  const Cycles n = now_cycle();
  evaluated_ = true;
  accepted_ = false;
  out_ = core_.outputs(n);
  if (out_.raise_ar) {
    tlm::tlm_generic_payload& trans = pool_.acquire(
        tlm::TLM_READ_COMMAND, out_.ar_address, tlm_base::Manager::load, static_cast<std::uint8_t>(core_id_),
        static_cast<int>(out_.ar_beats), static_cast<int>(config_.data_bytes));
    tlm::tlm_phase phase = tlm::BEGIN_REQ;
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    accepted_ = mem_isock->nb_transport_fw(trans, phase, delay) == tlm::TLM_UPDATED;
  }
  if (out_.banks != 0) sram_.request(kQueue, out_.banks);
  notify_at(commit_event_, n, kCommit);
}

void Load::classify(Cycles n, bool segment, bool moved) {
  account_.catch_up(n, kNever);
  if (moved) {
    account_.busy(n);
  } else if (segment) {
    account_.stall(n, StallCause::sram_bank_conflict);
  } else {
    account_.wait(n);
  }
}

void Load::on_commit() {
  const Cycles n = now_cycle();
  if (!evaluated_) out_ = LoadOutputs{};
  const bool was_busy = !core_.idle();
  const bool was_ready = core_.ready(false);
  const bool is_nop = core_.state().nop_end >= 0;
  const bool granted = out_.banks != 0 && sram_.granted(kQueue);
  if (evaluated_ && out_.segment && !private_) ++stepped_;
  if (was_busy) {
    if (is_nop) {
      account_.busy(n);
    } else {
      classify(n, out_.segment, out_.segment && (out_.banks == 0 || granted));
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
  if (next > n + 1 && !core_.idle() && core_.state().nop_end < 0) account_.sleep();
  evaluated_ = popped_ = false;
}

}  // namespace tessera::hw
