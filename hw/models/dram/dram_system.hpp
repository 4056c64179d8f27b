// All channels of a memory, without SystemC and without core clock: push 64-byte requests, run, be told. Used by the
// interconnect (hw/models/interconnect) and alone.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "hw/models/dram/channel.hpp"

namespace tessera::dram {

struct DramConfig {
  ChannelConfig channel;
  int channels = 1;
  Bytes interleave_bytes = 256;
};

/// What all data buses can move: burst bytes / (burst clocks x tCK) a channel.
[[nodiscard]] double peak_bytes_per_second(const DramConfig& config);

class DramSystem {
 public:
  DramSystem(const DramConfig& config, ChannelListener& listener);

  /// Channel of an address: granule number modulo the number of channels.
  [[nodiscard]] int channel_of(std::uint64_t address) const;
  /// Requests that may still be pushed there; the caller keeps count, e.g. as credits.
  [[nodiscard]] int space(int channel, bool write) const { return at(channel).space(write); }
  /// The request is seen by its channel in clock `arrival`.
  void push(Request& request, DramClocks arrival);
  void run_until(DramClocks limit);
  /// Refreshes in idle time up to `limit`, so that the listener knows of them; changes no outcome.
  void settle_idle(DramClocks limit);
  /// Earliest clock in which any channel can do something; kNever when idle.
  [[nodiscard]] DramClocks next_event() const;
  [[nodiscard]] bool idle() const;
  /// Ends the run: serves what is queued, then accounts every channel over the same clocks, at least `end`.
  [[nodiscard]] std::vector<ChannelStatistics> finish(DramClocks end);
  void set_observer(CommandObserver* observer);
  [[nodiscard]] int channels() const { return static_cast<int>(channels_.size()); }
  [[nodiscard]] const DramConfig& config() const { return config_; }
  [[nodiscard]] Channel& channel(int index) { return *channels_[static_cast<std::size_t>(index)]; }

 private:
  [[nodiscard]] const Channel& at(int index) const { return *channels_[static_cast<std::size_t>(index)]; }

  const DramConfig config_;
  std::vector<std::unique_ptr<Channel>> channels_;
};

}  // namespace tessera::dram
