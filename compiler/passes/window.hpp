// Where the windows of Conv, ConvTranspose and the pools lie: kernel, strides, dilations and pads as plain lists, with
// auto_pad, ceil_mode and output_shape resolved. The one home of that rule; shape inference, the passes and the
// interpreter call it. 1 to 3 spatial dimensions.
#pragma once

#include "compiler/ir/graph.hpp"

namespace tessera::compiler {

struct Window {
  std::vector<std::int64_t> kernel;
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> dilations;
  std::vector<std::int64_t> pads_begin;
  std::vector<std::int64_t>
      pads_end;  // ConvTranspose: negative where output_shape asks for more than the windows cover
  std::vector<std::int64_t> output_padding;  // ConvTranspose only
  std::vector<std::int64_t> output;          // spatial sizes of the result

  [[nodiscard]] std::vector<std::int64_t> pads() const;  // begins, then ends, as the attribute has them
};

/// Conv and pools. `input` is the whole shape (N, C, spatial...); `kernel` the weight's spatial sizes, or empty for a
/// pool (then the attribute kernel_shape is required).
[[nodiscard]] Window resolve_window(const Node& node, const Shape& input, std::vector<std::int64_t> kernel);

/// ConvTranspose.
[[nodiscard]] Window resolve_transpose_window(const Node& node, const Shape& input, std::vector<std::int64_t> kernel);

}  // namespace tessera::compiler
