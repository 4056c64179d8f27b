// ConvInteger and MatMulInteger whose sums are scaled and quantised again, as an exporter spells out a static
// quantisation: Cast, Mul by the scales, an Add of a bias, QuantizeLinear. They become Conv and Gemm between
// DequantizeLinear and QuantizeLinear, so that the NPU runs them. Others (scales that DynamicQuantizeLinear computes,
// sums that are read as int32) stay and run on the host.
#pragma once

#include "compiler/ir/graph.hpp"

namespace tessera::compiler {

[[nodiscard]] Graph absorb_integer_products(Graph graph);

}  // namespace tessera::compiler
