// How a map that stays in SRAM lies, so that two convolution engines that share a layer read and write other banks: its
// rows outside (each row with all its channel blocks) where they take rows, its channel blocks outside where they take
// channels; and where its second half begins. Leaves out: which bank that is (compiler/allocate).
#pragma once

#include <cstdint>

#include "compiler/schedule/layer_graph.hpp"
#include "compiler/schedule/tile.hpp"
#include "isa/chip.hpp"

namespace tessera::compiler {

/// Maps that live at the same time take at most half of the SRAM, so that what streams is not crowded by maps whose
/// halves begin banks.
[[nodiscard]] bool maps_leave_room(const LayerGraph& graph, const isa::ChipConfig& chip);

/// Lines from row to row of `rows` rows of so many lines that are spread over up to `banks` banks: as many whole rows
/// as fit fill a bank, or the rows lie dense where that takes as many banks. At most what an instruction can say.
[[nodiscard]] std::int64_t row_pitch(std::int64_t rows, std::int64_t row_lines, std::int64_t banks,
                                     const isa::ChipConfig& chip);

struct MapOrder {
  bool rows_outside = false;
  std::int64_t row_lines = 0, block_lines = 0;  // from row to row, from block to block
  std::int64_t lines = 0;                       // from the first to the last
  std::int64_t half_lines = 0;                  // the second half begins here; 0: it has none
};

/// Of an image of the root: rows spread over `banks` banks (Placement), in halves if wished.
[[nodiscard]] MapOrder map_order(const LayerGraph& graph, int root, bool halved, std::int64_t banks,
                                 const isa::ChipConfig& chip);

/// Of `rows` rows of so many columns of the root, one image, spread over `banks` banks (Placement); rows too long for
/// an instruction's pitch lie block by block.
[[nodiscard]] MapOrder line_order(const Root& root, std::int64_t rows, const Rows& columns, std::int64_t banks,
                                  const isa::ChipConfig& chip);

}  // namespace tessera::compiler
