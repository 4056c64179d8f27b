// Shapes of matrix products and reductions.
#include "compiler/passes/einsum.hpp"
#include "compiler/passes/shape_context.hpp"
#include "compiler/passes/shape_inference.hpp"

namespace tessera::compiler {
namespace {

Infos gemm(const ShapeContext& c) {
  c.need(2);
  if (c.shape(0) == nullptr || c.shape(1) == nullptr) return unknown(c.dtype(0));
  const Shape& a = *c.shape(0);
  const Shape& b = *c.shape(1);
  const bool ta = c.node().int_attr("transA", 0) != 0;
  const bool tb = c.node().int_attr("transB", 0) != 0;
  if (a.size() != 2 || b.size() != 2 || a[ta ? 0 : 1] != b[tb ? 1 : 0]) {
    c.refuse("A is " + shape_text(a) + (ta ? " transposed" : "") + " and B is " + shape_text(b) +
             (tb ? " transposed" : "") + ": expected matrices with equal inner sizes");
  }
  const Shape out = {a[ta ? 1 : 0], b[tb ? 0 : 1]};
  if (c.shape(2) != nullptr && broadcast_shape(out, *c.shape(2)) != out) {
    c.refuse("C is " + shape_text(*c.shape(2)) + ": expected a shape that broadcasts to " + shape_text(out));
  }
  return known(c.dtype(0), out);
}

/// numpy's matmul: vectors get a 1 that is taken away again; leading axes broadcast.
Infos multiply(const ShapeContext& c, std::size_t left, std::size_t right, DType dtype) {
  c.need(right + 1);
  if (c.shape(left) == nullptr || c.shape(right) == nullptr) return unknown(dtype);
  Shape a = *c.shape(left);
  Shape b = *c.shape(right);
  const auto misfit = [&] {
    c.refuse("A is " + shape_text(*c.shape(left)) + " and B is " + shape_text(*c.shape(right)) +
             ": expected matrices with equal inner sizes");
  };
  if (a.empty() || b.empty()) misfit();
  const bool row = a.size() == 1;
  const bool column = b.size() == 1;
  if (row) a.insert(a.begin(), 1);
  if (column) b.push_back(1);
  if (a.back() != b[b.size() - 2]) misfit();
  const std::optional<Shape> batch = broadcast_shape({a.begin(), a.end() - 2}, {b.begin(), b.end() - 2});
  if (!batch) misfit();
  Shape out = *batch;
  if (!row) out.push_back(a[a.size() - 2]);
  if (!column) out.push_back(b.back());
  return known(dtype, out);
}

Infos matmul(const ShapeContext& c) { return multiply(c, 0, 1, c.dtype(0)); }
Infos matmul_integer(const ShapeContext& c) { return multiply(c, 0, 1, DType::i32); }
// Inputs: a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point.
Infos qlinear_matmul(const ShapeContext& c) {
  c.need(8);
  return multiply(c, 0, 3, c.dtype(7));
}

Infos reduce(const ShapeContext& c) {
  c.need(1);
  const auto axes = c.axes(1);
  if (c.shape(0) == nullptr || !axes) return unknown(c.dtype(0));
  const Shape& in = *c.shape(0);
  if (axes->empty() && c.node().int_attr("noop_with_empty_axes", 0) != 0) return known(c.dtype(0), in);
  const bool keep = c.node().int_attr("keepdims", 1) != 0;
  std::vector<bool> reduced(in.size(), axes->empty());
  for (const std::int64_t axis : *axes) reduced[c.axis(axis, in.size())] = true;
  Shape out;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!reduced[i]) {
      out.push_back(in[i]);
    } else if (keep) {
      out.push_back(1);
    }
  }
  return known(c.dtype(0), out);
}

Infos arg_reduce(const ShapeContext& c) {
  c.need(1);
  if (c.shape(0) == nullptr) return unknown(DType::i64);
  Shape out = *c.shape(0);
  const auto axis = static_cast<std::ptrdiff_t>(c.axis(c.node().int_attr("axis", 0), out.size()));
  if (c.node().int_attr("keepdims", 1) != 0) {
    out[static_cast<std::size_t>(axis)] = 1;
  } else {
    out.erase(out.begin() + axis);
  }
  return known(DType::i64, out);
}

Infos top_k(const ShapeContext& c) {
  c.need(2);
  Infos infos = unknown(c.dtype(0));
  const auto k = c.ints(1);
  if (c.shape(0) != nullptr && k && k->size() == 1) {
    Shape out = *c.shape(0);
    out[c.axis(c.node().int_attr("axis", -1), out.size())] = k->front();
    infos[0].shape = out;
  }
  infos.push_back(ValueInfo{DType::i64, infos[0].shape});
  return infos;
}

Infos einsum(const ShapeContext& c) {
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < c.inputs(); ++i) {
    if (c.shape(i) == nullptr) return unknown(c.dtype(0));
    shapes.push_back(*c.shape(i));
  }
  const Einsum labels = resolve_einsum(c.node(), shapes);
  Shape out;
  for (const char label : labels.output) out.push_back(labels.sizes.at(label));
  return known(c.dtype(0), out);
}

Infos grid_sample(const ShapeContext& c) {
  c.need(2);
  if (c.shape(0) == nullptr || c.shape(1) == nullptr) return unknown(c.dtype(0));
  const Shape& x = *c.shape(0);
  const Shape& grid = *c.shape(1);
  if (x.size() != 4 || grid.size() != 4)
    c.refuse("operands of rank " + std::to_string(x.size()) + " and " + std::to_string(grid.size()) +
             ": expected 4 and 4");
  return known(c.dtype(0), {x[0], x[1], grid[1], grid[2]});
}

}  // namespace

void add_matrix_shapes(ShapeTable& table) {
  table["Gemm"] = gemm;
  table["MatMul"] = matmul;
  table["MatMulInteger"] = matmul_integer;
  table["QLinearMatMul"] = qlinear_matmul;
  for (const char* op : {"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
                         "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"}) {
    table[op] = reduce;
  }
  for (const char* op : {"ArgMax", "ArgMin"}) table[op] = arg_reduce;
  table["TopK"] = top_k;
  table["Einsum"] = einsum;
  table["GridSample"] = grid_sample;
}

}  // namespace tessera::compiler
