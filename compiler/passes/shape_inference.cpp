#include "compiler/passes/shape_inference.hpp"

#include <algorithm>

#include "compiler/passes/shape_context.hpp"
#include "hw/common/error.hpp"

namespace tessera::compiler {

const Shape* ShapeContext::shape(std::size_t i) const {
  if (!has(i)) return nullptr;
  const std::string& value = node_.inputs[i];
  if (const auto it = graph_.constants.find(value); it != graph_.constants.end()) return &it->second.shape;
  const auto it = graph_.values.find(value);
  return it == graph_.values.end() || !it->second.shape ? nullptr : &*it->second.shape;
}

DType ShapeContext::dtype(std::size_t i) const { return has(i) ? graph_.dtype_of(node_.inputs[i]) : DType::undefined; }

const Tensor* ShapeContext::constant(std::size_t i) const {
  if (!has(i)) return nullptr;
  const auto it = graph_.constants.find(node_.inputs[i]);
  return it == graph_.constants.end() ? nullptr : &it->second;
}

std::optional<std::vector<std::int64_t>> ShapeContext::ints(std::size_t i) const {
  const Tensor* tensor = constant(i);
  if (tensor == nullptr) return std::nullopt;
  if (tensor->dtype != DType::i64 && tensor->dtype != DType::i32) {
    refuse("input " + std::to_string(i) + " is " + dtype_name(tensor->dtype) + ": expected int64 or int32");
  }
  return tensor->as_ints();
}

std::optional<std::vector<std::int64_t>> ShapeContext::axes(std::size_t i) const {
  if (has(i)) return ints(i);
  return node_.ints_attr("axes", {});
}

std::size_t ShapeContext::axis(std::int64_t given, std::size_t rank) const {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (given < -signed_rank || given >= signed_rank) {
    refuse("axis " + std::to_string(given) + " of a tensor of rank " + std::to_string(rank) +
           ": expected an axis in [" + std::to_string(-signed_rank) + ", " + std::to_string(signed_rank - 1) + "]");
  }
  return static_cast<std::size_t>(given < 0 ? given + signed_rank : given);
}

void ShapeContext::need(std::size_t count) const {
  for (std::size_t i = 0; i < count; ++i) {
    if (!has(i)) refuse("has no input " + std::to_string(i) + ": expected at least " + std::to_string(count));
  }
}

void ShapeContext::refuse(const std::string& text) const {
  user_error("node '", node_.name, "' (", node_.op, "): ", text);
}

namespace {

const ShapeTable& shape_table() {
  static const ShapeTable table = [] {
    ShapeTable made;
    add_elementwise_shapes(made);
    add_window_shapes(made);
    add_matrix_shapes(made);
    add_layout_shapes(made);
    add_indexing_shapes(made);
    return made;
  }();
  return table;
}

constexpr std::int64_t kLargestElements = std::int64_t{1} << 34;

void check_size(const ShapeContext& context, const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t dim : shape) {
    if (dim < 0) context.refuse("makes a tensor with a negative size: " + shape_text(shape));
    // A size of 0 counts as 1, so that no product of some of the sizes overflows either.
    if (__builtin_mul_overflow(count, std::max<std::int64_t>(dim, 1), &count) || count > kLargestElements) {
      context.refuse("makes a tensor of " + shape_text(shape) + ", which is more than 2^34 elements");
    }
  }
}

}  // namespace

bool has_shape_function(const Node& node) { return node.domain.empty() && shape_table().count(node.op) != 0; }

std::vector<ValueInfo> infer_node(const Graph& graph, const Node& node) {
  Infos infos;
  if (has_shape_function(node)) {
    const ShapeContext context(graph, node);
    infos = shape_table().at(node.op)(context);
    for (const ValueInfo& info : infos) {
      if (info.shape) check_size(context, *info.shape);
    }
  }
  infos.resize(node.outputs.size());
  return infos;
}

void infer_shapes(Graph& graph) {
  for (const Node& node : graph.nodes) {
    const std::vector<ValueInfo> infos = infer_node(graph, node);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (!node.outputs[i].empty()) graph.values[node.outputs[i]] = infos[i];
    }
  }
}

void require_shapes(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    for (const std::string& output : node.outputs) {
      const auto it = graph.values.find(output);
      if (output.empty() || (it != graph.values.end() && it->second.shape)) continue;
      const std::string op = node.domain.empty() ? node.op : node.domain + "::" + node.op;
      user_error("node '", node.name, "' (", op, "): the shape of its output '", output, "' is unknown: ",
                 has_shape_function(node) ? "it depends on values that are known only at run time"
                                          : "Tessera does not know this operator",
                 "; no shape is guessed");
    }
  }
}

std::optional<Shape> broadcast_shape(const Shape& a, const Shape& b) {
  Shape result(std::max(a.size(), b.size()));
  for (std::size_t i = 0; i < result.size(); ++i) {  // i counts from the last axis
    const std::int64_t from_a = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t from_b = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (from_a != from_b && from_a != 1 && from_b != 1) return std::nullopt;
    result[result.size() - 1 - i] = from_a == 1 ? from_b : from_a;
  }
  return result;
}

}  // namespace tessera::compiler
