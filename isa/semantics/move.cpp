// Instructions that move bytes: LOAD, STORE, REORDER.
#include <algorithm>
#include <cstring>

#include "isa/semantics/dma.hpp"
#include "isa/semantics/units.hpp"

namespace tessera::semantics {

namespace {

/// Calls row(SRAM address of the row, data row number or -1 for padding, i0, i1) in the order of dma.hpp.
template <typename F>
void for_each_row(const DmaShape& s, F&& row) {
  for (std::int64_t i0 = 0; i0 < s.count[0]; ++i0) {
    for (std::int64_t i1 = 0; i1 < s.count[1]; ++i1) {
      for (std::int64_t r = 0; r < s.run_rows(); ++r) {
        const std::int64_t i2 = r - s.rows_before;
        row(s.sram_row(i0, i1, r), i2 >= 0 && i2 < s.count[2] ? i2 : -1, i0, i1);
      }
    }
  }
}

/// Calls piece(SRAM address, offset in the row, bytes) for the data groups of a row.
template <typename F>
void for_each_group(const DmaShape& s, std::int64_t sram_row, F&& piece) {
  std::int64_t at = sram_row + s.groups_before * s.group_stride;
  for (std::int64_t done = 0; done < s.row_bytes; done += s.group_bytes, at += s.group_stride) {
    piece(at, done, std::min(s.group_bytes, s.row_bytes - done));
  }
}

}  // namespace

void execute_load(const isa::Load& load, Memory& memory) {
  const DmaShape s = dma_shape(load);
  std::vector<std::uint8_t> row(static_cast<std::size_t>(s.row_bytes));
  const auto fill = [&](std::int64_t at, std::int64_t bytes) {
    std::memset(memory.sram + at, s.fill_value, static_cast<std::size_t>(bytes));
  };
  for_each_row(s, [&](std::int64_t sram_row, std::int64_t i2, std::int64_t i0, std::int64_t i1) {
    for (std::int64_t q = 0; q < s.groups_before; ++q) fill(sram_row + q * s.group_stride, s.group_bytes);
    for (std::int64_t q = s.groups_before + s.data_groups(); q < s.row_groups(); ++q) {
      fill(sram_row + q * s.group_stride, s.group_bytes);
    }
    if (i2 < 0) {
      for_each_group(s, sram_row, [&](std::int64_t at, std::int64_t, std::int64_t bytes) { fill(at, bytes); });
      return;
    }
    memory.dram->read(s.base_register, static_cast<std::uint64_t>(s.dram_row(i0, i1, i2)), row.data(), row.size());
    for_each_group(s, sram_row, [&](std::int64_t at, std::int64_t from, std::int64_t bytes) {
      std::memcpy(memory.sram + at, row.data() + from, static_cast<std::size_t>(bytes));
    });
  });
}

void execute_store(const isa::Store& store, Memory& memory) {
  const DmaShape s = dma_shape(store);
  std::vector<std::uint8_t> row(static_cast<std::size_t>(s.row_bytes));
  for_each_row(s, [&](std::int64_t sram_row, std::int64_t i2, std::int64_t i0, std::int64_t i1) {
    for_each_group(s, sram_row, [&](std::int64_t at, std::int64_t to, std::int64_t bytes) {
      std::memcpy(row.data() + to, memory.sram + at, static_cast<std::size_t>(bytes));
    });
    memory.dram->write(s.base_register, static_cast<std::uint64_t>(s.dram_row(i0, i1, i2)), row.data(), row.size());
  });
}

void execute_reorder(const isa::Reorder& reorder, Memory& memory) {
  std::int64_t src = reorder.src_base;
  std::int64_t dst = reorder.dst_base;
  std::array<std::int64_t, 6> index{};
  const std::size_t bytes = reorder.run_bytes;
  for (;;) {
    if (reorder.fill) {
      std::memset(memory.sram + dst, reorder.fill_value, bytes);
    } else {
      std::memmove(memory.sram + dst, memory.sram + src, bytes);
    }
    std::size_t d = reorder.dims.size();
    while (d > 0) {
      const isa::ReorderDim& dim = reorder.dims[d - 1];
      src += dim.src_stride;
      dst += dim.dst_stride;
      if (++index[d - 1] < dim.count) break;
      src -= std::int64_t{dim.src_stride} * dim.count;
      dst -= std::int64_t{dim.dst_stride} * dim.count;
      index[d - 1] = 0;
      --d;
    }
    if (d == 0) return;
  }
}

}  // namespace tessera::semantics
