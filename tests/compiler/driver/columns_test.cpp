// Columns of an image as channels: values on strides, widths, pads and kernels of all kinds, line writes of imports in
// closed form, and when it is chosen.
#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/driver/compile.hpp"
#include "compiler/schedule/conv_modes.hpp"
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

/// SRAM lines that imports write: by LOAD pixel by pixel, and by REORDER.
struct ImportLines {
  std::int64_t load = 0, reorder = 0;
};
ImportLines import_lines(const isa::Program& program, const isa::ChipConfig& chip) {
  ImportLines lines;
  for (const isa::Section& section : program.sections) {
    for (const isa::QueueStream& stream : section.streams) {
      for (std::size_t at = 0, i = 0; at < stream.words.size(); ++i) {
        const isa::DecodeResult decoded = isa::decode(stream.words.data() + at, stream.words.size() - at);
        at += static_cast<std::size_t>(decoded.words);
        const auto& body = decoded.instruction.body;
        if (const auto* reorder = std::get_if<isa::Reorder>(&body)) lines.reorder += hw::reorder_steps(*reorder, chip);
        const auto* load = std::get_if<isa::Load>(&body);
        if (load == nullptr || stream.info[i].kind != isa::Traffic::input || load->group_bytes == load->row_bytes)
          continue;
        lines.load += hw::load_cost(semantics::dma_shape(*load), hw::DmaConfig{}).lines;
      }
    }
  }
  return lines;
}

// Strides that are powers of 2: the columns of a line lie in one line of the rows that REORDER reads.
TEST(Columns, ALineIsWrittenOnceForEachRowOfAChannel) {
  const isa::ChipConfig chip = isa::load_chip("a1000");  // 4 pixels of 32 channels a line
  for (const auto& [stride, width, height] : {std::array{2, 224, 64}, std::array{2, 640, 40}, std::array{4, 224, 60}}) {
    for (const ScheduleKind kind : {ScheduleKind::layer, ScheduleKind::fused}) {
      QBuilder::Window k;
      k.kh = k.kw = 7;
      k.sy = k.sx = stride;
      k.pad_top = k.pad_left = k.pad_bottom = k.pad_right = 3;
      QGraph graph = one_conv(1, 3, height, width, 32, k, 5);
      ASSERT_EQ(columns_of(graph, chip), stride);
      const ImportLines with = import_lines(compiled(graph, chip, kind, true), chip);
      EXPECT_EQ(with.load + with.reorder, 3 * height * ceil_div(ceil_div(width, stride), 4)) << width << "/" << stride;
      graph.nodes[0].apart = true;
      const ImportLines without = import_lines(compiled(graph, chip, kind, true), chip);
      EXPECT_EQ(without.load + without.reorder, 3 * height * width / 4) << width << "/" << stride;
    }
  }
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
  std::int64_t last = 0, changes = 0;
  for (std::int64_t cout = 32; cout <= 2048; cout += 32) {
    const std::int64_t columns = columns_of(one_conv(1, 16, 64, 128, cout, k, 1), chip);
    if (cout == 32) {
      EXPECT_EQ(columns, 2);
    }
    changes += last != 0 && columns != last ? 1 : 0;
    last = columns;
  }
  EXPECT_EQ(changes, 1);
  EXPECT_EQ(last, 1);
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
