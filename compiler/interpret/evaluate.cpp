#include "compiler/interpret/evaluate.hpp"

#include <utility>

#include "compiler/interpret/op_call.hpp"

namespace tessera::compiler {
namespace {

Tensor checked_input(const Graph& graph, const std::string& name, const NamedTensors& inputs) {
  const auto given = inputs.find(name);
  if (given == inputs.end()) user_error("input ", name, ": no tensor was given");
  const ValueInfo& info = graph.values.at(name);
  if (info.shape && *info.shape != given->second.shape) {
    user_error("input ", name, ": found shape ", shape_text(given->second.shape), ", expected ",
               shape_text(*info.shape));
  }
  if (info.dtype != DType::undefined && info.dtype != given->second.dtype) {
    user_error("input ", name, ": found type ", dtype_name(given->second.dtype), ", expected ", dtype_name(info.dtype));
  }
  return given->second;
}

}  // namespace

bool can_evaluate(const Node& node) { return operators::find_operator(node.domain, node.op) != nullptr; }

std::vector<Tensor> evaluate_node(const Node& node, const std::vector<const Tensor*>& inputs) {
  const operators::OpFunction run = operators::find_operator(node.domain, node.op);
  if (run == nullptr) {
    user_error("node '", node.name, "' (", node.domain.empty() ? "" : node.domain + ".", node.op,
               "): the interpreter has no such operator");
  }
  operators::OpCall call{node, inputs, {}};
  run(call);
  if (call.out.size() < node.outputs.size()) call.fail("output ", call.out.size(), " is not supported");
  return std::move(call.out);
}

std::optional<std::vector<Tensor>> try_evaluate_node(const Node& node, const std::vector<const Tensor*>& inputs) {
  if (!can_evaluate(node)) return std::nullopt;
  return evaluate_node(node, inputs);
}

namespace {

/// Activations that live at one time. A small file can ask for any number of elements: better a message than a kill.
constexpr std::int64_t kMostLiveBytes = std::int64_t{3} << 29;

void require_room(const Graph& graph, const Node& node, std::int64_t live) {
  for (const std::string& output : node.outputs) {
    const auto info = graph.values.find(output);
    if (info == graph.values.end() || !info->second.shape) continue;
    std::int64_t bytes = static_cast<std::int64_t>(dtype_size(info->second.dtype));
    for (const std::int64_t dim : *info->second.shape) {
      if (__builtin_mul_overflow(bytes, dim, &bytes)) bytes = INT64_MAX;
    }
    if (bytes > kMostLiveBytes - live) {
      user_error("node '", node.name, "' (", node.op, "): its result of ", shape_text(*info->second.shape), " ",
                 dtype_name(info->second.dtype), " does not fit beside the ", live,
                 " bytes that live then: expected at most ", kMostLiveBytes, " bytes of activations");
    }
    live += bytes;
  }
}

}  // namespace

NamedTensors evaluate(const Graph& graph, const NamedTensors& inputs, const Observer& observe) {
  for (const auto& [name, tensor] : inputs) {
    bool known = false;
    for (const std::string& input : graph.inputs) known = known || input == name;
    if (!known) {
      std::string legal;
      for (const std::string& input : graph.inputs) legal += (legal.empty() ? "" : ", ") + input;
      user_error("input ", name, ": the model has no such input: expected ", legal);
    }
  }
  NamedTensors values;
  std::int64_t live = 0;                    // bytes of `values`
  std::map<std::string, std::size_t> uses;  // reads still to come
  for (const Node& node : graph.nodes) {
    for (const std::string& value : node.inputs) ++uses[value];
  }
  for (const std::string& value : graph.outputs) ++uses[value];
  for (const std::string& name : graph.inputs) {
    const Tensor& tensor = values[name] = checked_input(graph, name, inputs);
    if (observe) observe(name, tensor);
  }
  for (const Node& node : graph.nodes) {
    std::vector<const Tensor*> arguments;
    for (const std::string& name : node.inputs) {
      const auto constant = graph.constants.find(name);
      arguments.push_back(name.empty()                        ? nullptr
                          : constant != graph.constants.end() ? &constant->second
                                                              : &values.at(name));
    }
    require_room(graph, node, live);
    std::vector<Tensor> results = evaluate_node(node, arguments);
    for (const std::string& name : node.inputs) {
      if (--uses[name] != 0) continue;
      if (const auto last = values.find(name); last != values.end()) {
        live -= static_cast<std::int64_t>(last->second.bytes.size());
        values.erase(last);
      }
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i].empty()) continue;
      if (observe) observe(node.outputs[i], results[i]);
      if (uses.count(node.outputs[i]) == 0) continue;
      live += static_cast<std::int64_t>(results[i].bytes.size());
      values[node.outputs[i]] = std::move(results[i]);
    }
  }
  NamedTensors outputs;
  for (const std::string& name : graph.outputs) {
    const auto constant = graph.constants.find(name);
    outputs[name] = constant != graph.constants.end() ? constant->second : values.at(name);
  }
  return outputs;
}

}  // namespace tessera::compiler
