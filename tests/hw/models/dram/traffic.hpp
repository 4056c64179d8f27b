// Request streams for tests of the DRAM.
#pragma once

#include <functional>

#include "hw/common/random.hpp"
#include "hw/models/dram/replay.hpp"

namespace tessera::dram::test {

using Source = std::function<bool(TraceRequest&)>;

/// `count` requests, the i-th made by `make(i)`.
inline Source stream(std::int64_t count, std::function<TraceRequest(std::int64_t)> make) {
  return [count, make = std::move(make), i = std::int64_t{0}](TraceRequest& r) mutable {
    if (i == count) return false;
    r = make(i++);
    return true;
  };
}
inline TraceRequest read(std::int64_t address) { return {-1, false, static_cast<std::uint64_t>(address)}; }
inline TraceRequest write(std::int64_t address) { return {-1, true, static_cast<std::uint64_t>(address)}; }

inline DramConfig config(const char* device) {
  DramConfig c;
  c.channel.device = find_device(device);
  return c;
}

/// Bytes of one row in every bank.
inline std::int64_t row_set(const Device& d) { return std::int64_t{d.banks()} * d.bursts_per_row * d.burst_bytes; }

/// Share of the peak that the data bus carried.
inline double efficiency(const ReplayResult& r) {
  std::int64_t data = 0, clocks = 0;
  for (const ChannelStatistics& c : r.channels) {
    data += c.data;
    clocks += c.clocks;
  }
  return static_cast<double>(data) / static_cast<double>(clocks);
}

}  // namespace tessera::dram::test
