#include "hw/models/interconnect/crossing.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "hw/common/random.hpp"

namespace tessera::hw {
namespace {

TEST(Crossing, Lpddr4_4266At1GHzIs32Over15) {
  const ClockCrossing c(1'000'000'000, 468'750, 2);
  EXPECT_EQ(c.numerator(), 32);
  EXPECT_EQ(c.denominator(), 15);
  EXPECT_EQ(c.request_arrival(0), 3 + 2);                 // ceil(32 / 15) = 3
  EXPECT_EQ(c.request_arrival(14), 32 + 2);               // 15 cycles are exactly 32 clocks
  EXPECT_EQ(c.request_arrival(15), 35 + 2);               // ceil(16 * 32 / 15 = 34.13)
  EXPECT_EQ(c.request_arrival(99), 214 + 2);              // ceil(100 * 32 / 15 = 213.3)
  EXPECT_EQ(c.response_arrival(0), 1 + 2);                // ceil(15 / 32)
  EXPECT_EQ(c.response_arrival(31), 15 + 2);              // exactly 15
  EXPECT_EQ(c.response_arrival(32), 16 + 2);              // ceil(33 * 15 / 32 = 15.47)
  EXPECT_EQ(c.response_arrival(1'000'000), 468'751 + 2);  // ceil(1000001 * 15 / 32 = 468750.47)
}

TEST(Crossing, At800MHzWith625PsIsTwoToOne) {
  const ClockCrossing c(800'000'000, 625'000, 2);
  EXPECT_EQ(c.numerator(), 2);
  EXPECT_EQ(c.denominator(), 1);
  EXPECT_EQ(c.request_arrival(0), 4);
  EXPECT_EQ(c.request_arrival(7), 18);
  EXPECT_EQ(c.response_arrival(0), 3);  // ceil(1 / 2) + 2
  EXPECT_EQ(c.response_arrival(1), 3);
  EXPECT_EQ(c.response_arrival(2), 4);
}

TEST(Crossing, SlowerDramClockThanCore) {  // LPDDR5-6400: CK 800 MHz
  const ClockCrossing c(1'000'000'000, 1'250'000, 0);
  EXPECT_EQ(c.numerator(), 4);
  EXPECT_EQ(c.denominator(), 5);
  EXPECT_EQ(c.request_arrival(0), 1);
  EXPECT_EQ(c.request_arrival(4), 4);
  EXPECT_EQ(c.response_arrival(0), 2);  // ceil(5 / 4)
  EXPECT_EQ(c.response_arrival(3), 5);
}

TEST(Crossing, UglyRatiosStayExactForLongRuns) {
  const ClockCrossing c(999'999'937, 468'751, 0);  // both prime to 10^15: N = 10^15
  EXPECT_EQ(c.numerator(), 1'000'000'000'000'000);
  // (n + 1) N / D with D = 999999937 * 468751 = 468750970468687: n + 1 = D gives exactly N.
  EXPECT_EQ(c.denominator(), 468'750'970'468'687);
  EXPECT_EQ(c.request_arrival(468'750'970'468'686), 1'000'000'000'000'000);
}

TEST(Crossing, ThereAndBackNeverLosesTime) {
  const ClockCrossing c(1'000'000'000, 468'750, 0);
  for (Cycles n = 0; n < 1000; ++n) {
    EXPECT_GE(c.response_arrival(c.request_arrival(n)), n + 1);
    EXPECT_LE(c.response_arrival(c.request_arrival(n)), n + 3);
  }
}

TEST(Divisor, EqualsDivision) {
  Random random(11);
  std::vector<std::int64_t> divisors = {1, 2, 3, 5, 7, 15, 32, 33, 1000, (1 << 22) - 1, 1 << 22, INT64_MAX};
  for (int i = 0; i < 200; ++i) divisors.push_back(1 + static_cast<std::int64_t>(random.below(1 << 22)));
  for (const std::int64_t by : divisors) {
    const Divisor divisor(by);
    for (int i = 0; i < 100; ++i) {
      const auto value = static_cast<std::int64_t>(random.below(INT64_MAX) >> random.below(63));
      const std::int64_t multiple = value / by * by;
      for (const std::int64_t v : {value, multiple, multiple > 0 ? multiple - 1 : 0}) {
        ASSERT_EQ(divisor.floor(v), v / by) << v << " / " << by;
      }
    }
    ASSERT_EQ(divisor.floor(INT64_MAX), INT64_MAX / by) << by;
    ASSERT_EQ(divisor.floor(0), 0);
  }
}

}  // namespace
}  // namespace tessera::hw
