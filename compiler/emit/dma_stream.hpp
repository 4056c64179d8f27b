// The SRAM lines of a LOAD or STORE as the compute units meet them: where in the scratchpad it is after so many lines,
// in how many banks it may be. Rows are taken as equally long.
#pragma once

#include <cstdint>

#include "hw/common/units.hpp"
#include "isa/chip.hpp"
#include "isa/semantics/dma.hpp"

namespace tessera::compiler {

class DmaStream {
 public:
  DmaStream() = default;
  DmaStream(const semantics::DmaShape& shape, const isa::ChipConfig& chip);

  [[nodiscard]] std::int64_t lines() const { return lines_; }
  [[nodiscard]] BankMask banks() const { return banks_; }
  /// Bank of line `index` in the order of the walk.
  [[nodiscard]] BankMask bank_of(std::int64_t index) const;

 private:
  semantics::DmaShape shape_;
  std::int64_t line_bytes_ = 1, bank_bytes_ = 1, row_lines_ = 1, row_step_ = 1, lines_ = 0;
  BankMask banks_ = 0;
};

/// Lines of `groups` groups of a row that begins on a line; neighbours in a line are one.
[[nodiscard]] std::int64_t lines_of_groups(const semantics::DmaShape& shape, std::int64_t groups,
                                           std::int64_t line_bytes);

}  // namespace tessera::compiler
