// Core cycles and phases (agenda.hpp), and where they lie in SystemC time. Time in the models is an integer cycle
// count; SystemC time only orders events. One core cycle is kTicksPerCycle SystemC ticks (1 ps each, nominal, not
// physical time). The DRAM runs in its own clock as a plain event-driven core; the crossing converts with the reduced
// fraction (MACHINE.md section 1) and schedules kDeliver of the core cycle.
#pragma once

#include <systemc>

#include "hw/common/units.hpp"
#include "hw/tlm/agenda.hpp"

namespace tessera::tlm_base {

inline constexpr std::int64_t kTicksPerCycle = kPhases;

[[nodiscard]] inline sc_core::sc_time at(Cycles cycle, Phase phase) {
  return sc_core::sc_time::from_value(static_cast<sc_dt::uint64>(cycle * kTicksPerCycle + phase));
}
[[nodiscard]] inline Cycles now_cycle() {
  if (Agenda::running()) return Agenda::cycle();
  return static_cast<Cycles>(sc_core::sc_time_stamp().value()) / kTicksPerCycle;
}
[[nodiscard]] inline Phase now_phase() {
  if (Agenda::running()) return Agenda::phase();
  return static_cast<Phase>(sc_core::sc_time_stamp().value() % static_cast<sc_dt::uint64>(kTicksPerCycle));
}
/// Notify an event of the kernel at (cycle, phase); both must not lie in the past. For modules with processes of their
/// own; those of the models belong to the agenda.
inline void notify_at(sc_core::sc_event& event, Cycles cycle, Phase phase) {
  event.notify(at(cycle, phase) - sc_core::sc_time_stamp());
  Agenda::kernel_notified();
}

}  // namespace tessera::tlm_base
