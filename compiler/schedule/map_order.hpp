// How a map that stays in SRAM lies, so that two convolution engines that share a layer read and write other banks: its
// rows outside (each row with all its channel blocks) where they take rows, its channel blocks outside where they take
// channels; and where its second half begins. Leaves out: which bank that is (compiler/allocate).
#pragma once

#include <cstdint>

#include "compiler/schedule/layer_graph.hpp"
#include "isa/chip.hpp"

namespace tessera::compiler {

/// Maps that live at the same time take at most half of the SRAM, so that what streams is not crowded by maps whose
/// halves begin banks.
[[nodiscard]] bool maps_leave_room(const LayerGraph& graph, const isa::ChipConfig& chip);

struct MapOrder {
  bool rows_outside = false;
  std::int64_t row_lines = 0, block_lines = 0;  // from row to row, from block to block
  std::int64_t half_lines = 0;                  // the second half begins here; 0: it has none
};

/// Of an image of the root. Unless LayerGraph::halved: blocks outside, no halves.
[[nodiscard]] MapOrder map_order(const LayerGraph& graph, int root, const isa::ChipConfig& chip);

}  // namespace tessera::compiler
