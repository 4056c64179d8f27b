#include "compiler/zoo/zoo.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "compiler/export/export.hpp"
#include "compiler/import/import.hpp"
#include "compiler/passes/canonicalise.hpp"
#include "compiler/passes/macs.hpp"
#include "compiler/passes/shape_inference.hpp"
#include "hw/common/error.hpp"

namespace tessera::compiler {
namespace {

std::size_t count_of(const Graph& graph, const std::string& op) {
  return static_cast<std::size_t>(
      std::count_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) { return node.op == op; }));
}

std::int64_t parameters(const Graph& graph) {
  std::int64_t sum = 0;
  for (const auto& [name, tensor] : graph.constants) sum += tensor.shape.empty() ? 0 : tensor.elements();
  return sum;
}

struct Expected {
  std::string name;
  std::size_t nodes, convolutions, nodes_after_passes;
  std::int64_t macs, parameters;
  std::string output = "output";
  Shape output_shape = {1, 1000};
};

/// A square convolution's MACs: map x map x inputs x outputs x kernel x kernel.
constexpr std::int64_t square(std::int64_t map, std::int64_t in, std::int64_t out, std::int64_t kernel) {
  return map * map * in * out * kernel * kernel;
}

TEST(Zoo, vgg16_macs_by_hand) {
  const std::int64_t by_hand = square(224, 3, 64, 3) + square(224, 64, 64, 3) + square(112, 64, 128, 3) +
                               square(112, 128, 128, 3) + square(56, 128, 256, 3) + 2 * square(56, 256, 256, 3) +
                               square(28, 256, 512, 3) + 2 * square(28, 512, 512, 3) + 3 * square(14, 512, 512, 3) +
                               25088LL * 4096 + 4096LL * 4096 + 4096LL * 1000;
  EXPECT_EQ(by_hand, 15470264320);
  Graph graph = zoo_build("vgg16", 1);
  EXPECT_EQ(macs(graph), by_hand);
}

TEST(Zoo, resnet50_macs_by_hand) {
  std::int64_t by_hand = square(112, 3, 64, 7) + 2048LL * 1000;
  std::int64_t in = 64;
  std::int64_t map = 56;
  std::int64_t width = 64;
  for (const int blocks : {3, 4, 6, 3}) {
    const std::int64_t before = width == 64 ? map : 2 * map;  // the first 1x1 still works on the larger map (v1.5)
    by_hand += square(before, in, width, 1) + square(map, width, width, 3) + square(map, width, 4 * width, 1) +
               square(map, in, 4 * width, 1);
    by_hand += (blocks - 1) * (2 * square(map, 4 * width, width, 1) + square(map, width, width, 3));
    in = 4 * width;
    width *= 2;
    map /= 2;
  }
  EXPECT_EQ(by_hand, 4089184256);
  EXPECT_EQ(macs(zoo_build("resnet50_stage1", 1)), square(112, 3, 64, 7) + square(56, 64, 64, 1) +
                                                       2 * square(56, 256, 64, 1) + 3 * square(56, 64, 64, 3) +
                                                       4 * square(56, 64, 256, 1));
  EXPECT_EQ(macs(zoo_build("resnet50", 1)), by_hand);
}

TEST(Zoo, structure_parameters_and_macs) {
  // Parameters: the figures usually quoted (25.6 M, 3.5 M, 138 M, 1.24 M) plus BatchNormalization's mean and variance.
  const std::vector<Expected> table = {
      {"mobilenet_v2", 152, 52, 100, 300774272, 3504872 + 2 * 17056},
      {"resnet50", 175, 53, 122, 4089184256, 25557032 + 2 * 26560},
      {"resnet50_stage1", 36, 11, 25, 785956864, 225344 + 2 * 1472, "layer1.2.relu3", {1, 256, 56, 56}},
      {"squeezenet", 65, 26, 65, 349151936, 1235496},
      {"vgg16", 37, 13, 37, 15470264320, 138357544}};
  ASSERT_EQ(zoo_list().size(), table.size());
  for (const Expected& expected : table) {
    Graph graph = zoo_build(expected.name, 1);
    require_shapes(graph);
    EXPECT_EQ(graph.nodes.size(), expected.nodes) << expected.name;
    EXPECT_EQ(count_of(graph, "Conv"), expected.convolutions) << expected.name;
    EXPECT_EQ(macs(graph), expected.macs) << expected.name;
    EXPECT_EQ(parameters(graph), expected.parameters) << expected.name;
    EXPECT_EQ(graph.shape_of(expected.output), expected.output_shape) << expected.name;
    run_passes(graph);
    EXPECT_EQ(graph.nodes.size(), expected.nodes_after_passes) << expected.name;
    EXPECT_EQ(macs(graph), expected.macs) << expected.name << " after the passes";
  }
}

TEST(Zoo, seeds_make_weights_and_files_are_onnx) {
  const std::string one = export_bytes(zoo_build("squeezenet", 1));
  EXPECT_EQ(check_exported(one), "");
  EXPECT_EQ(export_bytes(zoo_build("squeezenet", 1)), one);
  EXPECT_NE(export_bytes(zoo_build("squeezenet", 2)), one);
  const Graph again = import_bytes(one, "zoo.onnx", "");
  EXPECT_EQ(again.name, "squeezenet");
  EXPECT_EQ(again.nodes.size(), 65U);
}

TEST(Zoo, unknown_names_list_the_known) {
  try {
    (void)zoo_build("alexnet", 1);
    FAIL() << "expected an error";
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(),
                 "zoo has no network 'alexnet': expected one of mobilenet_v2, resnet50, resnet50_stage1, "
                 "squeezenet, vgg16");
  }
}

}  // namespace
}  // namespace tessera::compiler
