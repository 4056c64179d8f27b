// From a frozen quantised graph to a program for one chip: layers, schedule, allocation, emission. The front end
// (import, passes, quantise) stands before it; the command calls both.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "compiler/ir/graph.hpp"
#include "compiler/ir/qgraph.hpp"
#include "compiler/schedule/fusion_search.hpp"
#include "compiler/schedule/wishes.hpp"
#include "compiler/schedule/work.hpp"
#include "isa/chip.hpp"
#include "isa/program/program.hpp"

namespace tessera::compiler {

enum class ScheduleKind : std::uint8_t {
  naive,  // layer by layer, one unit at a time
  layer,  // units overlapped, maps that fit stay in SRAM
  fused   // groups of layers run stripe by stripe where that is predicted to be faster
};
/// "naive", "layer", "fused", or "auto", the best there is: fused; UserError names what is legal.
[[nodiscard]] ScheduleKind parse_schedule(const std::string& text);

struct CompileOptions {
  ScheduleKind schedule = ScheduleKind::fused;
  bool timing_only = false;
  bool nhwc_inputs = false;
  std::set<std::string> no_passes;  // names of passes that are switched off (passes/integer_passes.hpp)
  FusionOptions fusion;             // fused
  Wishes wishes;
  std::uint64_t seed = 0;  // recorded
};

struct Compiled {
  isa::Program program;
  Graph
      schedule_view;  // tiles and addresses as nodes of the domain "tessera", for the IR dump of the stage "scheduled"
};

/// UserError: what the chip cannot hold or the backend cannot place.
[[nodiscard]] Compiled compile(const QGraph& graph, const isa::ChipConfig& chip, const CompileOptions& options);

}  // namespace tessera::compiler
