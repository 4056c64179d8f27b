#include "compiler/passes/preprocess.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "compiler/ir/builder.hpp"
#include "compiler/ir/topology.hpp"
#include "compiler/passes/rewrite.hpp"
#include "hw/common/error.hpp"

namespace tessera::compiler {
namespace {

std::vector<float> numbers(const std::string& text, const std::string& whole) {
  std::vector<float> out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string item = text.substr(at, comma - at);
    char* end = nullptr;
    const float value = std::strtof(item.c_str(), &end);
    if (item.empty() || *end != '\0' || !std::isfinite(value)) {
      user_error("--preprocess ", whole, ": '", item, "' is no number; expected INPUT=MEAN,.../DEVIATION,...");
    }
    out.push_back(value);
    at = comma + 1;
  }
  return out;
}

}  // namespace

Preprocessing parse_preprocessing(const std::string& text) {
  const std::size_t equals = text.find('='), slash = text.find('/', equals == std::string::npos ? 0 : equals);
  if (equals == std::string::npos || equals == 0 || slash == std::string::npos) {
    user_error("--preprocess ", text, ": expected INPUT=MEAN,.../DEVIATION,..., one value a channel");
  }
  Preprocessing head;
  head.input = text.substr(0, equals);
  head.mean = numbers(text.substr(equals + 1, slash - equals - 1), text);
  head.deviation = numbers(text.substr(slash + 1), text);
  if (head.mean.size() != head.deviation.size() ||
      std::any_of(head.deviation.begin(), head.deviation.end(), [](float d) { return d <= 0; })) {
    user_error("--preprocess ", text, ": expected as many deviations as means, each above 0");
  }
  return head;
}

void add_preprocessing(Graph& graph, const Preprocessing& head) {
  if (std::find(graph.inputs.begin(), graph.inputs.end(), head.input) == graph.inputs.end()) {
    std::string legal;
    for (const std::string& name : graph.inputs) legal += (legal.empty() ? "" : ", ") + name;
    user_error("--preprocess ", head.input, ": the model has no such input; legal are ", legal);
  }
  const Shape shape = graph.shape_of(head.input);
  const auto channels = static_cast<std::int64_t>(head.mean.size());
  if (graph.dtype_of(head.input) != DType::f32 || shape.size() < 3 || shape.size() > 5 || shape[1] != channels) {
    user_error("--preprocess ", head.input, ": ", channels, " values for an input of ",
               dtype_name(graph.dtype_of(head.input)), " ", shape_text(shape),
               "; legal is a float32 input with one value for each of its channels (axis 1)");
  }
  const std::string made = unique_name(graph, head.input + "/preprocessed");
  replace_uses(graph, head.input, made);
  std::vector<float> scale;
  for (const float d : head.deviation) scale.push_back(1.0F / d);
  Node node;
  node.name = unique_name(graph, "preprocess " + head.input);
  node.op = "BatchNormalization";
  node.attributes["epsilon"] = 0.0F;
  node.outputs = {made};
  const std::vector<float> ones(head.mean.size(), 1.0F), zeros(head.mean.size(), 0.0F);
  node.inputs = {head.input, add_constant(graph, node, "scale", float_tensor({channels}, scale)),
                 add_constant(graph, node, "shift", float_tensor({channels}, zeros)),
                 add_constant(graph, node, "mean", float_tensor({channels}, head.mean)),
                 add_constant(graph, node, "variance", float_tensor({channels}, ones))};
  graph.values[made] = {DType::f32, shape};
  graph.nodes.push_back(std::move(node));
  sort_topologically(graph);
}

}  // namespace tessera::compiler
