#include "isa/semantics/layout.hpp"

#include <set>

#include <gtest/gtest.h>

#include "tests/isa/semantics/machine.hpp"

namespace tessera::semantics {
namespace {

TEST(OutputExtent, FollowsTheFormula) {
  EXPECT_EQ(output_extent(224, 7, 2, 1, 3, 3), 112);
  EXPECT_EQ(output_extent(136, 3, 2, 3, 0, 0), 65);  // closed form 7
  EXPECT_EQ(output_extent(7, 3, 2, 1, 0, 1), 3);     // closed form 9
  EXPECT_EQ(output_extent(9, 3, 2, 1, 1, 0), 4);
  EXPECT_EQ(output_extent(2, 5, 1, 1, 0, 0), 0);
}

TEST(MapLayout, RoundsRowsToLinesAndChannelsToBlocks) {
  const isa::ChipConfig chip = isa::load_chip("a1000");  // 32 channels x 4 pixels a line of 128 bytes
  const MapLayout m = map_layout(33, 5, 9, chip);
  EXPECT_EQ(m.blocks, 2);
  EXPECT_EQ(m.row_lines, 3);
  EXPECT_EQ(m.bytes, 2 * 5 * 3 * 128);
  const isa::SramTensor t = dense_tensor(1280, m);
  // Channel 32 = block 1 lane 0, row 2, column 5: second line of the row, pixel 1.
  EXPECT_EQ(value_address(t, chip, 32, 2, 5), 1280 + (1 * 15 + 2 * 3 + 1) * 128 + 32);
}

TEST(MapLayout, CircularRowsWrap) {
  const isa::ChipConfig chip = isa::load_chip("tiny");  // 4 x 2, lines of 8 bytes
  isa::SramTensor t = dense_tensor(64, map_layout(4, 9, 2, chip), 3);
  t.first_row = 2;
  EXPECT_EQ(row_address(t, chip, 0, 0), 64 + 2 * 8);
  EXPECT_EQ(row_address(t, chip, 0, 1), 64);
  EXPECT_EQ(row_address(t, chip, 0, 4), 64);
  EXPECT_EQ(row_address(t, chip, 1, 0), 64 + (3 + 2) * 8);
}

TEST(WeightLayout, DenseTilesOnTiny) {
  const isa::ChipConfig chip = isa::load_chip("tiny");  // 4 x 4 lanes: a tile is 16 bytes, two lines
  const WeightLayout w({5, 6, 1, 3, 2, 1, isa::ConvMode::dense}, chip);
  EXPECT_EQ(w.tile_bytes(), 16);
  EXPECT_EQ(w.cin_tiles(0), 2);
  EXPECT_EQ(w.cout_tiles(0), 2);
  EXPECT_EQ(w.sram_bytes(), 2 * 2 * 3 * 2 * 16);
  EXPECT_EQ(w.dram_bytes(), w.sram_bytes());
  // [cout tile 1][cin tile 1][ky 2][kx 1], cin lane 0, cout lane 1.
  EXPECT_EQ(w.offset(0, 5, 4, 2, 1), (((1 * 2 + 1) * 3 + 2) * 2 + 1) * 16 + 0 * 4 + 1);
}

TEST(WeightLayout, GroupsKeepTheirLaneOffsets) {
  const isa::ChipConfig chip = isa::load_chip("tiny");                   // Cb 4
  const WeightLayout w({6, 9, 3, 3, 3, 1, isa::ConvMode::dense}, chip);  // closed form 8
  EXPECT_EQ(w.cin_lane(1), 2);                                           // channels 2, 3 of block 0
  EXPECT_EQ(w.cout_lane(1), 3);                                          // channels 3, 4, 5: lanes 3, 4, 5 -> two tiles
  EXPECT_EQ(w.cout_tiles(0), 1);
  EXPECT_EQ(w.cout_tiles(1), 2);
  EXPECT_EQ(w.tiles(), (1 + 2 + 2) * 9);
  EXPECT_EQ(w.offset(1, 1, 0, 0, 0), (9 + 9) * 16 + 2 * 4 + 0);  // second tile of group 1
}

TEST(WeightLayout, DepthwiseTilesAreRoundedToLines) {
  const isa::ChipConfig chip = isa::load_chip("tiny");
  const WeightLayout w({6, 6, 6, 3, 3, 1, isa::ConvMode::depthwise}, chip);
  EXPECT_EQ(w.tile_bytes(), 40);  // 36 bytes in lines of 8
  EXPECT_EQ(w.sram_bytes(), 80);
  EXPECT_EQ(w.offset(5, 0, 0, 2, 1), 40 + (2 * 3 + 1) * 4 + 1);
}

TEST(WeightLayout, FoldPacksInDram) {
  const isa::ChipConfig chip = isa::load_chip("a1000");  // 32 x 32 lanes
  EXPECT_EQ(max_fold(3, 7, chip), 7);
  EXPECT_EQ(max_fold(3, 12, chip), 10);
  const WeightLayout w({3, 64, 1, 7, 7, 7, isa::ConvMode::fold}, chip);
  EXPECT_EQ(w.passes(), 1);
  EXPECT_EQ(w.tiles(), 2 * 7);
  EXPECT_EQ(w.sram_bytes(), 14 * 1024);
  EXPECT_EQ(w.dram_bytes(), 14 * 21 * 32);
  EXPECT_EQ(w.offset(0, 33, 2, 1, 4), (7 + 1) * 1024 + (4 * 3 + 2) * 32 + 1);
}

TEST(PackWeights, EveryWeightHasItsOwnByteAndPaddingHoldsTheZeroPoint) {
  const isa::ChipConfig chip = isa::load_chip("tiny");
  for (const ConvShape& shape :
       {ConvShape{5, 6, 1, 3, 2, 1, isa::ConvMode::dense}, ConvShape{6, 9, 3, 3, 3, 1, isa::ConvMode::dense},
        ConvShape{7, 7, 7, 3, 5, 1, isa::ConvMode::depthwise}, ConvShape{1, 6, 1, 3, 5, 3, isa::ConvMode::fold}}) {
    const std::int64_t in = shape.cin / shape.groups;
    const std::int64_t out = shape.cout / shape.groups;
    std::vector<std::int8_t> oihw(static_cast<std::size_t>(shape.cout * in * shape.kh * shape.kw), 1);
    const std::vector<std::uint8_t> bytes = pack_weights(oihw, shape, -3, chip);
    const WeightLayout layout(shape, chip);
    ASSERT_EQ(static_cast<std::int64_t>(bytes.size()), layout.sram_bytes());
    std::set<std::int64_t> used;
    for (std::int64_t g = 0; g < shape.groups; ++g) {
      for (std::int64_t o = 0; o < out; ++o) {
        for (std::int64_t i = 0; i < in; ++i) {
          for (std::int64_t ky = 0; ky < shape.kh; ++ky) {
            for (std::int64_t kx = 0; kx < shape.kw; ++kx) {
              const std::int64_t at = layout.offset(g, o, i, ky, kx);
              EXPECT_TRUE(used.insert(at).second);
              EXPECT_EQ(bytes[static_cast<std::size_t>(at)], 1);
            }
          }
        }
      }
    }
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      if (used.count(static_cast<std::int64_t>(at)) != 0) continue;
      EXPECT_EQ(bytes[at], static_cast<std::uint8_t>(-3));
    }
  }
}

TEST(PackWeights, PackedFoldIsThePrefixOfEachTile) {
  const isa::ChipConfig chip = isa::load_chip("tiny");
  const ConvShape shape{1, 6, 1, 2, 5, 3, isa::ConvMode::fold};
  std::vector<std::int8_t> oihw(60);
  for (std::size_t i = 0; i < oihw.size(); ++i) oihw[i] = static_cast<std::int8_t>(i + 1);
  const WeightLayout layout(shape, chip);
  const std::vector<std::uint8_t> sram = pack_weights(oihw, shape, 0, chip);
  const std::vector<std::uint8_t> dram = pack_weights_dram(oihw, shape, 0, chip);
  ASSERT_EQ(layout.valid_bytes(), 12);
  ASSERT_EQ(static_cast<std::int64_t>(dram.size()), layout.tiles() * 12);
  for (std::int64_t t = 0; t < layout.tiles(); ++t) {
    for (std::int64_t b = 0; b < 12; ++b) {
      EXPECT_EQ(dram[static_cast<std::size_t>(t * 12 + b)], sram[static_cast<std::size_t>(t * 16 + b)]);
    }
  }
}

TEST(PackParams, IsTwelveLittleEndianBytesAChannel) {
  const std::vector<std::uint8_t> bytes = pack_params({-2, 258}, {{0x40000001, 33}, {7, 0}});
  ASSERT_EQ(bytes.size(), 24U);
  EXPECT_EQ(bytes[0], 0xFE);
  EXPECT_EQ(bytes[3], 0xFF);
  EXPECT_EQ(bytes[4], 0x01);
  EXPECT_EQ(bytes[7], 0x40);
  EXPECT_EQ(bytes[8], 33);
  EXPECT_EQ(bytes[12], 2);
  EXPECT_EQ(bytes[13], 1);
}

}  // namespace
}  // namespace tessera::semantics
