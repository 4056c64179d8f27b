// Element-wise functions of one quantised value: the 256 results are computed once, by the float interpreter itself,
// as the QDQ graph says: DequantizeLinear, the functions, QuantizeLinear.
#include <algorithm>
#include <set>

#include "compiler/interpret/evaluate.hpp"
#include "compiler/ir/builder.hpp"
#include "compiler/quantize/lowering.hpp"

namespace tessera::compiler {
namespace {

/// Position of the input that varies, or -1: unary functions, and binary ones whose other operands are single numbers.
int varying_input(const Graph& graph, const Node& node) {
  static const std::set<std::string> unary = {"Sigmoid", "Tanh",  "HardSigmoid", "HardSwish",  "LeakyRelu",
                                              "Elu",     "Selu",  "Celu",        "Softplus",   "Softsign",
                                              "Erf",     "Gelu",  "Mish",        "Abs",        "Neg",
                                              "Exp",     "Log",   "Sqrt",        "Reciprocal", "Floor",
                                              "Ceil",    "Round", "Sign",        "Sin",        "ThresholdedRelu",
                                              "Cos",     "Relu",  "Clip",        "Identity"};
  static const std::set<std::string> binary = {"Add", "Sub", "Mul", "Div", "Pow", "Min", "Max", "PRelu"};
  if (!node.domain.empty()) return -1;
  if (unary.count(node.op) != 0) {
    for (std::size_t i = 1; i < node.inputs.size(); ++i) {
      if (!node.inputs[i].empty() && !graph.is_constant(node.inputs[i])) return -1;
    }
    return 0;
  }
  if (binary.count(node.op) == 0) return -1;
  int varying = -1;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (graph.is_constant(node.inputs[i]) && graph.constants.at(node.inputs[i]).elements() == 1) continue;
    if (varying >= 0) return -1;
    varying = static_cast<int>(i);
  }
  return varying;
}

}  // namespace

bool Lowering::emit_table(const std::string& value, const Storage& storage, int output) {
  std::vector<std::pair<const Node*, int>> chain;  // from the last function to the first
  std::string at = value;
  while (dequantized_.count(at) == 0) {
    const Node* node = maker(at);
    if (node == nullptr) return false;
    const int input = varying_input(graph_, *node);
    if (input < 0) return false;
    chain.emplace_back(node, input);
    at = node->inputs[static_cast<std::size_t>(input)];
  }
  if (chain.empty()) return false;
  const int input = dequantized_.at(at);
  std::reverse(chain.begin(), chain.end());

  const auto quantization = [](const char* op, std::int32_t zero) {
    Node node;
    node.op = op;
    node.outputs = {"y"};
    return std::pair(node, int8_tensor({}, {static_cast<std::int8_t>(zero)}));
  };
  Tensor x = Tensor::make(DType::i8, {256});
  for (int i = 0; i < 256; ++i) x.data<std::int8_t>()[i] = static_cast<std::int8_t>(i - 128);
  const auto [dequantize, in_zero] = quantization("DequantizeLinear", storage_of(input).zero_point);
  const Tensor in_scale = float_tensor({}, {static_cast<float>(storage_of(input).scale)});
  x = evaluate_node(dequantize, {&x, &in_scale, &in_zero}).at(0);
  for (const auto& [node, varying] : chain) {
    std::vector<const Tensor*> inputs;
    for (std::size_t i = 0; i < node->inputs.size(); ++i) {
      if (static_cast<int>(i) == varying)
        inputs.push_back(&x);
      else
        inputs.push_back(node->inputs[i].empty() ? nullptr : &graph_.constants.at(node->inputs[i]));
    }
    Tensor y = evaluate_node(*node, inputs).at(0);
    if (y.shape.size() != 1 || y.dtype != DType::f32) return false;  // a constant of higher rank widened it
    x = std::move(y);
  }
  for (std::int64_t i = 0; i < 256; ++i) {
    if (x.data<float>()[i] != x.data<float>()[i]) x.data<float>()[i] = 0.0F;  // log of a negative number: no real value
  }
  const auto [quantize, out_zero] = quantization("QuantizeLinear", storage.zero_point);
  const Tensor out_scale = float_tensor({}, {static_cast<float>(storage.scale)});
  const Tensor table = evaluate_node(quantize, {&x, &out_scale, &out_zero}).at(0);

  QNode q;
  q.op = QOp::table;
  q.name = chain.front().first->name;
  q.onnx_op = chain.front().first->op;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    if (i > 0) q.fused.push_back(chain[i].first->name);
    q.fused.insert(q.fused.end(), chain[i].first->fused.begin(), chain[i].first->fused.end());
  }
  q.inputs = {input};
  q.table.assign(table.data<std::int8_t>(), table.data<std::int8_t>() + 256);
  push(std::move(q), output);
  return true;
}

}  // namespace tessera::compiler
