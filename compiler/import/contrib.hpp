// The quantised operators that onnxruntime's own quantiser writes into the domain com.microsoft, in ONNX's terms:
// DequantizeLinear, the operator in float, QuantizeLinear. onnxruntime computes them so (the integer forms of its
// kernels round like it, up to ties). Whatever else the domain has stays as it is, to be refused by name later.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph.hpp"

namespace tessera::compiler {

/// Operators of com.microsoft that spell_out_contrib knows.
[[nodiscard]] const std::vector<std::string>& contrib_operators();

/// The node as nodes of ONNX's own domain, in order of execution; the node itself when it is none of the above.
/// UserError: inputs missing, channels_last.
[[nodiscard]] std::vector<Node> spell_out_contrib(Node node, Graph& graph);

}  // namespace tessera::compiler
