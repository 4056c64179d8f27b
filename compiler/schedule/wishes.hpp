// What the user forces: sections, tiles, maps that stay in SRAM. Resolved against the layer graph and marked in it
// before anything is scheduled, so that search and walk see marks and no names. Every wish that cannot be is a
// UserError in terms of its option.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/schedule/layer_graph.hpp"
#include "isa/chip.hpp"

namespace tessera::compiler {

/// `--tile NODE=HxW`: H output rows of W columns; of fewer than all, the node's group runs in strips of at most W,
/// halos aside.
struct TileWish {
  std::string node;
  std::int64_t rows = 0, columns = 0;
};
/// From "NODE=HxW"; UserError.
[[nodiscard]] TileWish parse_tile_wish(const std::string& text);

struct Wishes {
  std::vector<std::string> boundaries;  // nodes that begin a section
  std::vector<std::string> alone;       // nodes with a section of their own
  std::vector<TileWish> tiles;
  std::vector<std::string> keep;  // nodes whose result stays in SRAM as a whole
};

void apply_wishes(LayerGraph& graph, const Wishes& wishes, const isa::ChipConfig& chip);

/// A schedule that has no strips refuses wishes for them; `fused`: it would have, had they found room.
void refuse_strips(const LayerGraph& graph, bool fused);

/// The wishes that bind what layer `id` finds in SRAM, as the beginning of a message ("--keep conv1: "); "" if none.
[[nodiscard]] std::string wishes_at(const LayerGraph& graph, int id);

}  // namespace tessera::compiler
