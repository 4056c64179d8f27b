// A constant that multiplies per channel is part of the weights.
#pragma once

#include <cstddef>

#include "compiler/ir/graph.hpp"

namespace tessera::compiler {

/// Conv and ConvTranspose with constant weights whose only reader is a Mul by a constant with one value a channel (or
/// one for all). Returns how many places changed.
std::size_t fold_scale(Graph& graph);

}  // namespace tessera::compiler
