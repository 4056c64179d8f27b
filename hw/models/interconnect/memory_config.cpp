#include "hw/models/interconnect/memory_config.hpp"

#include "isa/chip.hpp"

namespace tessera::hw {

MemoryConfig MemoryConfig::from(const isa::ChipConfig& chip, int cores) {
  MemoryConfig c;
  c.cores = cores;
  c.clock_hz = chip.clock_hz;
  c.data_bytes = chip.axi.data_bytes;
  c.queue_depth = static_cast<int>(chip.interconnect.queue_depth);
  c.latency_cycles = chip.interconnect.latency_cycles;
  c.sync_clocks = chip.interconnect.sync_clocks;
  c.fixed = chip.dram.device == "fixed";
  c.fixed_latency_cycles = chip.dram.fixed_latency_cycles;
  c.fixed_bytes_per_cycle = chip.dram.fixed_bytes_per_cycle;
  c.device = chip.dram.device;
  c.channels = static_cast<int>(chip.dram.channels);
  c.interleave_bytes = chip.dram.interleave_bytes;
  c.size_bytes = chip.dram.size_bytes;
  c.tck_fs = chip.dram.tck_fs;
  c.dram_queue_depth = static_cast<int>(chip.dram.queue_depth);
  c.address_map = chip.dram.address_map;
  c.refresh = isa::to_string(chip.dram.refresh);
  c.page_policy = isa::to_string(chip.dram.page_policy);
  c.channel_bits = static_cast<int>(chip.dram.channel_bits);
  c.ranks = static_cast<int>(chip.dram.ranks);
  c.refresh_debt = static_cast<int>(chip.dram.refresh_debt);
  c.ecc = isa::to_string(chip.dram.ecc);
  c.timings = chip.dram.timings;
  c.cache = {chip.cache.size_bytes, static_cast<int>(chip.cache.ways), chip.cache.line_bytes,
             static_cast<int>(chip.cache.banks), static_cast<int>(chip.cache.outstanding_misses)};
  c.cache_hit_cycles = chip.cache.hit_cycles;
  c.cache_allocate = {chip.cache.fetch == isa::CacheFetch::allocate, chip.cache.load == isa::CacheLoad::allocate,
                      chip.cache.store == isa::CacheStore::allocate};
  c.traffic.camera_bytes = chip.traffic.camera_bytes;
  c.traffic.camera_fps = chip.traffic.camera_fps;
  c.traffic.cpu_bytes_per_s = chip.traffic.cpu_bytes_per_s;
  c.traffic.cpu_write_percent = static_cast<int>(chip.traffic.cpu_write_percent);
  c.traffic.cpu_span_bytes = chip.traffic.cpu_span_bytes;
  c.traffic.seed = chip.traffic.seed;
  return c;
}

}  // namespace tessera::hw
