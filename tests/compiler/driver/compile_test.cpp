// graph interpreter == compiled program, on random graphs with odd sizes, on every chip and schedule.
#include "compiler/driver/compile.hpp"

#include <gtest/gtest.h>

#include "compiler/interpret/qgraph_interpreter.hpp"
#include "hw/common/error.hpp"
#include "isa/semantics/requantize.hpp"
#include "random_graph.hpp"
#include "run_program.hpp"

namespace tessera::compiler {
namespace {

using testing::QBuilder;

isa::Program compiled(const QGraph& graph, const isa::ChipConfig& chip, ScheduleKind kind) {
  CompileOptions options;
  options.schedule = kind;
  return compile(graph, chip, options).program;
}

void expect_equal(const QGraph& graph, const isa::ChipConfig& chip, ScheduleKind kind, std::uint64_t seed) {
  testing::expect_program_computes(graph, compiled(graph, chip, kind), chip, testing::random_inputs(graph, seed + 1000),
                                   seed);
}

class RandomGraphs : public ::testing::TestWithParam<const char*> {};

TEST_P(RandomGraphs, LayerEqualsTheGraph) {
  const isa::ChipConfig chip = isa::load_chip(GetParam());
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    expect_equal(testing::random_graph(seed, 17), chip, ScheduleKind::layer, seed);
    if (HasFatalFailure()) return;
  }
}
TEST_P(RandomGraphs, NaiveEqualsTheGraph) {
  const isa::ChipConfig chip = isa::load_chip(GetParam());
  for (std::uint64_t seed = 101; seed <= 108; ++seed) {
    expect_equal(testing::random_graph(seed, 17), chip, ScheduleKind::naive, seed);
    if (HasFatalFailure()) return;
  }
}
TEST_P(RandomGraphs, BatchesEqualTheGraph) {
  const isa::ChipConfig chip = isa::load_chip(GetParam());
  for (std::uint64_t seed = 201; seed <= 208; ++seed) {
    expect_equal(testing::random_graph(seed, 9, 3), chip, ScheduleKind::layer, seed);
    if (HasFatalFailure()) return;
  }
}
TEST_P(RandomGraphs, MovesAndProductsEqualTheGraph) {
  const isa::ChipConfig chip = isa::load_chip(GetParam());
  for (std::uint64_t seed = 301; seed <= 340; ++seed) {
    expect_equal(testing::random_moves(seed, 13, seed % 4 == 0 ? 2 : 1), chip, ScheduleKind::layer, seed);
    if (HasFatalFailure()) return;
  }
}
INSTANTIATE_TEST_SUITE_P(Chips, RandomGraphs, ::testing::Values("tiny", "a1000", "j5"),
                         [](const auto& test) { return std::string(test.param); });

// SRAM far too small for the maps: everything goes through DRAM tile by tile.
TEST(SmallSram, TilesThroughDramEqualTheGraph) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const isa::ChipConfig chip = isa::load_chip("tiny", {"sram.size_bytes=2048"});
    expect_equal(testing::random_graph(seed, 25), chip, ScheduleKind::layer, seed);
    if (HasFatalFailure()) return;
  }
}

// Kernels that no window holds become patches and 1x1 convolutions.
TEST(SmallWindow, PatchesEqualTheGraph) {
  const isa::ChipConfig chip = isa::load_chip("tiny", {"conv.window_bytes=64"});
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    expect_equal(testing::random_graph(seed, 13, seed % 5 == 0 ? 2 : 1), chip, ScheduleKind::layer, seed);
    if (HasFatalFailure()) return;
  }
  QBuilder b(14);
  b.output(b.conv(b.conv(b.input(1, 3, 9, 9), 22, {}), 22, {5, 5, 2, 2, 1, 1, 2, 2, 2, 2}, 22));
  expect_equal(b.graph, isa::load_chip("tiny", {"sram.size_bytes=2048"}), ScheduleKind::layer, 14);
}

// Nothing but REORDER makes patches: where their tiles find no room, a map that only waits (the skip tensor) goes to
// DRAM instead, and when none is left the smallest tile is named.
TEST(SmallWindow, PatchesWithoutRoomMoveOtherMapsThenName) {
  constexpr std::int64_t kBanks = 8, kSkipMap = 24 * 9 * 9;
  // Seven rows of ten pixels of 24 channels, a row of 24 x 49 channels.
  constexpr std::int64_t kPatchTile = 7 * 10 * 24 + 10 * 24 * 49;
  QBuilder b(16);
  const int x = b.conv(b.input(1, 3, 9, 9), 24, {});
  b.output(b.add(b.conv(x, 24, {7, 7, 1, 1, 1, 1, 3, 3, 3, 3}), x));
  std::int64_t least = 0;  // bytes that run
  std::string refusal;
  for (std::int64_t bank = 2624; bank >= 1600; bank -= 64) {
    const isa::ChipConfig chip =
        isa::load_chip("tiny", {"conv.window_bytes=64", "sram.size_bytes=" + std::to_string(bank)});
    try {
      expect_equal(b.graph, chip, ScheduleKind::layer, 16);
      EXPECT_EQ(refusal, "") << "runs with " << bank << " bytes a bank, not with more";
      least = bank * kBanks;
    } catch (const UserError& error) {
      refusal = error.what();
    }
  }
  EXPECT_LT(least, kPatchTile + 4 * 24 * 49 + kSkipMap) << "the skip map stayed";
  EXPECT_NE(
      refusal.find("Conv2 patches: Conv does not fit the SRAM of tiny (12800 bytes a core) even tile by tile: its "
                   "smallest tile holds " +
                   std::to_string(kPatchTile) + " bytes of maps; 12800 are free"),
      std::string::npos)
      << refusal;
}

TEST(SmallSram, MovesAndProductsThroughDramEqualTheGraph) {
  const isa::ChipConfig chip = isa::load_chip("tiny", {"sram.size_bytes=1024"});
  for (std::uint64_t seed = 401; seed <= 430; ++seed) {
    expect_equal(testing::random_moves(seed, 15), chip, ScheduleKind::layer, seed);
    if (HasFatalFailure()) return;
  }
}

/// A fully connected layer of 32 x 6 x 6 inputs, as a kernel of the map's size or behind a Flatten, between
/// convolutions.
QGraph deep_graph(std::int64_t batch, bool flatten) {
  QBuilder b(15);
  const int x = b.conv(b.input(batch, 4, 6, 6), 32, {});
  const int deep = flatten ? b.conv(b.view(x, batch, 32 * 36, 1, 1), 24, {}) : b.conv(x, 24, {6, 6});
  b.output(b.conv(deep, 5, {}));
  return b.graph;
}

std::string unit_of_layer(const isa::Program& program, const std::string& name) {
  for (const isa::LayerInfo& layer : program.layers) {
    if (layer.name == name) return layer.unit;
  }
  return "none";
}

// A tile of the convolution holds the weights of four channels, 4,608 bytes. From some size on downwards no tile fits,
// and from there on the layer is a product; there is no size between the two that is refused.
TEST(SmallSram, AReductionThatNoConvolutionTileHoldsRunsOnTheGemmUnit) {
  constexpr std::int64_t kWeights = 32 * 36 * 4, kBanks = 8;
  for (const bool flatten : {false, true}) {
    for (const std::int64_t batch : {1, 3}) {
      const QGraph graph = deep_graph(batch, flatten);
      const std::string deep = graph.nodes[graph.nodes.size() - 2].name;
      std::string before = "conv";
      for (std::int64_t bank = 1200; bank >= 400; bank -= 40) {
        SCOPED_TRACE(::testing::Message() << bank << " bytes a bank, flatten " << flatten << ", batch " << batch);
        const isa::ChipConfig chip = isa::load_chip("tiny", {"sram.size_bytes=" + std::to_string(bank)});
        const std::string unit = unit_of_layer(compiled(graph, chip, ScheduleKind::layer), deep);
        const bool too_small = before == "gemm" || bank * kBanks <= kWeights;
        EXPECT_NE(unit, too_small ? "conv" : bank == 1200 ? "gemm" : "none");
        if (unit != before) {
          for (const ScheduleKind kind : {ScheduleKind::layer, ScheduleKind::naive, ScheduleKind::fused}) {
            expect_equal(graph, chip, kind, 15);
          }
        }
        before = unit;
      }
    }
  }
}

TEST(Compile, HostStepBetweenSections) {
  QBuilder b(5);
  const int x = b.conv(b.input(1, 3, 5, 4), 6, {});
  const int soft = b.softmax_on_host(x);
  b.output(b.conv(soft, 5, {}));
  b.output(soft);
  for (const char* name : {"tiny", "j5"}) expect_equal(b.graph, isa::load_chip(name), ScheduleKind::layer, 1);
}

TEST(Compile, FlattenBecomesAKernelOfTheMapsSize) {
  QBuilder b(6);
  const int x = b.conv(b.input(1, 4, 4, 4), 8, {});
  b.output(b.conv(b.view(x, 1, 128, 1, 1), 10, {}));
  const isa::ChipConfig chip = isa::load_chip("tiny");
  expect_equal(b.graph, chip, ScheduleKind::layer, 2);
  const isa::Program program = compiled(b.graph, chip, ScheduleKind::layer);
  for (const isa::Buffer& buffer : program.buffers) EXPECT_NE(buffer.kind, isa::BufferKind::scratch) << buffer.name;
}

TEST(Compile, OneValueAChannelMultipliesAMap) {
  for (const char* name : {"tiny", "a1000", "j5"}) {
    const isa::ChipConfig chip = isa::load_chip(name);
    QBuilder b(12);
    const int map = b.input(2, 9, 5, 7);
    const int gate = b.input(2, 9, 1, 1);
    b.output(b.mul(gate, map));
    const QNode& node = b.graph.nodes[0];
    const std::vector<Tensor> inputs = testing::random_inputs(b.graph, 1);
    const auto outputs = testing::run_program(compiled(b.graph, chip, ScheduleKind::layer), chip, inputs, 4);
    for (std::size_t i = 0; i < 2 * 9 * 35; ++i) {
      const std::int32_t expected = semantics::scaled_multiply(
          inputs[1].data<std::int8_t>()[i / 35], inputs[0].data<std::int8_t>()[i], b.graph.tensors[1].zero_point,
          b.graph.tensors[0].zero_point, static_cast<std::int32_t>(node.scales[0].multiplier), node.scales[0].shift,
          b.graph.tensors[2].zero_point, node.lo, node.hi);
      ASSERT_EQ(static_cast<std::int8_t>(outputs[0][i]), expected) << name << ", element " << i;
    }
  }
}

/// NCHW bytes as NHWC.
Tensor to_nhwc(const Tensor& x) {
  Tensor y = x;
  const std::int64_t n = x.shape[0], c = x.shape[1], plane = x.shape[2] * x.shape[3];
  for (std::int64_t i = 0; i < n * c * plane; ++i) {
    const std::int64_t image = i / (c * plane), channel = i / plane % c, pixel = i % plane;
    y.bytes[static_cast<std::size_t>((image * plane + pixel) * c + channel)] = x.bytes[static_cast<std::size_t>(i)];
  }
  return y;
}

TEST(Compile, NhwcInputs) {
  for (const std::int64_t channels : {3, 9, 40}) {
    for (const char* name : {"tiny", "a1000", "j5"}) {
      const isa::ChipConfig chip = isa::load_chip(name);
      QBuilder b(static_cast<std::uint64_t>(channels));
      b.output(b.conv(b.input(2, channels, 7, 8), 6, {3, 3, 1, 1, 1, 1, 1, 1, 1, 1}));
      const std::vector<Tensor> inputs = testing::random_inputs(b.graph, 1);
      CompileOptions options;
      options.nhwc_inputs = true;
      const isa::Program program = compile(b.graph, chip, options).program;
      EXPECT_EQ(program.inputs[0].layout, "NHWC");
      ASSERT_EQ(testing::run_program(program, chip, {to_nhwc(inputs[0])}, 1)[0], interpret(b.graph, inputs)[0].bytes)
          << name << ", " << channels << " channels";
    }
  }
}

TEST(Compile, NhwcInputOfAReshapeIsRefused) {
  QBuilder b(13);
  b.output(b.conv(b.view(b.input(1, 4, 6, 5), 1, 8, 3, 5), 6, {}));
  CompileOptions options;
  options.nhwc_inputs = true;
  try {
    (void)compile(b.graph, isa::load_chip("tiny"), options);
    FAIL() << "compiled";
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(),
                 "--input-layout NHWC: input in0 is read by a Reshape, which takes elements in NCHW order; legal is "
                 "--input-layout NCHW");
  }
}

TEST(Compile, InputThatIsAnOutput) {
  QBuilder b(7);
  const int in = b.input(1, 5, 3, 7);
  b.output(b.view(in, 1, 3, 5, 7));
  b.output(b.requantize(in));
  expect_equal(b.graph, isa::load_chip("tiny"), ScheduleKind::layer, 3);
}

TEST(Compile, TrafficAccountsAddUp) {
  QBuilder b(8);
  const int x = b.conv(b.input(1, 3, 12, 12), 16, {3, 3, 1, 1, 1, 1, 1, 1, 1, 1});
  b.output(b.conv(x, 8, {}));
  const isa::Program p = compiled(b.graph, isa::load_chip("a1000"), ScheduleKind::layer);
  std::int64_t weights = 0, params = 0, input = 0, output = 0;
  for (const isa::Section& s : p.sections) {
    for (const isa::QueueStream& q : s.streams) {
      for (const isa::InstructionInfo& i : q.info) {
        if (i.kind == isa::Traffic::weights) weights += i.useful_bytes;
        if (i.kind == isa::Traffic::params) params += i.useful_bytes;
        if (i.kind == isa::Traffic::input) input += i.useful_bytes;
        if (i.kind == isa::Traffic::output) output += i.useful_bytes;
      }
    }
  }
  EXPECT_EQ(weights, 16 * 3 * 9 + 8 * 16);
  EXPECT_EQ(params, 12 * 24);
  EXPECT_EQ(input, 3 * 144);
  EXPECT_EQ(output, 8 * 144);
  EXPECT_EQ(p.compulsory_read, weights + params + input);
  EXPECT_EQ(p.compulsory_write, output);
  EXPECT_EQ(p.macs_useful, 144 * (16 * 27 + 8 * 16));
}

// Each group says when its last instruction is to end; the last of all is the end of the prediction.
TEST(Compile, GroupsArePredictedToEndInOrder) {
  QBuilder b(8);
  const int x = b.conv(b.input(1, 3, 12, 12), 16, {3, 3, 1, 1, 1, 1, 1, 1, 1, 1});
  const int soft = b.softmax_on_host(b.conv(x, 8, {}));
  b.output(b.conv(soft, 8, {}));
  const isa::Program p = compiled(b.graph, isa::load_chip("a1000"), ScheduleKind::layer);
  ASSERT_EQ(p.groups.size(), 4u);
  Cycles before = 0;
  for (const isa::GroupInfo& group : p.groups) {
    EXPECT_GT(group.predicted_end, before) << group.name;
    before = group.predicted_end;
  }
  EXPECT_EQ(before, p.predicted.cycles);
}

TEST(Compile, NaiveIsPredictedSlower) {
  const QGraph graph = testing::random_graph(9, 17);
  const isa::ChipConfig chip = isa::load_chip("a1000");
  EXPECT_GT(compiled(graph, chip, ScheduleKind::naive).predicted.cycles,
            compiled(graph, chip, ScheduleKind::layer).predicted.cycles);
}

TEST(Compile, TimingOnlyHasTheSameInstructionsAndNoWeights) {
  const QGraph graph = testing::random_graph(10, 17);
  const isa::ChipConfig chip = isa::load_chip("tiny");
  CompileOptions options;
  const isa::Program valued = compile(graph, chip, options).program;
  options.timing_only = true;
  const isa::Program timing = compile(graph, chip, options).program;
  EXPECT_TRUE(timing.weights.empty());
  ASSERT_EQ(valued.sections.size(), timing.sections.size());
  for (std::size_t s = 0; s < valued.sections.size(); ++s) {
    ASSERT_EQ(valued.sections[s].streams.size(), timing.sections[s].streams.size());
    for (std::size_t q = 0; q < valued.sections[s].streams.size(); ++q) {
      EXPECT_EQ(valued.sections[s].streams[q].words, timing.sections[s].streams[q].words);
    }
  }
}

TEST(Compile, WhatDoesNotFitNamesLayerAndSizes) {
  QBuilder b(11);
  b.output(b.conv(b.input(1, 300, 5, 5), 8, {3, 3, 1, 1, 1, 1, 1, 1, 1, 1}));
  const isa::ChipConfig chip = isa::load_chip("tiny", {"sram.size_bytes=256"});
  try {
    (void)compile(b.graph, chip, {});
    FAIL() << "compiled";
  } catch (const UserError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("Conv1: Conv does not fit the SRAM of tiny (2048 bytes a core) even tile by tile"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("legal is a larger sram.size_bytes"), std::string::npos) << text;
  }
}

TEST(Compile, UnknownScheduleNamesTheLegalOnes) {
  try {
    (void)parse_schedule("fastest");
    FAIL() << "parsed";
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "--schedule fastest: expected naive, layer, fused or auto");
  }
}

}  // namespace
}  // namespace tessera::compiler
