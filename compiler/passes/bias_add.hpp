// A constant added per channel is a bias.
#pragma once

#include <cstddef>

#include "compiler/ir/graph.hpp"

namespace tessera::compiler {

/// Conv, ConvTranspose and Gemm whose only reader is an Add of a constant with one value a channel (or one for all).
/// Returns how many places changed.
std::size_t fold_bias_add(Graph& graph);

}  // namespace tessera::compiler
