// The clocked core of the command processor: rings, prefetch, heads, semaphores, starts, faults, end and stuck
// detection. Plain C++: outputs(inputs) reads registered state, commit(inputs, outputs) is the edge. Cycle rules:
// README.md here. Leaves out: AXI sockets, units, accounting (cp.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "hw/common/units.hpp"
#include "isa/isa.hpp"

namespace tessera::hw {

inline constexpr int kQueues = static_cast<int>(isa::kQueueIdValues);
inline constexpr int kLocalSemaphores = 64;
inline constexpr int kSemaphores = 128;  // 64.. are global
inline constexpr int kSemaphoreMax = 255;

struct CpConfig {
  std::int64_t prefetch_words = 32;
  std::int64_t fetch_words = 16;
  std::int64_t data_bytes = 64;
  std::int64_t max_burst_beats = 16;
};

struct FetchBurst {
  std::uint64_t address = 0;  // aligned to axi.data_bytes
  int beats = 0;
  int skip_bytes = 0;      // of the first beat, before what is wanted
  std::int64_t bytes = 0;  // wanted: whole words, or a part of one word where a burst is shorter than a word
};

struct CpQueueState {
  // registers
  std::uint64_t ring_base = 0;
  std::uint32_t ring_words = 0;
  std::uint32_t write_pointer = 0;
  std::uint32_t read_pointer = 0;  // words moved into the head and started
  // prefetch
  std::uint64_t requested = 0;   // bytes requested
  std::uint64_t arrived = 0;     // bytes of finished bursts
  std::deque<isa::Word> buffer;  // arrived words
  bool outstanding = false;
  FetchBurst burst;
  int burst_beats = 0;      // beats of it that came
  std::uint64_t words = 0;  // words that came whole
  // head
  bool head_valid = false;
  isa::Instruction head;
  isa::FaultCause head_fault = isa::FaultCause::none;  // found by the decoder
  std::uint32_t head_words = 0;
  Cycles head_since = 0;  // first cycle at the head
  bool halted = false;
  [[nodiscard]] bool exhausted() const { return read_pointer == write_pointer; }
};

struct CpInputs {
  std::uint32_t ready = 0;                                    // bit q: unit q may pop (registered in the unit)
  std::uint32_t ready_nop = 0;                                // the same for a NOP
  std::uint32_t busy = 0;                                     // bit q: unit q has something in flight
  std::uint32_t done = 0;                                     // bit q: unit q finishes an instruction in this cycle ...
  std::array<std::array<isa::Signal, 4>, kQueues> signals{};  // ... and issues these
  std::uint32_t bus_error = 0;                                // bit q: AXI answered unit q with an error in this cycle
  std::vector<isa::Signal> remote;                            // global increments that arrive in this cycle
  int beat_queue = -1;                                        // a fetch beat for this queue in this cycle
};

struct CpOutputs {
  std::uint32_t start = 0;  // bit q: pops its head
  std::uint32_t fault = 0;  // bit q: halts
  std::array<isa::FaultCause, kQueues> cause{};
  bool raise_ar = false;
  int ar_queue = 0;
  FetchBurst ar;
  bool quiet = false;       // every queue exhausted, nothing in flight: the section is done
  bool reset_done = false;  // a soft reset is asked for and nothing is in flight: all state is cleared at the edge
  bool stuck = false;       // every queue exhausted, halted or waiting for a semaphore, nothing in flight, not quiet
};

struct CpFault {
  bool any = false;
  int queue = 0;
  std::uint32_t index = 0;  // word index
  isa::FaultCause cause = isa::FaultCause::none;
  std::string text;
};

class CpCore {
 public:
  /// Checks an instruction that is about to start: rules between fields, SRAM range, DRAM limits.
  /// `text` says what is wrong.
  using Check = std::function<isa::FaultCause(const isa::Instruction&, std::string& text)>;
  /// The instruction word at a DRAM address, called when its last beat arrives.
  using ReadWord = std::function<isa::Word(std::uint64_t address)>;

  CpCore(const CpConfig& config, Check check, ReadWord read_word);

  /// Ideal runs: semaphores are ignored; `blocked(q)` says in each cycle whether the head of q has to wait.
  void replace_semaphores(std::function<bool(int queue)> blocked) { blocked_ = std::move(blocked); }

  // ---- control port, between cycles
  void set_ring(int queue, std::uint64_t base, std::uint32_t words);
  void set_write_pointer(int queue, std::uint32_t words);
  /// Doorbell: read pointers, prefetch and heads are cleared, faults forgotten; semaphores keep their values.
  void doorbell();
  /// From this cycle on nothing starts and nothing is fetched; what is in flight ends.
  void soft_reset() { resetting_ = true; }

  // ---- a cycle
  [[nodiscard]] CpOutputs outputs(const CpInputs& in);
  /// Returns true if any register changed: the next cycle must be stepped.
  bool commit(Cycles n, const CpInputs& in, const CpOutputs& out, bool ar_accepted, bool ar_handshake);

  [[nodiscard]] const CpQueueState& queue(int q) const { return queues_[static_cast<std::size_t>(q)]; }
  [[nodiscard]] int semaphore(int s) const;
  /// First wait of the head that is not met (replaced semaphores: its first wait, or 0); -1 if it may start.
  [[nodiscard]] int unmet_wait(int q) const;
  [[nodiscard]] bool resetting() const { return resetting_; }
  [[nodiscard]] bool fetching() const { return fetches_ > 0; }
  [[nodiscard]] const CpFault& fault() const { return fault_; }
  [[nodiscard]] std::uint32_t halted() const;

 private:
  [[nodiscard]] bool may_fetch(const CpQueueState& queue, FetchBurst& burst) const;
  [[nodiscard]] bool fetch_pending(const CpQueueState& queue) const;
  bool take_beat(int q);
  bool load_head(Cycles n, int q);
  void clear_queues();
  void clear();
  void halt(int q, std::uint32_t index, isa::FaultCause cause, std::string text);
  bool add(int semaphore, int amount, int queue);

  CpConfig config_;
  Check check_;
  ReadWord read_word_;
  std::function<bool(int)> blocked_;
  std::array<CpQueueState, kQueues> queues_;
  std::array<int, kSemaphores> settled_{};   // what heads are compared with
  std::array<int, kSemaphores> arriving_{};  // issued in the cycle before: visible, settled at the next edge
  bool any_arriving_ = false;
  bool resetting_ = false;
  int first_ = 0;  // FETCH round robin
  int fetches_ = 0;
  bool ar_held_ = false;
  CpFault fault_;
  std::array<std::string, kQueues> fault_text_;  // of the fault the head will raise
};

}  // namespace tessera::hw
