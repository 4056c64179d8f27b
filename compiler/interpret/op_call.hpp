// What an operator's function gets: the node, its inputs, room for its outputs; and the few things that all of them
// need: numbers by type, broadcasting, axes.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/graph.hpp"
#include "compiler/passes/window.hpp"
#include "hw/common/error.hpp"

namespace tessera::compiler::operators {

struct OpCall {
  const Node& node;
  std::vector<const Tensor*> in;  // nullptr = absent
  std::vector<Tensor> out;

  [[nodiscard]] bool has(std::size_t i) const { return i < in.size() && in[i] != nullptr; }
  /// Input i; UserError when absent.
  [[nodiscard]] const Tensor& input(std::size_t i) const;
  [[nodiscard]] std::vector<std::int64_t> ints_input(std::size_t i) const { return input(i).as_ints(); }
  /// axis attribute (or `otherwise`) made non-negative; UserError outside [-rank, rank).
  [[nodiscard]] std::size_t axis_attr(std::int64_t otherwise, std::size_t rank) const;
  [[nodiscard]] std::size_t axis_of(std::int64_t axis, std::size_t rank) const;

  /// "node 'NAME' (OP): text" as a UserError.
  template <typename... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    user_error("node '", node.name, "' (", node.op, "): ", parts...);
  }
  template <typename... Parts>
  void require(bool condition, const Parts&... parts) const {
    if (!condition) fail(parts...);
  }
};

using OpFunction = void (*)(OpCall&);
struct OpEntry {
  const char* op;
  OpFunction run;
};
using OpTable = std::vector<OpEntry>;

OpTable elementwise_operators();
OpTable conv_operators();
OpTable matmul_operators();
OpTable pool_operators();
OpTable reduce_operators();
OpTable normalize_operators();
OpTable shape_operators();
OpTable index_operators();
OpTable resize_operators();
OpTable quantize_operators();
OpTable sample_operators();

/// Function of an operator, or nullptr.
[[nodiscard]] OpFunction find_operator(const std::string& domain, const std::string& op);

/// Calls f with a value of the tensor type's C++ type. Not for float16 (convert first), strings.
template <typename F>
void with_number(const OpCall& call, DType dtype, F&& f) {
  switch (dtype) {
    case DType::f32:
      return f(float{});
    case DType::f64:
      return f(double{});
    case DType::i8:
      return f(std::int8_t{});
    case DType::u8:
      return f(std::uint8_t{});
    case DType::i16:
      return f(std::int16_t{});
    case DType::u16:
      return f(std::uint16_t{});
    case DType::i32:
      return f(std::int32_t{});
    case DType::u32:
      return f(std::uint32_t{});
    case DType::i64:
      return f(std::int64_t{});
    case DType::u64:
      return f(std::uint64_t{});
    case DType::boolean:
      return f(std::uint8_t{});
    case DType::f16:
    case DType::string:
    case DType::undefined:
      break;
  }
  call.fail("type ", dtype_name(dtype), " is not supported: expected a number type");
}

/// Shape of numpy broadcasting; UserError when they do not fit.
[[nodiscard]] Shape broadcast_shape(const OpCall& call, const Shape& a, const Shape& b);
/// Element strides of `shape` seen as `wide`: 0 where it is repeated.
[[nodiscard]] std::vector<std::int64_t> broadcast_strides(const Shape& shape, const Shape& wide);
/// C-order element strides.
[[nodiscard]] std::vector<std::int64_t> strides_of(const Shape& shape);

/// Calls f(offset of a, offset of b, count, step of a, step of b) for each innermost run of the broadcast shape.
template <typename F>
void for_each_run(const Shape& shape, const std::vector<std::int64_t>& sa, const std::vector<std::int64_t>& sb, F&& f) {
  const std::size_t rank = shape.size();
  if (element_count(shape) == 0) return;
  if (rank == 0) return f(0, 0, 1, 0, 0);
  std::vector<std::int64_t> index(rank, 0);
  std::int64_t a = 0;
  std::int64_t b = 0;
  while (true) {
    f(a, b, shape[rank - 1], sa[rank - 1], sb[rank - 1]);
    std::size_t d = rank - 1;
    while (true) {
      if (d == 0) return;
      --d;
      a += sa[d];
      b += sb[d];
      if (++index[d] < shape[d]) break;
      a -= sa[d] * shape[d];
      b -= sb[d] * shape[d];
      index[d] = 0;
    }
  }
}

/// The tensor with its elements converted (C cast; to bool: != 0; to float16: round to nearest even).
[[nodiscard]] Tensor convert(const OpCall& call, const Tensor& tensor, DType to);
[[nodiscard]] std::uint16_t half_from_float(float value);
[[nodiscard]] float float_from_half(std::uint16_t half);

/// Spatial windows of Conv and pooling, any rank, promoted to three spatial dimensions (leading ones).
struct Window {
  std::size_t rank = 0;  // spatial rank before promotion
  std::int64_t kernel[3] = {1, 1, 1}, stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1};
  std::int64_t begin[3] = {0, 0, 0}, end[3] = {0, 0, 0};
  std::int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1};
};
[[nodiscard]] Window promote_window(const compiler::Window& window, const Shape& x);

}  // namespace tessera::compiler::operators
