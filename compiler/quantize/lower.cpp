#include <algorithm>
#include <cmath>

#include "compiler/host/host_step.hpp"
#include "compiler/ir/marks.hpp"
#include "compiler/passes/shape_inference.hpp"
#include "compiler/passes/window.hpp"
#include "compiler/quantize/lowering.hpp"
#include "compiler/quantize/qlinear.hpp"
#include "compiler/quantize/quantize.hpp"
#include "compiler/quantize/scale_groups.hpp"
#include "isa/semantics/requantize.hpp"

namespace tessera::compiler {
namespace {

std::size_t size_of(std::int64_t v) { return static_cast<std::size_t>(v); }

bool is_op(const Node& node, const char* op) { return node.domain.empty() && node.op == op; }

bool is_view(const Node& node) {
  for (const char* op : {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Dropout"}) {
    if (is_op(node, op)) return true;
  }
  return false;
}

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

/// A Transpose that keeps the order of all axes longer than 1 moves nothing.
bool keeps_order(const Node& node, const Shape& in) {
  std::vector<std::int64_t> order(in.size());
  for (std::size_t d = 0; d < in.size(); ++d) order[d] = static_cast<std::int64_t>(in.size() - 1 - d);
  std::int64_t last = -1;
  for (const std::int64_t d : node.ints_attr("perm", order)) {
    if (in[size_of(d)] == 1) continue;
    if (d < last) return false;
    last = d;
  }
  return true;
}

}  // namespace

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
  for (const std::string& output : graph_.outputs) finish_output(output);
  // Inputs in the model's order, whatever the order in which they were first read.
  for (const std::string& input : graph_.inputs) {
    const auto found = std::find_if(result_.inputs.begin(), result_.inputs.end(),
                                    [&](int tensor) { return result_.tensors[size_of(tensor)].name == input; });
    if (found == result_.inputs.end()) {
      user_error("input ", input, ": it is never quantised: expected a QuantizeLinear behind it");
    }
    std::iter_swap(result_.inputs.begin() + (&input - graph_.inputs.data()), found);
  }
  simplify_views(&result_);
  return std::move(result_);
}

void Lowering::visit(const Node& node) {
  if (is_op(node, "QuantizeLinear")) return visit_quantize(node);
  if (is_op(node, "DequantizeLinear")) return visit_dequantize(node);
  for (const std::string& input : node.inputs) {
    if (quantized_.count(input) != 0) return visit_integer(node);
  }
  for (const std::string& output : node.outputs) pending_[output] = &node;
}

Storage Lowering::storage_from(const Node& node) const {
  if (node.inputs.size() < 2 || !graph_.is_constant(node.inputs[1]))
    refuse(node, "its scale is computed: expected a constant");
  const std::vector<double> scales = graph_.constants.at(node.inputs[1]).as_doubles();
  if (scales.size() != 1) refuse(node, scales.size(), " scales for an activation: expected one for the whole tensor");
  if (!(scales[0] > 0.0) || !std::isfinite(scales[0]))
    refuse(node, "scale ", scales[0], ": expected a positive number");
  Storage storage{scales[0], -128};  // no zero point: uint8 and 0
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
  if (std::find(graph_.inputs.begin(), graph_.inputs.end(), value) != graph_.inputs.end()) {
    const int tensor = new_tensor(value, graph_.shape_of(value), storage);
    result_.inputs.push_back(tensor);
    quantized_[output] = tensor;
    return;
  }
  const auto known = dequantized_.find(value);
  if (known != dequantized_.end()) {
    quantized_[output] = requantized(node, known->second, storage);
    return;
  }
  if (pending_.count(value) == 0) refuse(node, "its input ", value, " is not computed from quantised values");
  quantized_[output] = emit(value, storage, value);
}

QuantizedConstant Lowering::constant_of(const Node& node) const {
  QuantizedConstant c;
  c.values = graph_.constants.at(node.inputs[0]);
  if (!graph_.is_constant(node.inputs[1])) refuse(node, "its scale is computed: expected a constant");
  c.scales = graph_.constants.at(node.inputs[1]).as_doubles();
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
  const int first = operand(node, 0);
  if (!is_view(node) && !is_op(node, "MaxPool") && !is_op(node, "Concat") && !is_op(node, "Transpose")) {
    refuse(node, "on quantised values: expected DequantizeLinear before it and QuantizeLinear behind it");
  }
  quantized_[node.outputs[0]] = emit_node(node, storage_of(first), node.outputs[0], node.outputs[0]);
}

void Lowering::finish_output(const std::string& name) {
  int tensor = -1;
  if (const auto found = dequantized_.find(name); found != dequantized_.end()) tensor = found->second;
  if (const auto found = quantized_.find(name); tensor < 0 && found != quantized_.end()) tensor = found->second;
  if (tensor < 0) {
    const auto found = pending_.find(name);
    if (found == pending_.end()) user_error("output ", name, ": it is not computed from quantised values");
    // The one operator whose range is known without calibration.
    if (!is_op(*found->second, "Softmax")) {
      refuse(*found->second, "the output ", name,
             " is not quantised: expected QuantizeLinear and DequantizeLinear behind it");
    }
    tensor = emit(name, {static_cast<double>(kProbability.scale), kProbability.zero_point}, name);
  }
  const auto is_taken = [&](const std::vector<int>& list) {
    return std::find(list.begin(), list.end(), tensor) != list.end();
  };
  if (is_taken(result_.inputs) || is_taken(result_.outputs)) {  // its own tensor, so that it can have its own name
    const int own = new_tensor(name, graph_.shape_of(name), storage_of(tensor));
    QNode q;
    q.op = QOp::view;
    q.name = name;
    q.onnx_op = "Identity";
    q.inputs = {tensor};
    push(std::move(q), own);
    tensor = own;
  }
  result_.tensors[size_of(tensor)].name = name;
  result_.outputs.push_back(tensor);
}

int Lowering::emit(const std::string& value, const Storage& storage, const std::string& tensor_name) {
  const Node& node = *pending_.at(value);
  return emit_node(node, storage, tensor_name, value);
}

int Lowering::emit_node(const Node& last, const Storage& storage, const std::string& tensor_name,
                        const std::string& value) {
  const int output = new_tensor(tensor_name, graph_.shape_of(value), storage);
  // Relu and Clip behind an operator become its clamp. Walking backwards, a later clamp acts on an earlier one.
  double low = -HUGE_VAL;
  double high = HUGE_VAL;
  std::vector<std::string> clamps;
  const Node* node = &last;
  while (is_op(*node, "Relu") || is_op(*node, "Clip")) {
    double from = is_op(*node, "Relu") ? 0.0 : -HUGE_VAL;
    double to = HUGE_VAL;
    if (is_op(*node, "Clip")) {
      for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
        if (i >= node->inputs.size() || node->inputs[i].empty()) continue;
        if (!graph_.is_constant(node->inputs[i])) refuse(*node, "its limits are computed: expected constants");
        (i == 1 ? from : to) = graph_.constants.at(node->inputs[i]).as_doubles().at(0);
      }
    }
    from = std::clamp(from, low, high);
    to = std::clamp(to, low, high);
    low = from;
    high = to;
    const Node* before = maker(node->inputs[0]);
    if (before == nullptr) break;
    clamps.insert(clamps.begin(), node->name);
    clamps.insert(clamps.end(), node->fused.begin(), node->fused.end());
    node = before;
  }
  const auto stored = [&](double real) {
    return static_cast<std::int32_t>(
        std::clamp(std::nearbyint(real / storage.scale) + storage.zero_point, -128.0, 127.0));
  };
  QNode q = node_for(*node, QOp::requantize);
  q.lo = stored(low);
  q.hi = stored(high);
  const bool clamped = node != &last;

  if (is_op(*node, "Conv")) {
    emit_conv(*node, std::move(q), output);
  } else if (is_op(*node, "Gemm") || is_op(*node, "MatMul")) {
    emit_linear(*node, std::move(q), output);
  } else if ((is_op(*node, "Add") || is_op(*node, "Sub")) && constant(node->inputs[0]) == nullptr &&
             constant(node->inputs[1]) == nullptr && dequantized_.count(node->inputs[0]) != 0 &&
             dequantized_.count(node->inputs[1]) != 0) {
    emit_add(*node, is_op(*node, "Sub") ? -1.0 : 1.0, std::move(q), output);
  } else if (is_op(*node, "Mul") && dequantized_.count(node->inputs[0]) != 0 &&
             dequantized_.count(node->inputs[1]) != 0) {
    emit_mul(*node, std::move(q), output);
  } else if ((is_op(*node, "Add") || is_op(*node, "Sub") || is_op(*node, "Mul")) &&
             emit_channel_constant(*node, is_op(*node, "Sub") ? -1.0 : 1.0, q, output)) {
    // done
  } else if (is_op(*node, "MaxPool") || is_op(*node, "GlobalMaxPool")) {
    emit_pool(*node, std::move(q), output);
  } else if (is_op(*node, "AveragePool") || is_op(*node, "GlobalAveragePool") || is_op(*node, "ReduceMean")) {
    emit_average(*node, std::move(q), output);
  } else if (is_op(*node, "Concat")) {
    emit_concat(*node, std::move(q), output);
  } else if (is_view(*node) || (is_op(*node, "Transpose") && keeps_order(*node, graph_.shape_of(node->inputs[0])))) {
    q.op = QOp::view;
    emit_moved(*node, std::move(q), operand(*node, 0), output);
  } else if (is_op(*node, "Relu") || is_op(*node, "Clip")) {
    emit_requantize(*node, operand(*node, 0), std::move(q), output);
  } else if (node->domain.empty() && host::host_supports(node->op) && !clamped) {
    emit_host(*node, std::move(q), output);
  } else if (emit_table(value, storage, output)) {
    return output;
  } else {
    refuse(*node,
           "has no form on quantised tensors: expected Conv, Gemm or MatMul with constant weights, Add, Sub, Mul, "
           "MaxPool, AveragePool, GlobalAveragePool, Concat along channels, Relu, Clip, Reshape, Flatten, an "
           "element-wise function of one value, Softmax, LogSoftmax or LRN");
  }
  QNode& emitted = result_.nodes.back();
  emitted.fused.insert(emitted.fused.end(), clamps.begin(), clamps.end());
  return output;
}

void Lowering::emit_add(const Node& node, double sign, QNode q, int output) {
  q.op = QOp::add;
  const int a = operand(node, 0);
  const int b = operand(node, 1);
  if (shape_of(a) != shape_of(b)) {
    refuse(node, "operands of ", shape_text(shape_of(a)), " and ", shape_text(shape_of(b)),
           ": expected equal shapes, or a constant with one value a channel");
  }
  q.inputs = {a, b};
  const semantics::AddScale scale =
      semantics::quantize_add(storage_of(a).scale, storage_of(b).scale, storage_of(output).scale, sign < 0.0 ? -1 : 1);
  q.ma = scale.ma;
  q.mb = scale.mb;
  q.shift = scale.shift;
  push(std::move(q), output);
}

void Lowering::emit_mul(const Node& node, QNode q, int output) {
  q.op = QOp::mul;
  const int a = operand(node, 0);
  const int b = operand(node, 1);
  if (shape_of(a) != shape_of(b)) {
    refuse(node, "operands of ", shape_text(shape_of(a)), " and ", shape_text(shape_of(b)),
           ": expected equal shapes, or a constant with one value a channel");
  }
  q.inputs = {a, b};
  q.scales = {to_scale(storage_of(a).scale * storage_of(b).scale / storage_of(output).scale)};
  push(std::move(q), output);
}

namespace {

/// Kernel, strides, dilations and pads of a window of one or two spatial dimensions.
void set_window(const Window& window, QNode* q) {
  const std::size_t rank = window.kernel.size();
  const auto at = [&](const std::vector<std::int64_t>& v, std::size_t axis, int otherwise) {
    return rank == 2 ? static_cast<int>(v[axis]) : axis == 1 ? static_cast<int>(v[0]) : otherwise;
  };
  q->kh = at(window.kernel, 0, 1);
  q->kw = at(window.kernel, 1, 1);
  q->sy = at(window.strides, 0, 1);
  q->sx = at(window.strides, 1, 1);
  q->dy = at(window.dilations, 0, 1);
  q->dx = at(window.dilations, 1, 1);
  q->pad_top = at(window.pads_begin, 0, 0);
  q->pad_left = at(window.pads_begin, 1, 0);
  q->pad_bottom = at(window.pads_end, 0, 0);
  q->pad_right = at(window.pads_end, 1, 0);
}

}  // namespace

void Lowering::emit_pool(const Node& node, QNode q, int output) {
  q.op = QOp::max_pool;
  const int input = operand(node, 0);
  if (node.outputs.size() > 1 && !node.outputs[1].empty()) refuse(node, "its second output (indices) is not supported");
  const Shape& in = graph_.shape_of(node.inputs[0]);
  if (in.size() < 3 || in.size() > 4) refuse(node, "input of rank ", in.size(), ": expected 3 or 4");
  if (is_op(node, "MaxPool")) {
    set_window(resolve_window(node, in, {}), &q);
  } else {
    q.kh = static_cast<int>(shape_of(input)[2]);
    q.kw = static_cast<int>(shape_of(input)[3]);
  }
  emit_moved(node, std::move(q), input, output);
}

void Lowering::emit_average(const Node& node, QNode q, int output) {
  q.op = QOp::average_pool;
  const int input = operand(node, 0);
  const Shape& in = graph_.shape_of(node.inputs[0]);
  if (is_op(node, "AveragePool")) {
    if (in.size() < 3 || in.size() > 4) refuse(node, "input of rank ", in.size(), ": expected 3 or 4");
    set_window(resolve_window(node, in, {}), &q);
    q.count_include_pad = node.int_attr("count_include_pad", 0) != 0;
  } else {
    if (is_op(node, "ReduceMean")) {
      std::vector<std::int64_t> axes = node.ints_attr("axes", {});
      if (node.inputs.size() > 1 && graph_.is_constant(node.inputs[1]))
        axes = graph_.constants.at(node.inputs[1]).as_ints();
      for (std::int64_t& axis : axes) axis += axis < 0 ? static_cast<std::int64_t>(in.size()) : 0;
      std::sort(axes.begin(), axes.end());
      const bool spatial = in.size() == 4 ? axes == std::vector<std::int64_t>{2, 3}
                                          : in.size() == 3 && axes == std::vector<std::int64_t>{2};
      if (!spatial) refuse(node, "expected the mean over all spatial axes");
    }
    q.kh = static_cast<int>(shape_of(input)[2]);
    q.kw = static_cast<int>(shape_of(input)[3]);
  }
  for (const semantics::QuantizedScale& scale :
       semantics::average_scales(storage_of(input).scale, storage_of(output).scale, std::int64_t{q.kh} * q.kw)) {
    q.scales.push_back({scale.multiplier, scale.shift});
  }
  q.inputs = {input};
  push(std::move(q), output);
}

void Lowering::emit_concat(const Node& node, QNode q, int output) {
  q.op = QOp::concat;
  const auto rank = static_cast<std::int64_t>(graph_.shape_of(node.outputs[0]).size());
  std::int64_t axis = node.int_attr("axis", 0);
  if (axis < 0) axis += rank;
  if (axis != 1) refuse(node, "along axis ", axis, ": expected axis 1 (channels)");
  if (q.lo != -128 || q.hi != 127) refuse(node, "with Relu or Clip behind it: expected QuantizeLinear between them");
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    q.inputs.push_back(requantized(node, operand(node, i), storage_of(output)));
  }
  push(std::move(q), output);
}

void Lowering::emit_host(const Node& node, QNode q, int output) {
  q.op = QOp::host;
  q.inputs = {operand(node, 0)};
  for (const auto& [key, value] : node.attributes) {
    std::vector<double> numbers;
    if (const auto* integer = std::get_if<std::int64_t>(&value)) numbers = {static_cast<double>(*integer)};
    if (const auto* real = std::get_if<float>(&value)) numbers = {static_cast<double>(*real)};
    if (!numbers.empty()) q.attributes[key == kCoercedSoftmax ? "coerced_2d" : key] = numbers;
  }
  q.lo = -128;
  q.hi = 127;
  push(std::move(q), output);
}

void Lowering::emit_moved(const Node& node, QNode q, int input, int output) {
  q.inputs = {input};
  const bool clamps = q.lo != -128 || q.hi != 127;
  if (storage_of(input) == storage_of(output) && !clamps) return push(std::move(q), output);
  QNode second = node_for(node, QOp::requantize);
  second.lo = q.lo;
  second.hi = q.hi;
  q.lo = -128;
  q.hi = 127;
  const QTensor target = result_.tensors[size_of(output)];
  const int between = new_tensor(target.name + "_moved", target.onnx_shape, storage_of(input));
  push(std::move(q), between);
  emit_requantize(node, between, std::move(second), output);
}

void Lowering::emit_requantize(const Node& node, int input, QNode q, int output) {
  q.op = QOp::requantize;
  q.onnx_op = node.op;
  q.inputs = {input};
  q.scales = {to_scale(storage_of(input).scale / storage_of(output).scale)};
  push(std::move(q), output);
}

int Lowering::requantized(const Node& node, int input, const Storage& storage) {
  if (storage_of(input) == storage) return input;
  const QTensor source = result_.tensors[size_of(input)];
  const int output = new_tensor(source.name + "_for_" + node.name, source.onnx_shape, storage);
  QNode q = node_for(node, QOp::requantize);
  q.name = node.name + "_requantize_" + source.name;
  q.fused.clear();
  emit_requantize(node, input, std::move(q), output);
  return output;
}

// --- shared ---

const Node* Lowering::maker(const std::string& value) const {
  const auto found = pending_.find(value);
  return found == pending_.end() ? nullptr : found->second;
}

int Lowering::operand(const Node& node, std::size_t input) const {
  const std::string& value = node.inputs.at(input);
  const auto found = dequantized_.find(value);
  if (found == dequantized_.end()) {
    refuse(node, "its input ", value, " is not quantised: expected QuantizeLinear and DequantizeLinear before it");
  }
  return found->second;
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

QGraph lower(const Graph& graph) {
  const Graph expanded = expand_qlinear(graph);
  return Lowering(expanded).run();
}

}  // namespace tessera::compiler
