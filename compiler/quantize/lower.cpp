#include <algorithm>
#include <cmath>

#include "compiler/host/node_step.hpp"
#include "compiler/passes/shape_inference.hpp"
#include "compiler/quantize/integer_products.hpp"
#include "compiler/quantize/lowering.hpp"
#include "compiler/quantize/qlinear.hpp"
#include "compiler/quantize/quantize.hpp"
#include "compiler/quantize/scale_groups.hpp"
#include "isa/semantics/requantize.hpp"

namespace tessera::compiler {
namespace {

std::size_t size_of(std::int64_t v) { return static_cast<std::size_t>(v); }

}  // namespace

bool is_op(const Node& node, const char* op) { return node.domain.empty() && node.op == op; }

QNode node_for(const Node& node, QOp op) {
  QNode q;
  q.op = op;
  q.name = node.name;
  q.onnx_op = node.op;
  q.fused = node.fused;
  return q;
}

QScale to_scale(double real) {
  const semantics::QuantizedScale scale = semantics::quantize_scale(real);
  return {scale.multiplier, scale.shift};
}

QNode Lowering::step_of(const Node& node, QOp op, const std::string& role) {
  QNode q = node_for(node, op);
  q.name += "_" + role;
  q.fused.clear();
  return q;
}

Lowering::Lowering(const Graph& graph, std::vector<Refusal>* refusals) : graph_(graph), refusals_(refusals) {
  for (const Node& node : graph.nodes) {
    for (const std::string& output : node.outputs) makers_[output] = &node;
  }
}

Shape promote(const Shape& shape) {
  switch (shape.size()) {
    case 0:
      return {1, 1, 1, 1};
    case 1:
      return {1, shape[0], 1, 1};
    case 2:
      return {shape[0], shape[1], 1, 1};
    case 3:
      return {shape[0], shape[1], 1, shape[2]};
    default:
      break;
  }
  Shape result(shape.begin(), shape.begin() + 4);
  for (std::size_t d = 4; d < shape.size(); ++d) result[3] *= shape[d];
  return result;
}

double QuantizedConstant::real(std::int64_t index, std::size_t channel) const {
  const std::int32_t q =
      values.dtype == DType::i8 ? values.data<std::int8_t>()[index] : values.data<std::int32_t>()[index];
  const std::size_t c = scales.size() == 1 ? 0 : channel;
  return (static_cast<double>(q) - zero_points[c]) * scales[c];
}

QGraph Lowering::run() {
  result_.name = graph_.name;
  result_.model_sha256 = graph_.model_sha256;
  for (const Node& node : graph_.nodes) visit(node);
  for (const std::string& output : graph_.outputs) {
    try {
      finish_output(output);
    } catch (const UserError& e) {
      if (refusals_ == nullptr) throw;
      refusals_->push_back({"", "", e.what()});
    }
  }
  // Inputs in the model's order, whatever the order in which they were first read.
  for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
    const std::string& input = graph_.inputs[i];
    const auto named = [&](int index) { return tensor(index).name == input; };
    auto found = std::find_if(result_.inputs.begin(), result_.inputs.end(), named);
    if (found == result_.inputs.end()) {  // nobody reads it; the program takes it all the same
      result_.inputs.push_back(graph_.dtype_of(input) == DType::f32 ? new_tensor(input, graph_.shape_of(input), {})
                                                                    : new_raw_tensor(input));
      found = result_.inputs.end() - 1;
    }
    std::iter_swap(result_.inputs.begin() + static_cast<std::ptrdiff_t>(i), found);
  }
  simplify_views(&result_);
  return std::move(result_);
}

void Lowering::note_refusal(const Node& node, const std::string& text, int output) {
  refusals_->push_back({node.name, node.op, text});
  QNode q = node_for(node, QOp::host);
  q.why = text;
  for (const std::string& input : node.inputs) {  // so that what it reads is not dead
    if (const auto found = dequantized_.find(input); found != dequantized_.end()) q.inputs.push_back(found->second);
  }
  push(std::move(q), output);
}

void Lowering::visit(const Node& node) {
  if (refusals_ == nullptr) return visit_node(node);
  try {
    visit_node(node);
  } catch (const UserError& e) {
    for (const std::string& value : node.outputs) {
      if (value.empty()) continue;
      const int output = new_tensor(value, graph_.shape_of(value), {});
      quantized_[value] = dequantized_[value] = output;
      note_refusal(node, e.what(), output);
    }
  }
}

void Lowering::visit_node(const Node& node) {
  if (is_op(node, "QuantizeLinear")) return visit_quantize(node);
  if (is_op(node, "DequantizeLinear")) return visit_dequantize(node);
  for (const std::string& input : node.inputs) {
    if (quantized_.count(input) != 0) return visit_integer(node);
  }
  for (const std::string& output : node.outputs) pending_[output] = &node;
}

void Lowering::require_positive(const Node& node, const std::vector<double>& scales) {
  for (std::size_t i = 0; i < scales.size(); ++i) {
    if (scales[i] > 0.0 && std::isfinite(scales[i])) continue;
    refuse(node, "its scale ", node.inputs[1], " holds ", scales[i], " at index ", i,
           ": expected finite numbers above 0");
  }
}

Storage Lowering::storage_from(const Node& node) const {
  if (node.inputs.size() < 2 || !graph_.is_constant(node.inputs[1]))
    refuse(node, "its scale is computed: expected a constant");
  const std::vector<double> scales = graph_.constants.at(node.inputs[1]).as_doubles();
  if (scales.size() != 1) refuse(node, scales.size(), " scales for an activation: expected one for the whole tensor");
  require_positive(node, scales);
  Storage storage{scales[0], -128};  // no zero point: 0, of uint8 unless DequantizeLinear reads int8
  if (is_op(node, "DequantizeLinear") && graph_.dtype_of(node.inputs[0]) == DType::i8) storage.zero_point = 0;
  if (node.inputs.size() > 2 && !node.inputs[2].empty()) {
    if (!graph_.is_constant(node.inputs[2])) refuse(node, "its zero point is computed: expected a constant");
    const Tensor& zero = graph_.constants.at(node.inputs[2]);
    if (zero.dtype != DType::i8 && zero.dtype != DType::u8) {
      refuse(node, "type ", dtype_name(zero.dtype), " is not supported for activations: expected int8 or uint8");
    }
    storage.zero_point = static_cast<std::int32_t>(zero.as_ints().at(0) - (zero.dtype == DType::u8 ? 128 : 0));
  }
  return storage;
}

void Lowering::visit_quantize(const Node& node) {
  const Storage storage = storage_from(node);
  const std::string& value = node.inputs[0];
  const std::string& output = node.outputs[0];
  // The boundary quantises an input, also one whose elements move before they meet their first QuantizeLinear.
  std::string first = value;
  while (const Node* before = maker(first)) {
    if (!moves_elements(*before)) break;
    first = before->inputs[0];
  }
  if (is_input(first) && dequantized_.count(first) == 0) {
    const int input = new_tensor(first, graph_.shape_of(first), storage);
    result_.inputs.push_back(input);
    dequantized_[first] = input;  // readers of the float value read what the boundary made of it
    if (first == value) {
      quantized_[output] = input;
      return;
    }
  }
  const auto known = dequantized_.find(value);
  if (known != dequantized_.end()) {
    quantized_[output] = requantized(node, known->second, storage);
    return;
  }
  if (const auto raw = raw_.find(value); raw != raw_.end()) {  // already made in its own type for other readers
    QNode q = node_for(node, QOp::host);
    q.inputs = {raw->second};
    q.why = "its input is not quantised";
    Node identity;
    identity.op = "Identity";
    identity.inputs = {value};
    identity.outputs = {output};
    q.onnx_op = "Identity";
    q.attributes = host::node_attributes(identity, 0, {0}, {nullptr});
    const int result = new_tensor(value, graph_.shape_of(value), storage);
    push(std::move(q), result);
    quantized_[output] = result;
    return;
  }
  if (graph_.is_constant(value)) refuse(node, "its input ", value, " is a constant: expected it folded");
  if (pending_.count(value) == 0) refuse(node, "its input ", value, " is not computed from quantised values");
  quantized_[output] = emit(value, storage, value);
}

QuantizedConstant Lowering::constant_of(const Node& node) const {
  QuantizedConstant c;
  c.values = graph_.constants.at(node.inputs[0]);
  if (!graph_.is_constant(node.inputs[1])) refuse(node, "its scale is computed: expected a constant");
  c.scales = graph_.constants.at(node.inputs[1]).as_doubles();
  require_positive(node, c.scales);
  c.zero_points.assign(c.scales.size(), 0);
  if (node.inputs.size() > 2 && !node.inputs[2].empty()) {
    if (!graph_.is_constant(node.inputs[2])) refuse(node, "its zero point is computed: expected a constant");
    const std::vector<std::int64_t> zeros = graph_.constants.at(node.inputs[2]).as_ints();
    if (zeros.size() != c.scales.size()) refuse(node, zeros.size(), " zero points for ", c.scales.size(), " scales");
    for (std::size_t i = 0; i < zeros.size(); ++i) c.zero_points[i] = static_cast<std::int32_t>(zeros[i]);
  }
  const auto rank = static_cast<std::int64_t>(c.values.shape.size());
  c.axis = node.int_attr("axis", 1);
  if (c.axis < 0) c.axis += rank;
  if (c.values.dtype == DType::u8) {  // the same numbers in int8: both move by 128
    for (std::uint8_t& byte : c.values.bytes) byte = static_cast<std::uint8_t>(byte ^ 0x80U);
    for (std::int32_t& zero : c.zero_points) zero -= 128;
    c.values.dtype = DType::i8;
  }
  if (c.values.dtype != DType::i8 && c.values.dtype != DType::i32) {
    refuse(node, "constant of type ", dtype_name(c.values.dtype), ": expected int8, uint8 or int32");
  }
  return c;
}

void Lowering::visit_dequantize(const Node& node) {
  if (graph_.is_constant(node.inputs[0])) {
    constants_.emplace(node.outputs[0], constant_of(node));
    return;
  }
  if (is_input(node.inputs[0]) && quantized_.count(node.inputs[0]) == 0) {  // an input that comes quantised
    const int input = new_tensor(node.inputs[0], graph_.shape_of(node.inputs[0]), storage_from(node));
    result_.tensors.back().onnx_dtype = graph_.dtype_of(node.inputs[0]);
    result_.inputs.push_back(input);
    quantized_[node.inputs[0]] = input;
  }
  const auto found = quantized_.find(node.inputs[0]);
  if (found == quantized_.end()) refuse(node, "its input ", node.inputs[0], " is not quantised inside this graph");
  if (!(storage_from(node) == storage_of(found->second))) {
    refuse(node, "scale or zero point differ from those of its QuantizeLinear: expected the same");
  }
  dequantized_[node.outputs[0]] = found->second;
}

/// Operators that stand directly on int8 values: only those that move elements have a meaning there.
void Lowering::visit_integer(const Node& node) {
  for (const std::string& input : node.inputs) {
    const auto found = quantized_.find(input);
    if (found != quantized_.end()) dequantized_[input] = found->second;  // the same tensor, read as real numbers
  }
  const legal::Operator* entry = legal::find_operator(node);
  const bool moves = entry != nullptr && (legal::only_moves(*entry) || is_op(node, "MaxPool"));
  if (!moves) {
    refuse(node, "on quantised values: expected DequantizeLinear before it and QuantizeLinear behind it");
  }
  const Storage storage = storage_of(operand(node, 0));
  for (const std::string& output : node.outputs) {
    if (!output.empty()) quantized_[output] = emit_node(node, storage, output, output);
  }
}

void Lowering::finish_output(const std::string& name) {
  int index = -1;
  if (const auto found = dequantized_.find(name); found != dequantized_.end()) index = found->second;
  if (const auto found = quantized_.find(name); index < 0 && found != quantized_.end()) index = found->second;
  if (index < 0 && graph_.is_constant(name))
    user_error("output ", name, ": it is a constant: expected a computed value");
  if (index < 0) {
    const auto found = pending_.find(name);
    if (found == pending_.end()) user_error("output ", name, ": it is not computed from quantised values");
    // The one operator whose range is known without calibration; all others leave their own type.
    index = is_op(*found->second, "Softmax")
                ? emit(name, {static_cast<double>(kProbability.scale), kProbability.zero_point}, name)
                : host_operand(*found->second, name);
  }
  const auto is_taken = [&](const std::vector<int>& list) {
    return std::find(list.begin(), list.end(), index) != list.end();
  };
  if (is_taken(result_.inputs) || is_taken(result_.outputs)) {  // its own tensor, so that it can have its own name
    const int own = new_tensor(name, graph_.shape_of(name), storage_of(index));
    QNode q;
    q.op = QOp::view;
    q.name = name;
    q.onnx_op = "Identity";
    q.inputs = {index};
    push(std::move(q), own);
    index = own;
  }
  result_.tensors[size_of(index)].name = name;
  result_.tensors[size_of(index)].onnx_dtype = graph_.dtype_of(name);
  result_.outputs.push_back(index);
}

int Lowering::emit(const std::string& value, const Storage& storage, const std::string& tensor_name) {
  const Node& node = *pending_.at(value);
  return emit_node(node, storage, tensor_name, value);
}

int Lowering::emit_node(const Node& last, const Storage& storage, const std::string& tensor_name,
                        const std::string& value) {
  const int output = new_tensor(tensor_name, graph_.shape_of(value), storage);
  if (refusals_ == nullptr) {
    emit_into(output, last, storage, value);
    return output;
  }
  const std::size_t nodes = result_.nodes.size();
  try {
    emit_into(output, last, storage, value);
  } catch (const UserError& e) {
    result_.nodes.resize(nodes);
    note_refusal(last, e.what(), output);
  }
  return output;
}

void Lowering::emit_into(int output, const Node& last, const Storage& storage, const std::string& value) {
  // Relu and Clip behind an operator become its clamp. Walking backwards, a later clamp acts on an earlier one.
  double low = -HUGE_VAL;
  double high = HUGE_VAL;
  std::vector<std::string> clamps;
  const Node* node = &last;
  std::string result = value;
  while (is_op(*node, "Relu") || (is_op(*node, "Clip") && legal::first_broken(subject(*node)) == nullptr)) {
    double from = is_op(*node, "Relu") ? 0.0 : -HUGE_VAL;
    double to = HUGE_VAL;
    if (is_op(*node, "Clip")) {
      for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
        if (i >= node->inputs.size() || node->inputs[i].empty()) continue;
        (i == 1 ? from : to) = real_constant(*node, i).at(0);
      }
    }
    from = std::clamp(from, low, high);
    to = std::clamp(to, low, high);
    low = from;
    high = to;
    const Node* before = maker(node->inputs[0]);
    if (before == nullptr || dequantized_.count(node->inputs[0]) != 0) break;
    clamps.insert(clamps.begin(), node->name);
    clamps.insert(clamps.end(), node->fused.begin(), node->fused.end());
    result = node->inputs[0];
    node = before;
  }
  const auto stored = [&](double real) {
    return static_cast<std::int32_t>(
        std::clamp(std::nearbyint(real / storage.scale) + storage.zero_point, -128.0, 127.0));
  };
  QNode q = node_for(*node, QOp::requantize);
  q.lo = stored(low);
  q.hi = stored(high);
  std::string why;
  if (emit_on_npu(*node, q, output, result, &why)) {
    QNode& emitted = result_.nodes.back();
    emitted.fused.insert(emitted.fused.end(), clamps.begin(), clamps.end());
  } else if (!emit_table(value, storage, output)) {
    emit_host(last, node_for(last, QOp::host), value, output, why);
  }
}

bool Lowering::emit_on_npu(const Node& node, const QNode& q, int output, const std::string& value, std::string* why) {
  using Emit = void (Lowering::*)(const Node&, QNode, int);
  struct Entry {
    Emit emit;
    int operands;  // inputs that must be int8; -1: all
  };
  static const std::map<std::string, Entry> table = {{"Conv", {&Lowering::emit_conv, 1}},
                                                     {"ConvTranspose", {&Lowering::emit_transposed_conv, 1}},
                                                     {"Gemm", {&Lowering::emit_linear, 1}},
                                                     {"MatMul", {&Lowering::emit_matmul, 2}},
                                                     {"Add", {&Lowering::emit_sum, 2}},
                                                     {"Sub", {&Lowering::emit_sum, 2}},
                                                     {"Mul", {&Lowering::emit_product, 2}},
                                                     {"MaxPool", {&Lowering::emit_pool, 1}},
                                                     {"GlobalMaxPool", {&Lowering::emit_pool, 1}},
                                                     {"AveragePool", {&Lowering::emit_average, 1}},
                                                     {"GlobalAveragePool", {&Lowering::emit_average, 1}},
                                                     {"ReduceMean", {&Lowering::emit_reduce, 1}},
                                                     {"ReduceSum", {&Lowering::emit_reduce, 1}},
                                                     {"ReduceMax", {&Lowering::emit_reduce, 1}},
                                                     {"Relu", {&Lowering::emit_clamp, 1}},
                                                     {"Clip", {&Lowering::emit_clamp, 1}},
                                                     {"PRelu", {&Lowering::emit_prelu, 1}},
                                                     {"Concat", {&Lowering::emit_concat, -1}},
                                                     {"Pad", {&Lowering::emit_pad, 1}},
                                                     {"Resize", {&Lowering::emit_resize, 1}},
                                                     {"Reshape", {&Lowering::emit_view, 1}},
                                                     {"Flatten", {&Lowering::emit_view, 1}},
                                                     {"Squeeze", {&Lowering::emit_view, 1}},
                                                     {"Unsqueeze", {&Lowering::emit_view, 1}},
                                                     {"Identity", {&Lowering::emit_view, 1}},
                                                     {"Dropout", {&Lowering::emit_view, 1}}};
  const legal::Operator* op = legal::find_operator(node);
  if (op == nullptr) {
    *why = "no unit computes " + node.op;
    return false;
  }
  if (const legal::Rule* rule = legal::first_broken(subject(node))) {
    *why = std::string("legal on the NPU: ") + rule->sentence;
    return false;
  }
  const auto entry = table.find(node.op);
  const int wanted = entry == table.end() ? 1 : entry->second.operands;
  std::size_t operands = wanted < 0 ? node.inputs.size() : size_of(wanted);
  if (is_op(node, "MatMul")) {
    const QuantizedConstant* weights = constant(node.inputs[1]);
    if (weights != nullptr && weights->values.shape.size() == 2) operands = 1;
  }
  for (std::size_t i = 0; i < operands; ++i) {
    if (find_operand(node.inputs[i]) < 0) {
      *why = "its operand " + node.inputs[i] + " is not quantised";
      return false;
    }
  }
  if (is_op(node, "PRelu") && subject(node).constant_tensor(1)->elements() == 1) return false;  // a table
  // Element by element: a Pad with the map's own values, a nearest Resize.
  const bool mover = (is_op(node, "Pad") && node.string_attr("mode", "constant") != "constant") ||
                     (is_op(node, "Resize") && node.string_attr("mode", "nearest") == "nearest");
  if (entry != table.end() && !mover) {
    (this->*entry->second.emit)(node, q, output);
    return true;
  }
  if (emit_mover(node, q, output, value)) return true;
  *why = "it is more than " + std::to_string(kMostPieces) + " strided copies";
  return false;
}

// --- shared ---

const Node* Lowering::maker(const std::string& value) const {
  const auto found = pending_.find(value);
  return found == pending_.end() ? nullptr : found->second;
}

int Lowering::find_operand(const std::string& value) {
  if (const auto found = dequantized_.find(value); found != dequantized_.end()) {
    return tensor(found->second).dtype == DType::i8 ? found->second : -1;
  }
  if (const auto found = constant_tensors_.find(value); found != constant_tensors_.end()) return found->second;
  if (const QuantizedConstant* known = constant(value)) {
    if (known->scales.size() != 1 || known->values.dtype != DType::i8) return -1;
    QNode q;
    q.op = QOp::constant;
    q.name = value;
    q.onnx_op = "Constant";
    const std::int8_t* const data = known->values.data<std::int8_t>();
    q.weights.assign(data, data + known->values.elements());
    const int index = new_tensor(value, known->values.shape, {known->scales[0], known->zero_points[0]});
    push(std::move(q), index);
    constant_tensors_[value] = index;
    return index;
  }
  // Moved elements of a quantised value keep its scale.
  const Node* node = maker(value);
  if (node == nullptr) return -1;
  if (!moves_elements(*node)) return -1;
  const int source = find_operand(node->inputs[0]);
  if (source < 0) return -1;
  return dequantized_[value] = emit_node(*node, storage_of(source), value, value);
}

bool Lowering::moves_elements(const Node& node) const {
  const legal::Operator* op = legal::find_operator(node);
  if (op == nullptr || node.op == "Concat") return false;
  return legal::only_moves(*op) && legal::first_broken(subject(node)) == nullptr;
}

int Lowering::operand(const Node& node, std::size_t input) {
  const int found = find_operand(node.inputs.at(input));
  if (found < 0) {
    refuse(node, "its input ", node.inputs[input],
           " is not quantised: expected QuantizeLinear and DequantizeLinear before it");
  }
  return found;
}

std::vector<double> Lowering::real_constant(const Node& node, std::size_t input) const {
  const std::string& value = node.inputs.at(input);
  if (const QuantizedConstant* known = constant(value)) {
    std::vector<double> real;
    std::int64_t inner = 1;
    for (std::size_t d = size_of(known->axis) + 1; d < known->values.shape.size(); ++d) inner *= known->values.shape[d];
    const auto channels = static_cast<std::int64_t>(known->scales.size());
    for (std::int64_t i = 0; i < known->values.elements(); ++i) {
      real.push_back(known->real(i, size_of((i / inner) % channels)));
    }
    return real;
  }
  if (!graph_.is_constant(value)) refuse(node, "its input ", value, " is computed: expected a constant");
  return graph_.constants.at(value).as_doubles();
}

bool Lowering::is_input(const std::string& value) const {
  return std::find(graph_.inputs.begin(), graph_.inputs.end(), value) != graph_.inputs.end();
}

const QuantizedConstant* Lowering::constant(const std::string& value) const {
  const auto found = constants_.find(value);
  return found == constants_.end() ? nullptr : &found->second;
}

int Lowering::new_tensor(const std::string& name, const Shape& onnx_shape, const Storage& storage) {
  QTensor tensor;
  tensor.name = name;
  tensor.onnx_shape = onnx_shape;
  tensor.shape = promote(onnx_shape);
  tensor.scale = storage.scale;
  tensor.zero_point = storage.zero_point;
  result_.tensors.push_back(std::move(tensor));
  return static_cast<int>(result_.tensors.size()) - 1;
}

Storage Lowering::storage_of(int tensor) const {
  const QTensor& t = result_.tensors[size_of(tensor)];
  return {t.scale, t.zero_point};
}

void Lowering::push(QNode node, int output) {
  node.output = output;
  result_.nodes.push_back(std::move(node));
}

QGraph lower(const Graph& graph, std::vector<Refusal>* refusals) {
  require_shapes(graph);
  const Graph expanded = expand_qlinear(absorb_integer_products(graph));
  return Lowering(expanded, refusals).run();
}

QGraph lower(const Graph& graph) {
  require_shapes(graph);
  const Graph expanded = expand_qlinear(absorb_integer_products(graph));
  return Lowering(expanded).run();
}

}  // namespace tessera::compiler
