// Layer normalisation spelled out in small operators becomes one LayerNormalization, so that it is one host step and
// none of its intermediate values is rounded to int8.
#pragma once

#include <cstddef>

#include "compiler/ir/graph.hpp"

namespace tessera::compiler {

/// mean, x - mean, square, mean, + epsilon, root, quotient, then scale and bias where they are constants over the
/// normalised axes.
std::size_t fuse_layer_norm(Graph& graph);

}  // namespace tessera::compiler
