#include "compiler/passes/split_gemm.hpp"

#include "compiler/ir/builder.hpp"
#include "compiler/ir/topology.hpp"
#include "compiler/passes/rewrite.hpp"

namespace tessera::compiler {
namespace {

/// The nodes that one Gemm becomes, in order.
class Split {
 public:
  Split(Graph& graph, std::vector<Node>& nodes) : graph_(graph), nodes_(nodes) {}

  std::string transposed(const Node& gemm, const std::string& role, const std::string& matrix) {
    const Shape& shape = graph_.shape_of(matrix);
    return step(gemm, role, "Transpose", {matrix}, {shape[1], shape[0]}, {{"perm", Ints{1, 0}}});
  }

  /// value * factor; the value itself for 1, a constant for a constant.
  std::string times(const Node& gemm, const std::string& role, const std::string& value, float factor) {
    if (factor == 1.0F) return value;
    if (const Tensor* known = float_constant(graph_, value)) {
      Tensor product = *known;
      for (std::int64_t i = 0; i < product.elements(); ++i) product.data<float>()[i] *= factor;
      return add_constant(graph_, gemm, role, std::move(product));
    }
    const std::string constant = add_constant(graph_, gemm, role + "_factor", float_tensor({}, {factor}));
    return step(gemm, role, "Mul", {value, constant}, graph_.shape_of(value), {});
  }

  /// The last step, which makes the Gemm's own result.
  void sum(const Node& gemm, const std::string& product, const std::string& addend, const std::string& result) {
    Node node = named(gemm, "addend", "Add");
    node.inputs = {product, addend};
    node.outputs = {result};
    nodes_.push_back(std::move(node));
  }

  /// A value between the steps.
  std::string between(const Node& gemm, const std::string& role, const Shape& shape) {
    const std::string value = unique_name(graph_, gemm.name + "/" + role);
    graph_.values[value] = {DType::f32, shape};
    return value;
  }

 private:
  Node named(const Node& gemm, const std::string& role, const char* op) {
    Node node;
    node.name = unique_name(graph_, gemm.name + "/" + role);
    node.op = op;
    return node;
  }

  std::string step(const Node& gemm, const std::string& role, const char* op, const std::vector<std::string>& inputs,
                   const Shape& shape, Attributes attributes) {
    Node node = named(gemm, role, op);
    node.inputs = inputs;
    node.attributes = std::move(attributes);
    const std::string value = between(gemm, role + "_value", shape);
    node.outputs = {value};
    nodes_.push_back(std::move(node));
    return value;
  }

  Graph& graph_;
  std::vector<Node>& nodes_;
};

bool computed(const Graph& graph, const std::string& value) { return !value.empty() && !graph.is_constant(value); }

bool is_whole(const Graph& graph, const Node& node) {
  if (!is_op(node, "Gemm") || !has_shape(graph, node.inputs[0]) || !has_shape(graph, node.inputs[1])) return true;
  return node.int_attr("transA", 0) == 0 && graph.is_constant(node.inputs[1]) &&
         !computed(graph, input_or_empty(node, 2));
}

void split(Graph& graph, Node node, std::vector<Node>* nodes) {
  Split steps(graph, *nodes);
  if (node.int_attr("transA", 0) != 0) {
    node.inputs[0] = steps.transposed(node, "a", node.inputs[0]);
    node.attributes.erase("transA");
  }
  const bool matmul = !graph.is_constant(node.inputs[1]);
  const std::string c = input_or_empty(node, 2);
  const float alpha = node.float_attr("alpha", 1.0F), beta = node.float_attr("beta", 1.0F);
  const bool apart = !c.empty() && (matmul || computed(graph, c));
  const std::string result = node.outputs[0];
  const Shape shape = graph.shape_of(result);
  if (apart) {
    node.inputs.resize(2);
    node.attributes.erase("beta");
  }
  if (matmul) {
    if (node.int_attr("transB", 0) != 0) node.inputs[1] = steps.transposed(node, "b", node.inputs[1]);
    node.inputs[0] = steps.times(node, "alpha", node.inputs[0], alpha);
    node.op = "MatMul";
    node.attributes.clear();
  }
  if (!apart) return nodes->push_back(std::move(node));
  const std::string product = steps.between(node, "product", shape);
  const Node gemm = node;
  node.outputs = {product};
  nodes->push_back(std::move(node));
  steps.sum(gemm, product, steps.times(gemm, "beta", c, beta), result);
}

}  // namespace

std::size_t split_gemm(Graph& graph) {
  std::vector<Node> nodes;
  std::size_t changed = 0;
  for (const Node& node : graph.nodes) {
    if (is_whole(graph, node)) {
      nodes.push_back(node);
      continue;
    }
    split(graph, node, &nodes);
    ++changed;
  }
  graph.nodes = std::move(nodes);
  return changed;
}

}  // namespace tessera::compiler
