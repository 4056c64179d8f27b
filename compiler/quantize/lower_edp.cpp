// Sums, products, pools, clamps: what the vector unit does.
#include <algorithm>
#include <cmath>

#include "compiler/passes/window.hpp"
#include "compiler/quantize/lowering.hpp"
#include "isa/semantics/requantize.hpp"

namespace tessera::compiler {
namespace {

std::size_t size_of(std::int64_t v) { return static_cast<std::size_t>(v); }

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

void Lowering::emit_sum(const Node& node, QNode q, int output) {
  const int sign = is_op(node, "Sub") ? -1 : 1;
  if (emit_channel_constant(node, sign, q, output)) return;
  q.op = QOp::add;
  const Shape out = tensor(output).onnx_shape;
  const int a = fitted(node, operand(node, 0), out);
  const int b = fitted(node, operand(node, 1), out);
  q.inputs = {a, b};
  const semantics::AddScale scale =
      semantics::quantize_add(storage_of(a).scale, storage_of(b).scale, storage_of(output).scale, sign);
  q.ma = scale.ma;
  q.mb = scale.mb;
  q.shift = scale.shift;
  push(std::move(q), output);
}

void Lowering::emit_product(const Node& node, QNode q, int output) {
  if (emit_channel_constant(node, 1.0, q, output)) return;
  q.op = QOp::mul;
  const Shape out = tensor(output).onnx_shape;
  const int a = fitted(node, operand(node, 0), out);
  const int b = fitted(node, operand(node, 1), out);
  q.inputs = {a, b};
  q.scales = {to_scale(storage_of(a).scale * storage_of(b).scale / storage_of(output).scale)};
  push(std::move(q), output);
}

int Lowering::narrowed_by_maxima(const Node& node, int input) {
  constexpr std::int64_t kLargest = 255;
  const Shape in = shape_of(input);
  if (in[2] <= kLargest && in[3] <= kLargest) return input;
  QNode part = step_of(node, QOp::max_pool, "maxima_" + tensor(input).name);
  part.kh = part.sy = static_cast<int>(std::min(in[2], kLargest));
  part.kw = part.sx = static_cast<int>(std::min(in[3], kLargest));
  const std::int64_t rows = (in[2] + part.kh - 1) / part.kh;
  const std::int64_t columns = (in[3] + part.kw - 1) / part.kw;
  part.pad_bottom = static_cast<int>(rows * part.kh - in[2]);
  part.pad_right = static_cast<int>(columns * part.kw - in[3]);
  part.inputs = {input};
  const int output = new_tensor(part.name, {in[0], in[1], rows, columns}, storage_of(input));
  push(std::move(part), output);
  return narrowed_by_maxima(node, output);
}

void Lowering::emit_pool(const Node& node, QNode q, int output) {
  q.op = QOp::max_pool;
  int input = operand(node, 0);
  if (is_op(node, "MaxPool")) {
    set_window(resolve_window(node, graph_.shape_of(node.inputs[0]), {}), &q);
  } else {
    input = narrowed_by_maxima(node, input);
    q.kh = static_cast<int>(shape_of(input)[2]);
    q.kw = static_cast<int>(shape_of(input)[3]);
  }
  emit_moved(node, std::move(q), input, output);
}

namespace {

std::vector<QScale> average_scales(double in, double out, std::int64_t count) {
  std::vector<QScale> scales;
  for (const semantics::QuantizedScale& scale : semantics::average_scales(in, out, count)) {
    scales.push_back({scale.multiplier, scale.shift});
  }
  return scales;
}

}  // namespace

void Lowering::emit_average(const Node& node, QNode q, int output) {
  q.op = QOp::average_pool;
  const int input = operand(node, 0);
  if (is_op(node, "AveragePool")) {
    set_window(resolve_window(node, graph_.shape_of(node.inputs[0]), {}), &q);
    q.count_include_pad = node.int_attr("count_include_pad", 0) != 0;
  } else {
    q.kh = static_cast<int>(shape_of(input)[2]);
    q.kw = static_cast<int>(shape_of(input)[3]);
  }
  q.scales = average_scales(storage_of(input).scale, storage_of(output).scale, std::int64_t{q.kh} * q.kw);
  q.inputs = {input};
  push(std::move(q), output);
}

/// [outer, reduced, inner] as a map of one column a reduced value: over space as it stands, else through views.
void Lowering::emit_reduce(const Node& node, QNode q, int output) {
  int input = operand(node, 0);
  const Shape in = graph_.shape_of(node.inputs[0]);
  const std::vector<std::int64_t> axes = subject(node).axes();
  const auto first = static_cast<std::ptrdiff_t>(axes.front());
  const auto last = static_cast<std::ptrdiff_t>(axes.back()) + 1;
  const std::int64_t outer = element_count(Shape(in.begin(), in.begin() + first));
  const std::int64_t length = element_count(Shape(in.begin() + first, in.begin() + last));
  const std::int64_t inner = element_count(Shape(in.begin() + last, in.end()));
  const bool spatial = (in.size() == 3 || in.size() == 4) && first == 2 && inner == 1;
  Shape reduced;
  if (spatial) {
    reduced = {in[0], in[1], 1, 1};
  } else {
    input = viewed(node, input, inner == 1 ? Shape{1, outer, 1, length} : Shape{1, outer, length, inner});
    reduced = {1, outer, 1, inner};
  }
  if (is_op(node, "ReduceMax") && inner == 1) input = narrowed_by_maxima(node, input);
  q.kh = static_cast<int>(shape_of(input)[2]);
  q.kw = inner == 1 ? static_cast<int>(shape_of(input)[3]) : 1;
  const int result = new_tensor(node.name + "_reduced", reduced, storage_of(output));
  if (is_op(node, "ReduceMax")) {
    q.op = QOp::max_pool;
    emit_moved(node, std::move(q), input, result);
  } else {
    q.op = QOp::average_pool;
    const double factor = is_op(node, "ReduceSum") ? static_cast<double>(length) : 1.0;
    q.scales = average_scales(storage_of(input).scale * factor, storage_of(output).scale, length);
    q.inputs = {input};
    push(std::move(q), result);
  }
  QNode view = step_of(node, QOp::view, "shape");
  view.inputs = {result};
  push(std::move(view), output);
}

void Lowering::emit_clamp(const Node& node, QNode q, int output) {
  emit_requantize(node, operand(node, 0), std::move(q), output);
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
  const QTensor source = tensor(input);
  const int output = new_tensor(source.name + "_for_" + node.name, source.onnx_shape, storage);
  emit_requantize(node, input, step_of(node, QOp::requantize, "requantize_" + source.name), output);
  return output;
}

/// One slope a channel: max(x, 0) + slope min(x, 0). Either part is 0, so the result is rounded once.
void Lowering::emit_prelu(const Node& node, QNode q, int output) {
  const int x = operand(node, 0);
  const Storage in = storage_of(x);
  const Storage out = storage_of(output);
  const Shape shape = tensor(output).onnx_shape;
  const std::int64_t channels = shape_of(x)[1];
  std::vector<double> slopes = real_constant(node, 1);
  if (slopes.size() == 1) slopes.assign(size_of(channels), slopes[0]);

  QNode positive = step_of(node, QOp::requantize, "positive");
  positive.lo = in.zero_point;
  const int above = new_tensor(positive.name, shape, in);
  emit_requantize(node, x, std::move(positive), above);
  QNode negative = step_of(node, QOp::requantize, "negative");
  negative.hi = in.zero_point;
  const int below = new_tensor(negative.name, shape, in);
  emit_requantize(node, x, std::move(negative), below);

  double largest = 0;
  for (const double slope : slopes) largest = std::max(largest, std::fabs(slope));
  QuantizedConstant weights;
  weights.values = Tensor::make(DType::i8, {channels, 1, 1, 1});
  weights.zero_points.assign(size_of(channels), 0);
  for (std::size_t c = 0; c < slopes.size(); ++c) {  // a scale a channel: every slope is exactly +-127
    const double magnitude = std::fabs(slopes[c]);
    weights.scales.push_back(magnitude > 0.0 ? magnitude / 127.0 : 1.0);
    weights.values.data<std::int8_t>()[c] = static_cast<std::int8_t>(slopes[c] > 0.0   ? 127
                                                                     : slopes[c] < 0.0 ? -127
                                                                                       : 0);
  }
  QNode scaled = step_of(node, QOp::conv, "slope");
  scaled.groups = static_cast<int>(channels);
  scaled.inputs = {below};
  const int sloped = new_tensor(scaled.name, shape, out);
  set_conv_numbers(node, weights, std::vector<double>(size_of(channels), 0.0), &scaled, below, sloped);
  push(std::move(scaled), sloped);

  q.op = QOp::add;
  q.inputs = {above, sloped};
  const semantics::AddScale scale = semantics::quantize_add(in.scale, out.scale, out.scale, 1);
  q.ma = scale.ma;
  q.mb = scale.mb;
  q.shift = scale.shift;
  push(std::move(q), output);
}

}  // namespace tessera::compiler
