// What the SystemC modules of LOAD and STORE share around their clocked cores: one AXI manager socket, an SRAM client
// that is stepped while it has anything to move, start, accounting of a cycle, finish. No periodic process: the module
// sleeps while nothing but memory can move it. A derived module says what it raises on AXI, how it takes answers, how
// it classifies a cycle, and how it goes to sleep. Leaves out: bytes (applied at finish by the platform).
#pragma once

#include <systemc>
#include <utility>

#include <tlm_utils/simple_initiator_socket.h>

#include "hw/common/error.hpp"
#include "hw/models/load/dma_account.hpp"
#include "hw/models/load/dma_walk.hpp"
#include "hw/models/sram/sram.hpp"
#include "hw/models/unit/issue.hpp"
#include "hw/tlm/axi.hpp"
#include "hw/tlm/clock.hpp"
#include "hw/tlm/payload_pool.hpp"

namespace tessera::hw {

/// Core: LoadCore or StoreCore; Outputs: what its outputs() returns; Body: isa::Load or isa::Store.
template <typename Core, typename Outputs, typename Body>
class DmaModule : public sc_core::sc_module, public IssueTarget, public SramClient {
 public:
  DmaModule(const sc_core::sc_module_name& name, isa::QueueId queue, int core, const DmaConfig& config, Sram& sram,
            IssueSource& source, MemoryProbe probe)
      : sc_module(name),
        mem_isock("mem_isock"),
        config_(config),
        source_(source),
        core_(config),
        account_(std::move(probe)),
        evaluate_(tlm_base::Process::of<&DmaModule::on_evaluate>(tlm_base::kEvaluate, *this)),
        queue_(static_cast<int>(queue)),
        core_id_(core),
        sram_(sram),
        commit_(tlm_base::Process::of<&DmaModule::on_commit>(tlm_base::kCommit, *this)) {
    mem_isock.register_nb_transport_bw(this, &DmaModule::nb_bw);
    sram.attach(queue_, *this);
  }

  tlm_utils::simple_initiator_socket<DmaModule> mem_isock;

  // IssueTarget
  [[nodiscard]] bool ready(bool nop) const override { return core_.ready(nop); }
  [[nodiscard]] bool busy() const override { return !core_.idle(); }
  void start(const isa::Instruction& instruction, Cycles n, std::uint64_t base) override {
    TESSERA_CHECK(!popped_, this->name(), " popped twice in cycle ", n);
    popped_ = true;
    nop_cycles_ = 0;
    if (const auto* nop = std::get_if<isa::Nop>(&instruction.body)) {
      nop_cycles_ = nop->cycles;
    } else {
      shape_ = semantics::dma_shape(std::get<Body>(instruction.body));
      base_ = base;
    }
    commit_.notify(n);
  }
  [[nodiscard]] const UnitAccount& account() const override { return account_.account(); }
  [[nodiscard]] Cycles stepped_cycles() const override { return stepped_; }
  // SramClient: driven cycle by cycle while there is something to move, unless the core can do more alone.
  void set_private(bool is_private, Cycles n) override {
    if (private_ && !is_private && interrupt(n)) evaluate_.notify(n);
    private_ = is_private;
  }
  [[nodiscard]] bool requests_in(Cycles) override { return false; }

  [[nodiscard]] Bytes axi_bytes() const { return axi_bytes_; }

 protected:
  /// A burst for AXI in this cycle, if any.
  struct Raise {
    bool raise = false;
    tlm::tlm_command command = tlm::TLM_IGNORE_COMMAND;
    tlm_base::Manager manager = tlm_base::Manager::load;
    std::uint64_t address = 0;
    std::int64_t beats = 0;
  };
  [[nodiscard]] virtual Raise raise() const = 0;
  /// What the core does in cycle n; `alone`: nobody else wants its banks from here on.
  [[nodiscard]] virtual Outputs outputs(Cycles n, bool alone) = 0;
  /// From cycle n on it is not alone any more; true if the core was in the middle of something.
  virtual bool interrupt(Cycles) { return false; }
  /// Has the SRAM side something to move in this cycle (whether or not it needs a bank)?
  [[nodiscard]] virtual bool moving() const = 0;
  /// An answer that is not END_REQ; returns true when the burst is complete.
  virtual bool answer(Cycles n, bool response) = 0;
  /// Who owns cycle n of an instruction that is no NOP.
  virtual void classify(Cycles n, bool granted) = 0;
  /// The core has nothing to do before a later cycle than n + 1.
  virtual void go_to_sleep(Cycles n) = 0;
  virtual void stay_awake() {}
  /// Cycle n went to a bank conflict.
  void lost(Cycles n) const { sram_.lost(queue_, n); }

  DmaConfig config_;
  IssueSource& source_;
  Core core_;
  DmaAccount account_;
  Outputs out_;  // of this cycle
  Bytes axi_bytes_ = 0;
  tlm_base::Process evaluate_;

 private:
  tlm::tlm_sync_enum nb_bw(tlm::tlm_generic_payload& trans, tlm::tlm_phase& phase, sc_core::sc_time&) {
    const Cycles n = tlm_base::now_cycle();
    if (phase == tlm::END_REQ) {
      core_.handshake();
      evaluate_.notify(n);
      return tlm::TLM_ACCEPTED;
    }
    if (!answer(n, phase == tlm::BEGIN_RESP)) return tlm::TLM_ACCEPTED;
    if (trans.is_response_error()) source_.bus_error(queue_);
    trans.release();
    return tlm::TLM_COMPLETED;
  }

  void on_evaluate() {
    const Cycles n = tlm_base::now_cycle();
    evaluated_ = true;
    accepted_ = false;
    out_ = outputs(n, private_);
    if (const Raise burst = raise(); burst.raise) {
      tlm::tlm_generic_payload& trans =
          pool_.acquire(burst.command, burst.address, burst.manager, static_cast<std::uint8_t>(core_id_),
                        static_cast<int>(burst.beats), static_cast<int>(config_.data_bytes));
      tlm::tlm_phase phase = tlm::BEGIN_REQ;
      sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
      if (burst.command == tlm::TLM_WRITE_COMMAND) axi_bytes_ += burst.beats * config_.data_bytes;
      accepted_ = mem_isock->nb_transport_fw(trans, phase, delay) == tlm::TLM_UPDATED;
    }
    if (out_.banks != 0) sram_.request(queue_, out_.banks);
    commit_.notify(n);
  }

  void on_commit() {
    const Cycles n = tlm_base::now_cycle();
    if (!evaluated_) out_ = Outputs{};
    const bool was_busy = !core_.idle();
    const bool was_ready = core_.ready(false);
    const bool is_nop = core_.state().nop_end >= 0;
    const bool granted = out_.banks != 0 && sram_.granted(queue_);
    if (evaluated_ && moving() && !private_) ++stepped_;
    if (was_busy) {
      if (is_nop) {
        account_.busy(n);
      } else {
        classify(n, granted);
      }
    }
    if (popped_) pop(n, was_busy);
    const bool finishes = core_.commit(n, out_, granted, accepted_);
    if (finishes) {
      source_.finished(queue_, n + 1, account_.take(), is_nop ? 0 : core_.finished_beats() * config_.data_bytes);
    }
    if (const BankMask banks = core_.banks(); banks != claimed_) {
      claimed_ = banks;
      banks != 0 ? sram_.claim(queue_, banks, false) : sram_.release(queue_);
    }
    if (core_.ready(false) != was_ready) source_.wake(n + 1);
    const Cycles next = core_.next_wake(n);
    if (next < kNever) evaluate_.notify(next);
    stay_awake();
    if (next > n + 1 && !core_.idle() && core_.state().nop_end < 0) go_to_sleep(n);
    evaluated_ = popped_ = false;
  }

  void pop(Cycles n, bool was_busy) {
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

  int queue_;
  int core_id_;
  Sram& sram_;
  tlm_base::PayloadPool pool_;
  BankMask claimed_ = 0;
  bool private_ = true;
  // This cycle
  bool evaluated_ = false;
  bool accepted_ = false;
  bool popped_ = false;
  Cycles nop_cycles_ = 0;
  semantics::DmaShape shape_;
  std::uint64_t base_ = 0;
  Cycles stepped_ = 0;
  tlm_base::Process commit_;
};

}  // namespace tessera::hw
