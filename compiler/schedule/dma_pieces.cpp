#include "compiler/schedule/dma_pieces.hpp"

#include <algorithm>

#include "hw/common/error.hpp"
#include "hw/common/units.hpp"
#include "isa/semantics/layout.hpp"

namespace tessera::compiler {
namespace {

constexpr std::int64_t kLongestRow = (std::int64_t{1} << 24) - 1;

struct Loop {
  std::int64_t count = 1, dram = 0, sram = 0;
};

DmaPiece piece(std::uint8_t base_register, std::int64_t dram, std::int64_t sram, std::int64_t row_bytes,
               std::int64_t group_bytes, std::int64_t group_stride, Loop outer, Loop middle, Loop inner) {
  DmaPiece p;
  put(p.body.base_register, base_register);
  put(p.body.dram_offset, dram);
  put(p.body.sram_base, sram);
  put(p.body.row_bytes, row_bytes);
  put(p.body.group_bytes, group_bytes);
  put(p.body.group_stride, group_stride);
  TESSERA_CHECK(row_bytes >= 1 && row_bytes <= kLongestRow && group_stride <= kLongestRow, "a row of ", row_bytes,
                " bytes, groups ", group_stride, " apart");
  const Loop loops[3] = {outer, middle, inner};
  for (std::size_t d = 0; d < 3; ++d) {
    put(p.body.dims[d].count, loops[d].count);
    put(p.body.dims[d].dram_stride, loops[d].count > 1 ? loops[d].dram : 0);
    put(p.body.dims[d].sram_stride, loops[d].count > 1 ? loops[d].sram : 0);
  }
  p.bytes = row_bytes * outer.count * middle.count * inner.count;
  return p;
}

/// Channels [first, end) as runs inside one block, consecutive whole blocks joined.
struct BlockRun {
  std::int64_t block = 0, blocks = 1;
  Rows lanes;  // of each block
};
std::vector<BlockRun> block_runs(const Rows& channels, std::int64_t cb) {
  std::vector<BlockRun> runs;
  for (std::int64_t c = channels.first; c < channels.end;) {
    const std::int64_t block = c / cb;
    const std::int64_t end = std::min((block + 1) * cb, channels.end);
    const Rows lanes{c - block * cb, end - block * cb};
    if (!runs.empty() && lanes.count() == cb && runs.back().lanes.count() == cb) {
      ++runs.back().blocks;
    } else {
      runs.push_back({block, 1, lanes});
    }
    c = end;
  }
  return runs;
}

/// Lines from the beginning of the view's rows to the first column that is moved.
std::int64_t lines_across(const DramMap& map, const SramView& view, const isa::ChipConfig& chip) {
  return (map.window.first / map.columns - view.columns.first) / semantics::pixels_per_line(chip);
}

}  // namespace

isa::Store as_store(const isa::Load& load) {
  isa::Store store;
  store.base_register = load.base_register;
  store.dram_offset = load.dram_offset;
  store.row_bytes = load.row_bytes;
  store.group_bytes = load.group_bytes;
  store.group_stride = load.group_stride;
  store.sram_base = load.sram_base;
  store.dims = load.dims;
  store.wrap_rows = load.wrap_rows;
  store.first_row = load.first_row;
  return store;
}

std::int64_t blocked_bytes(const MapShape& shape, const isa::ChipConfig& chip) {
  const std::int64_t cb = chip.layout.channel_block;
  const std::int64_t row_bytes = ceil_div(shape.w, chip.sram.line_bytes / cb) * chip.sram.line_bytes;
  return shape.n * ceil_div(shape.c, cb) * shape.h * row_bytes;
}

namespace {

std::vector<DmaPiece> straight_blocked_pieces(const DramMap& map, std::int64_t n, const Rows& rows,
                                              const Rows& channels, const SramView& view, const isa::ChipConfig& chip) {
  const std::int64_t cb = chip.layout.channel_block;
  const std::int64_t line = chip.sram.line_bytes;
  const std::int64_t w = map.moved_columns();
  const std::int64_t row_pitch = ceil_div(map.shape.w, line / cb) * line;
  const std::int64_t block_pitch = map.shape.h * row_pitch;
  const std::int64_t image = map.offset + n * ceil_div(map.shape.c, cb) * block_pitch;
  const std::int64_t sram_row = view.row_lines * line;
  const std::int64_t sram_block = view.block_lines * line;
  std::vector<DmaPiece> pieces;
  for (const BlockRun& run : block_runs(channels, cb)) {
    const std::int64_t valid = std::min(cb, map.shape.c - run.block * cb);  // real lanes of the block in DRAM
    const std::int64_t dram = image + run.block * block_pitch + rows.first * row_pitch + map.window.first * valid;
    const std::int64_t sram = (view.line_of(rows.first, run.block) + lines_across(map, view, chip)) * line;
    const auto add = [&](std::int64_t dram_at, std::int64_t sram_at, std::int64_t row_bytes, std::int64_t group_bytes,
                         std::int64_t group_stride, Loop outer, Loop middle, Loop inner) {
      pieces.push_back(
          piece(map.base_register, dram_at, sram_at, row_bytes, group_bytes, group_stride, outer, middle, inner));
    };
    const Loop by_row{rows.count(), row_pitch, sram_row};
    const Loop by_block{run.blocks, block_pitch, sram_block};
    if (run.lanes.count() == valid && valid == cb) {
      const std::int64_t bytes = rows.count() * row_pitch;
      const bool rows_join = w == map.shape.w && row_pitch == w * cb && (sram_row == row_pitch || rows.count() == 1) &&
                             bytes <= kLongestRow;
      if (rows_join && (run.blocks == 1 || (bytes == block_pitch && sram_block == block_pitch)) &&
          bytes * run.blocks <= kLongestRow) {
        add(dram, sram, bytes * run.blocks, bytes * run.blocks, bytes * run.blocks, {}, {}, {});
      } else if (rows_join) {
        add(dram, sram, bytes, bytes, bytes, {}, {}, by_block);
      } else {
        add(dram, sram, w * cb, w * cb, w * cb, {}, by_block, by_row);
      }
    } else if (run.lanes.count() == valid) {
      add(dram, sram, w * valid, valid, cb, {}, by_block, by_row);
    } else {  // part of a block's channels: pixel by pixel
      const std::int64_t lanes = run.lanes.count();
      add(dram + run.lanes.first, sram + run.lanes.first, lanes, lanes, lanes, {}, by_row, {w, valid, cb});
    }
  }
  return pieces;
}

std::vector<DmaPiece> straight_image_pieces(const DramMap& map, std::int64_t n, const Rows& rows, const Rows& channels,
                                            const SramView& view, std::int64_t view_channel,
                                            const isa::ChipConfig& chip) {
  const std::int64_t cb = chip.layout.channel_block;
  const std::int64_t line = chip.sram.line_bytes;
  const std::int64_t w = map.shape.w;
  const std::int64_t moved = map.moved_columns();
  const std::int64_t plane = map.shape.h * w;
  const std::int64_t sram_row = view.row_lines * line;
  const std::int64_t sram_block = view.block_lines * line;
  std::vector<DmaPiece> pieces;
  const std::vector<BlockRun> runs = block_runs({channels.first + view_channel, channels.end + view_channel}, cb);
  const bool whole_pixels = (channels.first + view_channel) % cb == 0 && sram_block <= kLongestRow;
  for (const BlockRun& run : runs) {
    const std::int64_t c = run.block * cb + run.lanes.first - view_channel;
    const std::int64_t pixel = rows.first * w + map.window.first;
    const std::int64_t dram = map.nhwc ? map.offset + (n * plane + pixel) * map.shape.c + c
                                       : map.offset + (n * map.shape.c + c) * plane + pixel;
    const std::int64_t sram =
        (view.line_of(rows.first, run.block) + lines_across(map, view, chip)) * line + run.lanes.first;
    const std::int64_t lanes = run.lanes.count();
    const auto add = [&](std::int64_t row_bytes, std::int64_t group_bytes, std::int64_t group_stride, Loop outer,
                         Loop middle, Loop inner) {
      pieces.push_back(
          piece(map.base_register, dram, sram, row_bytes, group_bytes, group_stride, outer, middle, inner));
    };
    if (map.columns > 1) {
      TESSERA_CHECK(channels.count() == map.shape.c && view_channel == 0 && map.shape.c * map.columns <= cb,
                    "columns of a part of an image, or of several blocks, as channels");
      const std::int64_t s = map.columns;
      const Loop by_channel{map.shape.c, plane, s};
      if (moved == w && w % s == 0 && sram_row == w / s * cb && rows.count() * w <= kLongestRow) {
        add(rows.count() * w, s, cb, {}, {}, by_channel);
      } else {
        add(moved, s, cb, {}, by_channel, {rows.count(), w, sram_row});
      }
      continue;
    }
    const Loop by_lane{lanes, plane, 1};
    const Loop by_block{run.blocks, cb * plane, sram_block};
    if (map.nhwc && lanes == map.shape.c) {  // whole pixels follow each other
      if (moved == w && sram_row == w * cb && rows.count() * w * lanes <= kLongestRow) {
        add(rows.count() * w * lanes, lanes, cb, {}, {}, {});
      } else {
        add(moved * lanes, lanes, cb, {}, {}, {rows.count(), w * lanes, sram_row});
      }
    } else if (map.nhwc && whole_pixels) {
      // One row a pixel: its blocks are groups.
      const std::int64_t bytes = channels.count();
      if (&run == &runs.front())
        add(bytes, cb, sram_block, {}, {rows.count(), w * map.shape.c, sram_row}, {moved, map.shape.c, cb});
    } else if (map.nhwc) {
      add(lanes, lanes, lanes, {run.blocks, cb, sram_block}, {rows.count(), w * map.shape.c, sram_row},
          {moved, map.shape.c, cb});
    } else if (plane == 1) {  // a vector: channels are neighbours in DRAM
      if (run.blocks * lanes <= kLongestRow && sram_block <= kLongestRow) {
        add(run.blocks * lanes, lanes, sram_block, {}, {}, {});
      } else {
        add(lanes, lanes, lanes, {}, {}, by_block);
      }
    } else if (moved == w && sram_row == w * cb &&
               rows.count() * w <= kLongestRow) {  // rows follow each other on both sides
      add(rows.count() * w, 1, cb, {}, by_block, by_lane);
    } else {
      add(moved, 1, cb, by_block, by_lane, {rows.count(), w, sram_row});
    }
  }
  return pieces;
}

/// What `make` says of each straight run of the view's rows.
template <typename Make>
std::vector<DmaPiece> by_runs(const SramView& view, const Rows& rows, Make make) {
  std::vector<DmaPiece> pieces;
  for (const Rows& run : view.straight(rows)) {
    const std::vector<DmaPiece> part = make(run);
    pieces.insert(pieces.end(), part.begin(), part.end());
  }
  return pieces;
}

}  // namespace

std::vector<DmaPiece> blocked_pieces(const DramMap& map, std::int64_t n, const Rows& rows, const Rows& channels,
                                     const SramView& view, const isa::ChipConfig& chip) {
  return by_runs(view, rows,
                 [&](const Rows& run) { return straight_blocked_pieces(map, n, run, channels, view, chip); });
}

std::vector<DmaPiece> image_pieces(const DramMap& map, std::int64_t n, const Rows& rows, const Rows& channels,
                                   const SramView& view, std::int64_t view_channel, const isa::ChipConfig& chip) {
  return by_runs(view, rows, [&](const Rows& run) {
    return straight_image_pieces(map, n, run, channels, view, view_channel, chip);
  });
}

std::vector<DmaPiece> raw_pieces(const DramMap& map, std::int64_t n, const Rows& rows, std::int64_t sram_address,
                                 const RawRows& raw, const isa::ChipConfig& chip) {
  const std::int64_t line = chip.sram.line_bytes;
  const std::int64_t w = map.shape.w;
  const std::int64_t moved = map.moved_columns();
  const std::int64_t plane = map.shape.h * w;
  const std::int64_t dram = map.offset + n * map.shape.c * plane + rows.first * w + map.window.first;
  const Loop by_group{map.shape.c / raw.channels, raw.channels * plane, raw.group_lines * line};
  const Loop by_channel{raw.channels, plane, raw.columns};
  if (moved == w && w % raw.columns == 0 && rows.count() * w <= kLongestRow) {
    return {
        piece(map.base_register, dram, sram_address, rows.count() * w, raw.columns, line, {}, by_group, by_channel)};
  }
  const Loop by_row{rows.count(), w, raw.row_lines * line};
  return {piece(map.base_register, dram, sram_address, moved, raw.columns, line, by_group, by_channel, by_row)};
}

std::vector<DmaPiece> linear_pieces(std::uint8_t base_register, std::int64_t dram_offset, std::int64_t sram_address,
                                    std::int64_t bytes, std::int64_t group_bytes, std::int64_t group_stride) {
  const std::int64_t group = group_bytes == 0 ? bytes : group_bytes;
  const std::int64_t longest = group_bytes == 0 ? kLongestRow / 4096 * 4096 : kLongestRow / group_bytes * group_bytes;
  std::vector<DmaPiece> pieces;
  for (std::int64_t at = 0; at < bytes; at += longest) {
    const std::int64_t row = std::min(longest, bytes - at);
    const std::int64_t sram = sram_address + (group_bytes == 0 ? at : at / group * group_stride);
    pieces.push_back(piece(base_register, dram_offset + at, sram, row, group_bytes == 0 ? row : group,
                           group_bytes == 0 ? row : group_stride, {}, {}, {}));
  }
  return pieces;
}

}  // namespace tessera::compiler
