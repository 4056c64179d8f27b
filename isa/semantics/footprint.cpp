#include "isa/semantics/footprint.hpp"

#include <algorithm>
#include <sstream>

#include "isa/semantics/operands.hpp"

namespace tessera::semantics {

namespace {

bool same_operand(const Box& a, const Box& b) {
  return a.operand == b.operand && a.write == b.write && a.dram == b.dram && a.base_register == b.base_register;
}

void merge_into(std::vector<Range>& pieces, std::vector<Range>& out) {
  const auto by_begin = [](const Range& a, const Range& b) { return a.begin < b.begin; };
  if (!std::is_sorted(pieces.begin(), pieces.end(), by_begin)) std::sort(pieces.begin(), pieces.end(), by_begin);
  const std::size_t first = out.size();
  for (const Range& piece : pieces) {
    if (out.size() > first && piece.begin <= out.back().end) {
      out.back().end = std::max(out.back().end, piece.end);
    } else {
      out.push_back(piece);
    }
  }
  pieces.clear();
}

}  // namespace

std::vector<Range> footprint(const isa::Instruction& instruction, const isa::ChipConfig& chip) {
  std::vector<Box> boxes = operand_boxes(instruction, chip, Granularity::lines);
  std::vector<Range> out;
  std::vector<Range> pieces;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    Box& box = boxes[i];
    simplify(box, box.dram ? 0 : chip.sram.line_bytes - 1, kMaxPieces);
    for_each_piece(box, [&](std::int64_t at, std::int64_t bytes) {
      if (!pieces.empty() && at >= pieces.back().begin && at <= pieces.back().end) {
        pieces.back().end = std::max(pieces.back().end, at + bytes);
      } else {
        pieces.push_back({at, at + bytes, box.write, box.dram, box.base_register, box.operand});
      }
    });
    if (i + 1 == boxes.size() || !same_operand(box, boxes[i + 1])) merge_into(pieces, out);
  }
  return out;
}

bool conflict(const Range& a, const Range& b) {
  return (a.write || b.write) && a.dram == b.dram && (!a.dram || a.base_register == b.base_register) &&
         a.begin < b.end && b.begin < a.end;
}

std::string range_text(const Range& range) {
  std::ostringstream text;
  if (range.dram) {
    text << "DRAM base " << static_cast<int>(range.base_register) << " + ";
  } else {
    text << "SRAM ";
  }
  const auto hex = [&](std::int64_t v) {
    if (v < 0) {
      text << v;
    } else {
      text << "0x" << std::hex << v << std::dec;
    }
  };
  hex(range.begin);
  text << "..";
  hex(range.end - 1);
  return text.str();
}

}  // namespace tessera::semantics
