// The elements that Slice takes of each axis: the one home of ONNX's clamping rule.
#pragma once

#include "compiler/ir/graph.hpp"

namespace tessera::compiler {

struct SliceRange {
  std::int64_t start = 0;  // inside the axis when count > 0
  std::int64_t step = 1;
  std::int64_t count = 0;
};

/// `start` and `end` count from the back when negative and are clamped; `step` is not 0. INT64_MIN and INT64_MAX are
/// legal as "from the very beginning" and "to the very end". Example: a reverse copy is start -1, end INT64_MIN, step
/// -1.
[[nodiscard]] SliceRange slice_range(std::int64_t size, std::int64_t start, std::int64_t end, std::int64_t step);

/// One range an axis of `in` for starts, ends, axes (empty: 0, 1, ...) and steps (empty: 1). UserError names the node.
[[nodiscard]] std::vector<SliceRange> slice_ranges(const Node& node, const Shape& in,
                                                   const std::vector<std::int64_t>& starts,
                                                   const std::vector<std::int64_t>& ends,
                                                   const std::vector<std::int64_t>& axes,
                                                   const std::vector<std::int64_t>& steps);

}  // namespace tessera::compiler
