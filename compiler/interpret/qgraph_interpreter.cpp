#include "compiler/interpret/qgraph_interpreter.hpp"

#include <algorithm>
#include <cmath>

#include "compiler/host/host_step.hpp"
#include "compiler/interpret/convolve.hpp"
#include "hw/common/error.hpp"
#include "isa/semantics/requantize.hpp"

namespace tessera::compiler {
namespace {

using semantics::requantize;

std::size_t size_of(std::int64_t v) { return static_cast<std::size_t>(v); }

/// A node with its operands at hand.
struct Step {
  const QGraph& graph;
  const QNode& node;
  const std::vector<Tensor>& values;

  [[nodiscard]] const QTensor& in(std::size_t i) const { return graph.tensors[size_of(node.inputs.at(i))]; }
  [[nodiscard]] const std::int8_t* data(std::size_t i) const {
    return values[size_of(node.inputs.at(i))].data<std::int8_t>();
  }
  [[nodiscard]] const QTensor& out() const { return graph.tensors[size_of(node.output)]; }
};

std::int8_t to_i8(std::int32_t v) { return static_cast<std::int8_t>(v); }

void run_conv(const Step& s, std::int8_t* y) {
  const Shape& in = s.in(0).shape;
  const Shape& out = s.out().shape;
  const QNode& n = s.node;
  ConvGeometry g;
  g.n = in[0];
  g.cin = in[1];
  g.h = in[2];
  g.w = in[3];
  g.cout = out[1];
  g.kh = n.kh;
  g.kw = n.kw;
  g.sy = n.sy;
  g.sx = n.sx;
  g.dy = n.dy;
  g.dx = n.dx;
  g.pad_top = n.pad_top;
  g.pad_left = n.pad_left;
  g.pad_bottom = n.pad_bottom;
  g.pad_right = n.pad_right;
  g.groups = n.groups;
  TESSERA_CHECK(g.oh() == out[2] && g.ow() == out[3], n.name, ": output is ", shape_text(out), ", geometry gives ",
                g.oh(), "x", g.ow());
  TESSERA_CHECK(n.weights.size() == size_of(g.cout * (g.cin / g.groups) * g.kh * g.kw), n.name, ": ", n.weights.size(),
                " weights");
  const std::size_t channels = size_of(g.cout);
  TESSERA_CHECK(n.scales.size() == channels && n.bias.size() == channels, n.name, ": one scale and bias a channel");
  std::vector<std::int16_t> x(size_of(element_count(in)));
  std::vector<std::int16_t> w(n.weights.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::int16_t>(s.data(0)[i] - s.in(0).zero_point);
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = static_cast<std::int16_t>(n.weights[i] - n.weight_zero_point);
  std::vector<std::int32_t> sums(size_of(element_count(out)));
  convolve(g, x.data(), w.data(), sums.data());
  const std::size_t map = size_of(out[2] * out[3]);
  for (std::size_t m = 0; m < size_of(out[0] * out[1]); ++m) {
    const std::size_t c = m % channels;
    const QScale& scale = n.scales[c];
    for (std::size_t i = m * map; i < (m + 1) * map; ++i) {
      const auto acc =
          static_cast<std::int32_t>(static_cast<std::uint32_t>(sums[i]) + static_cast<std::uint32_t>(n.bias[c]));
      y[i] = to_i8(requantize(acc, scale.multiplier, scale.shift, s.out().zero_point, n.lo, n.hi));
    }
  }
}

/// Elements of an operand behind one element of its [N,C] plane: 1, or 0 for one value a channel.
std::int64_t plane_stride(const Step& s, std::size_t i) {
  const Shape& in = s.in(i).shape;
  const Shape& out = s.out().shape;
  if (in == out) return 1;
  TESSERA_CHECK(in == (Shape{out[0], out[1], 1, 1}), s.node.name, ": operand ", i, " is ", shape_text(in),
                ", expected ", shape_text(out), " or one value a channel");
  return 0;
}

/// y[i] = element(a, b) with either operand one value a channel.
template <typename Element>
void run_binary(const Step& s, std::int8_t* y, Element element) {
  const Shape& out = s.out().shape;
  const std::int64_t map = out[2] * out[3];
  const std::int64_t stride_a = plane_stride(s, 0);
  const std::int64_t stride_b = plane_stride(s, 1);
  for (std::int64_t plane = 0; plane < out[0] * out[1]; ++plane) {
    const std::int8_t* const a = s.data(0) + plane * (stride_a == 0 ? 1 : map);
    const std::int8_t* const b = s.data(1) + plane * (stride_b == 0 ? 1 : map);
    for (std::int64_t i = 0; i < map; ++i) y[plane * map + i] = to_i8(element(a[i * stride_a], b[i * stride_b]));
  }
}

void run_add(const Step& s, std::int8_t* y) {
  const semantics::AddScale scale{s.node.ma, s.node.mb, s.node.shift};
  run_binary(s, y, [&](std::int8_t a, std::int8_t b) {
    return semantics::two_scale_add(a, b, s.in(0).zero_point, s.in(1).zero_point, scale, s.out().zero_point, s.node.lo,
                                    s.node.hi);
  });
}

void run_mul(const Step& s, std::int8_t* y) {
  const QScale& scale = s.node.scales.at(0);
  run_binary(s, y, [&](std::int8_t a, std::int8_t b) {
    return semantics::scaled_multiply(a, b, s.in(0).zero_point, s.in(1).zero_point,
                                      static_cast<std::int32_t>(scale.multiplier), scale.shift, s.out().zero_point,
                                      s.node.lo, s.node.hi);
  });
}

/// Calls visit(value) for the elements of each window that lie inside the map, then finish(index, oy, ox).
template <typename Start, typename Visit, typename Finish>
void for_each_window(const Step& s, Start start, Visit visit, Finish finish) {
  const Shape& in = s.in(0).shape;
  const Shape& out = s.out().shape;
  const QNode& n = s.node;
  std::size_t index = 0;
  for (std::int64_t map = 0; map < out[0] * out[1]; ++map) {
    const std::int8_t* const x = s.data(0) + map * in[2] * in[3];
    for (std::int64_t oy = 0; oy < out[2]; ++oy) {
      for (std::int64_t ox = 0; ox < out[3]; ++ox, ++index) {
        start();
        for (std::int64_t ky = 0; ky < n.kh; ++ky) {
          const std::int64_t row = oy * n.sy + ky * n.dy - n.pad_top;
          if (row < 0 || row >= in[2]) continue;
          for (std::int64_t kx = 0; kx < n.kw; ++kx) {
            const std::int64_t column = ox * n.sx + kx * n.dx - n.pad_left;
            if (column >= 0 && column < in[3]) visit(x[row * in[3] + column]);
          }
        }
        finish(index, oy, ox);
      }
    }
  }
}

void run_max_pool(const Step& s, std::int8_t* y) {
  std::int8_t best = -128;
  for_each_window(
      s, [&] { best = -128; }, [&](std::int8_t v) { best = std::max(best, v); },
      [&](std::size_t i, std::int64_t, std::int64_t) { y[i] = best; });
}

/// Rows (columns) of a window that are inside the map or its declared padding.
std::int64_t counted(std::int64_t at, std::int64_t stride, std::int64_t kernel, std::int64_t dilation,
                     std::int64_t limit) {
  std::int64_t count = 0;
  for (std::int64_t k = 0; k < kernel; ++k) count += at * stride + k * dilation < limit ? 1 : 0;
  return count;
}

void run_average_pool(const Step& s, std::int8_t* y) {
  const Shape& in = s.in(0).shape;
  const QNode& n = s.node;
  std::int32_t sum = 0;
  std::int64_t count = 0;
  for_each_window(
      s,
      [&] {
        sum = 0;
        count = 0;
      },
      [&](std::int8_t v) {
        sum += v - s.in(0).zero_point;
        ++count;
      },
      [&](std::size_t i, std::int64_t oy, std::int64_t ox) {
        if (n.count_include_pad) {
          count = counted(oy, n.sy, n.kh, n.dy, n.pad_top + in[2] + n.pad_bottom) *
                  counted(ox, n.sx, n.kw, n.dx, n.pad_left + in[3] + n.pad_right);
        }
        TESSERA_CHECK(count >= 1, n.name, ": an empty window");
        const QScale& scale = n.scales.at(size_of(count - 1));
        y[i] = to_i8(requantize(sum, scale.multiplier, scale.shift, s.out().zero_point, n.lo, n.hi));
      });
}

void run_requantize(const Step& s, std::int8_t* y) {
  const QScale& scale = s.node.scales.at(0);
  const std::int64_t n = element_count(s.out().shape);
  for (std::int64_t i = 0; i < n; ++i) {
    y[i] = to_i8(requantize(s.data(0)[i] - s.in(0).zero_point, scale.multiplier, scale.shift, s.out().zero_point,
                            s.node.lo, s.node.hi));
  }
}

void run_table(const Step& s, std::int8_t* y) {
  TESSERA_CHECK(s.node.table.size() == 256, s.node.name, ": table of ", s.node.table.size());
  const std::int64_t n = element_count(s.out().shape);
  for (std::int64_t i = 0; i < n; ++i) y[i] = to_i8(semantics::apply_table(s.node.table.data(), s.data(0)[i]));
}

void run_concat(const Step& s, std::int8_t* y) {
  const Shape& out = s.out().shape;
  const std::int64_t map = out[2] * out[3];
  for (std::int64_t n = 0; n < out[0]; ++n) {
    for (std::size_t i = 0; i < s.node.inputs.size(); ++i) {
      const std::int64_t block = s.in(i).shape[1] * map;
      TESSERA_CHECK(s.in(i).scale == s.out().scale && s.in(i).zero_point == s.out().zero_point, s.node.name, ": input ",
                    i, " is at another scale");
      y = std::copy_n(s.data(i) + n * block, block, y);
    }
  }
}

void run_move(const Step& s, std::int8_t* y) {
  const std::int64_t elements = element_count(s.out().shape);
  std::fill_n(y, elements, s.node.fill);
  for (const QMove& p : s.node.pieces) {
    const QTensor& in = s.in(size_of(p.input));
    TESSERA_CHECK(in.scale == s.out().scale && in.zero_point == s.out().zero_point, s.node.name, ": input ", p.input,
                  " is at another scale");
    const std::int64_t available = element_count(in.shape);
    const std::int8_t* const x = s.data(size_of(p.input));
    std::array<std::int64_t, 6> at{};
    while (true) {
      std::int64_t from = p.src_offset;
      std::int64_t to = p.dst_offset;
      for (std::size_t d = 0; d < at.size(); ++d) {
        from += at[d] * p.src_stride[d];
        to += at[d] * p.dst_stride[d];
      }
      TESSERA_CHECK(from >= 0 && from < available && to >= 0 && to < elements, s.node.name, ": element ", from, " to ",
                    to, " lies outside");
      y[to] = x[from];
      std::size_t d = at.size();
      while (d > 0 && ++at[d - 1] == p.count[d - 1]) at[--d] = 0;
      if (d == 0) break;
    }
  }
}

void run_matmul(const Step& s, std::int8_t* y) {
  const QNode& n = s.node;
  const bool constant = n.inputs.size() == 1;
  const std::int32_t za = s.in(0).zero_point;
  const std::int32_t zb = constant ? n.weight_zero_point : s.in(1).zero_point;
  const std::int8_t* const a = s.data(0);
  const std::int8_t* const b = constant ? n.weights.data() : s.data(1);
  const auto b_matrices = constant || n.shared_b ? 1 : n.batch;
  TESSERA_CHECK(element_count(s.in(0).shape) == (n.shared_a ? 1 : n.batch) * n.m * n.k, n.name, ": size of A");
  TESSERA_CHECK(
      (constant ? static_cast<std::int64_t>(n.weights.size()) : element_count(s.in(1).shape)) == b_matrices * n.k * n.n,
      n.name, ": size of B");
  TESSERA_CHECK(element_count(s.out().shape) == n.batch * n.m * n.n, n.name, ": size of the result");
  TESSERA_CHECK(n.scales.size() == 1 || n.scales.size() == size_of(n.n), n.name, ": scales");
  for (std::int64_t i = 0; i < n.batch; ++i) {
    const std::int8_t* const am = a + (n.shared_a ? 0 : i * n.m * n.k);
    const std::int8_t* const bm = b + (b_matrices == 1 ? 0 : i * n.k * n.n);
    // Columns of B side by side, so that each result is a product of two rows.
    std::vector<std::int16_t> columns(size_of(n.k * n.n));
    for (std::int64_t k = 0; k < n.k; ++k) {
      for (std::int64_t j = 0; j < n.n; ++j) {
        columns[size_of(j * n.k + k)] = static_cast<std::int16_t>(bm[n.trans_b ? j * n.k + k : k * n.n + j] - zb);
      }
    }
    std::vector<std::int16_t> row(size_of(n.k));
    for (std::int64_t r = 0; r < n.m; ++r) {
      for (std::int64_t k = 0; k < n.k; ++k) {
        row[size_of(k)] = static_cast<std::int16_t>(am[n.trans_a ? k * n.m + r : r * n.k + k] - za);
      }
      for (std::int64_t j = 0; j < n.n; ++j) {
        const std::int16_t* const column = columns.data() + j * n.k;
        std::int32_t sum = n.bias.empty() ? 0 : n.bias[size_of(j)];
        for (std::int64_t k = 0; k < n.k; ++k) sum += std::int32_t{row[size_of(k)]} * column[k];
        const QScale& scale = n.scales[n.scales.size() == 1 ? 0 : size_of(j)];
        y[(i * n.m + r) * n.n + j] =
            to_i8(requantize(sum, scale.multiplier, scale.shift, s.out().zero_point, n.lo, n.hi));
      }
    }
  }
}

void run_constant(const Step& s, std::int8_t* y) {
  TESSERA_CHECK(s.node.weights.size() == size_of(element_count(s.out().shape)), s.node.name, ": ",
                s.node.weights.size(), " elements");
  std::copy(s.node.weights.begin(), s.node.weights.end(), y);
}

void run_host(const Step& s, std::int8_t* y) {
  std::vector<host::TensorIn> inputs;
  for (std::size_t i = 0; i < s.node.inputs.size(); ++i) {
    inputs.push_back({s.in(i).onnx_shape, dtype_name(s.in(i).dtype), s.in(i).scale, s.in(i).zero_point,
                      reinterpret_cast<const std::uint8_t*>(s.data(i))});
  }
  host::run_host_step(s.node.name, s.node.onnx_op, s.node.attributes, inputs,
                      {{s.out().onnx_shape, dtype_name(s.out().dtype), s.out().scale, s.out().zero_point,
                        reinterpret_cast<std::uint8_t*>(y)}});
}

void run(const Step& s, std::int8_t* y) {
  switch (s.node.op) {
    case QOp::conv:
      return run_conv(s, y);
    case QOp::add:
      return run_add(s, y);
    case QOp::mul:
      return run_mul(s, y);
    case QOp::max_pool:
      return run_max_pool(s, y);
    case QOp::average_pool:
      return run_average_pool(s, y);
    case QOp::requantize:
      return run_requantize(s, y);
    case QOp::table:
      return run_table(s, y);
    case QOp::concat:
      return run_concat(s, y);
    case QOp::view:
      std::copy_n(s.data(0), element_count(s.out().shape), y);
      return;
    case QOp::move:
      return run_move(s, y);
    case QOp::matmul:
      return run_matmul(s, y);
    case QOp::constant:
      return run_constant(s, y);
    case QOp::host:
      return run_host(s, y);
  }
}

}  // namespace

std::vector<Tensor> interpret_all(const QGraph& graph, const std::vector<Tensor>& inputs, Keep keep) {
  if (inputs.size() != graph.inputs.size()) {
    user_error("the model has ", graph.inputs.size(), " inputs, ", inputs.size(), " tensors were given");
  }
  std::vector<Tensor> values(graph.tensors.size());
  std::vector<int> uses(graph.tensors.size(), 0);
  for (const QNode& node : graph.nodes) {
    for (const int input : node.inputs) ++uses[size_of(input)];
  }
  for (const int output : graph.outputs) ++uses[size_of(output)];
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const QTensor& t = graph.tensors[size_of(graph.inputs[i])];
    if (inputs[i].dtype != t.dtype || (inputs[i].shape != t.shape && inputs[i].shape != t.onnx_shape)) {
      user_error("input ", t.name, ": found ", shape_text(inputs[i].shape), " ", dtype_name(inputs[i].dtype),
                 ", expected ", shape_text(t.onnx_shape), " ", dtype_name(t.dtype));
    }
    Tensor value = inputs[i];
    value.shape = t.shape;
    values[size_of(graph.inputs[i])] = std::move(value);
  }
  for (const QNode& node : graph.nodes) {
    const QTensor& out = graph.tensors[size_of(node.output)];
    Tensor result = Tensor::make(out.dtype, out.shape);
    run({graph, node, values}, result.data<std::int8_t>());
    values[size_of(node.output)] = std::move(result);
    for (const int input : node.inputs) {
      if (--uses[size_of(input)] == 0 && keep == Keep::outputs) values[size_of(input)] = Tensor();
    }
  }
  return values;
}

std::vector<Tensor> interpret(const QGraph& graph, const std::vector<Tensor>& inputs) {
  const std::vector<Tensor> values = interpret_all(graph, inputs, Keep::outputs);
  std::vector<Tensor> outputs;
  for (const int output : graph.outputs) {
    outputs.push_back(values[size_of(output)]);
    outputs.back().shape = graph.tensors[size_of(output)].onnx_shape;
  }
  return outputs;
}

Tensor quantize_tensor(const QTensor& as, const Tensor& value) {
  if (value.dtype == as.dtype && as.onnx_dtype != DType::u8) return value;
  if (as.dtype != DType::i8) {
    user_error("input ", as.name, ": found ", dtype_name(value.dtype), ", expected ", dtype_name(as.dtype));
  }
  Tensor result = Tensor::make(as.dtype, value.shape);
  if (value.dtype == DType::u8) {  // the same numbers: values and zero point moved by 128
    for (std::size_t i = 0; i < value.bytes.size(); ++i) {
      result.bytes[i] = static_cast<std::uint8_t>(value.bytes[i] ^ 0x80U);
    }
    return result;
  }
  const std::vector<double> x = value.as_doubles();
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(x[i])) user_error("input ", as.name, ": element ", i, " is not a number");
    const double v = std::nearbyint(x[i] / as.scale) + as.zero_point;
    result.data<std::int8_t>()[i] = static_cast<std::int8_t>(std::clamp(v, -128.0, 127.0));
  }
  return result;
}

Tensor dequantize_tensor(const QTensor& as, const Tensor& value) {
  TESSERA_CHECK(as.dtype == value.dtype, as.name, ": ", dtype_name(value.dtype));
  if (as.dtype != DType::i8 || as.onnx_dtype == DType::i8) return value;
  if (as.onnx_dtype == DType::u8) {
    Tensor result = Tensor::make(DType::u8, value.shape);
    for (std::size_t i = 0; i < value.bytes.size(); ++i) {
      result.bytes[i] = static_cast<std::uint8_t>(value.bytes[i] ^ 0x80U);
    }
    return result;
  }
  Tensor result = Tensor::make(DType::f32, value.shape);
  for (std::int64_t i = 0; i < value.elements(); ++i) {
    result.data<float>()[i] = static_cast<float>((value.data<std::int8_t>()[i] - as.zero_point) * as.scale);
  }
  return result;
}

}  // namespace tessera::compiler
