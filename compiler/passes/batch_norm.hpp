// BatchNormalization for inference is y = x s + t per channel: s = scale / sqrt(var + epsilon), t = bias - mean s.
#pragma once

#include <cstddef>

#include "compiler/ir/graph.hpp"

namespace tessera::compiler {

/// Into the weights of a Conv or ConvTranspose that nobody else reads; else a depthwise 1x1 Conv (rank 3 to 5). Returns
/// how many places changed.
std::size_t fold_batch_norm(Graph& graph);

}  // namespace tessera::compiler
