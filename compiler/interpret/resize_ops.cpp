// Resize in the form of opset 13: inputs X, roi, scales, sizes. Modes nearest, linear and cubic, one dimension after
// the other (linear and cubic are separable). Leaves out tf_crop_and_resize.
#include <algorithm>
#include <cmath>

#include "compiler/interpret/op_call.hpp"

namespace tessera::compiler::operators {
namespace {

/// One output element of a dimension: input elements and their weights.
struct Blend {
  std::vector<std::int64_t> index;
  std::vector<double> weight;
};

struct ResizeMode {
  std::string mode, transform, nearest;
  double cubic_a = -0.75;
  bool exclude_outside = false;
};

double source_position(const OpCall& call, const ResizeMode& m, std::int64_t out, std::int64_t in_size,
                       std::int64_t out_size, double scale) {
  const auto x = static_cast<double>(out);
  if (m.transform == "half_pixel") return (x + 0.5) / scale - 0.5;
  if (m.transform == "pytorch_half_pixel") return out_size > 1 ? (x + 0.5) / scale - 0.5 : 0.0;
  if (m.transform == "asymmetric") return x / scale;
  if (m.transform == "align_corners") {
    return out_size == 1 ? 0.0 : x * static_cast<double>(in_size - 1) / static_cast<double>(out_size - 1);
  }
  if (m.transform == "half_pixel_symmetric") {
    const double adjust = static_cast<double>(out_size) / (scale * static_cast<double>(in_size));
    const double centre = static_cast<double>(in_size) / 2.0;
    return centre * (1.0 - adjust) + (x + 0.5) / scale - 0.5;
  }
  call.fail(
      "coordinate_transformation_mode '", m.transform,
      "' is not supported: expected half_pixel, half_pixel_symmetric, pytorch_half_pixel, asymmetric or align_corners");
}

std::int64_t nearest_index(const OpCall& call, const ResizeMode& m, double at) {
  const double floor = std::floor(at);
  if (m.nearest == "round_prefer_floor") return static_cast<std::int64_t>(at - floor == 0.5 ? floor : std::round(at));
  if (m.nearest == "round_prefer_ceil") return static_cast<std::int64_t>(std::floor(at + 0.5));
  if (m.nearest == "floor") return static_cast<std::int64_t>(floor);
  if (m.nearest == "ceil") return static_cast<std::int64_t>(std::ceil(at));
  call.fail("nearest_mode '", m.nearest, "': expected round_prefer_floor, round_prefer_ceil, floor or ceil");
}

Blend blend_at(const OpCall& call, const ResizeMode& m, double at, std::int64_t size) {
  const auto inside = [&](std::int64_t i) { return std::clamp<std::int64_t>(i, 0, size - 1); };
  if (m.mode == "nearest") return {{inside(nearest_index(call, m, at))}, {1.0}};
  const auto floor = static_cast<std::int64_t>(std::floor(at));
  const double f = at - std::floor(at);
  Blend blend;
  if (m.mode == "linear") {
    blend = {{floor, floor + 1}, {1.0 - f, f}};
  } else if (m.mode == "cubic") {
    const double a = m.cubic_a;
    const auto near_weight = [a](double d) { return ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0; };
    const auto far_weight = [a](double d) { return ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a; };
    blend = {{floor - 1, floor, floor + 1, floor + 2},
             {far_weight(1.0 + f), near_weight(f), near_weight(1.0 - f), far_weight(2.0 - f)}};
  } else {
    call.fail("mode '", m.mode, "': expected nearest, linear or cubic");
  }
  if (m.exclude_outside) {
    double sum = 0;
    for (std::size_t i = 0; i < blend.index.size(); ++i) {
      if (blend.index[i] < 0 || blend.index[i] >= size) blend.weight[i] = 0;
      sum += blend.weight[i];
    }
    for (double& w : blend.weight) w /= sum;
  }
  for (std::int64_t& i : blend.index) i = inside(i);
  return blend;
}

void resize(OpCall& call) {
  const DType type = call.input(0).dtype;
  Tensor x = convert(call, call.input(0), DType::f64);
  const std::size_t rank = x.shape.size();
  ResizeMode m;
  m.mode = call.node.string_attr("mode", "nearest");
  m.transform = call.node.string_attr("coordinate_transformation_mode", "half_pixel");
  m.nearest = call.node.string_attr("nearest_mode", "round_prefer_floor");
  m.cubic_a = static_cast<double>(call.node.float_attr("cubic_coeff_a", -0.75F));
  m.exclude_outside = call.node.int_attr("exclude_outside", 0) != 0;
  call.require(call.node.int_attr("antialias", 0) == 0, "antialias is not supported: expected 0");
  std::vector<double> scales = call.has(2) ? call.input(2).as_doubles() : std::vector<double>();
  std::vector<std::int64_t> sizes = call.has(3) ? call.ints_input(3) : std::vector<std::int64_t>();
  call.require((scales.size() == rank) != (sizes.size() == rank), "expected either scales or sizes, ", rank,
               " of them");
  if (sizes.empty()) {
    for (std::size_t d = 0; d < rank; ++d) {
      sizes.push_back(static_cast<std::int64_t>(std::floor(static_cast<double>(x.shape[d]) * scales[d])));
    }
  } else {
    for (std::size_t d = 0; d < rank; ++d)
      scales.push_back(static_cast<double>(sizes[d]) / static_cast<double>(x.shape[d]));
  }
  for (std::size_t d = 0; d < rank; ++d) {
    if (sizes[d] == x.shape[d] && scales[d] == 1.0) continue;
    call.require(sizes[d] >= 1 && x.shape[d] >= 1, "dimension ", d, " would have ", sizes[d], " elements");
    std::vector<Blend> blends;
    for (std::int64_t i = 0; i < sizes[d]; ++i) {
      blends.push_back(blend_at(call, m, source_position(call, m, i, x.shape[d], sizes[d], scales[d]), x.shape[d]));
    }
    Shape shape = x.shape;
    shape[d] = sizes[d];
    Tensor y = Tensor::make(DType::f64, shape);
    std::int64_t inner = 1;
    for (std::size_t e = d + 1; e < rank; ++e) inner *= shape[e];
    std::int64_t outer = 1;
    for (std::size_t e = 0; e < d; ++e) outer *= shape[e];
    for (std::int64_t o = 0; o < outer; ++o) {
      for (std::int64_t i = 0; i < sizes[d]; ++i) {
        const Blend& blend = blends[static_cast<std::size_t>(i)];
        double* const to = y.data<double>() + (o * sizes[d] + i) * inner;
        for (std::size_t k = 0; k < blend.index.size(); ++k) {
          const double* const from = x.data<double>() + (o * x.shape[d] + blend.index[k]) * inner;
          for (std::int64_t j = 0; j < inner; ++j) to[j] += blend.weight[k] * from[j];
        }
      }
    }
    x = std::move(y);
  }
  call.out.push_back(convert(call, x, type));
}

}  // namespace

OpTable resize_operators() { return {{"Resize", resize}}; }

}  // namespace tessera::compiler::operators
