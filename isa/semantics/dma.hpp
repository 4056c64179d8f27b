// The address sequence of LOAD and STORE (isa.json): the one home of loops, groups, padding and circular rows. The
// executor, the footprint and the clocked DMA engines all walk it. Leaves out: bursts, lines, time.
//
// For each index of dims[0] and dims[1] one *run* of rows follows. A run has fill_rows_before + dims[2].count +
// fill_rows_after rows in SRAM, numbered r = 0, 1, ... in this order; only the middle ones have a row in DRAM.
//   SRAM row address = sram_base + i0 dims[0].sram_stride + i1 dims[1].sram_stride
//                      + (wrap_rows ? (first_row + r) mod wrap_rows : r) dims[2].sram_stride
// so sram_base is the first byte that is written, padding included. A row has fill_groups_before + ceil(row_bytes /
// group_bytes) + fill_groups_after groups, group q at row address + q group_stride; the last data group may be short.
// A padding row has the groups of any other, a short one included, all of them padding.
#pragma once

#include <cstdint>

#include "hw/common/units.hpp"
#include "isa/isa.hpp"

namespace tessera::semantics {

/// Fields of LOAD and STORE in one shape (STORE has no padding).
struct DmaShape {
  std::uint8_t base_register = 0;
  std::int64_t dram_offset = 0, sram_base = 0;
  std::int64_t row_bytes = 1, group_bytes = 1, group_stride = 1;
  std::int64_t count[3] = {1, 1, 1};
  std::int64_t dram_stride[3] = {0, 0, 0};
  std::int64_t sram_stride[3] = {0, 0, 0};
  std::int64_t wrap_rows = 0, first_row = 0;
  std::uint8_t fill_value = 0;
  std::int64_t groups_before = 0, groups_after = 0, rows_before = 0, rows_after = 0;

  [[nodiscard]] std::int64_t data_groups() const { return ceil_div(row_bytes, group_bytes); }
  [[nodiscard]] std::int64_t row_groups() const { return groups_before + data_groups() + groups_after; }
  [[nodiscard]] std::int64_t run_rows() const { return rows_before + count[2] + rows_after; }
  /// SRAM address of row r (padding rows counted) of run (i0, i1).
  [[nodiscard]] std::int64_t sram_row(std::int64_t i0, std::int64_t i1, std::int64_t r) const {
    const std::int64_t row = wrap_rows == 0 ? r : (first_row + r) % wrap_rows;
    return sram_base + i0 * sram_stride[0] + i1 * sram_stride[1] + row * sram_stride[2];
  }
  /// Offset from the base register of data row i2 (padding rows not counted).
  [[nodiscard]] std::int64_t dram_row(std::int64_t i0, std::int64_t i1, std::int64_t i2) const {
    return dram_offset + i0 * dram_stride[0] + i1 * dram_stride[1] + i2 * dram_stride[2];
  }
};

template <typename Dma>
[[nodiscard]] DmaShape dma_shape_common(const Dma& d) {
  DmaShape s;
  s.base_register = static_cast<std::uint8_t>(d.base_register);
  s.dram_offset = static_cast<std::int64_t>(d.dram_offset);
  s.sram_base = static_cast<std::int64_t>(d.sram_base);
  s.row_bytes = static_cast<std::int64_t>(d.row_bytes);
  s.group_bytes = static_cast<std::int64_t>(d.group_bytes);
  s.group_stride = static_cast<std::int64_t>(d.group_stride);
  for (std::size_t i = 0; i < 3; ++i) {
    s.count[i] = static_cast<std::int64_t>(d.dims[i].count);
    s.dram_stride[i] = static_cast<std::int64_t>(d.dims[i].dram_stride);
    s.sram_stride[i] = static_cast<std::int64_t>(d.dims[i].sram_stride);
  }
  s.wrap_rows = static_cast<std::int64_t>(d.wrap_rows);
  s.first_row = static_cast<std::int64_t>(d.first_row);
  return s;
}
[[nodiscard]] inline DmaShape dma_shape(const isa::Store& d) { return dma_shape_common(d); }
[[nodiscard]] inline DmaShape dma_shape(const isa::Load& d) {
  DmaShape s = dma_shape_common(d);
  s.fill_value = static_cast<std::uint8_t>(d.fill_value);
  s.groups_before = d.fill_groups_before;
  s.groups_after = d.fill_groups_after;
  s.rows_before = d.fill_rows_before;
  s.rows_after = d.fill_rows_after;
  return s;
}

}  // namespace tessera::semantics
