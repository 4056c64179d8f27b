#include "compiler/passes/linear.hpp"

#include "compiler/ir/builder.hpp"
#include "compiler/ir/topology.hpp"
#include "compiler/passes/fold_movement.hpp"
#include "compiler/passes/rewrite.hpp"

namespace tessera::compiler {
namespace {

/// The matrix times `factor`, transposed when asked.
Tensor scaled(const Tensor& matrix, bool transpose, float factor) {
  Tensor result =
      transpose ? strided_copy(matrix, {matrix.shape[1], matrix.shape[0]}, 0, {1, matrix.shape[1]}) : matrix;
  if (factor != 1.0F) {
    for (std::int64_t i = 0; i < result.elements(); ++i) result.data<float>()[i] *= factor;
  }
  return result;
}

bool is_normal(const Node& gemm, const std::string& bias, const Graph& graph, std::int64_t columns) {
  const bool plain = gemm.int_attr("transB", 0) == 1 && gemm.float_attr("alpha", 1.0F) == 1.0F &&
                     gemm.float_attr("beta", 1.0F) == 1.0F;
  return plain && (bias.empty() || !graph.is_constant(bias) || graph.shape_of(bias) == Shape{columns});
}

/// Gemm with constant B. Returns an Add to stand behind it when C is constant but no bias, else no node.
std::vector<Node> normalise_gemm(Graph& graph, Node& node) {
  const Tensor& b = *float_constant(graph, node.inputs[1]);
  const bool transposed = node.int_attr("transB", 0) != 0;
  const std::int64_t columns = b.shape[transposed ? 0 : 1];
  const float beta = node.float_attr("beta", 1.0F);
  const float alpha = node.float_attr("alpha", 1.0F);
  std::string c = input_or_empty(node, 2);
  const Tensor* bias = float_constant(graph, c);
  if (!c.empty() && bias == nullptr && beta != 1.0F) return {};  // a computed C keeps its beta
  if (!transposed || alpha != 1.0F) {
    node.inputs[1] = add_constant(graph, node, "weight", scaled(b, !transposed, alpha));
  }
  std::vector<Node> behind;
  if (bias != nullptr && (bias->shape != Shape{columns} || beta != 1.0F)) {
    Tensor full = *bias;
    for (std::int64_t i = 0; i < full.elements(); ++i) full.data<float>()[i] *= beta;
    const bool one_row = full.shape.size() < 2 || full.shape[full.shape.size() - 2] == 1;
    const Shape row = {columns};
    if (one_row) {
      full.shape = full.elements() == 1 ? Shape{} : row;
      c = add_constant(graph, node, "bias", broadcast_to(full, row));
    } else {
      Node add;
      add.name = unique_name(graph, node.name + "/add");
      add.op = "Add";
      const std::string inner = unique_name(graph, node.name + "/product");
      graph.values[inner] = graph.values[node.outputs[0]];
      add.inputs = {inner, add_constant(graph, node, "addend", std::move(full))};
      add.outputs = node.outputs;
      node.outputs = {inner};
      c.clear();
      behind.push_back(add);
    }
  }
  node.inputs.resize(2);
  if (!c.empty()) node.inputs.push_back(c);
  node.attributes = {{"transB", std::int64_t{1}}};
  return behind;
}

}  // namespace

std::size_t normalise_linear(Graph& graph) {
  std::vector<Node> nodes;
  std::size_t changed = 0;
  for (Node& node : graph.nodes) {
    std::vector<Node> behind;
    const Tensor* b = node.inputs.size() > 1 ? float_constant(graph, node.inputs[1]) : nullptr;
    const bool matrix = b != nullptr && b->shape.size() == 2;
    if (matrix && is_op(node, "MatMul") && has_shape(graph, node.inputs[0]) &&
        graph.shape_of(node.inputs[0]).size() == 2) {
      node.op = "Gemm";
      node.inputs[1] = add_constant(graph, node, "weight", scaled(*b, true, 1.0F));
      node.attributes = {{"transB", std::int64_t{1}}};
      ++changed;
    } else if (matrix && is_op(node, "Gemm") && node.int_attr("transA", 0) == 0) {
      const std::int64_t columns = b->shape[node.int_attr("transB", 0) != 0 ? 0 : 1];
      if (!is_normal(node, input_or_empty(node, 2), graph, columns)) {
        behind = normalise_gemm(graph, node);
        ++changed;
      }
    }
    nodes.push_back(std::move(node));
    for (Node& add : behind) nodes.push_back(std::move(add));
  }
  graph.nodes = std::move(nodes);
  return changed;
}

}  // namespace tessera::compiler
