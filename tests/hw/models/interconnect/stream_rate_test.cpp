// The rate by hand: not at N - 1 cycles, yes at N; and the chip file's timings in it.
#include "hw/models/interconnect/stream_rate.hpp"

#include <gtest/gtest.h>

#include "isa/chip.hpp"

namespace tessera::hw {
namespace {

/// 10 bytes a cycle; every 100 cycles the bus is gone for 20.
StreamRate simple(int postponed) {
  StreamRate rate;
  rate.bytes_per_cycle = 10;
  rate.refresh_interval = 100;
  rate.refresh_cycles = 20;
  rate.postponed = postponed;
  return rate;
}

TEST(StreamRate, RefreshTakesItsCyclesFromTheFirstDueOneOn) {
  const StreamRate rate = simple(0);
  EXPECT_DOUBLE_EQ(rate.finish(0, 990), 99);
  EXPECT_DOUBLE_EQ(rate.finish(0, 1000), 100);
  EXPECT_DOUBLE_EQ(rate.finish(0, 1010), 121);
  EXPECT_DOUBLE_EQ(rate.finish(0, 1800), 200);
  EXPECT_DOUBLE_EQ(rate.finish(0, 1810), 221);
  EXPECT_DOUBLE_EQ(rate.finish(0, 1000 + 5 * 800), 600);
  EXPECT_DOUBLE_EQ(rate.finish(0, 1000 + 5 * 800 + 10), 621);
}

TEST(StreamRate, AStreamMayBeginAnywhere) {
  const StreamRate rate = simple(0);
  EXPECT_DOUBLE_EQ(rate.finish(90, 100), 100);
  EXPECT_DOUBLE_EQ(rate.finish(90, 200), 130);
  EXPECT_DOUBLE_EQ(rate.finish(110, 10), 121);  // in the middle of a refresh
  EXPECT_DOUBLE_EQ(rate.finish(150, 500), 200);
  EXPECT_DOUBLE_EQ(rate.finish(150, 510), 221);
  // Pieces one behind the other are the whole.
  double now = 0;
  for (int i = 0; i < 700; ++i) now = rate.finish(now, 7);
  EXPECT_NEAR(now, rate.finish(0, 4900), 1e-6);
}

TEST(StreamRate, PostponedRefreshesMayBeLeftOut) {
  EXPECT_DOUBLE_EQ(simple(1).finish(0, 2000), 200);
  EXPECT_DOUBLE_EQ(simple(1).finish(0, 2010), 221);
  EXPECT_DOUBLE_EQ(simple(0).sustained(), 8);
}

TEST(StreamRate, ComesFromTheDevice) {
  // LPDDR4-4266: 32 bytes in 8 clocks of 468.75 ps, 4 channels; per refresh 17 + 39 + 599 + 39 - 8 of 8341 clocks.
  const StreamRate a = StreamRate::from(isa::load_chip("a1000"), 1);
  EXPECT_NEAR(a.bytes_per_cycle, 4 * 32 / (8 * 0.46875), 1e-9);
  EXPECT_NEAR(a.refresh_interval, 8341 * 0.46875, 1e-6);
  EXPECT_NEAR(a.refresh_cycles, 686 * 0.46875, 1e-6);
  // DDR4-3200 has a 64-bit channel: 64 bytes in 4 clocks of 625 ps. 102.4 bytes a cycle exceed the port of 64.
  const isa::ChipConfig ddr4 = isa::load_chip("a1000", {"dram.device=DDR4-3200"});
  EXPECT_NEAR(peak_bytes_per_second(ddr4), 4 * 64 / (4 * 0.625e-9), 1e3);
  EXPECT_DOUBLE_EQ(peak_bytes_per_cycle(ddr4), 64);
  EXPECT_NEAR(StreamRate::from(ddr4, 2).bytes_per_cycle, 102.4, 1e-9);
  EXPECT_DOUBLE_EQ(StreamRate::from(isa::load_chip("a1000", {"dram.refresh=per_bank"}), 1).refresh_interval, 0);
  EXPECT_NEAR(StreamRate::from(isa::load_chip("a1000", {"dram.ecc=in_band"}), 1).bytes_per_cycle,
              a.bytes_per_cycle * 8 / 9, 1e-9);
  EXPECT_DOUBLE_EQ(peak_bytes_per_cycle(isa::load_chip("a1000", {"dram.device=fixed", "dram.fixed_bytes_per_cycle=0"})),
                   64);
}

}  // namespace
}  // namespace tessera::hw
