#include "compiler/emit/dma_stream.hpp"

#include <algorithm>

#include "hw/models/load/dma_walk.hpp"

namespace tessera::compiler {

std::int64_t lines_of_groups(const semantics::DmaShape& shape, std::int64_t groups, std::int64_t line_bytes) {
  if (shape.group_stride >= line_bytes) return groups * ceil_div(shape.group_bytes, line_bytes);
  const std::int64_t bytes = (groups - 1) * shape.group_stride + std::min(shape.group_bytes, shape.row_bytes);
  return std::max<std::int64_t>(1, ceil_div(bytes, line_bytes));
}

DmaStream::DmaStream(const semantics::DmaShape& shape, const isa::ChipConfig& chip)
    : shape_(shape), line_bytes_(chip.sram.line_bytes), bank_bytes_(chip.sram.size_bytes) {
  row_lines_ = lines_of_groups(shape, shape.row_groups(), line_bytes_);
  row_step_ = shape.group_stride >= line_bytes_ && row_lines_ == shape.row_groups() ? shape.group_stride : line_bytes_;
  lines_ = shape.count[0] * shape.count[1] * shape.run_rows() * row_lines_;
  hw::DmaConfig config;
  config.line_bytes = line_bytes_;
  config.lines_per_bank = bank_bytes_ / line_bytes_;
  banks_ = hw::dma_banks(shape, config);
}

BankMask DmaStream::bank_of(std::int64_t index) const {
  const std::int64_t row = index / row_lines_;
  const std::int64_t run = row / shape_.run_rows();
  const std::int64_t at = shape_.sram_row(run / shape_.count[1], run % shape_.count[1], row % shape_.run_rows()) +
                          index % row_lines_ * row_step_;
  return BankMask{1} << at / bank_bytes_;
}

}  // namespace tessera::compiler
