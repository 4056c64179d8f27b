// Reshape, Flatten, Squeeze and Unsqueeze all keep the order of elements; a chain of them is one Reshape.
#pragma once

#include <cstddef>

#include "compiler/ir/graph.hpp"

namespace tessera::compiler {

/// Merges chains whose inner values have no other reader. Returns how many places changed.
std::size_t merge_reshapes(Graph& graph);

}  // namespace tessera::compiler
