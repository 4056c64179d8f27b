#include "hw/tlm/agenda.hpp"

#include <algorithm>

#include "hw/tlm/clock.hpp"

namespace tessera::tlm_base {

Process::Process(Phase phase, void* owner, Run run)
    : agenda_(Agenda::current()), phase_(phase), bit_(agenda_.enter(*this)), owner_(owner), run_(run) {}

Agenda::Agenda(const sc_core::sc_module_name& name) : sc_module(name), event_("event") {
  current_ = this;
  SC_METHOD(on_kernel);
  sensitive << event_;
  dont_initialize();
}

Agenda::~Agenda() { current_ = nullptr; }

Agenda::Mask Agenda::enter(Process& process) {
  const int bit = count_[process.phase_]++;
  TESSERA_CHECK(bit < 64, "more than 64 processes of one phase");
  processes_[process.phase_][static_cast<std::size_t>(bit)] = &process;
  return Mask{1} << bit;
}

void Agenda::stop() {
  stopped_ = true;
  sc_core::sc_stop();
}

void Agenda::insert_far(Process& process) {
  TESSERA_CHECK(process.due_ >= cycle_, "a process is notified in cycle ", cycle_, " for cycle ", process.due_);
  far_[process.phase_] |= process.bit_;
  far_first_ = std::min(far_first_, process.due_);
}

void Agenda::arm(const Tick& tick) {
  if (!tick.before(armed_)) return;
  armed_ = tick;
  event_.cancel();
  event_.notify(at(tick.cycle, static_cast<Phase>(tick.phase)) - sc_core::sc_time_stamp());
}

// Is there an event of the kernel at or before the tick?
bool Agenda::kernel_is_due(const Tick& tick) {
  if (!sc_core::sc_pending_activity()) {
    kernel_active_ = false;  // from here on only notify_at() can make one
    return false;
  }
  return sc_core::sc_time_stamp() + sc_core::sc_time_to_pending_activity() <=
         at(tick.cycle, static_cast<Phase>(tick.phase));
}

void Agenda::on_kernel() {
  struct Running {
    explicit Running(bool& flag) : flag_(flag) { flag_ = true; }
    ~Running() { flag_ = false; }
    bool& flag_;
  };
  armed_ = Tick{};
  kernel_active_ = true;
  cycle_ = now_cycle();
  int phase = now_phase();
  const Running running(running_);
  if (far_first_ < kNever) fetch_far();
  while (run_cycle(phase)) {
    const Cycles next = next_cycle();
    if (next == kNever) return;
    if (kernel_active_ && kernel_is_due({next, kDeliver})) return arm({next, kDeliver});
    cycle_ = next;
    phase = kDeliver;
    if (far_first_ < cycle_ + static_cast<Cycles>(kWindow)) fetch_far();
  }
}

// Runs the current cycle from a phase on, in each phase in the order of construction; a process of the phase that is
// notified meanwhile has its turn as well. False: not to its end, since the kernel goes first or the run is over.
bool Agenda::run_cycle(int from) {
  Slot& slot = slots_[slot_of(cycle_)];
  for (int phase = from; phase < kPhases; ++phase) {
    Mask& mask = slot[static_cast<std::size_t>(phase)];
    if (mask == 0) continue;
    if (phase != from && kernel_active_ && kernel_is_due({cycle_, phase})) {
      arm({cycle_, phase});
      return false;
    }
    phase_ = static_cast<Phase>(phase);
    const auto& processes = processes_[static_cast<std::size_t>(phase)];
    do {
      Process& process = *processes[static_cast<std::size_t>(__builtin_ctzll(mask))];
      mask &= mask - 1;
      process.due_ = kNever;
      process.run_(process.owner_);
    } while (mask != 0);
    if (stopped_) return false;
  }
  occupied_ &= ~(std::uint64_t{1} << slot_of(cycle_));
  return true;
}

// The next cycle with a process, or one whose processes were cancelled.
Cycles Agenda::next_cycle() const {
  if (occupied_ == 0) return far_first_ == kNever ? kNever : first_far();
  const std::size_t base = slot_of(cycle_);
  const std::uint64_t ahead = occupied_ >> base | occupied_ << (64 - base) % 64;
  return cycle_ + __builtin_ctzll(ahead);
}

Cycles Agenda::first_far() const {
  Cycles first = kNever;
  for (std::size_t phase = 0; phase < kPhases; ++phase) {
    for (Mask mask = far_[phase]; mask != 0; mask &= mask - 1) {
      first = std::min(first, processes_[phase][static_cast<std::size_t>(__builtin_ctzll(mask))]->due_);
    }
  }
  return first;
}

// Moves what is due within the window into the slots.
void Agenda::fetch_far() {
  far_first_ = kNever;
  for (std::size_t phase = 0; phase < kPhases; ++phase) {
    for (Mask mask = far_[phase]; mask != 0; mask &= mask - 1) {
      const Mask bit = mask & (~mask + 1);
      const Cycles due = processes_[phase][static_cast<std::size_t>(__builtin_ctzll(mask))]->due_;
      if (due < cycle_ + static_cast<Cycles>(kWindow)) {
        slots_[slot_of(due)][phase] |= bit;
        occupied_ |= std::uint64_t{1} << slot_of(due);
        far_[phase] &= ~bit;
      } else {
        far_first_ = std::min(far_first_, due);
      }
    }
  }
}

}  // namespace tessera::tlm_base
