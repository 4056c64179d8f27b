#include "hw/models/gemm/schedule.hpp"

#include <algorithm>

#include "isa/semantics/layout.hpp"

namespace tessera::hw {
namespace {

/// Most lines that `width` bytes beginning at a multiple of `width` touch.
std::int64_t slice_lines(std::int64_t width, std::int64_t line_bytes) {
  if (line_bytes % width == 0) return 1;
  if (width % line_bytes == 0) return width / line_bytes;
  return (width - 2) / line_bytes + 2;
}

}  // namespace

GemmSchedule::GemmSchedule(const isa::Gemm& gemm, const isa::ChipConfig& chip)
    : stationary_b(gemm.dataflow == isa::GemmDataflow::weight_stationary),
      per_column(gemm.per_column),
      m(gemm.m),
      n(gemm.n),
      k(gemm.k),
      batches(gemm.batch),
      rows(chip.gemm.rows),
      cols(chip.gemm.cols),
      fill_cycles(rows + cols - 2),
      write_skew(chip.sram.read_latency + chip.conv.pipeline_cycles),
      overlap(chip.gemm.fold_overlap != 0),
      line_bytes_(chip.sram.line_bytes) {
  const std::int64_t line = line_bytes_;
  // Weight-stationary streams rows of A; output-stationary needs columns of A, so plain A passes the transposer.
  block_a = gemm.trans_a == stationary_b;
  block_b = gemm.trans_b;
  m_tile_rows = stationary_b ? chip.gemm.accumulator_rows : rows;
  m_tiles = ceil_div(m, m_tile_rows);
  n_tiles = ceil_div(n, cols);
  k_tiles = stationary_b ? ceil_div(k, rows) : 1;
  const Cycles a_lines = slice_lines(rows, line);
  const Cycles b_lines = slice_lines(block_b ? rows : cols, line);
  write_lines = slice_lines(cols, line);
  step_cycles = stationary_b ? std::max(a_lines, write_lines) : std::max(a_lines, b_lines);
  load_cycles = stationary_b ? rows * b_lines : 0;
  if (per_column) {
    const std::int64_t bytes = semantics::kParamBytes * cols;
    param_lines = gemm.p_base % line == 0 ? slice_lines(bytes, line) : (bytes - 2) / line + 2;
    const Cycles first_sum = stationary_b ? load_cycles + step_cycles : k * step_cycles + 1;
    param_lead = std::max<Cycles>(0, param_lines - first_sum - fill_cycles);
  }
  // A transposed operand is read one block, R steps, before the array takes it.
  const Cycles block = rows * step_cycles;
  lead = param_lead;
  if (stationary_b) {
    if (block_b) lead = std::max(lead, load_cycles);
    if (block_a) lead = std::max(lead, block - load_cycles);
  } else if (block_a || block_b) {
    lead = std::max(lead, block);
  }
}

GemmFold GemmSchedule::first() const {
  GemmFold fold;
  fold.stream = lead + load_cycles;
  return fold;
}

bool GemmSchedule::advance(GemmFold& fold) const {
  if (fold.index + 1 >= folds()) return false;
  ++fold.index;
  fold.stream += interval(fold.m_tile);
  if (++fold.k_tile < k_tiles) return true;
  fold.k_tile = 0;
  if (++fold.n_tile < n_tiles) return true;
  fold.n_tile = 0;
  if (++fold.m_tile < m_tiles) return true;
  fold.m_tile = 0;
  ++fold.batch;
  return true;
}

GemmFold GemmSchedule::last() const {
  GemmFold fold;
  fold.index = folds() - 1;
  fold.batch = batches - 1;
  fold.m_tile = m_tiles - 1;
  fold.n_tile = n_tiles - 1;
  fold.k_tile = k_tiles - 1;
  const std::int64_t per_m_tile = n_tiles * k_tiles;
  fold.stream = first().stream + batches * (m_tiles - 1) * per_m_tile * interval(0) +
                (batches * per_m_tile - 1) * interval(m_tiles - 1);
  return fold;
}

std::int64_t GemmSchedule::tile_rows(std::int64_t m_tile) const {
  return std::min(m_tile_rows, m - m_tile * m_tile_rows);
}

Cycles GemmSchedule::interval(std::int64_t m_tile) const {
  const Cycles stream = steps(m_tile) * step_cycles;
  Cycles least = overlap ? std::max(stream, load_cycles) : load_cycles + stream + fill_cycles;
  if (block_a || (!stationary_b && block_b)) least = std::max(least, round_up(steps(m_tile), rows) * step_cycles);
  if (!stationary_b) least = std::max(least, rows * write_lines);
  return std::max(least, param_lines);
}

Cycles GemmSchedule::cycles() const {
  const GemmFold end = last();
  const Cycles stream_end = end.stream + steps(end.m_tile) * step_cycles + fill_cycles;
  const std::int64_t first_byte = end.n_tile * cols;
  const std::int64_t lines = (n - 1) / line_bytes_ - first_byte / line_bytes_ + 1;  // of the last result row
  const Cycles writes = stationary_b ? lines - 1 : (tile_rows(end.m_tile) - 1) * write_lines + lines;
  return stream_end + writes + write_skew;
}

Cycles GemmSchedule::array_cycles() const {
  const GemmFold end = last();
  return end.stream + steps(end.m_tile) * step_cycles + fill_cycles - lead - 1;
}

std::int64_t GemmSchedule::macs_issued() const {
  const std::int64_t steps_total = stationary_b ? m : m_tiles * k;
  return batches * n_tiles * k_tiles * steps_total * rows * cols;
}

}  // namespace tessera::hw
