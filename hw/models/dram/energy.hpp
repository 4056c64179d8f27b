// Energy of a channel by command and background, from the supply currents of its device file, after Micron's TN-40-07
// (as DRAMsim3 counts it): each command costs what its current exceeds the standby current by, for as long as it lasts.
// Leaves out: termination and the controller's own side, power-down, temperature.
#pragma once

#include "hw/models/dram/account.hpp"
#include "hw/models/dram/device.hpp"

namespace tessera::dram {

struct Energy {         // picojoules
  double activate = 0;  // ACT and its precharge
  double read = 0, write = 0;
  double refresh = 0;
  double background = 0;  // standby, with and without an open row
  [[nodiscard]] double total() const { return activate + read + write + refresh + background; }
};

/// Of one command, and per clock of standby, in picojoules.
struct CommandEnergy {
  double activate = 0, read = 0, write = 0;
  double refresh_all = 0, refresh_bank = 0;  // refresh_bank: its share of the rank's banks
  double active_clock = 0, precharged_clock = 0;
};

[[nodiscard]] inline CommandEnergy command_energy(const Device& d) {
  CommandEnergy e;
  const Timings& t = d.t;
  for (const Rail& r : d.power.rails) {
    // millivolt x microampere x femtosecond = 10^-24 J = 10^-12 pJ.
    const double unit = static_cast<double>(r.millivolts * d.power.chips) * static_cast<double>(d.tck_fs) * 1e-12;
    const auto add = [unit](double& to, std::int64_t current_clocks) {
      to += unit * static_cast<double>(current_clocks);
    };
    add(e.activate, r.IDD0 * t.RC - (r.IDD3N * t.RAS + r.IDD2N * (t.RC - t.RAS)));
    add(e.read, (r.IDD4R - r.IDD3N) * t.BL);
    add(e.write, (r.IDD4W - r.IDD3N) * t.BL);
    add(e.refresh_all, (r.IDD5 - r.IDD3N) * t.RFC);
    add(e.active_clock, r.IDD3N);
    add(e.precharged_clock, r.IDD2N);
  }
  if (d.banks_per_refresh > 0) e.refresh_bank = e.refresh_all * d.banks_per_refresh / d.banks();
  return e;
}

[[nodiscard]] inline Energy energy(const Device& d, const ChannelStatistics& s, int ranks, bool per_bank) {
  const CommandEnergy one = command_energy(d);
  Energy e;
  e.activate = one.activate * static_cast<double>(s.activates);
  e.read = one.read * static_cast<double>(s.read_bursts);
  e.write = one.write * static_cast<double>(s.write_bursts);
  e.refresh = (per_bank ? one.refresh_bank : one.refresh_all) * static_cast<double>(s.refreshes);
  e.background = one.active_clock * static_cast<double>(s.active_clocks) +
                 one.precharged_clock * static_cast<double>(s.clocks * ranks - s.active_clocks);
  return e;
}

}  // namespace tessera::dram
