// Transposes one behind the other are one.
#pragma once

#include <cstddef>

#include "compiler/ir/graph.hpp"

namespace tessera::compiler {

/// A Transpose whose only reader is a Transpose takes over its permutation; one without effect is left to
/// remove_identity. Returns how many places changed.
std::size_t merge_transposes(Graph& graph);

}  // namespace tessera::compiler
