// Which maps that go through DRAM keep how many of their first rows in SRAM: those that a finished schedule leaves room
// for. Map by map, the most bytes first, as many rows as the walk finds room for.
#pragma once

#include <functional>
#include <optional>

#include "compiler/schedule/kept_rows.hpp"
#include "compiler/schedule/walk.hpp"

namespace tessera::compiler {

/// What a walk with these choices costs; nothing: no room. Notes in them where it met a fragmented SRAM.
using WalkCost = std::function<std::optional<Walk::Cost>(WalkChoices&)>;

/// Fills choices.kept.
void fill_sram(const LayerGraph& graph, const isa::ChipConfig& chip, const WalkCost& cost_of, RowsStay when,
               WalkChoices& choices);

}  // namespace tessera::compiler
