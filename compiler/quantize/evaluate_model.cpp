#include "compiler/interpret/qgraph_interpreter.hpp"
#include "compiler/quantize/quantize.hpp"
#include "hw/common/error.hpp"

namespace tessera::compiler {

NamedTensors evaluate_model(const Graph& graph, const NamedTensors& inputs) {
  if (!is_quantized(graph)) return evaluate(graph, inputs);
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
