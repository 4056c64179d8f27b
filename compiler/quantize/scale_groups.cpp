#include "compiler/quantize/scale_groups.hpp"

#include "compiler/ir/topology.hpp"
#include "hw/common/error.hpp"

namespace tessera::compiler {
namespace {

bool is_clamp(const Node& node) { return node.domain.empty() && (node.op == "Relu" || node.op == "Clip"); }

/// Operators whose integer form ends in a requantisation that can clamp, so that a Relu or Clip behind costs nothing.
bool can_clamp(const Node& node) {
  static const std::set<std::string> ops = {"Conv", "ConvTranspose", "Gemm",        "MatMul",           "Add",
                                            "Sub",  "Mul",           "AveragePool", "GlobalAveragePool"};
  return node.domain.empty() && ops.count(node.op) != 0;
}

/// Operators that pass elements on unchanged; the value is how many inputs carry elements (-1 = all).
int passes_elements(const Node& node) {
  static const std::map<std::string, int> ops = {
      {"MaxPool", 1},   {"GlobalMaxPool", 1}, {"Reshape", 1}, {"Flatten", 1},      {"Squeeze", 1}, {"Unsqueeze", 1},
      {"Transpose", 1}, {"Slice", 1},         {"Split", 1},   {"Identity", 1},     {"Dropout", 1}, {"DepthToSpace", 1},
      {"Gather", 1},    {"Expand", 1},        {"Tile", 1},    {"SpaceToDepth", 1}, {"Concat", -1}, {"ReduceMax", 1}};
  if (!node.domain.empty()) return 0;
  if (node.op == "Resize" && node.string_attr("mode", "nearest") == "nearest") return 1;
  if (node.op == "Pad" && node.string_attr("mode", "constant") != "constant") return 1;
  const auto found = ops.find(node.op);
  return found == ops.end() ? 0 : found->second;
}

}  // namespace

ScaleGroups::ScaleGroups(const Graph& graph) {
  const auto is_float = [&](const std::string& value) {
    return !value.empty() && !graph.is_constant(value) && graph.dtype_of(value) == DType::f32;
  };
  for (const std::string& input : graph.inputs) {
    if (is_float(input)) quantized_.insert(input);
  }
  const auto readers = consumers(graph);
  for (const Node& node : graph.nodes) {
    for (const std::string& output : node.outputs) {
      if (is_float(output) && graph.values.count(output) != 0) quantized_.insert(output);
    }
    if (!can_clamp(node) || is_graph_output(graph, node.outputs[0])) continue;
    const auto found = readers.find(node.outputs[0]);
    if (found != readers.end() && found->second.size() == 1 && is_clamp(graph.nodes[found->second[0]])) {
      quantized_.erase(node.outputs[0]);
    }
  }
  for (const std::string& value : quantized_) parent_[value] = value;
  std::set<std::string> other;  // values that some operator computes, but for Softmax
  std::set<std::string> softmax;
  for (const std::string& input : graph.inputs) other.insert(input);
  for (const Node& node : graph.nodes) {
    const int carriers = passes_elements(node);
    for (const std::string& output : node.outputs) {
      if (!quantized(output)) continue;
      if (node.domain.empty() && node.op == "Softmax") {
        softmax.insert(output);
      } else if (carriers == 0) {
        other.insert(output);
      }
      for (std::size_t i = 0; i < node.inputs.size() && (carriers < 0 || static_cast<int>(i) < carriers); ++i) {
        if (quantized(node.inputs[i])) unite(node.inputs[i], output);
      }
    }
  }
  for (const std::string& value : softmax) probability_.insert(root(value));
  for (const std::string& value : other) {
    if (quantized(value)) probability_.erase(root(value));
  }
}

const std::string& ScaleGroups::root(const std::string& value) const {
  const std::string* at = &parent_.at(value);
  while (parent_.at(*at) != *at) at = &parent_.at(*at);
  return *at;
}

const std::string& ScaleGroups::group(const std::string& value) const {
  TESSERA_CHECK(quantized(value), value);
  return root(value);
}

void ScaleGroups::unite(const std::string& a, const std::string& b) {
  const std::string ra = root(a);
  const std::string rb = root(b);
  if (ra != rb) parent_[rb] = ra;
}

}  // namespace tessera::compiler
