#include "compiler/ir/builder.hpp"

#include <cstring>

#include "compiler/ir/topology.hpp"
#include "hw/common/error.hpp"

namespace tessera::compiler {
namespace {

template <typename T>
Tensor tensor_of(DType dtype, Shape shape, const std::vector<T>& values) {
  Tensor tensor = Tensor::make(dtype, std::move(shape));
  TESSERA_CHECK(tensor.bytes.size() == values.size() * sizeof(T), "tensor of ", shape_text(tensor.shape), " given ",
                values.size(), " values");
  if (!values.empty()) std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

}  // namespace

Tensor float_tensor(Shape shape, const std::vector<float>& values) {
  return tensor_of(DType::f32, std::move(shape), values);
}
Tensor int64_tensor(Shape shape, const std::vector<std::int64_t>& values) {
  return tensor_of(DType::i64, std::move(shape), values);
}
Tensor int32_tensor(Shape shape, const std::vector<std::int32_t>& values) {
  return tensor_of(DType::i32, std::move(shape), values);
}
Tensor int8_tensor(Shape shape, const std::vector<std::int8_t>& values) {
  return tensor_of(DType::i8, std::move(shape), values);
}
Tensor uint8_tensor(Shape shape, const std::vector<std::uint8_t>& values) {
  return tensor_of(DType::u8, std::move(shape), values);
}

GraphBuilder::GraphBuilder(const std::string& name, std::int64_t opset) {
  graph_.name = name;
  graph_.opset = opset;
}

std::string GraphBuilder::input(const std::string& name, Shape shape, DType dtype) {
  graph_.inputs.push_back(name);
  graph_.values[name] = ValueInfo{dtype, std::move(shape)};
  return name;
}

std::string GraphBuilder::constant(const std::string& name, Tensor tensor) {
  TESSERA_CHECK(graph_.constants.emplace(name, std::move(tensor)).second, "constant '", name, "' exists already");
  return name;
}

std::string GraphBuilder::node_name(const std::string& op, const std::string& wanted) {
  return wanted.empty() ? op + "_" + std::to_string(count_[op]++) : wanted;
}

std::string GraphBuilder::node(const std::string& op, std::vector<std::string> inputs, Attributes attributes,
                               const std::string& name) {
  Node node;
  node.name = node_name(op, name);
  node.op = op;
  node.inputs = std::move(inputs);
  node.outputs = {node.name};
  node.attributes = std::move(attributes);
  graph_.nodes.push_back(node);
  return node.name;
}

std::vector<std::string> GraphBuilder::node_with_outputs(const std::string& op, std::vector<std::string> inputs,
                                                         int outputs, Attributes attributes, const std::string& name) {
  Node node;
  node.name = node_name(op, name);
  node.op = op;
  node.inputs = std::move(inputs);
  for (int i = 0; i < outputs; ++i) node.outputs.push_back(node.name + ":" + std::to_string(i));
  node.attributes = std::move(attributes);
  graph_.nodes.push_back(node);
  return node.outputs;
}

void GraphBuilder::output(const std::string& value) { graph_.outputs.push_back(value); }

Graph GraphBuilder::take() {
  sort_topologically(graph_);
  return std::move(graph_);
}

}  // namespace tessera::compiler
