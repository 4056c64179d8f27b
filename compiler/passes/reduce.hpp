// A mean over a map's rows and columns is a global average pool.
#pragma once

#include <cstddef>

#include "compiler/ir/graph.hpp"

namespace tessera::compiler {

/// ReduceMean over exactly the spatial axes of [N, C, H, W] becomes GlobalAveragePool, and a Reshape where the axes do
/// not stay. Returns how many places changed.
std::size_t reduce_to_pool(Graph& graph);

}  // namespace tessera::compiler
