// The clocked core of LOAD: AR generator, landing buffer, line writer. Plain C++, one call a phase of a cycle, sleeps
// when nothing can happen (next_wake). Cycle rules: README.md here. Leaves out: bytes (applied at finish), SystemC.
#pragma once

#include <cstdint>
#include <deque>

#include "hw/common/units.hpp"
#include "hw/models/load/dma_walk.hpp"

namespace tessera::hw {

struct LoadState {
  // AR side
  bool generating = false;      // the youngest instruction still has bursts to request
  bool ar_held = false;         // raised and not yet accepted
  int outstanding = 0;          // bursts raised whose last beat has not come
  std::int64_t free_beats = 0;  // landing space neither reserved nor occupied
  // landing buffer
  std::int64_t landed = 0;    // beats the SRAM side may take
  std::int64_t arriving = 0;  // beats handed over in cycle `arrival`
  Cycles arrival = -1;
  // NOP
  Cycles nop_end = -1;  // finish cycle of the NOP in flight, -1 without
};

struct LoadOutputs {
  bool raise_ar = false;  // a new AR in this cycle
  std::uint64_t ar_address = 0;
  std::int64_t ar_beats = 0;
  bool segment = false;  // the SRAM side has something to move
  BankMask banks = 0;    // bank of the line it writes; 0: merges only
};

class LoadCore {
 public:
  explicit LoadCore(const DmaConfig& config);

  // ---- deliver phase of cycle n
  void beat(Cycles n, bool last);
  void handshake() { handshaken_ = true; }  // of a held AR

  // ---- evaluate phase: what happens in cycle n, from registered state and this cycle's beats
  [[nodiscard]] LoadOutputs outputs(Cycles n);
  /// May the CP pop an instruction into LOAD in this cycle (registered state)?
  [[nodiscard]] bool ready(bool nop) const;
  [[nodiscard]] bool idle() const { return flights_.empty() && state_.nop_end < 0; }

  // ---- commit phase
  /// `granted`: answer to outputs.banks; `accepted`: AR handshake in the cycle of raising.
  /// Returns true if the oldest instruction finishes in n + 1.
  bool commit(Cycles n, const LoadOutputs& out, bool granted, bool accepted);
  /// The CP popped in cycle n; call before commit of n. `base`: value of the base register.
  void start(Cycles n, const semantics::DmaShape& shape, std::uint64_t base);
  void start_nop(Cycles n, Cycles cycles);

  /// After commit of n: the next cycle that changes anything without an input (kNever: only an input can).
  [[nodiscard]] Cycles next_wake(Cycles n) const;

  [[nodiscard]] const LoadState& state() const { return state_; }
  /// AXI beats of the instruction that finished last.
  [[nodiscard]] std::int64_t finished_beats() const { return finished_beats_; }
  /// Banks that the SRAM side may touch in the next cycle: those of the oldest instruction.
  [[nodiscard]] BankMask banks() const { return flights_.empty() ? 0 : flights_.front().banks; }

 private:
  struct Flight {
    semantics::DmaShape shape;
    std::uint64_t base = 0;
    BankMask banks = 0;
    std::int64_t beats = 0;  // of the bursts raised
  };
  void take_segment();

  DmaConfig config_;
  LoadState state_;
  std::deque<Flight> flights_;
  BurstWalk bursts_;      // of the youngest
  SegmentWalk segments_;  // of the oldest
  bool walking_ = false;  // segments_ is valid
  bool pending_ = false;  // current_ is taken from segments_ and not yet moved (first try, or refused)
  Segment current_;
  bool empties_beat_ = false;  // current_ takes the last byte of the landing head beat
  bool handshaken_ = false;
  std::int64_t finished_beats_ = 0;
  bool held_last_ = false;  // the held AR is the last of its instruction
};

}  // namespace tessera::hw
