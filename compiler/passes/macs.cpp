#include "compiler/passes/macs.hpp"

#include "compiler/ir/marks.hpp"
#include "hw/common/error.hpp"

namespace tessera::compiler {
namespace {

const Shape& shape_or_refuse(const Graph& graph, const Node& node, const std::string& value) {
  if (!graph.is_constant(value)) {
    const auto it = graph.values.find(value);
    if (it == graph.values.end() || !it->second.shape) {
      user_error("node '", node.name, "' (", node.op, "): the shape of '", value,
                 "' is unknown, so its multiply-accumulates cannot be counted");
    }
  }
  return graph.shape_of(value);
}

/// Elements of the weight beyond its first axis: the work for one output (Conv) or input (ConvTranspose) element.
std::int64_t work_each(const Shape& weight) { return weight[0] == 0 ? 0 : element_count(weight) / weight[0]; }

}  // namespace

std::int64_t macs(const Graph& graph, const Node& node) {
  if (!node.domain.empty() || node.attributes.count(kScaleShiftConv) != 0) return 0;
  const auto shape = [&](const std::string& value) -> const Shape& { return shape_or_refuse(graph, node, value); };
  const std::string& op = node.op;
  if (op == "Conv" || op == "ConvInteger") {
    return element_count(shape(node.outputs[0])) * work_each(shape(node.inputs[1]));
  }
  if (op == "QLinearConv") return element_count(shape(node.outputs[0])) * work_each(shape(node.inputs[3]));
  // Each input element meets every weight of its channel, also where the result is cropped away.
  if (op == "ConvTranspose") return element_count(shape(node.inputs[0])) * work_each(shape(node.inputs[1]));
  if (op == "Gemm") {
    const Shape& a = shape(node.inputs[0]);
    return element_count(shape(node.outputs[0])) * a[node.int_attr("transA", 0) != 0 ? 0 : 1];
  }
  if (op == "MatMul" || op == "MatMulInteger" || op == "QLinearMatMul") {
    return element_count(shape(node.outputs[0])) * shape(node.inputs[0]).back();
  }
  return 0;
}

std::int64_t macs(const Graph& graph) {
  std::int64_t sum = 0;
  for (const Node& node : graph.nodes) sum += macs(graph, node);
  return sum;
}

}  // namespace tessera::compiler
