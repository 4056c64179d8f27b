// Rows of maps and line buffers spread over banks: pitches in closed form, and no two lines of a buffer in one place.
#include <set>

#include <gtest/gtest.h>

#include "compiler/schedule/layer_graph.hpp"
#include "compiler/schedule/map_order.hpp"
#include "hw/common/units.hpp"
#include "isa/chip.hpp"

namespace tessera::compiler {
namespace {

/// Banks of 64 lines.
isa::ChipConfig chip_of_small_banks() {
  const std::int64_t line = isa::load_chip("tiny").sram.line_bytes;
  return isa::load_chip("tiny", {"sram.size_bytes=" + std::to_string(64 * line)});
}

TEST(RowPitch, AsManyWholeRowsAsFitFillABank) {
  const isa::ChipConfig chip = chip_of_small_banks();
  EXPECT_EQ(row_pitch(8, 4, 1, chip), 4) << "dense";
  EXPECT_EQ(row_pitch(8, 4, 2, chip), 16) << "four rows a bank";
  EXPECT_EQ(row_pitch(8, 4, 4, chip), 32);
  EXPECT_EQ(row_pitch(8, 4, 8, chip), 64) << "a bank each";
  EXPECT_EQ(row_pitch(8, 4, 9, chip), 64) << "no further";
  EXPECT_EQ(row_pitch(8, 32, 2, chip), 32) << "two rows fill a bank: four banks are taken anyway";
  EXPECT_EQ(row_pitch(8, 33, 2, chip), 64) << "one row fits a bank";
  EXPECT_EQ(row_pitch(8, 65, 2, chip), 65) << "a row is longer than a bank";
  EXPECT_EQ(row_pitch(10, 4, 3, chip), 16) << "four rows a bank, the last bank has two";
}

TEST(RowPitch, NoLongerThanAnInstructionCanSay) {
  const std::int64_t line = isa::load_chip("tiny").sram.line_bytes;
  const isa::ChipConfig chip = isa::load_chip("tiny", {"sram.size_bytes=" + std::to_string((1 << 20) * line)});
  EXPECT_EQ(row_pitch(8, 4, 8, chip), 65535);
  Root root;
  root.shape = {1, 8192 * chip.layout.channel_block, 4, 64};  // in a row more lines than that
  EXPECT_FALSE(line_order(root, 4, {0, 64}, 2, chip).rows_outside);
  root.shape.c = chip.layout.channel_block;
  EXPECT_TRUE(line_order(root, 4, {0, 64}, 2, chip).rows_outside);
}

TEST(LineOrder, NoTwoLinesLieInOnePlace) {
  const isa::ChipConfig chip = chip_of_small_banks();
  Root root;
  for (const std::int64_t channels : {1, 20, 100}) {
    root.shape = {1, channels, 30, 21};
    const std::int64_t blocks = ceil_div(channels, chip.layout.channel_block);
    for (const Rows& columns : {Rows{0, 21}, Rows{8, 16}}) {
      for (const std::int64_t banks : {0, 1, 2, 5}) {
        const MapOrder order = line_order(root, 7, columns, banks, chip);
        EXPECT_EQ(order.rows_outside, banks > 0);
        const std::int64_t across = order.rows_outside ? order.block_lines : order.row_lines;
        std::set<std::int64_t> places;
        for (std::int64_t row = 0; row < 7; ++row) {
          for (std::int64_t block = 0; block < blocks; ++block) {
            for (std::int64_t x = 0; x < across; ++x) {
              EXPECT_TRUE(places.insert(row * order.row_lines + block * order.block_lines + x).second);
            }
          }
        }
        EXPECT_EQ(*places.rbegin() + 1, order.lines) << "the last line is the buffer's last";
        if (banks <= 1) {
          EXPECT_EQ(static_cast<std::int64_t>(places.size()), order.lines) << "dense";
        }
      }
    }
  }
}

}  // namespace
}  // namespace tessera::compiler
