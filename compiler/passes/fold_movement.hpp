// Kernels that copy elements without looking at them, for every element size. Private to compiler/passes.
#pragma once

#include <vector>

#include "compiler/ir/graph.hpp"

namespace tessera::compiler {

/// Elements that one step along each axis skips, in C order.
[[nodiscard]] std::vector<std::int64_t> strides_of(const Shape& shape);

/// out[i] = in[start + sum of i[axis] * stride[axis]]: transposes, slices, broadcasts (stride 0).
[[nodiscard]] Tensor strided_copy(const Tensor& in, const Shape& out_shape, std::int64_t start,
                                  const std::vector<std::int64_t>& strides);

/// `in` broadcast to `shape` as ONNX broadcasts.
[[nodiscard]] Tensor broadcast_to(const Tensor& in, const Shape& shape);

[[nodiscard]] Tensor concat_tensors(const std::vector<const Tensor*>& inputs, std::size_t axis, const Shape& out_shape);

/// Gather along an axis; negative indices count from the back. UserError names the node for an index outside.
[[nodiscard]] Tensor gather_tensor(const Node& node, const Tensor& data, const Tensor& indices, std::size_t axis,
                                   const Shape& out_shape);

/// A copy with `updates` written at `indices` (ScatterND without reduction).
[[nodiscard]] Tensor scatter_nd(const Node& node, const Tensor& data, const Tensor& indices, const Tensor& updates);

}  // namespace tessera::compiler
