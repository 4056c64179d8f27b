// A linear layer on tokens [..., T, K] is a Gemm on its rows, so that its bias is part of it.
#pragma once

#include <cstddef>

#include "compiler/ir/graph.hpp"

namespace tessera::compiler {

/// MatMul of more than two axes with a constant matrix becomes Reshape, Gemm, Reshape; an Add of one constant a column
/// behind it becomes the Gemm's C.
std::size_t tokens_to_gemm(Graph& graph);

}  // namespace tessera::compiler
