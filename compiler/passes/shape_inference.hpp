// Output shapes and types of each node from those of its inputs. All graph inputs are bound, so a shape is known or the
// operator is unknown: nothing is guessed. UserError names the node where sizes contradict each other.
#pragma once

#include <vector>

#include "compiler/ir/graph.hpp"

namespace tessera::compiler {

/// Fills Graph::values for every node, in order; values behind an unknown operator stay without shape.
void infer_shapes(Graph& graph);

/// One node's outputs, from the graph's values and constants.
[[nodiscard]] std::vector<ValueInfo> infer_node(const Graph& graph, const Node& node);

/// Whether a shape function exists (domain ai.onnx); unknown and custom operators have none.
[[nodiscard]] bool has_shape_function(const Node& node);

/// UserError for the first node with an output of unknown shape, saying why.
void require_shapes(const Graph& graph);

/// The shape two operands broadcast to, as ONNX broadcasts; nullopt when they do not fit.
[[nodiscard]] std::optional<Shape> broadcast_shape(const Shape& a, const Shape& b);

}  // namespace tessera::compiler
