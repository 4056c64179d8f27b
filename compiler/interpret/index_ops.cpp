// Operators whose result is made from indices or from nothing: Gather and its family, Constant, Range, Trilu.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "compiler/interpret/op_call.hpp"

namespace tessera::compiler::operators {
namespace {

std::size_t size_of(std::int64_t v) { return static_cast<std::size_t>(v); }

std::int64_t index_in(const OpCall& call, std::int64_t index, std::int64_t dim) {
  call.require(index >= -dim && index < dim, "index ", index, " is outside [", -dim, ", ", dim, ")");
  return index < 0 ? index + dim : index;
}

void gather(OpCall& call) {
  const Tensor& x = call.input(0);
  const std::size_t axis = call.axis_attr(0, x.shape.size());
  const Tensor& chosen = call.input(1);
  const std::vector<std::int64_t> indices = chosen.as_ints();
  Shape shape(x.shape.begin(), x.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  shape.insert(shape.end(), chosen.shape.begin(), chosen.shape.end());
  shape.insert(shape.end(), x.shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, x.shape.end());
  Tensor y = Tensor::make(x.dtype, shape);
  std::size_t outer = 1;
  for (std::size_t d = 0; d < axis; ++d) outer *= size_of(x.shape[d]);
  std::size_t inner = dtype_size(x.dtype);
  for (std::size_t d = axis + 1; d < x.shape.size(); ++d) inner *= size_of(x.shape[d]);
  std::uint8_t* to = y.bytes.data();
  for (std::size_t o = 0; o < outer; ++o) {
    for (const std::int64_t index : indices) {
      const std::size_t from = o * size_of(x.shape[axis]) + size_of(index_in(call, index, x.shape[axis]));
      if (inner != 0) std::memcpy(to, x.bytes.data() + from * inner, inner);
      to += inner;
    }
  }
  call.out.push_back(std::move(y));
}

void gather_elements(OpCall& call) {
  const Tensor& x = call.input(0);
  const std::size_t axis = call.axis_attr(0, x.shape.size());
  const Tensor& chosen = call.input(1);
  call.require(chosen.shape.size() == x.shape.size(), "indices and data must have the same rank");
  const std::vector<std::int64_t> indices = chosen.as_ints();
  const std::vector<std::int64_t> strides = strides_of(x.shape);
  Tensor y = Tensor::make(x.dtype, chosen.shape);
  const std::size_t size = dtype_size(x.dtype);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    auto rest = static_cast<std::int64_t>(i);
    std::int64_t from = 0;
    for (std::size_t d = x.shape.size(); d-- > 0;) {
      const std::int64_t at =
          d == axis ? index_in(call, indices[i], x.shape[d]) : index_in(call, rest % chosen.shape[d], x.shape[d]);
      rest /= chosen.shape[d];
      from += at * strides[d];
    }
    std::memcpy(y.bytes.data() + i * size, x.bytes.data() + size_of(from) * size, size);
  }
  call.out.push_back(std::move(y));
}

/// Element offset that each tuple of indices selects.
std::vector<std::int64_t> tuple_offsets(const OpCall& call, const Shape& shape, const Tensor& indices,
                                        std::size_t batch) {
  call.require(!indices.shape.empty(), "indices must not be a scalar");
  const std::int64_t depth = indices.shape.back();
  call.require(depth >= 0 && batch + size_of(depth) <= shape.size(), "indices select ", depth, " dimensions of ",
               shape.size());
  const std::vector<std::int64_t> strides = strides_of(shape);
  const std::vector<std::int64_t> values = indices.as_ints();
  std::int64_t batches = 1;
  for (std::size_t d = 0; d < batch; ++d) batches *= shape[d];
  const std::int64_t tuples = depth == 0 ? 0 : static_cast<std::int64_t>(values.size()) / depth;
  std::vector<std::int64_t> offsets;
  for (std::int64_t t = 0; t < tuples; ++t) {
    std::int64_t offset = batch == 0 ? 0 : t / (tuples / batches) * strides[batch - 1];
    for (std::int64_t k = 0; k < depth; ++k) {
      const std::size_t d = batch + size_of(k);
      offset += index_in(call, values[size_of(t * depth + k)], shape[d]) * strides[d];
    }
    offsets.push_back(offset);
  }
  return offsets;
}

void gather_nd(OpCall& call) {
  const Tensor& x = call.input(0);
  const Tensor& indices = call.input(1);
  const auto batch = size_of(call.node.int_attr("batch_dims", 0));
  const std::vector<std::int64_t> offsets = tuple_offsets(call, x.shape, indices, batch);
  const std::size_t depth = batch + size_of(indices.shape.back());
  Shape shape(indices.shape.begin(), indices.shape.end() - 1);
  std::size_t inner = dtype_size(x.dtype);
  for (std::size_t d = depth; d < x.shape.size(); ++d) {
    shape.push_back(x.shape[d]);
    inner *= size_of(x.shape[d]);
  }
  Tensor y = Tensor::make(x.dtype, shape);
  const std::size_t size = dtype_size(x.dtype);
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    std::memcpy(y.bytes.data() + i * inner, x.bytes.data() + size_of(offsets[i]) * size, inner);
  }
  call.out.push_back(std::move(y));
}

void scatter_nd(OpCall& call) {
  Tensor y = call.input(0);
  const Tensor& indices = call.input(1);
  const Tensor& updates = call.input(2);
  const std::string reduction = call.node.string_attr("reduction", "none");
  call.require(reduction == "none" || reduction == "add" || reduction == "mul", "reduction '", reduction,
               "': expected none, add or mul");
  const std::vector<std::int64_t> offsets = tuple_offsets(call, y.shape, indices, 0);
  std::int64_t inner = 1;
  for (std::size_t d = size_of(indices.shape.back()); d < y.shape.size(); ++d) inner *= y.shape[d];
  call.require(updates.dtype == y.dtype && updates.elements() == inner * static_cast<std::int64_t>(offsets.size()),
               "updates of shape ", shape_text(updates.shape), " do not fit the indices");
  with_number(call, y.dtype, [&](auto tag) {
    using T = decltype(tag);
    const T* from = updates.data<T>();
    for (const std::int64_t offset : offsets) {
      for (std::int64_t i = 0; i < inner; ++i, ++from) {
        T& to = y.data<T>()[offset + i];
        to = static_cast<T>(reduction == "add" ? to + *from : reduction == "mul" ? to * *from : *from);
      }
    }
  });
  call.out.push_back(std::move(y));
}

void constant(OpCall& call) {
  const auto& attributes = call.node.attributes;
  if (const auto value = attributes.find("value"); value != attributes.end()) {
    call.out.push_back(std::get<Tensor>(value->second));
    return;
  }
  Tensor y;
  if (attributes.count("value_float") != 0) {
    y = Tensor::make(DType::f32, {});
    *y.data<float>() = call.node.float_attr("value_float", 0);
  } else if (attributes.count("value_int") != 0) {
    y = Tensor::make(DType::i64, {});
    *y.data<std::int64_t>() = call.node.int_attr("value_int", 0);
  } else if (attributes.count("value_ints") != 0) {
    const auto values = call.node.ints_attr("value_ints", {});
    y = Tensor::make(DType::i64, {static_cast<std::int64_t>(values.size())});
    std::copy(values.begin(), values.end(), y.data<std::int64_t>());
  } else if (const auto floats = attributes.find("value_floats"); floats != attributes.end()) {
    const auto& values = std::get<std::vector<float>>(floats->second);
    y = Tensor::make(DType::f32, {static_cast<std::int64_t>(values.size())});
    std::copy(values.begin(), values.end(), y.data<float>());
  } else {
    call.fail("has no value, value_float, value_floats, value_int or value_ints");
  }
  call.out.push_back(std::move(y));
}

void constant_of_shape(OpCall& call) {
  Tensor value = Tensor::make(DType::f32, {1});
  if (const auto given = call.node.attributes.find("value"); given != call.node.attributes.end()) {
    value = std::get<Tensor>(given->second);
  }
  call.require(value.elements() == 1, "value must have one element");
  Tensor y = Tensor::make(value.dtype, call.ints_input(0));
  for (std::size_t at = 0; at < y.bytes.size(); at += value.bytes.size()) {
    std::copy(value.bytes.begin(), value.bytes.end(), y.bytes.begin() + static_cast<std::ptrdiff_t>(at));
  }
  call.out.push_back(std::move(y));
}

void range(OpCall& call) {
  with_number(call, call.input(0).dtype, [&](auto tag) {
    using T = decltype(tag);
    const T start = *call.input(0).data<T>();
    const T limit = *call.input(1).data<T>();
    const T delta = *call.input(2).data<T>();
    call.require(delta != T{}, "delta must not be 0");
    const double steps =
        std::ceil((static_cast<double>(limit) - static_cast<double>(start)) / static_cast<double>(delta));
    Tensor y = Tensor::make(call.input(0).dtype, {static_cast<std::int64_t>(std::max(0.0, steps))});
    for (std::int64_t i = 0; i < y.elements(); ++i) y.data<T>()[i] = static_cast<T>(start + static_cast<T>(i) * delta);
    call.out.push_back(std::move(y));
  });
}

void trilu(OpCall& call) {
  Tensor y = call.input(0);
  const std::size_t rank = y.shape.size();
  call.require(rank >= 2, "input of rank ", rank, ": expected at least 2");
  const bool upper = call.node.int_attr("upper", 1) != 0;
  const std::int64_t k = call.has(1) ? call.ints_input(1).at(0) : 0;
  const std::int64_t rows = y.shape[rank - 2];
  const std::int64_t columns = y.shape[rank - 1];
  const std::size_t size = dtype_size(y.dtype);
  for (std::int64_t i = 0; i < y.elements(); ++i) {
    const std::int64_t row = i / columns % rows;
    const std::int64_t column = i % columns;
    const bool kept = upper ? column - row >= k : column - row <= k;
    if (!kept) std::memset(y.bytes.data() + size_of(i) * size, 0, size);
  }
  call.out.push_back(std::move(y));
}

}  // namespace

OpTable index_operators() {
  return {{"Gather", gather},      {"GatherElements", gather_elements},
          {"GatherND", gather_nd}, {"ScatterND", scatter_nd},
          {"Constant", constant},  {"ConstantOfShape", constant_of_shape},
          {"Range", range},        {"Trilu", trilu}};
}

}  // namespace tessera::compiler::operators
