#include "compiler/ir/topology.hpp"

#include <algorithm>
#include <queue>
#include <set>

#include "hw/common/error.hpp"

namespace tessera::compiler {

std::map<std::string, std::size_t> producers(const Graph& graph) {
  std::map<std::string, std::size_t> made_by;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const std::string& output : graph.nodes[i].outputs) {
      if (!output.empty()) made_by.emplace(output, i);
    }
  }
  return made_by;
}

std::map<std::string, std::vector<std::size_t>> consumers(const Graph& graph) {
  std::map<std::string, std::vector<std::size_t>> read_by;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const std::string& input : graph.nodes[i].inputs) {
      if (!input.empty()) read_by[input].push_back(i);
    }
  }
  return read_by;
}

bool is_graph_output(const Graph& graph, const std::string& value) {
  return std::find(graph.outputs.begin(), graph.outputs.end(), value) != graph.outputs.end();
}

namespace {

std::string node_text(const Node& node) { return "node '" + node.name + "' (" + node.op + ")"; }

/// Every value has one maker: a graph input, a constant or one node.
void check_single_assignment(const Graph& graph) {
  std::set<std::string> made(graph.inputs.begin(), graph.inputs.end());
  for (const auto& [name, tensor] : graph.constants) made.insert(name);
  for (const Node& node : graph.nodes) {
    for (const std::string& output : node.outputs) {
      if (!output.empty() && !made.insert(output).second) {
        user_error(node_text(node), ": makes value '", output,
                   "', which something else makes already; a value has one maker");
      }
    }
  }
  for (const std::string& output : graph.outputs) {
    if (made.count(output) == 0) user_error("graph output '", output, "': no node, input or initialiser makes it");
  }
}

}  // namespace

void sort_topologically(Graph& graph) {
  check_single_assignment(graph);
  const auto made_by = producers(graph);
  const std::set<std::string> graph_inputs(graph.inputs.begin(), graph.inputs.end());
  const std::size_t count = graph.nodes.size();
  std::vector<std::size_t> waits_for(count, 0);
  std::vector<std::vector<std::size_t>> readers(count);
  for (std::size_t i = 0; i < count; ++i) {
    for (const std::string& input : graph.nodes[i].inputs) {
      if (input.empty() || graph_inputs.count(input) != 0 || graph.is_constant(input)) continue;
      const auto maker = made_by.find(input);
      if (maker == made_by.end()) {
        user_error(node_text(graph.nodes[i]), ": input '", input,
                   "' is made by no node and is no graph input or initialiser");
      }
      readers[maker->second].push_back(i);
      ++waits_for[i];
    }
  }
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;  // the lowest old index first
  for (std::size_t i = 0; i < count; ++i) {
    if (waits_for[i] == 0) ready.push(i);
  }
  std::vector<Node> sorted;
  sorted.reserve(count);
  while (!ready.empty()) {
    const std::size_t i = ready.top();
    ready.pop();
    sorted.push_back(std::move(graph.nodes[i]));
    for (const std::size_t reader : readers[i]) {
      if (--waits_for[reader] == 0) ready.push(reader);
    }
  }
  if (sorted.size() != count) {
    const auto stuck = std::find_if(waits_for.begin(), waits_for.end(), [](std::size_t n) { return n != 0; });
    user_error(node_text(graph.nodes[static_cast<std::size_t>(stuck - waits_for.begin())]),
               ": depends on its own result; an ONNX graph has no cycles");
  }
  graph.nodes = std::move(sorted);
}

void replace_uses(Graph& graph, const std::string& from, const std::string& to) {
  for (Node& node : graph.nodes) std::replace(node.inputs.begin(), node.inputs.end(), from, to);
  std::replace(graph.outputs.begin(), graph.outputs.end(), from, to);
}

std::string unique_name(const Graph& graph, const std::string& wanted) {
  std::set<std::string> taken(graph.inputs.begin(), graph.inputs.end());
  for (const auto& [name, tensor] : graph.constants) taken.insert(name);
  for (const auto& [name, info] : graph.values) taken.insert(name);
  for (const Node& node : graph.nodes) {
    taken.insert(node.name);
    taken.insert(node.outputs.begin(), node.outputs.end());
  }
  std::string name = wanted;
  for (int suffix = 1; taken.count(name) != 0; ++suffix) name = wanted + "_" + std::to_string(suffix);
  return name;
}

}  // namespace tessera::compiler
