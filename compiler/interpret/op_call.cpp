#include "compiler/interpret/op_call.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tessera::compiler::operators {

const Tensor& OpCall::input(std::size_t i) const {
  if (!has(i)) fail("input ", i, " is missing");
  return *in[i];
}

std::size_t OpCall::axis_of(std::int64_t axis, std::size_t rank) const {
  const auto r = static_cast<std::int64_t>(rank);
  require(axis >= -r && axis < r, "axis ", axis, " is outside [", -r, ", ", r, ")");
  return static_cast<std::size_t>(axis < 0 ? axis + r : axis);
}

std::size_t OpCall::axis_attr(std::int64_t otherwise, std::size_t rank) const {
  return axis_of(node.int_attr("axis", otherwise), rank);
}

Shape broadcast_shape(const OpCall& call, const Shape& a, const Shape& b) {
  const std::size_t rank = std::max(a.size(), b.size());
  Shape shape(rank, 1);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t da = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t db = i < b.size() ? b[b.size() - 1 - i] : 1;
    call.require(da == db || da == 1 || db == 1, "shapes ", shape_text(a), " and ", shape_text(b),
                 " do not broadcast: each dimension must be equal or 1");
    shape[rank - 1 - i] = da == 1 ? db : da;
  }
  return shape;
}

std::vector<std::int64_t> strides_of(const Shape& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

std::vector<std::int64_t> broadcast_strides(const Shape& shape, const Shape& wide) {
  const std::vector<std::int64_t> own = strides_of(shape);
  std::vector<std::int64_t> strides(wide.size(), 0);
  const std::size_t lead = wide.size() - shape.size();
  for (std::size_t i = 0; i < shape.size(); ++i) strides[lead + i] = shape[i] == 1 ? 0 : own[i];
  return strides;
}

float float_from_half(std::uint16_t half) {
  const int exponent = (half >> 10) & 31;
  const auto fraction = static_cast<float>(half & 1023);
  float value = 0;
  if (exponent == 31) {
    value = fraction == 0 ? HUGE_VALF : std::nanf("");
  } else if (exponent == 0) {
    value = std::ldexp(fraction, -24);
  } else {
    value = std::ldexp(fraction + 1024.0F, exponent - 25);
  }
  return (half & 0x8000) != 0 ? -value : value;
}

std::uint16_t half_from_float(float value) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7e00);
  const float magnitude = std::fabs(value);
  if (magnitude >= 65520.0F) return static_cast<std::uint16_t>(sign | 0x7c00);  // rounds to infinity
  int exponent = 0;
  (void)std::frexp(magnitude, &exponent);         // magnitude in [0.5, 1) 2^exponent
  const int step = std::max(exponent - 11, -24);  // weight of the last fraction bit
  const auto units = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(magnitude, -step)));
  // units in [1024, 2048] for normal numbers: adding the exponent field lets a carry move into it by itself.
  const auto bits = step == -24 ? units : ((static_cast<std::uint32_t>(step + 25) - 1U) << 10) + units;
  return static_cast<std::uint16_t>(sign | bits);
}

Tensor convert(const OpCall& call, const Tensor& tensor, DType to) {
  if (tensor.dtype == to) return tensor;
  Tensor result = Tensor::make(to, tensor.shape);
  const auto n = static_cast<std::size_t>(tensor.elements());
  if (tensor.dtype == DType::f16) {
    Tensor wide = Tensor::make(DType::f32, tensor.shape);
    for (std::size_t i = 0; i < n; ++i) wide.data<float>()[i] = float_from_half(tensor.data<std::uint16_t>()[i]);
    return convert(call, wide, to);
  }
  with_number(call, tensor.dtype, [&](auto from) {
    using From = decltype(from);
    const From* const x = tensor.data<From>();
    if (to == DType::f16) {
      for (std::size_t i = 0; i < n; ++i) result.data<std::uint16_t>()[i] = half_from_float(static_cast<float>(x[i]));
    } else if (to == DType::boolean) {
      for (std::size_t i = 0; i < n; ++i) result.bytes[i] = x[i] != From{} ? 1 : 0;
    } else {
      with_number(call, to, [&](auto target) {
        using To = decltype(target);
        To* const y = result.data<To>();
        for (std::size_t i = 0; i < n; ++i) y[i] = static_cast<To>(x[i]);
      });
    }
  });
  return result;
}

Window promote_window(const compiler::Window& window, const Shape& x) {
  Window w;
  w.rank = window.kernel.size();
  for (std::size_t i = 0; i < w.rank; ++i) {
    const std::size_t d = 3 - w.rank + i;
    w.in[d] = x[2 + i];
    w.out[d] = window.output[i];
    w.kernel[d] = window.kernel[i];
    w.stride[d] = window.strides[i];
    w.dilation[d] = window.dilations[i];
    w.begin[d] = window.pads_begin[i];
    w.end[d] = window.pads_end[i];
  }
  return w;
}

}  // namespace tessera::compiler::operators
