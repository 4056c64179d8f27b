#include <set>

#include "hw/common/random.hpp"
#include "hw/models/reorder/cost.hpp"
#include "hw/models/reorder/plan.hpp"
#include "tests/hw/models/plan_check.hpp"

namespace tessera::hw {
namespace {

isa::Reorder copy(std::uint32_t src, std::uint32_t dst, int run) {
  isa::Reorder reorder;
  reorder.src_base = src;
  reorder.dst_base = dst;
  reorder.run_bytes = static_cast<std::uint16_t>(run);
  for (isa::ReorderDim& dim : reorder.dims) dim.count = 1;
  return reorder;
}

isa::ReorderDim loop(int count, int src_stride, int dst_stride) {
  isa::ReorderDim dim;
  dim.count = static_cast<std::uint16_t>(count);
  dim.src_stride = src_stride;
  dim.dst_stride = dst_stride;
  return dim;
}

struct Bytes {
  std::vector<std::pair<std::int64_t, std::int64_t>> steps;  // (source line, destination line)
  std::size_t reads = 0, writes = 0;
};

/// The copy byte by byte.
Bytes byte_by_byte(const isa::Reorder& r, std::int64_t line) {
  Bytes b;
  std::array<std::int64_t, 6> i{};
  for (i[0] = 0; i[0] < r.dims[0].count; ++i[0])
    for (i[1] = 0; i[1] < r.dims[1].count; ++i[1])
      for (i[2] = 0; i[2] < r.dims[2].count; ++i[2])
        for (i[3] = 0; i[3] < r.dims[3].count; ++i[3])
          for (i[4] = 0; i[4] < r.dims[4].count; ++i[4])
            for (i[5] = 0; i[5] < r.dims[5].count; ++i[5])
              for (std::int64_t byte = 0; byte < r.run_bytes; ++byte) {
                std::int64_t src = r.src_base + byte, dst = r.dst_base + byte;
                for (std::size_t d = 0; d < 6; ++d) {
                  src += i[d] * r.dims[d].src_stride;
                  dst += i[d] * r.dims[d].dst_stride;
                }
                const std::pair<std::int64_t, std::int64_t> step{r.fill ? 0 : src / line, dst / line};
                if (b.steps.empty() || b.steps.back() != step) b.steps.push_back(step);
              }
  for (std::size_t s = 0; s < b.steps.size(); ++s) {
    b.reads += !r.fill && (s == 0 || b.steps[s].first != b.steps[s - 1].first);
    b.writes += s + 1 == b.steps.size() || b.steps[s].second != b.steps[s + 1].second;
  }
  return b;
}

TEST(ReorderByHand, AlignedCopyIsOneLineACycle) {
  const isa::ChipConfig chip = isa::load_chip("tiny", {});  // lines of 8, latency 2, pipeline 2
  isa::Reorder reorder = copy(0, 8192, 32);
  reorder.dims[5] = loop(3, 64, 40);
  EXPECT_EQ(reorder_cycles(reorder, chip), 3 * 4 + 2 + 2);
  const auto plan = make_reorder_plan(reorder, chip);
  EXPECT_FALSE(plan->may_self_conflict());
  EXPECT_EQ(plan->banks(), 3u);
  const PlanCount count = walk(*plan, chip);
  ASSERT_EQ(count.log.size(), 24u);
  EXPECT_EQ(count.log[0].first, 0);
  EXPECT_EQ(count.log[4].second.line, 8u);  // the second row follows without a gap
  for (const auto& [cycle, access] : count.log) {
    if (access.write) {
      EXPECT_EQ(access.line, 1024u + (cycle - 4) / 4 * 5 + (cycle - 4) % 4) << "cycle " << cycle;
    }
  }
  EXPECT_EQ(count.last_write, 15);
}

TEST(ReorderByHand, ShiftedCopyTakesAStepForEachPair) {
  const isa::ChipConfig chip = isa::load_chip("tiny", {});
  // 16 bytes from offset 0 to offset 3: (0,0) (0,1) (1,1) (1,2): 4 steps, 2 reads, 3 writes.
  const isa::Reorder reorder = copy(0, 8192 + 3, 16);
  EXPECT_EQ(reorder_cycles(reorder, chip), 4 + 4);
  const PlanCount count = walk(*make_reorder_plan(reorder, chip), chip);
  std::vector<Cycles> reads, writes;
  for (const auto& [cycle, access] : count.log) (access.write ? writes : reads).push_back(cycle);
  EXPECT_EQ(reads, (std::vector<Cycles>{0, 2}));
  EXPECT_EQ(writes, (std::vector<Cycles>{4, 6, 7}));
}

TEST(ReorderByHand, FillReadsNothing) {
  const isa::ChipConfig chip = isa::load_chip("tiny", {});
  isa::Reorder reorder = copy(0, 8192, 4);
  reorder.fill = true;
  reorder.dims[5] = loop(4, 0, 4);
  EXPECT_EQ(reorder_cycles(reorder, chip), 2 + 4);
  const PlanCount count = walk(*make_reorder_plan(reorder, chip), chip);
  EXPECT_TRUE(count.reads.empty());
  EXPECT_EQ(count.writes.size(), 2u);
}

TEST(ReorderByHand, ByteTransposeCostsAStepAByte) {
  const isa::ChipConfig chip = isa::load_chip("tiny", {});
  // 8 x 8 bytes: each destination line gathers from 8 source lines.
  isa::Reorder reorder = copy(0, 8192, 1);
  reorder.dims[4] = loop(8, 1, 8);
  reorder.dims[5] = loop(8, 8, 1);
  EXPECT_EQ(reorder_cycles(reorder, chip), 64 + 4);
}

TEST(ReorderRandom, StepsAreThoseOfTheByteStream) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    isa::ChipConfig chip = isa::load_chip(seed % 3 == 0 ? "micro" : seed % 3 == 1 ? "tiny" : "a1000", {});
    const std::int64_t line = chip.sram.line_bytes;
    chip.sram.banks = 2;
    chip.sram.size_bytes = line << 24;
    const std::int64_t middle = line << 23;
    isa::Reorder reorder = copy(static_cast<std::uint32_t>(middle + random.between(0, line)),
                                static_cast<std::uint32_t>(chip.sram.size_bytes + middle + random.between(0, line)),
                                static_cast<int>(random.between(1, 3 * line)));
    reorder.fill = random.chance(1, 6);
    const bool packed = random.chance(1, 3);
    std::int64_t packed_stride = reorder.run_bytes;
    for (std::size_t d = 6; d-- > 3;) {
      const int count = static_cast<int>(random.between(1, d == 5 ? 40 : 5));
      const auto stride = [&] {
        switch (random.between(0, 2)) {
          case 0:
            return static_cast<int>(random.between(-3, 3) * line);
          case 1:
            return static_cast<int>(packed_stride);
          default:
            return static_cast<int>(random.between(-line, 2 * line));
        }
      };
      reorder.dims[d] = packed ? loop(count, static_cast<int>(packed_stride), static_cast<int>(packed_stride))
                               : loop(count, stride(), stride());
      packed_stride *= count;
    }
    const Bytes bytes = byte_by_byte(reorder, line);
    ASSERT_EQ(reorder_steps(reorder, chip), static_cast<std::int64_t>(bytes.steps.size()));
    const auto plan = make_reorder_plan(reorder, chip);
    EXPECT_EQ(plan->length(), reorder_cycles(reorder, chip));
    const PlanCount count = walk(*plan, chip);
    EXPECT_EQ(count.last_write, plan->length() - 1);
    std::size_t reads = 0, writes = 0;
    for (const auto& [cycle, access] : count.log) {
      const std::size_t step = static_cast<std::size_t>(
          access.write ? cycle - chip.sram.read_latency - chip.reorder.pipeline_cycles : cycle);
      ASSERT_LT(step, bytes.steps.size());
      EXPECT_EQ(access.line, access.write ? bytes.steps[step].second : bytes.steps[step].first);
      ++(access.write ? writes : reads);
    }
    EXPECT_EQ(reads, bytes.reads);
    EXPECT_EQ(writes, bytes.writes);
    expect_skipping_is_equal(*make_reorder_plan(reorder, chip), count, 13);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace tessera::hw
