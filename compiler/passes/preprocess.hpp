// A head in front of the network, on request: the input as the camera gives it, x, becomes (x - mean) / deviation per
// channel on the NPU.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph.hpp"

namespace tessera::compiler {

struct Preprocessing {
  std::string input;
  std::vector<float> mean, deviation;  // one a channel
};

/// From "INPUT=m0,m1,.../d0,d1,...", as --preprocess gives it; UserError.
[[nodiscard]] Preprocessing parse_preprocessing(const std::string& text);

/// Inserts a BatchNormalization behind the graph input, which fold-batch-norm makes a depthwise 1x1 convolution. Legal
/// for a float input of three to five axes with as many channels (axis 1) as values; UserError otherwise.
void add_preprocessing(Graph& graph, const Preprocessing& head);

}  // namespace tessera::compiler
