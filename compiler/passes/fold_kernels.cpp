#include "compiler/passes/fold_kernels.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "compiler/passes/fold_movement.hpp"
#include "compiler/passes/slice_range.hpp"
#include "hw/common/error.hpp"

namespace tessera::compiler {
namespace {

using Ints = std::vector<std::int64_t>;
using Inputs = std::vector<const Tensor*>;
using Result = std::optional<std::vector<Tensor>>;

struct Call {
  const Node& node;
  const Inputs& in;
  const std::vector<ValueInfo>& out;

  [[nodiscard]] bool has(std::size_t i) const { return i < in.size() && in[i] != nullptr; }
  [[nodiscard]] Ints ints(std::size_t i) const { return has(i) ? in[i]->as_ints() : Ints{}; }
  [[nodiscard]] const Shape& shape() const { return *out[0].shape; }
  [[nodiscard]] std::size_t axis(std::int64_t given, std::size_t rank) const {
    return static_cast<std::size_t>(given < 0 ? given + static_cast<std::int64_t>(rank) : given);
  }
};

Result one(Tensor tensor) {
  std::vector<Tensor> result;
  result.push_back(std::move(tensor));
  return result;
}

/// Reshape, Flatten, Squeeze, Unsqueeze, Identity: the bytes stay.
Result view(const Call& c) {
  Tensor tensor = *c.in[0];
  tensor.shape = c.shape();
  return one(std::move(tensor));
}

Result transpose(const Call& c) {
  const Tensor& in = *c.in[0];
  const Ints own = strides_of(in.shape);
  const Ints perm = c.node.ints_attr("perm", {});
  Ints strides;
  for (std::size_t i = 0; i < own.size(); ++i) {
    strides.push_back(perm.empty() ? own[own.size() - 1 - i] : own[static_cast<std::size_t>(perm[i])]);
  }
  return one(strided_copy(in, c.shape(), 0, strides));
}

Result concat(const Call& c) {
  return one(concat_tensors(c.in, c.axis(c.node.int_attr("axis", 0), c.shape().size()), c.shape()));
}

Result slice(const Call& c) {
  const Tensor& in = *c.in[0];
  Ints strides = strides_of(in.shape);
  std::int64_t start = 0;
  const auto ranges = slice_ranges(c.node, in.shape, c.ints(1), c.ints(2), c.ints(3), c.ints(4));
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (ranges[i].count > 0) start += ranges[i].start * strides[i];
    if (ranges[i].count > 1) strides[i] *= ranges[i].step;
  }
  return one(strided_copy(in, c.shape(), start, strides));
}

Result split(const Call& c) {
  const Tensor& in = *c.in[0];
  const Ints strides = strides_of(in.shape);
  const std::size_t axis = c.axis(c.node.int_attr("axis", 0), in.shape.size());
  std::vector<Tensor> parts;
  std::int64_t at = 0;
  for (const ValueInfo& info : c.out) {
    parts.push_back(strided_copy(in, *info.shape, at * strides[axis], strides));
    at += (*info.shape)[axis];
  }
  return parts;
}

Result gather(const Call& c) {
  const std::size_t axis = c.axis(c.node.int_attr("axis", 0), c.in[0]->shape.size());
  return one(gather_tensor(c.node, *c.in[0], *c.in[1], axis, c.shape()));
}

Result expand(const Call& c) { return one(broadcast_to(*c.in[0], c.shape())); }

Result tile(const Call& c) {
  // The tiled axes r x n become two axes, the first of them broadcast.
  const Tensor& in = *c.in[0];
  const Ints own = strides_of(in.shape);
  Shape shape;
  Ints strides;
  for (std::size_t i = 0; i < in.shape.size(); ++i) {
    shape.push_back(in.shape[i] == 0 ? 1 : c.shape()[i] / in.shape[i]);
    shape.push_back(in.shape[i]);
    strides.push_back(0);
    strides.push_back(own[i]);
  }
  Tensor out = strided_copy(in, shape, 0, strides);
  out.shape = c.shape();
  return one(std::move(out));
}

Result scatter(const Call& c) {
  if (c.node.string_attr("reduction", "none") != "none") return std::nullopt;
  return one(scatter_nd(c.node, *c.in[0], *c.in[1], *c.in[2]));
}

Result constant_of_shape(const Call& c) {
  const auto it = c.node.attributes.find("value");
  const Tensor* value = it == c.node.attributes.end() ? nullptr : std::get_if<Tensor>(&it->second);
  if (value == nullptr) return one(Tensor::make(DType::f32, c.shape()));
  if (value->elements() != 1) return std::nullopt;
  Tensor single = *value;
  single.shape = {};
  return one(broadcast_to(single, c.shape()));
}

// ---- kernels that look at the elements

/// Calls fn with a value of the element's C++ type; false for float16 and strings, which have none.
template <typename Fn>
bool with_type(DType dtype, Fn&& fn) {
  switch (dtype) {
    case DType::f32:
      fn(float{});
      return true;
    case DType::f64:
      fn(double{});
      return true;
    case DType::i8:
      fn(std::int8_t{});
      return true;
    case DType::u8:
    case DType::boolean:
      fn(std::uint8_t{});
      return true;
    case DType::i16:
      fn(std::int16_t{});
      return true;
    case DType::u16:
      fn(std::uint16_t{});
      return true;
    case DType::i32:
      fn(std::int32_t{});
      return true;
    case DType::u32:
      fn(std::uint32_t{});
      return true;
    case DType::i64:
      fn(std::int64_t{});
      return true;
    case DType::u64:
      fn(std::uint64_t{});
      return true;
    case DType::f16:
    case DType::undefined:
    case DType::string:
      break;
  }
  return false;
}

/// Integer arithmetic wraps, as numpy's does.
template <typename T, typename Fn>
T wrapping(T a, T b, Fn&& fn) {
  if constexpr (std::is_floating_point_v<T>) {
    return fn(a, b);
  } else {
    return static_cast<T>(fn(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
  }
}

/// C's quotient for integers; the one overflow, lowest / -1, wraps.
template <typename T>
T divide(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a / b;
  } else {
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return wrapping(T{0}, a, [](auto x, auto y) { return x - y; });
    }
    return static_cast<T>(a / b);
  }
}

/// ONNX Mod: the sign of the divisor, or with fmod of the dividend.
template <typename T>
T modulo(T a, T b, bool fmod) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fmod(a, b);
  } else {
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return 0;
    }
    const T rest = static_cast<T>(a % b);
    const bool other_sign = rest != 0 && ((rest < 0) != (b < 0));
    return !fmod && other_sign ? static_cast<T>(rest + b) : rest;
  }
}

template <typename T>
std::optional<T> arithmetic(const Node& node, T a, T b) {
  const std::string& op = node.op;
  if (op == "Add") return wrapping(a, b, [](auto x, auto y) { return x + y; });
  if (op == "Sub") return wrapping(a, b, [](auto x, auto y) { return x - y; });
  if (op == "Mul") return wrapping(a, b, [](auto x, auto y) { return x * y; });
  if (op == "Max") return a < b ? b : a;
  if (op == "Min") return b < a ? b : a;
  if constexpr (!std::is_floating_point_v<T>) {
    if (b == 0) user_error("node '", node.name, "' (", op, "): divides by zero");
  }
  if (op == "Div") return divide(a, b);
  if (op == "Mod") return modulo(a, b, node.int_attr("fmod", 0) != 0);
  return std::nullopt;
}

template <typename T>
std::optional<bool> comparison(const std::string& op, T a, T b) {
  if (op == "Equal") return a == b;
  if (op == "Less") return a < b;
  if (op == "LessOrEqual") return a <= b;
  if (op == "Greater") return a > b;
  if (op == "GreaterOrEqual") return a >= b;
  if (op == "And") return a != 0 && b != 0;
  if (op == "Or") return a != 0 || b != 0;
  if (op == "Xor") return (a != 0) != (b != 0);
  return std::nullopt;
}

Result binary(const Call& c) {
  if (c.in.size() != 2 || c.in[0]->dtype != c.in[1]->dtype) return std::nullopt;
  const bool compares = c.out[0].dtype == DType::boolean;
  const Tensor a = broadcast_to(*c.in[0], c.shape());
  const Tensor b = broadcast_to(*c.in[1], c.shape());
  Tensor out = Tensor::make(c.out[0].dtype, c.shape());
  bool known = true;
  known = with_type(a.dtype,
                    [&](auto example) {
                      using T = decltype(example);
                      for (std::int64_t i = 0; known && i < out.elements(); ++i) {
                        const T x = a.data<T>()[i];
                        const T y = b.data<T>()[i];
                        if (compares) {
                          const std::optional<bool> value = comparison(c.node.op, x, y);
                          known = value.has_value();
                          if (known) out.bytes[static_cast<std::size_t>(i)] = *value ? 1 : 0;
                        } else {
                          const std::optional<T> value = arithmetic(c.node, x, y);
                          known = value.has_value();
                          if (known) out.data<T>()[i] = *value;
                        }
                      }
                    }) &&
          known;
  return known ? one(std::move(out)) : std::nullopt;
}

Result logical_not(const Call& c) {
  Tensor out = *c.in[0];
  if (out.dtype != DType::boolean) return std::nullopt;
  for (std::uint8_t& byte : out.bytes) byte = byte == 0 ? 1 : 0;
  return one(std::move(out));
}

Result negative(const Call& c) {
  Tensor out = *c.in[0];
  const bool known = with_type(out.dtype, [&](auto example) {
    using T = decltype(example);
    for (std::int64_t i = 0; i < out.elements(); ++i) {
      if constexpr (std::is_floating_point_v<T>) {
        out.data<T>()[i] = -out.data<T>()[i];
      } else {
        out.data<T>()[i] = wrapping(T{0}, out.data<T>()[i], [](auto x, auto y) { return x - y; });
      }
    }
  });
  return known ? one(std::move(out)) : std::nullopt;
}

Result where(const Call& c) {
  const Tensor condition = broadcast_to(*c.in[0], c.shape());
  const Tensor yes = broadcast_to(*c.in[1], c.shape());
  Tensor out = broadcast_to(*c.in[2], c.shape());
  if (condition.dtype != DType::boolean || yes.dtype != out.dtype) return std::nullopt;
  const std::size_t size = dtype_size(out.dtype);
  for (std::size_t i = 0; i < condition.bytes.size(); ++i) {
    if (condition.bytes[i] != 0) std::memcpy(out.bytes.data() + i * size, yes.bytes.data() + i * size, size);
  }
  return one(std::move(out));
}

/// Casts as C does within range; a number outside of an integer type's range wraps modulo 2^n (numpy on this machine).
template <typename To, typename From>
To convert(From value, bool to_bool) {
  if (to_bool) return static_cast<To>(value != From{0});
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (!(std::abs(value) < static_cast<From>(9.2e18))) return static_cast<To>(INT64_MIN);
    return static_cast<To>(static_cast<std::int64_t>(value));
  } else {
    return static_cast<To>(value);
  }
}

Result cast(const Call& c) {
  const Tensor& in = *c.in[0];
  if (in.dtype == c.out[0].dtype) return one(in);
  Tensor out = Tensor::make(c.out[0].dtype, c.shape());
  bool known = false;
  with_type(in.dtype, [&](auto from) {
    known = with_type(out.dtype, [&](auto to) {
      for (std::int64_t i = 0; i < out.elements(); ++i) {
        out.data<decltype(to)>()[i] = convert<decltype(to)>(in.data<decltype(from)>()[i], out.dtype == DType::boolean);
      }
    });
  });
  return known ? one(std::move(out)) : std::nullopt;
}

Result range(const Call& c) {
  Tensor out = Tensor::make(c.out[0].dtype, c.shape());
  const bool known = with_type(out.dtype, [&](auto example) {
    using T = decltype(example);
    const T start = c.in[0]->data<T>()[0];
    const T delta = c.in[2]->data<T>()[0];
    for (std::int64_t i = 0; i < out.elements(); ++i) {
      out.data<T>()[i] = static_cast<T>(start + static_cast<T>(i) * delta);
    }
  });
  return known ? one(std::move(out)) : std::nullopt;
}

Result reduce_prod(const Call& c) {
  if (c.in[0]->dtype != DType::i64 || c.out[0].shape->size() > 1 || element_count(c.shape()) != 1) return std::nullopt;
  std::uint64_t product = 1;
  for (const std::int64_t value : c.in[0]->as_ints()) product *= static_cast<std::uint64_t>(value);
  Tensor out = Tensor::make(DType::i64, c.shape());
  *out.data<std::int64_t>() = static_cast<std::int64_t>(product);
  return one(std::move(out));
}

using Kernel = Result (*)(const Call&);

const std::map<std::string, Kernel>& kernels() {
  static const std::map<std::string, Kernel> table = [] {
    std::map<std::string, Kernel> made = {
        {"Transpose", transpose}, {"Concat", concat},   {"Slice", slice},   {"Split", split},
        {"Gather", gather},       {"Expand", expand},   {"Tile", tile},     {"Where", where},
        {"ScatterND", scatter},   {"Cast", cast},       {"CastLike", cast}, {"ConstantOfShape", constant_of_shape},
        {"Range", range},         {"Not", logical_not}, {"Neg", negative},  {"ReduceProd", reduce_prod}};
    for (const char* op : {"Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"}) made[op] = view;
    for (const char* op : {"Add", "And", "Div", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Max",
                           "Min", "Mod", "Mul", "Or", "Sub", "Xor"}) {
      made[op] = binary;
    }
    return made;
  }();
  return table;
}

}  // namespace

std::optional<std::vector<Tensor>> fold_node(const Node& node, const Inputs& inputs,
                                             const std::vector<ValueInfo>& outputs) {
  const auto kernel = kernels().find(node.op);
  if (!node.domain.empty() || kernel == kernels().end()) return std::nullopt;
  for (const ValueInfo& info : outputs) {
    if (!info.shape) return std::nullopt;
  }
  return kernel->second(Call{node, inputs, outputs});
}

}  // namespace tessera::compiler
