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

/// What folding one graph may take, so that a small file cannot ask for all memory or for minutes: of results together,
/// of the operands of one node that is more than a filler or a mover, and of multiplications.
constexpr std::int64_t kMostFoldedBytes = std::int64_t{1} << 30;
constexpr std::int64_t kMostOperandBytes = std::int64_t{1} << 27;
constexpr std::int64_t kMostWork = 4'000'000'000;

std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

std::int64_t bytes_of(const ValueInfo& info) {
  std::int64_t bytes = static_cast<std::int64_t>(dtype_size(info.dtype));
  for (const std::int64_t dim : *info.shape) bytes = times(bytes, dim);
  return bytes;
}

/// Budget left while a graph is folded.
class FoldBudget {
 public:
  /// Whether the node fits; if so it is charged.
  bool take(const Graph& graph, const Node& node, const std::vector<ValueInfo>& outputs) {
    static const std::set<std::string> light = {"ConstantOfShape", "Expand",    "Reshape", "Transpose", "Identity",
                                                "Squeeze",         "Unsqueeze", "Flatten", "Concat",    "Slice"};
    std::int64_t made = 0, read = 0, work = 0;
    for (const ValueInfo& info : outputs) {
      const std::int64_t bytes = bytes_of(info);
      if (bytes > bytes_left_ - made) return false;
      made += bytes;
    }
    std::int64_t operands = 1;  // all combinations of input elements: what an Einsum can cost
    for (const std::string& input : node.inputs) {
      const auto constant = graph.constants.find(input);
      if (constant == graph.constants.end()) continue;
      read += static_cast<std::int64_t>(constant->second.bytes.size());
      operands = times(operands, std::max<std::int64_t>(1, constant->second.elements()));
    }
    if (light.count(node.op) == 0 && made + read > kMostOperandBytes) return false;
    if (node.op == "Einsum") work = operands;
    if (node.inputs.size() > 1 && graph.is_constant(node.inputs[0]) && graph.is_constant(node.inputs[1])) {
      // Products and convolutions: an output element meets at most every weight.
      static const std::set<std::string> heavy = {"Conv",        "ConvTranspose", "ConvInteger",
                                                  "Gemm",        "MatMul",        "MatMulInteger",
                                                  "QLinearConv", "QLinearMatMul", "GridSample"};
      if (heavy.count(node.op) != 0) {
        const std::int64_t a = graph.constants.at(node.inputs[0]).elements();
        work = times(made, std::min(a, graph.constants.at(node.inputs[1]).elements()));
      }
    }
    for (const std::int64_t extent : node.ints_attr("kernel_shape", {})) {
      work = times(std::max<std::int64_t>(work, std::max<std::int64_t>(1, made)), std::max<std::int64_t>(1, extent));
    }
    if (work > work_left_) return false;
    bytes_left_ -= made;
    work_left_ -= work;
    return true;
  }

 private:
  std::int64_t bytes_left_ = kMostFoldedBytes;
  std::int64_t work_left_ = kMostWork;
};

bool may_fold(const Node& node, const std::vector<ValueInfo>& outputs) {
  static const std::set<std::string> kept = {
      "Bernoulli",        "DequantizeLinear", "Multinomial",       "QuantizeLinear",        "RandomNormal",
      "RandomNormalLike", "RandomUniform",    "RandomUniformLike", "DynamicQuantizeLinear", "Dropout"};
  if (!node.domain.empty() || kept.count(node.op) != 0) return false;
  return std::all_of(outputs.begin(), outputs.end(), [](const ValueInfo& info) { return info.shape.has_value(); });
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
                                                 const std::vector<ValueInfo>& outputs, const Evaluator& evaluate,
                                                 FoldBudget* budget) {
  std::vector<const Tensor*> inputs;
  for (const std::string& input : node.inputs) {
    const auto it = graph.constants.find(input);
    if (!input.empty() && it == graph.constants.end()) return std::nullopt;
    inputs.push_back(input.empty() ? nullptr : &it->second);
  }
  if (inputs.empty() || !budget->take(graph, node, outputs)) return std::nullopt;
  std::optional<std::vector<Tensor>> result = fold_node(node, inputs, outputs);
  if (!result && evaluate) result = evaluate(node, inputs);
  return result;
}

}  // namespace

std::size_t fold_constants(Graph& graph, const Evaluator& evaluate) {
  std::vector<Node> kept;
  FoldBudget budget;
  for (Node& node : graph.nodes) {
    const std::vector<ValueInfo> infos = infer_node(graph, node);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (!node.outputs[i].empty()) graph.values[node.outputs[i]] = infos[i];
    }
    std::optional<std::vector<Tensor>> result;
    if (!node.outputs.empty() && may_fold(node, infos)) {
      result = fold_shape_query(graph, node, infos);
      if (!result) result = evaluate_node(graph, node, infos, evaluate, &budget);
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
