// Closed forms 7 and 8 through the whole tool: shapes, MACs and bytes of a strided dilated depthwise and of a grouped
// convolution, computed here from the definition.
#include <gtest/gtest.h>

#include "tests/validation/convolution_run.hpp"

namespace tessera::validation {
namespace {

using compiler::Ints;

class ClosedForm7 : public testing::TestWithParam<const char*> {};
class ClosedForm8 : public testing::TestWithParam<const char*> {};

TEST_P(ClosedForm7, StridedDilatedDepthwiseReadsEachWeightOnce) {
  const ConvolutionRun run =
      run_convolution("depthwise", GetParam(), {1, 72, 136, 136}, {72, 1, 3, 3},
                      {{"group", std::int64_t{72}}, {"strides", Ints{2, 2}}, {"dilations", Ints{3, 3}}});
  const std::int64_t out = (136 - 3 * (3 - 1) - 1) / 2 + 1;
  EXPECT_EQ(out, 65);
  EXPECT_EQ(run.output_shape, (compiler::Shape{1, 72, out, out}));
  EXPECT_EQ(run.report.at("macs").at("useful"), 72 * out * out * 9);
  EXPECT_EQ(run.report.at("macs").at("useful"), 2737800);
  EXPECT_EQ(run.report.at("dram").at("by_kind").at("weights"), 72 * 9);
}

TEST_P(ClosedForm8, GroupedConvolutionMovesItsWeightsOnly) {
  const ConvolutionRun run = run_convolution("grouped", GetParam(), {1, 6, 9, 9}, {9, 2, 3, 3},
                                             {{"group", std::int64_t{3}}, {"pads", Ints{1, 1, 1, 1}}});
  EXPECT_EQ(run.output_shape, (compiler::Shape{1, 9, 9, 9}));
  EXPECT_EQ(run.report.at("macs").at("useful"), 9 * 9 * 9 * 2 * 9);
  EXPECT_EQ(run.report.at("macs").at("useful"), 13122);
  EXPECT_EQ(run.report.at("dram").at("by_kind").at("weights"), 9 * 2 * 9);  // 162 B; lanes of other groups are padding
}

std::string chip_name(const testing::TestParamInfo<const char*>& chip) { return chip.param; }

// The window of `tiny` cannot hold seven dilated rows (conv.window_bytes): the compiler refuses form 7 there. The two
// cores of j5 read weights once each (no multicast), so "each weight once" is a form for one core.
INSTANTIATE_TEST_SUITE_P(Chips, ClosedForm7, testing::Values("a1000"), chip_name);
INSTANTIATE_TEST_SUITE_P(Chips, ClosedForm8, testing::Values("tiny", "a1000"), chip_name);

}  // namespace
}  // namespace tessera::validation
