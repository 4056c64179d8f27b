#include "runtime/session/dram_activity.hpp"

#include <algorithm>
#include <cstdio>

#include "hw/models/dram/device.hpp"

namespace tessera::runtime {
namespace {

/// Column commands closer than this belong to one bar of the timeline: about a row miss.
constexpr DramClocks kTrainGap = 64;
constexpr Bytes kRequestBytes = 64;

}  // namespace

DramActivity::DramActivity(const isa::ChipConfig& chip)
    : crossing_(chip.clock_hz, chip.dram.tck_fs, chip.interconnect.sync_clocks),
      fixed_(chip.dram.device == "fixed"),
      open_(static_cast<std::size_t>(chip.dram.channels)) {
  if (fixed_) return;
  const dram::Device& device = dram::find_device(chip.dram.device);
  burst_clocks_ = device.t.BL;
  refresh_clocks_ = device.t.RFC;
  burst_bytes_ = device.burst_bytes;
}

void DramActivity::close(int channel) {
  Train& train = open_[static_cast<std::size_t>(channel)];
  if (train.bytes > 0) {
    slices_.push_back({channel, "data", crossing_.cycle_at(train.begin), crossing_.cycle_at(train.end), train.bytes});
  }
  train = {};
}

void DramActivity::on_command(const dram::Command& command) {
  switch (command.kind) {
    case dram::CommandKind::rd:
    case dram::CommandKind::wr:
    case dram::CommandKind::rda:
    case dram::CommandKind::wra: {
      Train& train = open_[static_cast<std::size_t>(command.channel)];
      if (train.bytes > 0 && command.clock > train.end + kTrainGap) close(command.channel);
      if (train.bytes == 0) train.begin = command.clock;
      train.end = command.clock + burst_clocks_;
      train.bytes += burst_bytes_;
      break;
    }
    case dram::CommandKind::ref_all:
      close(command.channel);
      slices_.push_back({command.channel, "refresh", crossing_.cycle_at(command.clock),
                         crossing_.cycle_at(command.clock + refresh_clocks_), 0});
      break;
    default:
      break;  // row commands and per-bank refreshes run beside data
  }
}

void DramActivity::on_burst(const hw::BurstRecord& record) { bursts_.push_back(record); }

std::vector<DramSlice> DramActivity::slices() {
  for (std::size_t channel = 0; channel < open_.size(); ++channel) close(static_cast<int>(channel));
  std::stable_sort(slices_.begin(), slices_.end(), [](const DramSlice& a, const DramSlice& b) {
    return a.channel != b.channel ? a.channel < b.channel : a.begin < b.begin;
  });
  return slices_;
}

std::string DramActivity::request_trace() {
  std::stable_sort(bursts_.begin(), bursts_.end(), [](const auto& a, const auto& b) { return a.granted < b.granted; });
  std::string out;
  for (const hw::BurstRecord& burst : bursts_) {
    const DramClocks clock = fixed_ ? burst.granted : crossing_.request_arrival(burst.granted);
    const std::uint64_t end = burst.address + static_cast<std::uint64_t>(burst.bytes);
    for (std::uint64_t a = burst.address / kRequestBytes * kRequestBytes; a < end; a += kRequestBytes) {
      char line[64];
      std::snprintf(line, sizeof line, "%lld %c 0x%llx\n", static_cast<long long>(clock), burst.write ? 'W' : 'R',
                    static_cast<unsigned long long>(a));
      out += line;
    }
  }
  return out;
}

}  // namespace tessera::runtime
