// Where values lie in SRAM and DRAM (MACHINE.md section 5): blocked maps, convolution weights, channel parameters. The
// one home of these formulas: the compiler packs with it, the executor reads with it, the convolution plan counts with
// it. Leaves out: which address a tensor gets (compiler/allocate).
#pragma once

#include <cstdint>
#include <vector>

#include "isa/chip.hpp"
#include "isa/isa.hpp"
#include "isa/semantics/requantize.hpp"

namespace tessera::semantics {

using isa::ChipConfig;

/// Pixels of one line of a blocked map.
[[nodiscard]] inline std::int64_t pixels_per_line(const ChipConfig& chip) {
  return chip.sram.line_bytes / chip.layout.channel_block;
}

/// Lines of an SRAM bank; of all banks of a core.
[[nodiscard]] inline std::int64_t bank_lines(const ChipConfig& chip) {
  return chip.sram.size_bytes / chip.sram.line_bytes;
}
[[nodiscard]] inline std::int64_t sram_lines(const ChipConfig& chip) { return chip.sram.banks * bank_lines(chip); }

/// Rows, columns, stride ... -> output extent: floor((in + pad_before + pad_after - dilation (k - 1) - 1) / stride)
/// + 1. 0 if the kernel does not fit.
[[nodiscard]] std::int64_t output_extent(std::int64_t in, std::int64_t kernel, std::int64_t stride,
                                         std::int64_t dilation, std::int64_t pad_before, std::int64_t pad_after);

/// A blocked map [C / Cb][H][W][Cb] without gaps.
struct MapLayout {
  std::int64_t channels = 0, rows = 0, columns = 0;
  std::int64_t blocks = 0;     // ceil(channels / Cb)
  std::int64_t row_lines = 0;  // ceil(columns / pixels a line)
  std::int64_t bytes = 0;      // blocks * rows * row_lines * L
  [[nodiscard]] std::int64_t block_lines() const { return rows * row_lines; }
};
[[nodiscard]] MapLayout map_layout(std::int64_t channels, std::int64_t rows, std::int64_t columns,
                                   const ChipConfig& chip);

/// The operand of a gapless map at `base`; `wrap_rows` > 0: a circular buffer of that many rows a block.
[[nodiscard]] isa::SramTensor dense_tensor(std::int64_t base, const MapLayout& map, std::int64_t wrap_rows = 0);

/// Row of the buffer that holds row `row` of the map.
[[nodiscard]] inline std::int64_t buffer_row(const isa::SramTensor& t, std::int64_t row) {
  return t.wrap_rows == 0 ? row : (static_cast<std::int64_t>(t.first_row) + row) % t.wrap_rows;
}

/// SRAM byte address of row `row` of channel block `block`.
[[nodiscard]] inline std::int64_t row_address(const isa::SramTensor& t, const ChipConfig& chip, std::int64_t block,
                                              std::int64_t row) {
  return static_cast<std::int64_t>(t.base) +
         (block * static_cast<std::int64_t>(t.block_pitch) + buffer_row(t, row) * t.row_pitch) * chip.sram.line_bytes;
}

/// SRAM byte address of one value.
[[nodiscard]] inline std::int64_t value_address(const isa::SramTensor& t, const ChipConfig& chip, std::int64_t channel,
                                                std::int64_t row, std::int64_t column) {
  const std::int64_t cb = chip.layout.channel_block;
  return row_address(t, chip, channel / cb, row) + column * cb + channel % cb;
}

/// What the weight layout depends on. Channels count all groups.
struct ConvShape {
  std::int64_t cin = 1, cout = 1, groups = 1, kh = 1, kw = 1;
  std::int64_t fold = 1;  // fold mode: kernel columns on the input lanes
  isa::ConvMode mode = isa::ConvMode::dense;
};
[[nodiscard]] ConvShape conv_shape(const isa::Conv& conv);

/// Largest legal `fold` for cin channels: min(kw, floor(CI / cin)).
[[nodiscard]] std::int64_t max_fold(std::int64_t cin, std::int64_t kw, const ChipConfig& chip);

/// Convolution weights in SRAM. Tiles of CI x CO bytes [cin lane][cout lane], each rounded up to whole lines.
///   dense      [group][cout tile][cin tile][ky][kx]; the tiles of a group start at a multiple of Cb
///   depthwise  [c tile][ky][kx][CO lanes], each c tile rounded up to whole lines
///   fold       [cout tile][ky][pass][lane = (kx % fold) cin + c][CO lanes]; pass = floor(kx / fold)
class WeightLayout {
 public:
  /// Throws InternalError on a shape that is no legal convolution (isa/semantics/legal.hpp says so politely).
  WeightLayout(const ConvShape& shape, const ChipConfig& chip);

  /// Byte offset of weight (o, i, ky, kx) of group g; o, i count inside the group. depthwise: g = channel, o = i = 0.
  [[nodiscard]] std::int64_t offset(std::int64_t g, std::int64_t o, std::int64_t i, std::int64_t ky,
                                    std::int64_t kx) const;
  /// Byte offset of tile (group, cout tile, cin tile or pass, ky, kx); depthwise: of the c tile `cout_tile`.
  [[nodiscard]] std::int64_t tile_offset(std::int64_t g, std::int64_t cout_tile, std::int64_t cin_tile, std::int64_t ky,
                                         std::int64_t kx) const;

  [[nodiscard]] std::int64_t cin_tiles(std::int64_t g) const;   // of group g; fold, depthwise: 1
  [[nodiscard]] std::int64_t cout_tiles(std::int64_t g) const;  // of group g; depthwise: c tiles
  [[nodiscard]] std::int64_t cin_lane(std::int64_t g) const { return (g * cin_g_) % cb_; }    // lane of i = 0
  [[nodiscard]] std::int64_t cout_lane(std::int64_t g) const { return (g * cout_g_) % cb_; }  // lane of o = 0
  [[nodiscard]] std::int64_t passes() const { return passes_; }          // fold: ceil(kw / fold), else kw
  [[nodiscard]] std::int64_t tile_bytes() const { return tile_bytes_; }  // rounded up to lines
  [[nodiscard]] std::int64_t tile_lines() const { return tile_bytes_ / line_; }
  [[nodiscard]] std::int64_t tiles() const { return tiles_; }              // of all groups, taps and passes
  [[nodiscard]] std::int64_t valid_bytes() const { return valid_bytes_; }  // of a tile: prefix that carries lanes
  [[nodiscard]] std::int64_t sram_bytes() const { return tiles_ * tile_bytes_; }
  /// In DRAM: as in SRAM, but fold packs the valid prefixes (LOAD: group_bytes = valid_bytes, group_stride =
  /// tile_bytes).
  [[nodiscard]] std::int64_t dram_bytes() const { return tiles_ * (packed_ ? valid_bytes_ : tile_bytes_); }
  [[nodiscard]] bool packed() const { return packed_; }
  [[nodiscard]] const ConvShape& shape() const { return shape_; }

 private:
  ConvShape shape_;
  std::int64_t cb_, ci_, co_, line_;
  std::int64_t cin_g_, cout_g_;
  std::int64_t passes_ = 1, tile_bytes_ = 0, valid_bytes_ = 0, tiles_ = 0;
  bool packed_ = false;
  std::vector<std::int64_t> first_tile_;  // dense: tiles before group g
};

/// Weights OIHW (I = cin / groups) as they lie in SRAM; lanes that carry no weight hold w_zp.
[[nodiscard]] std::vector<std::uint8_t> pack_weights(const std::vector<std::int8_t>& oihw, const ConvShape& shape,
                                                     std::int32_t w_zp, const ChipConfig& chip);
/// The same as they lie in DRAM (WeightLayout::dram_bytes).
[[nodiscard]] std::vector<std::uint8_t> pack_weights_dram(const std::vector<std::int8_t>& oihw, const ConvShape& shape,
                                                          std::int32_t w_zp, const ChipConfig& chip);

/// 12 bytes a channel, little endian: int32 bias, uint32 multiplier, uint32 shift.
inline constexpr std::int64_t kParamBytes = 12;
[[nodiscard]] std::vector<std::uint8_t> pack_params(const std::vector<std::int32_t>& bias,
                                                    const std::vector<QuantizedScale>& scales);
/// 8 bytes an entry, little endian: uint32 multiplier, uint32 shift (edp average, entry n - 1 for n elements).
inline constexpr std::int64_t kAverageEntryBytes = 8;
[[nodiscard]] std::vector<std::uint8_t> pack_average_scales(const std::vector<QuantizedScale>& scales);

}  // namespace tessera::semantics
