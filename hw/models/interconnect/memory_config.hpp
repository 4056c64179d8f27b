// Everything the memory system needs to know of a chip file, resolved; models never see JSON.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "hw/common/units.hpp"
#include "hw/models/cache/cache_core.hpp"
#include "hw/models/dram/dram_system.hpp"

namespace tessera::isa {
struct ChipConfig;
}

namespace tessera::hw {

/// Background traffic, traffic.* of the chip file.
struct TrafficConfig {
  Bytes camera_bytes = 0;  // a frame; 0: no camera
  std::int64_t camera_fps = 30;
  std::int64_t cpu_bytes_per_s = 0;  // 0: none
  int cpu_write_percent = 30;
  Bytes cpu_span_bytes = 1 << 20;
  std::int64_t seed = 1;
};

struct MemoryConfig {
  int cores = 1;
  std::int64_t clock_hz = 1'000'000'000;
  Bytes data_bytes = 64;      // axi.data_bytes
  int queue_depth = 8;        // interconnect.queue_depth: bursts held per manager
  Cycles latency_cycles = 0;  // interconnect.latency_cycles
  std::int64_t sync_clocks = 2;

  bool fixed = true;  // dram.device == "fixed"
  Cycles fixed_latency_cycles = 100;
  Bytes fixed_bytes_per_cycle = 0;  // 0: unlimited

  std::string device;  // name of a device in hw/models/dram/devices
  int channels = 1;
  Bytes interleave_bytes = 256;
  Bytes size_bytes = 1 << 30;
  std::int64_t tck_fs = 625'000;
  int dram_queue_depth = 32;
  std::string address_map;
  std::string refresh = "all_bank";
  std::string page_policy = "open";
  int channel_bits = 0;  // 0: as the device
  int ranks = 1;
  int refresh_debt = 0;
  std::string ecc = "none";
  std::map<std::string, DramClocks> timings;  // overrides of the device

  CacheConfig cache;                                     // size 0: none
  Cycles cache_hit_cycles = 8;                           // cache.hit_cycles
  std::array<bool, 3> cache_allocate{true, true, true};  // by manager: fetch, load, store
  TrafficConfig traffic;

  /// What the DRAM itself needs to know; throws UserError when the device cannot do it.
  [[nodiscard]] dram::DramConfig dram() const;
  [[nodiscard]] static MemoryConfig from(const isa::ChipConfig& chip, int cores);
};

}  // namespace tessera::hw
