// Who owns each clock of a channel's data bus: data, activate, turnaround, refresh, idle. The rule works on the gap
// before each burst, seen in command time (data time minus the command's own latency), so that the five always add up.
#pragma once

#include <algorithm>
#include <vector>

#include "hw/common/units.hpp"

namespace tessera::dram {

struct ChannelStatistics {
  DramClocks clocks = 0, data = 0, activate = 0, turnaround = 0, refresh = 0, idle = 0;
  std::int64_t row_hits = 0, row_misses = 0, row_conflicts = 0, refreshes = 0;
  std::int64_t read_bursts = 0, write_bursts = 0;  // check bursts included
  std::int64_t check_bursts = 0;                   // of in-band ECC
  std::int64_t activates = 0;
  DramClocks active_clocks = 0;  // clocks with a row open in some bank, summed over the ranks
};

class ChannelAccount {
 public:
  /// Refresh held the channel (or the bank of the next burst) in [begin, end), from the end of the last command to the
  /// end of the refresh.
  void refresh(DramClocks begin, DramClocks end) { refreshes_.push_back({begin, end}); }
  /// `count` refreshes of `length` clocks each in idle time, all over before the next refresh() or column().
  void idle_refreshes(std::int64_t count, DramClocks length) { skipped_ += count * length; }

  /// A column command in clock c whose data move in [c + latency, c + latency + burst). There was work since `work`;
  /// constraints of rank and bus (turnaround, tCCD) would have let it go at `bus_ready`.
  void column(DramClocks c, DramClocks latency, DramClocks burst, DramClocks work, DramClocks bus_ready) {
    const DramClocks from = data_end_ - latency;
    const DramClocks gap = c - from;
    if (gap > 0) {
      const DramClocks has_work = std::clamp(work, from, c);
      const DramClocks bus = std::clamp(bus_ready, has_work, c);
      const DramClocks refresh = refreshed(from, c) + skipped_;
      const DramClocks idle = has_work - from - refreshed(from, has_work) - skipped_;
      const DramClocks turnaround = bus - has_work - refreshed(has_work, bus);
      statistics.refresh += refresh;
      statistics.idle += idle;
      statistics.turnaround += turnaround;
      statistics.activate += gap - refresh - idle - turnaround;
    }
    refreshes_.clear();
    skipped_ = 0;
    statistics.data += burst;
    data_end_ = c + latency + burst;
  }

  /// Statistics of clocks [0, end); `end` is moved to the end of the data when that is later.
  [[nodiscard]] ChannelStatistics result(DramClocks end) const {
    ChannelStatistics s = statistics;
    s.clocks = std::max(end, data_end_);
    const DramClocks refresh = refreshed(data_end_, s.clocks) + skipped_;
    s.refresh += refresh;
    s.idle += s.clocks - data_end_ - refresh;
    return s;
  }
  [[nodiscard]] DramClocks data_end() const { return data_end_; }

  ChannelStatistics statistics;

 private:
  struct Interval {
    DramClocks begin, end;
  };
  [[nodiscard]] DramClocks refreshed(DramClocks begin, DramClocks end) const {
    DramClocks sum = 0;
    for (const Interval& r : refreshes_)
      sum += std::max<DramClocks>(0, std::min(end, r.end) - std::max(begin, r.begin));
    return sum;
  }
  std::vector<Interval> refreshes_;  // since the last column command
  DramClocks skipped_ = 0;
  DramClocks data_end_ = 0;
};

}  // namespace tessera::dram
