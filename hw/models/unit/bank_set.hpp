// Which SRAM banks a range of lines or a blocked map touches: the banks() of every access plan. Lines outside the
// scratchpad belong to no bank; the range fault is found where the instruction starts.
#pragma once

#include <algorithm>

#include "hw/common/units.hpp"
#include "isa/chip.hpp"
#include "isa/semantics/layout.hpp"

namespace tessera::hw {

/// Banks of the lines [first, first + count).
[[nodiscard]] inline BankMask banks_of_lines(std::int64_t first, std::int64_t count, const isa::ChipConfig& chip) {
  const std::int64_t bank_lines = semantics::bank_lines(chip);
  const std::int64_t from = std::max<std::int64_t>(first, 0) / bank_lines;
  const std::int64_t last = std::min(first + count - 1, bank_lines * chip.sram.banks - 1);
  BankMask mask = 0;
  for (std::int64_t bank = from; count > 0 && bank * bank_lines <= last; ++bank) mask |= BankMask{1} << bank;
  return mask;
}

/// Banks of the bytes [first, first + bytes).
[[nodiscard]] inline BankMask banks_of_bytes(std::int64_t first, std::int64_t bytes, const isa::ChipConfig& chip) {
  const std::int64_t line = first / chip.sram.line_bytes;
  return bytes <= 0 ? 0 : banks_of_lines(line, (first + bytes - 1) / chip.sram.line_bytes - line + 1, chip);
}

/// Banks of rows [0, rows) of `columns` pixels in channel blocks [0, blocks).
[[nodiscard]] inline BankMask banks_of_map(const isa::SramTensor& map, const isa::ChipConfig& chip, std::int64_t blocks,
                                           std::int64_t rows, std::int64_t columns) {
  const std::int64_t line_bytes = chip.sram.line_bytes;
  const std::int64_t row_lines = ceil_div(columns, semantics::pixels_per_line(chip));
  const std::int64_t wrap = map.wrap_rows;
  // A circular buffer that wraps touches its rows 0 .. wrap - 1, otherwise first_row .. first_row + rows - 1.
  const bool wraps = wrap > 0 && map.first_row % wrap + rows > wrap;
  const std::int64_t first = wraps || wrap == 0 ? 0 : map.first_row % wrap;
  const std::int64_t count = wraps ? wrap : rows;
  BankMask mask = 0;
  for (std::int64_t block = 0; block < blocks && rows > 0; ++block) {
    const std::int64_t line = map.base / line_bytes + block * map.block_pitch + first * map.row_pitch;
    mask |= banks_of_lines(line, (count - 1) * map.row_pitch + row_lines, chip);
  }
  return mask;
}

}  // namespace tessera::hw
