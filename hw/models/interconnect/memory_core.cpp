#include "hw/models/interconnect/memory_core.hpp"

#include <algorithm>

#include "hw/common/error.hpp"
#include "hw/models/interconnect/dram_path.hpp"

namespace tessera::hw {

MemoryCore::MemoryCore(const MemoryConfig& config, MemoryListener& listener)
    : config_(config), listener_(listener), ports_(static_cast<std::size_t>(config.cores * kPortsPerCore)) {
  if (!config_.fixed) dram_ = std::make_unique<DramPath>(*this);
}

MemoryCore::~MemoryCore() = default;

// A request seen in cycle `now` meets the FIFO as it stood when the cycle began: what is pushed or popped in this cycle
// counts from the next one on, whichever is called first.
int MemoryCore::count_at_start(const Port& port, Cycles now) const {
  return port.fifo_count - (port.last_push == now ? 1 : 0) + (port.last_pop == now ? 1 : 0);
}

bool MemoryCore::request(Cycles now, int port_index, const BurstRequest& request) {
  Port& port = ports_[static_cast<std::size_t>(port_index)];
  TESSERA_CHECK(!port.held, "port ", port_index, " raises a request while one is held, cycle ", now);
  TESSERA_CHECK(port.last_push < now, "port ", port_index, " has two handshakes in cycle ", now);
  if (count_at_start(port, now) < config_.queue_depth) {
    push(now, port, request);
    return true;
  }
  port.held = request;
  port.held_since = now;
  return false;
}

void MemoryCore::push(Cycles now, Port& port, const BurstRequest& request) {
  Burst burst;
  burst.address = request.address;
  burst.beats = request.beats;
  burst.bytes = request.beats * config_.data_bytes;
  burst.write = request.write;
  burst.user = request.user;
  burst.handshake = now;
  if (burst.write) {
    burst.w_end = std::max(now, port.w_end) + burst.beats;
    port.w_end = burst.w_end;
    write_bytes_ += burst.bytes;
  } else {
    read_bytes_ += burst.bytes;
  }
  if (port.bursts.empty()) port.attributed = now;
  port.bursts.push() = burst;
  port.last_push = now;
  if (++port.fifo_count == 1 && dram_) dram_->look_at_head(port);
}

void MemoryCore::pop(Cycles now, Port& port) {
  --port.fifo_count;
  port.last_pop = now;
}

Cycles MemoryCore::next_event() const {
  Cycles next = dram_ ? dram_->next_event() : kNever;
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    const Port& port = ports_[i];
    if (port.bursts.empty() && !port.held) continue;
    if (!dram_ && port.fifo_count > 0) next = std::min(next, std::max(now_, fifo_head(port).handshake) + 1);
    next = std::min(next, next_delivery(port, static_cast<int>(i)));
    if (port.held && port.fifo_count < config_.queue_depth) {
      next = std::min(next, std::max(port.held_since, port.last_pop) + 1);
    }
  }
  return next;
}

void MemoryCore::advance(Cycles now) {
  TESSERA_CHECK(now >= now_, "memory runs backwards: cycle ", now, " after ", now_);
  now_ = now;
  // 1. Arbitration, over what stood in the FIFOs when the cycle began.
  if (dram_) {
    dram_->advance(now);
  } else {
    grant_fixed(now);
  }
  // 2. At most one R beat or B a port.
  const int count = ports();
  for (int i = 0; i < count; ++i) {
    const Port& port = ports_[static_cast<std::size_t>(i)];
    if (port.bursts.empty()) continue;
    const Cycles at = next_delivery(port, i);
    TESSERA_CHECK(at >= now, "port ", i, " should have been served in cycle ", at, ", it is ", now);
    if (at == now) deliver(now, i);
  }
  // 3. Handshake of held requests for which there was space when the cycle began.
  for (int i = 0; i < count; ++i) {
    Port& port = ports_[static_cast<std::size_t>(i)];
    if (!port.held || port.held_since >= now || count_at_start(port, now) >= config_.queue_depth) continue;
    const BurstRequest request = *port.held;
    port.held.reset();
    push(now, port, request);
    listener_.on_accept(i, request.user);
  }
}

// --- fixed memory ----------------------------------------------------------------------------------------------------

void MemoryCore::grant_fixed(Cycles now) {
  const int count = ports();
  for (int k = 0; k < count; ++k) {
    const int i = (first_ + k) % count;
    Port& port = ports_[static_cast<std::size_t>(i)];
    if (port.fifo_count == 0) continue;
    Burst& burst = fifo_head(port);
    if (burst.handshake >= now) continue;
    schedule_fixed(now, i, burst);
    pop(now, port);
    first_ = (i + 1) % count;
    grants_.change(now, i);
    return;
  }
}

// last = max(handshake + latency (+ cycles lost in arbitration), end of the previous burst in the pipe + bytes / rate,
// one beat a cycle of this port); B of a write also follows its last W beat.
void MemoryCore::schedule_fixed(Cycles now, int port_index, Burst& burst) {
  Port& port = ports_[static_cast<std::size_t>(port_index)];
  const Cycles accepted = now - 1;  // == handshake unless another port was granted in between
  burst.granted = now;
  burst.uncontended = accepted + config_.fixed_latency_cycles;
  const Bytes rate = config_.fixed_bytes_per_cycle;
  Cycles last = burst.uncontended;
  if (rate > 0) {
    const std::int64_t before = std::max(bus_units_, accepted * rate);
    bus_units_ = std::max(burst.uncontended * rate, before + burst.bytes);
    last = ceil_div(bus_units_, rate);
    burst.bus_start = (bus_units_ - burst.bytes) / rate;
  } else {
    burst.bus_start = last;
  }
  if (burst.write) {
    last = std::max({last, burst.w_end + 1, port.last_scheduled + 1});
  } else {
    last = std::max(last, std::max(accepted, port.last_scheduled) + burst.beats);
  }
  burst.last = last;
  burst.after = port.last_scheduled;
  burst.predecessor = bus_owner_;
  bus_owner_ = port_index;
  port.last_scheduled = last;
}

// Beats end at `last` and lie one cycle, or the time of their bytes in the pipe, apart; where that rounds onto the
// port's burst before, they follow it one a cycle.
Cycles MemoryCore::fixed_beat(const Burst& burst, int beat) const {
  const Cycles behind = burst.beats - 1 - beat;
  const Bytes rate = config_.fixed_bytes_per_cycle;
  if (rate == 0 || rate >= config_.data_bytes) return burst.last - behind;
  return std::max(burst.last - ceil_div(behind * config_.data_bytes, rate), burst.after + 1 + beat);
}

// --- delivery --------------------------------------------------------------------------------------------------------

Cycles MemoryCore::next_delivery(const Port& port, int index) const {
  if (port.bursts.empty()) return kNever;
  if (dram_) return dram_->next_delivery(index);
  if (port.bursts.size() == static_cast<std::size_t>(port.fifo_count)) return kNever;
  const Burst& burst = port.bursts.front();
  return burst.write ? burst.last : fixed_beat(burst, burst.beats_done);
}

void MemoryCore::deliver(Cycles now, int index) {
  Port& port = ports_[static_cast<std::size_t>(index)];
  Burst& burst = port.bursts.front();
  port.last_delivery = now;
  if (last_busy_ != now) ++busy_cycles_;
  last_busy_ = now;
  if (burst.write) {
    finish(now, index);
    return;
  }
  if (dram_) dram_->delivered(now, index);
  ++burst.beats_done;
  if (burst.beats_done == burst.beats) {
    finish(now, index);
  } else {
    listener_.on_beat(index, burst.user);
  }
}

void MemoryCore::finish(Cycles now, int index) {
  Port& port = ports_[static_cast<std::size_t>(index)];
  attribute(index, now, port.totals);
  port.attributed = now;
  if (!dram_) forget_grants();
  const Burst burst = port.bursts.front();
  port.bursts.pop();
  if (observer_ != nullptr) {
    observer_->on_burst({index, burst.write, burst.address, burst.bytes, burst.handshake, burst.granted, now});
  }
  listener_.on_response(index, burst.user);
}

// Nobody will ask about the time before the oldest waiting burst.
void MemoryCore::forget_grants() {
  constexpr std::size_t kKeep = 64;
  if (grants_.size() <= kKeep) return;
  Cycles oldest = now_;
  for (const Port& port : ports_) {
    if (!port.bursts.empty()) oldest = std::min(oldest, port.bursts.front().handshake);
  }
  grants_.forget_before(oldest);
}

// --- who owns a waiting cycle ----------------------------------------------------------------------------------------

StallCause MemoryCore::contention(int port, int by) const {
  if (by == port || by < 0) return StallCause::dram_bandwidth;
  if (by / kPortsPerCore != port / kPortsPerCore) return StallCause::dram_contention_core;
  switch (by % kPortsPerCore) {
    case 0:
      return StallCause::dram_contention_fetch;
    case 1:
      return StallCause::dram_contention_load;
    default:
      return StallCause::dram_contention_store;
  }
}

// Cycles [begin, end) of a burst in the fixed memory: lost arbitration, pure latency, pipe busy with the burst before
// it, own bytes moving (or, for a write, still being handed over).
template <typename F>
void MemoryCore::fixed_causes(int port, const Burst& burst, Cycles begin, Cycles end, F&& charge) const {
  const auto piece = [&](Cycles from, Cycles to, StallCause cause) {
    from = std::max(from, begin);
    to = std::min(to, end);
    if (from < to) charge(from, to, cause);
  };
  const bool granted = burst.last != 0;
  const Cycles eligible = burst.handshake + 1;
  piece(burst.handshake, eligible, StallCause::dram_latency);
  grants_.for_pieces(std::max(eligible, begin), std::min(granted ? burst.granted : end, end),
                     [&](Cycles from, Cycles to, int by) { piece(from, to, contention(port, by)); });
  if (!granted) return;
  const Cycles latency_end = std::max(burst.uncontended, burst.granted);
  const Cycles pipe_end = std::max(burst.bus_start, latency_end);
  piece(burst.granted, latency_end, StallCause::dram_latency);
  piece(latency_end, pipe_end, contention(port, burst.predecessor));
  piece(pipe_end, end, StallCause::dram_bandwidth);
}

void MemoryCore::attribute(int port_index, Cycles end, CauseTotals& out) const {
  const Port& port = ports_[static_cast<std::size_t>(port_index)];
  if (port.bursts.empty()) return;
  const Burst& burst = port.bursts.front();
  const Cycles begin = std::max(port.attributed, burst.handshake);
  const auto charge = [&out](Cycles from, Cycles to, StallCause cause) {
    out[static_cast<std::size_t>(cause)] += to - from;
  };
  if (dram_) {
    dram_->causes(port_index, begin, end, charge);
  } else {
    fixed_causes(port_index, burst, begin, end, charge);
  }
}

std::optional<StallCause> MemoryCore::cause_of(Cycles now, int port_index) {
  const Port& port = ports_[static_cast<std::size_t>(port_index)];
  if (port.bursts.empty()) return std::nullopt;
  if (dram_) dram_->catch_up(now);
  StallCause result = StallCause::dram_latency;
  const auto take = [&result](Cycles, Cycles, StallCause cause) { result = cause; };
  if (dram_) {
    dram_->causes(port_index, now, now + 1, take);
  } else {
    fixed_causes(port_index, port.bursts.front(), now, now + 1, take);
  }
  return result;
}

CauseTotals MemoryCore::totals(Cycles now, int port_index) {
  if (dram_) dram_->catch_up(now);
  CauseTotals out = ports_[static_cast<std::size_t>(port_index)].totals;
  attribute(port_index, now, out);
  return out;
}

// --- results ---------------------------------------------------------------------------------------------------------

void MemoryCore::set_command_observer(dram::CommandObserver* observer) {
  if (dram_) dram_->dram().set_observer(observer);
}

bool MemoryCore::idle() const {
  for (const Port& port : ports_) {
    if (!port.bursts.empty() || port.held) return false;
  }
  return true;
}

MemoryResult MemoryCore::results(Cycles end) {
  MemoryResult result;
  result.read_bytes = read_bytes_;
  result.write_bytes = write_bytes_;
  if (dram_) {
    dram_->results(end, result);
    return result;
  }
  DramChannelResult channel;  // the fixed memory is one channel in core cycles
  const Bytes rate = config_.fixed_bytes_per_cycle;
  channel.clocks = end;
  channel.data = std::min(end, rate > 0 ? (read_bytes_ + write_bytes_) / rate : busy_cycles_);
  channel.idle = channel.clocks - channel.data;
  result.channels.push_back(channel);
  return result;
}

}  // namespace tessera::hw
