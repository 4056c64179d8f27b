// Row-wise partial spills: of a map that goes through DRAM the first rows may stay in SRAM. A tile whose rows all stay
// is written and read there; any other goes through DRAM whole, so that none is put together from two places: the last
// rows that stay and that such a tile reads as its halo go to DRAM too. The same rows of every image. Leaves out: maps
// that moves, products or host steps touch, imported maps, several cores; which maps are worth it (row_keeper.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/schedule/group.hpp"
#include "compiler/schedule/layer_graph.hpp"
#include "compiler/schedule/tile.hpp"

namespace tessera::compiler {

/// Whether first rows stay where there is room: if fewer bytes move then, and, if_cheaper, in no more cycles (roughly).
enum class RowsStay : std::uint8_t { never, if_cheaper, if_fewer_bytes };

/// Of a map that goes through DRAM.
struct KeptRows {
  std::int64_t rows = 0;         // the first ones, that stay in SRAM
  std::int64_t stored_from = 0;  // rows from this one on go to DRAM
};

/// Which rows of a map are touched together.
struct RowUses {
  bool possible = false;                             // only tiles of whole rows touch it, in one section
  std::vector<Rows> within;                          // by chunks of the group that writes it: all stay, or none does
  std::vector<Rows> loaded;                          // by chunks of other groups, which read them from DRAM
  std::vector<std::pair<int, std::size_t>> readers;  // layers alone and their operand: cut where it needs be
};

/// `groups`: in order; layers in none run one by one. `spilled`: by root, not in SRAM as a whole.
[[nodiscard]] RowUses row_uses(const LayerGraph& graph, const std::vector<GroupPlan>& groups,
                               const std::vector<GroupTrace>& traces, int root);

/// What is stored when the first `rows` rows stay; nothing if a chunk would need rows from both places.
[[nodiscard]] std::optional<KeptRows> keep_rows(const LayerGraph& graph, const RowUses& uses, std::int64_t rows);

/// Output rows of the layer for which the operand's first `kept` rows suffice.
[[nodiscard]] std::int64_t rows_within(const Layer& layer, std::size_t operand, std::int64_t kept);

}  // namespace tessera::compiler
