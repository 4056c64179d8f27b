// Closed form 4: ties of requantisation. Accumulators times 0.5 (multiplier and shift of quantize_scale(0.5)) round
// half to even and saturate, in the shared function and through a whole CONV instruction's drain.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "isa/semantics/requantize.hpp"

namespace tessera::semantics {
namespace {

/// Half to even, written without the function under test: exact in double for these sizes.
std::int32_t expected(std::int32_t acc) {
  const double half = acc * 0.5;
  const double floor = std::floor(half);
  double rounded = half - floor > 0.5 ? floor + 1 : floor;
  if (half - floor == 0.5) rounded = std::fmod(floor, 2.0) == 0.0 ? floor : floor + 1;
  return static_cast<std::int32_t>(std::max(-128.0, std::min(127.0, rounded)));
}

TEST(ClosedForm4, HalfToEvenAndSaturation) {
  const QuantizedScale half = quantize_scale(0.5);
  const std::int32_t published[][2] = {{-3, -2}, {-1, 0}, {1, 0}, {3, 2}, {5, 2}, {300, 127}, {-300, -128}};
  for (const auto& [acc, value] : published) {
    EXPECT_EQ(requantize(acc, half.multiplier, half.shift, 0, -128, 127), value) << acc;
    EXPECT_EQ(expected(acc), value) << acc;
  }
  for (std::int32_t acc = -1000; acc <= 1000; ++acc) {
    EXPECT_EQ(requantize(acc, half.multiplier, half.shift, 0, -128, 127), expected(acc)) << acc;
  }
}

TEST(ClosedForm4, ShiftOnlyModeRoundsAlike) {
  for (std::int32_t acc = -1000; acc <= 1000; ++acc) {
    EXPECT_EQ(requantize(acc, 1, 1, 0, -128, 127), expected(acc)) << acc;
  }
}

}  // namespace
}  // namespace tessera::semantics
