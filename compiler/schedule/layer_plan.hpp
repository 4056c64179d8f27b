// How one layer (or one core's share of it) is cut into tiles: rows x output channels, which loop is outside, how a
// tile is split over the convolution engines. A small search over even cuts: the least of max(compute, LOAD, STORE)
// plus the first load and the last tile, by closed-form estimates; the caller then tries to place the buffers of the
// best ones.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "compiler/schedule/constants.hpp"
#include "compiler/schedule/group.hpp"
#include "compiler/schedule/layer_graph.hpp"
#include "compiler/schedule/tile.hpp"
#include "compiler/schedule/unit_cost.hpp"

namespace tessera::compiler {

/// How a layer's maps lie: some move through DRAM or a line buffer; all are in SRAM from its begin to its end; all are,
/// in halves that share no bank (map_order.hpp).
enum class MapsLie : std::uint8_t { elsewhere, whole, halved };

/// What surrounds the layer: which operands move through DRAM.
struct LayerSite {
  Rows rows, channels;  // the share of the output
  std::int64_t images = 1;
  std::vector<bool> input_streamed;  // by operand: read from DRAM tile by tile
  std::vector<bool> input_image;     // streamed from an NCHW image (import_plan.hpp)
  bool output_streamed = false;      // written to DRAM tile by tile (also when the layer's map stays in SRAM too)
  std::vector<double> input_share;   // by operand: the part of its rows that do not stay in SRAM; empty: 1
  double output_share = 1;           // the same of the output
  std::int64_t row_cuts = 0;         // where rows that stay end: no tile lies on both sides
  bool output_resident = false;      // its map lies in SRAM: a tile takes no buffer of its own
  std::int64_t sram_lines = 0;       // of the core
  MapsLie maps = MapsLie::elsewhere;
  bool handover = false;  // a neighbour in the graph runs on another unit
  // Those, where all are layers on EDP beside a convolution; none: a tile counts as much as they may have left to do.
  std::vector<int> vector_neighbours;
  double byte_cycles = 0;  // what a byte of DRAM traffic counts in the ranking, beside the time it takes
  [[nodiscard]] bool streams() const {
    return output_streamed || std::find(input_streamed.begin(), input_streamed.end(), true) != input_streamed.end();
  }
};

/// The whole layer among its neighbours; `spilled`: by root, through DRAM.
[[nodiscard]] LayerSite layer_site(const LayerGraph& graph, int id, const std::vector<bool>& spilled,
                                   std::int64_t sram_lines);

/// What an instruction counts as in DRAM traffic, with its waits and signals.
inline constexpr double kInstructionBytes = 128;

/// How the engines share a layer: not at all (tiles in turn), each tile by rows or by output channels, or by images,
/// each engine with images of its own, which lie in other banks. By rows and by images also `copied`: each with a copy
/// of the weights, and by images `crossed`: every engine begins with another part of the output channels, so that they
/// read different weights.
enum class EngineSplit : std::uint8_t { none, rows, rows_copied, channels, images, copied, crossed };
[[nodiscard]] constexpr bool by_images(EngineSplit split) {
  return split == EngineSplit::images || split == EngineSplit::copied || split == EngineSplit::crossed;
}
[[nodiscard]] constexpr bool by_rows(EngineSplit split) {
  return split == EngineSplit::rows || split == EngineSplit::rows_copied;
}
/// Each engine has a copy of the weights, in banks of its own.
[[nodiscard]] constexpr bool copies_weights(EngineSplit split) {
  return split == EngineSplit::copied || split == EngineSplit::rows_copied;
}
[[nodiscard]] const char* split_name(EngineSplit split);

/// Images that an engine has where each has its own: those of engine e begin at e times this.
[[nodiscard]] std::int64_t engine_images(std::int64_t images, const isa::ChipConfig& chip);

struct LayerPlan {
  std::int64_t tile_rows = 1, tile_channels = 1;
  bool channels_outer = true;  // weights stay while rows pass; else rows stay while weights pass
  bool params_whole = true;    // parameters of all channels with one LOAD
  EngineSplit split = EngineSplit::none;
  double estimate = 0;  // cycles
  double bytes = 0;     // of DRAM traffic, instructions left out
  double instruction_bytes = 0;
  std::vector<std::int64_t> buffers;  // lines of each buffer of one tile
  bool double_buffered = false;
  [[nodiscard]] std::int64_t lines() const;  // of all buffers
};

/// Plans that are legal, cheapest first; each wants its buffers once, or twice if double_buffered.
[[nodiscard]] std::vector<LayerPlan> layer_plans(const Layer& layer, const LayerGraph& graph,
                                                 const LayerConstants& constants, const LayerSite& site,
                                                 UnitCost& cost);

/// What a core has of a layer that runs alone, by cores; one core: all of it. Each takes a half, by rows or by output
/// channels, whichever half is estimated to be done sooner.
struct CoreShare {
  Rows rows, channels;
};
[[nodiscard]] std::vector<CoreShare> core_shares(const Layer& layer, const LayerGraph& graph,
                                                 const LayerConstants& constants, std::int64_t sram_lines,
                                                 UnitCost& cost);

/// Of the time that an image takes on one engine, what it counts where each engine has images of its own.
[[nodiscard]] double image_share(const Layer& layer, const isa::ChipConfig& chip);

inline constexpr double kRowsMeeting = 1.1;  // of the cycles of engines that share a tile by rows, conflicts included

/// Cycles of what cannot be run.
inline constexpr double kNoPlan = 1e300;

/// In how many parts, one behind the other, an engine does a tile.
[[nodiscard]] std::int64_t tile_parts(const Layer& layer, const Tile& tile, EngineSplit split,
                                      const isa::ChipConfig& chip);

/// A part of a convolution's tile and the engine that takes it; -1: whichever's turn it is.
struct EnginePiece {
  Tile tile;
  std::int64_t engine = -1;
};
[[nodiscard]] std::vector<EnginePiece> engine_pieces(const Layer& layer, const Tile& tile, EngineSplit split,
                                                     const isa::ChipConfig& chip);
/// Cycles until the last engine is done with a tile, by the engine's own cost function; by images the tile's share of
/// the time that all images take. kNoPlan: not legal.
[[nodiscard]] double split_cycles(const Layer& layer, const LayerGraph& graph, const Tile& tile, EngineSplit split,
                                  UnitCost& cost, MapsLie maps = MapsLie::elsewhere);
struct SplitChoice {
  EngineSplit split = EngineSplit::none;
  double cycles = 0;
};
/// `images`: the engines may have images of their own.
[[nodiscard]] SplitChoice best_split(const Layer& layer, const LayerGraph& graph, const Tile& tile, bool images,
                                     UnitCost& cost, MapsLie maps = MapsLie::elsewhere);

/// How the engines share all chunks of layer `id` of a group: as is best for one in the middle.
[[nodiscard]] EngineSplit member_split(const GroupPlan& plan, const Layer& layer, const LayerGraph& graph, int id,
                                       UnitCost& cost);

/// Output channels of layer `id` of a group whose weights are there at a time: all, or, streamed, part by part.
[[nodiscard]] std::vector<Rows> weight_parts(const GroupPlan& plan, const Layer& layer, int id,
                                             const isa::ChipConfig& chip);

/// Cuts a range into `parts` pieces at multiples of `granule` from its start, as even as that allows; no empty pieces.
[[nodiscard]] std::vector<Rows> cut(const Rows& range, std::int64_t parts, std::int64_t granule);

}  // namespace tessera::compiler
