// Where a group's buffers lie when several images pass through it: side by side in one range for each image that is
// being made, buffers that are not held at the same time over each other. Images of one engine follow each other in the
// same range, so that an engine waits for itself only. Leaves out: where the ranges lie (group_walk.cpp).
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/schedule/group.hpp"

namespace tessera::compiler {

/// A buffer and the chunks of an image that hold it: first, one behind the last.
struct BufferUse {
  std::int64_t lines = 0;
  std::size_t from = 0, until = 0;
};

/// By buffer of the trace; lines are left 0.
[[nodiscard]] std::vector<BufferUse> buffer_uses(const LayerGraph& graph, const GroupTrace& trace);

struct BufferLayout {
  std::vector<std::int64_t> offset;  // by buffer: lines
  std::vector<bool> twice;           // two images hold it at a time: the second lies behind the first
  std::int64_t lines = 0;
};

/// `front`, `tail`: of the trace, the next image's front goes beside the tail. `granule`: buffers that are as large
/// begin at multiples of it.
[[nodiscard]] BufferLayout lay_buffers(const std::vector<BufferUse>& uses, std::size_t front, std::size_t tail,
                                       std::int64_t granule);

}  // namespace tessera::compiler
