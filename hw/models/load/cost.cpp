#include "hw/models/load/cost.hpp"

#include <map>
#include <utility>

namespace tessera::hw {
namespace {

/// One row alone, at the given addresses; a padding row stands before a data row that is not walked.
semantics::DmaShape one_row(const semantics::DmaShape& shape, std::int64_t sram, std::int64_t dram, bool fill) {
  semantics::DmaShape row = shape;
  row.sram_base = sram;
  row.dram_offset = dram;
  for (std::int64_t& count : row.count) count = 1;
  row.wrap_rows = row.first_row = 0;
  row.rows_before = fill ? 1 : 0;
  row.rows_after = 0;
  return row;
}

/// Sums `of_row(sram phase, dram phase, fill)` over all rows, computing each distinct row once.
template <typename OfRow>
DmaCost sum_rows(const semantics::DmaShape& shape, const DmaConfig& config, OfRow&& of_row) {
  std::map<std::pair<std::int64_t, std::int64_t>, DmaCost> known;
  DmaCost total;
  for (std::int64_t i0 = 0; i0 < shape.count[0]; ++i0) {
    for (std::int64_t i1 = 0; i1 < shape.count[1]; ++i1) {
      for (std::int64_t r = 0; r < shape.run_rows(); ++r) {
        const std::int64_t i2 = r - shape.rows_before;
        const bool fill = i2 < 0 || i2 >= shape.count[2];
        const std::int64_t sram = shape.sram_row(i0, i1, r) % config.line_bytes;
        const std::int64_t dram = fill ? -1 : shape.dram_row(i0, i1, i2) % kAxiBoundary;
        const auto [at, is_new] = known.try_emplace({sram, dram});
        if (is_new) at->second = of_row(sram, dram, fill);
        total.sram_cycles += at->second.sram_cycles;
        total.lines += at->second.lines;
        total.bursts += at->second.bursts;
        total.beats += at->second.beats;
      }
    }
  }
  return total;
}

}  // namespace

DmaCost load_cost(const semantics::DmaShape& shape, const DmaConfig& config) {
  return sum_rows(shape, config, [&](std::int64_t sram, std::int64_t dram, bool fill) {
    DmaCost cost;
    const semantics::DmaShape row = one_row(shape, sram, fill ? 0 : dram, fill);
    SegmentWalk walk(row, config.line_bytes);
    for (Segment segment; !segment.ends_row;) {
      segment = walk.next(walk.fill() ? 0 : beat_limit(walk, row, 0, config));
      ++cost.sram_cycles;
      if (segment.closes) ++cost.lines;
    }
    if (!fill) {
      for (BurstWalk bursts(row, 0, config); !bursts.done(); bursts.advance()) {
        ++cost.bursts;
        cost.beats += bursts.beats();
      }
    }
    return cost;
  });
}

DmaCost store_cost(const semantics::DmaShape& shape, const DmaConfig& config) {
  return sum_rows(shape, config, [&](std::int64_t sram, std::int64_t dram, bool) {
    DmaCost cost;
    const semantics::DmaShape row = one_row(shape, sram, dram, false);
    SegmentWalk walk(row, config.line_bytes);
    for (BurstWalk bursts(row, 0, config); !bursts.done(); bursts.advance()) {
      ++cost.bursts;
      cost.beats += bursts.beats();
      for (std::int64_t left = bursts.payload_bytes(); left > 0;) {
        left -= walk.next(left).bytes;
        ++cost.sram_cycles;
        ++cost.lines;
      }
    }
    return cost;
  });
}

}  // namespace tessera::hw
