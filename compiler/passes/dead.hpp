// Removes what no graph output depends on.
#pragma once

#include <cstddef>

#include "compiler/ir/graph.hpp"

namespace tessera::compiler {

/// Removes nodes without a reader, then constants and values that nobody names; graph inputs stay. Returns how many
/// nodes went.
std::size_t remove_dead(Graph& graph);

}  // namespace tessera::compiler
