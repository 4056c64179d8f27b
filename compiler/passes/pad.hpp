// A Pad of zeros belongs to the convolution that reads it.
#pragma once

#include <cstddef>

#include "compiler/ir/graph.hpp"

namespace tessera::compiler {

/// Constant mode, value 0, only spatial axes, none negative, and the Conv is the only reader. Returns how many places
/// changed.
std::size_t fold_pad(Graph& graph);

}  // namespace tessera::compiler
