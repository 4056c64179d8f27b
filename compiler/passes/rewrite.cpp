#include "compiler/passes/rewrite.hpp"

#include <algorithm>

#include "compiler/ir/topology.hpp"
#include "hw/common/error.hpp"

namespace tessera::compiler {

Wiring::Wiring(Graph& graph) : graph_(graph), makers_(producers(graph)), readers_(consumers(graph)) {
  for (const std::string& output : graph.outputs) outputs_[output] = true;
}

Node* Wiring::maker(const std::string& value) {
  const auto it = makers_.find(value);
  return it == makers_.end() ? nullptr : &graph_.nodes[it->second];
}

Node* Wiring::sole_reader(const std::string& value) {
  const auto it = readers_.find(value);
  if (is_output(value) || it == readers_.end() || it->second.size() != 1) return nullptr;
  return &graph_.nodes[it->second[0]];
}

bool Wiring::is_read(const std::string& value) const {
  const auto it = readers_.find(value);
  return is_output(value) || (it != readers_.end() && !it->second.empty());
}

bool Wiring::bypass(Node& node, const std::string& input) {
  const std::string output = node.outputs[0];
  const auto index = static_cast<std::size_t>(&node - graph_.nodes.data());
  auto& input_readers = readers_[input];
  if (!is_output(output)) {
    input_readers.erase(std::remove(input_readers.begin(), input_readers.end(), index), input_readers.end());
    for (const std::size_t reader : readers_[output]) {
      auto& inputs = graph_.nodes[reader].inputs;
      std::replace(inputs.begin(), inputs.end(), output, input);
      input_readers.push_back(reader);
    }
  } else {
    Node* source = maker(input);
    if (source == nullptr || is_output(input)) return false;
    // The value `input` takes the name of the output.
    std::replace(source->outputs.begin(), source->outputs.end(), input, output);
    auto& output_readers = readers_[output];
    for (const std::size_t reader : input_readers) {
      if (reader == index) continue;
      auto& inputs = graph_.nodes[reader].inputs;
      std::replace(inputs.begin(), inputs.end(), input, output);
      output_readers.push_back(reader);
    }
    makers_[output] = makers_[input];
    makers_.erase(input);
    readers_.erase(input);
    graph_.values.erase(input);
  }
  node.outputs.clear();
  node.inputs.clear();
  return true;
}

void Wiring::absorb(Node& into, Node& node) {
  const std::string inner = into.outputs[0];
  makers_[node.outputs[0]] = makers_.at(inner);
  makers_.erase(inner);
  readers_.erase(inner);
  graph_.values.erase(inner);
  into.outputs[0] = node.outputs[0];
  into.fused.push_back(node.name);
  into.fused.insert(into.fused.end(), node.fused.begin(), node.fused.end());
  node.outputs.clear();
  node.inputs.clear();
}

void Wiring::finish() {
  auto& nodes = graph_.nodes;
  nodes.erase(std::remove_if(nodes.begin(), nodes.end(), [](const Node& node) { return node.outputs.empty(); }),
              nodes.end());
  sort_topologically(graph_);
}

std::string add_constant(Graph& graph, const Node& node, const std::string& role, Tensor tensor) {
  std::string name = node.name + "/" + role;
  if (graph.constants.count(name) + graph.values.count(name) != 0) name = unique_name(graph, name);
  graph.constants.emplace(name, std::move(tensor));
  return name;
}

const Tensor* float_constant(const Graph& graph, const std::string& value) {
  const auto it = graph.constants.find(value);
  return it == graph.constants.end() || it->second.dtype != DType::f32 ? nullptr : &it->second;
}

std::string input_or_empty(const Node& node, std::size_t i) {
  return i < node.inputs.size() ? node.inputs[i] : std::string();
}

bool has_shape(const Graph& graph, const std::string& value) {
  const auto it = graph.values.find(value);
  return graph.is_constant(value) || (it != graph.values.end() && it->second.shape.has_value());
}

}  // namespace tessera::compiler
