#include "hw/models/store/store_core.hpp"

#include <algorithm>

#include "hw/common/error.hpp"

namespace tessera::hw {

StoreCore::StoreCore(const DmaConfig& config) : config_(config) {
  TESSERA_CHECK(config.buffer_beats >= 1, "store buffer holds no beat");
  state_.free_beats = config.buffer_beats;
}

void StoreCore::response() {
  TESSERA_CHECK(state_.outstanding > 0 && !flights_.empty(), "B without a burst");
  --state_.outstanding;
  --flights_.front().responses;
}

bool StoreCore::ready(bool nop) const {
  if (state_.nop_end >= 0) return false;
  if (nop) return flights_.empty();
  return !state_.generating && static_cast<int>(flights_.size()) < config_.in_flight;
}

void StoreCore::free_sent(Cycles n) {
  // A beat on the bus in cycle c frees its place for c + 1.
  while (!drains_.empty() && drains_.front().next < n) {
    Drain& drain = drains_.front();
    const std::int64_t sent = std::min<std::int64_t>(drain.beats, n - drain.next);
    state_.free_beats += sent;
    drain.next += sent;
    drain.beats -= sent;
    if (drain.beats != 0) break;
    drains_.pop_front();
  }
}

bool StoreCore::can_read() const {
  return reading_ && (state_.left_in_burst > 0 || state_.free_beats >= bursts_.beats());
}

// All lines of the burst from cycle n on, one a cycle.
void StoreCore::read_ahead(Cycles n) {
  ahead_begin_ = n;
  ahead_from_ = segments_;
  ahead_end_ = n - 1;
  for (std::int64_t left = state_.left_in_burst; left > 0; left -= current_.bytes) {
    current_ = segments_.next(left);
    ++ahead_end_;
  }
}

bool StoreCore::interrupt(Cycles n) {
  if (!reading_ahead()) return false;
  ahead_end_ = -1;
  segments_ = ahead_from_;
  for (Cycles read = ahead_begin_; read < n; ++read) {
    state_.left_in_burst -= segments_.next(state_.left_in_burst).bytes;
  }
  return true;
}

StoreOutputs StoreCore::outputs(Cycles n, bool alone) {
  free_sent(n);
  StoreOutputs out;
  if (!state_.aw_held && !queue_.empty() && queue_.front().whole <= n && state_.outstanding < config_.outstanding) {
    out.raise_aw = true;
    out.aw_address = queue_.front().address;
    out.aw_beats = queue_.front().beats;
  }
  if (!reading_ahead() && !pending_ && can_read()) {
    if (state_.left_in_burst == 0) {
      // Space for the whole burst is reserved with its first line; a refused line keeps it.
      state_.free_beats -= bursts_.beats();
      state_.left_in_burst = bursts_.payload_bytes();
      queue_.push_back({bursts_.address(), bursts_.beats(), kNever, bursts_.last()});
      bursts_.advance();
    }
    if (alone) {
      read_ahead(n);
    } else {
      current_ = segments_.next(state_.left_in_burst);
      pending_ = true;
    }
  }
  if (reading_ahead()) {
    TESSERA_CHECK(n <= ahead_end_, "STORE sleeps past the end of a burst, cycle ", n);
    out.read = out.ahead = true;
  }
  if (pending_) {
    out.read = true;
    out.banks = BankMask{1} << (current_.line / config_.lines_per_bank);
  }
  return out;
}

bool StoreCore::commit(Cycles n, const StoreOutputs& out, bool granted, bool accepted) {
  // 1. AW side.
  if (out.raise_aw) {
    held_ = queue_.front();
    queue_.pop_front();
    ++state_.outstanding;
    state_.aw_held = true;
    flights_.back().beats += held_.beats;
    ++flights_.back().responses;  // only the youngest instruction has bursts without AW
    if (held_.last) flights_.back().all_raised = true;
  }
  if (state_.aw_held && (handshaken_ || (out.raise_aw && accepted))) {
    state_.aw_held = false;
    if (held_.last) state_.generating = false;
    const Cycles first = std::max(n, state_.w_last) + 1;
    state_.w_last = first + held_.beats - 1;
    drains_.push_back({first, held_.beats});
  }
  handshaken_ = false;
  // 2. SRAM side.
  if (out.ahead ? n == ahead_end_ : out.read && granted) {
    pending_ = false;
    state_.left_in_burst = out.ahead ? 0 : state_.left_in_burst - current_.bytes;
    ahead_end_ = -1;
    if (state_.left_in_burst == 0) queue_.back().whole = n + config_.read_latency + 1;
    if (current_.last) reading_ = false;
  }
  // 3. Finish, in order.
  bool finishes = false;
  if (!flights_.empty() && flights_.front().all_raised && flights_.front().responses == 0) {
    finished_beats_ = flights_.front().beats;
    flights_.pop_front();
    finishes = true;
  }
  if (state_.nop_end == n + 1) {
    state_.nop_end = -1;
    finishes = true;
  }
  return finishes;
}

void StoreCore::start(Cycles n, const semantics::DmaShape& shape, std::uint64_t base) {
  TESSERA_CHECK(ready(false), "STORE popped an instruction in cycle ", n, " without room");
  flights_.push_back({dma_banks(shape, config_), 0, false, 0});
  bursts_ = BurstWalk(shape, base, config_);
  segments_ = SegmentWalk(shape, config_.line_bytes);
  state_.generating = true;
  reading_ = true;
}

void StoreCore::start_nop(Cycles n, Cycles cycles) {
  TESSERA_CHECK(ready(true), "STORE popped a NOP in cycle ", n, " while busy");
  state_.nop_end = n + cycles;
}

bool StoreCore::blocked_on_memory(Cycles n) const {
  if (state_.aw_held) return true;
  return !queue_.empty() && queue_.front().whole <= n && state_.outstanding >= config_.outstanding;
}

Cycles StoreCore::next_wake(Cycles n) const {
  if (state_.nop_end >= 0) return state_.nop_end - 1;
  if (!reading_ahead() && (pending_ || can_read())) return n + 1;
  Cycles wake = reading_ahead() ? ahead_end_ : kNever;
  if (!state_.aw_held && !queue_.empty() && queue_.front().whole < kNever) {
    // Without a credit it wakes all the same when it becomes whole: from then on the cycles belong to the memory.
    const bool credit = state_.outstanding < config_.outstanding;
    if (credit || queue_.front().whole > n + 1) wake = std::min(wake, std::max(n + 1, queue_.front().whole));
  }
  // Waiting for buffer space: the cycle after the next W beat.
  if (reading_ && !reading_ahead() && !drains_.empty()) wake = std::min(wake, std::max(n, drains_.front().next) + 1);
  return wake;
}

}  // namespace tessera::hw
