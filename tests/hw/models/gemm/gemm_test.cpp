#include <cstdint>
#include <optional>
#include <set>

#include "hw/common/random.hpp"
#include "hw/models/gemm/cost.hpp"
#include "hw/models/gemm/plan.hpp"
#include "tests/hw/models/plan_check.hpp"

namespace tessera::hw {
namespace {

constexpr auto kWeight = isa::GemmDataflow::weight_stationary;
constexpr auto kOutput = isa::GemmDataflow::output_stationary;

isa::Gemm product(std::int64_t m, std::int64_t n, std::int64_t k, isa::GemmDataflow dataflow) {
  isa::Gemm gemm;
  gemm.m = static_cast<std::uint16_t>(m);
  gemm.n = static_cast<std::uint16_t>(n);
  gemm.k = static_cast<std::uint16_t>(k);
  gemm.batch = 1;
  gemm.dataflow = dataflow;
  return gemm;
}

/// A, B, result and parameters in banks of their own.
isa::Gemm place(isa::Gemm gemm, isa::ChipConfig& chip) {
  const std::int64_t line = chip.sram.line_bytes;
  const auto set = [&](auto& pitch, auto& batch_pitch, std::int64_t rows, std::int64_t bytes) {
    pitch = static_cast<std::uint16_t>(ceil_div(bytes, line));
    batch_pitch = static_cast<std::uint32_t>(pitch * rows);
    return batch_pitch * gemm.batch * line;
  };
  const std::int64_t a = gemm.trans_a ? set(gemm.a_pitch, gemm.a_batch_pitch, gemm.k, gemm.m)
                                      : set(gemm.a_pitch, gemm.a_batch_pitch, gemm.m, gemm.k);
  const std::int64_t b = gemm.trans_b ? set(gemm.b_pitch, gemm.b_batch_pitch, gemm.n, gemm.k)
                                      : set(gemm.b_pitch, gemm.b_batch_pitch, gemm.k, gemm.n);
  const std::int64_t o = set(gemm.o_pitch, gemm.o_batch_pitch, gemm.m, gemm.n);
  const std::int64_t bank = round_up(std::max({a, b, o, std::int64_t{12} * gemm.n}), line);
  chip.sram.banks = 4;
  chip.sram.size_bytes = bank;
  gemm.a_base = 0;
  gemm.b_base = static_cast<std::uint32_t>(bank);
  gemm.o_base = static_cast<std::uint32_t>(2 * bank);
  gemm.p_base = static_cast<std::uint32_t>(3 * bank);
  return gemm;
}

/// A weight-stationary array, PE by PE: rows of A enter skewed from the left, sums leave at the bottom. Returns for
/// each row of A the cycle, counted from the first weight load, in which its last sum leaves, or -1.
std::vector<Cycles> simulate_fold(int rows, int cols, int m) {
  struct Pe {
    std::int64_t a = -1, sum = 0;  // `a`: row number of the value in flight
  };
  const auto weight = [](int r, int c) { return r * 7 + c * 3 + 1; };
  const auto value = [](std::int64_t row, int r) { return row * 5 - r * 2; };
  std::vector<std::vector<Pe>> array(static_cast<std::size_t>(rows), std::vector<Pe>(static_cast<std::size_t>(cols)));
  std::vector<Cycles> done(static_cast<std::size_t>(m), -1);
  for (Cycles cycle = rows; cycle < rows + m + rows + cols; ++cycle) {  // rows cycles of weight load lie before
    for (int r = rows - 1; r >= 0; --r) {
      for (int c = cols - 1; c >= 0; --c) {
        Pe& pe = array[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)];
        const std::int64_t entering = cycle - rows - r;
        pe.a = c > 0 ? array[static_cast<std::size_t>(r)][static_cast<std::size_t>(c - 1)].a
                     : (entering >= 0 && entering < m ? entering : -1);
        const std::int64_t above = r > 0 ? array[static_cast<std::size_t>(r - 1)][static_cast<std::size_t>(c)].sum : 0;
        pe.sum = pe.a < 0 ? 0 : above + value(pe.a, r) * weight(r, c);
        if (r == rows - 1 && c == cols - 1 && pe.a >= 0) {
          std::int64_t expected = 0;
          for (int i = 0; i < rows; ++i) expected += value(pe.a, i) * weight(i, c);
          EXPECT_EQ(pe.sum, expected) << "row " << pe.a;
          done[static_cast<std::size_t>(pe.a)] = cycle;
        }
      }
    }
  }
  return done;
}

TEST(GemmByHand, RowsLeaveWhenThePeArraySaysSo) {
  isa::ChipConfig chip = isa::load_chip("micro", {"gemm.fold_overlap=0"});
  const isa::Gemm gemm = place(product(6, 3, 4, kWeight), chip);
  const std::vector<Cycles> done = simulate_fold(4, 4, 6);
  EXPECT_EQ(done.back(), 6 + 2 * 4 + 4 - 2 - 1);
  const auto plan = make_gemm_plan(gemm, chip);
  const PlanCount count = walk(*plan, chip);
  std::vector<Cycles> writes;
  for (const auto& [cycle, access] : count.log) {
    if (access.write) writes.push_back(cycle - chip.sram.read_latency - chip.conv.pipeline_cycles);
  }
  EXPECT_EQ(writes, done);
  EXPECT_EQ(plan->length(), done.back() + 1 + 1 + 4);
  EXPECT_EQ(plan->array_cycles(), done.back());
}

TEST(GemmByHand, FoldsWithAndWithoutOverlap) {
  // 8 x 8 array, 20 x 16 x 24: 3 k tiles x 2 n tiles of 20 rows.
  isa::ChipConfig serial = isa::load_chip("tiny", {"gemm.fold_overlap=0"});
  isa::ChipConfig overlapped = isa::load_chip("tiny", {"gemm.fold_overlap=1"});
  const isa::Gemm gemm = place(product(20, 16, 24, kWeight), serial);
  place(gemm, overlapped);
  EXPECT_EQ(gemm_array_cycles(gemm, serial), 6 * (20 + 16 + 8 - 2) - 1);
  EXPECT_EQ(gemm_array_cycles(gemm, overlapped), 8 + 6 * 20 + 14 - 1);
  EXPECT_EQ(gemm_cycles(gemm, serial), 6 * 42 + serial.sram.read_latency + serial.conv.pipeline_cycles);
  // Fewer rows than R: the weight load of 8 cycles bounds the fold.
  const isa::Gemm thin = product(3, 16, 24, kWeight);
  EXPECT_EQ(gemm_array_cycles(thin, overlapped), 8 + 5 * 8 + 3 + 14 - 1);
  // Output-stationary: plain A passes the transposer, 8 cycles before the first step.
  const isa::Gemm output = product(20, 16, 24, kOutput);
  EXPECT_EQ(gemm_array_cycles(output, serial), 6 * (24 + 14) - 1);
  EXPECT_EQ(gemm_array_cycles(output, overlapped), 5 * 24 + 24 + 14 - 1);
  // Last M tile has 4 rows, written behind the last sum.
  EXPECT_EQ(gemm_cycles(output, serial), 8 + 6 * 38 + 4 + serial.sram.read_latency + serial.conv.pipeline_cycles);
  // K below R: the shadow plane of 8 rows must be empty before the next fold copies.
  EXPECT_EQ(gemm_array_cycles(product(16, 16, 3, kOutput), overlapped), 3 * 8 + 3 + 14 - 1);
}

TEST(GemmByHand, RowsAreCutByTheAccumulators) {
  isa::ChipConfig chip = isa::load_chip("tiny", {"gemm.fold_overlap=0"});  // 64 accumulator rows
  EXPECT_EQ(gemm_array_cycles(product(64, 8, 8, kWeight), chip), 64 + 22 - 1);
  EXPECT_EQ(gemm_array_cycles(product(65, 8, 8, kWeight), chip), 64 + 22 + 1 + 22 - 1);
}

TEST(GemmByHand, PortBoundFoldIsLonger) {
  // 48 columns do not divide a line of 128 bytes: a result row and a row of B may lie in two lines.
  isa::ChipConfig chip = isa::load_chip("a1000", {"gemm.fold_overlap=0", "gemm.cols=48"});
  EXPECT_EQ(gemm_array_cycles(product(100, 96, 64, kWeight), chip), 2 * (64 * 2 + 100 * 2 + 64 + 48 - 2) - 1);
}

TEST(GemmCheck, SaysWhy) {
  isa::ChipConfig chip = isa::load_chip("a1000", {"gemm.cols=32", "gemm.accumulator_rows=100"});
  isa::Gemm gemm = product(1, 1, 1, kWeight);
  gemm.trans_b = true;
  EXPECT_EQ(gemm_check(gemm, chip).value(), "trans_b needs a square array: the chip has 64 x 32");
  gemm.trans_b = false;
  gemm.trans_a = true;
  EXPECT_EQ(gemm_check(gemm, chip).value(),
            "trans_a needs gemm.accumulator_rows to be a multiple of gemm.rows, found 100 and 64");
  gemm.trans_a = false;
  gemm.m = 0;
  EXPECT_EQ(gemm_check(gemm, chip).value(), "gemm.m = 0: expected at least 1");
}

class GemmRandom : public ::testing::TestWithParam<const char*> {};

/// Lines of bytes [first, first + count) of a row.
template <typename Pitch, typename BatchPitch>
void slice(std::map<std::uint32_t, int>& lines, std::int64_t base, Pitch pitch, BatchPitch batch_pitch,
           std::int64_t batch, std::int64_t row, std::int64_t first, std::int64_t end, std::int64_t line_bytes) {
  for (std::int64_t l = first / line_bytes; l <= (end - 1) / line_bytes; ++l) {
    lines[static_cast<std::uint32_t>(base / line_bytes + batch * batch_pitch + row * pitch + l)]++;
  }
}

TEST_P(GemmRandom, EveryLineAsOftenAsTheFoldsSay) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    isa::ChipConfig chip = isa::load_chip(GetParam(), {});
    chip.gemm.fold_overlap = random.between(0, 1);
    const std::int64_t r = chip.gemm.rows;
    const std::int64_t c = chip.gemm.cols;
    isa::Gemm gemm = product(random.between(1, 3 * r), random.between(1, 3 * c), random.between(1, 3 * r),
                             random.chance(1, 2) ? kWeight : kOutput);
    gemm.batch = static_cast<std::uint16_t>(random.between(1, 2));
    gemm.trans_a = random.chance(1, 2);
    gemm.trans_b = random.chance(1, 2);
    gemm.per_column = random.chance(1, 2);
    chip.gemm.accumulator_rows = r * random.between(1, 2);
    gemm = place(gemm, chip);
    ASSERT_EQ(gemm_check(gemm, chip), std::nullopt);

    const bool weight = gemm.dataflow == kWeight;
    std::map<std::uint32_t, int> reads, writes;
    std::int64_t steps = 0;
    const std::int64_t line = chip.sram.line_bytes;
    for (std::int64_t batch = 0; batch < gemm.batch; ++batch) {
      const std::int64_t m_step = weight ? chip.gemm.accumulator_rows : r;
      for (std::int64_t m0 = 0; m0 < gemm.m; m0 += m_step) {
        const std::int64_t m1 = std::min<std::int64_t>(m0 + m_step, gemm.m);
        for (std::int64_t n0 = 0; n0 < gemm.n; n0 += c) {
          const std::int64_t n1 = std::min<std::int64_t>(n0 + c, gemm.n);
          for (std::int64_t k0 = 0; k0 < gemm.k; k0 += weight ? r : gemm.k) {
            const std::int64_t k1 = weight ? std::min<std::int64_t>(k0 + r, gemm.k) : gemm.k;
            steps += weight ? m1 - m0 : k1 - k0;
            // A: rows m of slices of k, or rows k of slices of m; slices are at most R wide.
            for (std::int64_t k = k0; k < k1; k += r) {
              for (std::int64_t m = m0; m < m1; m += r) {
                const std::int64_t k2 = std::min(k + r, k1), m2 = std::min(m + r, m1);
                for (std::int64_t i = gemm.trans_a ? k : m; i < (gemm.trans_a ? k2 : m2); ++i) {
                  slice(reads, gemm.a_base, gemm.a_pitch, gemm.a_batch_pitch, batch, i, gemm.trans_a ? m : k,
                        gemm.trans_a ? m2 : k2, line);
                }
              }
              const std::int64_t k2 = std::min(k + r, k1);
              for (std::int64_t i = gemm.trans_b ? n0 : k; i < (gemm.trans_b ? n1 : k2); ++i) {
                slice(reads, gemm.b_base, gemm.b_pitch, gemm.b_batch_pitch, batch, i, gemm.trans_b ? k : n0,
                      gemm.trans_b ? k2 : n1, line);
              }
            }
          }
          if (gemm.per_column) slice(reads, gemm.p_base, 0, 0, 0, 0, n0 * 12, n1 * 12, line);
          for (std::int64_t i = m0; i < m1; ++i) {
            slice(writes, gemm.o_base, gemm.o_pitch, gemm.o_batch_pitch, batch, i, n0, n1, line);
          }
        }
      }
    }
    const auto plan = make_gemm_plan(gemm, chip);
    const PlanCount count = walk(*plan, chip);
    EXPECT_EQ(count.reads, reads);
    EXPECT_EQ(count.writes, writes);
    EXPECT_EQ(plan->length(), gemm_cycles(gemm, chip));
    EXPECT_EQ(count.last_write, plan->length() - 1);
    EXPECT_EQ(plan->macs_issued(), steps * r * c);
    EXPECT_EQ(plan->array_cycles(), gemm_array_cycles(gemm, chip));
    EXPECT_GE(plan->array_cycles(), steps);
    expect_skipping_is_equal(*make_gemm_plan(gemm, chip), count, 11);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, GemmRandom, ::testing::Values("micro", "tiny", "j5"));

}  // namespace
}  // namespace tessera::hw
