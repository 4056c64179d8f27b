#include "operator_model.hpp"

#include <algorithm>

namespace tessera::compiler::testing {

std::string OperatorModel::input(const Shape& shape) { return graph_.input(name("in"), shape); }

std::string OperatorModel::activation(const Shape& shape) {
  const std::string x = input(shape);
  if (shape.size() != 4 || !random.chance(1, 3)) return x;
  direct_ = false;
  return graph_.node("Conv", {x, floats({shape[1], shape[1], 1, 1})}, {}, name("before"));
}

std::string OperatorModel::floats(const Shape& shape, double scale) {
  std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
  for (float& v : values) v = static_cast<float>(random.normal() * scale);
  return graph_.constant(name("c"), float_tensor(shape, values));
}

std::string OperatorModel::numbers(const std::vector<float>& values) {
  return graph_.constant(name("c"), float_tensor({static_cast<std::int64_t>(values.size())}, values));
}

std::string OperatorModel::number(float value) { return graph_.constant(name("c"), float_tensor({}, {value})); }

std::string OperatorModel::ints(const Ints& values) {
  return graph_.constant(name("c"), int64_tensor({static_cast<std::int64_t>(values.size())}, values));
}

std::string OperatorModel::step(const std::string& op, const std::vector<std::string>& inputs, Attributes attributes) {
  return graph_.node(op, inputs, std::move(attributes), name("step"));
}

std::string OperatorModel::node(const std::string& op, const std::vector<std::string>& inputs, Attributes attributes) {
  return graph_.node(op, inputs, std::move(attributes), "n");
}

std::vector<std::string> OperatorModel::parts(const std::string& op, const std::vector<std::string>& inputs,
                                              int outputs, Attributes attributes) {
  return graph_.node_with_outputs(op, inputs, outputs, std::move(attributes), "n");
}

void OperatorModel::output(const std::string& value) {
  if (!random.chance(1, 3)) return graph_.output(value);
  direct_ = false;
  graph_.output(graph_.node("Relu", {value}, {}, name("behind")));
}

Shape OperatorModel::map(std::int64_t most_rows) {
  return {batch(), channels(), random.between(1, most_rows), random.between(1, 13)};
}

Shape OperatorModel::any(std::size_t rank) {
  Shape shape;
  for (std::size_t d = 0; d < rank; ++d) shape.push_back(random.between(1, rank <= 3 ? 11 : rank == 4 ? 7 : 4));
  return shape;
}

std::vector<OperatorFamily> operator_families() {
  std::vector<OperatorFamily> all;
  for (const auto& list : {window_families(), move_families(), value_families(), product_families()}) {
    all.insert(all.end(), list.begin(), list.end());
  }
  return all;
}

void scatter_scales(Graph* graph, Random& random) {
  const std::vector<Node> nodes = graph->nodes;
  for (const Node& quantize : nodes) {
    if (quantize.op != "QuantizeLinear") continue;
    const float old = graph->constants.at(quantize.inputs[1]).data<float>()[0];
    const std::string stem = quantize.outputs[0] + "_own";
    graph->constants[stem + "_scale"] = float_tensor({}, {old * static_cast<float>(0.7 + 0.7 * random.unit())});
    graph->constants[stem + "_zero"] = int8_tensor({}, {static_cast<std::int8_t>(random.between(-30, 30))});
    for (Node& node : graph->nodes) {
      const bool reads = node.op == "DequantizeLinear" && node.inputs[0] == quantize.outputs[0];
      if (!reads && node.name != quantize.name) continue;
      node.inputs.resize(3);
      node.inputs[1] = stem + "_scale";
      node.inputs[2] = stem + "_zero";
    }
  }
}

}  // namespace tessera::compiler::testing
