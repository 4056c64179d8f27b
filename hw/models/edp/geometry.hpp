// Which input lines one EDP instruction reads for each output line: the one home of the rules of README.md, used by the
// cost function and by the access plan. Leaves out values and SRAM contention.
#pragma once

#include <cstdint>
#include <vector>

#include "hw/common/units.hpp"
#include "isa/chip.hpp"
#include "isa/isa.hpp"

namespace tessera::hw {

/// The existing rows (or lines of a row) that one output row (output line) needs: `first`, `first + step`, ...
struct EdpNeed {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

class EdpGeometry {
 public:
  EdpGeometry(const isa::Edp& edp, const isa::ChipConfig& chip);

  std::int64_t blocks = 0;              // channel blocks
  std::int64_t rows = 0;                // output rows
  std::vector<EdpNeed> need_rows;       // by output row; stepped by row_step
  std::vector<EdpNeed> need_lines;      // by output line of a row; contiguous
  std::int64_t row_step = 1;            // dilation of rows
  Cycles line_cycles = 1;               // cycles the lanes take for one line
  std::vector<std::int64_t> constants;  // lines read in the prologue, one a cycle: parameters, then tables
  Cycles latency = 0;                   // from a read to the write it leads to

  /// Input lines of one output line; an output line without any still takes one line's time.
  [[nodiscard]] std::int64_t reads(std::int64_t row, std::int64_t line) const {
    return need_rows[static_cast<std::size_t>(row)].count * need_lines[static_cast<std::size_t>(line)].count;
  }
  /// Line times of the whole instruction, prologue excluded.
  [[nodiscard]] std::int64_t steps() const;
  [[nodiscard]] Cycles cycles() const;
};

}  // namespace tessera::hw
