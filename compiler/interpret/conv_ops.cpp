#include <algorithm>

#include "compiler/interpret/convolve.hpp"
#include "compiler/interpret/op_call.hpp"

namespace tessera::compiler::operators {
namespace {

std::size_t size_of(std::int64_t v) { return static_cast<std::size_t>(v); }

Shape output_shape(const Window& w, std::int64_t n, std::int64_t channels) {
  Shape shape = {n, channels};
  for (std::size_t d = 3 - w.rank; d < 3; ++d) shape.push_back(w.out[d]);
  return shape;
}

struct ConvCall {
  Window window;
  std::int64_t n, cin, cout, groups;
};

ConvCall conv_call(const OpCall& call) {
  const Shape& x = call.input(0).shape;
  const Shape& w = call.input(1).shape;
  call.require(x.size() == w.size() && x.size() >= 3, "input ", shape_text(x), " and weights ", shape_text(w),
               " must have the same rank, at least 3");
  const Shape kernel(w.begin() + 2, w.end());
  const ConvCall c{promote_window(resolve_window(call.node, x, kernel), x), x[0], x[1], w[0],
                   call.node.int_attr("group", 1)};
  call.require(c.groups >= 1 && w[0] % c.groups == 0 && w[1] * c.groups == x[1], "weights ", shape_text(w), " with ",
               c.groups, " groups do not fit ", x[1], " input channels");
  return c;
}

ConvGeometry geometry_of(const ConvCall& c) {
  const Window& w = c.window;
  ConvGeometry g;
  g.n = c.n;
  g.cin = c.cin;
  g.cout = c.cout;
  g.groups = c.groups;
  g.h = w.in[1];
  g.w = w.in[2];
  g.kh = w.kernel[1];
  g.kw = w.kernel[2];
  g.sy = w.stride[1];
  g.sx = w.stride[2];
  g.dy = w.dilation[1];
  g.dx = w.dilation[2];
  g.pad_top = w.begin[1];
  g.pad_left = w.begin[2];
  g.pad_bottom = w.end[1];
  g.pad_right = w.end[2];
  return g;
}

/// Three spatial dimensions: the sum over kernel planes of two-dimensional convolutions would need strides over planes,
/// so plain loops do it.
template <typename X, typename Sum>
void convolve_3d(const ConvCall& c, const X* x, const X* weights, Sum* y) {
  const Window& w = c.window;
  const std::int64_t cin = c.cin / c.groups;
  const std::int64_t cout = c.cout / c.groups;
  for (std::int64_t n = 0; n < c.n; ++n) {
    for (std::int64_t o = 0; o < c.cout; ++o) {
      for (std::int64_t p = 0; p < w.out[0] * w.out[1] * w.out[2]; ++p) {
        const std::int64_t at[3] = {p / (w.out[1] * w.out[2]), p / w.out[2] % w.out[1], p % w.out[2]};
        Sum sum{};
        for (std::int64_t i = 0; i < cin; ++i) {
          const X* const map = x + (n * c.cin + o / cout * cin + i) * w.in[0] * w.in[1] * w.in[2];
          const X* const kernel = weights + (o * cin + i) * w.kernel[0] * w.kernel[1] * w.kernel[2];
          for (std::int64_t k = 0; k < w.kernel[0] * w.kernel[1] * w.kernel[2]; ++k) {
            const std::int64_t tap[3] = {k / (w.kernel[1] * w.kernel[2]), k / w.kernel[2] % w.kernel[1],
                                         k % w.kernel[2]};
            std::int64_t index = 0;
            bool inside = true;
            for (int d = 0; d < 3; ++d) {
              const std::int64_t v = at[d] * w.stride[d] + tap[d] * w.dilation[d] - w.begin[d];
              inside = inside && v >= 0 && v < w.in[d];
              index = index * w.in[d] + v;
            }
            if (inside) sum += static_cast<Sum>(map[index]) * static_cast<Sum>(kernel[k]);
          }
        }
        *y++ = sum;
      }
    }
  }
}

template <typename X, typename Sum>
void convolve_rank(const ConvCall& c, const X* x, const X* w, Sum* y) {
  if (c.window.rank <= 2) return convolve(geometry_of(c), x, w, y);
  convolve_3d(c, x, w, y);
}

void conv(OpCall& call) {
  const ConvCall c = conv_call(call);
  const Tensor x = convert(call, call.input(0), DType::f32);
  const Tensor w = convert(call, call.input(1), DType::f32);
  Tensor y = Tensor::make(DType::f32, output_shape(c.window, c.n, c.cout));
  convolve_rank(c, x.data<float>(), w.data<float>(), y.data<float>());
  if (call.has(2)) {
    const Tensor bias = convert(call, call.input(2), DType::f32);
    call.require(bias.elements() == c.cout, "bias of ", bias.elements(), " elements: expected ", c.cout);
    const std::int64_t map = c.n * c.cout == 0 ? 0 : y.elements() / (c.n * c.cout);
    for (std::int64_t i = 0; i < c.n * c.cout; ++i) {
      float* const row = y.data<float>() + i * map;
      const float b = bias.data<float>()[i % c.cout];
      for (std::int64_t j = 0; j < map; ++j) row[j] += b;
    }
  }
  call.out.push_back(convert(call, y, call.input(0).dtype));
}

/// int8 or uint8 minus its zero point (one, or one for each first index).
std::vector<std::int16_t> centred(const OpCall& call, const Tensor& t, const Tensor* zero_point) {
  const std::vector<std::int64_t> values = t.as_ints();
  const std::vector<std::int64_t> zeros = zero_point == nullptr ? std::vector<std::int64_t>{0} : zero_point->as_ints();
  call.require(t.dtype == DType::i8 || t.dtype == DType::u8, "type ", dtype_name(t.dtype), ": expected int8 or uint8");
  const std::size_t block = std::max<std::size_t>(1, zeros.empty() ? 1 : values.size() / zeros.size());
  std::vector<std::int16_t> result(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    result[i] = static_cast<std::int16_t>(values[i] - zeros[std::min(i / block, zeros.size() - 1)]);
  }
  return result;
}

Tensor conv_sums(const OpCall& call, const ConvCall& c, const Tensor& x, const Tensor* x_zero, const Tensor& w,
                 const Tensor* w_zero) {
  Tensor sums = Tensor::make(DType::i32, output_shape(c.window, c.n, c.cout));
  convolve_rank(c, centred(call, x, x_zero).data(), centred(call, w, w_zero).data(), sums.data<std::int32_t>());
  return sums;
}

void conv_integer(OpCall& call) {
  const ConvCall c = conv_call(call);
  call.out.push_back(conv_sums(call, c, call.input(0), call.has(2) ? call.in[2] : nullptr, call.input(1),
                               call.has(3) ? call.in[3] : nullptr));
}

/// x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias. Rounds as ONNX does: to nearest, ties to even, of the
/// exact quotient in double.
void qlinear_conv(OpCall& call) {
  Node plain = call.node;
  OpCall inner{plain, {&call.input(0), &call.input(3)}, {}};
  const ConvCall c = conv_call(inner);
  const Tensor sums = conv_sums(call, c, call.input(0), &call.input(2), call.input(3), &call.input(5));
  const double x_scale = call.input(1).as_doubles().at(0);
  const std::vector<double> w_scales = call.input(4).as_doubles();
  const double y_scale = call.input(6).as_doubles().at(0);
  const double zero = call.input(7).as_doubles().at(0);
  const std::vector<std::int64_t> bias =
      call.has(8) ? call.ints_input(8) : std::vector<std::int64_t>(size_of(c.cout), 0);
  call.require(w_scales.size() == 1 || w_scales.size() == size_of(c.cout), "w_scale must have 1 or ", c.cout,
               " elements");
  Tensor y = Tensor::make(call.input(7).dtype, sums.shape);
  const std::int64_t map = sums.elements() / std::max<std::int64_t>(1, c.n * c.cout);
  const bool is_signed = y.dtype == DType::i8;
  for (std::int64_t i = 0; i < sums.elements(); ++i) {
    const std::size_t channel = size_of(i / map % c.cout);
    const double scale = x_scale * w_scales[w_scales.size() == 1 ? 0 : channel] / y_scale;
    const double sum = static_cast<double>(sums.data<std::int32_t>()[i] + bias[channel]);
    const double value = __builtin_nearbyint(sum * scale) + zero;
    y.bytes[size_of(i)] = static_cast<std::uint8_t>(
        static_cast<std::int64_t>(is_signed ? std::clamp(value, -128.0, 127.0) : std::clamp(value, 0.0, 255.0)));
  }
  call.out.push_back(std::move(y));
}

void conv_transpose(OpCall& call) {
  const Tensor x = convert(call, call.input(0), DType::f32);
  const Tensor weights = convert(call, call.input(1), DType::f32);
  const Shape& ws = weights.shape;
  call.require(x.shape.size() == ws.size() && ws.size() >= 3 && ws.size() <= 5, "input ", shape_text(x.shape),
               " and weights ", shape_text(ws), " must have the same rank of 3, 4 or 5");
  const std::int64_t groups = call.node.int_attr("group", 1);
  call.require(groups >= 1 && ws[0] == x.shape[1] && ws[0] % groups == 0, "weights ", shape_text(ws), " with ", groups,
               " groups do not fit ", x.shape[1], " input channels");
  const std::int64_t cin = ws[0] / groups;
  const std::int64_t cout = ws[1];
  const Window w =
      promote_window(resolve_transpose_window(call.node, x.shape, Shape(ws.begin() + 2, ws.end())), x.shape);
  Shape shape = {x.shape[0], cout * groups};
  for (std::size_t d = 3 - w.rank; d < 3; ++d) shape.push_back(w.out[d]);
  Tensor y = Tensor::make(DType::f32, shape);
  const std::int64_t in_map = w.in[0] * w.in[1] * w.in[2];
  const std::int64_t out_map = w.out[0] * w.out[1] * w.out[2];
  const std::int64_t taps = w.kernel[0] * w.kernel[1] * w.kernel[2];
  for (std::int64_t n = 0; n < x.shape[0]; ++n) {
    for (std::int64_t c = 0; c < x.shape[1]; ++c) {
      for (std::int64_t o = 0; o < cout; ++o) {
        float* const to = y.data<float>() + (n * cout * groups + c / cin * cout + o) * out_map;
        const float* const from = x.data<float>() + (n * x.shape[1] + c) * in_map;
        const float* const taps_of = weights.data<float>() + (c * cout + o) * taps;
        for (std::int64_t p = 0; p < in_map; ++p) {
          const std::int64_t at[3] = {p / (w.in[1] * w.in[2]), p / w.in[2] % w.in[1], p % w.in[2]};
          for (std::int64_t k = 0; k < taps; ++k) {
            const std::int64_t tap[3] = {k / (w.kernel[1] * w.kernel[2]), k / w.kernel[2] % w.kernel[1],
                                         k % w.kernel[2]};
            std::int64_t index = 0;
            bool inside = true;
            for (int d = 0; d < 3; ++d) {
              const std::int64_t v = at[d] * w.stride[d] + tap[d] * w.dilation[d] - w.begin[d];
              inside = inside && v >= 0 && v < w.out[d];
              index = index * w.out[d] + v;
            }
            if (inside) to[index] += from[p] * taps_of[k];
          }
        }
      }
    }
  }
  if (call.has(2)) {
    const Tensor bias = convert(call, call.input(2), DType::f32);
    call.require(bias.elements() == cout * groups, "bias of ", bias.elements(), " elements: expected ", cout * groups);
    for (std::int64_t i = 0; i < y.elements(); ++i)
      y.data<float>()[i] += bias.data<float>()[i / out_map % (cout * groups)];
  }
  call.out.push_back(convert(call, y, call.input(0).dtype));
}

}  // namespace

OpTable conv_operators() {
  return {
      {"Conv", conv}, {"ConvTranspose", conv_transpose}, {"ConvInteger", conv_integer}, {"QLinearConv", qlinear_conv}};
}

}  // namespace tessera::compiler::operators
