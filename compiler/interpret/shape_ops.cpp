// Operators that move elements without looking at them: they work on bytes, for any type.
#include <algorithm>
#include <cstring>

#include "compiler/interpret/op_call.hpp"

namespace tessera::compiler::operators {
namespace {

std::size_t size_of(std::int64_t v) { return static_cast<std::size_t>(v); }

void emit_view(OpCall& call, Shape shape) {
  const Tensor& x = call.input(0);
  call.require(element_count(shape) == x.elements(), "shape ", shape_text(x.shape), " cannot become ",
               shape_text(shape));
  Tensor y = x;
  y.shape = std::move(shape);
  call.out.push_back(std::move(y));
}

void reshape(OpCall& call) {
  const Shape& in = call.input(0).shape;
  Shape shape = call.ints_input(1);
  const bool keep_zero = call.node.int_attr("allowzero", 0) != 0;
  std::int64_t known = 1;
  std::ptrdiff_t free = -1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && !keep_zero) {
      call.require(i < in.size(), "0 at position ", i, " has no dimension to copy in ", shape_text(in));
      shape[i] = in[i];
    }
    if (shape[i] == -1) {
      call.require(free < 0, "two dimensions are -1: expected at most one");
      free = static_cast<std::ptrdiff_t>(i);
    } else {
      call.require(shape[i] >= 0, "dimension ", shape[i], ": expected -1, 0 or a size");
      known *= shape[i];
    }
  }
  if (free >= 0) {
    const std::int64_t all = element_count(in);
    call.require(known > 0 && all % known == 0, "shape ", shape_text(in), " cannot be split into lines of ", known);
    shape[static_cast<std::size_t>(free)] = all / known;
  }
  emit_view(call, shape);
}

void flatten(OpCall& call) {
  const Shape& in = call.input(0).shape;
  const std::int64_t given = call.node.int_attr("axis", 1);
  const auto rank = static_cast<std::int64_t>(in.size());
  call.require(given >= -rank && given <= rank, "axis ", given, " is outside [", -rank, ", ", rank, "]");
  const std::int64_t axis = given < 0 ? given + rank : given;
  Shape shape = {1, 1};
  for (std::int64_t d = 0; d < rank; ++d) shape[d < axis ? 0 : 1] *= in[size_of(d)];
  emit_view(call, shape);
}

std::vector<std::int64_t> axes_of(const OpCall& call) {
  return call.has(1) ? call.ints_input(1) : call.node.ints_attr("axes", {});
}

void squeeze(OpCall& call) {
  const Shape& in = call.input(0).shape;
  const std::vector<std::int64_t> axes = axes_of(call);
  std::vector<bool> gone(in.size(), false);
  for (const std::int64_t axis : axes) {
    const std::size_t d = call.axis_of(axis, in.size());
    call.require(in[d] == 1, "axis ", axis, " has ", in[d], " elements: expected 1");
    gone[d] = true;
  }
  Shape shape;
  for (std::size_t d = 0; d < in.size(); ++d) {
    if (axes.empty() ? in[d] != 1 : !gone[d]) shape.push_back(in[d]);
  }
  emit_view(call, shape);
}

void unsqueeze(OpCall& call) {
  const Shape& in = call.input(0).shape;
  const std::vector<std::int64_t> axes = axes_of(call);
  const std::size_t rank = in.size() + axes.size();
  std::vector<bool> added(rank, false);
  for (const std::int64_t axis : axes) added[call.axis_of(axis, rank)] = true;
  call.require(static_cast<std::size_t>(std::count(added.begin(), added.end(), true)) == axes.size(),
               "an axis stands twice");
  Shape shape;
  std::size_t from = 0;
  for (std::size_t d = 0; d < rank; ++d) shape.push_back(added[d] ? 1 : in[from++]);
  emit_view(call, shape);
}

/// y[index] = x[origin + sum of index * step]: transpose, slice, expand and their like.
Tensor strided_copy(const Tensor& x, const Shape& shape, std::int64_t origin, const std::vector<std::int64_t>& steps) {
  Tensor y = Tensor::make(x.dtype, shape);
  const std::size_t size = dtype_size(x.dtype);
  std::uint8_t* to = y.bytes.data();
  for_each_run(shape, steps, steps,
               [&](std::int64_t at, std::int64_t, std::int64_t n, std::int64_t step, std::int64_t) {
                 const std::uint8_t* from = x.bytes.data() + size_of(origin + at) * size;
                 if (step == 1) {
                   std::memcpy(to, from, size_of(n) * size);
                   to += size_of(n) * size;
                   return;
                 }
                 const std::ptrdiff_t jump = static_cast<std::ptrdiff_t>(step) * static_cast<std::ptrdiff_t>(size);
                 for (std::int64_t i = 0; i < n; ++i, to += size) {
                   std::memcpy(to, from, size);
                   if (i + 1 < n) from += jump;
                 }
               });
  return y;
}

void transpose(OpCall& call) {
  const Tensor& x = call.input(0);
  const std::size_t rank = x.shape.size();
  std::vector<std::int64_t> order(rank);
  for (std::size_t d = 0; d < rank; ++d) order[d] = static_cast<std::int64_t>(rank - 1 - d);
  order = call.node.ints_attr("perm", order);
  call.require(order.size() == rank, "perm has ", order.size(), " entries: expected ", rank);
  const std::vector<std::int64_t> strides = strides_of(x.shape);
  Shape shape;
  std::vector<std::int64_t> steps;
  for (const std::int64_t d : order) {
    const std::size_t axis = call.axis_of(d, rank);
    shape.push_back(x.shape[axis]);
    steps.push_back(strides[axis]);
  }
  call.out.push_back(strided_copy(x, shape, 0, steps));
}

void slice(OpCall& call) {
  const Tensor& x = call.input(0);
  const std::size_t rank = x.shape.size();
  const std::vector<std::int64_t> starts = call.has(1) ? call.ints_input(1) : call.node.ints_attr("starts", {});
  const std::vector<std::int64_t> ends = call.has(2) ? call.ints_input(2) : call.node.ints_attr("ends", {});
  std::vector<std::int64_t> axes = call.has(3) ? call.ints_input(3) : call.node.ints_attr("axes", {});
  const std::vector<std::int64_t> given_steps =
      call.has(4) ? call.ints_input(4) : std::vector<std::int64_t>(starts.size(), 1);
  if (axes.empty()) {
    for (std::size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  }
  call.require(starts.size() == ends.size() && axes.size() == starts.size() && given_steps.size() == starts.size(),
               "starts, ends, axes and steps must have the same length");
  Shape shape = x.shape;
  std::vector<std::int64_t> steps = strides_of(x.shape);
  std::int64_t origin = 0;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::size_t d = call.axis_of(axes[i], rank);
    const std::int64_t dim = x.shape[d];
    const std::int64_t step = given_steps[i];
    call.require(step != 0, "step 0 on axis ", axes[i]);
    // Clamped before anything is added, so that INT64_MAX and INT64_MIN mean "to the end".
    const auto settle = [&](std::int64_t v, std::int64_t low, std::int64_t high) {
      if (v < 0) v = v < -dim ? -1 - dim : v;
      if (v < 0) v += dim;
      return std::clamp(v, low, high);
    };
    const std::int64_t begin = step > 0 ? settle(starts[i], 0, dim) : settle(starts[i], 0, dim - 1);
    const std::int64_t end = step > 0 ? settle(ends[i], 0, dim) : settle(ends[i], -1, dim - 1);
    const std::int64_t span = step > 0 ? end - begin : begin - end;
    const std::int64_t stride = step > 0 ? step : (step == INT64_MIN ? INT64_MAX : -step);
    const std::int64_t count = dim == 0 || span <= 0 ? 0 : (span - 1) / stride + 1;
    shape[d] = count;
    if (count > 0) origin += begin * steps[d];
    steps[d] = count > 1 ? steps[d] * step : 0;
  }
  call.out.push_back(strided_copy(x, shape, origin, steps));
}

void expand(OpCall& call) {
  const Tensor& x = call.input(0);
  const Shape shape = broadcast_shape(call, x.shape, call.ints_input(1));
  call.out.push_back(strided_copy(x, shape, 0, broadcast_strides(x.shape, shape)));
}

/// Copies x into y at an offset along an axis.
void place(const Tensor& x, Tensor* y, std::size_t axis, std::int64_t offset) {
  std::size_t inner = dtype_size(x.dtype);
  for (std::size_t d = axis + 1; d < x.shape.size(); ++d) inner *= size_of(x.shape[d]);
  const std::size_t row = inner * size_of(x.shape[axis]);
  const std::size_t pitch = inner * size_of(y->shape[axis]);
  if (row == 0) return;
  for (std::size_t o = 0; o * row < x.bytes.size(); ++o) {
    std::memcpy(y->bytes.data() + o * pitch + size_of(offset) * inner, x.bytes.data() + o * row, row);
  }
}

void concat(OpCall& call) {
  const Tensor& first = call.input(0);
  const std::size_t axis = call.axis_attr(0, first.shape.size());
  Shape shape = first.shape;
  for (std::size_t i = 1; i < call.in.size(); ++i) {
    const Tensor& x = call.input(i);
    Shape same = x.shape;
    call.require(same.size() == shape.size() && x.dtype == first.dtype, "input ", i, " differs in rank or type");
    same[axis] = shape[axis];
    call.require(same == shape, "input ", i, " of shape ", shape_text(x.shape), " does not fit ",
                 shape_text(first.shape));
    shape[axis] += x.shape[axis];
  }
  Tensor y = Tensor::make(first.dtype, shape);
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < call.in.size(); ++i) {
    place(call.input(i), &y, axis, offset);
    offset += call.input(i).shape[axis];
  }
  call.out.push_back(std::move(y));
}

void split(OpCall& call) {
  const Tensor& x = call.input(0);
  const std::size_t axis = call.axis_attr(0, x.shape.size());
  std::vector<std::int64_t> sizes = call.has(1) ? call.ints_input(1) : call.node.ints_attr("split", {});
  if (sizes.empty()) {
    const auto parts = static_cast<std::int64_t>(call.node.outputs.size());
    const std::int64_t chunk = (x.shape[axis] + parts - 1) / parts;
    for (std::int64_t i = 0; i < parts; ++i)
      sizes.push_back(std::clamp<std::int64_t>(x.shape[axis] - i * chunk, 0, chunk));
  }
  std::int64_t offset = 0;
  const std::vector<std::int64_t> steps = strides_of(x.shape);
  for (const std::int64_t size : sizes) {
    call.require(size >= 0 && offset + size <= x.shape[axis], "split sizes do not fit ", x.shape[axis]);
    Shape shape = x.shape;
    shape[axis] = size;
    call.out.push_back(strided_copy(x, shape, size == 0 ? 0 : offset * steps[axis], steps));
    offset += size;
  }
  call.require(offset == x.shape[axis], "split sizes sum to ", offset, ": expected ", x.shape[axis]);
}

void tile(OpCall& call) {
  Tensor x = call.input(0);
  const std::vector<std::int64_t> repeats = call.ints_input(1);
  call.require(repeats.size() == x.shape.size(), "repeats has ", repeats.size(), " entries: expected ", x.shape.size());
  for (std::size_t d = 0; d < repeats.size(); ++d) {
    call.require(repeats[d] >= 0, "repeats must not be negative");
    Shape shape = x.shape;
    shape[d] *= repeats[d];
    Tensor y = Tensor::make(x.dtype, shape);
    for (std::int64_t i = 0; i < repeats[d]; ++i) place(x, &y, d, i * x.shape[d]);
    x = std::move(y);
  }
  call.out.push_back(std::move(x));
}

void pad(OpCall& call) {
  const Tensor& x = call.input(0);
  const std::size_t rank = x.shape.size();
  const std::string mode = call.node.string_attr("mode", "constant");
  const std::vector<std::int64_t> given = call.has(1) ? call.ints_input(1) : call.node.ints_attr("pads", {});
  std::vector<std::int64_t> pads(2 * rank, 0);
  if (call.has(3)) {
    const std::vector<std::int64_t> axes = call.ints_input(3);
    call.require(given.size() == 2 * axes.size(), "pads has ", given.size(), " entries: expected ", 2 * axes.size());
    for (std::size_t i = 0; i < axes.size(); ++i) {
      pads[call.axis_of(axes[i], rank)] = given[i];
      pads[rank + call.axis_of(axes[i], rank)] = given[axes.size() + i];
    }
  } else {
    call.require(given.size() == 2 * rank, "pads has ", given.size(), " entries: expected ", 2 * rank);
    pads = given;
  }
  call.require(mode == "constant" || mode == "reflect" || mode == "edge" || mode == "wrap", "mode '", mode,
               "': expected constant, reflect, edge or wrap");
  Shape shape = x.shape;
  for (std::size_t d = 0; d < rank; ++d) {
    shape[d] += pads[d] + pads[rank + d];
    call.require(shape[d] >= 0, "pads take more than the ", x.shape[d], " elements of dimension ", d);
    call.require(mode == "constant" || x.shape[d] > 0 || shape[d] == 0, "an empty dimension cannot be padded so");
  }
  const std::size_t size = dtype_size(x.dtype);
  std::vector<std::uint8_t> value(size, 0);
  if (call.has(2)) {
    call.require(call.input(2).dtype == x.dtype && call.input(2).elements() == 1, "constant_value must be one ",
                 dtype_name(x.dtype));
    value = call.input(2).bytes;
  }
  Tensor y = Tensor::make(x.dtype, shape);
  const std::vector<std::int64_t> strides = strides_of(x.shape);
  std::vector<std::int64_t> index(rank, 0);
  for (std::int64_t i = 0; i < y.elements(); ++i) {
    std::int64_t rest = i;
    std::int64_t from = 0;
    bool inside = true;
    for (std::size_t d = rank; d-- > 0;) {
      std::int64_t v = rest % shape[d] - pads[d];
      rest /= shape[d];
      const std::int64_t n = x.shape[d];
      if (mode == "edge") {
        v = std::clamp<std::int64_t>(v, 0, n - 1);
      } else if (mode == "wrap") {
        v = (v % n + n) % n;
      } else if (mode == "reflect") {
        const std::int64_t period = std::max<std::int64_t>(1, 2 * (n - 1));
        v = (v % period + period) % period;
        v = std::min(v, period - v);
        if (n == 1) v = 0;
      } else {
        inside = inside && v >= 0 && v < n;
      }
      from += v * strides[d];
    }
    std::memcpy(y.bytes.data() + size_of(i) * size, inside ? x.bytes.data() + size_of(from) * size : value.data(),
                size);
  }
  call.out.push_back(std::move(y));
}

/// Both directions split a dimension by the block and move the parts.
void depth_to_space(OpCall& call) {
  const Tensor& x = call.input(0);
  const std::int64_t b = call.node.int_attr("blocksize", 0);
  call.require(x.shape.size() == 4 && b >= 1 && x.shape[1] % (b * b) == 0, "shape ", shape_text(x.shape),
               " with blocksize ", b, ": expected NCHW with C divisible by its square");
  const std::int64_t c = x.shape[1] / (b * b);
  const std::int64_t h = x.shape[2];
  const std::int64_t w = x.shape[3];
  const bool crd = call.node.string_attr("mode", "DCR") == "CRD";
  // DCR: channel = (by b + bx) c + k; CRD: channel = (k b + by) b + bx. Walked as [n][k][h][by][w][bx].
  const std::int64_t map = h * w;
  Tensor y = strided_copy(x, {x.shape[0], c, h, b, w, b}, 0,
                          crd ? std::vector<std::int64_t>{x.shape[1] * map, b * b * map, w, b * map, 1, map}
                              : std::vector<std::int64_t>{x.shape[1] * map, map, w, b * c * map, 1, c * map});
  y.shape = {x.shape[0], c, h * b, w * b};
  call.out.push_back(std::move(y));
}

void space_to_depth(OpCall& call) {
  const Tensor& x = call.input(0);
  const std::int64_t b = call.node.int_attr("blocksize", 0);
  call.require(x.shape.size() == 4 && b >= 1 && x.shape[2] % b == 0 && x.shape[3] % b == 0, "shape ",
               shape_text(x.shape), " with blocksize ", b, ": expected NCHW with H and W divisible by it");
  const std::int64_t c = x.shape[1];
  const std::int64_t h = x.shape[2] / b;
  const std::int64_t w = x.shape[3] / b;
  const std::int64_t map = x.shape[2] * x.shape[3];
  Tensor y = strided_copy(x, {x.shape[0], b, b, c, h, w}, 0, {c * map, x.shape[3], 1, map, b * x.shape[3], b});
  y.shape = {x.shape[0], c * b * b, h, w};
  call.out.push_back(std::move(y));
}

void shape_of(OpCall& call) {
  const Shape& in = call.input(0).shape;
  const auto rank = static_cast<std::int64_t>(in.size());
  const auto settle = [&](std::int64_t v) { return std::clamp<std::int64_t>(v < 0 ? v + rank : v, 0, rank); };
  const std::int64_t begin = settle(call.node.int_attr("start", 0));
  const std::int64_t end = std::max(begin, settle(call.node.int_attr("end", rank)));
  Tensor y = Tensor::make(DType::i64, {end - begin});
  std::copy(in.begin() + begin, in.begin() + end, y.data<std::int64_t>());
  call.out.push_back(std::move(y));
}

void size_op(OpCall& call) {
  Tensor y = Tensor::make(DType::i64, {});
  *y.data<std::int64_t>() = call.input(0).elements();
  call.out.push_back(std::move(y));
}

}  // namespace

OpTable shape_operators() {
  return {{"Reshape", reshape},
          {"Flatten", flatten},
          {"Squeeze", squeeze},
          {"Unsqueeze", unsqueeze},
          {"Transpose", transpose},
          {"Slice", slice},
          {"Expand", expand},
          {"Concat", concat},
          {"Split", split},
          {"Tile", tile},
          {"Pad", pad},
          {"DepthToSpace", depth_to_space},
          {"SpaceToDepth", space_to_depth},
          {"Shape", shape_of},
          {"Size", size_op}};
}

}  // namespace tessera::compiler::operators
