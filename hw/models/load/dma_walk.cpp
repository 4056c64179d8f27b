#include "hw/models/load/dma_walk.hpp"

namespace tessera::hw {
namespace {

/// Least and greatest value of i * stride for i in [0, count).
struct Reach {
  std::int64_t low = 0, high = 0;
};
Reach reach(std::int64_t count, std::int64_t stride) {
  const std::int64_t end = (count - 1) * stride;
  return {std::min<std::int64_t>(0, end), std::max<std::int64_t>(0, end)};
}

/// Bytes of one run relative to its first row's address of index 0.
Reach run_reach(const semantics::DmaShape& shape) {
  const std::int64_t rows = shape.run_rows();
  Reach r = shape.wrap_rows != 0 ? reach(std::max(shape.wrap_rows, std::int64_t{1}), shape.sram_stride[2])
                                 : reach(rows, shape.sram_stride[2]);
  r.high += (shape.row_groups() - 1) * shape.group_stride + shape.group_bytes;
  if (shape.groups_after == 0) {
    const std::int64_t last = shape.row_bytes - (shape.data_groups() - 1) * shape.group_bytes;
    r.high -= shape.group_bytes - last;  // the last group is the short one
    if (shape.row_groups() > 1) {
      r.high = std::max(r.high, r.high - last - shape.group_stride + shape.group_bytes);
    }
  }
  return r;
}

}  // namespace

DmaHull dma_hull(const semantics::DmaShape& shape) {
  DmaHull hull;
  const Reach run = run_reach(shape);
  hull.sram_begin = shape.sram_base + run.low;
  hull.sram_end = shape.sram_base + run.high;
  hull.dram_begin = shape.dram_offset;
  hull.dram_end = shape.dram_offset + shape.row_bytes;
  for (int d = 0; d < 3; ++d) {
    const Reach dram = reach(shape.count[d], shape.dram_stride[d]);
    hull.dram_begin += dram.low;
    hull.dram_end += dram.high;
    if (d == 2) continue;
    const Reach sram = reach(shape.count[d], shape.sram_stride[d]);
    hull.sram_begin += sram.low;
    hull.sram_end += sram.high;
  }
  return hull;
}

BankMask dma_banks(const semantics::DmaShape& shape, const DmaConfig& config) {
  const std::int64_t bank_bytes = config.line_bytes * config.lines_per_bank;
  const auto banks_of = [&](std::int64_t begin, std::int64_t end) {
    BankMask mask = 0;
    for (std::int64_t bank = begin / bank_bytes; bank <= (end - 1) / bank_bytes; ++bank) mask |= BankMask{1} << bank;
    return mask;
  };
  constexpr std::int64_t kMaxRuns = 4096;
  if (shape.count[0] * shape.count[1] > kMaxRuns) {
    const DmaHull hull = dma_hull(shape);
    return banks_of(hull.sram_begin, hull.sram_end);
  }
  const Reach run = run_reach(shape);
  BankMask mask = 0;
  for (std::int64_t i0 = 0; i0 < shape.count[0]; ++i0) {
    for (std::int64_t i1 = 0; i1 < shape.count[1]; ++i1) {
      const std::int64_t base = shape.sram_base + i0 * shape.sram_stride[0] + i1 * shape.sram_stride[1];
      mask |= banks_of(base + run.low, base + run.high);
    }
  }
  return mask;
}

}  // namespace tessera::hw
