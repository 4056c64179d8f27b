// Softmax, LogSoftmax and Hardmax before opset 13 work on their input coerced to 2-D; here they get opset-13 form.
#pragma once

#include <cstddef>

#include "compiler/ir/graph.hpp"

namespace tessera::compiler {

/// One axis where the coerced axes hold only one of more than 1 element; else Flatten, the operator, Reshape. Needs the
/// input's shape and leaves a node alone whose input has none. Returns how many nodes changed.
std::size_t settle_softmax(Graph& graph);

}  // namespace tessera::compiler
