// Operators that write more pixels than they read, as ordinary convolutions: one for each phase of the strides, and the
// phases interleaved. Exact: every output pixel is one sum with one rounding.
#include <algorithm>

#include "compiler/passes/macs.hpp"
#include "compiler/passes/window.hpp"
#include "compiler/quantize/lowering.hpp"

namespace tessera::compiler {
namespace {

std::size_t size_of(std::int64_t v) { return static_cast<std::size_t>(v); }

/// One axis of a phase: outputs p, p + s, ... are a convolution of stride 1 whose tap u is the kernel's index taps[u]
/// (-1: zero).
///
///   o = p + s j, o + pad = s i + k  =>  k = k0 + s t with k0 = (p + pad) mod s, i = j + (p + pad - k0) / s - t
///
/// k counts the dilated kernel's positions; those between two dilated elements are zero.
///
/// Example: s = 2, kernel 3, pad 1, p = 0: k0 = 1, one tap (k = 1) at i = j. p = 1: k0 = 0, taps k = 2, 0 at i = j, j
/// + 1.
struct PhaseAxis {
  std::vector<std::int64_t> taps;
  std::int64_t pad_begin = 0, pad_end = 0, outputs = 0;
};

PhaseAxis phase_axis(std::int64_t phase, std::int64_t stride, std::int64_t kernel, std::int64_t dilation,
                     std::int64_t pad, std::int64_t in, std::int64_t out) {
  PhaseAxis axis;
  axis.outputs = phase < out ? (out - phase + stride - 1) / stride : 0;
  const std::int64_t first = (phase + pad) % stride;
  std::int64_t shift = (phase + pad - first) / stride;
  for (std::int64_t k = first; k <= dilation * (kernel - 1); k += stride) {
    axis.taps.insert(axis.taps.begin(), k % dilation == 0 ? k / dilation : -1);
  }
  if (axis.taps.empty()) {
    axis.taps = {-1};
    shift = 0;
  }
  axis.pad_begin = static_cast<std::int64_t>(axis.taps.size()) - 1 - shift;
  for (; axis.pad_begin < 0; ++axis.pad_begin) axis.taps.insert(axis.taps.begin(), -1);
  axis.pad_end = axis.outputs - 1 + static_cast<std::int64_t>(axis.taps.size()) - in - axis.pad_begin;
  for (; axis.pad_end < 0; ++axis.pad_end) axis.taps.push_back(-1);
  // The last window reaches back to the map: none sees padding alone.
  for (; axis.outputs - 1 - axis.pad_begin >= in; ++axis.pad_begin) axis.taps.insert(axis.taps.begin(), -1);
  return axis;
}

void set_axes(const PhaseAxis& y, const PhaseAxis& x, QNode* q) {
  q->kh = static_cast<int>(y.taps.size());
  q->kw = static_cast<int>(x.taps.size());
  q->pad_top = static_cast<int>(y.pad_begin);
  q->pad_bottom = static_cast<int>(y.pad_end);
  q->pad_left = static_cast<int>(x.pad_begin);
  q->pad_right = static_cast<int>(x.pad_end);
}

}  // namespace

void Lowering::interleave(const Node& node, const std::vector<int>& phases, std::int64_t sy, std::int64_t sx,
                          int output) {
  QNode q = step_of(node, QOp::move, "interleave");
  const Shape& out = shape_of(output);
  for (std::size_t i = 0; i < phases.size(); ++i) {
    if (phases[i] < 0) continue;
    const Shape& part = shape_of(phases[i]);
    const std::int64_t py = static_cast<std::int64_t>(i) / sx;
    const std::int64_t px = static_cast<std::int64_t>(i) % sx;
    q.inputs.push_back(phases[i]);
    q.pieces.push_back(*make_piece(static_cast<int>(q.inputs.size()) - 1, 0, py * out[3] + px,
                                   {part[0] * part[1], part[2], part[3]}, {part[2] * part[3], part[3], 1},
                                   {out[2] * out[3], sy * out[3], sx}));
  }
  push(std::move(q), output);
}

void Lowering::emit_transposed_conv(const Node& node, QNode q, int output) {
  q.op = QOp::conv;
  const int input = operand(node, 0);
  const QuantizedConstant* given = constant(node.inputs[1]);
  if (given == nullptr) refuse(node, "its weights ", node.inputs[1], " are not a constant behind DequantizeLinear");
  const Shape& w = given->values.shape;  // Cin, Cout / groups, kernel
  const std::int64_t groups = node.int_attr("group", 1);
  if (given->scales.size() > 1 && (given->axis != 1 || groups != 1)) {
    refuse(node, "weight scales along axis ", given->axis, " with ", groups,
           " groups: expected one scale, or axis 1 and one group");
  }
  const Shape& onnx_in = graph_.shape_of(node.inputs[0]);
  const Window window = resolve_transpose_window(node, onnx_in, Shape(w.begin() + 2, w.end()));
  const bool flat = w.size() == 3;
  const std::int64_t sy = flat ? 1 : window.strides[0];
  const std::int64_t sx = window.strides.back();
  const std::int64_t kh = flat ? 1 : window.kernel[0];
  const std::int64_t kw = window.kernel.back();
  const Shape in = shape_of(input);
  const Shape out = shape_of(output);
  const std::int64_t cin_g = w[0] / groups;
  const std::int64_t cout_g = w[1];
  q.groups = static_cast<int>(groups);
  q.inputs = {input};
  const std::vector<double> bias = bias_sums(node, 2, *given, storage_of(input).scale, cout_g * groups);
  const std::int64_t total = macs(graph_, node);
  const std::int64_t count = sy * sx;
  std::vector<int> phases;
  for (std::int64_t i = 0; i < count; ++i) {
    const PhaseAxis y =
        phase_axis(i / sx, sy, kh, flat ? 1 : window.dilations[0], flat ? 0 : window.pads_begin[0], in[2], out[2]);
    const PhaseAxis x = phase_axis(i % sx, sx, kw, window.dilations.back(), window.pads_begin.back(), in[3], out[3]);
    phases.push_back(-1);
    if (y.outputs == 0 || x.outputs == 0) continue;
    QNode phase = q;
    if (count > 1) {
      phase.name += "_phase_" + std::to_string(i);
      if (i > 0) phase.fused.clear();
    }
    set_axes(y, x, &phase);
    phase.macs = total / count + (i < total % count ? 1 : 0);
    QuantizedConstant weights = *given;
    weights.axis = 0;
    weights.values = Tensor::make(DType::i8, {cout_g * groups, cin_g, phase.kh, phase.kw});
    std::int8_t* at = weights.values.data<std::int8_t>();
    for (std::int64_t o = 0; o < cout_g * groups; ++o) {
      for (std::int64_t c = 0; c < cin_g; ++c) {
        const std::int8_t* const kernel =
            given->values.data<std::int8_t>() + ((o / cout_g * cin_g + c) * cout_g + o % cout_g) * kh * kw;
        for (const std::int64_t ky : y.taps) {
          for (const std::int64_t kx : x.taps) {
            *at++ = ky < 0 || kx < 0 ? static_cast<std::int8_t>(given->zero_points[0]) : kernel[ky * kw + kx];
          }
        }
      }
    }
    const int result =
        count == 1 ? output : new_tensor(phase.name, {out[0], out[1], y.outputs, x.outputs}, storage_of(output));
    set_conv_numbers(node, weights, bias, &phase, input, result);
    push(std::move(phase), result);
    phases.back() = result;
  }
  if (count > 1) interleave(node, phases, sy, sx, output);
}

namespace {

/// Numerators over 2 f of the three pixels around an input pixel, for one of its f output pixels: centres lie at
/// (p + 1/2) / f - 1/2. f = 1: the pixel itself, over 1.
std::vector<std::int64_t> linear_taps(std::int64_t phase, std::int64_t factor) {
  if (factor == 1) return {1};
  const std::int64_t offset = 2 * phase + 1 - factor;  // from the pixel's centre, in 1 / (2 f)
  std::vector<std::int64_t> taps(3, 0);
  const std::size_t first = offset < 0 ? 0 : 1;
  const std::int64_t right = offset < 0 ? offset + 2 * factor : offset;
  taps[first] = 2 * factor - right;
  taps[first + 1] = right;
  return taps;
}

std::int64_t largest_tap(std::int64_t factor) { return factor == 1 ? 1 : 2 * factor - 1; }

}  // namespace

/// Linear resizing by whole factors: edges repeated once, then a depthwise 3 x 3 convolution a phase with weights
/// n / (4 fy fx). Where these leave int8, rows and columns are two passes, rounded once each.
void Lowering::emit_linear_resize(const Node& node, QNode q, int input, int output) {
  const Shape in = shape_of(input);
  const Shape out = shape_of(output);
  const std::int64_t fy = out[2] / in[2];
  const std::int64_t fx = out[3] / in[3];
  if (fy == 1 && fx == 1) return emit_requantize(node, input, std::move(q), output);
  constexpr std::int64_t kLargestWeight = 127;
  if (largest_tap(fy) * largest_tap(fx) > kLargestWeight) {
    const int rows = new_tensor(node.name + "_rows", {in[0], in[1], out[2], in[3]}, storage_of(input));
    emit_linear_resize(node, step_of(node, QOp::conv, "rows"), input, rows);
    return emit_linear_resize(node, std::move(q), rows, output);
  }
  // Edges repeat: three runs an axis.
  const std::int64_t by = fy > 1 ? 1 : 0;
  const std::int64_t bx = fx > 1 ? 1 : 0;
  const Shape wide = {in[0], in[1], in[2] + 2 * by, in[3] + 2 * bx};
  std::vector<std::int64_t> source;
  for (std::int64_t map = 0; map < in[0] * in[1]; ++map) {
    for (std::int64_t y = -by; y < in[2] + by; ++y) {
      for (std::int64_t x = -bx; x < in[3] + bx; ++x) {
        source.push_back((map * in[2] + std::clamp<std::int64_t>(y, 0, in[2] - 1)) * in[3] +
                         std::clamp<std::int64_t>(x, 0, in[3] - 1));
      }
    }
  }
  QNode edges = step_of(node, QOp::move, "edges_" + tensor(output).name);
  edges.pieces = pieces_of(source, wide).value();
  edges.inputs = {input};
  const int padded = new_tensor(edges.name, wide, storage_of(input));
  push(std::move(edges), padded);

  q.op = QOp::conv;
  q.groups = static_cast<int>(in[1]);
  q.inputs = {padded};
  std::vector<int> phases;
  for (std::int64_t i = 0; i < fy * fx; ++i) {
    const std::vector<std::int64_t> y = linear_taps(i / fx, fy);
    const std::vector<std::int64_t> x = linear_taps(i % fx, fx);
    QNode phase = q;
    phase.name += "_phase_" + std::to_string(i);
    if (i > 0) phase.fused.clear();
    phase.kh = static_cast<int>(y.size());
    phase.kw = static_cast<int>(x.size());
    QuantizedConstant weights;
    weights.scales = {1.0 / static_cast<double>((fy > 1 ? 2 * fy : 1) * (fx > 1 ? 2 * fx : 1))};
    weights.zero_points = {0};
    weights.values = Tensor::make(DType::i8, {in[1], 1, phase.kh, phase.kw});
    std::int8_t* at = weights.values.data<std::int8_t>();
    for (std::int64_t c = 0; c < in[1]; ++c) {
      for (const std::int64_t ny : y) {
        for (const std::int64_t nx : x) *at++ = static_cast<std::int8_t>(ny * nx);
      }
    }
    const int result = new_tensor(phase.name, in, storage_of(output));
    set_conv_numbers(node, weights, std::vector<double>(size_of(in[1]), 0.0), &phase, padded, result);
    push(std::move(phase), result);
    phases.push_back(result);
  }
  interleave(node, phases, fy, fx, output);
}

}  // namespace tessera::compiler
