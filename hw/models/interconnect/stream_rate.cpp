#include "hw/models/interconnect/stream_rate.hpp"

#include <algorithm>
#include <cmath>

#include "hw/models/interconnect/memory_config.hpp"
#include "isa/chip.hpp"

namespace tessera::hw {
namespace {

constexpr double kEccShare = 512.0 / (512.0 + 64.0);

}  // namespace

double peak_bytes_per_second(const isa::ChipConfig& chip) {
  if (chip.dram.device == "fixed") {
    return static_cast<double>(chip.dram.fixed_bytes_per_cycle) * static_cast<double>(chip.clock_hz);
  }
  return dram::peak_bytes_per_second(MemoryConfig::from(chip, 1).dram());
}

double peak_bytes_per_cycle(const isa::ChipConfig& chip) {
  const double peak = peak_bytes_per_second(chip) / static_cast<double>(chip.clock_hz);
  const auto port = static_cast<double>(chip.axi.data_bytes);
  return peak > 0 ? std::min(peak, port) : port;
}

StreamRate StreamRate::of_ports(const isa::ChipConfig& chip, int ports) {
  StreamRate rate;
  rate.bytes_per_cycle = static_cast<double>(chip.axi.data_bytes * chip.cores * ports);
  return rate;
}

StreamRate StreamRate::from(const isa::ChipConfig& chip, int ports) {
  StreamRate rate = of_ports(chip, ports);
  const double peak = peak_bytes_per_second(chip) / static_cast<double>(chip.clock_hz);
  if (peak > 0) rate.bytes_per_cycle = std::min(rate.bytes_per_cycle, peak);
  if (chip.dram.device == "fixed") return rate;
  const dram::DramConfig config = MemoryConfig::from(chip, 1).dram();
  if (config.channel.ecc) rate.bytes_per_cycle = std::min(rate.bytes_per_cycle, peak * kEccShare);
  if (config.channel.refresh != dram::RefreshPolicy::all_bank) return rate;
  const dram::Timings& t = config.channel.device.t;
  const double cycles_per_clock = static_cast<double>(chip.dram.tck_fs) * static_cast<double>(chip.clock_hz) * 1e-15;
  rate.refresh_interval = static_cast<double>(t.REFI) * cycles_per_clock;
  rate.refresh_cycles = static_cast<double>(t.RTP + std::min(t.RP, t.RPab) + t.RFC + t.RCD - t.BL) * cycles_per_clock;
  rate.postponed = config.channel.refresh_debt;
  return rate;
}

double StreamRate::finish(double start, double bytes) const {
  double left = bytes / bytes_per_cycle;
  if (refresh_interval <= 0) return start + left;
  // Refresh k, k = 1, 2, ..., holds the bus in [(k + postponed) interval, ... + refresh_cycles).
  const double working = refresh_interval - refresh_cycles;
  const double first = refresh_interval * (1.0 + static_cast<double>(postponed));
  double now = start;
  if (now < first) {
    if (now + left <= first) return now + left;
    left -= first - now;
    now = first;
  }
  const double into = std::fmod(now - first, refresh_interval);
  now += std::max(0.0, refresh_cycles - into);
  const double until_next = refresh_interval - std::max(into, refresh_cycles);
  if (left <= until_next) return now + left;
  left -= until_next;
  now += until_next;
  // `now` begins an interval; the last one may be filled to its end.
  const double whole = std::ceil(left / working) - 1.0;
  return now + whole * refresh_interval + refresh_cycles + (left - whole * working);
}

double StreamRate::sustained() const {
  return refresh_interval > 0 ? bytes_per_cycle * (1.0 - refresh_cycles / refresh_interval) : bytes_per_cycle;
}

}  // namespace tessera::hw
