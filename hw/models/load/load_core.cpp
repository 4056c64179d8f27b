#include "hw/models/load/load_core.hpp"

#include "hw/common/error.hpp"

namespace tessera::hw {

LoadCore::LoadCore(const DmaConfig& config) : config_(config) {
  TESSERA_CHECK(config.buffer_beats >= 1, "landing buffer holds no beat");
  state_.free_beats = config.buffer_beats;
}

void LoadCore::beat(Cycles n, bool last) {
  if (state_.arrival != n) {
    state_.landed += state_.arriving;
    state_.arriving = 0;
    state_.arrival = n;
  }
  ++state_.arriving;
  if (last) {
    TESSERA_CHECK(state_.outstanding > 0, "R beat without a burst in cycle ", n);
    --state_.outstanding;  // the credit counts in this very cycle
  }
}

bool LoadCore::ready(bool nop) const {
  if (state_.nop_end >= 0) return false;
  if (nop) return flights_.empty();
  return !state_.generating && static_cast<int>(flights_.size()) < config_.in_flight;
}

LoadOutputs LoadCore::outputs(Cycles n) {
  if (state_.arrival < n) {
    state_.landed += state_.arriving;
    state_.arriving = 0;
  }
  LoadOutputs out;
  if (state_.generating && !state_.ar_held && state_.outstanding < config_.outstanding &&
      state_.free_beats >= bursts_.beats()) {
    out.raise_ar = true;
    out.ar_address = bursts_.address();
    out.ar_beats = bursts_.beats();
  }
  if (!pending_ && walking_ && (segments_.fill() || state_.landed > 0)) take_segment();
  if (pending_) {
    out.segment = true;
    if (current_.closes) out.banks = BankMask{1} << (current_.line / config_.lines_per_bank);
  }
  return out;
}

void LoadCore::take_segment() {
  const Flight& flight = flights_.front();
  pending_ = true;
  empties_beat_ = false;
  if (segments_.fill()) {
    current_ = segments_.next(0);
    return;
  }
  const std::int64_t limit = beat_limit(segments_, flight.shape, flight.base, config_);
  current_ = segments_.next(limit);
  empties_beat_ = current_.bytes == limit;
}

bool LoadCore::commit(Cycles n, const LoadOutputs& out, bool granted, bool accepted) {
  bool finishes = false;
  // 1. AR side.
  if (out.raise_ar) {
    held_last_ = bursts_.last();
    state_.free_beats -= out.ar_beats;
    ++state_.outstanding;
    state_.ar_held = true;
    flights_.back().beats += out.ar_beats;
    bursts_.advance();
  }
  if (state_.ar_held && (handshaken_ || (out.raise_ar && accepted))) {
    state_.ar_held = false;
    if (held_last_) state_.generating = false;
  }
  handshaken_ = false;
  // 2. SRAM side.
  if (out.segment && (out.banks == 0 || granted)) {
    pending_ = false;
    if (empties_beat_) {
      --state_.landed;
      ++state_.free_beats;
    }
    if (current_.last) {
      finished_beats_ = flights_.front().beats;
      flights_.pop_front();
      walking_ = false;
      finishes = true;
    }
  }
  // 3. The SRAM side takes the oldest instruction, perhaps one that was popped in this cycle.
  if (!walking_ && !flights_.empty()) {
    segments_ = SegmentWalk(flights_.front().shape, config_.line_bytes);
    walking_ = true;
  }
  if (state_.nop_end == n + 1) {
    state_.nop_end = -1;
    finishes = true;
  }
  return finishes;
}

void LoadCore::start(Cycles n, const semantics::DmaShape& shape, std::uint64_t base) {
  TESSERA_CHECK(ready(false), "LOAD popped an instruction in cycle ", n, " without room");
  flights_.push_back({shape, base, dma_banks(shape, config_), 0});
  bursts_ = BurstWalk(shape, base, config_);
  state_.generating = true;
}

void LoadCore::start_nop(Cycles n, Cycles cycles) {
  TESSERA_CHECK(ready(true), "LOAD popped a NOP in cycle ", n, " while busy");
  state_.nop_end = n + cycles;
}

Cycles LoadCore::next_wake(Cycles n) const {
  if (state_.nop_end >= 0) return state_.nop_end - 1;
  if (pending_ || state_.arriving > 0) return n + 1;
  if (walking_ && (segments_.fill() || state_.landed > 0)) return n + 1;
  const bool can_raise = state_.generating && !state_.ar_held && state_.outstanding < config_.outstanding &&
                         state_.free_beats >= bursts_.beats();
  return can_raise ? n + 1 : kNever;
}

}  // namespace tessera::hw
