#include <chrono>
#include <numeric>
#include <optional>

#include "conv_oracle.hpp"
#include "hw/common/random.hpp"
#include "hw/models/conv/cost.hpp"
#include "hw/models/conv/plan.hpp"
#include "isa/semantics/layout.hpp"
#include "tests/hw/models/plan_check.hpp"

namespace tessera::hw {
namespace {

isa::ChipConfig chip(const std::string& name) { return isa::load_chip(name, {}); }

/// A convolution with its operands behind one another, each in banks of its own.
isa::Conv place(isa::Conv conv, isa::ChipConfig& config) {
  const auto in = semantics::map_layout(conv.cin, conv.in_h, conv.in_w, config);
  const auto out = semantics::map_layout(conv.cout, conv.out_h, conv.out_w, config);
  const semantics::WeightLayout weights(semantics::conv_shape(conv), config);
  const std::int64_t bytes = std::max({in.bytes, out.bytes, weights.sram_bytes(), std::int64_t{12} * conv.cout});
  const std::int64_t bank = round_up(std::max(bytes, config.sram.line_bytes), config.sram.line_bytes);
  config.sram.size_bytes = bank;
  config.sram.banks = 5;
  conv.in = semantics::dense_tensor(0, in);
  conv.out = semantics::dense_tensor(bank, out);
  conv.residual = semantics::dense_tensor(2 * bank, out);
  conv.w_base = static_cast<std::uint32_t>(3 * bank);
  conv.p_base = static_cast<std::uint32_t>(4 * bank);
  return conv;
}

isa::Conv simple(int cin, int cout, int h, int w, int k) {
  isa::Conv conv;
  conv.cin = static_cast<std::uint16_t>(cin);
  conv.cout = static_cast<std::uint16_t>(cout);
  conv.in_h = conv.out_h = static_cast<std::uint16_t>(h);
  conv.in_w = conv.out_w = static_cast<std::uint16_t>(w);
  conv.kh = conv.kw = static_cast<std::uint8_t>(k);
  conv.pad_top = conv.pad_left = static_cast<std::uint8_t>(k / 2);
  return conv;
}

// micro: CI = CO = P = 2, two pixels of two channels a line of 4 bytes, read latency 1, pipeline 4.
TEST(ConvByHand, OneTile) {
  isa::ChipConfig config = chip("micro");
  isa::Conv conv = simple(2, 2, 1, 4, 1);
  conv.gx = 2;
  conv = place(conv, config);
  // Prologue: 2 window lines beside 1 weight line = 2. One slot: 2 steps, 24 parameter bytes = 6 lines: 6 cycles.
  // Drain 2 lines. Skew 1 + 4.
  EXPECT_EQ(conv_cycles(conv, config), 2 + 6 + 2 + 5);
  const auto plan = make_conv_plan(conv, config);
  const PlanCount count = walk(*plan, config);
  ASSERT_EQ(count.log.size(), 2u + 1u + 6u + 2u);
  EXPECT_EQ(count.log[count.log.size() - 2].first, 13);
  EXPECT_EQ(count.last_write, 14);
  EXPECT_EQ(plan->macs_issued(), 2 * 2 * 2 * 2);
}

TEST(ConvByHand, TwoPixelTilesOverlapDrainAndCompute) {
  isa::ChipConfig config = chip("micro");
  isa::Conv conv = simple(2, 2, 1, 8, 1);
  conv.gx = 2;
  conv = place(conv, config);
  // Tile 0: max(2 steps, 1 weight line of tile 1 + 6 parameter lines) = 7. Tile 1: max(2, 6) = 6.
  EXPECT_EQ(conv_cycles(conv, config), 2 + 7 + 6 + 2 + 5);
  const auto plan = make_conv_plan(conv, config);
  const PlanCount count = walk(*plan, config);
  // Drain of tile 0 from the start of tile 1 (cycle 9) plus skew 5: writes in 14 and 15, of tile 1 in 20 and 21.
  std::vector<Cycles> writes;
  for (const auto& [cycle, access] : count.log) {
    if (access.write) writes.push_back(cycle);
  }
  EXPECT_EQ(writes, (std::vector<Cycles>{14, 15, 20, 21}));
}

TEST(ConvByHand, ResidualIsReadOneLatencyBeforeItsWrite) {
  isa::ChipConfig config = chip("tiny");
  isa::Conv conv = simple(8, 8, 5, 7, 3);
  conv.gx = 2;
  conv.gy = 2;
  conv.has_residual = true;
  conv = place(conv, config);
  const auto plan = make_conv_plan(conv, config);
  const PlanCount count = walk(*plan, config);
  const std::uint32_t bank = static_cast<std::uint32_t>(config.sram.size_bytes / config.sram.line_bytes);
  std::vector<std::pair<Cycles, std::uint32_t>> residual, out;
  for (const auto& [cycle, access] : count.log) {
    if (access.write) out.emplace_back(cycle, access.line - bank);
    if (!access.write && access.line >= 2 * bank && access.line < 3 * bank) {
      residual.emplace_back(cycle + config.sram.read_latency, access.line - 2 * bank);
    }
  }
  EXPECT_EQ(residual, out);
  EXPECT_EQ(count.most_in_cycle, 4);
}

TEST(ConvByHand, PointwiseStrideTwoReadsOnlyUsedRowsAndNoBankTwice) {
  isa::ChipConfig config = chip("a1000");
  isa::Conv conv = simple(32, 32, 56, 56, 1);
  conv.sy = conv.sx = 2;
  conv.out_h = conv.out_w = 28;
  conv.gx = 3;
  conv.gy = 7;
  conv = place(conv, config);
  const auto plan = make_conv_plan(conv, config);
  const PlanCount count = walk(*plan, config);
  std::size_t reads = 0;
  for (const auto& [line, n] : count.reads) reads += line < 56 * 14 ? static_cast<std::size_t>(n) : 0;
  EXPECT_EQ(reads, 28u * 14u);  // every second row, all its lines, once
}

TEST(ConvByHand, StrideTwoMeetsInOneBank) {
  // 3x3 stride 2 on 12 x 1 lanes: the 4 pixels of a line lie in 2 banks, 2 and 2: two cycles a line.
  isa::ChipConfig config = chip("a1000");
  isa::Conv conv = simple(32, 32, 8, 48, 3);
  conv.sy = conv.sx = 2;
  conv.out_h = 4;
  conv.out_w = 24;
  conv.gx = 2;
  conv.gy = 4;
  conv = place(conv, config);
  // Padded column 0 is padding: the lines begin at padded columns 1, 5, 9 ..: pixels 1 | 2 3 | 4, so 2 cycles.
  // Prologue 8 rows x 12 lines x 2; 9 slots of max(8 steps, 8 weight lines), the first + 3 parameter lines, no next
  // tile behind the last; drain 4 x 6; skew 3 + 8.
  EXPECT_EQ(conv_cycles(conv, config), 8 * 12 * 2 + (8 + 3) + 8 * 8 + 24 + 11);
}

TEST(ConvClosedForm, StridedDilatedDepthwiseSteps) {
  // validation 7: 72 channels, 136 x 136, 3 x 3, stride 2, dilation 3, no padding: 65 x 65.
  isa::ChipConfig config = chip("a1000");
  isa::Conv conv = simple(72, 72, 136, 136, 3);
  conv.mode = isa::ConvMode::depthwise;
  conv.groups = 72;
  conv.pad_top = conv.pad_left = 0;
  conv.sy = conv.sx = 2;
  conv.dy = conv.dx = 3;
  conv.out_h = conv.out_w = 65;
  conv.gx = 2;
  conv.gy = 1;
  conv = place(conv, config);
  ASSERT_EQ(conv_check(conv, config), std::nullopt);
  const std::int64_t groups = 65 * ceil_div(65, 12);
  const ConvCost cost = conv_cost(conv, config);
  EXPECT_EQ(cost.compute_steps, groups * ceil_div(72, 32) * 3 * ceil_div(3, 4) * 2);
  EXPECT_EQ(cost.macs_issued, cost.compute_steps * 4 * 32 * 12);
  EXPECT_GE(cost.macs_issued, 2737800);
  // The lines of a c tile (9 x 32 bytes) are read once a phase, from one place: each weight lies in SRAM once.
  EXPECT_EQ(cost.weight_lines, cost.tiles * ceil_div(9 * 32, 128));
  const auto plan = make_conv_plan(conv, config);
  const PlanCount count = walk(*plan, config);
  const std::uint32_t w = conv.w_base / 128;
  for (std::uint32_t line = w; line < w + 9; ++line) EXPECT_EQ(count.reads.at(line), cost.tiles / 3);
}

TEST(ConvClosedForm, GroupedConvolution) {
  // validation 8: 6 -> 9 channels, 3 groups, 3 x 3, pad 1, 9 x 9.
  isa::ChipConfig config = chip("tiny");
  isa::Conv conv = simple(6, 9, 9, 9, 3);
  conv.groups = 3;
  conv.gx = 2;
  conv.gy = 4;
  conv = place(conv, config);
  ASSERT_EQ(conv_check(conv, config), std::nullopt);
  // Group 1 begins at input channel 2 and output channel 3: one block of input, but blocks 0 and 1 of output.
  const semantics::WeightLayout weights(semantics::conv_shape(conv), config);
  EXPECT_EQ(weights.cout_tiles(0) + weights.cout_tiles(1) + weights.cout_tiles(2), 1 + 2 + 2);
  const ConvCost cost = conv_cost(conv, config);
  EXPECT_EQ(cost.compute_steps, (9 * 5) * 9 * (1 + 2 + 2));
  EXPECT_EQ(cost.cycles, oracle::Oracle(conv, config).cycles());
  EXPECT_EQ(81 * 9 * (6 / 3) * 9, 13122);
}

TEST(ConvCheck, SaysWhy) {
  isa::ChipConfig config = chip("a1000");
  isa::Conv conv = simple(64, 64, 56, 56, 3);
  conv.gx = 5;
  conv.gy = 7;
  EXPECT_EQ(conv_check(conv, config).value(), "conv.gx*gy*t = 35: expected at most conv.accumulators = 32");
  conv.gx = 2;
  conv.gy = 16;
  // Fullest bank: columns 0, 12, 24 of 26, 18 rows: 3 x 18 entries x 12 banks x 32 bytes.
  EXPECT_EQ(conv_check(conv, config).value(), "the window of a tile takes 20736 bytes: conv.window_bytes is 18432");
  conv.gy = 14;
  EXPECT_EQ(conv_window_bytes(conv, config), 3 * 16 * 12 * 32);
  EXPECT_EQ(conv_check(conv, config), std::nullopt);
  conv.groups = 3;
  EXPECT_EQ(conv_check(conv, config).value(), "conv.groups = 3: expected a divisor of cin = 64 and cout = 64");
  conv.groups = 1;
  conv.mode = isa::ConvMode::fold;
  conv.fold = 1;
  EXPECT_EQ(conv_check(conv, config).value(),
            "conv.fold = 1: expected at least 1 and fold x cin (64) at most conv.cin_lanes = 32");
  conv.mode = isa::ConvMode::depthwise;
  EXPECT_EQ(conv_check(conv, config).value(),
            "conv.groups = 1: expected cin = cout = groups in depthwise mode, cin is 64 and cout 64");
  conv.mode = isa::ConvMode::dense;
  conv.a_int16 = true;
  EXPECT_EQ(conv_check(conv, config).value(), "conv.a_int16 = 1: expected 0; int16 activations are not supported yet");
  conv.a_int16 = false;
  conv.sx = 0;
  EXPECT_EQ(conv_check(conv, config).value(), "conv.sx = 0: expected at least 1");
  conv.sx = 1;
  conv.pixel_shape = 2;
  EXPECT_EQ(conv_check(conv, config).value(),
            "conv.pixel_shape = 2: expected an index into the 2 entries of conv.pixel_shapes");
}

std::optional<isa::Conv> random_conv(Random& random, const isa::ChipConfig& config) {
  const auto pick = [&](std::int64_t low, std::int64_t high) { return random.between(low, high); };
  isa::Conv conv;
  conv.mode = static_cast<isa::ConvMode>(pick(0, 2));
  conv.order = static_cast<isa::ConvOrder>(pick(0, 1));
  conv.pixel_shape = static_cast<std::uint8_t>(pick(0, std::int64_t(config.conv.pixel_shapes.size()) - 1));
  conv.kh = static_cast<std::uint8_t>(pick(1, 4));
  conv.kw = static_cast<std::uint8_t>(pick(1, 4));
  conv.sy = static_cast<std::uint8_t>(pick(1, 3));
  conv.sx = static_cast<std::uint8_t>(pick(1, 3));
  conv.dy = static_cast<std::uint8_t>(pick(1, 2));
  conv.dx = static_cast<std::uint8_t>(pick(1, 2));
  conv.pad_top = static_cast<std::uint8_t>(pick(0, 2));
  conv.pad_left = static_cast<std::uint8_t>(pick(0, 2));
  conv.out_h = static_cast<std::uint16_t>(pick(1, 9));
  conv.out_w = static_cast<std::uint16_t>(pick(1, 30));
  const std::int64_t rows = (conv.out_h - 1) * conv.sy + (conv.kh - 1) * conv.dy + 1;
  const std::int64_t columns = (conv.out_w - 1) * conv.sx + (conv.kw - 1) * conv.dx + 1;
  conv.in_h = static_cast<std::uint16_t>(std::max<std::int64_t>(1, rows - conv.pad_top - pick(-1, 2)));
  conv.in_w = static_cast<std::uint16_t>(std::max<std::int64_t>(1, columns - conv.pad_left - pick(-1, 2)));
  conv.gx = static_cast<std::uint8_t>(pick(1, 4));
  conv.gy = static_cast<std::uint8_t>(pick(1, 4));
  conv.t = static_cast<std::uint8_t>(conv.mode == isa::ConvMode::depthwise ? 1 : pick(1, 4));
  conv.has_residual = random.chance(1, 3);
  const std::int64_t lanes = std::max(config.conv.cin_lanes, config.conv.cout_lanes);
  switch (conv.mode) {
    case isa::ConvMode::dense:
      conv.groups = static_cast<std::uint16_t>(random.chance(1, 3) ? pick(2, 4) : 1);
      conv.cin = static_cast<std::uint16_t>(conv.groups * pick(1, 3 * lanes / conv.groups));
      conv.cout = static_cast<std::uint16_t>(conv.groups * pick(1, 3 * lanes / conv.groups));
      break;
    case isa::ConvMode::depthwise:
      conv.cin = conv.cout = conv.groups = static_cast<std::uint16_t>(pick(1, 3 * lanes));
      break;
    case isa::ConvMode::fold:
      conv.cin = static_cast<std::uint16_t>(pick(1, config.conv.cin_lanes));
      conv.cout = static_cast<std::uint16_t>(pick(1, 3 * lanes));
      conv.fold = static_cast<std::uint8_t>(pick(1, semantics::max_fold(conv.cin, conv.kw, config)));
      break;
  }
  if (conv_check(conv, config)) return std::nullopt;
  return conv;
}

class ConvRandom : public ::testing::TestWithParam<const char*> {};

TEST_P(ConvRandom, PlanAgreesWithOracle) {
  int done = 0;
  for (std::uint64_t seed = 1; done < 200; ++seed) {
    ASSERT_LT(seed, 5000u);
    Random random(seed);
    isa::ChipConfig config = chip(GetParam());
    const std::optional<isa::Conv> made = random_conv(random, config);
    if (!made) continue;
    ++done;
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const isa::Conv conv = place(*made, config);
    ASSERT_EQ(conv_check(conv, config), std::nullopt);
    const oracle::Oracle oracle(conv, config);
    const auto plan = make_conv_plan(conv, config);
    const ConvCost cost = conv_cost(conv, config);
    ASSERT_EQ(plan->length(), oracle.cycles());
    ASSERT_EQ(conv_cycles(conv, config), plan->length());
    EXPECT_EQ(cost.cycles, plan->length());
    EXPECT_EQ(cost.macs_issued, plan->macs_issued());
    EXPECT_FALSE(plan->may_self_conflict());
    const PlanCount count = walk(*plan, config);
    EXPECT_EQ(count.last_write, plan->length() - 1);

    const std::uint32_t line_bytes = static_cast<std::uint32_t>(config.sram.line_bytes);
    const std::uint32_t bank = static_cast<std::uint32_t>(config.sram.size_bytes) / line_bytes;
    const auto map_line = [&](const isa::SramTensor& t, const std::array<int, 3>& l) {
      return static_cast<std::uint32_t>(semantics::row_address(t, config, l[0], l[1]) / line_bytes + l[2]);
    };
    // Every output line is written as often as tiles hold a part of it, and nothing else is.
    std::map<std::uint32_t, int> writes;
    for (const auto& [line, times] : oracle.writes) writes[map_line(conv.out, line)] = times;
    EXPECT_EQ(count.writes, writes);
    // Window lines: once for each phase that needs another window than the phase before.
    std::map<std::uint32_t, int> reads;
    std::int64_t weight_lines = 0;
    ConvLimits limits;
    for (std::size_t p = 0; p < oracle.phases.size(); ++p) {
      const oracle::Phase& phase = oracle.phases[p];
      std::vector<std::array<int, 3>> lines;
      if (p == 0 || !(oracle.phases[p - 1].window == phase.window)) limits.window += oracle.fill(phase.window, &lines);
      limits.array += phase.steps * static_cast<Cycles>(phase.weights.size());
      if (phase.first) limits.weights += std::accumulate(phase.params.begin(), phase.params.end(), Cycles{0});
      if (phase.last) limits.drain += phase.drain;
      for (const auto& line : lines) reads[map_line(conv.in, line)]++;
      for (const auto& slot : phase.weights) {
        weight_lines += static_cast<std::int64_t>(slot.size());
        for (const int line : slot) reads[3 * bank + static_cast<std::uint32_t>(line)]++;
      }
    }
    EXPECT_EQ(cost.weight_lines, weight_lines);
    limits.weights += weight_lines;
    const ConvLimits found = conv_limits(conv, config);
    EXPECT_EQ(found.array, limits.array);
    EXPECT_EQ(found.window, limits.window);
    EXPECT_EQ(found.weights, limits.weights);
    EXPECT_EQ(found.drain, limits.drain);
    EXPECT_LE(found.most(), cost.cycles) << found.longest();
    for (const auto& [line, times] : count.reads) {
      if (line < bank || (line >= 3 * bank && line < 4 * bank)) {
        EXPECT_EQ(reads[line], times) << "line " << line;
        reads.erase(line);
      }
    }
    EXPECT_TRUE(reads.empty()) << reads.size() << " needed lines are never read";
    expect_skipping_is_equal(*make_conv_plan(conv, config), count, 7);
    expect_skipping_is_equal(*make_conv_plan(conv, config), count, 131);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST_P(ConvRandom, NothingIsUsedBeforeItIsRead) {
  int done = 0;
  for (std::uint64_t seed = 1000; done < 60; ++seed) {
    ASSERT_LT(seed, 9000u);
    Random random(seed);
    isa::ChipConfig config = chip(GetParam());
    const std::optional<isa::Conv> made = random_conv(random, config);
    if (!made || made->groups > 1) continue;
    ++done;
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const isa::Conv conv = place(*made, config);
    const PlanCount count = walk(*make_conv_plan(conv, config), config);
    std::map<std::uint32_t, Cycles> first_read, first_write;
    for (const auto& [cycle, access] : count.log) (access.write ? first_write : first_read).emplace(access.line, cycle);
    const std::int64_t line_bytes = config.sram.line_bytes;
    const std::int64_t pixels = line_bytes / config.layout.channel_block;
    const std::int64_t blocks = ceil_div<std::int64_t>(conv.cin, config.layout.channel_block);
    for (std::int64_t oy = 0; oy < conv.out_h; ++oy) {
      for (std::int64_t ox = 0; ox < conv.out_w; ++ox) {
        const auto out = semantics::row_address(conv.out, config, 0, oy) / line_bytes + ox / pixels;
        const Cycles written = first_write.at(static_cast<std::uint32_t>(out));
        for (std::int64_t tap = 0; tap < conv.kh * conv.kw; ++tap) {
          const std::int64_t y = oy * conv.sy + tap / conv.kw * conv.dy - conv.pad_top;
          const std::int64_t x = ox * conv.sx + tap % conv.kw * conv.dx - conv.pad_left;
          if (y < 0 || y >= conv.in_h || x < 0 || x >= conv.in_w) continue;
          for (std::int64_t block = 0; block < blocks; ++block) {
            const auto line = semantics::row_address(conv.in, config, block, y) / line_bytes + x / pixels;
            const auto read = first_read.find(static_cast<std::uint32_t>(line));
            ASSERT_NE(read, first_read.end()) << "input line " << line << " is needed and never read";
            EXPECT_LT(read->second + config.sram.read_latency + config.conv.pipeline_cycles, written);
          }
        }
      }
    }
  }
}

TEST(ConvPlan, CircularRowsWrap) {
  isa::ChipConfig config = chip("tiny");
  isa::Conv conv = simple(4, 4, 6, 4, 3);
  conv.pad_top = 0;
  conv.out_h = 4;
  conv.gx = 2;
  conv.gy = 4;
  conv = place(conv, config);
  conv.in.wrap_rows = 6;
  conv.in.first_row = 4;
  const auto plan = make_conv_plan(conv, config);
  const PlanCount count = walk(*plan, config);
  // Row 0 lies in buffer row 4, row 2 in buffer row 0; rows are 2 lines.
  EXPECT_EQ(count.log[0].second.line, 8u);
  EXPECT_EQ(count.writes.size(), 8u);
  for (std::uint32_t line = 0; line < 12; ++line) EXPECT_EQ(count.reads.count(line), 1u);
}

TEST(ConvPlan, OperandsInOneBankMayConflict) {
  isa::ChipConfig config = chip("tiny");
  isa::Conv conv = simple(4, 4, 4, 4, 1);
  conv.gx = 2;
  conv = place(conv, config);
  EXPECT_FALSE(make_conv_plan(conv, config)->may_self_conflict());
  config.sram.size_bytes *= 5;
  const auto plan = make_conv_plan(conv, config);
  EXPECT_TRUE(plan->may_self_conflict());
  EXPECT_EQ(plan->banks(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Chips, ConvRandom, ::testing::Values("micro", "tiny", "a1000", "j5"));

}  // namespace
}  // namespace tessera::hw
