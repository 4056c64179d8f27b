// Division by constants becomes multiplication, which the NPU has.
#pragma once

#include <cstddef>

#include "compiler/ir/graph.hpp"

namespace tessera::compiler {

/// Div by a float constant without zeros becomes Mul by its reciprocals.
std::size_t divide_by_multiplying(Graph& graph);

}  // namespace tessera::compiler
