// The clock of the models: one SystemC process that runs the processes of all modules cycle by cycle, phase by phase
// (clock.hpp), and goes on to the next cycle by itself as long as the SystemC kernel has nothing to do before it. What
// a cycle costs is then the models, not a notification of the kernel a unit and phase. Modules with events of their own
// (sc_event, notify_at) mix freely: where the kernel's next event lies first, the agenda returns to it.
// Leaves out: what the processes do.
#pragma once

#include <array>
#include <cstdint>
#include <systemc>

#include "hw/common/error.hpp"
#include "hw/common/units.hpp"

namespace tessera::tlm_base {

/// Inside a cycle the order is fixed by phase, never by the order of processes.
enum Phase : int {
  kDeliver = 0,   // memory hands over what arrives in the cycle (R beats, B, END_REQ)
  kEvaluate = 1,  // units look at registered state and raise requests (SRAM lines, AR, AW)
  kDecide = 2,    // the SRAM arbiter grants once
  kCommit = 3     // units, command processor and semaphores take their new state
};
inline constexpr int kPhases = 4;

class Agenda;

/// A method that runs in one phase of the cycles it is notified for, at most once each. As with an sc_event only the
/// earliest notification stands.
class Process {
 public:
  /// Process::of<&Module::method>(phase, module), for a member of the module; belongs to the simulation that lives.
  template <auto Method, typename Module>
  [[nodiscard]] static Process of(Phase phase, Module& module) {
    return Process(phase, &module, [](void* owner) { (static_cast<Module*>(owner)->*Method)(); });
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// In `cycle`; it must not be past.
  void notify(Cycles cycle);
  void cancel();

 private:
  friend class Agenda;
  using Run = void (*)(void* owner);
  Process(Phase phase, void* owner, Run run);

  Agenda& agenda_;
  const std::size_t phase_;
  const std::uint64_t bit_;  // its place among the processes of the phase: the order of construction
  void* const owner_;
  const Run run_;
  Cycles due_ = kNever;  // notified for this cycle
};

class Agenda : public sc_core::sc_module {
 public:
  SC_HAS_PROCESS(Agenda);
  explicit Agenda(const sc_core::sc_module_name& name);
  ~Agenda() override;

  /// The agenda of the simulation that lives.
  [[nodiscard]] static Agenda& current() {
    TESSERA_CHECK(current_ != nullptr, "a module outside of a Simulation");
    return *current_;
  }
  /// Does the agenda run one of its processes? Then the time is its own: the kernel's stands still meanwhile.
  [[nodiscard]] static bool running() { return current_ != nullptr && current_->running_; }
  [[nodiscard]] static Cycles cycle() { return current_->cycle_; }
  [[nodiscard]] static Phase phase() { return current_->phase_; }

  /// An event of the kernel was notified: it may lie before the agenda's next cycle.
  static void kernel_notified() {
    if (current_ != nullptr) current_->kernel_active_ = true;
  }
  /// The simulation ends with the phase that runs now.
  void stop();

 private:
  friend class Process;
  static constexpr std::size_t kWindow = 64;  // cycles whose processes stand in slots; the rest waits in `far_`
  using Mask = std::uint64_t;                 // processes of a phase
  using Slot = std::array<Mask, kPhases>;
  struct Tick {
    Cycles cycle = kNever;
    int phase = 0;
    [[nodiscard]] bool before(const Tick& other) const {
      return cycle != other.cycle ? cycle < other.cycle : phase < other.phase;
    }
  };

  static constexpr std::size_t slot_of(Cycles cycle) { return static_cast<std::size_t>(cycle) % kWindow; }
  [[nodiscard]] Mask enter(Process& process);
  void insert(Process& process);
  void insert_far(Process& process);
  void remove(Process& process);
  void arm(const Tick& tick);
  void on_kernel();
  [[nodiscard]] bool run_cycle(int from);
  [[nodiscard]] Cycles next_cycle() const;
  [[nodiscard]] Cycles first_far() const;
  void fetch_far();
  [[nodiscard]] bool kernel_is_due(const Tick& tick);

  static inline Agenda* current_ = nullptr;

  std::array<std::array<Process*, 64>, kPhases> processes_{};
  std::array<int, kPhases> count_{};
  std::array<Slot, kWindow> slots_{};
  std::uint64_t occupied_ = 0;  // slots that may hold something
  std::array<Mask, kPhases> far_{};
  Cycles far_first_ = kNever;  // no process of far_ is due before
  Cycles cycle_ = 0;
  Phase phase_ = kDeliver;
  Tick armed_;  // when the kernel wakes the agenda
  bool running_ = false;
  bool stopped_ = false;
  bool kernel_active_ = true;
  sc_core::sc_event event_;
};

inline void Process::notify(Cycles cycle) {
  if (due_ <= cycle) return;
  if (due_ != kNever) agenda_.remove(*this);
  due_ = cycle;
  agenda_.insert(*this);
}

inline void Process::cancel() {
  if (due_ == kNever) return;
  agenda_.remove(*this);
  due_ = kNever;
}

inline void Agenda::insert(Process& process) {
  if (static_cast<std::uint64_t>(process.due_ - cycle_) < kWindow) {
    const std::size_t slot = slot_of(process.due_);
    slots_[slot][process.phase_] |= process.bit_;
    occupied_ |= std::uint64_t{1} << slot;
  } else {
    insert_far(process);
  }
  if (!running_) arm({process.due_, static_cast<int>(process.phase_)});
}

inline void Agenda::remove(Process& process) {
  slots_[slot_of(process.due_)][process.phase_] &= ~process.bit_;
  far_[process.phase_] &= ~process.bit_;
}

}  // namespace tessera::tlm_base
