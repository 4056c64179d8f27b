// Regions of a fusion group: rectangles of the maps that leave it, each run from its inputs on by itself, so that line
// buffers are as wide as the region needs. What two regions both read of a map between, the halo, is made (or loaded)
// in both. Decided here: from the rectangle of what leaves backwards, which rows and columns every layer makes and
// every map must have. Leaves out: in which order rows are made (group.hpp).
//
// Columns begin on lines, since operands do. A convolution of stride s that makes columns [o, e) reads its input from
// column s o on with its own padding at the left: but at the map's edge its first ceil(pad / s) columns see padding
// where the map goes on and are wrong. They are made and not used: o lies so far to the left that what is used is
// right.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/schedule/layer_graph.hpp"
#include "compiler/schedule/tile.hpp"
#include "isa/chip.hpp"

namespace tessera::compiler {

struct Area {
  Rows rows, columns;
  [[nodiscard]] std::int64_t pixels() const { return rows.count() * columns.count(); }
};

struct Region {
  int first_layer = 0;      // of the group
  std::vector<Area> made;   // by layer of the group: of its output, columns from a line on
  std::vector<Area> there;  // by root: that is written or loaded; empty: none
  std::vector<Area> own;    // by root: of what leaves the group, the region's part
  std::vector<Area> valid;  // by root: the part of `there` that readers use
  [[nodiscard]] const Area& made_by(int layer) const { return made[static_cast<std::size_t>(layer - first_layer)]; }
};

/// How a group's outputs are cut: into so many pieces of rows and of columns.
struct Cuts {
  std::int64_t rows = 1, columns = 1;
  [[nodiscard]] bool whole() const { return rows == 1 && columns == 1; }
};

/// Most pieces into which layers [first, end) can be cut; 1, 1: not at all.
[[nodiscard]] Cuts most_cuts(const LayerGraph& graph, int first, int end, const isa::ChipConfig& chip);

/// Columns that a layer makes in one of so many strips, halo aside.
[[nodiscard]] std::int64_t strip_width(const Layer& layer, std::int64_t strips, const isa::ChipConfig& chip);

/// Piece (row, column) of layers [first, end).
[[nodiscard]] Region region_of(const LayerGraph& graph, int first, int end, const Cuts& cuts, std::int64_t row,
                               std::int64_t column, const isa::ChipConfig& chip);

}  // namespace tessera::compiler
