// The labels of an Einsum: one letter an axis. The one home of that rule; shape inference and the interpreter call it.
// Leaves out: the ellipsis.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/ir/graph.hpp"

namespace tessera::compiler {

struct Einsum {
  std::vector<std::string> inputs;  // letters of each operand
  std::string output;
  std::map<char, std::int64_t> sizes;
};

/// UserError: an equation that does not fit the shapes, or one with an ellipsis.
[[nodiscard]] Einsum resolve_einsum(const Node& node, const std::vector<Shape>& shapes);

}  // namespace tessera::compiler
