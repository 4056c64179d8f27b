#include "hw/reference/written_dram.hpp"

#include <algorithm>

namespace tessera::reference {

void WrittenDram::mark(std::int64_t begin, std::int64_t end) {
  auto it = intervals_.upper_bound(begin);
  if (it != intervals_.begin() && std::prev(it)->second >= begin) {
    --it;
    begin = it->first;
    end = std::max(end, it->second);
  }
  while (it != intervals_.end() && it->first <= end) {
    end = std::max(end, it->second);
    it = intervals_.erase(it);
  }
  intervals_.emplace_hint(it, begin, end);
}

void WrittenDram::mark_tensor(const isa::Program& program, const isa::TensorRef& tensor) {
  const isa::Buffer& buffer = program.buffers.at(tensor.buffer);
  if (buffer.kind != isa::BufferKind::scratch) return;
  std::int64_t bytes = tensor.dtype == "int32" ? 4 : tensor.dtype == "int16" ? 2 : 1;
  for (const std::int64_t d : tensor.shape) bytes *= d;
  const auto begin = static_cast<std::int64_t>(buffer.offset + tensor.offset);
  if (bytes > 0) mark(begin, begin + bytes);
}

WrittenDram::Gap WrittenDram::missing(std::int64_t begin, std::int64_t end) const {
  Gap gap;
  std::int64_t at = begin;
  auto it = intervals_.upper_bound(begin);
  if (it != intervals_.begin()) --it;
  const auto add = [&](std::int64_t from, std::int64_t to) {
    if (from >= to) return;
    if (gap.bytes == 0) gap.first = from;
    gap.bytes += to - from;
  };
  for (; at < end && it != intervals_.end() && it->first < end; ++it) {
    if (it->second <= at) continue;
    add(at, it->first);
    at = std::max(at, it->second);
  }
  add(at, end);
  return gap;
}

}  // namespace tessera::reference
