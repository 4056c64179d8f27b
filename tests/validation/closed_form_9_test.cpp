// Closed form 9: asymmetric padding with a zero point. QLinearConv 1x8x7x9, 16 filters 3x3, stride 2, pads top 0, left
// 1, bottom 1, right 0: padding is the zero point and costs no DRAM read. Every output is computed here from the
// definition; the scales are powers of two, so that its rounding is exact.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "tests/validation/convolution_run.hpp"

namespace tessera::validation {
namespace {

using compiler::Ints;
using compiler::Shape;

constexpr std::int64_t kInputs = 8, kHeight = 7, kWidth = 9, kFilters = 16, kRows = 3, kColumns = 4;
constexpr int kInputZero = -5, kOutputZero = 7;

struct Weights {
  std::vector<std::int8_t> kernel;
  std::vector<std::int32_t> bias;
};

Weights random_weights() {
  Random random(9);
  Weights w;
  for (std::int64_t i = 0; i < kFilters * kInputs * 9; ++i) {
    w.kernel.push_back(static_cast<std::int8_t>(random.between(-127, 127)));
  }
  for (std::int64_t o = 0; o < kFilters; ++o) w.bias.push_back(static_cast<std::int32_t>(random.between(-5000, 5000)));
  return w;
}

compiler::Graph model(const Weights& w) {
  compiler::GraphBuilder b("asymmetric");
  const std::string x = b.input("x", {1, kInputs, kHeight, kWidth}, compiler::DType::i8);
  const auto scale = [&](const char* name, float value) {
    return b.constant(name, compiler::float_tensor({}, {value}));
  };
  const auto zero = [&](const char* name, int value) {
    return b.constant(name, compiler::int8_tensor({}, {static_cast<std::int8_t>(value)}));
  };
  const std::vector<std::string> inputs = {x,
                                           scale("x_scale", 1.0F / 32),
                                           zero("x_zero", kInputZero),
                                           b.constant("w", compiler::int8_tensor({kFilters, kInputs, 3, 3}, w.kernel)),
                                           scale("w_scale", 1.0F / 64),
                                           zero("w_zero", 0),
                                           scale("y_scale", 1.0F / 2),
                                           zero("y_zero", kOutputZero),
                                           b.constant("bias", compiler::int32_tensor({kFilters}, w.bias))};
  b.output(b.node("QLinearConv", inputs, {{"strides", Ints{2, 2}}, {"pads", Ints{0, 1, 1, 0}}}, "conv"));
  return b.take();
}

int expected(const Weights& w, const std::int8_t* x, std::int64_t filter, std::int64_t row, std::int64_t column) {
  std::int64_t sum = w.bias[static_cast<std::size_t>(filter)];
  for (std::int64_t c = 0; c < kInputs; ++c) {
    for (std::int64_t k = 0; k < 9; ++k) {
      const std::int64_t y = 2 * row + k / 3, z = 2 * column + k % 3 - 1;
      if (y >= kHeight || z < 0) continue;  // the zero point: a term of 0
      const int value = x[(c * kHeight + y) * kWidth + z] - kInputZero;
      sum += value * w.kernel[static_cast<std::size_t>((filter * kInputs + c) * 9 + k)];
    }
  }
  // (1/32) (1/64) / (1/2) = 2^-10; nearbyint rounds half to even.
  return static_cast<int>(std::clamp(std::nearbyint(static_cast<double>(sum) / 1024.0) + kOutputZero, -128.0, 127.0));
}

class ClosedForm9 : public testing::TestWithParam<const char*> {};

TEST_P(ClosedForm9, PaddingIsTheZeroPointAndCostsNoRead) {
  const Weights weights = random_weights();
  const ConvolutionRun run = run_graph("asymmetric", GetParam(), model(weights));
  EXPECT_EQ(run.output_shape, (Shape{1, kFilters, kRows, kColumns}));
  EXPECT_EQ(run.report.at("macs").at("useful"), kRows * kColumns * kFilters * kInputs * 9);
  EXPECT_EQ(run.report.at("macs").at("useful"), 13824);
  EXPECT_EQ(run.report.at("dram").at("by_kind").at("input"), kInputs * kHeight * kWidth);
  EXPECT_EQ(run.report.at("dram").at("by_kind").at("weights"), kFilters * kInputs * 9);
  EXPECT_EQ(run.report.at("dram").at("by_kind").at("output"), kFilters * kRows * kColumns);
  const std::int8_t* const x = run.inputs.at(0).data<std::int8_t>();
  const std::int8_t* const y = run.outputs.at(0).data<std::int8_t>();
  for (std::int64_t i = 0; i < kFilters * kRows * kColumns; ++i) {
    const std::int64_t filter = i / (kRows * kColumns), row = i / kColumns % kRows, column = i % kColumns;
    ASSERT_EQ(y[i], expected(weights, x, filter, row, column)) << filter << ", " << row << ", " << column;
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, ClosedForm9, testing::Values("tiny", "a1000"),
                         [](const testing::TestParamInfo<const char*>& chip) { return std::string(chip.param); });

}  // namespace
}  // namespace tessera::validation
