#include "hw/models/dram/dram_system.hpp"

#include <algorithm>

namespace tessera::dram {

double peak_bytes_per_second(const DramConfig& config) {
  const Device& d = config.channel.device;
  return static_cast<double>(config.channels * d.burst_bytes) /
         (static_cast<double>(d.t.BL) * static_cast<double>(d.tck_fs) * 1e-15);
}

DramSystem::DramSystem(const DramConfig& config, ChannelListener& listener) : config_(config) {
  for (int i = 0; i < config.channels; ++i) {
    channels_.push_back(std::make_unique<Channel>(config.channel, i, listener));
  }
}

int DramSystem::channel_of(std::uint64_t address) const {
  const std::uint64_t granule = address / static_cast<std::uint64_t>(config_.interleave_bytes);
  return static_cast<int>(granule % channels_.size());
}

void DramSystem::push(Request& request, DramClocks arrival) {
  const auto bytes = static_cast<std::uint64_t>(config_.interleave_bytes);
  const std::uint64_t granule = request.address / bytes;
  const std::uint64_t local = granule / channels_.size() * bytes + request.address % bytes;
  channels_[granule % channels_.size()]->push(request, local, arrival);
}

void DramSystem::run_until(DramClocks limit) {
  for (const auto& channel : channels_) {
    if (channel->next_event() <= limit) channel->run_until(limit);
  }
}

void DramSystem::settle_idle(DramClocks limit) {
  for (const auto& channel : channels_) channel->settle_idle(limit);
}

DramClocks DramSystem::next_event() const {
  DramClocks next = kNever;
  for (const auto& channel : channels_) next = std::min(next, channel->next_event());
  return next;
}

bool DramSystem::idle() const {
  return std::all_of(channels_.begin(), channels_.end(), [](const auto& channel) { return channel->idle(); });
}

std::vector<ChannelStatistics> DramSystem::finish(DramClocks end) {
  for (DramClocks next = next_event(); next < kNever; next = next_event()) run_until(next);
  for (const auto& channel : channels_) end = std::max(end, channel->data_end());
  std::vector<ChannelStatistics> result;
  for (const auto& channel : channels_) result.push_back(channel->result(end));
  return result;
}

void DramSystem::set_observer(CommandObserver* observer) {
  for (const auto& channel : channels_) channel->set_observer(observer);
}

}  // namespace tessera::dram
