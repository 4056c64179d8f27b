// Chrome trace JSON (opens in Perfetto): one process a core, one thread a unit or DRAM channel, a slice an instruction,
// counters beside them. Plain records in, text out; the same records give the same bytes. Leaves out: how the records
// come about (runtime/report turns a RunResult into them).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "hw/common/units.hpp"

namespace tessera::traces {

/// One bar on a thread's line. Slices of one thread must not overlap. Times in core cycles.
struct Slice {
  int process = 0;
  int thread = 0;
  std::string name;
  Cycles begin = 0;
  Cycles end = 0;
  std::vector<std::pair<std::string, std::string>> args;
};

/// One step of a counter that keeps its value until the next.
struct CounterSample {
  int process = 0;
  std::string name;
  Cycles time = 0;
  double value = 0;
};

struct Timeline {
  std::int64_t clock_hz = 1'000'000'000;
  std::vector<std::pair<int, std::string>> processes;                // id, name
  std::vector<std::pair<std::pair<int, int>, std::string>> threads;  // (process, thread), name
  std::vector<Slice> slices;
  std::vector<CounterSample> counters;
};

/// Writes beside `path`, then renames. Throws UserError when the place cannot be written, InternalError when two slices
/// of one thread overlap (viewers would draw them nested).
void write_timeline(const Timeline& timeline, const std::filesystem::path& path);

}  // namespace tessera::traces
