#include "isa/semantics/requantize.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "hw/common/error.hpp"
#include "hw/common/random.hpp"

namespace tessera::semantics {
namespace {

// Closed form 4 of the validation page: half to even, then saturation.
TEST(Requantize, TiesGoToEven) {
  const QuantizedScale half = quantize_scale(0.5);
  const std::int32_t acc[] = {-3, -1, 1, 3, 5, 300, -300};
  const std::int32_t expected[] = {-2, 0, 0, 2, 2, 127, -128};
  for (std::size_t i = 0; i < std::size(acc); ++i) {
    EXPECT_EQ(requantize(acc[i], half.multiplier, half.shift, 0, -128, 127), expected[i]) << acc[i];
    EXPECT_EQ(requantize(acc[i], 1, 1, 0, -128, 127), expected[i]) << acc[i];
  }
}

TEST(Requantize, ZeroPointIsAddedAfterRounding) {
  EXPECT_EQ(requantize(1, 1, 1, 3, -128, 127), 3);  // 0.5 -> 0, + 3
  EXPECT_EQ(requantize(3, 1, 1, 3, -128, 127), 5);  // 1.5 -> 2, + 3
  EXPECT_EQ(requantize(200, 1, 0, -100, -128, 127), 100);
  EXPECT_EQ(requantize(200, 1, 0, -100, -128, 6), 6);
  EXPECT_EQ(requantize(-200, 1, 0, 5, 0, 6), 0);
}

TEST(Requantize, WideAccumulatorsKeepAllBits) {
  // 2^40 * (2^31 - 1) needs 71 bits; / 2^62 = 511.99.. -> 512.
  EXPECT_EQ(requantize(std::int64_t{1} << 40, 2147483647U, 62, 0, -100000, 100000), 512);
  EXPECT_EQ(requantize(-(std::int64_t{1} << 40), 2147483647U, 62, 0, -100000, 100000), -512);
  EXPECT_EQ(requantize(INT64_MAX, 2147483647U, 0, 7, -128, 127), 127);
  EXPECT_EQ(requantize(INT64_MIN, 2147483647U, 0, 7, -128, 127), -128);
}

TEST(Requantize, AgreesWithRationalArithmetic) {
  Random random(5);
  for (int i = 0; i < 20000; ++i) {
    const std::int64_t acc = random.between(INT32_MIN, INT32_MAX);
    const auto multiplier = static_cast<std::uint32_t>(random.below(std::uint64_t{1} << 31));
    const auto shift = static_cast<std::uint32_t>(random.below(63));
    // Independent rule: 2 * product against odd multiples of 2^shift, in 128 bits.
    const Int128 product = static_cast<Int128>(acc) * multiplier;
    const Int128 unit = static_cast<Int128>(1) << shift;
    Int128 quotient = product / unit;
    Int128 rest = product - quotient * unit;
    if (rest < 0) rest += unit, --quotient;
    if (2 * rest > unit || (2 * rest == unit && quotient % 2 != 0)) ++quotient;
    const Int128 y = quotient + 3;
    const auto expected = static_cast<std::int32_t>(y > 30000 ? 30000 : y < -30000 ? -30000 : y);
    ASSERT_EQ(requantize(acc, multiplier, shift, 3, -30000, 30000), expected)
        << acc << " " << multiplier << " " << shift;
  }
}

TEST(QuantizeScale, HasThirtyOneBits) {
  for (const double real : {1.0, 0.5, 0.0123, 3.999999999, 1e-9, 1234.5, 2147483647.0}) {
    const QuantizedScale s = quantize_scale(real);
    EXPECT_GE(s.multiplier, 1U << 30) << real;
    EXPECT_LT(s.multiplier, 1U << 31) << real;
    EXPECT_LE(s.shift, kMaxShift);
    EXPECT_NEAR(s.value() / real, 1.0, std::ldexp(1.0, -31)) << real;
  }
  EXPECT_EQ(quantize_scale(1.0).multiplier, 1U << 30);
  EXPECT_EQ(quantize_scale(1.0).shift, 30U);
  const QuantizedScale nearly_two = quantize_scale(std::nextafter(2.0, 0.0));  // rounds up to the next power of two
  EXPECT_EQ(nearly_two.multiplier, 1U << 30);
  EXPECT_EQ(nearly_two.shift, 29U);
  EXPECT_EQ(quantize_scale(0.0).multiplier, 0U);
  const QuantizedScale tiny = quantize_scale(std::ldexp(3.0, -50));
  EXPECT_EQ(tiny.shift, 62U);
  EXPECT_EQ(tiny.multiplier, 3U << 12);
}

TEST(QuantizeScale, RefusesWhatNoMultiplierHolds) {
  for (const double real : {-0.5, 2147483648.0, std::nan(""), HUGE_VAL}) {
    try {
      (void)quantize_scale(real);
      FAIL() << real;
    } catch (const UserError& e) {
      EXPECT_NE(std::string(e.what()).find("expected a finite value in [0, 2^31)"), std::string::npos) << e.what();
    }
  }
  EXPECT_THROW((void)quantize_add(1.0, 1.0, 0.0), UserError);
}

TEST(TwoScaleAdd, FollowsTheRealSum) {
  Random random(9);
  for (int i = 0; i < 2000; ++i) {
    const double sa = 0.001 + random.unit();
    const double sb = 0.001 + random.unit();
    const double so = 0.001 + random.unit();
    const int sign = random.chance(1, 2) ? 1 : -1;
    const AddScale scale = quantize_add(sa, sb, so, sign);
    EXPECT_GE(std::max(std::abs(scale.ma), std::abs(scale.mb)), 1 << 29);
    const auto a = static_cast<std::int32_t>(random.between(-128, 127));
    const auto b = static_cast<std::int32_t>(random.between(-128, 127));
    const auto za = static_cast<std::int32_t>(random.between(-128, 127));
    const auto zb = static_cast<std::int32_t>(random.between(-128, 127));
    const double real = ((a - za) * sa + sign * (b - zb) * sb) / so;
    if (std::abs(std::abs(real - std::floor(real)) - 0.5) < 1e-4) continue;  // the scales' own rounding may tip a tie
    const double expected = std::min(127.0, std::max(-128.0, std::nearbyint(real) + 7));
    EXPECT_EQ(two_scale_add(a, b, za, zb, scale, 7, -128, 127), static_cast<std::int32_t>(expected));
  }
}

TEST(TwoScaleAdd, EqualScalesTieToEven) {
  const AddScale half = quantize_add(0.5, 0.5, 1.0);
  EXPECT_EQ(two_scale_add(1, 0, 0, 0, half, 0, -128, 127), 0);
  EXPECT_EQ(two_scale_add(3, 0, 0, 0, half, 0, -128, 127), 2);
  EXPECT_EQ(two_scale_add(-3, 0, 0, 0, half, 0, -128, 127), -2);
  EXPECT_EQ(two_scale_add(127, 127, -128, -128, half, 0, -128, 127), 127);
}

TEST(ScaledMultiply, KeepsWideProducts) {
  EXPECT_EQ(scaled_multiply(-5, 3, 0, 0, 1 << 30, 31, 0, -128, 127), -8);  // -7.5 -> -8
  EXPECT_EQ(scaled_multiply(-3, 3, 0, 0, 1 << 30, 31, 0, -128, 127), -4);  // -4.5 -> -4
  // (2^16)(2^16)(2^31 - 1) needs 63 bits and a sign.
  EXPECT_EQ(scaled_multiply(32767, -32768, -32768, 32767, INT32_MAX, 62, 0, -128, 127), -2);
}

TEST(Table, IndexesFromMinus128) {
  std::int8_t table[256];
  for (int i = 0; i < 256; ++i) table[i] = static_cast<std::int8_t>(127 - i);
  EXPECT_EQ(apply_table(table, -128), 127);
  EXPECT_EQ(apply_table(table, 0), -1);
  EXPECT_EQ(apply_table(table, 127), -128);
  EXPECT_EQ(apply_table(table, 500), -128);
  EXPECT_EQ(apply_table(table, -500), 127);
}

TEST(AverageScales, DivideByTheCount) {
  const std::vector<QuantizedScale> s = average_scales(0.5, 0.25, 9);
  ASSERT_EQ(s.size(), 9U);
  EXPECT_NEAR(s[0].value(), 2.0, 1e-9);
  EXPECT_NEAR(s[8].value(), 2.0 / 9, 1e-9);
}

}  // namespace
}  // namespace tessera::semantics
