#include <algorithm>

#include "compiler/interpret/convolve.hpp"
#include "compiler/interpret/op_call.hpp"

namespace tessera::compiler::operators {
namespace {

Tensor transposed(const Tensor& a) {
  Tensor t = Tensor::make(DType::f32, {a.shape[1], a.shape[0]});
  const float* const from = a.data<float>();
  float* const to = t.data<float>();
  for (std::int64_t i = 0; i < a.shape[0]; ++i) {
    for (std::int64_t j = 0; j < a.shape[1]; ++j) to[j * a.shape[0] + i] = from[i * a.shape[1] + j];
  }
  return t;
}

/// Rank 1 becomes a row (left) or a column (right); the result loses that dimension again.
template <typename Product>
Tensor batched(const OpCall& call, const Shape& sa, const Shape& sb, DType out, Product product) {
  call.require(!sa.empty() && !sb.empty(), "operands must not be scalars");
  Shape a = sa;
  Shape b = sb;
  if (a.size() == 1) a.insert(a.begin(), 1);
  if (b.size() == 1) b.push_back(1);
  const std::int64_t m = a[a.size() - 2];
  const std::int64_t k = a.back();
  const std::int64_t n = b.back();
  call.require(b[b.size() - 2] == k, "inner dimensions of ", shape_text(sa), " and ", shape_text(sb), " differ");
  const Shape batch_a(a.begin(), a.end() - 2);
  const Shape batch_b(b.begin(), b.end() - 2);
  const Shape batch = broadcast_shape(call, batch_a, batch_b);
  Shape shape = batch;
  if (sa.size() > 1) shape.push_back(m);
  if (sb.size() > 1) shape.push_back(n);
  Tensor y = Tensor::make(out, shape);
  std::int64_t at = 0;
  for_each_run(batch, broadcast_strides(batch_a, batch), broadcast_strides(batch_b, batch),
               [&](std::int64_t ia, std::int64_t ib, std::int64_t count, std::int64_t step_a, std::int64_t step_b) {
                 for (std::int64_t i = 0; i < count; ++i, at += m * n) {
                   product(m, k, n, (ia + i * step_a) * m * k, (ib + i * step_b) * k * n, at, &y);
                 }
               });
  return y;
}

void matmul(OpCall& call) {
  const DType type = call.input(0).dtype;
  if (type != DType::f32 && type != DType::f16) {  // doubles and integers: plain loops
    call.require(call.input(1).dtype == type, "operands of different types");
    with_number(call, type, [&](auto tag) {
      using T = decltype(tag);
      const T* const a = call.input(0).data<T>();
      const T* const b = call.input(1).data<T>();
      call.out.push_back(batched(call, call.input(0).shape, call.input(1).shape, type,
                                 [&](std::int64_t m, std::int64_t k, std::int64_t n, std::int64_t ia, std::int64_t ib,
                                     std::int64_t iy, Tensor* y) {
                                   for (std::int64_t i = 0; i < m * n; ++i) {
                                     T sum{};
                                     for (std::int64_t j = 0; j < k; ++j) {
                                       sum = static_cast<T>(sum + a[ia + i / n * k + j] * b[ib + j * n + i % n]);
                                     }
                                     y->data<T>()[iy + i] = sum;
                                   }
                                 }));
    });
    return;
  }
  const Tensor a = convert(call, call.input(0), DType::f32);
  const Tensor b = convert(call, call.input(1), DType::f32);
  const Tensor y = batched(
      call, a.shape, b.shape, DType::f32,
      [&](std::int64_t m, std::int64_t k, std::int64_t n, std::int64_t ia, std::int64_t ib, std::int64_t iy,
          Tensor* out) { multiply(m, k, n, a.data<float>() + ia, b.data<float>() + ib, out->data<float>() + iy); });
  call.out.push_back(convert(call, y, type));
}

void gemm(OpCall& call) {
  const DType type = call.input(0).dtype;
  Tensor a = convert(call, call.input(0), DType::f32);
  const Tensor b = convert(call, call.input(1), DType::f32);
  call.require(a.shape.size() == 2 && b.shape.size() == 2, "operands ", shape_text(a.shape), " and ",
               shape_text(b.shape), ": expected rank 2");
  if (call.node.int_attr("transA", 0) != 0) a = transposed(a);
  const bool b_rows = call.node.int_attr("transB", 0) != 0;  // b is [n][k]
  const std::int64_t n = b.shape[b_rows ? 0 : 1];
  const std::int64_t k = b.shape[b_rows ? 1 : 0];
  call.require(a.shape[1] == k, "inner dimensions ", a.shape[1], " and ", k, " differ");
  Tensor y = Tensor::make(DType::f32, {a.shape[0], n});
  if (b_rows)
    multiply_transposed(a.shape[0], k, n, a.data<float>(), b.data<float>(), y.data<float>());
  else
    multiply(a.shape[0], k, n, a.data<float>(), b.data<float>(), y.data<float>());
  const float alpha = call.node.float_attr("alpha", 1.0F);
  const float beta = call.node.float_attr("beta", 1.0F);
  for (std::int64_t i = 0; i < y.elements(); ++i) y.data<float>()[i] *= alpha;
  if (call.has(2)) {
    const Tensor c = convert(call, call.input(2), DType::f32);
    call.require(broadcast_shape(call, c.shape, y.shape) == y.shape, "C of shape ", shape_text(c.shape),
                 " does not broadcast to ", shape_text(y.shape));
    const auto strides = broadcast_strides(c.shape, y.shape);
    float* to = y.data<float>();
    for_each_run(y.shape, strides, strides,
                 [&](std::int64_t at, std::int64_t, std::int64_t run, std::int64_t s, std::int64_t) {
                   for (std::int64_t i = 0; i < run; ++i) *to++ += beta * c.data<float>()[at + i * s];
                 });
  }
  call.out.push_back(convert(call, y, type));
}

std::vector<std::int64_t> centred(const OpCall& call, const Tensor& t, std::size_t zero_input) {
  std::vector<std::int64_t> values = t.as_ints();
  if (!call.has(zero_input)) return values;
  const std::vector<std::int64_t> zeros = call.ints_input(zero_input);
  call.require(zeros.size() == 1, "one zero point a tensor is supported, found ", zeros.size());
  for (std::int64_t& v : values) v -= zeros[0];
  return values;
}

Tensor integer_product(const OpCall& call, std::size_t b_input, std::size_t a_zero, std::size_t b_zero) {
  const std::vector<std::int64_t> a = centred(call, call.input(0), a_zero);
  const std::vector<std::int64_t> b = centred(call, call.input(b_input), b_zero);
  return batched(call, call.input(0).shape, call.input(b_input).shape, DType::i32,
                 [&](std::int64_t m, std::int64_t k, std::int64_t n, std::int64_t ia, std::int64_t ib, std::int64_t iy,
                     Tensor* y) {
                   for (std::int64_t i = 0; i < m * n; ++i) {
                     std::int64_t sum = 0;
                     for (std::int64_t j = 0; j < k; ++j) {
                       sum += a[static_cast<std::size_t>(ia + i / n * k + j)] *
                              b[static_cast<std::size_t>(ib + j * n + i % n)];
                     }
                     y->data<std::int32_t>()[iy + i] = static_cast<std::int32_t>(sum);
                   }
                 });
}

void matmul_integer(OpCall& call) { call.out.push_back(integer_product(call, 1, 2, 3)); }

/// a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero
void qlinear_matmul(OpCall& call) {
  const Tensor sums = integer_product(call, 3, 2, 5);
  const double scale =
      call.input(1).as_doubles().at(0) * call.input(4).as_doubles().at(0) / call.input(6).as_doubles().at(0);
  const double zero = call.input(7).as_doubles().at(0);
  Tensor y = Tensor::make(call.input(7).dtype, sums.shape);
  const bool is_signed = y.dtype == DType::i8;
  for (std::int64_t i = 0; i < sums.elements(); ++i) {
    const double value = __builtin_nearbyint(sums.data<std::int32_t>()[i] * scale) + zero;
    y.bytes[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(
        static_cast<std::int64_t>(is_signed ? std::clamp(value, -128.0, 127.0) : std::clamp(value, 0.0, 255.0)));
  }
  call.out.push_back(std::move(y));
}

}  // namespace

OpTable matmul_operators() {
  return {{"MatMul", matmul}, {"Gemm", gemm}, {"MatMulInteger", matmul_integer}, {"QLinearMatMul", qlinear_matmul}};
}

}  // namespace tessera::compiler::operators
