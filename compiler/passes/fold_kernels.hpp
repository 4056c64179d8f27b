// Values of movement and arithmetic operators on constants: what exporters leave between a Shape and a Reshape, and
// what they do to weights (Transpose, Reshape, Concat, Cast). Everything else is the evaluator's (fold.hpp).
#pragma once

#include <optional>
#include <vector>

#include "compiler/ir/graph.hpp"

namespace tessera::compiler {

/// Outputs of `node` on `inputs` (nullptr = absent), whose shapes and types `outputs` has; nullopt when no kernel here.
[[nodiscard]] std::optional<std::vector<Tensor>> fold_node(const Node& node, const std::vector<const Tensor*>& inputs,
                                                           const std::vector<ValueInfo>& outputs);

}  // namespace tessera::compiler
