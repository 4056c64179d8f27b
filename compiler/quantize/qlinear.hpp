// QLinear operators spelled out as DequantizeLinear, operator, QuantizeLinear: one way through lower for both forms.
// Private to compiler/quantize.
#pragma once

#include "compiler/ir/graph.hpp"

namespace tessera::compiler {

/// Expands QLinearConv and QLinearMatMul; everything else stays.
[[nodiscard]] Graph expand_qlinear(Graph graph);

}  // namespace tessera::compiler
