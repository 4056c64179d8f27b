// Operators that pass their input on.
#pragma once

#include <cstddef>

#include "compiler/ir/graph.hpp"

namespace tessera::compiler {

/// Bypasses Identity, Dropout, Cast to the same type, Transpose without effect, Concat of one, Reshape, Expand and
/// Tile to the same shape, Slice of everything, Pad of nothing. Exact to the bit. Returns how many places changed.
std::size_t remove_identity(Graph& graph);

}  // namespace tessera::compiler
