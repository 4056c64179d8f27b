// LOAD and STORE instructions that move a part of a map between a view in SRAM and DRAM, in either of the two forms a
// map has there: blocked as in SRAM (spilled maps), or an NCHW image (graph inputs and outputs, host steps, views).
// Only real channels and pixels are moved. Leaves out: when (scheduler), how much is useful beyond that (all of it is).
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/schedule/tile.hpp"

namespace tessera::compiler {

/// One instruction: the fields that LOAD and STORE share, and the bytes it moves.
struct DmaPiece {
  isa::Load body;
  std::int64_t bytes = 0;
};
[[nodiscard]] isa::Store as_store(const isa::Load& load);

/// Where a map lies in DRAM.
struct DramMap {
  std::uint8_t base_register = 0;
  std::int64_t offset = 0;
  MapShape shape;
  bool nhwc = false;         // an image with the channels of a pixel next to each other
  std::int64_t columns = 1;  // an NCHW image: so many neighbouring columns are channels of one pixel in SRAM
  Rows window{0, 0};         // its columns that are moved, the first of them on a line of the map in SRAM; none: all
  [[nodiscard]] std::int64_t moved_columns() const { return window.count() > 0 ? window.count() : shape.w; }
};

/// Bytes of a blocked map in DRAM: like in SRAM, but the last channel block holds only its real channels.
[[nodiscard]] std::int64_t blocked_bytes(const MapShape& shape, const isa::ChipConfig& chip);

/// Rows and channels of image n of a blocked map in DRAM <-> the view, which numbers rows and channels alike.
[[nodiscard]] std::vector<DmaPiece> blocked_pieces(const DramMap& map, std::int64_t n, const Rows& rows,
                                                   const Rows& channels, const SramView& view,
                                                   const isa::ChipConfig& chip);

/// The same for an NCHW (or NHWC) image; channel c of the image is channel c + view_channel of the view. With columns
/// as channels all channels of the image go to one block of the view, from its first channel on.
[[nodiscard]] std::vector<DmaPiece> image_pieces(const DramMap& map, std::int64_t n, const Rows& rows,
                                                 const Rows& channels, const SramView& view, std::int64_t view_channel,
                                                 const isa::ChipConfig& chip);

/// How rows of an NCHW image lie in SRAM for REORDER: lines that hold `columns` columns of `channels` channels each.
struct RawRows {
  std::int64_t channels = 1, columns = 1;
  std::int64_t row_lines = 0;    // of so many channels
  std::int64_t group_lines = 0;  // from the first channels' rows to the next ones'
};

/// Rows of every channel of an NCHW image; the number of channels is a multiple of those of a line.
[[nodiscard]] std::vector<DmaPiece> raw_pieces(const DramMap& map, std::int64_t n, const Rows& rows,
                                               std::int64_t sram_address, const RawRows& raw,
                                               const isa::ChipConfig& chip);

/// `bytes` bytes as they lie, cut into rows that the fields can hold; group_bytes 0: one piece.
[[nodiscard]] std::vector<DmaPiece> linear_pieces(std::uint8_t base_register, std::int64_t dram_offset,
                                                  std::int64_t sram_address, std::int64_t bytes,
                                                  std::int64_t group_bytes, std::int64_t group_stride);

}  // namespace tessera::compiler
