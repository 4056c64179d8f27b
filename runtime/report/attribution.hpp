// Sums the instruction records of a run by layer, group, unit and kind of traffic. The report and the timeline read it.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "runtime/report/report.hpp"

namespace tessera::runtime {

struct LayerTotals {
  int section = 0;
  Cycles start = 0;
  Cycles end = 0;
  Bytes dram_read = 0;
  Bytes dram_write = 0;
  std::map<std::string, Cycles> busy;  // unit -> service cycles of this layer's instructions, waits taken off
  std::array<Cycles, kStallCauses> stall{};
};

struct GroupSpan {
  std::string name;
  std::vector<std::string> layers;
  Cycles start = 0;
  Cycles end = 0;
  Bytes dram_read = 0;
  Bytes dram_write = 0;
  Cycles predicted = 0;  // what the compiler expects between the ends; 0: nothing
};

struct Attribution {
  std::vector<LayerTotals> layers;  // as Program::layers
  std::vector<GroupSpan> groups;    // tile [0, cycles) without gap
  std::array<Bytes, isa::kTrafficKinds> by_kind{};
  std::map<std::string, std::int64_t>
      useful_work;                // unit -> MACs (conv, gemm) or elements (edp) or bytes (load, store)
  Cycles first_frame_cycles = 0;  // first doorbell to the last interrupt of the first frame
};

[[nodiscard]] Attribution attribute(const ReportInput& input);

/// "conv0", or "core1.conv0" on a chip with several cores.
[[nodiscard]] std::string unit_name(const isa::ChipConfig& chip, int core, int queue);

/// Work a unit could do in one cycle: MACs, elements, or bytes; 0 when the notion makes no sense (cp, host).
[[nodiscard]] double unit_lanes(const std::string& unit, const isa::ChipConfig& chip);

/// The metadata of a record's instruction; nullptr for assembled programs without any.
[[nodiscard]] const isa::InstructionInfo* info_of(const isa::Program& program, const hw::InstructionRecord& record);

}  // namespace tessera::runtime
