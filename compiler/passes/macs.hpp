// Multiply-accumulates of a float graph from its shapes: the figure `macs.useful` (FORMAT.md section 5). Conv,
// ConvTranspose, Gemm, MatMul and their integer forms; nothing for bias, pooling or element-wise work.
#pragma once

#include <cstdint>

#include "compiler/ir/graph.hpp"

namespace tessera::compiler {

/// 0 for every other operator. UserError names the node when a shape it needs is unknown.
[[nodiscard]] std::int64_t macs(const Graph& graph, const Node& node);

[[nodiscard]] std::int64_t macs(const Graph& graph);

}  // namespace tessera::compiler
