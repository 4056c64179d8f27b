// One tile of a layer's output as an instruction: geometry first (enough for a cost function), then addresses.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/schedule/layer_graph.hpp"
#include "hw/common/error.hpp"
#include "isa/chip.hpp"
#include "isa/isa.hpp"

namespace tessera::compiler {

struct Rows {
  std::int64_t first = 0, end = 0;
  [[nodiscard]] std::int64_t count() const { return end - first; }
};

/// Output rows, channels (of the layer's own output, not of a Concat root) and columns of image n; columns begin on a
/// line.
struct Tile {
  std::int64_t n = 0;
  Rows rows;
  Rows channels;
  Rows columns{0, 0};  // none: all
};

/// A blocked map, or a part of one, in SRAM. A line buffer holds the last wrap_rows rows: a row lies where the row
/// wrap_rows before it lay.
struct SramView {
  std::int64_t line = 0;         // of row first_row of block first_block
  std::int64_t row_lines = 0;    // from row to row
  std::int64_t block_lines = 0;  // from block to block
  std::int64_t first_row = 0;
  std::int64_t first_block = 0;
  std::int64_t wrap_rows = 0;  // 0: not a line buffer
  Rows columns{0, 0};          // of the map that it holds, from a line on; none: all
  /// Row of the buffer where a row of the map lies.
  [[nodiscard]] std::int64_t slot(std::int64_t row) const {
    return wrap_rows == 0 ? row - first_row : (row - first_row) % wrap_rows;
  }
  [[nodiscard]] std::int64_t line_of(std::int64_t row, std::int64_t block) const {
    return line + (block - first_block) * block_lines + slot(row) * row_lines;
  }
  /// The rows in runs that lie one behind the other.
  [[nodiscard]] std::vector<Rows> straight(const Rows& rows) const;
};

/// The operand that starts at `row` of `block`, at `column`, the first of a line.
[[nodiscard]] isa::SramTensor operand(const SramView& view, std::int64_t row, std::int64_t block, std::int64_t column,
                                      const isa::ChipConfig& chip);

/// Narrows into an instruction field; InternalError when it does not fit.
template <typename Field>
void put(Field& field, std::int64_t value) {
  field = static_cast<Field>(value);
  TESSERA_CHECK(static_cast<std::int64_t>(field) == value, value, " does not fit its instruction field");
}

/// Average over the whole map: one parameter entry, no window.
[[nodiscard]] bool global_average(const Layer& layer);

/// Input rows that the tile's output rows read, clipped to those that exist.
[[nodiscard]] Rows input_rows(const Layer& layer, const Rows& output);
/// The tile's columns, all if it names none.
[[nodiscard]] Rows output_columns(const Layer& layer, const Tile& tile);
/// Input columns that an instruction reads for output columns that begin on a line: from a line on, to the last that
/// exists. Where that is not the map's edge the first `wrong_columns` of its results see padding instead of the map.
[[nodiscard]] Rows input_columns(const Layer& layer, const Rows& output);
[[nodiscard]] std::int64_t wrong_columns(const Layer& layer);
/// The first input column on which an output column depends.
[[nodiscard]] std::int64_t first_column_read(const Layer& layer, std::int64_t column);
/// Rows and channels of operand 1 of a convolution, the residual: those of the result.
[[nodiscard]] inline bool is_residual(const Layer& layer, std::size_t operand) {
  return layer.kind == LayerKind::conv && operand == 1;
}
/// Rows of the operand's map that the tile's output rows read.
[[nodiscard]] Rows operand_rows(const Layer& layer, std::size_t operand, const Rows& output);
/// Input channels (of operand 0) that the tile's channels need.
[[nodiscard]] Rows input_channels(const Layer& layer, const Rows& output);

/// Everything but addresses and the tile fields gx, gy, t, order, pixel_shape.
[[nodiscard]] isa::Conv conv_geometry(const Layer& layer, const LayerGraph& graph, const Tile& tile);
/// Everything but addresses.
[[nodiscard]] isa::Edp edp_geometry(const Layer& layer, const LayerGraph& graph, const Tile& tile);

/// Channels at which a layer's output may be cut: multiples of this (0: not at all), so that each piece's weights and
/// parameters start on lines and its maps on channel blocks.
[[nodiscard]] std::int64_t channel_granule(const Layer& layer, const isa::ChipConfig& chip);

}  // namespace tessera::compiler
