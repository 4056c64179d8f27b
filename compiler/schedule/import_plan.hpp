// How rows of an NCHW image in DRAM come into a map. LOAD can lay them pixel by pixel: a line write for each channel of
// its few pixels. Or LOAD brings rows nearly as they lie, and REORDER lays them: some columns of several channels side
// by side in a line, so that REORDER has all of those channels' bytes of a line of the map in one line. More channels
// in a line are fewer steps of REORDER and shorter pieces for LOAD.
#pragma once

#include <cstdint>

#include "compiler/schedule/layer_graph.hpp"
#include "isa/chip.hpp"

namespace tessera::compiler {

struct ImportPlan {
  std::int64_t channels = 0;     // of the image side by side in a line; 0: LOAD lays the pixels
  std::int64_t columns = 0;      // of each of them, whole lines of the map
  double load = 0, reorder = 0;  // cycles for a row of all channels
  [[nodiscard]] bool by_reorder() const { return channels > 0; }
  [[nodiscard]] double cycles() const { return load > reorder ? load : reorder; }
};

/// Channels, height and width of the imported map's image.
[[nodiscard]] MapShape image_shape(const Root& root);

/// The cheapest for the imported map; only `nchw` images can come by REORDER.
[[nodiscard]] ImportPlan import_plan(const Root& root, bool nchw, const isa::ChipConfig& chip,
                                     double dram_bytes_per_cycle);

}  // namespace tessera::compiler
