#include "compiler/passes/fold_movement.hpp"

#include <cstring>

#include "hw/common/error.hpp"

namespace tessera::compiler {
namespace {

using Ints = std::vector<std::int64_t>;

/// An index in [0, size), counted from the back when negative.
std::int64_t checked_index(const Node& node, std::int64_t index, std::int64_t size) {
  if (index < -size || index >= size) {
    user_error("node '", node.name, "' (", node.op, "): index ", index, " of an axis of size ", size);
  }
  return index < 0 ? index + size : index;
}

}  // namespace

std::vector<std::int64_t> strides_of(const Shape& shape) {
  Ints strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

Tensor strided_copy(const Tensor& in, const Shape& out_shape, std::int64_t start, const Ints& strides) {
  Tensor out = Tensor::make(in.dtype, out_shape);
  const std::size_t size = dtype_size(in.dtype);
  const std::size_t rank = out_shape.size();
  const std::int64_t count = out.elements();
  Ints index(rank, 0);
  std::int64_t at = start;
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(out.bytes.data() + static_cast<std::size_t>(i) * size,
                in.bytes.data() + static_cast<std::size_t>(at) * size, size);
    for (std::size_t axis = rank; axis-- > 0;) {  // the next index, last axis fastest
      at += strides[axis];
      if (++index[axis] < out_shape[axis]) break;
      at -= strides[axis] * out_shape[axis];
      index[axis] = 0;
    }
  }
  return out;
}

Tensor broadcast_to(const Tensor& in, const Shape& shape) {
  if (in.shape == shape) return in;
  const Ints own = strides_of(in.shape);
  Ints strides(shape.size(), 0);
  const std::size_t shift = shape.size() - in.shape.size();
  for (std::size_t i = 0; i < in.shape.size(); ++i) strides[i + shift] = in.shape[i] == 1 ? 0 : own[i];
  return strided_copy(in, shape, 0, strides);
}

Tensor concat_tensors(const std::vector<const Tensor*>& inputs, std::size_t axis, const Shape& out_shape) {
  Tensor out = Tensor::make(inputs[0]->dtype, out_shape);
  const std::size_t size = dtype_size(out.dtype);
  const auto inner = static_cast<std::size_t>(strides_of(out_shape)[axis]) * size;  // bytes of one step along the axis
  const std::size_t row = inner * static_cast<std::size_t>(out_shape[axis]);
  std::size_t offset = 0;
  for (const Tensor* in : inputs) {
    const std::size_t piece = inner * static_cast<std::size_t>(in->shape[axis]);
    if (piece == 0) continue;
    for (std::size_t at = 0; at * piece < in->bytes.size(); ++at) {
      std::memcpy(out.bytes.data() + at * row + offset, in->bytes.data() + at * piece, piece);
    }
    offset += piece;
  }
  return out;
}

Tensor gather_tensor(const Node& node, const Tensor& data, const Tensor& indices, std::size_t axis,
                     const Shape& out_shape) {
  Tensor out = Tensor::make(data.dtype, out_shape);
  const std::size_t inner = static_cast<std::size_t>(strides_of(data.shape)[axis]) * dtype_size(data.dtype);
  const std::int64_t along = data.shape[axis];
  const Ints picks = indices.as_ints();
  std::int64_t outer = 1;
  for (std::size_t i = 0; i < axis; ++i) outer *= data.shape[i];
  std::uint8_t* to = out.bytes.data();
  for (std::int64_t o = 0; o < outer; ++o) {
    for (const std::int64_t pick : picks) {
      const std::int64_t from = o * along + checked_index(node, pick, along);
      if (inner != 0) std::memcpy(to, data.bytes.data() + static_cast<std::size_t>(from) * inner, inner);
      to += inner;
    }
  }
  return out;
}

Tensor scatter_nd(const Node& node, const Tensor& data, const Tensor& indices, const Tensor& updates) {
  const auto misfit = [&] {
    user_error("node '", node.name, "' (", node.op, "): indices of ", shape_text(indices.shape), " and updates of ",
               shape_text(updates.shape), " do not fit data of ", shape_text(data.shape));
  };
  if (indices.shape.empty() || updates.dtype != data.dtype) misfit();
  const std::int64_t depth = indices.shape.back();
  if (depth < 1 || depth > static_cast<std::int64_t>(data.shape.size())) misfit();
  Shape expected(indices.shape.begin(), indices.shape.end() - 1);
  expected.insert(expected.end(), data.shape.begin() + depth, data.shape.end());
  if (updates.shape != expected) misfit();
  Tensor out = data;
  const Ints strides = strides_of(data.shape);
  const Ints picks = indices.as_ints();
  const std::size_t size = dtype_size(data.dtype);
  const std::size_t piece = static_cast<std::size_t>(strides[static_cast<std::size_t>(depth - 1)]) * size;
  const std::size_t tuples = picks.size() / static_cast<std::size_t>(depth);
  for (std::size_t tuple = 0; tuple < tuples; ++tuple) {
    std::int64_t to = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(depth); ++i) {
      to += checked_index(node, picks[tuple * static_cast<std::size_t>(depth) + i], data.shape[i]) * strides[i];
    }
    if (piece != 0) {
      std::memcpy(out.bytes.data() + static_cast<std::size_t>(to) * size, updates.bytes.data() + tuple * piece, piece);
    }
  }
  return out;
}

}  // namespace tessera::compiler
