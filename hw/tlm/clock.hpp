// Maps core cycles and phases inside a cycle to SystemC time. Time in the models is an integer cycle count; SystemC
// time only orders events. One core cycle is kTicksPerCycle SystemC ticks (1 ps each, nominal, not physical time).
// Inside cycle n the order is fixed by phase, never by the order of processes:
//   kDeliver  memory hands over what arrives in cycle n (R beats, B, END_REQ)
//   kEvaluate units look at registered state and raise requests (SRAM lines, AR, AW)
//   kDecide   the SRAM arbiter grants once
//   kCommit   units, command processor and semaphores take their new state
// The DRAM runs in its own clock as a plain event-driven core; the crossing converts with the reduced fraction
// (MACHINE.md section 1) and schedules kDeliver of the core cycle.
#pragma once

#include <systemc>

#include "hw/common/units.hpp"

namespace tessera::tlm_base {

enum Phase : int { kDeliver = 0, kEvaluate = 1, kDecide = 2, kCommit = 3 };
inline constexpr std::int64_t kTicksPerCycle = 4;

[[nodiscard]] inline sc_core::sc_time at(Cycles cycle, Phase phase) {
  return sc_core::sc_time::from_value(static_cast<sc_dt::uint64>(cycle * kTicksPerCycle + phase));
}
[[nodiscard]] inline Cycles now_cycle() {
  return static_cast<Cycles>(sc_core::sc_time_stamp().value()) / kTicksPerCycle;
}
[[nodiscard]] inline Phase now_phase() {
  return static_cast<Phase>(sc_core::sc_time_stamp().value() % static_cast<sc_dt::uint64>(kTicksPerCycle));
}
/// Notify `event` at (cycle, phase); both must not lie in the past.
inline void notify_at(sc_core::sc_event& event, Cycles cycle, Phase phase) {
  event.notify(at(cycle, phase) - sc_core::sc_time_stamp());
}

}  // namespace tessera::tlm_base
