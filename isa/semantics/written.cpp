#include "isa/semantics/written.hpp"

#include <algorithm>
#include <cstring>

#include "isa/semantics/operands.hpp"

namespace tessera::semantics {

std::vector<UnwrittenRead> WrittenBytes::missing(const isa::Instruction& instruction,
                                                 const isa::ChipConfig& chip) const {
  std::vector<UnwrittenRead> found;
  for (Box& box : operand_boxes(instruction, chip, Granularity::exact)) {
    if (box.write || box.dram) continue;
    simplify(box, 0, INT64_MAX);
    UnwrittenRead read{box.operand, 0, 0};
    for_each_piece(box, [&](std::int64_t at, std::int64_t bytes) {
      const std::uint8_t* from = written_.data() + at;
      if (std::memchr(from, 0, static_cast<std::size_t>(bytes)) == nullptr) return;
      for (std::int64_t i = 0; i < bytes; ++i) {
        if (from[i] != 0) continue;
        if (read.bytes == 0 || at + i < read.first) read.first = at + i;
        ++read.bytes;
      }
    });
    if (read.bytes == 0) continue;
    if (!found.empty() && found.back().operand == read.operand) {
      found.back().first = std::min(found.back().first, read.first);
      found.back().bytes += read.bytes;
    } else {
      found.push_back(read);
    }
  }
  return found;
}

void WrittenBytes::mark(const isa::Instruction& instruction, const isa::ChipConfig& chip) {
  for (Box& box : operand_boxes(instruction, chip, Granularity::exact)) {
    if (!box.write || box.dram) continue;
    simplify(box, 0, INT64_MAX);
    for_each_piece(box, [&](std::int64_t at, std::int64_t bytes) {
      std::memset(written_.data() + at, 1, static_cast<std::size_t>(bytes));
    });
  }
}

}  // namespace tessera::semantics
