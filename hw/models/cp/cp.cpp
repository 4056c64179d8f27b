#include "hw/models/cp/cp.hpp"

#include <algorithm>

#include "hw/common/error.hpp"
#include "hw/tlm/clock.hpp"

namespace tessera::hw {

using tlm_base::now_cycle;

namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }
std::uint32_t bit(int q) { return std::uint32_t{1} << q; }

std::uint64_t base_of(const isa::Instruction& instruction, const std::array<std::uint64_t, 8>& bases) {
  if (const auto* load = std::get_if<isa::Load>(&instruction.body)) return bases[load->base_register];
  if (const auto* store = std::get_if<isa::Store>(&instruction.body)) return bases[store->base_register];
  return 0;
}

}  // namespace

Cp::Cp(const sc_core::sc_module_name& name, int core, const CpConfig& config, Check check, ReadWord read_word,
       CpListener& listener)
    : sc_module(name),
      fetch_isock("fetch_isock"),
      control_tsock("control_tsock"),
      core_id_(core),
      config_(config),
      listener_(listener),
      core_(
          config,
          [this, check = std::move(check)](const isa::Instruction& instruction, std::string& text) {
            return check(instruction, limits_, text);
          },
          std::move(read_word)),
      evaluate_(tlm_base::Process::of<&Cp::on_evaluate>(tlm_base::kEvaluate, *this)) {
  last_signaller_.fill(-1);
  fetch_isock.register_nb_transport_bw(this, &Cp::nb_bw);
  control_tsock.register_b_transport(this, &Cp::b_transport);
  control_tsock.register_transport_dbg(this, &Cp::transport_dbg);
}

void Cp::remote_signal(Cycles n, const isa::Signal& signal) {
  remote_.emplace_back(n, signal);
  evaluate_.notify(n);  // also when this core has finished its part of the section
}

void Cp::finished(int queue, Cycles finish, const StallCounts& stalls, Bytes axi) {
  TESSERA_CHECK(finishes_[at(queue)].cycle < now_cycle() || finishes_[at(queue)].cycle < finish, name(), ": queue ",
                queue, " finishes twice in cycle ", finish);
  // The finish of this very cycle (if any) was taken in its phase evaluate, before units commit.
  finishes_[at(queue)] = {finish, stalls, axi};
  wake(finish);
}

void Cp::wake(Cycles cycle) {
  if (running_) evaluate_.notify(cycle);
}

void Cp::step_until(Cycles n) {
  step_until_ = std::max(step_until_, n);
  wake(now_cycle() + 1);
}

void Cp::bus_error(int queue) {
  bus_error_ |= bit(queue);
  wake(now_cycle());
}

tlm::tlm_sync_enum Cp::nb_bw(tlm::tlm_generic_payload& trans, tlm::tlm_phase& phase, sc_core::sc_time&) {
  wake(now_cycle());
  if (phase == tlm::END_REQ) {
    handshake_ = true;
    return tlm::TLM_ACCEPTED;
  }
  const auto owner = std::find(bursts_.begin(), bursts_.end(), &trans);
  TESSERA_CHECK(owner != bursts_.end() && beat_queue_ < 0, name(), ": unexpected fetch beat");
  beat_queue_ = static_cast<int>(owner - bursts_.begin());
  fetch_bytes_ += config_.data_bytes;
  if (phase != tlm::BEGIN_RESP) return tlm::TLM_ACCEPTED;
  if (trans.is_response_error()) bus_error_ |= bit(beat_queue_);
  *owner = nullptr;
  trans.release();
  return tlm::TLM_COMPLETED;
}

CpInputs Cp::gather(Cycles n) {
  CpInputs in;
  for (int q = 0; q < kQueues; ++q) {
    const IssueTarget* unit = units_[at(q)];
    if (unit == nullptr) continue;
    if (unit->ready(false)) in.ready |= bit(q);
    if (unit->ready(true)) in.ready_nop |= bit(q);
    if (unit->busy()) in.busy |= bit(q);
    if (finishes_[at(q)].cycle == n) {
      in.done |= bit(q);
      in.signals[at(q)] = in_flight_[at(q)].front().instruction.header.signals;
    }
  }
  while (!remote_.empty() && remote_.front().first == n) {
    in.remote.push_back(remote_.front().second);
    remote_.pop_front();
  }
  in.beat_queue = std::exchange(beat_queue_, -1);
  in.bus_error = std::exchange(bus_error_, 0);
  return in;
}

void Cp::finish(Cycles n, std::uint32_t done) {
  for (int q = 0; q < kQueues; ++q) {
    if ((done & bit(q)) == 0) continue;
    InFlight flight = std::move(in_flight_[at(q)].front());
    in_flight_[at(q)].pop_front();
    flight.record.finish = n;
    for (std::size_t c = 0; c < kStallCauses; ++c) flight.record.stall[c] += finishes_[at(q)].stalls[c];
    (q == static_cast<int>(isa::QueueId::store) ? flight.record.dram_write : flight.record.dram_read) =
        finishes_[at(q)].axi;
    for (const isa::Signal& signal : flight.instruction.header.signals) {
      if (signal.amount == 0) continue;
      int& pending = pending_signals_[signal.semaphore][at(q)];
      if (pending > 0) --pending;
      last_signaller_[signal.semaphore] = q;
      if (signal.semaphore >= kLocalSemaphores) listener_.on_global_signal(core_id_, signal);
    }
    listener_.on_finish(core_id_, flight.instruction, flight.record);
  }
}

void Cp::start(Cycles n, std::uint32_t mask) {
  for (int q = 0; q < kQueues; ++q) {
    if ((mask & bit(q)) == 0) continue;
    const CpQueueState& queue = core_.queue(q);
    InFlight flight{queue.head, {}};
    flight.record.core = static_cast<std::uint8_t>(core_id_);
    flight.record.queue = static_cast<std::uint8_t>(q);
    flight.record.index = next_index_[at(q)]++;
    flight.record.layer = queue.head.header.layer;
    flight.record.ready = queue.head_since;
    flight.record.start = n;
    flight.record.stall = std::exchange(head_stalls_[at(q)], StallCounts{});
    in_flight_[at(q)].push_back(std::move(flight));
    const isa::Instruction& instruction = in_flight_[at(q)].back().instruction;
    units_[at(q)]->start(instruction, n, base_of(instruction, bases_));
  }
}

bool Cp::raise_ar(const CpOutputs& out) {
  if (!out.raise_ar) return false;
  tlm::tlm_generic_payload& trans =
      pool_.acquire(tlm::TLM_READ_COMMAND, out.ar.address, tlm_base::Manager::fetch,
                    static_cast<std::uint8_t>(core_id_), out.ar.beats, static_cast<int>(config_.data_bytes));
  bursts_[at(out.ar_queue)] = &trans;
  tlm::tlm_phase phase = tlm::BEGIN_REQ;
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  return fetch_isock->nb_transport_fw(trans, phase, delay) == tlm::TLM_UPDATED;
}

StallCause Cp::semaphore_cause(int queue, int semaphore) const {
  const auto first = static_cast<int>(StallCause::semaphore_load);
  for (int q = 0; q < kQueues; ++q) {
    if (pending_signals_[at(semaphore)][at(q)] > 0) return static_cast<StallCause>(first + q);
  }
  if (pending_signals_[at(semaphore)][kQueues] > 0) return StallCause::semaphore_remote;
  // Issued in the cycle before (not yet settled), or never: the last one that signalled, else the queue itself.
  const int last = last_signaller_[at(semaphore)];
  return static_cast<StallCause>(first + (last >= 0 ? last : queue));
}

void Cp::own(const CpInputs& in, const CpOutputs& out) {
  for (int q = 0; q < kQueues; ++q) {
    if (units_[at(q)] == nullptr) continue;
    const CpQueueState& queue = core_.queue(q);
    owner_[at(q)] = Owner::stall;
    if (((in.busy | out.start) & bit(q)) != 0) {
      owner_[at(q)] = Owner::unit;
    } else if (core_.resetting()) {
      owner_[at(q)] = Owner::idle;
    } else if (queue.halted || (out.fault & bit(q)) != 0) {
      cause_[at(q)] = StallCause::fault;
    } else if (queue.exhausted()) {
      owner_[at(q)] = Owner::idle;
    } else if (!queue.head_valid) {
      cause_[at(q)] = StallCause::instruction_fetch;
    } else {
      const int semaphore = core_.unmet_wait(q);
      TESSERA_CHECK(semaphore >= 0, name(), ": queue ", q, " neither starts nor waits");
      cause_[at(q)] = semaphore_cause(q, semaphore);
    }
  }
}

void Cp::account_until(Cycles n) {
  const Cycles cycles = n - accounted_;
  TESSERA_CHECK(cycles >= 0, name(), ": cycle ", n, " is accounted already");
  if (cycles == 0) return;
  for (int q = 0; q < kQueues; ++q) {
    if (units_[at(q)] == nullptr) continue;
    if (owner_[at(q)] == Owner::idle) accounts_[at(q)].idle += cycles;
    if (owner_[at(q)] != Owner::stall) continue;
    accounts_[at(q)].add(cause_[at(q)], cycles);
    if (cause_[at(q)] != StallCause::instruction_fetch) {
      head_stalls_[at(q)][static_cast<std::size_t>(cause_[at(q)])] += cycles;
    }
  }
  if (was_fetching_) fetch_busy_ += cycles;
  accounted_ = n;
}

void Cp::account_host(Cycles from, Cycles to) {
  account_until(from);
  for (int q = 0; q < kQueues; ++q) {
    if (units_[at(q)] != nullptr) accounts_[at(q)].add(StallCause::host, to - from);
  }
  accounted_ = to;
}

void Cp::end_reset() {
  running_ = false;
  for (auto& pending : pending_signals_) pending.fill(0);
  last_signaller_.fill(-1);
}

void Cp::on_evaluate() {
  const Cycles n = now_cycle();
  if (!running_ && remote_.empty()) return;  // woken in the cycle after the section's end
  running_ = true;
  account_until(n);
  const CpInputs in = gather(n);
  const CpOutputs out = core_.outputs(in);
  finish(n, in.done);
  own(in, out);
  start(n, out.start);
  const bool accepted = raise_ar(out);
  was_fetching_ = core_.fetching() || out.raise_ar;
  const bool changed = core_.commit(n, in, out, accepted, std::exchange(handshake_, false));
  // A replaced semaphore settles by itself until step_until_, as an issued signal would: nothing is stuck before.
  const bool stuck = out.stuck && n >= step_until_;
  state_ = out.quiet || out.reset_done ? CpState::quiet : stuck ? CpState::stuck : CpState::running;
  if (out.quiet) {
    running_ = false;
    irq_status_ |= 1;
  } else if (out.reset_done) {
    end_reset();
  } else if (stuck) {
    irq_status_ |= core_.fault().any ? 2 : 4;
  }
  if (changed || n < step_until_) {
    evaluate_.notify(n + 1);
  } else if (!remote_.empty()) {
    evaluate_.notify(remote_.front().first);  // an event remembers its earliest time only
  }
  listener_.on_state(core_id_, state_);
}

}  // namespace tessera::hw
