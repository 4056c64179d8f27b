// A Gemm of activations as the operators that the NPU has: transpositions, products, sums.
#pragma once

#include <cstddef>

#include "compiler/ir/graph.hpp"

namespace tessera::compiler {

/// transA becomes a Transpose, a Gemm without constant B a MatMul with its transposition and alpha as nodes, a computed
/// C (or any C behind such a MatMul) an Add. Returns how many Gemms changed.
std::size_t split_gemm(Graph& graph);

}  // namespace tessera::compiler
