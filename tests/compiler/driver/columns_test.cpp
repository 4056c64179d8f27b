// Imports of NCHW images: columns as channels on strides, widths, pads and kernels of all kinds, rows placed by
// REORDER; values, steps in closed form, and when it is chosen.
#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/driver/compile.hpp"
#include "compiler/schedule/conv_modes.hpp"
#include "compiler/schedule/import_plan.hpp"
#include "hw/common/units.hpp"
#include "hw/models/load/cost.hpp"
#include "hw/models/reorder/cost.hpp"
#include "isa/semantics/dma.hpp"
#include "random_graph.hpp"
#include "run_program.hpp"

namespace tessera::compiler {
namespace {

using testing::QBuilder;

isa::Program compiled(const QGraph& graph, const isa::ChipConfig& chip, ScheduleKind kind, bool timing_only = false) {
  CompileOptions options;
  options.schedule = kind;
  options.timing_only = timing_only;
  return compile(graph, chip, options).program;
}

/// Columns as channels that the only convolution of the graph gets.
std::int64_t columns_of(const QGraph& graph, const isa::ChipConfig& chip, bool nhwc = false) {
  LayerGraph layers = build_layers(graph, chip);
  UnitCost cost(chip);
  choose_modes(layers, cost, nhwc);
  for (const Layer& layer : layers.layers) {
    if (layer.kind == LayerKind::conv) return layer.columns;
  }
  return 0;
}

QGraph one_conv(std::int64_t batch, std::int64_t channels, std::int64_t h, std::int64_t w, std::int64_t cout,
                const QBuilder::Window& window, std::uint64_t seed) {
  QBuilder b(seed);
  b.output(b.conv(b.input(batch, channels, h, w), cout, window));
  return b.graph;
}

void expect_values(const std::string& chip_name, const std::vector<std::string>& settings, std::uint64_t first,
                   std::uint64_t graphs, std::int64_t most_channels, std::uint64_t least_narrow) {
  const isa::ChipConfig chip = isa::load_chip(chip_name, settings);
  std::uint64_t narrow = 0, odd = 0;
  for (std::uint64_t seed = first; seed < first + graphs; ++seed) {
    Random random(seed);
    QBuilder::Window k;
    k.sx = static_cast<int>(random.between(2, 4));
    k.sy = static_cast<int>(random.between(1, 4));
    k.kw = static_cast<int>(random.between(1, 11));
    k.kh = static_cast<int>(random.between(1, 5));
    k.dx = random.chance(1, 6) ? 2 : 1;
    k.pad_left = static_cast<int>(random.between(0, k.kw - 1));
    k.pad_right = static_cast<int>(random.between(0, k.kw - 1));
    k.pad_top = static_cast<int>(random.between(0, k.kh - 1));
    k.pad_bottom = static_cast<int>(random.between(0, k.kh - 1));
    const std::int64_t w = random.between((k.kw - 1) * k.dx + 1, 40), h = random.between(k.kh, 13);
    QBuilder b(seed);
    const int in = b.input(random.chance(1, 4) ? 2 : 1, random.between(1, most_channels), h, w);
    int x = b.conv(in, random.between(1, 40), k);
    if (random.chance(1, 3)) x = b.conv(x, 6, {});
    b.output(x);
    const std::int64_t columns = columns_of(b.graph, chip);
    narrow += columns > 1 ? 1 : 0;
    odd += columns > 1 && w % columns != 0 ? 1 : 0;
    for (const ScheduleKind kind : {ScheduleKind::naive, ScheduleKind::layer, ScheduleKind::fused}) {
      testing::expect_program_computes(b.graph, compiled(b.graph, chip, kind), chip,
                                       testing::random_inputs(b.graph, seed), seed);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
  EXPECT_GE(narrow, least_narrow);
  EXPECT_GE(odd, least_narrow / 4);
}

TEST(Columns, TinyEqualsTheGraph) { expect_values("tiny", {}, 1, 40, 2, 10); }
TEST(Columns, SmallSramEqualsTheGraph) { expect_values("tiny", {"sram.size_bytes=2048"}, 101, 40, 2, 10); }
TEST(Columns, LinesOf32ChannelsEqualTheGraph) { expect_values("a1000", {}, 201, 25, 8, 10); }
TEST(Columns, TwoCoresEqualTheGraph) { expect_values("j5", {}, 301, 10, 3, 3); }

/// What imports by REORDER cost: LOAD's pieces of raw rows, REORDER's steps.
struct ImportSteps {
  std::int64_t load = 0, reorder = 0;
};
ImportSteps import_steps(const isa::Program& program, const isa::ChipConfig& chip) {
  ImportSteps steps;
  for (const isa::Section& section : program.sections) {
    for (const isa::QueueStream& stream : section.streams) {
      for (std::size_t at = 0, i = 0; at < stream.words.size(); ++i) {
        const isa::DecodeResult decoded = isa::decode(stream.words.data() + at, stream.words.size() - at);
        at += static_cast<std::size_t>(decoded.words);
        const auto& body = decoded.instruction.body;
        if (const auto* reorder = std::get_if<isa::Reorder>(&body)) steps.reorder += hw::reorder_steps(*reorder, chip);
        if (const auto* load = std::get_if<isa::Load>(&body);
            load != nullptr && stream.info[i].kind == isa::Traffic::input) {
          steps.load += hw::load_cost(semantics::dma_shape(*load), hw::DmaConfig{}).lines;
        }
      }
    }
  }
  return steps;
}

// 32 columns of 3 channels lie in a line: REORDER has all bytes of a line of the map in one, and writes it once. A line
// of the map holds 4 pixels: 4 columns, or 4 times as many as are channels.
TEST(Columns, ReorderWritesEachLineOfTheMapOnce) {
  const isa::ChipConfig chip = isa::load_chip("a1000");
  for (const auto& [stride, width, height] :
       {std::array{2, 224, 64}, std::array{2, 640, 40}, std::array{4, 224, 60}, std::array{1, 96, 50}}) {
    for (const ScheduleKind kind : {ScheduleKind::layer, ScheduleKind::fused}) {
      QBuilder::Window k;
      k.kh = k.kw = 7;
      k.sy = k.sx = stride;
      k.pad_top = k.pad_left = k.pad_bottom = k.pad_right = 3;
      QGraph graph = one_conv(1, 3, height, width, 32, k, 5);
      ASSERT_EQ(columns_of(graph, chip), stride);
      const ImportSteps with = import_steps(compiled(graph, chip, kind, true), chip);
      EXPECT_EQ(with.reorder, height * ceil_div(width, 4 * stride)) << width << "/" << stride;
      EXPECT_EQ(with.load, 3 * height * width / 32) << width << "/" << stride;
      graph.nodes[0].apart = true;
      const ImportSteps without = import_steps(compiled(graph, chip, kind, true), chip);
      EXPECT_EQ(without.reorder, height * width / 4) << width << "/" << stride;
    }
  }
}

// Images of any number of channels and any width, whole maps and line buffers, chips of one and two cores.
TEST(Imports, ByReorderEqualTheGraph) {
  std::uint64_t by_reorder = 0;
  for (std::uint64_t seed = 401; seed <= 430; ++seed) {
    const isa::ChipConfig chip = isa::load_chip(seed % 5 == 0 ? "j5" : seed % 5 == 1 ? "tiny" : "a1000");
    Random random(seed);
    const std::array<std::int64_t, 12> channels = {1, 2, 3, 4, 6, 8, 12, 16, 31, 32, 64, 80};
    QBuilder::Window k;
    k.kh = k.kw = 3;
    k.sx = k.sy = static_cast<int>(random.between(1, 2));
    k.pad_left = k.pad_top = 1;
    const QGraph graph = one_conv(random.between(1, 2), channels[seed % 12], random.between(3, 9),
                                  random.between(3, 90), random.between(1, 20), k, seed);
    for (const ScheduleKind kind : {ScheduleKind::naive, ScheduleKind::layer, ScheduleKind::fused}) {
      const isa::Program program = compiled(graph, chip, kind);
      by_reorder += import_steps(program, chip).reorder > 0 ? 1 : 0;
      testing::expect_program_computes(graph, program, chip, testing::random_inputs(graph, seed), seed);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
  EXPECT_GT(by_reorder, 40u);
}

TEST(Imports, BalanceLoadAndReorder) {
  const isa::ChipConfig chip = isa::load_chip("a1000");
  const double rate = UnitCost(chip).dram_bytes_per_cycle();
  Root map;
  map.imported = true;
  map.shape = {1, 64, 496, 432};
  const ImportPlan plan = import_plan(map, true, chip, rate);
  ASSERT_TRUE(plan.by_reorder());
  for (const std::int64_t together : {1, 2, 4, 8, 16, 32}) {  // channels of a line
    const double load = 64.0 * static_cast<double>(ceil_div<std::int64_t>(432, 128 / together));
    const double reorder = 64.0 / static_cast<double>(together) * 108;
    EXPECT_LE(plan.cycles(), std::max(load, reorder)) << together;
  }
  EXPECT_EQ(plan.channels * plan.columns, 128);
  EXPECT_FALSE(import_plan(map, false, chip, rate).by_reorder());  // NHWC
  // On a DRAM that brings a byte a cycle LOAD lays 4 pixels as fast as they come.
  EXPECT_TRUE(import_plan(map, true, chip, 0.5).channels == 0);
}

QBuilder::Window three_by_three() {
  QBuilder::Window k;
  k.kh = k.kw = 3;
  k.sy = k.sx = 2;
  k.pad_top = k.pad_left = 1;
  return k;
}

TEST(Columns, AsManyChannelsAsABlockHolds) {
  const isa::ChipConfig chip = isa::load_chip("a1000");
  EXPECT_EQ(columns_of(one_conv(1, 16, 32, 64, 32, three_by_three(), 1), chip), 2);
  EXPECT_EQ(columns_of(one_conv(1, 17, 32, 64, 32, three_by_three(), 1), chip), 1);
}

TEST(Columns, OnlyAStrideAndOnlyTheOneReader) {
  const isa::ChipConfig chip = isa::load_chip("a1000");
  QBuilder::Window k = three_by_three();
  EXPECT_EQ(columns_of(one_conv(1, 3, 32, 64, 32, k, 1), chip, true), 1);  // NHWC
  k.sx = 1;
  EXPECT_EQ(columns_of(one_conv(1, 3, 32, 64, 32, k, 1), chip), 1);
  QBuilder two(1);
  const int in = two.input(1, 3, 32, 64);
  two.output(two.conv(in, 32, three_by_three()));
  two.output(two.conv(in, 16, three_by_three()));
  EXPECT_EQ(columns_of(two.graph, chip), 1);
  QBuilder later(1);
  const int map = later.conv(later.input(1, 3, 32, 64), 8, {});
  later.output(later.conv(map, 32, three_by_three()));
  EXPECT_EQ(columns_of(later.graph, chip), 1);
}

// A kernel of 2 columns with a pad reaches into two pixels of two columns: twice the engine's steps of the one pass
// that 16 channels fold into. Few output channels are bound by the import, many by the engine.
TEST(Columns, ChosenWhileTheImportCostsMoreThanTheEngine) {
  const isa::ChipConfig chip = isa::load_chip("a1000");
  QBuilder::Window k;
  k.kh = k.kw = 2;
  k.sy = k.sx = 2;
  k.pad_left = 1;
  const auto columns = [&](std::int64_t cout) { return columns_of(one_conv(1, 16, 64, 128, cout, k, 1), chip); };
  EXPECT_EQ(columns(32), 2);
  EXPECT_EQ(columns(416), 2);
  EXPECT_EQ(columns(448), 1);
  EXPECT_EQ(columns(2048), 1);
}

TEST(Columns, AddedZerosAreNoUsefulWeights) {
  const isa::ChipConfig chip = isa::load_chip("a1000");
  QBuilder::Window k;
  k.kh = k.kw = 7;
  k.sy = k.sx = 2;
  k.pad_top = k.pad_left = 3;
  QGraph graph = one_conv(1, 3, 32, 64, 40, k, 1);
  graph.nodes[0].macs = 12345;
  ASSERT_EQ(columns_of(graph, chip), 2);
  const isa::Program program = compiled(graph, chip, ScheduleKind::layer);
  EXPECT_EQ(program.macs_useful, 12345);
  EXPECT_EQ(program.compulsory_read, 3 * 32 * 64 + 40 * (3 * 49 + 12));
  Bytes weights = 0;
  for (const isa::QueueStream& stream : program.sections.at(0).streams) {
    for (const isa::InstructionInfo& info : stream.info) {
      if (info.kind == isa::Traffic::weights) weights += info.useful_bytes;
    }
  }
  EXPECT_EQ(weights, 40 * 3 * 49);
}

}  // namespace
}  // namespace tessera::compiler
