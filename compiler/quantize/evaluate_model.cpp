#include "compiler/interpret/qgraph_interpreter.hpp"
#include "compiler/quantize/quantize.hpp"
#include "hw/common/error.hpp"

namespace tessera::compiler {

namespace {

/// Scales and zero points that are inputs (as in operator tests) have no integer form: the graph stands for a function
/// of them.
bool has_constant_scales(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    std::vector<std::size_t> parameters;
    if (node.op == "QuantizeLinear" || node.op == "DequantizeLinear") parameters = {1, 2};
    if (node.op == "QLinearConv" || node.op == "QLinearMatMul") parameters = {1, 2, 4, 5, 6, 7};
    for (const std::size_t i : parameters) {
      if (i < node.inputs.size() && !node.inputs[i].empty() && !graph.is_constant(node.inputs[i])) return false;
    }
  }
  return true;
}

}  // namespace

NamedTensors evaluate_model(const Graph& graph, const NamedTensors& inputs) {
  if (!is_quantized(graph) || !has_constant_scales(graph)) return evaluate(graph, inputs);
  const QGraph integer = lower(graph);
  std::vector<Tensor> quantized;
  for (const int index : integer.inputs) {
    const QTensor& as = integer.tensors[static_cast<std::size_t>(index)];
    const auto given = inputs.find(as.name);
    if (given == inputs.end()) user_error("input ", as.name, ": no tensor was given");
    quantized.push_back(quantize_tensor(as, given->second));
  }
  const std::vector<Tensor> results = interpret(integer, quantized);
  NamedTensors outputs;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const QTensor& as = integer.tensors[static_cast<std::size_t>(integer.outputs[i])];
    outputs[as.name] = dequantize_tensor(as, results[i]);
  }
  return outputs;
}

}  // namespace tessera::compiler
