// The `graph` oracle: what the frozen quantised graph means, on whole NCHW tensors with its own loops. No tiles, no
// blocked layout, no addresses, no instructions: it shares with the machine only the rounding and the tables of
// isa/semantics/requantize.hpp, so a wrong compiler cannot agree with it by accident.
#pragma once

#include <vector>

#include "compiler/ir/qgraph.hpp"

namespace tessera::compiler {

enum class Keep { outputs, everything };

/// One tensor per QGraph::tensors (int8, 4-D shape). With Keep::outputs those no longer needed are empty.
/// `inputs` in the order of graph.inputs, int8, of the tensor's or the ONNX shape. UserError when they do not fit.
[[nodiscard]] std::vector<Tensor> interpret_all(const QGraph& graph, const std::vector<Tensor>& inputs, Keep keep);

/// The outputs in the order of graph.outputs, in ONNX's shape.
[[nodiscard]] std::vector<Tensor> interpret(const QGraph& graph, const std::vector<Tensor>& inputs);

/// Boundary conversions of the runtime: float to the tensor's quantised type (to nearest, ties to even) and back.
[[nodiscard]] Tensor quantize_tensor(const QTensor& as, const Tensor& value);
[[nodiscard]] Tensor dequantize_tensor(const QTensor& as, const Tensor& value);

}  // namespace tessera::compiler
