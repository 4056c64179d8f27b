// When each fold of a GEMM instruction runs: the one home of the rules of README.md, used by the cost function and by
// the access plan. A fold is one pass of the R x C array: weight-stationary (k tile, n tile) over the rows of an M
// chunk, output-stationary (m tile, n tile) over K. Leaves out values and SRAM contention.
#pragma once

#include <cstdint>

#include "hw/common/units.hpp"
#include "isa/chip.hpp"
#include "isa/isa.hpp"

namespace tessera::hw {

/// Which fold, and the cycle in which its stream begins.
struct GemmFold {
  std::int64_t index = 0;
  std::int64_t batch = 0, m_tile = 0, n_tile = 0, k_tile = 0;
  Cycles stream = 0;
};

class GemmSchedule {
 public:
  GemmSchedule(const isa::Gemm& gemm, const isa::ChipConfig& chip);

  [[nodiscard]] GemmFold first() const;
  /// Moves to the next fold; false (and unchanged) at the last.
  bool advance(GemmFold& fold) const;
  [[nodiscard]] GemmFold last() const;
  [[nodiscard]] std::int64_t folds() const { return batches * m_tiles * n_tiles * k_tiles; }

  /// Rows of A that belong to the fold's M tile.
  [[nodiscard]] std::int64_t tile_rows(std::int64_t m_tile) const;
  /// Steps of the fold's stream: rows (weight-stationary) or K (output-stationary).
  [[nodiscard]] std::int64_t steps(std::int64_t m_tile) const { return stationary_b ? tile_rows(m_tile) : k; }
  /// From the beginning of a fold's stream to that of the next.
  [[nodiscard]] Cycles interval(std::int64_t m_tile) const;
  /// Engine cycles of the instruction, and the busy span of the array in them.
  [[nodiscard]] Cycles cycles() const;
  [[nodiscard]] Cycles array_cycles() const;
  [[nodiscard]] std::int64_t macs_issued() const;

  bool stationary_b = true;  // weight-stationary
  bool block_a = false;      // A passes the transposer
  bool block_b = false;      // B passes the transposer
  bool per_column = false;
  std::int64_t m = 0, n = 0, k = 0, batches = 0;
  std::int64_t rows = 0, cols = 0;  // R, C
  std::int64_t m_tile_rows = 0;     // accumulator rows, or R
  std::int64_t m_tiles = 0, n_tiles = 0, k_tiles = 0;
  Cycles step_cycles = 1;  // port cycles of one step of the stream
  Cycles load_cycles = 0;  // weight-stationary: cycles to load a B tile; else 0
  Cycles write_lines = 1;  // port cycles of one result row of a tile
  Cycles param_lines = 0;  // most parameter lines of an n tile, 0 without per_column
  Cycles param_lead = 0;   // cycles by which parameters are read before the fold's first cycle
  Cycles lead = 0;         // cycles before the first fold's first cycle
  Cycles fill_cycles = 0;  // R + C - 2: from a step to its last sum
  Cycles write_skew = 0;
  bool overlap = false;

 private:
  std::int64_t line_bytes_ = 0;
};

}  // namespace tessera::hw
