// Shape inference and constant folding in one sweep: a Shape of a known shape is a constant, so the chains by which
// exporters compute reshape targets vanish. Movement and arithmetic of constants is done here (fold_kernels.hpp); what
// else has constant inputs goes to the evaluator, which compiler/interpret provides (no link: it depends on us).
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "compiler/ir/graph.hpp"

namespace tessera::compiler {

/// The outputs of a node from its inputs (nullptr = absent); nullopt when the evaluator has no such operator.
using Evaluator =
    std::function<std::optional<std::vector<Tensor>>(const Node& node, const std::vector<const Tensor*>& inputs)>;

/// Infers shapes and replaces nodes with constant inputs by constants; returns how many nodes went. Keeps
/// QuantizeLinear and DequantizeLinear (they carry scales), random operators, and what goes beyond 1 GiB of results
/// together or some seconds of arithmetic.
std::size_t fold_constants(Graph& graph, const Evaluator& evaluate = {});

/// What every reader of an imported graph calls first: fold_constants, then the coerced Softmax of opset < 13 settled,
/// then nodes that change nothing (identity.hpp), dead nodes and constants removed. Changes no value.
void prepare(Graph& graph, const Evaluator& evaluate = {});

}  // namespace tessera::compiler
