// Matrix products with constant weights in one form, that of a 1x1 convolution: weights N x K, bias N.
#pragma once

#include <cstddef>

#include "compiler/ir/graph.hpp"

namespace tessera::compiler {

/// A constant C that is no bias of N becomes an Add behind the Gemm. Gemm with transA or without constant B stays as it
/// is. Returns how many places changed.
std::size_t normalise_linear(Graph& graph);

}  // namespace tessera::compiler
