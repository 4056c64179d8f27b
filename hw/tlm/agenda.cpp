#include "hw/tlm/agenda.hpp"

#include <algorithm>

#include "hw/tlm/clock.hpp"

namespace tessera::tlm_base {

Process::Process(Phase phase, void* owner, Run run)
    : phase_(phase), bit_(Agenda::current().enter(*this)), owner_(owner), run_(run) {}

Agenda::Agenda(const sc_core::sc_module_name& name) : sc_module(name), event_("event") {
  current_ = this;
  SC_METHOD(on_kernel);
  sensitive << event_;
  dont_initialize();
}

Agenda::~Agenda() { current_ = nullptr; }

int Agenda::enter(Process& process) {
  const auto phase = static_cast<std::size_t>(process.phase_);
  const int bit = count_[phase]++;
  TESSERA_CHECK(bit < 64, "more than 64 processes of one phase");
  processes_[phase][static_cast<std::size_t>(bit)] = &process;
  return bit;
}

void Agenda::stop() {
  stopped_ = true;
  sc_core::sc_stop();
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
  Tick tick{now_cycle(), now_phase()};
  {
    const Running running(running_);
    do {
      go_to(tick);
      run_phase();
      tick = next();
    } while (!stopped_ && tick.cycle != kNever && !(kernel_active_ && kernel_is_due(tick)));
  }
  if (!stopped_ && tick.cycle != kNever) arm(tick);
}

void Agenda::go_to(const Tick& tick) {
  phase_ = static_cast<Phase>(tick.phase);
  if (tick.cycle == cycle_) return;
  cycle_ = tick.cycle;
  if (far_first_ < cycle_ + kWindow) fetch_far();
}

// In the order of construction; a process of the same phase that is notified meanwhile has its turn as well.
void Agenda::run_phase() {
  const auto phase = static_cast<std::size_t>(phase_);
  Mask& mask = slots_[slot_of(cycle_)][phase];
  while (mask != 0) {
    Process& process = *processes_[phase][static_cast<std::size_t>(__builtin_ctzll(mask))];
    mask &= mask - 1;
    process.due_ = kNever;
    process.run_(process.owner_);
  }
}

// The first tick with a process, from the current phase on.
Agenda::Tick Agenda::next() {
  const auto find = [this](Cycles cycle, int from) {
    const Slot& slot = slots_[slot_of(cycle)];
    int phase = from;
    while (phase < kPhases && slot[static_cast<std::size_t>(phase)] == 0) ++phase;
    return phase;
  };
  if (const int phase = find(cycle_, phase_); phase < kPhases) return {cycle_, phase};
  occupied_ &= ~(std::uint64_t{1} << slot_of(cycle_));
  const std::size_t base = slot_of(cycle_);
  while (occupied_ != 0) {
    const std::uint64_t ahead = base == 0 ? occupied_ : occupied_ >> base | occupied_ << (64 - base);
    const Cycles cycle = cycle_ + __builtin_ctzll(ahead);
    if (const int phase = find(cycle, 0); phase < kPhases) return {cycle, phase};
    occupied_ &= ~(std::uint64_t{1} << slot_of(cycle));  // what stood there was cancelled
  }
  return far_first_ == kNever ? Tick{} : first_far();
}

Agenda::Tick Agenda::first_far() const {
  Tick first;
  for (int phase = 0; phase < kPhases; ++phase) {
    for (Mask mask = far_[static_cast<std::size_t>(phase)]; mask != 0; mask &= mask - 1) {
      const auto bit = static_cast<std::size_t>(__builtin_ctzll(mask));
      const Tick due{processes_[static_cast<std::size_t>(phase)][bit]->due_, phase};
      if (due.before(first)) first = due;
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
      if (due < cycle_ + kWindow) {
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
