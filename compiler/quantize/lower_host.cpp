// Nodes that the NPU lacks: host steps on quantised tensors, or on values of their own type between host steps.
#include <algorithm>

#include "compiler/host/node_step.hpp"
#include "compiler/interpret/evaluate.hpp"
#include "compiler/ir/marks.hpp"
#include "compiler/passes/macs.hpp"
#include "compiler/quantize/lowering.hpp"

namespace tessera::compiler {

int Lowering::new_raw_tensor(const std::string& value) {
  const int index = new_tensor(value, graph_.shape_of(value), {});
  QTensor& t = result_.tensors.back();
  t.dtype = graph_.dtype_of(value);
  t.onnx_dtype = t.dtype;
  return index;
}

int Lowering::host_operand(const Node& reader, const std::string& value) {
  if (const auto found = dequantized_.find(value); found != dequantized_.end()) return found->second;
  if (const auto found = raw_.find(value); found != raw_.end()) return found->second;
  if (is_input(value)) {
    raw_[value] = new_raw_tensor(value);
    result_.inputs.push_back(raw_.at(value));
    return raw_.at(value);
  }
  if (pending_.count(value) == 0) refuse(reader, "its input ", value, " is not computed inside this graph");
  const Node& node = *pending_.at(value);
  const int index = new_raw_tensor(value);
  raw_[value] = index;
  std::string why = "its result " + value + " is not quantised";
  if (const legal::Operator* op = legal::find_operator(node); op == nullptr) why = "no unit computes " + node.op;
  emit_host(node, node_for(node, QOp::host), value, index, why);
  return index;
}

void Lowering::emit_host(const Node& node, QNode q, const std::string& value, int output, const std::string& why) {
  q.op = QOp::host;
  q.why = why;
  q.macs = macs(graph_, node);
  if (!node.domain.empty() && node.domain != "ai.onnx") {
    refuse(node, "operator of the domain ", node.domain, ": expected one of ONNX's own operators");
  }
  if (!can_evaluate(node)) {
    refuse(node, "is not supported: neither a unit nor the host has it; expected an operator of docs/operators.md");
  }
  // Operators with exact steps of their own take the quantised tensor.
  if (host::host_supports(node.op) && find_operand(node.inputs[0]) >= 0 && tensor(output).dtype == DType::i8) {
    q.inputs = {find_operand(node.inputs[0])};
    for (const auto& [key, attribute] : node.attributes) {
      std::vector<double> numbers;
      if (const auto* integer = std::get_if<std::int64_t>(&attribute)) numbers = {static_cast<double>(*integer)};
      if (const auto* real = std::get_if<float>(&attribute)) numbers = {static_cast<double>(*real)};
      if (!numbers.empty()) q.attributes[key == kCoercedSoftmax ? "coerced_2d" : key] = numbers;
    }
    return push(std::move(q), output);
  }
  std::vector<int> positions;
  std::vector<const Tensor*> constants;
  std::vector<Tensor> real;  // constants behind DequantizeLinear
  real.reserve(node.inputs.size());
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const std::string& input = node.inputs[i];
    constants.push_back(nullptr);
    if (input.empty()) {
      positions.push_back(host::kAbsent);
    } else if (graph_.is_constant(input) || constant(input) != nullptr) {
      positions.push_back(host::kConstant);
      if (graph_.is_constant(input)) {
        constants.back() = &graph_.constants.at(input);
      } else {
        real.push_back(Tensor::make(DType::f32, constant(input)->values.shape));
        const std::vector<double> values = real_constant(node, i);
        std::transform(values.begin(), values.end(), real.back().data<float>(),
                       [](double v) { return static_cast<float>(v); });
        constants.back() = &real.back();
      }
    } else {
      const int index = host_operand(node, input);
      const auto known = std::find(q.inputs.begin(), q.inputs.end(), index);
      positions.push_back(static_cast<int>(known - q.inputs.begin()));
      if (known == q.inputs.end()) q.inputs.push_back(index);
    }
  }
  const auto which =
      static_cast<std::size_t>(std::find(node.outputs.begin(), node.outputs.end(), value) - node.outputs.begin());
  q.attributes = host::node_attributes(node, which, positions, constants);
  push(std::move(q), output);
}

}  // namespace tessera::compiler
