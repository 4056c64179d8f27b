// The opset that a graph in opset-13 form is written in, and the changes of form beyond 17. Private to compiler/export.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/graph.hpp"

namespace tessera::compiler {

/// The lowest opset of at least Graph::opset in which every operator exists with the types it uses.
[[nodiscard]] std::int64_t export_opset(const Graph& graph);

/// From opset 18 on reductions take their axes as an input, and Split without sizes states its number of parts; before,
/// the opset-13 form is right as it is. New constants go to `constants`.
[[nodiscard]] std::vector<Node> nodes_for_opset(const Graph& graph, std::int64_t opset,
                                                std::map<std::string, Tensor>& constants);

}  // namespace tessera::compiler
