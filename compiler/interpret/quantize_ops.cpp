// QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear, as ONNX defines them: division in float32, ties to even.
#include <algorithm>
#include <cmath>

#include "compiler/interpret/op_call.hpp"

namespace tessera::compiler::operators {
namespace {

/// Scale and zero point of element i: one for all, or one for each index of the axis.
struct Affine {
  std::vector<float> scale;
  std::vector<std::int32_t> zero;
  std::int64_t inner = 1;
  [[nodiscard]] std::size_t channel(std::int64_t i) const {
    return scale.size() == 1 ? 0 : static_cast<std::size_t>(i / inner) % scale.size();
  }
};

Affine affine_of(const OpCall& call) {
  const Shape& shape = call.input(0).shape;
  Affine a;
  const Tensor scale = convert(call, call.input(1), DType::f32);
  a.scale.assign(scale.data<float>(), scale.data<float>() + scale.elements());
  a.zero.assign(a.scale.size(), 0);
  if (call.has(2)) {
    const std::vector<std::int64_t> zero = call.ints_input(2);
    call.require(zero.size() == a.scale.size(), "scale and zero point differ in length");
    std::transform(zero.begin(), zero.end(), a.zero.begin(),
                   [](std::int64_t v) { return static_cast<std::int32_t>(v); });
  }
  call.require(!a.scale.empty(), "scale is empty");
  if (a.scale.size() > 1) {
    const std::size_t axis = call.axis_attr(1, shape.size());
    call.require(shape[axis] == static_cast<std::int64_t>(a.scale.size()), a.scale.size(), " scales for axis ", axis,
                 " of ", shape_text(shape));
    for (std::size_t d = axis + 1; d < shape.size(); ++d) a.inner *= shape[d];
  }
  return a;
}

struct Range {
  float low, high;
};
Range range_of(const OpCall& call, DType type) {
  switch (type) {
    case DType::i8:
      return {-128.0F, 127.0F};
    case DType::u8:
      return {0.0F, 255.0F};
    case DType::i16:
      return {-32768.0F, 32767.0F};
    case DType::u16:
      return {0.0F, 65535.0F};
    default:
      call.fail("quantised type ", dtype_name(type), ": expected int8, uint8, int16 or uint16");
  }
}

void quantize_linear(OpCall& call) {
  const Affine a = affine_of(call);
  const Tensor x = convert(call, call.input(0), DType::f32);
  const DType type = call.has(2) ? call.input(2).dtype : DType::u8;
  const Range range = range_of(call, type);
  Tensor y = Tensor::make(type, x.shape);
  with_number(call, type, [&](auto tag) {
    using T = decltype(tag);
    for (std::int64_t i = 0; i < x.elements(); ++i) {
      const std::size_t c = a.channel(i);
      const float v = __builtin_nearbyintf(x.data<float>()[i] / a.scale[c]) + static_cast<float>(a.zero[c]);
      y.data<T>()[i] = static_cast<T>(std::min(std::max(v, range.low), range.high));
    }
  });
  call.out.push_back(std::move(y));
}

void dequantize_linear(OpCall& call) {
  const Affine a = affine_of(call);
  const Tensor& x = call.input(0);
  Tensor y = Tensor::make(DType::f32, x.shape);
  with_number(call, x.dtype, [&](auto tag) {
    using T = decltype(tag);
    for (std::int64_t i = 0; i < x.elements(); ++i) {
      const std::size_t c = a.channel(i);
      const std::int64_t centred = static_cast<std::int64_t>(x.data<T>()[i]) - a.zero[c];
      y.data<float>()[i] = static_cast<float>(centred) * a.scale[c];
    }
  });
  call.out.push_back(std::move(y));
}

void dynamic_quantize_linear(OpCall& call) {
  const Tensor& x = call.input(0);
  call.require(x.dtype == DType::f32, "expected a float32 input");
  float low = 0;
  float high = 0;
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    low = std::min(low, x.data<float>()[i]);
    high = std::max(high, x.data<float>()[i]);
  }
  const float scale = high == low ? 1.0F : (high - low) / 255.0F;
  const float zero = std::clamp(std::nearbyint(-low / scale), 0.0F, 255.0F);
  Tensor y = Tensor::make(DType::u8, x.shape);
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    y.bytes[static_cast<std::size_t>(i)] =
        static_cast<std::uint8_t>(std::clamp(std::nearbyint(x.data<float>()[i] / scale) + zero, 0.0F, 255.0F));
  }
  Tensor scale_tensor = Tensor::make(DType::f32, {});
  *scale_tensor.data<float>() = scale;
  Tensor zero_tensor = Tensor::make(DType::u8, {});
  zero_tensor.bytes[0] = static_cast<std::uint8_t>(zero);
  call.out.push_back(std::move(y));
  call.out.push_back(std::move(scale_tensor));
  call.out.push_back(std::move(zero_tensor));
}

}  // namespace

OpTable quantize_operators() {
  return {{"QuantizeLinear", quantize_linear},
          {"DequantizeLinear", dequantize_linear},
          {"DynamicQuantizeLinear", dynamic_quantize_linear}};
}

}  // namespace tessera::compiler::operators
