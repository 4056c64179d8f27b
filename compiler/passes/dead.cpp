#include "compiler/passes/dead.hpp"

#include <algorithm>
#include <set>

namespace tessera::compiler {

std::size_t remove_dead(Graph& graph) {
  std::set<std::string> needed(graph.outputs.begin(), graph.outputs.end());
  std::vector<Node> kept;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {  // readers before makers
    const bool read = std::any_of(node->outputs.begin(), node->outputs.end(),
                                  [&](const std::string& output) { return needed.count(output) != 0; });
    if (!read) continue;
    needed.insert(node->inputs.begin(), node->inputs.end());
    kept.push_back(std::move(*node));
  }
  std::reverse(kept.begin(), kept.end());
  const std::size_t removed = graph.nodes.size() - kept.size();
  graph.nodes = std::move(kept);

  needed.insert(graph.inputs.begin(), graph.inputs.end());
  for (const Node& node : graph.nodes) needed.insert(node.outputs.begin(), node.outputs.end());
  const auto drop_unneeded = [&](auto& map) {
    for (auto it = map.begin(); it != map.end();) it = needed.count(it->first) != 0 ? std::next(it) : map.erase(it);
  };
  drop_unneeded(graph.constants);
  drop_unneeded(graph.values);
  return removed;
}

}  // namespace tessera::compiler
