#include "hw/common/random.hpp"

#include <array>

#include <gtest/gtest.h>

namespace tessera {
namespace {

// First outputs of splitmix64 from state 0, as published with the algorithm.
TEST(Random, Splitmix64MatchesThePublishedSequence) {
  std::uint64_t state = 0;
  EXPECT_EQ(splitmix64(state), 0xE220A8397B1DCDAFULL);
  EXPECT_EQ(splitmix64(state), 0x6E789E6AA1B965F4ULL);
  EXPECT_EQ(splitmix64(state), 0x06C45D188009454FULL);
}

TEST(Random, SameSeedSameSequence) {
  Random a(7);
  Random b(7);
  Random c(8);
  EXPECT_EQ(a.next(), b.next());
  EXPECT_NE(a.next(), c.next());
}

TEST(Random, BetweenReachesBothEndsAndNothingElse) {
  Random random(1);
  std::array<int, 5> seen{};
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t value = random.between(-2, 2);
    ASSERT_GE(value, -2);
    ASSERT_LE(value, 2);
    ++seen[static_cast<std::size_t>(value + 2)];
  }
  for (const int count : seen) {
    EXPECT_GT(count, 140);  // 200 expected, standard deviation 12.6
  }
  EXPECT_EQ(random.between(5, 5), 5);
  static_cast<void>(random.between(INT64_MIN, INT64_MAX));  // a span of 2^64 has no bound
}

TEST(Random, NormalHasMeanZeroAndVarianceOne) {
  Random random(3);
  double sum = 0.0;
  double squares = 0.0;
  constexpr int kCount = 20000;
  for (int i = 0; i < kCount; ++i) {
    const double value = random.normal();
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / kCount, 0.0, 0.03);
  EXPECT_NEAR(squares / kCount, 1.0, 0.05);
}

}  // namespace
}  // namespace tessera
