// The clocked core of STORE: line reader, store buffer, AW generator, W and B tracking. Plain C++, one call a phase of
// a cycle, sleeps when nothing can happen (next_wake). Cycle rules: README.md here. Leaves out: bytes, SystemC.
#pragma once

#include <cstdint>
#include <deque>

#include "hw/common/units.hpp"
#include "hw/models/load/dma_walk.hpp"

namespace tessera::hw {

/// A burst between its first line read and its last W beat.
struct StoreBurst {
  std::uint64_t address = 0;
  std::int64_t beats = 0;
  Cycles whole = kNever;  // first cycle in which it is whole in the buffer (AW may be raised)
  bool last = false;      // of its instruction
};

struct StoreState {
  bool generating = false;  // the youngest instruction still has an AW to be accepted
  bool aw_held = false;
  int outstanding = 0;             // bursts raised whose B has not come
  std::int64_t free_beats = 0;     // store buffer space neither reserved nor occupied
  std::int64_t left_in_burst = 0;  // bytes of the burst being read that are still to be read; 0: between bursts
  Cycles w_last = -1;              // cycle of the last W beat of the last accepted burst
  Cycles nop_end = -1;
};

struct StoreOutputs {
  bool raise_aw = false;
  std::uint64_t aw_address = 0;
  std::int64_t aw_beats = 0;
  bool read = false;   // the SRAM side reads a line
  bool ahead = false;  // ... of a burst that is read without refusal: no bank is asked for
  BankMask banks = 0;
};

class StoreCore {
 public:
  explicit StoreCore(const DmaConfig& config);

  // ---- deliver phase of cycle n
  void response();                          // B
  void handshake() { handshaken_ = true; }  // of a held AW

  // ---- evaluate phase
  /// `alone`: nobody else wants its banks from this cycle on, so the burst is read to its end in one step.
  [[nodiscard]] StoreOutputs outputs(Cycles n, bool alone = false);
  [[nodiscard]] bool ready(bool nop) const;
  [[nodiscard]] bool idle() const { return flights_.empty() && state_.nop_end < 0; }

  /// Deliver phase: from cycle n on its banks are no longer its own; true if a burst was being read in one step.
  bool interrupt(Cycles n);
  /// A burst is being read in one step, also in this cycle.
  [[nodiscard]] bool reading_ahead() const { return ahead_end_ >= 0; }

  // ---- commit phase; returns true if the oldest instruction finishes in n + 1
  bool commit(Cycles n, const StoreOutputs& out, bool granted, bool accepted);
  void start(Cycles n, const semantics::DmaShape& shape, std::uint64_t base);
  void start_nop(Cycles n, Cycles cycles);

  [[nodiscard]] Cycles next_wake(Cycles n) const;

  [[nodiscard]] const StoreState& state() const { return state_; }
  /// AXI beats of the instruction that finished last.
  [[nodiscard]] std::int64_t finished_beats() const { return finished_beats_; }
  /// Banks that the SRAM side may touch in the next cycle: those of the instruction that is read, the youngest.
  [[nodiscard]] BankMask banks() const { return reading_ ? flights_.back().banks : 0; }
  /// A whole burst waits for a write credit or for AW to be accepted.
  [[nodiscard]] bool blocked_on_memory(Cycles n) const;
  /// Everything was handed over: only B are awaited (W beats may still be on the bus until state().w_last).
  [[nodiscard]] bool only_responses() const { return !reading_ && queue_.empty() && !state_.aw_held; }

 private:
  struct Flight {
    BankMask banks = 0;
    std::int64_t responses = 0;  // B still to come of bursts raised
    bool all_raised = false;
    std::int64_t beats = 0;  // of the bursts raised
  };
  struct Drain {  // W beats on the bus
    Cycles next = 0;
    std::int64_t beats = 0;
  };
  void free_sent(Cycles n);
  void read_ahead(Cycles n);
  [[nodiscard]] bool can_read() const;

  DmaConfig config_;
  StoreState state_;
  std::deque<Flight> flights_;
  BurstWalk bursts_;
  SegmentWalk segments_;
  bool reading_ = false;  // the youngest instruction still has lines to read
  bool pending_ = false;  // current_ is taken from segments_ and not yet granted
  Segment current_;
  // A burst that is read in one step: its last line's cycle (-1: none), its first one's, the walk as it was then.
  Cycles ahead_end_ = -1, ahead_begin_ = 0;
  SegmentWalk ahead_from_;
  std::deque<StoreBurst> queue_;  // read or being read, AW not yet raised
  std::deque<Drain> drains_;
  StoreBurst held_;  // AW raised
  bool handshaken_ = false;
  std::int64_t finished_beats_ = 0;
};

}  // namespace tessera::hw
