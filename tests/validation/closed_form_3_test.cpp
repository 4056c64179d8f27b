// Closed form 3: systolic GEMM on a 32 x 32 array, operands always at hand, M = 256, N = 128, K = 256. Published
// results of SCALE-Sim: weight-stationary 11,199 cycles, output-stationary 10,175, folds not overlapped.
#include <gtest/gtest.h>

#include "hw/models/gemm/cost.hpp"
#include "hw/models/gemm/plan.hpp"

namespace tessera {
namespace {

isa::Gemm product(isa::GemmDataflow dataflow) {
  isa::Gemm gemm;
  gemm.dataflow = dataflow;
  gemm.m = 256;
  gemm.n = 128;
  gemm.k = 256;
  gemm.batch = 1;
  gemm.a_pitch = 2;  // rows of 256 bytes in lines of 128
  gemm.b_pitch = 1;
  gemm.o_pitch = 1;
  gemm.b_base = 256 * 256;
  gemm.o_base = 2 * 256 * 256;
  return gemm;
}

isa::ChipConfig chip(const char* overlap) { return isa::load_chip("a1000", {"gemm.rows=32", "gemm.cols=32", overlap}); }

constexpr Cycles kRows = 32, kCols = 32, kM = 256, kN = 128, kK = 256;
constexpr Cycles kWeightFolds = (kK / kRows) * (kN / kCols);
constexpr Cycles kOutputFolds = (kM / kRows) * (kN / kCols);

TEST(ClosedForm3, SerialFoldsAreThePublishedFigures) {
  const isa::ChipConfig serial = chip("gemm.fold_overlap=0");
  const Cycles weight = kWeightFolds * (kM + 2 * kRows + kCols - 2) - 1;
  const Cycles output = kOutputFolds * (kK + kRows + kCols - 2) - 1;
  EXPECT_EQ(weight, 11199);
  EXPECT_EQ(output, 10175);
  EXPECT_EQ(hw::make_gemm_plan(product(isa::GemmDataflow::weight_stationary), serial)->array_cycles(), weight);
  EXPECT_EQ(hw::make_gemm_plan(product(isa::GemmDataflow::output_stationary), serial)->array_cycles(), output);
}

TEST(ClosedForm3, OverlappedFoldsExposeOneLoadAndOneDrain) {
  const isa::ChipConfig overlapped = chip("gemm.fold_overlap=1");
  const Cycles weight = kRows + kWeightFolds * kM + kRows + kCols - 2 - 1;
  const Cycles output = kOutputFolds * kK + kRows + kCols - 2 - 1;
  EXPECT_EQ(weight, 8285);
  EXPECT_EQ(output, 8253);
  EXPECT_EQ(hw::gemm_array_cycles(product(isa::GemmDataflow::weight_stationary), overlapped), weight);
  EXPECT_EQ(hw::gemm_array_cycles(product(isa::GemmDataflow::output_stationary), overlapped), output);
}

}  // namespace
}  // namespace tessera
