// A fusion group: consecutive layers that run stripe by stripe, depth first. In each step every layer makes the rows
// that its readers in the group need next, so that a map between them is a line buffer of a few rows and not a map.
// Decided here: which rows when, and from that how high each buffer must be. Nothing is made twice: the halo stays in
// the buffer; only what several regions (region.hpp) need is made in each. Leaves out: whether a group pays
// (fusion_search.hpp), addresses (group_walk.cpp).
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/schedule/layer_graph.hpp"
#include "compiler/schedule/region.hpp"
#include "compiler/schedule/tile.hpp"
#include "isa/chip.hpp"

namespace tessera::compiler {

/// Layers [first, end) in `steps` steps.
struct GroupPlan {
  int first = 0, end = 0;
  std::int64_t steps = 1;
  int ahead = 0;  // chunks that LOAD works ahead, and, at most one, a layer on another unit than its reader's
  std::vector<std::int64_t> rows;  // by layer of the group: that it makes at once; empty: its part of a step
  int level = 0;                   // of the search, from high buffers and busy units to low buffers
  std::int64_t together = 1;       // images at a time, each in buffers of its own: one, or one an engine
  int lead = -1;  // layers in front of it, of which vector work is a part, are a step ahead of those behind; -1: none
  // By layer of the group: into how many parts its weights are cut, each of which is loaded for every chunk anew and
  // takes room only while it is used; 0: they stay from the first chunk to the last. Empty: all stay.
  std::vector<std::int64_t> streamed;
  [[nodiscard]] bool streams(int id) const {
    return !streamed.empty() && streamed[static_cast<std::size_t>(id - first)] > 0;
  }
  std::vector<double> row_cycles;  // by layer of the group: of a convolution's row, for an even order; empty: all alike
  Cuts cuts;                       // into regions; those of a row of them share buffers, the right one is first
};

/// Rows that layer `id` of the group makes at once.
[[nodiscard]] std::int64_t chunk_rows(const GroupPlan& group, const Layer& layer, int id);

/// Rows of one image (of one region of it) that a layer makes, or that come from DRAM into a line buffer.
struct GroupChunk {
  int layer = -1;  // that makes them, or for which they are loaded
  bool load = false;
  int root = -1;  // that the rows belong to
  Rows rows;
};

/// A map of the group that does not stay in SRAM as a whole.
struct LineBuffer {
  int root = -1;
  std::int64_t rows = 0;  // height
  Area map;               // the part of the map that passes through it
  bool streamed = false;  // its rows come from DRAM
  bool leaves = false;    // its rows go to DRAM for later layers
};

struct GroupTrace {
  std::vector<GroupChunk> chunks;  // of one image, in program order
  // With a lead: chunks of the first step's front, and where the last step's others begin. These go together where
  // images follow each other: `interleaved(...)` of the next image's front and what is left of this one.
  std::size_t front = 0, tail = 0;
  std::vector<LineBuffer> buffers;
  std::vector<int> in_place;  // layers whose overwritten_operand nobody reads any more when they write its rows
  [[nodiscard]] const LineBuffer* buffer_of(int root) const;
};

/// The operand over which the layer may write its result, element by element as it reads it: it is read for the last
/// time, has the result's place in a map of the result's shape, and each result depends on one of its elements. -1:
/// none.
[[nodiscard]] int overwritten_operand(const LayerGraph& graph, int layer);

/// A layer that can be part of a group: it makes rows of a map from rows of maps.
[[nodiscard]] bool can_fuse(const Layer& layer, const isa::ChipConfig& chip);

/// Whether layers [first, end) can be one.
[[nodiscard]] bool can_group(const LayerGraph& graph, int first, int end, const isa::ChipConfig& chip);

/// Piece (row, column) of the plan's cuts; uncut: all of every map.
[[nodiscard]] Region group_region(const LayerGraph& graph, const GroupPlan& group, std::int64_t row,
                                  std::int64_t column, const isa::ChipConfig& chip);

/// `spilled`: by root, not in SRAM as a whole.
[[nodiscard]] GroupTrace trace_group(const LayerGraph& graph, const GroupPlan& group, const Region& region,
                                     const std::vector<bool>& spilled);

/// The order in which two lists of chunks with these cycles go on evenly: true: the next of `front`.
[[nodiscard]] std::vector<bool> interleaved(const std::vector<double>& front, const std::vector<double>& back);

/// Cycles of the convolution engines for a chunk, by the plan; none for other units.
[[nodiscard]] double chunk_weight(const LayerGraph& graph, const GroupPlan& plan, const GroupChunk& chunk);

/// Lines of one image of a buffer of `rows` rows of columns of the root.
[[nodiscard]] std::int64_t buffer_lines(const Root& root, std::int64_t rows, const Rows& columns,
                                        const isa::ChipConfig& chip);
/// The same of all its columns.
[[nodiscard]] std::int64_t buffer_lines(const Root& root, std::int64_t rows, const isa::ChipConfig& chip);

}  // namespace tessera::compiler
