// A DRAM device as data: organisation of one channel, command lengths and timings in clocks of its command clock. The
// values and their sources are devices/NAME.json. All distances run from first command-bus edge to first edge.
// Leaves out: currents, power-down, per-bank refresh.
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
  DramClocks RTW_gap;  // idle clocks between read data and write data

  [[nodiscard]] DramClocks read_to_write() const { return RL + BL + RTW_gap - WL; }
  [[nodiscard]] DramClocks write_to_read_S() const { return WL + BL + WTR_S; }
  [[nodiscard]] DramClocks write_to_read_L() const { return WL + BL + WTR_L; }
  [[nodiscard]] DramClocks write_to_precharge() const { return WL + BL + WR; }
};

struct Device {
  std::string name;
  std::string default_map;
  std::int64_t tck_fs;
  int bank_groups;
  int banks_per_group;
  std::int64_t rows;
  int bursts_per_row;
  Bytes burst_bytes;
  CommandLengths length;
  Timings t;

  [[nodiscard]] int banks() const { return bank_groups * banks_per_group; }
  [[nodiscard]] int bursts_per_request() const { return static_cast<int>(64 / burst_bytes); }
};

/// All devices of devices/*.json, by name. The table is generated.
[[nodiscard]] const std::vector<Device>& devices();
/// Throws UserError that lists the legal names.
[[nodiscard]] const Device& find_device(const std::string& name);
/// Overrides one timing by its name, e.g. "FAW"; throws UserError that lists the legal names.
void set_timing(Device& device, const std::string& name, DramClocks value);
[[nodiscard]] DramClocks get_timing(const Device& device, const std::string& name);
[[nodiscard]] std::vector<std::string> timing_names();

}  // namespace tessera::dram
