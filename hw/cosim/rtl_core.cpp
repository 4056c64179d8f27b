#include "hw/cosim/rtl_core.hpp"

#include <optional>
#include <utility>

#include "hw/common/error.hpp"
#include "hw/tlm/clock.hpp"

namespace tessera::cosim {

using tlm_base::kCommit;
using tlm_base::kEvaluate;
using tlm_base::Manager;
using tlm_base::notify_at;
using tlm_base::now_cycle;

namespace {
constexpr auto kStore = static_cast<std::size_t>(Manager::store);
}

void Coverage::add(const Coverage& other) {
  for (std::size_t m = 0; m < refused.size(); ++m) refused[m] += other.refused[m];
  for (std::size_t u = 0; u < full_queue.size(); ++u) full_queue[u] += other.full_queue[u];
  pairs_on_a_bank += other.pairs_on_a_bank;
  triples_on_a_bank += other.triples_on_a_bank;
  cycles += other.cycles;
}

RtlCore::RtlCore(const sc_core::sc_module_name& name, const isa::ChipConfig& chip, hw::DramStorage& dram,
                 RtlListener& listener)
    : sc_module(name),
      fetch_isock("fetch_isock"),
      load_isock("load_isock"),
      store_isock("store_isock"),
      dram_(dram),
      listener_(listener),
      data_bytes_(static_cast<std::size_t>(chip.axi.data_bytes)),
      rtl_(chip),
      evaluate_event_("evaluate"),
      commit_event_("commit") {
  fetch_isock.register_nb_transport_bw(this, &RtlCore::nb_bw, static_cast<int>(Manager::fetch));
  load_isock.register_nb_transport_bw(this, &RtlCore::nb_bw, static_cast<int>(Manager::load));
  store_isock.register_nb_transport_bw(this, &RtlCore::nb_bw, static_cast<int>(Manager::store));
  SC_METHOD(on_evaluate);
  sensitive << evaluate_event_;
  dont_initialize();
  SC_METHOD(on_commit);
  sensitive << commit_event_;
  dont_initialize();
}

void RtlCore::write_register(std::uint32_t offset, std::uint32_t value) {
  TESSERA_CHECK(!running_, "register ", offset, " is written in a running section");
  rtl_.write_register(offset, value);
}

void RtlCore::write_register_in_cycle(std::uint32_t offset, std::uint32_t value) {
  in_.write = true;
  in_.offset = offset;
  in_.value = value;
}

void RtlCore::run() {
  running_ = true;
  notify_at(evaluate_event_, now_cycle(), kEvaluate);
}

// Phase deliver: what the memory hands over becomes an input of this cycle.
tlm::tlm_sync_enum RtlCore::nb_bw(int manager, tlm::tlm_generic_payload& trans, tlm::tlm_phase& phase,
                                  sc_core::sc_time&) {
  const auto m = static_cast<std::size_t>(manager);
  if (phase == tlm::END_REQ) {
    TESSERA_CHECK(held_[m], "handshake of a request that was not refused");
    in_.ready[m] = true;
    return tlm::TLM_ACCEPTED;
  }
  const bool last = phase == tlm::BEGIN_RESP;
  in_.valid[m] = true;
  in_.last[m] = last;
  in_.error[m] = last && trans.is_response_error();
  if (m != kStore) {
    std::deque<Burst>& bursts = bursts_[m];
    TESSERA_CHECK(!bursts.empty() && bursts.front().trans == &trans, "a beat out of request order");
    Burst& burst = bursts.front();
    dram_.read(burst.address + static_cast<std::uint64_t>(burst.moved++) * data_bytes_, in_.data[m].data(),
               data_bytes_);
    axi_bytes_[m] += static_cast<Bytes>(data_bytes_);
    if (last) bursts.pop_front();
    if (last && m == 0) fetch_ends_ = true;
  }
  if (!last) return tlm::TLM_ACCEPTED;
  trans.release();
  return tlm::TLM_COMPLETED;
}

/// AR or AW is valid: raised now, or held since it was refused.
void RtlCore::offer(std::size_t manager, const AddressPins& request) {
  if (!request.valid || held_[manager]) return;
  tlm::tlm_generic_payload& trans =
      pool_.acquire(manager == kStore ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND, request.address,
                    static_cast<Manager>(manager), 0, request.beats, static_cast<int>(data_bytes_));
  bursts_[manager].push_back({&trans, request.address, request.beats, 0});
  tlm::tlm_phase phase = tlm::BEGIN_REQ;
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  auto& socket = manager == kStore ? store_isock : manager == 0 ? fetch_isock : load_isock;
  const bool accepted = socket->nb_transport_fw(trans, phase, delay) == tlm::TLM_UPDATED;
  if (!accepted) ++coverage_.refused[manager];
  held_[manager] = !accepted;
  in_.ready[manager] = accepted;
}

void RtlCore::take_write_beat(const CoreOutputs& out) {
  std::deque<Burst>& bursts = bursts_[kStore];
  TESSERA_CHECK(!bursts.empty(), "a W beat without AW");
  Burst& burst = bursts.front();
  const std::uint64_t address = burst.address + static_cast<std::uint64_t>(burst.moved++) * data_bytes_;
  for (std::size_t i = 0; i < data_bytes_; ++i) {
    if ((out.w_strobes[i / 8] >> i % 8 & 1) != 0) dram_.write(address + i, &out.w_data[i], 1);
  }
  axi_bytes_[kStore] += static_cast<Bytes>(data_bytes_);
  TESSERA_CHECK(out.w_last == (burst.moved == burst.beats), "WLAST in beat ", burst.moved, " of ", burst.beats);
  if (out.w_last) bursts.pop_front();
}

void RtlCore::observe(Cycles n, const CoreOutputs& out) {
  std::uint64_t one = 0, two = 0, three = 0;  // banks that at least so many units want
  for (const std::uint64_t banks : out.req_banks) {
    three |= two & banks;
    two |= one & banks;
    one |= banks;
  }
  if (two != 0) ++coverage_.pairs_on_a_bank;
  if (three != 0) ++coverage_.triples_on_a_bank;
  ++coverage_.cycles;
  for (std::size_t u = 0; u < kUnits; ++u) coverage_.full_queue[u] += out.queue_full >> u & 1u;
  for (int u = 0; u < kUnits; ++u) {
    if ((out.finish >> u & 1u) != 0) listener_.on_finish(u, n);
  }
  for (int u = 0; u < kUnits; ++u) {
    if ((out.start >> u & 1u) != 0) listener_.on_start(u, n);
  }
}

void RtlCore::on_evaluate() {
  const Cycles n = now_cycle();
  const CoreOutputs& out = rtl_.eval(in_);
  for (std::size_t m = 0; m < out.request.size(); ++m) offer(m, out.request[m]);
  if (!bursts_[0].empty() || fetch_ends_) ++fetch_busy_;
  fetch_ends_ = false;
  if (out.w_valid) take_write_beat(out);
  observe(n, out);
  reset_done_ = out.reset_done;  // which raises no interrupt
  if (out.quiet || out.stuck || out.reset_done) {
    running_ = false;
    listener_.on_stop(out.stuck, n);
  }
  notify_at(commit_event_, n, kCommit);
}

/// tessera_core_pkg::owner_e of the manager's oldest outstanding burst; without one it is at work.
std::uint8_t RtlCore::wait_of(Manager manager) {
  constexpr std::uint8_t kBusy = 1, kFirstCause = 2;
  const std::optional<StallCause> cause = memory_->cause_of(0, manager);
  return cause ? static_cast<std::uint8_t>(kFirstCause + static_cast<std::uint8_t>(*cause)) : kBusy;
}

void RtlCore::on_commit() {
  for (std::size_t m = 0; m < held_.size(); ++m) {
    if (in_.ready[m]) held_[m] = false;
  }
  in_.load_wait = wait_of(Manager::load);
  in_.store_wait = wait_of(Manager::store);
  const bool early_irq = rtl_.eval(in_).irq;  // the handshakes of this cycle
  if (wave_) wave_(now_cycle(), rtl_.observe());
  rtl_.edge();
  in_ = CoreInputs{};
  std::string failure = rtl_.failure();
  if (failure.empty() && early_irq) failure = "the interrupt is up before the section's end";
  if (failure.empty() && !running_ && !reset_done_ && !rtl_.eval(in_).irq)
    failure = "no interrupt after the section's end";
  if (!failure.empty()) {
    running_ = false;
    listener_.on_assertion(failure, now_cycle());
  }
  if (running_) notify_at(evaluate_event_, now_cycle() + 1, kEvaluate);
}

}  // namespace tessera::cosim
