// A constant added per channel is a bias.
#pragma once

#include <cstddef>
#include <vector>

#include "compiler/ir/graph.hpp"

namespace tessera::compiler {

/// One value a channel (axis 1 of `out`), when `constant` broadcasts like that; empty otherwise. A constant of one
/// element serves all channels.
[[nodiscard]] std::vector<float> per_channel(const Tensor& constant, const Shape& out);

/// Conv, ConvTranspose and Gemm whose only reader is an Add of a constant with one value a channel (or one for all).
/// Returns how many places changed.
std::size_t fold_bias_add(Graph& graph);

}  // namespace tessera::compiler
