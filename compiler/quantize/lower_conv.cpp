// Convolutions and matrix products with constant weights, and the element-wise operators with one constant a channel.
#include <algorithm>
#include <cmath>

#include "compiler/ir/marks.hpp"
#include "compiler/passes/macs.hpp"
#include "compiler/passes/window.hpp"
#include "compiler/quantize/lowering.hpp"
#include "isa/semantics/requantize.hpp"

namespace tessera::compiler {
namespace {

std::size_t size_of(std::int64_t v) { return static_cast<std::size_t>(v); }

}  // namespace

/// The bias as sums of products: real value / (input scale * weight scale).
std::vector<double> Lowering::bias_sums(const Node& node, std::size_t input, const QuantizedConstant& weights,
                                        double in_scale, std::int64_t channels) const {
  std::vector<double> sums(size_of(channels), 0.0);
  if (node.inputs.size() <= input || node.inputs[input].empty()) return sums;
  const std::vector<double> real = real_constant(node, input);
  if (real.size() != 1 && real.size() != sums.size()) {
    refuse(node, "bias of ", real.size(), " elements: expected ", channels);
  }
  for (std::size_t c = 0; c < sums.size(); ++c) {
    const double unit = in_scale * weights.scales[weights.scales.size() == 1 ? 0 : c];
    sums[c] = std::nearbyint(real[real.size() == 1 ? 0 : c] / unit);
  }
  return sums;
}

/// Scales, bias and weights (already OIHW) of a convolution, and the proof that no sum leaves int32.
void Lowering::set_conv_numbers(const Node& node, const QuantizedConstant& weights, const std::vector<double>& bias,
                                QNode* q, int input, int output) const {
  const Storage in = storage_of(input);
  const Storage out = storage_of(output);
  const std::size_t channels = bias.size();
  if (weights.values.elements() == 0 || weights.scales.empty()) {
    refuse(node, "weights of ", shape_text(graph_.shape_of(node.inputs.at(1))),
           " hold no element: expected at least one");
  }
  for (const std::int32_t zero : weights.zero_points) {
    if (zero != weights.zero_points[0])
      refuse(node, "weight zero points differ from channel to channel: expected one for all");
  }
  if (weights.scales.size() != 1 && weights.scales.size() != channels) {
    refuse(node, weights.scales.size(), " weight scales: expected 1 or ", channels);
  }
  q->weight_zero_point = weights.zero_points.at(0);
  const std::int8_t* const w = weights.values.data<std::int8_t>();
  q->weights.assign(w, w + weights.values.elements());
  const std::size_t terms = q->weights.size() / channels;
  const std::int64_t largest_input = std::max(127 - in.zero_point, in.zero_point + 128);
  q->bias.resize(channels);
  q->scales.resize(channels);
  for (std::size_t c = 0; c < channels; ++c) {
    std::int64_t sum = 0;
    for (std::size_t k = c * terms; k < (c + 1) * terms; ++k) sum += std::abs(q->weights[k] - q->weight_zero_point);
    const double reach = static_cast<double>(sum) * static_cast<double>(largest_input) + std::fabs(bias[c]);
    if (!(reach <= static_cast<double>(INT32_MAX))) {
      refuse(node, "the sums of output channel ", c, " can reach ", reach,
             ": expected at most 2^31 - 1 (int32): fewer "
             "inputs, or a smaller bias");
    }
    q->bias[c] = static_cast<std::int32_t>(bias[c]);
    const double weight_scale = weights.scales[weights.scales.size() == 1 ? 0 : c];
    const semantics::QuantizedScale scale = semantics::quantize_scale(in.scale * weight_scale / out.scale);
    q->scales[c] = {scale.multiplier, scale.shift};
  }
}

namespace {

/// Where bottom padding exceeds the kernel, the last windows lie below the map, which the machine does not have: rows
/// of zeros above the kernel let them reach it. Example: 1x1 with pads of 1 on 5 rows becomes 2x1, pad_top 2.
void let_windows_reach_map(const Shape& in, const Shape& out, QNode* q) {
  const std::int64_t last = (out[2] - 1) * q->sy - q->pad_top;
  if (last < in[2]) return;
  const std::int64_t rows = (last - in[2]) / q->dy + 1;
  const auto width = static_cast<std::ptrdiff_t>(q->kw);
  const std::ptrdiff_t kernel = q->kh * width;
  std::vector<std::int8_t> weights;
  for (auto at = q->weights.begin(); at != q->weights.end(); at += kernel) {
    weights.insert(weights.end(), size_of(rows * width), static_cast<std::int8_t>(q->weight_zero_point));
    weights.insert(weights.end(), at, at + kernel);
  }
  q->weights = std::move(weights);
  q->kh += static_cast<int>(rows);
  q->pad_top += static_cast<int>(rows * q->dy);
}

}  // namespace

void Lowering::emit_conv(const Node& node, QNode q, int output) {
  q.op = QOp::conv;
  const int input = operand(node, 0);
  const QuantizedConstant* weights = constant(node.inputs[1]);
  if (weights == nullptr) refuse(node, "its weights ", node.inputs[1], " are not a constant behind DequantizeLinear");
  const Shape& w = weights->values.shape;
  const Shape& in = graph_.shape_of(node.inputs[0]);
  if (w.size() != in.size()) {
    refuse(node, "weights of rank ", w.size(), " on an input of rank ", in.size(), ": expected equal ranks");
  }
  if (weights->scales.size() > 1 && weights->axis != 0)
    refuse(node, "weight scales along axis ", weights->axis, ": expected 0");
  const Window window = resolve_window(node, in, Shape(w.begin() + 2, w.end()));
  const bool flat = w.size() == 3;  // one spatial dimension: it is the columns
  q.kh = flat ? 1 : static_cast<int>(window.kernel[0]);
  q.kw = static_cast<int>(window.kernel.back());
  q.sy = flat ? 1 : static_cast<int>(window.strides[0]);
  q.sx = static_cast<int>(window.strides.back());
  q.dy = flat ? 1 : static_cast<int>(window.dilations[0]);
  q.dx = static_cast<int>(window.dilations.back());
  q.pad_top = flat ? 0 : static_cast<int>(window.pads_begin[0]);
  q.pad_left = static_cast<int>(window.pads_begin.back());
  q.pad_bottom = flat ? 0 : static_cast<int>(window.pads_end[0]);
  q.pad_right = static_cast<int>(window.pads_end.back());
  q.groups = static_cast<int>(node.int_attr("group", 1));
  q.inputs = {input};
  q.macs = macs(graph_, node);
  set_conv_numbers(node, *weights, bias_sums(node, 2, *weights, storage_of(input).scale, w[0]), &q, input, output);
  let_windows_reach_map(shape_of(input), shape_of(output), &q);
  push(std::move(q), output);
}

namespace {

/// From this many rows on a product with constant weights is one matrix product; below it is a 1x1 convolution on maps
/// of one pixel.
constexpr std::int64_t kMatrixRows = 8;

/// Rows become columns.
Tensor transposed(const Tensor& matrix) {
  const std::int64_t rows = matrix.shape[0];
  const std::int64_t columns = matrix.shape[1];
  Tensor result = Tensor::make(matrix.dtype, {columns, rows});
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      result.data<std::int8_t>()[c * rows + r] = matrix.data<std::int8_t>()[r * columns + c];
    }
  }
  return result;
}

}  // namespace

/// Gemm and MatMul with constant weights on [..., K]: a 1x1 convolution on maps of one pixel, or a matrix product.
void Lowering::emit_linear(const Node& node, QNode q, int output) {
  const int input = operand(node, 0);
  const QuantizedConstant* given = constant(node.inputs[1]);
  if (given == nullptr)
    refuse(node, "its second operand ", node.inputs[1], " is not a constant behind DequantizeLinear");
  const Shape& in = graph_.shape_of(node.inputs[0]);
  const Shape& shape = given->values.shape;
  if (in.size() < 2 || shape.size() != 2) {
    refuse(node, "operands of rank ", in.size(), " and ", shape.size(), ": expected at least 2, and 2");
  }
  const bool rows = node.op == "Gemm" && node.int_attr("transB", 0) != 0;  // already [N][K]
  QuantizedConstant weights = *given;
  if (weights.scales.size() > 1 && weights.axis != (rows ? 0 : 1)) {
    refuse(node, "weight scales along axis ", weights.axis, ": expected ", rows ? 0 : 1, " (outputs)");
  }
  const std::int64_t n = shape[rows ? 0 : 1];
  const std::int64_t k = shape[rows ? 1 : 0];
  if (k != in.back()) refuse(node, "inner dimensions ", in.back(), " and ", k, " differ");
  if (!rows) weights.values = transposed(given->values);
  q.inputs = {input};
  q.macs = macs(graph_, node);
  set_conv_numbers(node, weights, bias_sums(node, 2, weights, storage_of(input).scale, n), &q, input, output);
  const std::int64_t m = element_count(in) / k;
  if (in.size() == 2 && m < kMatrixRows) {
    q.op = QOp::conv;
  } else {
    q.op = QOp::matmul;
    q.m = m;
    q.k = k;
    q.n = n;
    q.trans_b = true;
    q.shared_b = true;
  }
  push(std::move(q), output);
}

void Lowering::emit_matmul(const Node& node, QNode q, int output) {
  const QuantizedConstant* weights = constant(node.inputs[1]);
  if (weights != nullptr && weights->values.shape.size() == 2) return emit_linear(node, std::move(q), output);
  q.op = QOp::matmul;
  const int a = operand(node, 0);
  const int b = operand(node, 1);
  const Shape& sa = graph_.shape_of(node.inputs[0]);
  const Shape& sb = graph_.shape_of(node.inputs[1]);
  q.m = sa[sa.size() - 2];
  q.k = sa.back();
  q.n = sb.back();
  const std::int64_t batch_a = element_count(sa) / (q.m * q.k);
  const std::int64_t batch_b = element_count(sb) / (q.k * q.n);
  q.batch = std::max(batch_a, batch_b);
  q.shared_a = batch_a < q.batch;
  q.shared_b = batch_b < q.batch;
  if (q.shared_b) {  // all rows of A meet one B
    q.m *= q.batch;
    q.batch = 1;
    q.shared_b = false;
  }
  const double largest_a = std::max(127 - storage_of(a).zero_point, storage_of(a).zero_point + 128);
  const double largest_b = std::max(127 - storage_of(b).zero_point, storage_of(b).zero_point + 128);
  const double reach = largest_a * largest_b * static_cast<double>(q.k);
  if (reach > static_cast<double>(INT32_MAX)) {
    refuse(node, "its sums can reach ", reach, ": expected at most 2^31 - 1 (int32): a shorter inner dimension");
  }
  q.inputs = {a, b};
  q.scales = {to_scale(storage_of(a).scale * storage_of(b).scale / storage_of(output).scale)};
  q.macs = macs(graph_, node);
  push(std::move(q), output);
}

bool Lowering::emit_channel_constant(const Node& node, double sign, const QNode& prepared, int output) {
  const bool first = constant(node.inputs[0]) != nullptr;
  const QuantizedConstant* other = constant(node.inputs[first ? 0 : 1]);
  if (other == nullptr || constant(node.inputs[first ? 1 : 0]) != nullptr) return false;
  if (first && node.op == "Sub") return false;
  const int input = operand(node, first ? 1 : 0);
  const Shape& onnx_shape = result_.tensors[size_of(input)].onnx_shape;
  const std::int64_t channels = shape_of(input)[1];
  // The constant broadcast against the input must vary along axis 1 only.
  const Shape& shape = other->values.shape;
  const std::size_t lead = onnx_shape.size() - std::min(onnx_shape.size(), shape.size());
  if (shape.size() > onnx_shape.size() || onnx_shape.size() < 2 || other->scales.size() != 1) return false;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] != 1 && (lead + d != 1 || shape[d] != channels)) return false;
  }
  const auto real = [&](std::int64_t c) { return other->real(other->values.elements() == 1 ? 0 : c, 0); };
  QNode q = prepared;
  q.op = QOp::conv;
  q.groups = static_cast<int>(channels);
  q.inputs = {input};
  QuantizedConstant weights;
  weights.values = Tensor::make(DType::i8, {channels, 1, 1, 1});
  weights.zero_points = {0};
  std::vector<double> bias(size_of(channels), 0.0);
  if (node.op == "Mul") {
    weights.scales = {other->scales[0]};
    for (std::int64_t c = 0; c < channels; ++c) {
      const double w = real(c) / other->scales[0];
      if (w < -128.0 || w > 127.0) return false;  // only with a zero point far from 0
      weights.values.data<std::int8_t>()[c] = static_cast<std::int8_t>(w);
    }
  } else {
    // 1 = 127 / 127: the finest steps for the added constant.
    weights.scales = {1.0 / 127.0};
    std::fill_n(weights.values.data<std::int8_t>(), channels, std::int8_t{127});
    for (std::int64_t c = 0; c < channels; ++c) {
      bias[size_of(c)] = std::nearbyint(sign * real(c) * 127.0 / storage_of(input).scale);
    }
  }
  set_conv_numbers(node, weights, bias, &q, input, output);
  push(std::move(q), output);
  return true;
}

}  // namespace tessera::compiler
