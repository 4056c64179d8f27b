// Shapes of operators that pick or place elements by index: Gather, Scatter, Split, OneHot, GridSample.
#include <algorithm>

#include "compiler/passes/shape_context.hpp"
#include "hw/common/units.hpp"

namespace tessera::compiler {
namespace {

Infos gather(const ShapeContext& c) {
  c.need(2);
  if (c.shape(0) == nullptr || c.shape(1) == nullptr) return unknown(c.dtype(0));
  const Shape& in = *c.shape(0);
  const Shape& indices = *c.shape(1);
  const auto axis = static_cast<std::ptrdiff_t>(c.axis(c.node().int_attr("axis", 0), in.size()));
  Shape out(in.begin(), in.begin() + axis);
  out.insert(out.end(), indices.begin(), indices.end());
  out.insert(out.end(), in.begin() + axis + 1, in.end());
  return known(c.dtype(0), out);
}

Infos gather_elements(const ShapeContext& c) {
  c.need(2);
  if (c.shape(0) == nullptr || c.shape(1) == nullptr) return unknown(c.dtype(0));
  if (c.shape(0)->size() != c.shape(1)->size()) {
    c.refuse("data of " + shape_text(*c.shape(0)) + " and indices of " + shape_text(*c.shape(1)) +
             ": expected equal ranks");
  }
  return known(c.dtype(0), *c.shape(1));
}

Infos gather_nd(const ShapeContext& c) {
  c.need(2);
  if (c.shape(0) == nullptr || c.shape(1) == nullptr) return unknown(c.dtype(0));
  const Shape& data = *c.shape(0);
  const Shape& indices = *c.shape(1);
  const std::int64_t batch = c.node().int_attr("batch_dims", 0);
  const std::int64_t depth = indices.empty() ? 0 : indices.back();
  if (indices.empty() || batch < 0 || depth < 1 || batch + depth > static_cast<std::int64_t>(data.size())) {
    c.refuse("indices of " + shape_text(indices) + " do not fit data of " + shape_text(data));
  }
  Shape out(indices.begin(), indices.end() - 1);
  out.insert(out.end(), data.begin() + batch + depth, data.end());
  return known(c.dtype(0), out);
}

Infos scatter(const ShapeContext& c) {
  c.need(3);
  return c.shape(0) == nullptr ? unknown(c.dtype(0)) : known(c.dtype(0), *c.shape(0));
}

Infos split(const ShapeContext& c) {
  c.need(1);
  const std::size_t parts = c.node().outputs.size();
  Infos infos(parts, ValueInfo{c.dtype(0), std::nullopt});
  const auto sizes = c.has(1) ? c.ints(1) : std::vector<std::int64_t>{};
  if (c.shape(0) == nullptr || !sizes || parts == 0) return infos;
  const Shape& in = *c.shape(0);
  const std::size_t axis = c.axis(c.node().int_attr("axis", 0), in.size());
  std::vector<std::int64_t> lengths = *sizes;
  if (lengths.empty()) {  // equal parts, the last one smaller where it does not divide (opset 18)
    const std::int64_t part = ceil_div(in[axis], static_cast<std::int64_t>(parts));
    std::int64_t left = in[axis];
    for (std::size_t i = 0; i < parts; ++i) {
      lengths.push_back(std::clamp<std::int64_t>(left, 0, part));
      left -= lengths.back();
    }
  }
  std::int64_t sum = 0;
  for (const std::int64_t length : lengths) {
    if (length < 0 || length > in[axis]) sum = -1;
    if (sum >= 0) sum += length;
  }
  if (lengths.size() != parts || sum != in[axis]) {
    c.refuse("splits " + shape_text(in) + " along axis " + std::to_string(axis) +
             ": expected one size for each output, together the axis");
  }
  for (std::size_t i = 0; i < parts; ++i) {
    Shape out = in;
    out[axis] = lengths[i];
    infos[i].shape = out;
  }
  return infos;
}

Infos one_hot(const ShapeContext& c) {
  c.need(3);
  const Tensor* depth = c.constant(1);
  if (c.shape(0) == nullptr || depth == nullptr || depth->elements() != 1) return unknown(c.dtype(2));
  Shape out = *c.shape(0);
  const std::size_t axis = c.axis(c.node().int_attr("axis", -1), out.size() + 1);
  out.insert(out.begin() + static_cast<std::ptrdiff_t>(axis), depth->as_ints()[0]);
  return known(c.dtype(2), out);
}

Infos grid_sample(const ShapeContext& c) {
  c.need(2);
  if (c.shape(0) == nullptr || c.shape(1) == nullptr) return unknown(c.dtype(0));
  const Shape& in = *c.shape(0);
  const Shape& grid = *c.shape(1);
  if (in.size() < 3 || grid.size() != in.size()) {
    c.refuse("input of " + shape_text(in) + " and grid of " + shape_text(grid) + ": expected equal ranks");
  }
  Shape out = {in[0], in[1]};
  out.insert(out.end(), grid.begin() + 1, grid.end() - 1);
  return known(c.dtype(0), out);
}

Infos non_zero(const ShapeContext&) { return unknown(DType::i64); }

}  // namespace

void add_indexing_shapes(ShapeTable& table) {
  table["Gather"] = gather;
  table["GatherElements"] = gather_elements;
  table["GatherND"] = gather_nd;
  for (const char* op : {"Scatter", "ScatterElements", "ScatterND"}) table[op] = scatter;
  table["Split"] = split;
  table["OneHot"] = one_hot;
  table["GridSample"] = grid_sample;
  table["NonZero"] = non_zero;
}

}  // namespace tessera::compiler
