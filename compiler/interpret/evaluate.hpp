// Runs an ONNX graph on whole tensors: a float model, or one in QDQ / QLinear form, as it stands (`tessera eval`,
// calibration, accuracy). Meaning of every operator as in opset 13, which import settles on. Floats are computed in
// float32, in an order that does not depend on the machine.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph.hpp"

namespace tessera::compiler {

using NamedTensors = std::map<std::string, Tensor>;
/// Sees every value that is not a constant once, inputs included, in order of computation.
using Observer = std::function<void(const std::string& value, const Tensor& tensor)>;

/// The graph's outputs. UserError: an input missing, unknown, of another shape or type; an unsupported operator.
[[nodiscard]] NamedTensors evaluate(const Graph& graph, const NamedTensors& inputs, const Observer& observe = {});

/// One node alone; an absent input is nullptr.
[[nodiscard]] std::vector<Tensor> evaluate_node(const Node& node, const std::vector<const Tensor*>& inputs);

[[nodiscard]] bool can_evaluate(const Node& node);
/// The same, or nullopt for an operator the interpreter has not: the evaluator that compiler/passes folds with.
[[nodiscard]] std::optional<std::vector<Tensor>> try_evaluate_node(const Node& node,
                                                                   const std::vector<const Tensor*>& inputs);

}  // namespace tessera::compiler
