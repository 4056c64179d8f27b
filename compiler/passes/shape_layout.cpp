// Shapes of operators that rearrange: Reshape, Flatten, Transpose, Concat, Slice, Squeeze, Unsqueeze, Expand, Tile,
// Pad, and of those that make tensors out of shapes.
#include <algorithm>

#include "compiler/passes/shape_context.hpp"
#include "compiler/passes/shape_inference.hpp"
#include "compiler/passes/slice_range.hpp"

namespace tessera::compiler {
namespace {

using Ints = std::vector<std::int64_t>;

std::int64_t product(Shape::const_iterator from, Shape::const_iterator to) { return element_count(Shape(from, to)); }

Infos reshape(const ShapeContext& c) {
  c.need(2);
  const auto target = c.ints(1);
  if (c.shape(0) == nullptr || !target) return unknown(c.dtype(0));
  const Shape& in = *c.shape(0);
  const bool zero_is_zero = c.node().int_attr("allowzero", 0) != 0;
  const auto misfit = [&] {
    std::string text;
    for (const std::int64_t dim : *target) text += (text.empty() ? "" : ", ") + std::to_string(dim);
    c.refuse("cannot reshape " + shape_text(in) + " to [" + text + "]: expected as many elements and at most one -1");
  };
  Shape out;
  std::ptrdiff_t open = -1;  // the axis of the -1
  std::int64_t rest = 1;
  for (std::size_t i = 0; i < target->size(); ++i) {
    std::int64_t dim = (*target)[i];
    if (dim == 0 && !zero_is_zero) {
      if (i >= in.size()) misfit();
      dim = in[i];
    }
    if (dim == -1) {
      if (open >= 0) misfit();
      open = static_cast<std::ptrdiff_t>(i);
    } else if (dim < 0 || __builtin_mul_overflow(rest, dim, &rest)) {
      misfit();
    }
    out.push_back(dim);
  }
  const std::int64_t count = element_count(in);
  if (open >= 0) {
    if (rest == 0 || count % rest != 0) misfit();
    out[static_cast<std::size_t>(open)] = count / rest;
  } else if (rest != count) {
    misfit();
  }
  return known(c.dtype(0), out);
}

Infos flatten(const ShapeContext& c) {
  c.need(1);
  if (c.shape(0) == nullptr) return unknown(c.dtype(0));
  const Shape& in = *c.shape(0);
  const std::int64_t given = c.node().int_attr("axis", 1);
  const auto rank = static_cast<std::int64_t>(in.size());
  if (given < -rank || given > rank) {
    c.refuse("axis " + std::to_string(given) + " of a tensor of rank " + std::to_string(rank));
  }
  const auto cut = in.begin() + (given < 0 ? given + rank : given);
  return known(c.dtype(0), {product(in.begin(), cut), product(cut, in.end())});
}

Infos transpose(const ShapeContext& c) {
  c.need(1);
  if (c.shape(0) == nullptr) return unknown(c.dtype(0));
  const Shape& in = *c.shape(0);
  Ints reversed(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) reversed[i] = static_cast<std::int64_t>(in.size() - 1 - i);
  const Ints perm = c.node().ints_attr("perm", reversed);
  Ints sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  std::reverse(sorted.begin(), sorted.end());
  if (sorted != reversed) c.refuse("perm is no permutation of the axes of " + shape_text(in));
  Shape out;
  for (const std::int64_t axis : perm) out.push_back(in[static_cast<std::size_t>(axis)]);
  return known(c.dtype(0), out);
}

Infos concat(const ShapeContext& c) {
  c.need(1);
  for (std::size_t i = 0; i < c.inputs(); ++i) {
    if (c.shape(i) == nullptr) return unknown(c.dtype(0));
  }
  Shape out = *c.shape(0);
  const std::size_t axis = c.axis(c.node().int_attr("axis", 0), out.size());
  for (std::size_t i = 1; i < c.inputs(); ++i) {
    Shape other = *c.shape(i);
    const bool same_rank = other.size() == out.size();
    const std::int64_t along = same_rank ? other[axis] : 0;
    if (same_rank) other[axis] = out[axis];
    if (other != out) {
      c.refuse("input " + std::to_string(i) + " is " + shape_text(*c.shape(i)) + ": expected " + shape_text(out) +
               " but for axis " + std::to_string(axis));
    }
    out[axis] += along;
  }
  return known(c.dtype(0), out);
}

Infos slice(const ShapeContext& c) {
  c.need(3);
  const auto starts = c.ints(1);
  const auto ends = c.ints(2);
  const auto axes = c.has(3) ? c.ints(3) : Ints{};
  const auto steps = c.has(4) ? c.ints(4) : Ints{};
  if (c.shape(0) == nullptr || !starts || !ends || !axes || !steps) return unknown(c.dtype(0));
  Shape out;
  for (const SliceRange& range : slice_ranges(c.node(), *c.shape(0), *starts, *ends, *axes, *steps)) {
    out.push_back(range.count);
  }
  return known(c.dtype(0), out);
}

Infos squeeze(const ShapeContext& c) {
  c.need(1);
  const auto axes = c.axes(1);
  if (c.shape(0) == nullptr || !axes) return unknown(c.dtype(0));
  const Shape& in = *c.shape(0);
  std::vector<bool> gone(in.size(), false);
  for (std::size_t i = 0; i < in.size(); ++i) gone[i] = axes->empty() && in[i] == 1;
  for (const std::int64_t given : *axes) {
    const std::size_t axis = c.axis(given, in.size());
    if (in[axis] != 1) c.refuse("axis " + std::to_string(given) + " of " + shape_text(in) + " is not 1");
    gone[axis] = true;
  }
  Shape out;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!gone[i]) out.push_back(in[i]);
  }
  return known(c.dtype(0), out);
}

Infos unsqueeze(const ShapeContext& c) {
  c.need(1);
  const auto axes = c.axes(1);
  if (c.shape(0) == nullptr || !axes) return unknown(c.dtype(0));
  const Shape& in = *c.shape(0);
  const std::size_t rank = in.size() + axes->size();
  std::vector<bool> fresh(rank, false);
  for (const std::int64_t given : *axes) {
    const std::size_t axis = c.axis(given, rank);
    if (fresh[axis]) c.refuse("axis " + std::to_string(given) + " is given twice");
    fresh[axis] = true;
  }
  Shape out;
  std::size_t next = 0;
  for (std::size_t i = 0; i < rank; ++i) out.push_back(fresh[i] ? 1 : in[next++]);
  return known(c.dtype(0), out);
}

Infos expand(const ShapeContext& c) {
  c.need(2);
  const auto target = c.ints(1);
  if (c.shape(0) == nullptr || !target) return unknown(c.dtype(0));
  const std::optional<Shape> out = broadcast_shape(*c.shape(0), *target);
  if (!out) c.refuse("cannot expand " + shape_text(*c.shape(0)) + " to " + shape_text(*target));
  return known(c.dtype(0), *out);
}

Infos tile(const ShapeContext& c) {
  c.need(2);
  const auto repeats = c.ints(1);
  if (c.shape(0) == nullptr || !repeats) return unknown(c.dtype(0));
  Shape out = *c.shape(0);
  if (repeats->size() != out.size()) c.refuse("expected one repeat for each axis of " + shape_text(out));
  for (std::size_t i = 0; i < out.size(); ++i) {
    if ((*repeats)[i] < 0 || __builtin_mul_overflow(out[i], (*repeats)[i], &out[i])) c.refuse("has an illegal repeat");
  }
  return known(c.dtype(0), out);
}

// Inputs: data, pads (begins, then ends), value, axes (opset 18).
Infos pad(const ShapeContext& c) {
  c.need(2);
  const auto pads = c.ints(1);
  const auto axes = c.has(3) ? c.ints(3) : Ints{};
  if (c.shape(0) == nullptr || !pads || !axes) return unknown(c.dtype(0));
  Shape out = *c.shape(0);
  std::vector<std::size_t> padded;
  for (const std::int64_t axis : *axes) padded.push_back(c.axis(axis, out.size()));
  if (!c.has(3)) {
    for (std::size_t i = 0; i < out.size(); ++i) padded.push_back(i);
  }
  if (pads->size() != 2 * padded.size()) {
    c.refuse("has " + std::to_string(pads->size()) + " pads: expected two for each of " +
             std::to_string(padded.size()) + " axes");
  }
  constexpr std::int64_t kLargestPad = std::int64_t{1} << 31;
  for (std::size_t i = 0; i < padded.size(); ++i) {
    for (const std::int64_t amount : {(*pads)[i], (*pads)[i + padded.size()]}) {
      if (amount < -kLargestPad || amount > kLargestPad) c.refuse("has an illegal pad " + std::to_string(amount));
      out[padded[i]] += amount;
    }
    if (out[padded[i]] < 0) c.refuse("cuts more off axis " + std::to_string(padded[i]) + " than it has");
  }
  return known(c.dtype(0), out);
}

Infos shape_of(const ShapeContext& c) {
  c.need(1);
  if (c.shape(0) == nullptr) return unknown(DType::i64);
  const auto rank = static_cast<std::int64_t>(c.shape(0)->size());
  const auto bound = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const std::int64_t start = bound(c.node().int_attr("start", 0));
  const std::int64_t end = bound(c.node().int_attr("end", rank));
  return known(DType::i64, {std::max<std::int64_t>(end - start, 0)});
}

Infos size_of(const ShapeContext& c) {
  c.need(1);
  return known(DType::i64, {});
}

Infos constant_of_shape(const ShapeContext& c) {
  c.need(1);
  const auto it = c.node().attributes.find("value");
  const Tensor* value = it == c.node().attributes.end() ? nullptr : std::get_if<Tensor>(&it->second);
  const DType dtype = value == nullptr ? DType::f32 : value->dtype;
  const auto dims = c.ints(0);
  return dims ? known(dtype, *dims) : unknown(dtype);
}

Infos range(const ShapeContext& c) {
  c.need(3);
  if (c.constant(0) == nullptr || c.constant(1) == nullptr || c.constant(2) == nullptr) return unknown(c.dtype(0));
  for (std::size_t i = 0; i < 3; ++i) {
    if (c.constant(i)->elements() != 1) c.refuse("expected start, limit and delta to be scalars");
  }
  const double start = c.constant(0)->as_doubles()[0];
  const double limit = c.constant(1)->as_doubles()[0];
  const double delta = c.constant(2)->as_doubles()[0];
  const double count = (limit - start) / delta;
  if (delta == 0 || !(count < 1e10)) c.refuse("has no finite number of elements");
  auto whole = static_cast<std::int64_t>(count);
  if (static_cast<double>(whole) < count) ++whole;  // rounded up
  return known(c.dtype(0), {std::max<std::int64_t>(whole, 0)});
}

}  // namespace

void add_layout_shapes(ShapeTable& table) {
  table["Reshape"] = reshape;
  table["Flatten"] = flatten;
  table["Transpose"] = transpose;
  table["Concat"] = concat;
  table["Slice"] = slice;
  table["Squeeze"] = squeeze;
  table["Unsqueeze"] = unsqueeze;
  table["Expand"] = expand;
  table["Tile"] = tile;
  table["Pad"] = pad;
  table["Shape"] = shape_of;
  table["Size"] = size_of;
  table["ConstantOfShape"] = constant_of_shape;
  table["Range"] = range;
}

}  // namespace tessera::compiler
