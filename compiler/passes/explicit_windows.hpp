// Attributes of convolutions and pools spelled out, so that no reader needs defaults or auto_pad.
#pragma once

#include <cstddef>

#include "compiler/ir/graph.hpp"

namespace tessera::compiler {

/// Sets kernel_shape, strides, dilations, pads, group; removes auto_pad and output_shape. ceil_mode stays: pads alone
/// do not give its output size. Returns how many places changed.
std::size_t make_windows_explicit(Graph& graph);

}  // namespace tessera::compiler
