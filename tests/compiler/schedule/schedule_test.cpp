// Decisions of the schedule that a value test cannot see: tile fields, layers, cuts, DMA pieces.
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/schedule/constants.hpp"
#include "compiler/schedule/conv_modes.hpp"
#include "compiler/schedule/dma_pieces.hpp"
#include "compiler/schedule/layer_graph.hpp"
#include "compiler/schedule/layer_plan.hpp"
#include "compiler/schedule/unit_cost.hpp"
#include "hw/models/conv/cost.hpp"
#include "tests/compiler/driver/random_graph.hpp"

namespace tessera::compiler {
namespace {

using testing::QBuilder;

TEST(Cut, CoversTheRangeInGranules) {
  for (std::int64_t length = 1; length <= 40; ++length) {
    for (std::int64_t parts = 1; parts <= 6; ++parts) {
      for (const std::int64_t granule : {1, 4, 7}) {
        std::int64_t at = 10;
        for (const Rows& r : cut({10, 10 + length}, parts, granule)) {
          EXPECT_EQ(r.first, at);
          EXPECT_GT(r.count(), 0);
          EXPECT_TRUE((r.first - 10) % granule == 0);
          at = r.end;
        }
        EXPECT_EQ(at, 10 + length);
      }
    }
  }
}

/// Every legal choice of tile fields; the search may not be more than a twentieth above the best of them.
TEST(UnitCost, ChoiceIsCloseToTheBestOfAll) {
  const isa::ChipConfig chip = isa::load_chip("a1000");
  UnitCost cost(chip);
  for (const auto& [h, w, cin, cout, k] :
       {std::array{14, 14, 64, 128, 1}, std::array{7, 28, 32, 96, 3}, std::array{9, 56, 64, 32, 3}}) {
    isa::Conv conv;
    conv.in_h = conv.out_h = static_cast<std::uint16_t>(h);
    conv.in_w = conv.out_w = static_cast<std::uint16_t>(w);
    conv.cin = static_cast<std::uint16_t>(cin);
    conv.cout = static_cast<std::uint16_t>(cout);
    conv.kh = conv.kw = static_cast<std::uint8_t>(k);
    conv.sy = conv.sx = conv.dy = conv.dx = 1;
    conv.pad_top = conv.pad_left = static_cast<std::uint8_t>(k / 2);
    isa::Conv chosen = conv;
    const auto cycles = cost.choose(chosen);
    ASSERT_TRUE(cycles.has_value());
    EXPECT_EQ(*cycles, hw::conv_cycles(chosen, chip));
    Cycles best = *cycles;
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
              if (!hw::conv_check(conv, chip)) best = std::min(best, hw::conv_cycles(conv, chip));
            }
          }
        }
      }
    }
    EXPECT_LE(static_cast<double>(*cycles), 1.05 * static_cast<double>(best))
        << h << "x" << w << ", " << cin << " -> " << cout;
  }
}

// Two engines by rows want as many lines of weights as a bank gives: each gets weights of its own, if that is allowed.
TEST(BestSplit, EnginesByRowsThatMeetInWeightsGetCopies) {
  const isa::ChipConfig chip = isa::load_chip("a1000");
  UnitCost cost(chip);
  QBuilder b(3);
  b.output(b.conv(b.input(1, 64, 180, 320), 64, {3, 3, 1, 1, 1, 1, 1, 1, 1, 1}));
  LayerGraph graph = build_layers(b.graph, chip);
  const Tile chunk{0, {8, 16}, {0, 64}};
  const Layer& layer = graph.layers.at(0);
  const auto cycles = [&](EngineSplit split) { return split_cycles(layer, graph, chunk, split, cost); };
  EXPECT_GT(cycles(EngineSplit::rows), 1.02 * cycles(EngineSplit::rows_copied)) << "they refuse each other lines";
  for (const bool copies : {false, true}) {
    graph.copies = copies;
    const SplitChoice choice = best_split(layer, graph, chunk, false, cost);
    EXPECT_EQ(choice.split == EngineSplit::rows_copied, copies);
    EXPECT_LT(choice.cycles, 0.6 * cycles(EngineSplit::none));
  }
}

// Rows of a map spread over banks: engines that share the whole map by rows read and write other banks, and a layer
// that reads much for what it computes takes half as long as one engine would.
TEST(BestSplit, EnginesByRowsMeetInNoBankOfMapsWhoseRowsLieOutside) {
  const isa::ChipConfig chip = isa::load_chip("a1000");
  UnitCost cost(chip);
  QBuilder b(3);
  b.output(b.conv(b.input(1, 256, 45, 80), 512, {1, 1, 2, 2, 1, 1, 0, 0, 0, 0}));  // as ResNet-18's downsamples
  LayerGraph graph = build_layers(b.graph, chip);
  const Layer& layer = graph.layers.at(0);
  graph.copies = true;
  const Tile whole{0, {0, 23}, {0, 512}};
  const auto cycles = [&](EngineSplit split, MapsLie maps) {
    return split_cycles(layer, graph, whole, split, cost, maps);
  };
  const double alone = cycles(EngineSplit::none, MapsLie::whole);
  EXPECT_GT(cycles(EngineSplit::rows_copied, MapsLie::whole), 0.9 * alone) << "blocks outside: they meet in each";
  for (const std::int64_t banks : {1, 4}) {
    graph.placement.map_banks = banks;
    EXPECT_LT(cycles(EngineSplit::rows_copied, MapsLie::whole), 0.55 * alone) << banks;
    EXPECT_GT(cycles(EngineSplit::rows_copied, MapsLie::elsewhere), 0.9 * alone) << "a line buffer, or through DRAM";
    EXPECT_EQ(best_split(layer, graph, whole, false, cost, MapsLie::whole).split, EngineSplit::rows_copied);
  }
  const isa::ChipConfig large = isa::load_chip("a1000", {"sram.size_bytes=1048576"});
  UnitCost large_cost(large);
  graph.placement.map_banks = 1;
  EXPECT_GT(split_cycles(layer, graph, whole, EngineSplit::rows_copied, large_cost, MapsLie::whole), 0.9 * alone)
      << "all of the map in one bank";
}

// Under an image that comes row by row the first tiles run: the whole map as one tile would wait for all of it.
TEST(LayerPlans, TilesRunUnderTheirImage) {
  const isa::ChipConfig chip = isa::load_chip("a1000");
  UnitCost cost(chip);
  QBuilder b(3);
  b.output(b.conv(b.input(1, 3, 224, 224), 32, {3, 3, 2, 2, 1, 1, 1, 1, 1, 1}));  // MobileNetV2's first
  LayerGraph graph = build_layers(b.graph, chip);
  graph.halved = true;
  choose_modes(graph, cost, false);  // columns as channels
  const Constants constants = place_constants(graph, chip);
  const std::vector<bool> stays(graph.roots.size(), false);
  LayerSite site = layer_site(graph, 0, stays, chip.sram.banks * chip.sram.size_bytes / chip.sram.line_bytes);
  ASSERT_TRUE(site.handover);
  const LayerPlan under = layer_plans(graph.layers[0], graph, constants.layers[0], site, cost).front();
  EXPECT_LE(under.tile_rows, 112 / 4);
  site.input_image.assign(1, false);
  site.handover = false;
  EXPECT_EQ(layer_plans(graph.layers[0], graph, constants.layers[0], site, cost).front().tile_rows, 112)
      << "what is there already";
}

// Crossed, each engine waits with its second part until the other is done with it: uneven parts cost twice the longer.
TEST(BestSplit, CrossedPartsCostAsManyTimesTheLongest) {
  const isa::ChipConfig chip = isa::load_chip("a1000");
  UnitCost cost(chip);
  QBuilder b(3);
  b.output(b.conv(b.input(8, 512, 7, 7), 512, {3, 3, 1, 1, 1, 1, 1, 1, 1, 1}));
  const LayerGraph graph = build_layers(b.graph, chip);
  const Layer& layer = graph.layers.at(0);
  for (const std::int64_t channels : {64, 96, 128}) {
    const Tile tile{0, {0, 7}, {0, channels}};
    std::vector<double> parts;
    for (const EnginePiece& piece : engine_pieces(layer, tile, EngineSplit::crossed, chip)) {
      parts.push_back(split_cycles(layer, graph, piece.tile, EngineSplit::none, cost));
    }
    ASSERT_EQ(parts.size(), 2U);
    EXPECT_EQ(parts[0] == parts[1], channels != 96);
    EXPECT_DOUBLE_EQ(split_cycles(layer, graph, tile, EngineSplit::crossed, cost),
                     2 * std::max(parts[0], parts[1]) * image_share(layer, chip));
  }
}

// A pooling that takes little time is not worth cutting the convolution in front of it into tiles that read rows again.
TEST(LayerPlans, AShortVectorNeighbourGetsLargeTiles) {
  const isa::ChipConfig chip = isa::load_chip("a1000");
  UnitCost cost(chip);
  QBuilder b(4);
  const int in = b.conv(b.input(1, 32, 23, 40), 512, {});
  b.output(b.global_average(b.conv(in, 512, {3, 3, 1, 1, 1, 1, 1, 1, 1, 1})));
  const LayerGraph graph = build_layers(b.graph, chip);
  const Constants constants = place_constants(graph, chip);
  LayerSite site = layer_site(graph, 1, std::vector<bool>(graph.roots.size(), false),
                              chip.sram.banks * chip.sram.size_bytes / chip.sram.line_bytes);
  ASSERT_EQ(site.vector_neighbours, std::vector<int>{2});
  ASSERT_TRUE(site.handover);
  const auto tile = [&] {
    const LayerPlan plan = layer_plans(graph.layers.at(1), graph, constants.layers.at(1), site, cost).front();
    return plan.tile_rows * plan.tile_channels;
  };
  const std::int64_t large = tile();
  site.vector_neighbours.clear();  // nothing is known of them
  EXPECT_GT(large, 2 * tile());
}

TEST(LayerGraph, ConcatPartsOnABlockAreWrittenInPlace) {
  QBuilder b(1);
  const int in = b.input(1, 4, 5, 5);
  const int cat = b.concat({b.conv(in, 8, {}), b.conv(in, 6, {}), b.conv(in, 4, {})});
  b.output(cat);
  const LayerGraph graph = build_layers(b.graph, isa::load_chip("tiny"));  // blocks of 4 channels
  ASSERT_EQ(graph.layers.size(), 4u);  // three convolutions, and a copy of the part at channel 14
  const int root = graph.values[static_cast<std::size_t>(cat)].root;
  EXPECT_EQ(graph.layers[0].output_root, root);
  EXPECT_EQ(graph.layers[1].output_root, root);
  EXPECT_EQ(graph.layers[1].output_channel, 8);
  EXPECT_NE(graph.layers[2].output_root, root);
  EXPECT_EQ(graph.layers[3].kind, LayerKind::copy);
  EXPECT_EQ(graph.layers[3].output_channel, 14);
}

TEST(LayerGraph, AddRunsInTheDrainOfTheLaterConvolution) {
  QBuilder b(2);
  b.with_weights = false;  // and no clamp
  const int in = b.input(1, 4, 5, 5);
  const int skip = b.conv(in, 4, {});
  const int main = b.conv(b.conv(in, 8, {}), 4, {});
  b.output(b.add(skip, main));
  const LayerGraph graph = build_layers(b.graph, isa::load_chip("tiny"));
  ASSERT_EQ(graph.layers.size(), 3u);
  EXPECT_EQ(graph.layers[0].residual, nullptr);
  ASSERT_NE(graph.layers[2].residual, nullptr);
  EXPECT_EQ(graph.layers[2].inputs[1], skip);
  EXPECT_TRUE(graph.layers[2].swapped);
}

// Only a kernel that covers the whole map, of all its channels, is a product of rows.
TEST(LayerGraph, AFullyConnectedLayerIsOneOfTheWholeMap) {
  const isa::ChipConfig chip = isa::load_chip("a1000");
  const auto whole = [&](const QBuilder::Window& window, int groups) {
    QBuilder b(6);
    b.output(b.conv(b.input(1, 8, 4, 5), 6, window, groups));
    const LayerGraph graph = build_layers(b.graph, chip);
    return fully_connected(graph.layers.at(0));
  };
  EXPECT_TRUE(whole({4, 5}, 1));
  EXPECT_FALSE(whole({4, 4}, 1)) << "two columns of results";
  EXPECT_FALSE(whole({3, 5}, 1)) << "two rows of results";
  EXPECT_FALSE(whole({4, 5}, 2)) << "each result sees half the channels";
  EXPECT_FALSE(whole({4, 5, 9, 9, 1, 1, 1, 1, 0, 0}, 1)) << "the kernel begins outside the map";
  QBuilder b(7);
  b.with_weights = false;  // and no clamp
  const int in = b.input(1, 8, 4, 5);
  b.output(b.add(b.conv(in, 6, {4, 5}), b.conv(in, 6, {4, 5})));
  const LayerGraph sum = build_layers(b.graph, chip);
  ASSERT_NE(sum.layers.at(1).residual, nullptr);
  EXPECT_TRUE(fully_connected(sum.layers[0]));
  EXPECT_FALSE(fully_connected(sum.layers[1])) << "adds another map in its drain";
}

TEST(LayerGraph, AKernelThatFitsFoldedIsNoPatches) {
  // 8x8, stride 4, one input channel on tiny (4 input lanes, window of 256 B): 320 B dense, but it fits folded.
  const isa::ChipConfig chip = isa::load_chip("tiny");
  QBuilder b(4);
  QBuilder::Window spec;
  spec.kh = spec.kw = 8;
  spec.sy = spec.sx = 4;
  b.output(b.conv(b.input(1, 1, 40, 40), 14, spec));
  const LayerGraph graph = build_layers(b.graph, chip);
  ASSERT_EQ(graph.layers.size(), 1u);
  EXPECT_EQ(graph.layers[0].kind, LayerKind::conv);
  // With 16 input channels nothing folds: patches, and a product of them.
  QBuilder wide(5);
  wide.output(wide.conv(wide.input(1, 16, 40, 40), 14, spec));
  EXPECT_GT(build_layers(wide.graph, chip).layers.size(), 1u);
}

TEST(LayerGraph, AddOfAClampedConvolutionStaysAnEdpLayer) {
  QBuilder b(3);
  b.with_weights = false;
  const int in = b.input(1, 4, 5, 5);
  const int x = b.conv(in, 4, {});
  b.graph.nodes.back().lo = 0;  // a Relu in between: the drain has one clamp only
  b.output(b.add(x, in));
  const LayerGraph graph = build_layers(b.graph, isa::load_chip("tiny"));
  ASSERT_EQ(graph.layers.size(), 2u);
  EXPECT_EQ(graph.layers[1].kind, LayerKind::edp);
}

TEST(DmaPieces, MoveEveryRealByteOnce) {
  const isa::ChipConfig chip = isa::load_chip("tiny");
  for (const std::int64_t w : {1, 2, 5, 6}) {
    for (const std::int64_t c : {3, 4, 9}) {
      const MapShape shape{1, c, 6, w};
      const SramView view{0, (w + 1) / 2, 6 * ((w + 1) / 2), 0, 0};
      for (const bool image : {false, true}) {
        const DramMap map{0, 0, shape};
        const Rows rows{1, 5};
        std::int64_t bytes = 0;
        for (const DmaPiece& p : image ? image_pieces(map, 0, rows, {0, c}, view, 0, chip)
                                       : blocked_pieces(map, 0, rows, {0, c}, view, chip)) {
          bytes += p.bytes;
        }
        EXPECT_EQ(bytes, 4 * w * c) << (image ? "image" : "blocked") << ", " << w << " columns, " << c << " channels";
      }
    }
  }
}

}  // namespace
}  // namespace tessera::compiler
