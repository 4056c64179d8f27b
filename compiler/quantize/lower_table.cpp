// Element-wise functions of one quantised value: the 256 results are computed once, by the float interpreter itself,
// as the QDQ graph says: DequantizeLinear, the functions, QuantizeLinear.
#include <functional>
#include <set>

#include "compiler/interpret/evaluate.hpp"
#include "compiler/ir/builder.hpp"
#include "compiler/quantize/lowering.hpp"

namespace tessera::compiler {
namespace {

bool is_function(const Node& node) {
  static const std::set<std::string> names(legal::table_functions().begin(), legal::table_functions().end());
  return (node.domain.empty() && names.count(node.op) != 0) || is_op(node, "Identity");
}

}  // namespace

bool Lowering::emit_table(const std::string& value, const Storage& storage, int output) {
  // The functions between one quantised value and `value`, makers before readers.
  std::vector<const Node*> functions;
  std::set<std::string> seen;
  std::string source;
  const std::function<bool(const std::string&)> collect = [&](const std::string& at) {
    if (seen.count(at) != 0) return true;
    if (dequantized_.count(at) != 0 && at != value) {
      if (!source.empty() && source != at) return false;
      source = at;
      return tensor(dequantized_.at(at)).dtype == DType::i8;
    }
    const Node* node = maker(at);
    if (node == nullptr || !is_function(*node) || graph_.dtype_of(at) != DType::f32) return false;
    for (const std::string& input : node->inputs) {
      if (input.empty() || (graph_.is_constant(input) && graph_.constants.at(input).elements() == 1)) continue;
      if (const QuantizedConstant* known = constant(input); known != nullptr && known->values.elements() == 1) continue;
      if (!collect(input)) return false;
      if (graph_.shape_of(input) != graph_.shape_of(value)) return false;
    }
    seen.insert(at);
    functions.push_back(node);
    return true;
  };
  if (!collect(value) || source.empty() || functions.empty()) return false;
  const int input = dequantized_.at(source);

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
  std::map<std::string, Tensor> values;
  values[source] = std::move(x);
  for (const Node* node : functions) {
    std::vector<const Tensor*> inputs;
    for (const std::string& name : node->inputs) {
      if (const QuantizedConstant* known = constant(name)) {
        values[name] = float_tensor({}, {static_cast<float>(known->real(0, 0))});
      }
      const auto varying = values.find(name);
      inputs.push_back(name.empty()              ? nullptr
                       : varying != values.end() ? &varying->second
                                                 : &graph_.constants.at(name));
    }
    Tensor y = evaluate_node(*node, inputs).at(0);
    if (y.elements() != 256 || y.dtype != DType::f32) return false;
    y.shape = {256};  // constants of higher rank widen it
    values[node->outputs[0]] = std::move(y);
  }
  x = std::move(values.at(value));
  for (std::int64_t i = 0; i < 256; ++i) {
    if (x.data<float>()[i] != x.data<float>()[i]) x.data<float>()[i] = 0.0F;  // log of a negative number: no real value
  }
  const auto [quantize, out_zero] = quantization("QuantizeLinear", storage.zero_point);
  const Tensor out_scale = float_tensor({}, {static_cast<float>(storage.scale)});
  const Tensor table = evaluate_node(quantize, {&x, &out_scale, &out_zero}).at(0);

  QNode q;
  q.op = QOp::table;
  q.name = functions.front()->name;
  q.onnx_op = functions.front()->op;
  for (std::size_t i = 0; i < functions.size(); ++i) {
    if (i > 0) q.fused.push_back(functions[i]->name);
    q.fused.insert(q.fused.end(), functions[i]->fused.begin(), functions[i]->fused.end());
  }
  q.inputs = {input};
  q.table.assign(table.data<std::int8_t>(), table.data<std::int8_t>() + 256);
  push(std::move(q), output);
  return true;
}

}  // namespace tessera::compiler
