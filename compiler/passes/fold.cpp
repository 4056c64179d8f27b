#include "compiler/passes/fold.hpp"

#include <algorithm>
#include <set>

#include "compiler/ir/builder.hpp"
#include "compiler/passes/dead.hpp"
#include "compiler/passes/fold_kernels.hpp"
#include "compiler/passes/identity.hpp"
#include "compiler/passes/settle_softmax.hpp"
#include "compiler/passes/shape_inference.hpp"
#include "hw/common/error.hpp"

namespace tessera::compiler {
namespace {

constexpr std::int64_t kLargestFoldedBytes = std::int64_t{1} << 30;

bool may_fold(const Node& node, const std::vector<ValueInfo>& outputs) {
  static const std::set<std::string> kept = {
      "Bernoulli",        "DequantizeLinear", "Multinomial",       "QuantizeLinear",        "RandomNormal",
      "RandomNormalLike", "RandomUniform",    "RandomUniformLike", "DynamicQuantizeLinear", "Dropout"};
  if (!node.domain.empty() || kept.count(node.op) != 0) return false;
  return std::all_of(outputs.begin(), outputs.end(), [](const ValueInfo& info) {
    return info.shape &&
           element_count(*info.shape) * static_cast<std::int64_t>(dtype_size(info.dtype)) <= kLargestFoldedBytes;
  });
}

/// Shape and Size look at no element, so their input need not be constant.
std::optional<std::vector<Tensor>> fold_shape_query(const Graph& graph, const Node& node,
                                                    const std::vector<ValueInfo>& outputs) {
  if (!node.domain.empty() || (node.op != "Shape" && node.op != "Size") || !outputs[0].shape) return std::nullopt;
  const std::string& input = node.inputs[0];
  const auto it = graph.values.find(input);
  if (!graph.is_constant(input) && (it == graph.values.end() || !it->second.shape)) return std::nullopt;
  const Shape& shape = graph.shape_of(input);
  std::vector<Tensor> result;
  if (node.op == "Size") {
    result.push_back(int64_tensor({}, {element_count(shape)}));
    return result;
  }
  const auto rank = static_cast<std::int64_t>(shape.size());
  const std::int64_t given = node.int_attr("start", 0);
  const auto start = static_cast<std::size_t>(std::clamp<std::int64_t>(given < 0 ? given + rank : given, 0, rank));
  const auto count = static_cast<std::size_t>(outputs[0].shape->front());
  const auto from = shape.begin() + static_cast<std::ptrdiff_t>(start);
  result.push_back(int64_tensor({outputs[0].shape->front()}, {from, from + static_cast<std::ptrdiff_t>(count)}));
  return result;
}

std::optional<std::vector<Tensor>> evaluate_node(const Graph& graph, const Node& node,
                                                 const std::vector<ValueInfo>& outputs, const Evaluator& evaluate) {
  std::vector<const Tensor*> inputs;
  for (const std::string& input : node.inputs) {
    const auto it = graph.constants.find(input);
    if (!input.empty() && it == graph.constants.end()) return std::nullopt;
    inputs.push_back(input.empty() ? nullptr : &it->second);
  }
  if (inputs.empty()) return std::nullopt;
  std::optional<std::vector<Tensor>> result = fold_node(node, inputs, outputs);
  if (!result && evaluate) result = evaluate(node, inputs);
  return result;
}

}  // namespace

std::size_t fold_constants(Graph& graph, const Evaluator& evaluate) {
  std::vector<Node> kept;
  for (Node& node : graph.nodes) {
    const std::vector<ValueInfo> infos = infer_node(graph, node);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (!node.outputs[i].empty()) graph.values[node.outputs[i]] = infos[i];
    }
    std::optional<std::vector<Tensor>> result;
    if (!node.outputs.empty() && may_fold(node, infos)) {
      result = fold_shape_query(graph, node, infos);
      if (!result) result = evaluate_node(graph, node, infos, evaluate);
    }
    if (!result) {
      kept.push_back(std::move(node));
      continue;
    }
    TESSERA_CHECK(result->size() >= node.outputs.size(), node.name, " (", node.op, ") folded to ", result->size(),
                  " outputs");
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i].empty()) continue;
      Tensor& tensor = (*result)[i];
      TESSERA_CHECK(tensor.shape == *infos[i].shape && tensor.dtype == infos[i].dtype, node.name, " (", node.op,
                    ") folded to ", shape_text(tensor.shape), " ", dtype_name(tensor.dtype), ", inferred ",
                    shape_text(*infos[i].shape), " ", dtype_name(infos[i].dtype));
      graph.values.erase(node.outputs[i]);
      graph.constants.insert_or_assign(node.outputs[i], std::move(tensor));
    }
  }
  const std::size_t folded = graph.nodes.size() - kept.size();
  graph.nodes = std::move(kept);
  return folded;
}

void prepare(Graph& graph, const Evaluator& evaluate) {
  fold_constants(graph, evaluate);
  settle_softmax(graph);
  remove_identity(graph);
  remove_dead(graph);
}

}  // namespace tessera::compiler
