#include "compiler/passes/merge_requantize.hpp"

#include <algorithm>

#include "isa/semantics/requantize.hpp"

namespace tessera::compiler {
namespace {

const QTensor& tensor(const QGraph& graph, int t) { return graph.tensors[static_cast<std::size_t>(t)]; }

/// The node that makes `t` when the node `reader` alone needs it; nullptr otherwise.
QNode* maker_for(QGraph& graph, int t, const QNode& reader) {
  QNode* maker = nullptr;
  for (QNode& node : graph.nodes) {
    if (node.output == t) maker = &node;
    const auto reads = std::count(node.inputs.begin(), node.inputs.end(), t);
    if (reads > (&node == &reader ? 1 : 0)) return nullptr;
  }
  const bool wanted = std::find(graph.outputs.begin(), graph.outputs.end(), t) != graph.outputs.end();
  return wanted ? nullptr : maker;
}

bool same_elements(const QTensor& a, const QTensor& b) {
  return a.dtype == DType::i8 && b.dtype == DType::i8 && a.shape == b.shape && a.onnx_shape == b.onnx_shape;
}

void take_over(QNode& into, QNode& node) {
  into.output = node.output;
  into.fused.push_back(node.name);
  into.fused.insert(into.fused.end(), node.fused.begin(), node.fused.end());
  node.output = -1;
}

void erase_gone(QGraph& graph) {
  graph.nodes.erase(
      std::remove_if(graph.nodes.begin(), graph.nodes.end(), [](const QNode& node) { return node.output < 0; }),
      graph.nodes.end());
}

/// The 256 results of a requantize or table node.
std::vector<std::int8_t> table_of(const QGraph& graph, const QNode& node) {
  if (node.op == QOp::table) return node.table;
  const std::int32_t za = tensor(graph, node.inputs[0]).zero_point, zo = tensor(graph, node.output).zero_point;
  const QScale& scale = node.scales.at(0);
  std::vector<std::int8_t> table;
  for (std::int32_t v = -128; v <= 127; ++v) {
    table.push_back(
        static_cast<std::int8_t>(semantics::requantize(v - za, scale.multiplier, scale.shift, zo, node.lo, node.hi)));
  }
  return table;
}

bool is_function(const QNode& node) {
  return (node.op == QOp::table && node.table.size() == 256) || node.op == QOp::requantize;
}

}  // namespace

std::size_t merge_tables(QGraph& graph) {
  std::size_t merged = 0;
  for (QNode& node : graph.nodes) {
    if (!is_function(node) || !same_elements(tensor(graph, node.inputs[0]), tensor(graph, node.output))) continue;
    QNode* first = maker_for(graph, node.inputs[0], node);
    if (first == nullptr || !is_function(*first)) continue;
    if (!same_elements(tensor(graph, first->inputs[0]), tensor(graph, first->output))) continue;
    const std::vector<std::int8_t> inner = table_of(graph, *first), outer = table_of(graph, node);
    std::vector<std::int8_t> both;
    for (const std::int8_t v : inner) both.push_back(outer[static_cast<std::size_t>(v + 128)]);
    first->op = QOp::table;
    first->table = both;
    first->scales.clear();
    first->lo = -128;
    first->hi = 127;
    take_over(*first, node);
    node.inputs.clear();
    ++merged;
  }
  erase_gone(graph);
  return merged;
}

}  // namespace tessera::compiler
