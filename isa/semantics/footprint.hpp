// What an instruction touches: byte intervals read and written. The one home of that question, used by the race check,
// the compiler's dependency synthesis and the range faults. A row of a map or matrix counts as its whole lines (nobody
// else may live in its padding); pieces less than a line apart inside one DMA or REORDER operand count as one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isa/chip.hpp"
#include "isa/isa.hpp"

namespace tessera::semantics {

/// Bytes [begin, end) of the core's SRAM or of DRAM behind a base register.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool write = false;
  bool dram = false;
  std::uint8_t base_register = 0;  // dram only
  const char* operand = "";        // "conv.in", static text
};

/// Ranges of one operand are merged where they touch and ascend; different operands are kept apart. The instruction
/// must pass check of its fields (legal.hpp). At most kMaxPieces ranges an operand: beyond that gaps are filled.
inline constexpr std::int64_t kMaxPieces = 65536;
[[nodiscard]] std::vector<Range> footprint(const isa::Instruction& instruction, const isa::ChipConfig& chip);

/// True if a byte is in both and at least one of the two writes it.
[[nodiscard]] bool conflict(const Range& a, const Range& b);

/// "SRAM 0x1a00..0x1aff" or "DRAM base 3 + 0x40..0x7f".
[[nodiscard]] std::string range_text(const Range& range);

}  // namespace tessera::semantics
