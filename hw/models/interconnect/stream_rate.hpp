// How fast the DRAM can feed a core at best, in core cycles: the one home of the chip's peak, for reports, for the
// compiler's estimates and for its bounds. Peak = burst bytes / (burst clocks x tCK) x channels. A refresh of all banks
// takes from the data bus at least
//   tRTP + tRP + tRFC + tRCD - burst
// a tREFI: the last read before it, its precharge, the refresh, the activate behind it. Per-bank refresh leaves the
// other banks at work and takes nothing. In-band ECC reads 64 check bytes for 512. Leaves out: rows, turnarounds,
// latency, other traffic.
#pragma once

#include "hw/common/units.hpp"

namespace tessera::isa {
struct ChipConfig;
}

namespace tessera::hw {

/// Bytes a second that the DRAM's data buses move; `fixed` memory: its own rate, 0 when unlimited.
[[nodiscard]] double peak_bytes_per_second(const isa::ChipConfig& chip);

/// Of one core: the peak, or the width of its AXI port where that is less.
[[nodiscard]] double peak_bytes_per_cycle(const isa::ChipConfig& chip);

/// A stream of bytes that never waits for anything but data bus, refresh and AXI ports.
struct StreamRate {
  double bytes_per_cycle = 1;   // between refreshes, of all cores together
  double refresh_interval = 0;  // core cycles; 0: none
  double refresh_cycles = 0;    // of each interval, from its start, without data
  int postponed = 0;            // refreshes that a run may end without (dram.refresh_debt); the first is due at 1

  /// Through `ports` AXI ports of each core: 1 for a stream of reads, 2 for reads and writes.
  [[nodiscard]] static StreamRate from(const isa::ChipConfig& chip, int ports);
  /// The same ports in front of a memory without limits (`--ideal dram`).
  [[nodiscard]] static StreamRate of_ports(const isa::ChipConfig& chip, int ports);

  /// Cycle in which the last of `bytes` has arrived, the first not before `start`.
  [[nodiscard]] double finish(double start, double bytes) const;
  /// bytes_per_cycle less the share of refresh.
  [[nodiscard]] double sustained() const;
};

}  // namespace tessera::hw
