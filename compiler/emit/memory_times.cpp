#include "compiler/emit/memory_times.hpp"

#include <cmath>

#include "hw/models/interconnect/memory_config.hpp"
#include "hw/models/interconnect/stream_rate.hpp"

namespace tessera::compiler {
namespace {

constexpr int kManagers = 3;  // of a core

}  // namespace

MemoryTimes MemoryTimes::from(const isa::ChipConfig& chip) {
  MemoryTimes out;
  out.port_bytes = static_cast<double>(chip.axi.data_bytes);
  const bool fixed = chip.dram.device == "fixed";
  if (fixed) {
    const auto pipe = static_cast<double>(chip.dram.fixed_bytes_per_cycle);
    out.bytes_per_cycle = pipe > 0 ? pipe : kManagers * out.port_bytes * static_cast<double>(chip.cores);
    out.read = out.write = chip.dram.fixed_latency_cycles;
    return out;
  }
  out.bytes_per_cycle = hw::StreamRate::from(chip, kManagers).sustained();
  const dram::DramConfig config = hw::MemoryConfig::from(chip, 1).dram();
  const dram::Timings& t = config.channel.device.t;
  const double cycles_per_clock = static_cast<double>(chip.dram.tck_fs) * static_cast<double>(chip.clock_hz) * 1e-15;
  const auto clocks = [&](DramClocks n) { return static_cast<double>(n) * cycles_per_clock; };
  // There: dispatch, interconnect, crossing. Back: crossing. Between a hit and a conflict: the bank is closed.
  const double there =
      1 + static_cast<double>(chip.interconnect.latency_cycles) + 1 + clocks(chip.interconnect.sync_clocks);
  const double back = 1 + static_cast<double>(chip.interconnect.sync_clocks);
  out.read = static_cast<Cycles>(std::ceil(there + clocks(t.RCD + t.RL) + back));
  out.write = static_cast<Cycles>(std::ceil(there + back));
  out.queue_bytes =
      static_cast<double>(chip.dram.queue_depth * chip.dram.channels) * static_cast<double>(dram::kRequestBytes);
  return out;
}

}  // namespace tessera::compiler
