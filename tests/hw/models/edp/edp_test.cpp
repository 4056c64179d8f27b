#include <set>

#include "hw/common/random.hpp"
#include "hw/models/edp/cost.hpp"
#include "hw/models/edp/plan.hpp"
#include "isa/semantics/layout.hpp"
#include "tests/hw/models/plan_check.hpp"

namespace tessera::hw {
namespace {

bool pooled(const isa::Edp& edp) { return edp.mode != isa::EdpMode::elementwise; }

/// Operands in banks of their own: a, b, out, constants.
isa::Edp place(isa::Edp edp, isa::ChipConfig& chip) {
  const auto a = semantics::map_layout(edp.c, pooled(edp) ? edp.in_h : edp.h, pooled(edp) ? edp.in_w : edp.w, chip);
  const auto out = semantics::map_layout(edp.c, edp.h, edp.w, chip);
  const auto b = edp.b_broadcast == 1 ? semantics::map_layout(edp.c, 1, 1, chip) : out;
  const std::int64_t bank = round_up(std::max({a.bytes, out.bytes, std::int64_t{4096}}), chip.sram.line_bytes);
  chip.sram.banks = 4;
  chip.sram.size_bytes = bank;
  edp.a = semantics::dense_tensor(0, a);
  edp.b = semantics::dense_tensor(bank, b);
  edp.out = semantics::dense_tensor(2 * bank, out);
  edp.p_base = static_cast<std::uint32_t>(3 * bank);
  for (isa::EdpStage& stage : edp.stages) stage.table_base = static_cast<std::uint32_t>(3 * bank + 2048);
  return edp;
}

isa::Edp map(int c, int h, int w) {
  isa::Edp edp;
  edp.c = static_cast<std::uint16_t>(c);
  edp.h = static_cast<std::uint16_t>(h);
  edp.w = static_cast<std::uint16_t>(w);
  return edp;
}

TEST(EdpByHand, AddReadsTwoLinesAndWritesOneACycle) {
  isa::ChipConfig chip = isa::load_chip("tiny", {});  // 4 channels x 2 pixels, latency 2, pipeline 6
  isa::Edp edp = map(5, 3, 7);
  edp.has_b = true;
  edp.stages[0].op = isa::EdpOp::add;
  edp = place(edp, chip);
  const std::int64_t lines = 2 * 3 * 4;
  EXPECT_EQ(edp_cycles(edp, chip), lines + 8);
  EXPECT_EQ(edp_elements_issued(edp, chip), lines * 8);
  const auto plan = make_edp_plan(edp, chip);
  const PlanCount count = walk(*plan, chip);
  EXPECT_EQ(count.last_write, plan->length() - 1);
  EXPECT_EQ(count.log.size(), 3u * lines);
  EXPECT_EQ(count.most_in_cycle, 3);
  for (const auto& [line, times] : count.writes) EXPECT_EQ(times, 1);
  EXPECT_EQ(count.writes.size(), 24u);
}

TEST(EdpByHand, FewerLanesThanALineTakeLonger) {
  isa::ChipConfig chip = isa::load_chip("tiny", {});
  chip.edp.lanes = 3;  // a line of 8 takes 3 cycles
  const isa::Edp edp = place(map(4, 2, 4), chip);
  EXPECT_EQ(edp_cycles(edp, chip), 4 * 3 + 8);
  const PlanCount count = walk(*make_edp_plan(edp, chip), chip);
  EXPECT_EQ(count.log[0].first, 0);
  EXPECT_EQ(count.log[1].first, 3);
  EXPECT_EQ(count.last_write, 4 * 3 + 8 - 1);
}

TEST(EdpByHand, BroadcastOperandIsReadOnceABlock) {
  isa::ChipConfig chip = isa::load_chip("tiny", {});
  isa::Edp edp = map(12, 3, 4);
  edp.has_b = true;
  edp.b_broadcast = 1;
  edp.stages[0].op = isa::EdpOp::mul;
  edp = place(edp, chip);
  const PlanCount count = walk(*make_edp_plan(edp, chip), chip);
  EXPECT_EQ(count.reads.size(), 3u * 3 * 2 + 3);
}

TEST(EdpByHand, TableIsReadBeforeTheData) {
  isa::ChipConfig chip = isa::load_chip("tiny", {});
  isa::Edp edp = map(4, 1, 2);
  edp.stages[0].op = isa::EdpOp::table;
  edp = place(edp, chip);
  EXPECT_EQ(edp_cycles(edp, chip), 256 / 8 + 1 + 8);
  const PlanCount count = walk(*make_edp_plan(edp, chip), chip);
  EXPECT_EQ(count.log[31].second.line, edp.stages[0].table_base / 8 + 31);
  EXPECT_EQ(count.log[32].second.line, 0u);
}

TEST(EdpByHand, GlobalAverageReadsAllAndWritesALineABlock) {
  isa::ChipConfig chip = isa::load_chip("a1000", {});
  isa::Edp edp = map(2048, 1, 1);
  edp.mode = isa::EdpMode::global_average;
  edp.in_h = edp.in_w = 7;
  edp = place(edp, chip);
  // One line of parameters, then 64 blocks of 7 rows of 2 lines; read latency 3, pipeline 8.
  EXPECT_EQ(edp_cycles(edp, chip), 1 + 64 * 14 + 11);
  const auto plan = make_edp_plan(edp, chip);
  const PlanCount count = walk(*plan, chip);
  EXPECT_EQ(count.writes.size(), 64u);
  EXPECT_EQ(count.reads.size(), 64u * 14 + 1);
  EXPECT_EQ(count.last_write, plan->length() - 1);
}

TEST(EdpByHand, MaxPoolReadsTheLinesOfItsWindow) {
  // ResNet's 3 x 3 stride 2 pad 1 pool: an output line of 4 pixels needs columns -1..7 of 3 rows: 2 lines at the left
  // edge, 3 elsewhere; 2 rows at the top.
  isa::ChipConfig chip = isa::load_chip("a1000", {});
  isa::Edp edp = map(32, 56, 56);
  edp.mode = isa::EdpMode::max_pool;
  edp.in_h = edp.in_w = 112;
  edp.kh = edp.kw = 3;
  edp.sy = edp.sx = 2;
  edp.dy = edp.dx = 1;
  edp.pad_top = edp.pad_left = 1;
  edp = place(edp, chip);
  EXPECT_EQ(edp_cycles(edp, chip), (2 + 55 * 3) * (2 + 13 * 3) + 11);
}

TEST(EdpRandom, PoolingReadsExactlyTheLinesOfExistingTaps) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    isa::ChipConfig chip = isa::load_chip(seed % 3 == 0 ? "micro" : seed % 3 == 1 ? "tiny" : "j5", {});
    const auto pick = [&](int low, int high) { return static_cast<std::uint8_t>(random.between(low, high)); };
    isa::Edp edp = map(pick(1, 20), pick(1, 8), pick(1, 20));
    const int mode = pick(0, 3);
    edp.mode = static_cast<isa::EdpMode>(mode);
    if (edp.mode == isa::EdpMode::global_average) edp.h = edp.w = 1;
    edp.kh = pick(1, 4);
    edp.kw = pick(1, 4);
    edp.sy = pick(1, 3);
    edp.sx = pick(1, 3);
    edp.dy = edp.dx = 1;
    if (edp.mode == isa::EdpMode::max_pool) {
      edp.dy = pick(1, 3);
      edp.dx = 1;
    }
    edp.pad_top = pick(0, 3);
    edp.pad_left = pick(0, 3);
    edp.in_h = static_cast<std::uint16_t>(random.between(1, edp.h * edp.sy + 3));
    edp.in_w = static_cast<std::uint16_t>(random.between(1, edp.w * edp.sx + 3));
    edp.has_b = random.chance(1, 3);
    edp.b_broadcast = pick(0, 1);
    if (random.chance(1, 4)) edp.stages[0].op = isa::EdpOp::table;
    edp = place(edp, chip);
    const auto plan = make_edp_plan(edp, chip);
    const PlanCount count = walk(*plan, chip);
    EXPECT_EQ(plan->length(), edp_cycles(edp, chip));
    EXPECT_EQ(count.last_write, plan->length() - 1);
    EXPECT_EQ(plan->macs_issued(), edp_elements_issued(edp, chip));

    // Lines of a that some output line needs, counted tap by tap; the range of lines of a row has no gap.
    const std::int64_t line = chip.sram.line_bytes;
    const std::int64_t pixels = line / chip.layout.channel_block;
    const std::int64_t blocks = ceil_div<std::int64_t>(edp.c, chip.layout.channel_block);
    std::map<std::uint32_t, int> reads, writes;
    for (std::int64_t block = 0; block < blocks; ++block) {
      for (std::int64_t row = 0; row < edp.h; ++row) {
        for (std::int64_t l = 0; l < ceil_div<std::int64_t>(edp.w, pixels); ++l) {
          std::set<std::int64_t> rows, lines;
          if (edp.mode == isa::EdpMode::elementwise) {
            rows.insert(row);
            lines.insert(l);
          } else if (edp.mode == isa::EdpMode::global_average) {
            for (std::int64_t y = 0; y < edp.in_h; ++y) rows.insert(y);
            for (std::int64_t x = 0; x < edp.in_w; ++x) lines.insert(x / pixels);
          } else {
            for (std::int64_t ky = 0; ky < edp.kh; ++ky) {
              const std::int64_t y = row * edp.sy + ky * edp.dy - edp.pad_top;
              if (y >= 0 && y < edp.in_h) rows.insert(y);
            }
            const std::int64_t end = std::min<std::int64_t>((l + 1) * pixels, edp.w);
            for (std::int64_t x = l * pixels * edp.sx; x <= (end - 1) * edp.sx + edp.kw - 1; ++x) {
              if (x >= edp.pad_left && x < edp.pad_left + edp.in_w) lines.insert((x - edp.pad_left) / pixels);
            }
          }
          for (const std::int64_t y : rows) {
            for (const std::int64_t x : lines) {
              reads[static_cast<std::uint32_t>(semantics::row_address(edp.a, chip, block, y) / line + x)]++;
            }
          }
          writes[static_cast<std::uint32_t>(semantics::row_address(edp.out, chip, block, row) / line + l)]++;
        }
      }
    }
    const std::uint32_t bank = static_cast<std::uint32_t>(chip.sram.size_bytes / line);
    std::map<std::uint32_t, int> found;
    std::size_t b_reads = 0;
    for (const auto& [at, times] : count.reads) {
      if (at < bank) found[at] = times;
      if (at >= bank && at < 2 * bank) b_reads += static_cast<std::size_t>(times);
    }
    EXPECT_EQ(found, reads);
    EXPECT_EQ(count.writes, writes);
    EXPECT_EQ(b_reads, !edp.has_b ? 0u : edp.b_broadcast == 1 ? static_cast<std::size_t>(blocks) : writes.size());
    expect_skipping_is_equal(*make_edp_plan(edp, chip), count, 9);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace tessera::hw
