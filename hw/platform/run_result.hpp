// What one execution of a program on a chip yields; the report, diff, trace and tests read it. No SystemC.
// Every backend fills the same structure; `reference` leaves times at 0.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "hw/common/stall.hpp"
#include "hw/common/units.hpp"

namespace tessera::hw {

/// One executed instruction. `queue` is an isa::QueueId; `index` counts instructions of that queue in the section.
struct InstructionRecord {
  std::uint8_t core = 0;
  std::uint8_t queue = 0;
  std::uint16_t section = 0;
  std::uint32_t index = 0;
  std::uint16_t layer = 0;
  Cycles ready = 0;     // first cycle it stood at the head of its queue
  Cycles start = 0;     // cycle in which the unit pops it
  Cycles finish = 0;    // cycle in which its signals are issued
  Bytes dram_read = 0;  // AXI beats x data bytes
  Bytes dram_write = 0;
  std::array<Cycles, kStallCauses> stall{};  // waits between ready and finish, by cause
};

struct UnitResult {
  std::string name;  // "load", "conv0", ...; "core1.load" with several cores
  UnitAccount account;
  std::int64_t macs_issued = 0;
  Cycles array_cycles = 0;  // gemm: first operand in to last partial sum out
};

struct DramChannelResult {  // all in DRAM clocks; data + activate + turnaround + refresh + idle == clocks
  DramClocks clocks = 0, data = 0, activate = 0, turnaround = 0, refresh = 0, idle = 0;
  std::int64_t row_hits = 0, row_misses = 0, row_conflicts = 0, refreshes = 0;
  // Picojoules; 0 with the fixed memory.
  double activate_pj = 0, read_pj = 0, write_pj = 0, refresh_pj = 0, background_pj = 0;
};

/// The system cache; counts are 64-byte parts of bursts. Empty streams: there is none.
struct CacheStreamResult {
  std::string name;                                             // fetch, load, store
  std::int64_t hits = 0, merged = 0, misses = 0, bypassed = 0;  // merged: the sector was on its way already
};
struct CacheResult {
  std::vector<CacheStreamResult> streams;
  Bytes fetched_bytes = 0;     // from DRAM, bypassed reads included
  Bytes written_bytes = 0;     // to DRAM, bypassed writes included
  Bytes dirty_bytes_left = 0;  // changed and still in the cache at the end
};

struct TrafficResult {  // background traffic of the chip file
  std::string name;     // camera, cpu
  Bytes bytes = 0;
  std::int64_t requests = 0;
  Cycles longest_wait = 0;  // of an access for its place in a channel
};

struct SectionResult {
  std::string name;
  bool host = false;
  Cycles start = 0;  // doorbell (host: start of the step)
  Cycles end = 0;    // interrupt
};

struct RunResult {
  Cycles cycles = 0;               // first doorbell to last interrupt, host steps included
  std::vector<Cycles> frame_ends;  // last interrupt of each frame; instructions and sections are those of frame 0
  std::vector<UnitResult> units;
  std::vector<DramChannelResult> channels;
  std::vector<InstructionRecord> instructions;  // ordered by (section, core, queue, index)
  std::vector<SectionResult> sections;
  Bytes fetch_bytes = 0;                  // instruction fetch
  Bytes load_bytes = 0, store_bytes = 0;  // AXI
  Bytes host_read_bytes = 0, host_write_bytes = 0;
  Cycles stepped_cycles = 0;  // unit-cycles that were stepped rather than fast-forwarded
  Cycles sram_conflict_cycles = 0;
  std::int64_t dram_bursts = 0;
  CacheResult cache;
  std::vector<TrafficResult> traffic;
  std::vector<std::string> warnings;  // e.g. bytes read that were never written
};

}  // namespace tessera::hw
