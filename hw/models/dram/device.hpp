// A DRAM device as data: organisation of one channel, command lengths and timings in clocks of its command clock. The
// values and their sources are devices/NAME.json. All distances run from first command-bus edge to first edge.
// Leaves out: power-down, temperature.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hw/common/units.hpp"

namespace tessera::dram {

/// Clocks a command holds the command bus.
struct CommandLengths {
  DramClocks act, rd, wr, pre, ref;
};

/// JEDEC names without the leading t; _S between bank groups, _L inside one.
struct Timings {
  DramClocks RL, WL, BL;  // BL: clocks of one burst on the data bus
  DramClocks RCD, RP, RPab, RAS, RC;
  DramClocks CCD_S, CCD_L, RRD_S, RRD_L, FAW;
  DramClocks WTR_S, WTR_L;  // from the end of write data to a read command
  DramClocks RTP, WR;       // read command, end of write data -> precharge
  DramClocks RFC, REFI, PPD;
  DramClocks RTW_gap;                  // idle clocks between read data and write data
  DramClocks RFCpb, PBR2PBR, PBR2ACT;  // per-bank refresh: its time, to the next one, to an ACT of another bank
  DramClocks AAD;                      // LPDDR5: ACT-2 follows ACT-1 within this; 0: ACT is one command
  DramClocks WCKPST;                   // LPDDR5: WCK runs on so long after a burst, then CAS must wake it; 0: no WCK
  DramClocks RTRS;                     // idle clocks between bursts of different ranks

  [[nodiscard]] DramClocks read_to_write() const { return RL + BL + RTW_gap - WL; }
  [[nodiscard]] DramClocks write_to_read_S() const { return WL + BL + WTR_S; }
  [[nodiscard]] DramClocks write_to_read_L() const { return WL + BL + WTR_L; }
  [[nodiscard]] DramClocks write_to_precharge() const { return WL + BL + WR; }
};

/// Supply currents of one chip on one rail (data sheet names), for the energy.
struct Rail {
  std::int64_t millivolts;
  std::int64_t IDD0, IDD2N, IDD3N, IDD4R, IDD4W, IDD5;  // microampere
};
struct Power {
  int chips;  // that work together in a channel of the device's own width
  std::vector<Rail> rails;
};

struct Device {
  std::string name;
  std::string default_map;
  std::int64_t tck_fs;
  int channel_bits;
  int bank_groups;
  int banks_per_group;
  std::int64_t rows;
  int bursts_per_row;
  Bytes burst_bytes;
  int banks_per_refresh;  // banks that a per-bank refresh refreshes: b, b + banks / 2; 0: it has none
  CommandLengths length;
  Timings t;
  Power power;

  [[nodiscard]] int banks() const { return bank_groups * banks_per_group; }
  [[nodiscard]] int bursts_per_request() const { return static_cast<int>(64 / burst_bytes); }
  [[nodiscard]] bool split_activate() const { return t.AAD > 0; }
  [[nodiscard]] bool wck() const { return t.WCKPST > 0; }
  /// Clocks that an idle read takes beyond RL + burst (+ RCD, RP): ACT-2 after ACT-1, or the clock in which the
  /// controller sends CAS, or sees that WCK runs still.
  [[nodiscard]] DramClocks read_latency_constant() const { return wck() ? 1 : 0; }
};

/// All devices of devices/*.json, by name. The table is generated.
[[nodiscard]] const std::vector<Device>& devices();
/// Throws UserError that lists the legal names.
[[nodiscard]] const Device& find_device(const std::string& name);
/// The device with channels of another width: as many bytes more or less a burst.
[[nodiscard]] Device with_channel_bits(Device device, int bits);
/// Overrides one timing by its name, e.g. "FAW"; throws UserError that lists the legal names.
void set_timing(Device& device, const std::string& name, DramClocks value);
/// Throws UserError where timings contradict each other so that no trace could be right (BL 0, REFI below RFC, ...).
void check_timings(const Device& device);
[[nodiscard]] DramClocks get_timing(const Device& device, const std::string& name);
[[nodiscard]] std::vector<std::string> timing_names();

}  // namespace tessera::dram
