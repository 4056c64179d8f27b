// The loops of a REORDER instruction after merging contiguous ones: the byte stream, hence the steps, stay the same.
// Shared by the cost function and the access plan.
#pragma once

#include <cstdint>
#include <vector>

#include "isa/isa.hpp"

namespace tessera::hw {

struct ReorderLoop {
  std::int64_t count = 1;
  std::int64_t src_stride = 0;  // bytes; 0 for a fill
  std::int64_t dst_stride = 0;
};

struct ReorderRuns {
  explicit ReorderRuns(const isa::Reorder& reorder);
  bool fill = false;
  std::int64_t src = 0;  // 0 for a fill: all of it then lies in one source line that is never read
  std::int64_t dst = 0;
  std::int64_t run_bytes = 1;
  std::vector<ReorderLoop> loops;  // outermost first, every count above 1
};

}  // namespace tessera::hw
