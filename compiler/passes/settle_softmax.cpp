#include "compiler/passes/settle_softmax.hpp"

#include "compiler/ir/builder.hpp"
#include "compiler/ir/marks.hpp"
#include "compiler/ir/topology.hpp"
#include "compiler/passes/rewrite.hpp"

namespace tessera::compiler {
std::size_t settle_softmax(Graph& graph) {
  std::vector<Node> nodes;
  std::size_t changed = 0;
  for (Node& node : graph.nodes) {
    if (node.attributes.count(kCoercedSoftmax) == 0 || !has_shape(graph, node.inputs[0])) {
      nodes.push_back(std::move(node));
      continue;
    }
    ++changed;
    const Shape shape = graph.shape_of(node.inputs[0]);
    const DType dtype = graph.dtype_of(node.inputs[0]);
    const auto rank = static_cast<std::int64_t>(shape.size());
    std::int64_t axis = node.int_attr("axis", 1);
    if (axis < 0) axis += rank;
    node.attributes.erase(kCoercedSoftmax);
    // Axes of more than one element from `axis` on; for none, any axis gives the same.
    std::int64_t wide = 0;
    std::int64_t only = axis;
    for (std::int64_t i = axis; i < rank; ++i) {
      if (shape[static_cast<std::size_t>(i)] == 1) continue;
      ++wide;
      only = i;
    }
    if (wide <= 1) {
      node.attributes["axis"] = only;
      nodes.push_back(std::move(node));
      continue;
    }
    const std::string flat = unique_name(graph, node.name + "/flatten");
    const std::string result = unique_name(graph, node.name + "/2d");
    const std::string target = unique_name(graph, node.name + "/shape");
    graph.constants[target] = int64_tensor({rank}, shape);
    std::int64_t rows = 1;
    for (std::int64_t i = 0; i < axis; ++i) rows *= shape[static_cast<std::size_t>(i)];
    const Shape matrix = {rows, rows == 0 ? 0 : element_count(shape) / rows};
    graph.values[flat] = ValueInfo{dtype, matrix};
    graph.values[result] = ValueInfo{dtype, matrix};
    nodes.push_back(Node{flat, "Flatten", "", {node.inputs[0]}, {flat}, {{"axis", axis}}, {}});
    const std::string output = node.outputs[0];
    const std::string reshape = unique_name(graph, node.name + "/reshape");
    node.inputs = {flat};
    node.outputs = {result};
    node.attributes["axis"] = std::int64_t{1};
    nodes.push_back(std::move(node));
    nodes.push_back(Node{reshape, "Reshape", "", {result, target}, {output}, {}, {}});
  }
  graph.nodes = std::move(nodes);
  return changed;
}

}  // namespace tessera::compiler
