#include "hw/models/edp/geometry.hpp"

#include <algorithm>

#include "isa/semantics/layout.hpp"

namespace tessera::hw {
namespace {

void add_bytes(std::vector<std::int64_t>& lines, std::int64_t first, std::int64_t bytes, std::int64_t line_bytes) {
  for (std::int64_t line = first / line_bytes; line <= (first + bytes - 1) / line_bytes; ++line) lines.push_back(line);
}

/// Rows a window of `kernel` taps starting at `origin` (may be negative) finds in [0, extent).
EdpNeed tap_rows(std::int64_t origin, std::int64_t kernel, std::int64_t dilation, std::int64_t extent) {
  const std::int64_t before = origin < 0 ? ceil_div(-origin, dilation) : 0;
  const std::int64_t first = origin + before * dilation;
  if (before >= kernel || first >= extent) return {};
  return {first, std::min(kernel - before, (extent - 1 - first) / dilation + 1)};
}

}  // namespace

EdpGeometry::EdpGeometry(const isa::Edp& edp, const isa::ChipConfig& chip)
    : blocks(ceil_div<std::int64_t>(edp.c, chip.layout.channel_block)),
      rows(edp.h),
      line_cycles(ceil_div(chip.sram.line_bytes, chip.edp.lanes)),
      latency(chip.sram.read_latency + chip.edp.pipeline_cycles) {
  const std::int64_t pixels = semantics::pixels_per_line(chip);
  const std::int64_t out_lines = ceil_div<std::int64_t>(edp.w, pixels);
  need_rows.resize(static_cast<std::size_t>(rows));
  need_lines.resize(static_cast<std::size_t>(out_lines));
  std::int64_t entries = 0;
  switch (edp.mode) {
    case isa::EdpMode::elementwise:
      for (std::int64_t row = 0; row < rows; ++row) need_rows[static_cast<std::size_t>(row)] = {row, 1};
      for (std::int64_t line = 0; line < out_lines; ++line) need_lines[static_cast<std::size_t>(line)] = {line, 1};
      break;
    case isa::EdpMode::max_pool:
    case isa::EdpMode::average_pool: {
      const bool dilated = edp.mode == isa::EdpMode::max_pool;
      row_step = dilated ? edp.dy : 1;
      const std::int64_t reach = (edp.kw - 1) * (dilated ? edp.dx : 1);
      for (std::int64_t row = 0; row < rows; ++row) {
        need_rows[static_cast<std::size_t>(row)] = tap_rows(row * edp.sy - edp.pad_top, edp.kh, row_step, edp.in_h);
      }
      for (std::int64_t line = 0; line < out_lines; ++line) {
        const std::int64_t last_column = std::min<std::int64_t>((line + 1) * pixels, edp.w) - 1;
        const std::int64_t from = std::max<std::int64_t>(line * pixels * edp.sx - edp.pad_left, 0);
        const std::int64_t to = std::min<std::int64_t>(last_column * edp.sx + reach - edp.pad_left, edp.in_w - 1);
        if (from <= to) need_lines[static_cast<std::size_t>(line)] = {from / pixels, to / pixels - from / pixels + 1};
      }
      entries = dilated ? 0 : std::int64_t{edp.kh} * edp.kw;
      break;
    }
    case isa::EdpMode::global_average:
      need_rows[0] = {0, edp.in_h};
      need_lines[0] = {0, ceil_div<std::int64_t>(edp.in_w, pixels)};
      entries = 1;
      break;
  }
  if (entries > 0) {
    add_bytes(constants, edp.p_base, entries * semantics::kAverageEntryBytes, chip.sram.line_bytes);
  }
  for (const isa::EdpStage& stage : edp.stages) {
    if (stage.op == isa::EdpOp::none) break;
    if (stage.op == isa::EdpOp::table) add_bytes(constants, stage.table_base, 256, chip.sram.line_bytes);
  }
}

std::int64_t EdpGeometry::steps() const {
  std::int64_t row_sum = 0, row_empty = 0, line_sum = 0, line_empty = 0;
  for (const EdpNeed& need : need_rows) (need.count > 0 ? row_sum : row_empty) += std::max<std::int64_t>(need.count, 1);
  for (const EdpNeed& need : need_lines) {
    (need.count > 0 ? line_sum : line_empty) += std::max<std::int64_t>(need.count, 1);
  }
  const std::int64_t all = rows * static_cast<std::int64_t>(need_lines.size());
  const std::int64_t with_reads = (rows - row_empty) * (static_cast<std::int64_t>(need_lines.size()) - line_empty);
  return blocks * (row_sum * line_sum + all - with_reads);
}

Cycles EdpGeometry::cycles() const { return static_cast<Cycles>(constants.size()) + steps() * line_cycles + latency; }

}  // namespace tessera::hw
