// Bytes and mappings by hand, and against what the backend says of the same graphs.
#include "compiler/bounds/bounds.hpp"

#include <gtest/gtest.h>

#include "compiler/driver/compile.hpp"
#include "hw/models/conv/cost.hpp"
#include "tests/compiler/driver/networks.hpp"
#include "tests/compiler/driver/random_graph.hpp"

namespace tessera::compiler {
namespace {

using testing::QBuilder;

const isa::ChipConfig& a1000() {
  static const isa::ChipConfig chip = isa::load_chip("a1000");
  return chip;
}

QGraph one_conv(std::int64_t cin, std::int64_t h, std::int64_t w, std::int64_t cout, const QBuilder::Window& window,
                int groups, std::int64_t batch = 1) {
  QBuilder b(1);
  b.output(b.conv(b.input(batch, cin, h, w), cout, window, groups));
  return b.graph;
}

TEST(Bounds, BytesOfAPointwiseConvolution) {
  // 56 x 56, 64 to 64 channels: 200,704 in, 4,096 weights, 200,704 out are the published 405,504; 12 a channel beside.
  const NetworkBounds b = network_bounds(one_conv(64, 56, 56, 64, {}, 1), a1000());
  EXPECT_EQ(b.bytes.inputs, 200704);
  EXPECT_EQ(b.bytes.weights, 4096);
  EXPECT_EQ(b.bytes.outputs, 200704);
  EXPECT_EQ(b.bytes.params, 12 * 64);
  EXPECT_EQ(b.bytes.inputs + b.bytes.weights + b.bytes.outputs, 405504);
}

TEST(Bounds, BytesOfAGroupedConvolution) {
  QBuilder::Window w;
  w.kh = w.kw = 3;
  w.pad_top = w.pad_left = w.pad_bottom = w.pad_right = 1;
  EXPECT_EQ(network_bounds(one_conv(6, 9, 9, 9, w, 3), a1000()).bytes.weights, 162);
}

TEST(Bounds, WeightsCountOnceABatch) {
  const NetworkBounds one = network_bounds(one_conv(64, 28, 28, 64, {}, 1), a1000());
  const NetworkBounds eight = network_bounds(one_conv(64, 28, 28, 64, {}, 1, 8), a1000());
  EXPECT_EQ(eight.batch, 8);
  EXPECT_EQ(eight.bytes.weights, one.bytes.weights);
  EXPECT_EQ(eight.bytes.inputs, 8 * one.bytes.inputs);
  EXPECT_DOUBLE_EQ(eight.layers[0].mapping.engine_cycles, 8 * one.layers[0].mapping.engine_cycles);
}

TEST(Bounds, CompulsoryBytesAreThoseOfThePrograms) {
  CompileOptions options;
  options.timing_only = true;
  for (const char* chip_name : {"a1000", "tiny"}) {
    const isa::ChipConfig chip = isa::load_chip(chip_name);
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      const QGraph graph = testing::random_graph(seed, 17);
      const isa::Program program = compile(graph, chip, options).program;
      const NetworkBounds b = network_bounds(graph, chip);
      EXPECT_EQ(b.bytes.weights + b.bytes.params + b.bytes.inputs, program.compulsory_read) << chip_name << seed;
      EXPECT_EQ(b.bytes.outputs, program.compulsory_write) << chip_name << seed;
    }
  }
  const NetworkBounds b = network_bounds(testing::resnet50(), a1000());
  const isa::Program program = compile(testing::resnet50(), a1000(), options).program;
  EXPECT_EQ(b.bytes.weights + b.bytes.params + b.bytes.inputs, program.compulsory_read);
}

TEST(Bounds, MappingOfADepthwiseLayerSaysWhatLimitsIt) {
  // 64 channels at 24 x 24, 3 x 3, 12 x 1 pixels: 2 x 24 groups x 2 c tiles x 3 rows x 1 chunk = 288 steps.
  QBuilder::Window w;
  w.kh = w.kw = 3;
  w.pad_top = w.pad_left = w.pad_bottom = w.pad_right = 1;
  const Mapping m = network_bounds(one_conv(64, 24, 24, 64, w, 64), a1000()).layers[0].mapping;
  EXPECT_EQ(m.steps, 288);
  // Port A: 2 blocks x 24 rows x 6 lines of 128 bytes; port O alike. Two engines share 288 lines.
  EXPECT_EQ(m.ports.activations, 288 * 128);
  EXPECT_EQ(m.ports.output, 288 * 128);
  EXPECT_EQ(m.port_cycles, 144);
  EXPECT_EQ(m.limit, "array");
  EXPECT_GE(m.cycles, 144);
  // A pointwise layer with few input channels writes more lines than it takes steps.
  const Mapping p = network_bounds(one_conv(32, 24, 24, 128, {}, 1), a1000()).layers[0].mapping;
  EXPECT_EQ(p.ports.output, 4 * 24 * 6 * 128);
  EXPECT_EQ(p.limit, "port O");
}

/// Every legal choice of tile fields of one engine: none is cheaper than the sum that the bound counts.
TEST(Bounds, NoInstructionIsCheaperThanTheBound) {
  for (const auto& [h, cin, cout, k] :
       {std::array{14, 64, 128, 1}, std::array{9, 64, 32, 3}, std::array{7, 96, 96, 3}, std::array{28, 3, 64, 7}}) {
    QBuilder::Window w;
    w.kh = w.kw = k;
    w.pad_top = w.pad_left = w.pad_bottom = w.pad_right = k / 2;
    const QGraph graph = one_conv(cin, h, h, cout, w, 1);
    const Mapping m = network_bounds(graph, a1000()).layers[0].mapping;
    isa::Conv conv;
    conv.in_h = conv.out_h = conv.in_w = conv.out_w = static_cast<std::uint16_t>(h);
    conv.cin = static_cast<std::uint16_t>(cin);
    conv.cout = static_cast<std::uint16_t>(cout);
    conv.kh = conv.kw = static_cast<std::uint8_t>(k);
    conv.pad_top = conv.pad_left = static_cast<std::uint8_t>(k / 2);
    Cycles best = 0;
    for (int mode = 0; mode < (cin == 3 ? 2 : 1); ++mode) {
      conv.mode = mode == 0 ? isa::ConvMode::dense : isa::ConvMode::fold;
      conv.fold = static_cast<std::uint8_t>(mode == 0 ? 1 : 7);
      for (int shape = 0; shape < 2; ++shape) {
        for (int gx = 1; gx <= 8; ++gx) {
          for (int gy = 1; gx * gy <= 32; ++gy) {
            for (int t = 1; gx * gy * t <= 32 && t <= cout / 32; ++t) {
              for (const isa::ConvOrder order : {isa::ConvOrder::pixels_outer, isa::ConvOrder::channels_outer}) {
                conv.pixel_shape = static_cast<std::uint8_t>(shape);
                conv.gx = static_cast<std::uint8_t>(gx);
                conv.gy = static_cast<std::uint8_t>(gy);
                conv.t = static_cast<std::uint8_t>(t);
                conv.order = order;
                if (hw::conv_check(conv, a1000())) continue;
                const Cycles cycles = hw::conv_cycles(conv, a1000());
                if (best == 0 || cycles < best) best = cycles;
              }
            }
          }
        }
      }
    }
    EXPECT_LE(m.engine_cycles, static_cast<double>(best)) << h << " " << cin << " " << cout << " " << k;
    EXPECT_GE(m.engine_cycles, 0.9 * static_cast<double>(best)) << h << " " << cin << " " << cout << " " << k;
    EXPECT_GE(static_cast<double>(m.cycles), m.engine_cycles / 2);
  }
}

TEST(Bounds, LookaheadOfResNet50IsItsStream) {
  const NetworkBounds b = network_bounds(testing::resnet50(), a1000());
  EXPECT_EQ(b.lookahead_limit, "stream");
  EXPECT_EQ(b.lookahead_cycles, b.stream_cycles);
  EXPECT_LT(b.lookahead_ideal_dram_cycles, b.lookahead_cycles);
  EXPECT_GE(b.lookahead_cycles, b.work[static_cast<std::size_t>(Pool::conv)]);
}

}  // namespace
}  // namespace tessera::compiler
