#include "compiler/quantize/scale_groups.hpp"

#include <algorithm>

#include "compiler/ir/topology.hpp"
#include "compiler/legal/rules.hpp"
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
int passes_elements(const Graph& graph, const Node& node) {
  static const std::map<std::string, int> ops = {
      {"MaxPool", 1},   {"GlobalMaxPool", 1}, {"Reshape", 1}, {"Flatten", 1},      {"Squeeze", 1}, {"Unsqueeze", 1},
      {"Transpose", 1}, {"Slice", 1},         {"Split", 1},   {"Identity", 1},     {"Dropout", 1}, {"DepthToSpace", 1},
      {"Gather", 1},    {"Expand", 1},        {"Tile", 1},    {"SpaceToDepth", 1}, {"Concat", -1}, {"ReduceMax", 1}};
  if (!node.domain.empty()) return 0;
  if (node.op == "Resize" && node.string_attr("mode", "nearest") == "nearest") return 1;
  if (node.op == "Pad" && node.string_attr("mode", "constant") == "constant" && node.inputs.size() > 2 &&
      !node.inputs[2].empty()) {  // a zero is one at every scale; another value gets a scale of its own
    return graph.is_constant(node.inputs[2]) &&
                   graph.constants.at(node.inputs[2]).as_doubles() == std::vector<double>{0.0}
               ? 1
               : 0;
  }
  if (node.op == "Pad") return 1;
  const auto found = ops.find(node.op);
  return found == ops.end() ? 0 : found->second;
}

}  // namespace

namespace {

/// A function of one value for a table: constants of one element where it takes more.
bool is_function(const Graph& graph, const Node& node) {
  static const std::set<std::string> names(legal::table_functions().begin(), legal::table_functions().end());
  if (!node.domain.empty() || names.count(node.op) == 0) return false;
  const Shape* shape = nullptr;
  for (const std::string& input : node.inputs) {
    if (input.empty()) continue;
    if (graph.is_constant(input)) {
      if (graph.constants.at(input).elements() != 1) return false;
      continue;
    }
    const auto found = graph.values.find(input);
    if (found == graph.values.end() || !found->second.shape || found->second.dtype != DType::f32) return false;
    if (shape != nullptr && *shape != *found->second.shape) return false;
    shape = &*found->second.shape;
  }
  return shape != nullptr;
}

/// Values inside functions of one value: everything between the value they start from and the last one becomes one
/// table (x * Sigmoid(x), the Erf form of GELU), so that nothing between is rounded to int8.
class TableInsides {
 public:
  explicit TableInsides(const Graph& graph) : graph_(graph) {
    const auto readers = consumers(graph);
    for (const std::string& output : graph.outputs) kept_.insert(output);
    while (true) {  // kept_ only grows
      trace();
      std::size_t before = kept_.size();
      for (const Node& node : graph.nodes) {
        if (!is_inside(node.outputs[0])) continue;
        const std::string& from = source_.at(node.outputs[0]);
        const auto found = readers.find(node.outputs[0]);
        const bool all =
            found != readers.end() && std::all_of(found->second.begin(), found->second.end(), [&](std::size_t reader) {
              const std::string& made = graph.nodes[reader].outputs[0];
              const auto traced = function_source_.find(made);
              return traced != function_source_.end() && traced->second == from;
            });
        if (!all) kept_.insert(node.outputs[0]);
      }
      if (kept_.size() == before) return;
    }
  }

  [[nodiscard]] bool is_inside(const std::string& value) const {
    const auto found = source_.find(value);
    return found != source_.end() && found->second != value;
  }
  /// The output of a function of one value.
  [[nodiscard]] bool is_function_of_one(const std::string& value) const { return function_source_.count(value) != 0; }

 private:
  /// source_: the value that a value would be computed from; itself when it is stored.
  void trace() {
    source_.clear();
    function_source_.clear();
    for (const Node& node : graph_.nodes) {
      if (node.outputs.empty()) continue;
      const std::string& made = node.outputs[0];
      source_[made] = made;
      if (!is_function(graph_, node)) continue;
      std::string from;
      bool one = true;
      for (const std::string& input : node.inputs) {
        if (input.empty() || graph_.is_constant(input)) continue;
        const auto known = source_.find(input);
        const std::string& its = known == source_.end() ? input : known->second;
        one = one && (from.empty() || from == its);
        from = its;
      }
      if (!one) continue;
      function_source_[made] = from;
      if (kept_.count(made) == 0) source_[made] = from;
    }
  }

  const Graph& graph_;
  std::set<std::string> kept_;
  std::map<std::string, std::string> source_;
  std::map<std::string, std::string> function_source_;
};

}  // namespace

ScaleGroups::ScaleGroups(const Graph& graph) {
  const auto is_float = [&](const std::string& value) {
    return !value.empty() && !graph.is_constant(value) && graph.dtype_of(value) == DType::f32;
  };
  for (const std::string& input : graph.inputs) {
    if (is_float(input)) quantized_.insert(input);
  }
  const auto readers = consumers(graph);
  const TableInsides insides(graph);
  for (const Node& node : graph.nodes) {
    for (const std::string& output : node.outputs) {
      if (is_float(output) && graph.values.count(output) != 0 && !insides.is_inside(output)) quantized_.insert(output);
    }
    if (!can_clamp(node) || insides.is_function_of_one(node.outputs[0]) || is_graph_output(graph, node.outputs[0])) {
      continue;
    }
    const auto found = readers.find(node.outputs[0]);
    if (found == readers.end() || found->second.size() != 1) continue;
    const Node& reader = graph.nodes[found->second[0]];
    // A clamp that goes on into a table belongs to the table.
    if (is_clamp(reader) && !insides.is_inside(reader.outputs[0])) quantized_.erase(node.outputs[0]);
  }
  for (const std::string& value : quantized_) parent_[value] = value;
  std::set<std::string> other;  // values that some operator computes, but for Softmax
  std::set<std::string> softmax;
  for (const std::string& input : graph.inputs) other.insert(input);
  for (const Node& node : graph.nodes) {
    const int carriers = passes_elements(graph, node);
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
