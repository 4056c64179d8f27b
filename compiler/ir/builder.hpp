// Builds a Graph in code: the zoo, the tests, and passes that need a small graph. Names are made from the node's name,
// or from its operator and a running number. Infers no shapes: compiler/passes does.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/ir/graph.hpp"

namespace tessera::compiler {

[[nodiscard]] Tensor float_tensor(Shape shape, const std::vector<float>& values);
[[nodiscard]] Tensor int64_tensor(Shape shape, const std::vector<std::int64_t>& values);
[[nodiscard]] Tensor int32_tensor(Shape shape, const std::vector<std::int32_t>& values);
[[nodiscard]] Tensor int8_tensor(Shape shape, const std::vector<std::int8_t>& values);
[[nodiscard]] Tensor uint8_tensor(Shape shape, const std::vector<std::uint8_t>& values);

using Attributes = std::map<std::string, Attribute>;
using Ints = std::vector<std::int64_t>;  // spell list attributes Ints{1, 1}

class GraphBuilder {
 public:
  explicit GraphBuilder(const std::string& name, std::int64_t opset = 13);

  /// Each returns the value's name, for use as an input of later nodes.
  std::string input(const std::string& name, Shape shape, DType dtype = DType::f32);
  std::string constant(const std::string& name, Tensor tensor);
  /// A node with one output, called like the node.
  std::string node(const std::string& op, std::vector<std::string> inputs, Attributes attributes = {},
                   const std::string& name = "");
  /// A node with several outputs, called NAME:0, NAME:1, ...
  std::vector<std::string> node_with_outputs(const std::string& op, std::vector<std::string> inputs, int outputs,
                                             Attributes attributes = {}, const std::string& name = "");
  void output(const std::string& value);

  /// The graph, sorted and checked as sort_topologically does.
  [[nodiscard]] Graph take();

 private:
  std::string node_name(const std::string& op, const std::string& wanted);

  Graph graph_;
  std::map<std::string, int> count_;  // nodes so far of each operator
};

}  // namespace tessera::compiler
