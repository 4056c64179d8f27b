// How one CONV instruction is cut into tiles, phases and slots, and what each costs: the one home of the rules of
// README.md, used by the cost function (compiler) and by the access plan (clocked core). Leaves out values
// (isa/semantics) and SRAM contention (hw/models/sram). Numbers come from the instruction and the chip file only.
#pragma once

#include <cstdint>
#include <vector>

#include "hw/common/units.hpp"
#include "isa/chip.hpp"
#include "isa/isa.hpp"
#include "isa/semantics/layout.hpp"

namespace tessera::hw {

using isa::ChipConfig;

/// One column of pixel tiles: what depends on x alone.
struct ConvXTile {
  std::int64_t out_first = 0;    // first output column
  std::int64_t out_count = 0;    // output columns
  std::int64_t groups = 0;       // pixel groups along x
  std::int64_t line_first = 0;   // first input line of a row (fold: lines are contiguous from here)
  std::int64_t row_lines = 0;    // input lines read for one row of one channel block
  std::int64_t row_cycles = 0;   // cycles to write those lines into the window banks (fold: = row_lines)
  std::int64_t drain_first = 0;  // first output line of a row
  std::int64_t drain_lines = 0;  // output lines of a row
  /// dense, depthwise: for each of the row_cycles the line read in it, or -1 (filled only for a plan)
  std::vector<std::int32_t> line_of_cycle;
};

/// One row of pixel tiles: what depends on y alone. Input row of index i: see ConvGeometry::input_row.
struct ConvYTile {
  std::int64_t out_first = 0;
  std::int64_t out_count = 0;
  std::int64_t groups = 0;
  std::int64_t index_first = 0;  // index (among used padded rows) of the first input row that exists
  std::int64_t rows = 0;         // used input rows that exist
};

/// The cout tiles of one tile (depthwise: one c tile).
struct ConvChannels {
  std::int64_t group = 0;
  std::int64_t tiles = 0;      // cout tiles
  std::int64_t cout_tile = 0;  // first of them, counted in the group (depthwise: the c tile)
  std::int64_t cin_tiles = 0;  // cin tiles of the group (depthwise, fold: 1)
  std::int64_t in_block = 0;   // first input channel block of the group (depthwise: of the c tile)
  std::int64_t in_blocks = 0;
  std::int64_t lane_first = 0;  // channel of lane 0 of cout tile 0; lanes before `real_first` belong to other groups
  std::int64_t real_first = 0;  // first real output channel
  std::int64_t real_end = 0;    // one behind the last
  std::int64_t out_block = 0;   // first output channel block that is written
  std::int64_t out_blocks = 0;
};

struct ConvTile {
  std::int64_t x = 0;
  std::int64_t y = 0;
  std::int64_t c = 0;  // index into channels()
};

/// Used padded columns (rows) that the fullest window bank holds of a tile `count` outputs wide (high).
[[nodiscard]] std::int64_t conv_bank_entries_x(const isa::Conv& conv, std::int64_t count, std::int64_t lanes);
[[nodiscard]] std::int64_t conv_bank_entries_y(const isa::Conv& conv, std::int64_t count, std::int64_t lanes);

class ConvGeometry {
 public:
  enum class Detail { cost, plan };
  ConvGeometry(const isa::Conv& conv, const ChipConfig& chip, Detail detail);

  // The sequence of tiles.
  [[nodiscard]] ConvTile first() const { return {}; }
  /// Moves to the next tile; false after the last.
  bool advance(ConvTile& tile) const;
  [[nodiscard]] std::int64_t tile_count() const;

  // Durations of the parts of a phase (README.md, "Cycle rules").
  [[nodiscard]] Cycles fill_cycles(const ConvTile& tile, std::int64_t cin_tile) const;
  /// Fill during the last phase of `tile`, for the first phase of `next`.
  [[nodiscard]] Cycles next_fill_cycles(const ConvTile& tile, const ConvTile& next) const;
  [[nodiscard]] Cycles compute_cycles(const ConvTile& tile, bool first_phase, bool last_phase_of_instruction) const;
  [[nodiscard]] Cycles drain_cycles(const ConvTile& tile) const;
  /// All phases of a tile; `next` is null for the last tile.
  [[nodiscard]] Cycles tile_cycles(const ConvTile& tile, const ConvTile* next, Cycles previous_drain) const;
  [[nodiscard]] Cycles prologue_cycles() const;
  /// Constant distance from a nominal drain cycle to the write (README.md, "Skew").
  [[nodiscard]] Cycles write_skew() const { return read_latency_ + pipeline_; }
  [[nodiscard]] Cycles residual_skew() const { return pipeline_; }
  /// Steps in which the MAC array works, over the whole instruction.
  [[nodiscard]] std::int64_t compute_steps() const;

  // Slots: one weight tile (depthwise: the taps of one step) against all pixel groups of the tile.
  [[nodiscard]] std::int64_t slots(const ConvTile& tile) const;
  [[nodiscard]] Cycles slot_cycles(const ConvTile& tile, std::int64_t slot, bool first_phase, bool has_next) const;
  /// Weight lines that slot `slot` needs and that no earlier slot of its phase has read.
  [[nodiscard]] std::int64_t slot_weight_lines(std::int64_t slot) const;
  /// First of them, relative to w_base.
  [[nodiscard]] std::int64_t slot_weight_line(const ConvTile& tile, std::int64_t cin_tile, std::int64_t slot) const;
  /// Parameter lines of the tile's cout tile `index`, relative to the line of p_base.
  [[nodiscard]] std::int64_t param_line(const ConvTile& tile, std::int64_t index) const;
  [[nodiscard]] std::int64_t param_lines(const ConvTile& tile, std::int64_t index) const;

  // Channel blocks and rows.
  [[nodiscard]] std::int64_t cin_tiles(const ConvTile& tile) const { return channels(tile).cin_tiles; }
  [[nodiscard]] std::int64_t input_block(const ConvTile& tile, std::int64_t cin_tile) const;
  [[nodiscard]] std::int64_t input_blocks(const ConvTile& tile, std::int64_t cin_tile) const;
  [[nodiscard]] std::int64_t input_row(const ConvTile& tile, std::int64_t index) const;
  [[nodiscard]] Cycles row_fill_cycles(const ConvTile& tile, std::int64_t cin_tile) const;
  [[nodiscard]] const ConvXTile& x(const ConvTile& tile) const { return x_tiles_[static_cast<std::size_t>(tile.x)]; }
  [[nodiscard]] const ConvYTile& y(const ConvTile& tile) const { return y_tiles_[static_cast<std::size_t>(tile.y)]; }
  [[nodiscard]] const ConvChannels& channels(const ConvTile& tile) const {
    return channels_[static_cast<std::size_t>(tile.c)];
  }
  [[nodiscard]] isa::ConvMode mode() const { return mode_; }
  [[nodiscard]] std::int64_t weight_lines_total() const;

 private:
  void build_x(const isa::Conv& conv, Detail detail);
  void fill_x_lines(ConvXTile& tile, const isa::Conv& conv, std::int64_t begin, std::int64_t end, Detail detail) const;
  void build_y(const isa::Conv& conv);
  void build_channels(const isa::Conv& conv);
  void build_depthwise_channels(const isa::Conv& conv);
  void build_slots(const isa::Conv& conv, const ChipConfig& chip);

  isa::ConvMode mode_{};
  isa::ConvOrder order_{};
  std::int64_t line_bytes_ = 0, channel_block_ = 0, cin_lanes_ = 0, cout_lanes_ = 0, line_pixels_ = 0;
  std::int64_t lanes_x_ = 0, lanes_y_ = 0, groups_x_ = 0, groups_y_ = 0, cout_tiles_of_tile_ = 0;
  Cycles read_latency_ = 0, pipeline_ = 0;
  semantics::WeightLayout weights_;
  std::int64_t weight_tile_lines_ = 0;
  std::int64_t passes_ = 0;  // weight tiles of one kernel row
  std::int64_t taps_ = 0;    // weight tiles of one (cout tile, cin tile)
  std::int64_t stride_x_ = 0;
  std::int64_t used_rows_ = 0, stride_y_ = 0, pad_top_ = 0;
  std::int64_t param_offset_ = 0;               // of p_base in its line
  std::vector<std::int64_t> slot_lines_;        // depthwise: new weight lines of each slot
  std::vector<std::int64_t> slot_line_before_;  // depthwise: lines read by the slots before it
  std::vector<ConvXTile> x_tiles_;
  std::vector<ConvYTile> y_tiles_;
  std::vector<ConvChannels> channels_;
  std::vector<std::int64_t> group_end_;  // by convolution group: index behind its last entry of channels_
};

}  // namespace tessera::hw
