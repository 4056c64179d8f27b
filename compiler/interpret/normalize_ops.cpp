#include <algorithm>
#include <cmath>

#include "compiler/host/math.hpp"
#include "compiler/interpret/op_call.hpp"

namespace tessera::compiler::operators {
namespace {

void batch_normalization(OpCall& call) {
  const Tensor x = convert(call, call.input(0), DType::f32);
  call.require(call.node.int_attr("training_mode", 0) == 0, "training mode is not supported: expected inference");
  call.require(x.shape.size() >= 2, "input of rank ", x.shape.size(), ": expected at least 2");
  const std::int64_t channels = x.shape[1];
  std::vector<double> p[4];  // scale, bias, mean, variance
  for (std::size_t i = 0; i < 4; ++i) {
    p[i] = call.input(i + 1).as_doubles();
    call.require(p[i].size() == static_cast<std::size_t>(channels), "input ", i + 1, " has ", p[i].size(),
                 " elements: expected ", channels);
  }
  const double epsilon = static_cast<double>(call.node.float_attr("epsilon", 1e-5F));
  Tensor y = Tensor::make(DType::f32, x.shape);
  const std::int64_t maps = x.shape[0] * channels;
  const std::int64_t size = maps == 0 ? 0 : x.elements() / maps;
  for (std::int64_t m = 0; m < maps; ++m) {
    const auto c = static_cast<std::size_t>(m % channels);
    const auto factor = static_cast<float>(p[0][c] / std::sqrt(p[3][c] + epsilon));
    const auto mean = static_cast<float>(p[2][c]);
    const auto bias = static_cast<float>(p[1][c]);
    for (std::int64_t i = m * size; i < (m + 1) * size; ++i) {
      y.data<float>()[i] = (x.data<float>()[i] - mean) * factor + bias;
    }
  }
  call.out.push_back(convert(call, y, call.input(0).dtype));
}

struct Moments {
  double mean = 0;
  double variance = 0;
};
Moments moments(const float* x, std::int64_t n) {
  Moments m;
  for (std::int64_t i = 0; i < n; ++i) m.mean += static_cast<double>(x[i]);
  m.mean /= static_cast<double>(n);
  for (std::int64_t i = 0; i < n; ++i)
    m.variance += (static_cast<double>(x[i]) - m.mean) * (static_cast<double>(x[i]) - m.mean);
  m.variance /= static_cast<double>(n);
  return m;
}

void instance_normalization(OpCall& call) {
  const Tensor x = convert(call, call.input(0), DType::f32);
  const std::vector<double> scale = call.input(1).as_doubles();
  const std::vector<double> bias = call.input(2).as_doubles();
  const std::int64_t channels = x.shape.at(1);
  call.require(scale.size() == static_cast<std::size_t>(channels) && bias.size() == scale.size(),
               "scale and bias must have ", channels, " elements");
  const double epsilon = static_cast<double>(call.node.float_attr("epsilon", 1e-5F));
  Tensor y = Tensor::make(DType::f32, x.shape);
  const std::int64_t maps = x.shape[0] * channels;
  const std::int64_t size = maps == 0 ? 0 : x.elements() / maps;
  for (std::int64_t m = 0; m < maps; ++m) {
    const float* const from = x.data<float>() + m * size;
    const Moments stats = moments(from, size);
    const auto c = static_cast<std::size_t>(m % channels);
    const double factor = scale[c] / std::sqrt(stats.variance + epsilon);
    for (std::int64_t i = 0; i < size; ++i) {
      y.data<float>()[m * size + i] =
          static_cast<float>((static_cast<double>(from[i]) - stats.mean) * factor + bias[c]);
    }
  }
  call.out.push_back(convert(call, y, call.input(0).dtype));
}

void layer_normalization(OpCall& call) {
  const Tensor x = convert(call, call.input(0), DType::f32);
  const std::size_t axis = call.axis_attr(-1, x.shape.size());
  const double epsilon = static_cast<double>(call.node.float_attr("epsilon", 1e-5F));
  std::int64_t rows = 1;
  Shape stats_shape = x.shape;
  for (std::size_t d = 0; d < x.shape.size(); ++d) {
    if (d < axis)
      rows *= x.shape[d];
    else
      stats_shape[d] = 1;
  }
  const std::int64_t size = rows == 0 ? 0 : x.elements() / rows;
  const Shape inner(x.shape.begin() + static_cast<std::ptrdiff_t>(axis), x.shape.end());
  const auto spread = [&](std::size_t i) {  // scale or bias for each element of a row
    std::vector<double> values = call.input(i).as_doubles();
    std::vector<double> wide;
    const auto strides = broadcast_strides(call.input(i).shape, inner);
    for_each_run(inner, strides, strides,
                 [&](std::int64_t at, std::int64_t, std::int64_t n, std::int64_t s, std::int64_t) {
                   for (std::int64_t k = 0; k < n; ++k) wide.push_back(values[static_cast<std::size_t>(at + k * s)]);
                 });
    return wide;
  };
  const std::vector<double> scale = spread(1);
  const std::vector<double> bias = call.has(2) ? spread(2) : std::vector<double>(static_cast<std::size_t>(size), 0.0);
  Tensor y = Tensor::make(DType::f32, x.shape);
  Tensor mean = Tensor::make(DType::f32, stats_shape);
  Tensor inverse = Tensor::make(DType::f32, stats_shape);
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* const from = x.data<float>() + r * size;
    const Moments stats = moments(from, size);
    const double factor = 1.0 / std::sqrt(stats.variance + epsilon);
    mean.data<float>()[r] = static_cast<float>(stats.mean);
    inverse.data<float>()[r] = static_cast<float>(factor);
    for (std::int64_t i = 0; i < size; ++i) {
      const auto k = static_cast<std::size_t>(i);
      y.data<float>()[r * size + i] =
          static_cast<float>((static_cast<double>(from[i]) - stats.mean) * factor * scale[k] + bias[k]);
    }
  }
  call.out.push_back(convert(call, y, call.input(0).dtype));
  call.out.push_back(std::move(mean));
  call.out.push_back(std::move(inverse));
}

void lrn(OpCall& call) {
  const Tensor& x = call.input(0);
  call.require(x.dtype == DType::f32 && x.shape.size() >= 2, "expected a float32 input of rank 2 or more");
  const std::int64_t size = call.node.int_attr("size", 1);
  const double alpha = static_cast<double>(call.node.float_attr("alpha", 1e-4F));
  const double beta = static_cast<double>(call.node.float_attr("beta", 0.75F));
  const double bias = static_cast<double>(call.node.float_attr("bias", 1.0F));
  const std::int64_t channels = x.shape[1];
  const std::int64_t maps = x.shape[0] * channels;
  const std::int64_t map = maps == 0 ? 0 : x.elements() / maps;
  Tensor y = Tensor::make(DType::f32, x.shape);
  for (std::int64_t n = 0; n < x.shape[0]; ++n) {
    for (std::int64_t c = 0; c < channels; ++c) {
      const std::int64_t first = std::max<std::int64_t>(0, c - (size - 1) / 2);
      const std::int64_t last = std::min(channels - 1, c + size / 2);
      for (std::int64_t i = 0; i < map; ++i) {
        double sum = 0;
        for (std::int64_t k = first; k <= last; ++k) {
          const auto v = static_cast<double>(x.data<float>()[(n * channels + k) * map + i]);
          sum += v * v;
        }
        const std::int64_t at = (n * channels + c) * map + i;
        const double divisor = host::exp(beta * host::log(bias + alpha / static_cast<double>(size) * sum));
        y.data<float>()[at] = static_cast<float>(static_cast<double>(x.data<float>()[at]) / divisor);
      }
    }
  }
  call.out.push_back(std::move(y));
}

}  // namespace

OpTable normalize_operators() {
  return {{"BatchNormalization", batch_normalization},
          {"InstanceNormalization", instance_normalization},
          {"LayerNormalization", layer_normalization},
          {"LRN", lrn}};
}

}  // namespace tessera::compiler::operators
