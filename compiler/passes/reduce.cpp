#include "compiler/passes/reduce.hpp"

#include <algorithm>

#include "compiler/ir/builder.hpp"
#include "compiler/ir/topology.hpp"
#include "compiler/passes/rewrite.hpp"

namespace tessera::compiler {
namespace {

/// Axes from the attribute (up to opset 17) or from a constant input (18), counted from the front; empty when computed
/// or absent.
Ints axes_of(const Graph& graph, const Node& node, std::int64_t rank) {
  Ints axes = node.ints_attr("axes", {});
  const std::string given = input_or_empty(node, 1);
  if (!given.empty()) {
    if (!graph.is_constant(given)) return {};
    axes = graph.constants.at(given).as_ints();
  }
  for (std::int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  std::sort(axes.begin(), axes.end());
  return axes;
}

}  // namespace

std::size_t reduce_to_pool(Graph& graph) {
  std::vector<Node> behind;
  std::size_t changed = 0;
  for (Node& node : graph.nodes) {
    if (!is_op(node, "ReduceMean") || !has_shape(graph, node.inputs[0])) continue;
    const Shape in = graph.shape_of(node.inputs[0]);
    if (in.size() != 4 || axes_of(graph, node, 4) != Ints{2, 3}) continue;
    const bool keep = node.int_attr("keepdims", 1) != 0;
    node.op = "GlobalAveragePool";
    node.inputs.resize(1);
    node.attributes.clear();
    ++changed;
    if (keep) continue;
    Node view;
    view.name = unique_name(graph, node.name + "/flat");
    view.op = "Reshape";
    view.outputs = {node.outputs[0]};
    const std::string pooled = unique_name(graph, node.outputs[0] + "/pooled");
    view.inputs = {pooled, add_constant(graph, node, "shape", int64_tensor({2}, {in[0], in[1]}))};
    graph.values[pooled] = {graph.dtype_of(node.outputs[0]), Shape{in[0], in[1], 1, 1}};
    node.outputs = {pooled};
    behind.push_back(std::move(view));
  }
  for (Node& node : behind) graph.nodes.push_back(std::move(node));
  sort_topologically(graph);
  return changed;
}

}  // namespace tessera::compiler
