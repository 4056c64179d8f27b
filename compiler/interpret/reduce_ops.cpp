#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/host/math.hpp"
#include "compiler/interpret/op_call.hpp"
#include "compiler/ir/marks.hpp"

namespace tessera::compiler::operators {
namespace {

/// Which dimensions go: attribute axes (opset 13 and before) or second input; none given = all, unless
/// noop_with_empty_axes.
std::vector<bool> reduced_axes(const OpCall& call, std::size_t rank) {
  std::vector<std::int64_t> axes = call.node.ints_attr("axes", {});
  if (call.has(1)) axes = call.ints_input(1);
  std::vector<bool> reduced(rank, axes.empty() && call.node.int_attr("noop_with_empty_axes", 0) == 0);
  for (const std::int64_t axis : axes) reduced[call.axis_of(axis, rank)] = true;
  return reduced;
}

template <typename T, typename F>
void reduce_type(OpCall& call, const Tensor& x, T start, F step, T (*finish)(T, std::int64_t)) {
  const std::vector<bool> reduced = reduced_axes(call, x.shape.size());
  Shape kept = x.shape;
  Shape shape;
  std::int64_t count = 1;
  for (std::size_t d = 0; d < kept.size(); ++d) {
    if (reduced[d]) {
      count *= kept[d];
      kept[d] = 1;
    }
    if (!reduced[d] || call.node.int_attr("keepdims", 1) != 0) shape.push_back(kept[d]);
  }
  std::vector<T> sums(static_cast<std::size_t>(element_count(kept)), start);
  const auto strides = broadcast_strides(kept, x.shape);
  const T* from = x.data<T>();
  for_each_run(x.shape, strides, strides,
               [&](std::int64_t at, std::int64_t, std::int64_t n, std::int64_t s, std::int64_t) {
                 for (std::int64_t i = 0; i < n; ++i) {
                   T& sum = sums[static_cast<std::size_t>(at + i * s)];
                   sum = static_cast<T>(step(sum, *from++));
                 }
               });
  Tensor y = Tensor::make(x.dtype, shape);
  for (std::size_t i = 0; i < sums.size(); ++i) y.data<T>()[i] = finish(sums[i], count);
  call.out.push_back(std::move(y));
}

/// Floats are summed in double and rounded once.
template <typename F>
void reduce_real(OpCall& call, double start, F step, double (*finish)(double, std::int64_t)) {
  const DType type = call.input(0).dtype;
  reduce_type<double>(call, convert(call, call.input(0), DType::f64), start, step, finish);
  call.out.back() = convert(call, call.out.back(), type);
}

double same(double sum, std::int64_t) { return sum; }

void reduce_sum(OpCall& call) {
  reduce_real(
      call, 0.0, [](double a, double b) { return a + b; }, same);
}
void reduce_mean(OpCall& call) {
  reduce_real(
      call, 0.0, [](double a, double b) { return a + b; },
      [](double sum, std::int64_t n) { return sum / static_cast<double>(n); });
}
void reduce_product(OpCall& call) {
  reduce_real(
      call, 1.0, [](double a, double b) { return a * b; }, same);
}
void reduce_l1(OpCall& call) {
  reduce_real(
      call, 0.0, [](double a, double b) { return a + std::fabs(b); }, same);
}
void reduce_l2(OpCall& call) {
  reduce_real(
      call, 0.0, [](double a, double b) { return a + b * b; }, [](double sum, std::int64_t) { return std::sqrt(sum); });
}
void reduce_sum_square(OpCall& call) {
  reduce_real(
      call, 0.0, [](double a, double b) { return a + b * b; }, same);
}
void reduce_log_sum(OpCall& call) {
  reduce_real(
      call, 0.0, [](double a, double b) { return a + b; }, [](double sum, std::int64_t) { return host::log(sum); });
}
void reduce_log_sum_exp(OpCall& call) {
  reduce_real(
      call, 0.0, [](double a, double b) { return a + host::exp(b); },
      [](double sum, std::int64_t) { return host::log(sum); });
}
template <bool maximum>
void reduce_extreme(OpCall& call) {
  const bool half = call.input(0).dtype == DType::f16;
  const Tensor x = half ? convert(call, call.input(0), DType::f32) : call.input(0);
  with_number(call, x.dtype, [&](auto tag) {
    using T = decltype(tag);
    reduce_type<T>(
        call, x, maximum ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max(),
        [](T a, T b) { return maximum ? std::max(a, b) : std::min(a, b); }, [](T v, std::int64_t) { return v; });
  });
  call.out.back() = convert(call, call.out.back(), call.input(0).dtype);
}

/// Calls f(offset of the first element, step, length) for every line along an axis.
template <typename F>
void for_each_line(const Shape& shape, std::size_t axis, F&& f) {
  std::int64_t outer = 1;
  std::int64_t inner = 1;
  for (std::size_t d = 0; d < axis; ++d) outer *= shape[d];
  for (std::size_t d = axis + 1; d < shape.size(); ++d) inner *= shape[d];
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t i = 0; i < inner; ++i) f(o * shape[axis] * inner + i, inner, shape[axis]);
  }
}

template <bool maximum>
void arg_extreme(OpCall& call) {
  const Tensor x = convert(call, call.input(0), DType::f64);
  const std::size_t axis = call.axis_attr(0, x.shape.size());
  const bool last = call.node.int_attr("select_last_index", 0) != 0;
  Shape shape = x.shape;
  if (call.node.int_attr("keepdims", 1) != 0)
    shape[axis] = 1;
  else
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  call.require(x.shape[axis] > 0, "empty axis");
  Tensor y = Tensor::make(DType::i64, shape);
  std::int64_t* to = y.data<std::int64_t>();
  for_each_line(x.shape, axis, [&](std::int64_t at, std::int64_t step, std::int64_t n) {
    std::int64_t best = 0;
    for (std::int64_t i = 1; i < n; ++i) {
      const double v = x.data<double>()[at + i * step];
      const double b = x.data<double>()[at + best * step];
      if ((maximum ? v > b : v < b) || (last && v == b)) best = i;
    }
    *to++ = best;
  });
  call.out.push_back(std::move(y));
}

void softmax_along(OpCall& call, bool logarithm) {
  const DType type = call.input(0).dtype;
  Tensor x = convert(call, call.input(0), DType::f64);
  std::size_t axis = call.axis_attr(-1, x.shape.size());
  Shape lines = x.shape;
  if (call.node.int_attr(kCoercedSoftmax, 0) != 0) {  // opset < 13: everything from axis on is one line
    Shape flat(2, 1);
    for (std::size_t d = 0; d < lines.size(); ++d) flat[d < axis ? 0 : 1] *= lines[d];
    lines = flat;
    axis = 1;
  }
  for_each_line(lines, axis, [&](std::int64_t at, std::int64_t step, std::int64_t n) {
    double* const v = x.data<double>() + at;
    double top = -std::numeric_limits<double>::infinity();
    for (std::int64_t i = 0; i < n; ++i) top = std::max(top, v[i * step]);
    double sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += host::exp(v[i * step] - top);
    const double log_sum = logarithm ? host::log(sum) : 0.0;
    for (std::int64_t i = 0; i < n; ++i) {
      v[i * step] = logarithm ? v[i * step] - top - log_sum : host::exp(v[i * step] - top) / sum;
    }
  });
  call.out.push_back(convert(call, x, type));
}
void softmax(OpCall& call) { softmax_along(call, false); }
void log_softmax(OpCall& call) { softmax_along(call, true); }

void cumulative_sum(OpCall& call) {
  const DType type = call.input(0).dtype;
  Tensor x = convert(call, call.input(0), DType::f64);
  const std::size_t axis = call.axis_of(call.ints_input(1).at(0), x.shape.size());
  const bool exclusive = call.node.int_attr("exclusive", 0) != 0;
  const bool reverse = call.node.int_attr("reverse", 0) != 0;
  for_each_line(x.shape, axis, [&](std::int64_t at, std::int64_t step, std::int64_t n) {
    double sum = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      double& v = x.data<double>()[at + (reverse ? n - 1 - i : i) * step];
      const double before = sum;
      sum += v;
      v = exclusive ? before : sum;
    }
  });
  call.out.push_back(convert(call, x, type));
}

void top_k(OpCall& call) {
  const DType type = call.input(0).dtype;
  const Tensor x = convert(call, call.input(0), DType::f64);
  const std::size_t axis = call.axis_attr(-1, x.shape.size());
  const bool largest = call.node.int_attr("largest", 1) != 0;
  const std::int64_t k = call.ints_input(1).at(0);
  call.require(k >= 0 && k <= x.shape[axis], "k = ", k, ": expected at most ", x.shape[axis]);
  Shape shape = x.shape;
  shape[axis] = k;
  Tensor values = Tensor::make(DType::f64, shape);
  Tensor indices = Tensor::make(DType::i64, shape);
  std::vector<std::int64_t> order(static_cast<std::size_t>(x.shape[axis]));
  std::vector<std::int64_t> starts;
  for_each_line(shape, axis, [&](std::int64_t at, std::int64_t, std::int64_t) { starts.push_back(at); });
  std::size_t line = 0;
  for_each_line(x.shape, axis, [&](std::int64_t at, std::int64_t step, std::int64_t n) {
    const double* const v = x.data<double>() + at;
    for (std::int64_t i = 0; i < n; ++i) order[static_cast<std::size_t>(i)] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      return largest ? v[a * step] > v[b * step] : v[a * step] < v[b * step];
    });
    if (k == 0) return;
    const std::int64_t to = starts[line++];
    for (std::int64_t i = 0; i < k; ++i) {
      values.data<double>()[to + i * step] = v[order[static_cast<std::size_t>(i)] * step];
      indices.data<std::int64_t>()[to + i * step] = order[static_cast<std::size_t>(i)];
    }
  });
  call.out.push_back(convert(call, values, type));
  call.out.push_back(std::move(indices));
}

}  // namespace

OpTable reduce_operators() {
  return {{"ReduceSum", reduce_sum},
          {"ReduceMean", reduce_mean},
          {"ReduceProd", reduce_product},
          {"ReduceL1", reduce_l1},
          {"ReduceL2", reduce_l2},
          {"ReduceSumSquare", reduce_sum_square},
          {"ReduceLogSum", reduce_log_sum},
          {"ReduceLogSumExp", reduce_log_sum_exp},
          {"ReduceMax", reduce_extreme<true>},
          {"ReduceMin", reduce_extreme<false>},
          {"ArgMax", arg_extreme<true>},
          {"ArgMin", arg_extreme<false>},
          {"Softmax", softmax},
          {"LogSoftmax", log_softmax},
          {"CumSum", cumulative_sum},
          {"TopK", top_k}};
}

}  // namespace tessera::compiler::operators
