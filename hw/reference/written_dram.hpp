// Which bytes behind the scratch base register hold something, as merged intervals.
#pragma once

#include <cstdint>
#include <map>

#include "isa/program/program.hpp"

namespace tessera::reference {

class WrittenDram {
 public:
  struct Gap {
    std::int64_t first = 0;
    std::int64_t bytes = 0;
  };
  void mark(std::int64_t begin, std::int64_t end);
  /// A tensor in a scratch buffer, written by a host step; others are ignored.
  void mark_tensor(const isa::Program& program, const isa::TensorRef& tensor);
  /// Bytes of [begin, end) never written, and the first of them.
  [[nodiscard]] Gap missing(std::int64_t begin, std::int64_t end) const;

 private:
  std::map<std::int64_t, std::int64_t> intervals_;  // begin -> end, disjoint, not touching
};

}  // namespace tessera::reference
