// The `layer` schedule (and, run one unit at a time by emission, `naive`): layers in graph order; maps that fit stay in
// SRAM until their last reader, the others go through DRAM tile by tile; weights stream ahead as far as the SRAM
// allows. The `fused` schedule: groups of layers run stripe by stripe with line buffers between them, chosen with what
// stays in SRAM by a search over both; a layer alone is a group as well. The result is a list of instructions in
// program order with addresses; waits and signals are emission's.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "compiler/ir/qgraph.hpp"
#include "compiler/schedule/fusion_search.hpp"
#include "compiler/schedule/kept_rows.hpp"
#include "compiler/schedule/placement.hpp"
#include "compiler/schedule/unit_cost.hpp"
#include "compiler/schedule/wishes.hpp"
#include "compiler/schedule/work.hpp"
#include "isa/chip.hpp"

namespace tessera::compiler {

struct ScheduleOptions {
  bool timing_only = false;  // no weights image
  bool nhwc_inputs = false;  // graph inputs lie as NHWC
  bool halved = true;        // engines that share a layer get halves of its maps in banks of their own (map_order.hpp)
  bool copies = true;        // engines that share a layer by rows may have copies of its weights
  bool short_neighbours = true;  // a convolution's tiles may be large where vector work beside it is short
  bool count_bytes = true;       // of DRAM, where tiles of the layer schedule are chosen
  Placement placement;
  Wishes wishes;
  bool fused = false;
  FusionOptions fusion;
  RowsStay rows_stay = RowsStay::if_cheaper;  // of maps that go through DRAM
};

/// What schedules of one graph with the same wishes ask again and again: cycles of instructions, plans of searches.
class ScheduleMemory {
 public:
  explicit ScheduleMemory(const isa::ChipConfig& chip) : cost(chip) {}

  UnitCost cost;
  /// All that a search depends on: its options, halved, copies, over how many banks rows of maps
  /// lie, the margins by layer, LayerDetours.
  using PlanKey = std::tuple<decltype(FusionOptions().key()), std::array<bool, 2>, std::int64_t, std::vector<double>,
                             std::set<std::string>, std::set<std::string>>;
  std::map<PlanKey, FusionPlan> plans;
  /// By copies and LayerDetours.
  std::map<std::tuple<bool, std::set<std::string>, std::set<std::string>>, GroupMemory> groups;
  std::int64_t written = 0;  // instructions of all walks: what the schedules have cost so far
};

/// UserError: what does not fit, with the layer, the operands' sizes and the chip's SRAM.
[[nodiscard]] Schedule make_schedule(const QGraph& graph, const isa::ChipConfig& chip, const ScheduleOptions& options);
/// For the memory's chip.
[[nodiscard]] Schedule make_schedule(const QGraph& graph, const ScheduleOptions& options, ScheduleMemory& memory);

}  // namespace tessera::compiler
