// Drives the DRAM alone with a stream of requests: what `tessera dram` does.
#pragma once

#include <functional>
#include <vector>

#include "hw/models/dram/dram_system.hpp"
#include "hw/models/dram/trace_reader.hpp"

namespace tessera::dram {

struct ReplayOptions {
  int outstanding = 0;  // reads whose first burst is not there yet, at most; 0: as many as the queues take
  CommandObserver* observer = nullptr;
};

struct ReplayResult {
  DramClocks clocks = 0;  // to the last data beat
  Bytes bytes = 0;
  std::int64_t requests = 0;
  std::int64_t reads = 0;
  DramClocks read_latency_sum = 0;  // arrival to the end of the first burst, as JEDEC's RL + burst
  std::vector<ChannelStatistics> channels;
};

/// Requests are issued in order; one that finds its queue full holds those behind it. `next` yields false at the end.
[[nodiscard]] ReplayResult replay(const DramConfig& config, const std::function<bool(TraceRequest&)>& next,
                                  const ReplayOptions& options = {});

}  // namespace tessera::dram
