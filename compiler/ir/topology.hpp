// Who makes and who reads each value of a Graph, and the order in which its nodes can run. Passes call these after
// they changed nodes; nothing is cached, so nothing can be stale.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "compiler/ir/graph.hpp"

namespace tessera::compiler {

/// Index of the node that makes each value.
[[nodiscard]] std::map<std::string, std::size_t> producers(const Graph& graph);

/// Indices of the nodes that read each value, ascending; a node that reads it twice stands there twice.
[[nodiscard]] std::map<std::string, std::vector<std::size_t>> consumers(const Graph& graph);

[[nodiscard]] bool is_graph_output(const Graph& graph, const std::string& value);

/// Sorts the nodes so that each stands behind the makers of its inputs; nodes free to go keep their old order.
/// UserError: a value made twice, an input that nobody makes, an output that nobody makes, a cycle.
void sort_topologically(Graph& graph);

/// Lets every reader of `from` (nodes and graph outputs) read `to` instead.
void replace_uses(Graph& graph, const std::string& from, const std::string& to);

/// `wanted`, or wanted_1, wanted_2, ...: the first name that no value, constant or node of the graph has.
[[nodiscard]] std::string unique_name(const Graph& graph, const std::string& wanted);

}  // namespace tessera::compiler
