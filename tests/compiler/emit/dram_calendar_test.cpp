// Bandwidth by hand: 2 bytes a cycle, buckets of 256 cycles.
#include "compiler/emit/dram_calendar.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace tessera::compiler {
namespace {

TEST(DramCalendar, TransfersShareTheRate) {
  DramCalendar dram(2);
  EXPECT_DOUBLE_EQ(dram.take(0, 1024), 512);
  EXPECT_DOUBLE_EQ(dram.take(0, 512), 768);
  EXPECT_DOUBLE_EQ(dram.take(0, 2), 769);
}

TEST(DramCalendar, ALateTransferLeavesTheTimeBeforeItFree) {
  DramCalendar dram(2);
  EXPECT_DOUBLE_EQ(dram.take(10240, 512), 10496);
  EXPECT_DOUBLE_EQ(dram.take(0, 2048), 1024);
  // The late one's bucket is full: what comes to it goes behind it.
  EXPECT_DOUBLE_EQ(dram.take(10240, 2), 10497);
}

TEST(DramCalendar, NoByteMovesBeforeItsStart) {
  DramCalendar dram(2);
  EXPECT_DOUBLE_EQ(dram.take(100, 10), 105);
  EXPECT_DOUBLE_EQ(dram.take(250, 24), 262);  // 12 bytes to cycle 256, 12 behind it
}

TEST(DramCalendar, AllBytesTakeTheirTimeWhateverTheirOrder) {
  DramCalendar dram(2);
  double last = 0;
  for (int i = 0; i < 1000; ++i) last = std::max(last, dram.take((i * 7919) % 5000, 40));
  EXPECT_GE(last, 20000);
  EXPECT_LE(last, 20000 + 256);
}

}  // namespace
}  // namespace tessera::compiler
