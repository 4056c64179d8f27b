// A run's records as timeline slices and counters (traces/timeline.hpp).
#include <algorithm>
#include <array>
#include <map>

#include "isa/isa.hpp"
#include "isa/program/instructions.hpp"
#include "isa/semantics/footprint.hpp"
#include "runtime/report/attribution.hpp"
#include "runtime/report/report.hpp"

namespace tessera::runtime {
namespace {

constexpr int kHostThread = 100;
constexpr int kFirstChannelThread = 101;

void name_threads(const ReportInput& in, traces::Timeline& out) {
  for (int core = 0; core < in.chip.cores; ++core) {
    out.processes.emplace_back(core, "core" + std::to_string(core));
  }
  std::map<std::pair<int, int>, bool> used;
  for (const hw::InstructionRecord& r : in.result.instructions) used[{r.core, r.queue}] = true;
  for (const auto& [place, yes] : used) {
    out.threads.push_back({place, unit_name(in.chip, place.first, place.second)});
  }
  for (const hw::SectionResult& section : in.result.sections) {
    if (section.host) {
      out.threads.push_back({{0, kHostThread}, "host"});
      break;
    }
  }
}

std::string slice_name(const ReportInput& in, const hw::InstructionRecord& record) {
  return record.layer < in.program.layers.size() ? in.program.layers[record.layer].name
                                                 : "instruction " + std::to_string(record.index);
}

traces::Slice slice_of(const ReportInput& in, const hw::InstructionRecord& record, Cycles begin) {
  traces::Slice slice{record.core, record.queue, slice_name(in, record), begin, record.finish, {}};
  slice.args = {{"index", std::to_string(record.index)},
                {"start_cycle", std::to_string(record.start)},
                {"finish_cycle", std::to_string(record.finish)}};
  if (const isa::InstructionInfo* info = info_of(in.program, record)) {
    if (!info->tile.empty()) slice.args.emplace_back("tile", info->tile);
    if (record.dram_read + record.dram_write > 0) slice.args.emplace_back("kind", isa::traffic_name(info->kind));
  }
  if (record.dram_read + record.dram_write > 0) {
    slice.args.emplace_back("bytes", std::to_string(record.dram_read + record.dram_write));
  }
  for (std::size_t i = 0; i < kStallCauses; ++i) {
    if (record.stall[i] != 0) {
      slice.args.emplace_back(std::string("wait ") + stall_name(static_cast<StallCause>(i)),
                              std::to_string(record.stall[i]));
    }
  }
  return slice;
}

void add_channels(const ReportInput& in, traces::Timeline& out) {
  if (in.dram_slices.empty()) return;
  const int chip_process = static_cast<int>(in.chip.cores);
  out.processes.emplace_back(chip_process, "chip");
  for (int c = 0; c < in.chip.dram.channels; ++c) {
    out.threads.push_back({{chip_process, kFirstChannelThread + c}, "dram channel " + std::to_string(c)});
  }
  for (const DramSlice& s : in.dram_slices) {
    traces::Slice slice{chip_process, kFirstChannelThread + s.channel, s.name, s.begin, s.end, {}};
    if (s.bytes > 0) slice.args.emplace_back("data", std::to_string(s.bytes) + " bytes");
    out.slices.push_back(slice);
  }
}

/// Average DRAM bandwidth in GB/s over 256 equal windows, each instruction's bytes spread over its service time.
void add_bandwidth(const ReportInput& in, traces::Timeline& out) {
  constexpr Cycles kWindows = 256;
  const Cycles width = std::max<Cycles>(1, ceil_div(in.result.cycles, kWindows));
  std::vector<double> bytes(static_cast<std::size_t>(kWindows) + 1, 0.0);
  for (const traces::Slice& slice : out.slices) {
    const auto arg =
        std::find_if(slice.args.begin(), slice.args.end(), [](const auto& a) { return a.first == "bytes"; });
    if (arg == slice.args.end() || slice.end == slice.begin) continue;
    const double rate = std::stod(arg->second) / static_cast<double>(slice.end - slice.begin);
    for (Cycles at = slice.begin; at < slice.end;) {
      const Cycles next = std::min(slice.end, (at / width + 1) * width);
      bytes[static_cast<std::size_t>(at / width)] += rate * static_cast<double>(next - at);
      at = next;
    }
  }
  for (Cycles w = 0; w * width < in.result.cycles; ++w) {
    const double seconds = static_cast<double>(width) / static_cast<double>(in.chip.clock_hz);
    out.counters.push_back({0, "DRAM GB/s", w * width, bytes[static_cast<std::size_t>(w)] / seconds / 1e9});
  }
}

/// Instructions popped and not finished, per unit.
void add_in_flight(const ReportInput& in, traces::Timeline& out) {
  std::map<std::pair<int, int>, std::map<Cycles, int>> changes;
  for (const hw::InstructionRecord& r : in.result.instructions) {
    ++changes[{r.core, r.queue}][r.start];
    --changes[{r.core, r.queue}][r.finish];
  }
  for (const auto& [place, steps] : changes) {
    int value = 0;
    for (const auto& [time, delta] : steps) {
      if (delta == 0) continue;
      value += delta;
      out.counters.push_back(
          {place.first, unit_name(in.chip, place.first, place.second) + " in flight", time, double(value)});
    }
  }
}

/// One SRAM line's content: from the first write to the last read before it is written anew.
struct LineLife {
  Cycles begin = -1;
  Cycles last_use = 0;
  bool read = false;
};

/// Bytes of SRAM that hold something still to be read, from what the instructions touch and when.
class Occupancy {
 public:
  explicit Occupancy(const isa::ChipConfig& chip)
      : chip_(chip), lines_(static_cast<std::size_t>(chip.sram.banks * chip.sram.size_bytes / chip.sram.line_bytes)) {}

  void use(const isa::Instruction& instruction, const hw::InstructionRecord& record) {
    for (const semantics::Range& range : semantics::footprint(instruction, chip_)) {
      if (range.dram) continue;
      const std::int64_t last =
          std::min<std::int64_t>((range.end - 1) / chip_.sram.line_bytes, static_cast<std::int64_t>(lines_.size()) - 1);
      for (std::int64_t i = range.begin / chip_.sram.line_bytes; i <= last; ++i) {
        touch(lines_[static_cast<std::size_t>(i)], range.write, record);
      }
    }
  }
  /// Change of occupied lines at each cycle.
  std::map<Cycles, std::int64_t> finish() {
    for (LineLife& line : lines_) close(line);
    return changes_;
  }

 private:
  void touch(LineLife& line, bool write, const hw::InstructionRecord& record) {
    if (write && line.read) close(line);
    if (line.begin < 0) line.begin = record.start;
    line.read = line.read || !write;
    line.last_use = std::max(line.last_use, record.finish);
  }
  void close(LineLife& line) {
    if (line.begin >= 0) {
      ++changes_[line.begin];
      --changes_[line.last_use];
    }
    line = {};
  }

  const isa::ChipConfig& chip_;
  std::vector<LineLife> lines_;
  std::map<Cycles, std::int64_t> changes_;
};

void add_occupancy(const ReportInput& in, traces::Timeline& out) {
  std::map<std::array<int, 3>, std::vector<isa::Instruction>> decoded;
  for (std::size_t s = 0; s < in.program.sections.size(); ++s) {
    for (const isa::QueueStream& stream : in.program.sections[s].streams) {
      decoded[{static_cast<int>(s), stream.core, stream.queue}] = isa::decode_stream(stream);
    }
  }
  std::vector<const hw::InstructionRecord*> order;
  for (const hw::InstructionRecord& record : in.result.instructions) order.push_back(&record);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) { return a->finish < b->finish; });
  for (int core = 0; core < in.chip.cores; ++core) {
    Occupancy occupancy(in.chip);
    for (const hw::InstructionRecord* r : order) {
      if (r->core != core) continue;
      const auto& stream = decoded[{r->section, r->core, r->queue}];
      if (r->index < stream.size()) occupancy.use(stream[r->index], *r);
    }
    std::int64_t lines = 0;
    for (const auto& [time, change] : occupancy.finish()) {
      lines += change;
      if (change != 0)
        out.counters.push_back({core, "SRAM KiB in use", time, double(lines * in.chip.sram.line_bytes) / 1024.0});
    }
  }
}

}  // namespace

traces::Timeline build_timeline(const ReportInput& in) {
  traces::Timeline out;
  out.clock_hz = in.chip.clock_hz;
  name_threads(in, out);
  std::map<std::pair<int, int>, Cycles> previous;
  for (const hw::InstructionRecord& record : in.result.instructions) {
    Cycles& last = previous[{record.core, record.queue}];
    out.slices.push_back(slice_of(in, record, std::max(record.start, last)));
    last = std::max(last, record.finish);
  }
  for (const hw::SectionResult& section : in.result.sections) {
    if (section.host) out.slices.push_back({0, kHostThread, section.name, section.start, section.end, {}});
  }
  add_channels(in, out);
  add_bandwidth(in, out);
  add_in_flight(in, out);
  add_occupancy(in, out);
  return out;
}

}  // namespace tessera::runtime
