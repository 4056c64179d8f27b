#include "compiler/ir/graph.hpp"

#include <cmath>
#include <cstring>

#include "hw/common/error.hpp"

namespace tessera::compiler {

const char* dtype_name(DType type) {
  switch (type) {
    case DType::undefined:
      return "undefined";
    case DType::f32:
      return "float32";
    case DType::f64:
      return "float64";
    case DType::f16:
      return "float16";
    case DType::i8:
      return "int8";
    case DType::u8:
      return "uint8";
    case DType::i16:
      return "int16";
    case DType::u16:
      return "uint16";
    case DType::i32:
      return "int32";
    case DType::u32:
      return "uint32";
    case DType::i64:
      return "int64";
    case DType::u64:
      return "uint64";
    case DType::boolean:
      return "bool";
    case DType::string:
      return "string";
  }
  TESSERA_CHECK(false, "no such data type ", static_cast<int>(type));
}

std::size_t dtype_size(DType type) {
  switch (type) {
    case DType::undefined:
    case DType::string:
      return 0;
    case DType::i8:
    case DType::u8:
    case DType::boolean:
      return 1;
    case DType::f16:
    case DType::i16:
    case DType::u16:
      return 2;
    case DType::f32:
    case DType::i32:
    case DType::u32:
      return 4;
    case DType::f64:
    case DType::i64:
    case DType::u64:
      return 8;
  }
  TESSERA_CHECK(false, "no such data type ", static_cast<int>(type));
}

std::int64_t element_count(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t dim : shape) {
    TESSERA_CHECK(dim >= 0, "negative dimension ", dim, " in shape ", shape_text(shape));
    TESSERA_CHECK(!__builtin_mul_overflow(count, dim, &count), "shape ", shape_text(shape), " overflows 64 bits");
  }
  return count;
}

std::string shape_text(const Shape& shape) {
  if (shape.empty()) return "scalar";
  std::string text;
  for (const std::int64_t dim : shape) {
    if (!text.empty()) text += 'x';
    text += std::to_string(dim);
  }
  return text;
}

Tensor Tensor::make(DType dtype, Shape shape) {
  Tensor tensor;
  tensor.dtype = dtype;
  tensor.bytes.resize(static_cast<std::size_t>(element_count(shape)) * dtype_size(dtype));
  tensor.shape = std::move(shape);
  return tensor;
}

namespace {

/// IEEE 754 binary16: 1 sign, 5 exponent (bias 15), 10 fraction bits.
double half_to_double(std::uint16_t half) {
  const int exponent = (half >> 10) & 31;
  const int fraction = half & 1023;
  double value = 0.0;
  if (exponent == 31) {
    value = fraction == 0 ? HUGE_VAL : std::nan("");
  } else if (exponent == 0) {
    value = std::ldexp(fraction, -24);
  } else {
    value = std::ldexp(fraction + 1024, exponent - 25);
  }
  return (half & 0x8000) != 0 ? -value : value;
}

/// Calls fn with the i-th element, in the element's own C++ type.
template <typename Fn>
void visit_elements(const Tensor& tensor, Fn&& fn) {
  const auto count = static_cast<std::size_t>(tensor.elements());
  TESSERA_CHECK(tensor.bytes.size() == count * dtype_size(tensor.dtype), "tensor of ", shape_text(tensor.shape), " ",
                dtype_name(tensor.dtype), " holds ", tensor.bytes.size(), " bytes");
  const auto each = [&](auto example) {
    using T = decltype(example);
    for (std::size_t i = 0; i < count; ++i) {
      T value;
      std::memcpy(&value, tensor.bytes.data() + i * sizeof(T), sizeof(T));
      fn(value);
    }
  };
  switch (tensor.dtype) {
    case DType::f32:
      return each(float{});
    case DType::f64:
      return each(double{});
    case DType::f16:
      for (std::size_t i = 0; i < count; ++i) {
        std::uint16_t value = 0;
        std::memcpy(&value, tensor.bytes.data() + i * 2, 2);
        fn(half_to_double(value));
      }
      return;
    case DType::i8:
      return each(std::int8_t{});
    case DType::u8:
    case DType::boolean:
      return each(std::uint8_t{});
    case DType::i16:
      return each(std::int16_t{});
    case DType::u16:
      return each(std::uint16_t{});
    case DType::i32:
      return each(std::int32_t{});
    case DType::u32:
      return each(std::uint32_t{});
    case DType::i64:
      return each(std::int64_t{});
    case DType::u64:
      return each(std::uint64_t{});
    case DType::undefined:
    case DType::string:
      break;
  }
  TESSERA_CHECK(false, "a tensor of type ", dtype_name(tensor.dtype), " has no numbers");
}

template <typename T>
const T* find_attribute(const Node& node, const std::string& key) {
  const auto it = node.attributes.find(key);
  if (it == node.attributes.end()) return nullptr;
  const T* value = std::get_if<T>(&it->second);
  if (value == nullptr) {
    user_error("node '", node.name, "' (", node.op, "): attribute '", key, "' has another type than ONNX gives it");
  }
  return value;
}

}  // namespace

std::vector<double> Tensor::as_doubles() const {
  std::vector<double> result;
  result.reserve(static_cast<std::size_t>(elements()));
  visit_elements(*this, [&](auto value) { result.push_back(static_cast<double>(value)); });
  return result;
}

std::vector<std::int64_t> Tensor::as_ints() const {
  std::vector<std::int64_t> result;
  result.reserve(static_cast<std::size_t>(elements()));
  visit_elements(*this, [&](auto value) { result.push_back(static_cast<std::int64_t>(value)); });
  return result;
}

std::int64_t Node::int_attr(const std::string& key, std::int64_t otherwise) const {
  const auto* value = find_attribute<std::int64_t>(*this, key);
  return value == nullptr ? otherwise : *value;
}

float Node::float_attr(const std::string& key, float otherwise) const {
  const auto* value = find_attribute<float>(*this, key);
  return value == nullptr ? otherwise : *value;
}

std::string Node::string_attr(const std::string& key, const std::string& otherwise) const {
  const auto* value = find_attribute<std::string>(*this, key);
  return value == nullptr ? otherwise : *value;
}

std::vector<std::int64_t> Node::ints_attr(const std::string& key, std::vector<std::int64_t> otherwise) const {
  const auto* value = find_attribute<std::vector<std::int64_t>>(*this, key);
  return value == nullptr ? otherwise : *value;
}

const Shape& Graph::shape_of(const std::string& value) const {
  if (const auto it = constants.find(value); it != constants.end()) return it->second.shape;
  const auto it = values.find(value);
  TESSERA_CHECK(it != values.end() && it->second.shape.has_value(), "the shape of value '", value, "' is unknown");
  return *it->second.shape;
}

DType Graph::dtype_of(const std::string& value) const {
  if (const auto it = constants.find(value); it != constants.end()) return it->second.dtype;
  const auto it = values.find(value);
  return it == values.end() ? DType::undefined : it->second.dtype;
}

}  // namespace tessera::compiler
