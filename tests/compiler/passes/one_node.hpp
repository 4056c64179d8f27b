// Graphs of one node, for tests of shape functions and folding.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/builder.hpp"
#include "compiler/passes/fold.hpp"
#include "compiler/passes/shape_inference.hpp"
#include "hw/common/error.hpp"

namespace tessera::compiler {

/// An input of the node: a graph input by its shape, or a constant.
struct Operand {
  Operand(Shape given) : shape(std::move(given)) {}                    // NOLINT: spelled as a plain list
  Operand(Tensor given) : tensor(std::move(given)), constant(true) {}  // NOLINT
  static Operand absent() {
    Operand operand{Shape{}};
    operand.is_absent = true;
    return operand;
  }
  Shape shape;
  Tensor tensor;
  bool constant = false;
  bool is_absent = false;
};

inline Operand ints(const Ints& values) { return int64_tensor({static_cast<std::int64_t>(values.size())}, values); }

/// Graph with the node `n`, inputs in0, in1, ... and outputs n:0, n:1, ...
inline Graph one_node(const std::string& op, const std::vector<Operand>& operands, Attributes attributes = {},
                      int outputs = 1) {
  GraphBuilder builder("one");
  std::vector<std::string> names;
  for (const Operand& operand : operands) {
    const std::string name = "in" + std::to_string(names.size());
    if (operand.is_absent) {
      names.emplace_back();
    } else if (operand.constant) {
      names.push_back(builder.constant(name, operand.tensor));
    } else {
      names.push_back(builder.input(name, operand.shape));
    }
  }
  for (const std::string& output : builder.node_with_outputs(op, names, outputs, std::move(attributes), "n")) {
    builder.output(output);
  }
  return builder.take();
}

inline Shape shape_of(const std::string& op, const std::vector<Operand>& operands, Attributes attributes = {}) {
  Graph graph = one_node(op, operands, std::move(attributes));
  infer_shapes(graph);
  require_shapes(graph);
  return graph.shape_of("n:0");
}

inline std::string shape_error(const std::string& op, const std::vector<Operand>& operands,
                               Attributes attributes = {}) {
  try {
    (void)shape_of(op, operands, std::move(attributes));
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace tessera::compiler
