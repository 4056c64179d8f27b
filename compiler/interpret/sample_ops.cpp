// Einsum and GridSample: sums and reads at computed places.
#include <algorithm>
#include <cmath>

#include "compiler/interpret/op_call.hpp"
#include "compiler/passes/einsum.hpp"

namespace tessera::compiler::operators {
namespace {

std::size_t size_of(std::int64_t v) { return static_cast<std::size_t>(v); }

/// All labels, those of the result outermost; the products of the operands are summed over the others, in order.
void einsum(OpCall& call) {
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < call.in.size(); ++i) {
    call.require(call.input(i).dtype == DType::f32 || call.input(i).dtype == DType::f64, "type ",
                 dtype_name(call.input(i).dtype), ": expected float32 or float64");
    shapes.push_back(call.input(i).shape);
  }
  const Einsum labels = resolve_einsum(call.node, shapes);
  std::string order = labels.output;
  for (const auto& [label, size] : labels.sizes) {
    if (labels.output.find(label) == std::string::npos) order += label;
  }
  Shape extent, out;
  for (const char label : order) extent.push_back(labels.sizes.at(label));
  for (const char label : labels.output) out.push_back(labels.sizes.at(label));
  std::vector<std::vector<double>> data;
  std::vector<std::vector<std::int64_t>> strides;  // of each operand along `order`
  for (std::size_t i = 0; i < call.in.size(); ++i) {
    data.push_back(call.input(i).as_doubles());
    const std::vector<std::int64_t> own = strides_of(shapes[i]);
    std::vector<std::int64_t> along(order.size(), 0);
    for (std::size_t d = 0; d < own.size(); ++d) along[order.find(labels.inputs[i][d])] += own[d];
    strides.push_back(along);
  }
  const std::int64_t inner =
      element_count(Shape(extent.begin() + static_cast<std::ptrdiff_t>(out.size()), extent.end()));
  std::vector<std::int64_t> at(order.size(), 0);
  std::vector<double> sums(size_of(element_count(out)), 0.0);
  for (double& sum : sums) {
    for (std::int64_t k = 0; k < inner; ++k) {
      double product = 1.0;
      for (std::size_t i = 0; i < data.size(); ++i) {
        std::int64_t offset = 0;
        for (std::size_t d = 0; d < at.size(); ++d) offset += at[d] * strides[i][d];
        product *= data[i][size_of(offset)];
      }
      sum += product;
      for (std::size_t d = at.size(); d > 0 && ++at[d - 1] == extent[d - 1]; --d) at[d - 1] = 0;
    }
  }
  Tensor wide = Tensor::make(DType::f64, out);
  std::copy(sums.begin(), sums.end(), wide.data<double>());
  call.out.push_back(convert(call, wide, call.input(0).dtype));
}

/// Mirrors a coordinate into [low, high].
double reflected(double v, double low, double high) {
  const double span = high - low;
  if (span <= 0.0) return low;
  double rest = std::fmod(std::fabs(v - low), 2.0 * span);
  if (rest > span) rest = 2.0 * span - rest;
  return low + rest;
}

struct Sampler {
  std::string padding;
  bool corners = false;

  /// From [-1, 1] to the axis' own numbers.
  [[nodiscard]] double coordinate(double v, std::int64_t size) const {
    const auto n = static_cast<double>(size);
    double at = corners ? (v + 1.0) / 2.0 * (n - 1.0) : ((v + 1.0) * n - 1.0) / 2.0;
    if (padding == "border") at = std::clamp(at, 0.0, n - 1.0);
    if (padding == "reflection") {
      at = corners ? reflected(at, 0.0, n - 1.0) : reflected(at, -0.5, n - 0.5);
      at = std::clamp(at, 0.0, n - 1.0);
    }
    return at;
  }
};

void grid_sample(OpCall& call) {
  const Tensor& x = call.input(0);
  const Tensor& grid = call.input(1);
  call.require(x.dtype == DType::f32 && grid.dtype == DType::f32, "type ", dtype_name(x.dtype), ": expected float32");
  call.require(x.shape.size() == 4 && grid.shape.size() == 4 && grid.shape[3] == 2 && grid.shape[0] == x.shape[0],
               "shapes ", shape_text(x.shape), " and ", shape_text(grid.shape), ": expected NxCxHxW and NxhxWx2");
  const std::string mode = call.node.string_attr("mode", "bilinear");
  call.require(mode == "bilinear" || mode == "linear" || mode == "nearest", "mode ", mode,
               ": expected bilinear or nearest");
  const Sampler sampler{call.node.string_attr("padding_mode", "zeros"), call.node.int_attr("align_corners", 0) != 0};
  const std::int64_t channels = x.shape[1], h = x.shape[2], w = x.shape[3];
  const std::int64_t places = grid.shape[1] * grid.shape[2];
  Tensor y = Tensor::make(DType::f32, {x.shape[0], channels, grid.shape[1], grid.shape[2]});
  for (std::int64_t n = 0; n < x.shape[0]; ++n) {
    for (std::int64_t p = 0; p < places; ++p) {
      const float* const g = grid.data<float>() + (n * places + p) * 2;
      const double fx = sampler.coordinate(static_cast<double>(g[0]), w);
      const double fy = sampler.coordinate(static_cast<double>(g[1]), h);
      for (std::int64_t c = 0; c < channels; ++c) {
        const float* const map = x.data<float>() + (n * channels + c) * h * w;
        const auto pixel = [&](double row, double column) {
          const bool inside =
              row >= 0.0 && column >= 0.0 && row < static_cast<double>(h) && column < static_cast<double>(w);
          return inside
                     ? static_cast<double>(map[static_cast<std::int64_t>(row) * w + static_cast<std::int64_t>(column)])
                     : 0.0;
        };
        double value = 0.0;
        if (mode == "nearest") {
          value = pixel(std::nearbyint(fy), std::nearbyint(fx));
        } else {
          const double top = std::floor(fy), left = std::floor(fx);
          const double dy = fy - top, dx = fx - left;
          value = pixel(top, left) * (1.0 - dy) * (1.0 - dx) + pixel(top, left + 1.0) * (1.0 - dy) * dx +
                  pixel(top + 1.0, left) * dy * (1.0 - dx) + pixel(top + 1.0, left + 1.0) * dy * dx;
        }
        y.data<float>()[(n * channels + c) * places + p] = static_cast<float>(value);
      }
    }
  }
  call.out.push_back(std::move(y));
}

}  // namespace

OpTable sample_operators() { return {{"Einsum", einsum}, {"GridSample", grid_sample}}; }

}  // namespace tessera::compiler::operators
