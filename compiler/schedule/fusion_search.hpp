// Which layers run as one group and which maps stay in SRAM: dynamic programming over the cuts between layers. A state
// is a cut with the maps that live across it, each in SRAM or in DRAM; a step is one layer by its layer plan, or a
// group of layers in so many steps. A step is possible when its maps, line buffers and weights fit together; it costs
// the time of the unit or DRAM that is busy longest, by the blocks' own cost functions, and a part of its DRAM time
// even when that is hidden. Addresses are the walk's: where it finds no room although the sizes fit, the margin of
// those layers grows and the search repeats.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "compiler/schedule/constants.hpp"
#include "compiler/schedule/group.hpp"
#include "compiler/schedule/group_buffers.hpp"
#include "compiler/schedule/layer_graph.hpp"
#include "compiler/schedule/layer_plan.hpp"
#include "compiler/schedule/unit_cost.hpp"

namespace tessera::compiler {

/// What the user wishes of the search.
struct FusionOptions {
  int effort = 1;            // 0..3: longer groups, more stripe heights
  bool whole_maps = true;    // false: between layers only line buffers and DRAM, to show what fusion alone does
  bool weights_stay = true;  // false: those of groups come again for each chunk, to show what that costs
  bool cut_columns = true;   // groups may run in strips of columns
  int deepest = 0;           // most layers of a group; 0: as many as the effort allows
  std::int64_t strips = 0;   // of every group whose maps can be cut so; 0: as is best
  double byte_share = 8.0;   // of the time that DRAM traffic takes, what it counts even when it is hidden
  double import_wait = 1.2;  // of the cycles of an image's lines: LOAD and REORDER wait for room and for DRAM
  std::vector<int> alone;    // layers in no group

  [[nodiscard]] auto key() const {
    return std::make_tuple(effort, whole_maps, weights_stay, cut_columns, deepest, strips, byte_share, import_wait,
                           alone);
  }
};

struct FusionPlan {
  bool found = false;
  double cost = 0;
  std::vector<bool> spilled;      // by root
  std::vector<GroupPlan> groups;  // layers in none run by their layer plan
};

/// What is known of groups, whatever they are chosen by: of one graph, and copies of weights or none.
struct GroupMemory {
  struct RootFact {
    int root = -1;
    std::int64_t buffer_lines = 0;
    BufferUse use;
    double loaded = 1;                                   // of the map, halos of regions more than once
    bool written = false, read = false, inside = false;  // inside: nobody else touches it
  };
  struct GroupFact {
    std::vector<RootFact> roots;
    std::vector<int> in_place;     // layers
    std::int64_t least_lines = 0;  // every map a line buffer, weights
    std::int64_t weight_lines = 0;
    double constant_bytes = 0, instruction_bytes = 0;
    double streamed_bytes = 0;        // weights that come again for each chunk
    std::size_t front = 0, tail = 0;  // chunks, as in GroupTrace
    bool timed = false;
    double conv = 0, edp = 0;  // cycles of an image
  };
  /// Rows that a layer makes at once, and its cycles in all then.
  struct ChunkRows {
    std::int64_t rows = 1;
    double cycles = 0;
    double gain = 0;       // cycles a line, to the next choice that gains most; 0: none
    std::size_t next = 0;  // that one
  };

  std::map<std::array<int, 5>, GroupPlan> plans;              // first, end, level, together, strips
  std::map<std::array<int, 3>, std::vector<Region>> regions;  // first, end, strips
  // First, end, level, ahead, together, lead, strips, streamed layers.
  std::map<std::array<int, 8>, GroupFact> facts;
  // Layer, rows, columns, images together.
  std::map<std::tuple<int, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>, double> chunk_cycles;
  std::map<std::tuple<int, std::int64_t, std::int64_t>, std::vector<ChunkRows>> chunk_choices;  // together, strips
};

class FusionSearch {
 public:
  FusionSearch(const LayerGraph& graph, const Constants& constants, UnitCost& cost, GroupMemory& memory,
               const FusionOptions& options);

  /// `margin`: by layer, the part of the SRAM that is left free while it runs.
  [[nodiscard]] FusionPlan best(std::int64_t sram_lines, const std::vector<double>& margin);

 private:
  // By level: the part that is gained of the cycles that more rows at once can gain.
  static constexpr std::array<double, 8> kGains = {1.0, 0.98, 0.95, 0.9, 0.8, 0.6, 0.3, 0.0};
  static constexpr std::int64_t kMostWeights = 3;  // of the SRAM, that the weights of a group are

  using RootFact = GroupMemory::RootFact;
  using GroupFact = GroupMemory::GroupFact;
  using ChunkRows = GroupMemory::ChunkRows;
  struct State {
    std::vector<int> spilled;  // of the roots that live across the cut, ascending
    double cost = 0;
    double ahead = 0;  // cycles of DRAM traffic that are done before their layers begin
    int from_cut = -1, from_state = -1;
    GroupPlan group;  // steps 0: a layer by its layer plan
    std::vector<int> newly_spilled;
  };
  using LayerKey = std::pair<int, std::vector<bool>>;

  [[nodiscard]] const Layer& layer(int id) const { return graph_.layers[static_cast<std::size_t>(id)]; }
  [[nodiscard]] const Root& root(int id) const { return graph_.roots[static_cast<std::size_t>(id)]; }
  [[nodiscard]] std::int64_t map_lines(int root) const { return map_lines_[static_cast<std::size_t>(root)]; }
  [[nodiscard]] double map_bytes(int root) const;
  [[nodiscard]] std::vector<int> touched(int first, int end) const;
  const GroupPlan& group_plan(int first, int end, int level, std::int64_t together, std::int64_t strips);
  const std::vector<Region>& regions(const GroupPlan& plan);
  [[nodiscard]] GroupPlan whole_maps_plan(int first, int end);
  [[nodiscard]] int lead_layer(int first, int end) const;
  [[nodiscard]] std::int64_t buffered_lines(const GroupPlan& plan, const GroupFact& fact,
                                            const std::vector<int>& spilled) const;
  [[nodiscard]] std::int64_t constant_lines(int id) const;
  [[nodiscard]] std::int64_t copy_lines(const GroupPlan& plan, int id);
  void add_constants(const GroupPlan& plan, GroupFact& fact);
  [[nodiscard]] std::int64_t part_lines(const GroupPlan& plan, int id) const;
  [[nodiscard]] GroupPlan few_steps(int first, int end, std::int64_t steps) const;
  [[nodiscard]] std::int64_t parts_of(int id) const;
  void stream_if_wished(GroupPlan& plan) const;
  void extend_by_streaming(int cut, int state, int end);
  void try_streamed(int cut, int state, const GroupPlan& plan);
  [[nodiscard]] double saved_bytes(int first, int end) const;
  GroupFact& fact(const GroupPlan& plan);
  [[nodiscard]] double chunk_cycles(int id, const Area& area, std::int64_t together);
  void weigh_steps(int id, std::vector<ChunkRows>& choices) const;
  [[nodiscard]] std::vector<std::int64_t> chunk_heights(std::int64_t height, bool conv) const;
  const std::vector<ChunkRows>& chunk_choices(int id, std::int64_t together, std::int64_t strips);
  [[nodiscard]] double rows_lines(int id, std::int64_t rows) const;
  double area_cycles(int id, const Area& area, std::int64_t rows, std::int64_t together);
  struct Traffic {
    double bytes = 0;
    double imports = 0;  // cycles of LOAD and REORDER for an image
  };
  [[nodiscard]] Traffic group_traffic(const GroupPlan& plan, const GroupFact& f, const std::vector<int>& spilled) const;
  const std::vector<GroupPlan>& strip_plans(int first, int end);
  void time_group(const GroupPlan& plan, GroupFact& fact);
  [[nodiscard]] double image_cycles(const GroupPlan& plan, const GroupFact& fact, double imports) const;
  void extend(int cut, int state);
  void extend_by_layer(int cut, int state);
  void extend_by_groups(int cut, int state);
  int try_levels(int cut, int state, int end, std::int64_t strips);
  [[nodiscard]] std::int64_t wished_strips(int cut, int end) const;
  void try_group(int cut, int state, const GroupPlan& plan);
  [[nodiscard]] static State follow(const State& from, int cut, int state, const GroupPlan& plan,
                                    const std::vector<int>& live, const std::vector<int>& newly_spilled);
  void offer(int cut, State next);
  /// Calls visit(spilled outliving roots) for the placements of roots that are new in [first, end) and live on.
  template <typename Visit>
  void placements(int first, int end, const std::vector<int>& before, Visit visit) const;
  [[nodiscard]] std::int64_t resident_lines(int first, int end, const std::vector<int>& spilled,
                                            const std::vector<int>& in_place) const;
  [[nodiscard]] std::int64_t room(int first, int end) const;
  /// What a step of the search does to units and DRAM.
  struct Load {
    double busy = 0;         // cycles of the unit that is busy longest
    double bytes = 0;        // of DRAM traffic
    double first_bytes = 0;  // the part of it that must be there at the beginning
    std::int64_t free_lines = 0;
  };
  void add(State& state, const Load& load) const;
  const Load& shared_load(int id);
  const std::vector<LayerPlan>& plans(int id, const std::vector<bool>& spilled);

  const LayerGraph& graph_;
  const Constants& constants_;
  UnitCost& cost_;
  const isa::ChipConfig& chip_;
  GroupMemory& memory_;
  FusionOptions options_;
  std::vector<std::int64_t> map_lines_;                                // by root, whole
  std::map<std::pair<int, int>, std::vector<GroupPlan>> strip_plans_;  // first, end
  std::map<LayerKey, std::vector<LayerPlan>> plans_;
  std::map<int, Load> shared_loads_;
  std::vector<std::vector<State>> cuts_;
  std::vector<std::map<std::vector<int>, std::size_t>> offered_;  // by cut: the state with these maps in DRAM
  std::int64_t sram_lines_ = 0;
  const std::vector<double>* margin_ = nullptr;
};

}  // namespace tessera::compiler
