// BatchNormalization for inference is y = x s + t per channel: s = scale / sqrt(var + epsilon), t = bias - mean s.
#pragma once

#include <cstddef>
#include <vector>

#include "compiler/ir/graph.hpp"

namespace tessera::compiler {

/// Per channel.
struct ScaleShift {
  std::vector<double> scale;
  std::vector<double> shift;
};
/// Whether the node is a Conv or ConvTranspose of so many output channels with constant weights and bias.
[[nodiscard]] bool takes_scale(const Graph& graph, const Node& conv, std::size_t channels);
/// Gives the node new weights and a new bias, so that its result is the old one x scale + shift.
void fold_into(Graph& graph, Node& conv, const ScaleShift& norm);

/// Into the weights of a Conv or ConvTranspose that nobody else reads; else a depthwise 1x1 Conv (rank 3 to 5). Returns
/// how many places changed.
std::size_t fold_batch_norm(Graph& graph);

}  // namespace tessera::compiler
