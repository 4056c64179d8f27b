#include "compiler/passes/token_linear.hpp"

#include "compiler/ir/builder.hpp"
#include "compiler/ir/topology.hpp"
#include "compiler/passes/rewrite.hpp"

namespace tessera::compiler {
namespace {

/// Whether the MatMul has rows beyond one matrix and a constant matrix of its own.
bool on_tokens(const Graph& graph, const Node& node) {
  if (!is_op(node, "MatMul") || !has_shape(graph, node.inputs[0])) return false;
  const Tensor* b = float_constant(graph, node.inputs[1]);
  return b != nullptr && b->shape.size() == 2 && graph.shape_of(node.inputs[0]).size() > 2;
}

/// The bias of a column, when that is what the node adds to `value`.
const Tensor* column_bias(const Graph& graph, const Node& add, const std::string& value, std::int64_t columns) {
  if (!is_op(add, "Add")) return nullptr;
  const Tensor* bias = float_constant(graph, add.inputs[add.inputs[0] == value ? 1 : 0]);
  return bias != nullptr && bias->shape == Shape{columns} ? bias : nullptr;
}

}  // namespace

std::size_t tokens_to_gemm(Graph& graph) {
  Wiring wiring(graph);
  for (Node& node : graph.nodes) {
    if (node.outputs.empty() || !on_tokens(graph, node)) continue;
    Node* add = wiring.sole_reader(node.outputs[0]);
    if (add == nullptr) continue;
    const std::int64_t columns = graph.constants.at(node.inputs[1]).shape[1];
    if (column_bias(graph, *add, node.outputs[0], columns) == nullptr) continue;
    const std::string bias = add->inputs[add->inputs[0] == node.outputs[0] ? 1 : 0];
    node.inputs.push_back(bias);  // until the Gemm is made below
    wiring.absorb(node, *add);
  }
  wiring.finish();
  std::vector<Node> nodes;
  std::size_t changed = 0;
  const auto reshape = [&](const Node& of, const std::string& role, const std::string& input, const std::string& output,
                           const Shape& shape) {
    Node node;
    node.name = unique_name(graph, of.name + "/" + role);
    node.op = "Reshape";
    node.inputs = {input, add_constant(graph, of, role + "_shape",
                                       int64_tensor({static_cast<std::int64_t>(shape.size())}, shape))};
    node.outputs = {output};
    return node;
  };
  for (Node& node : graph.nodes) {
    if (node.outputs.empty() || !on_tokens(graph, node)) {
      nodes.push_back(std::move(node));
      continue;
    }
    Shape out = graph.shape_of(node.inputs[0]);
    const std::int64_t k = out.back();
    const std::int64_t rows = element_count(out) / k;
    out.back() = graph.constants.at(node.inputs[1]).shape[1];
    const std::string flat = unique_name(graph, node.outputs[0] + "/rows");
    graph.values[flat] = {DType::f32, Shape{rows, k}};
    const std::string product = unique_name(graph, node.outputs[0] + "/product");
    graph.values[product] = {DType::f32, Shape{rows, out.back()}};
    nodes.push_back(reshape(node, "rows", node.inputs[0], flat, {rows, k}));
    const std::string result = node.outputs[0];
    node.op = "Gemm";
    node.inputs[0] = flat;
    node.outputs[0] = product;
    nodes.push_back(std::move(node));
    nodes.push_back(reshape(nodes.back(), "tokens", product, result, out));
    ++changed;
  }
  graph.nodes = std::move(nodes);
  return changed;
}

}  // namespace tessera::compiler
