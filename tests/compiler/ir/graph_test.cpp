#include "compiler/ir/graph.hpp"

#include <functional>

#include <gtest/gtest.h>

#include "compiler/ir/builder.hpp"
#include "compiler/ir/qgraph.hpp"
#include "compiler/ir/topology.hpp"
#include "hw/common/error.hpp"

namespace tessera::compiler {
namespace {

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Tensor, counts_and_texts) {
  EXPECT_EQ(element_count({}), 1);
  EXPECT_EQ(element_count({2, 0, 3}), 0);
  EXPECT_EQ(element_count({1, 3, 224, 224}), 150528);
  EXPECT_EQ(shape_text({1, 3, 224, 224}), "1x3x224x224");
  EXPECT_EQ(shape_text({}), "scalar");
  EXPECT_THROW((void)element_count({INT64_MAX, 2}), InternalError);
  EXPECT_THROW((void)element_count({-1}), InternalError);
}

TEST(Tensor, reads_every_type_as_numbers) {
  EXPECT_EQ(int8_tensor({2}, {-128, 127}).as_ints(), (std::vector<std::int64_t>{-128, 127}));
  EXPECT_EQ(uint8_tensor({2}, {0, 255}).as_doubles(), (std::vector<double>{0, 255}));
  EXPECT_EQ(float_tensor({}, {1.5F}).as_doubles(), (std::vector<double>{1.5}));
  Tensor half = Tensor::make(DType::f16, {5});
  const std::vector<std::uint16_t> bits = {0x3c00, 0xc000, 0x7bff, 0x0001, 0x0000};  // 1, -2, max, min denormal, 0
  std::copy(bits.begin(), bits.end(), half.data<std::uint16_t>());
  EXPECT_EQ(half.as_doubles(), (std::vector<double>{1, -2, 65504, 0x1p-24, 0}));
  EXPECT_THROW((void)Tensor::make(DType::string, {1}).as_doubles(), InternalError);
}

TEST(Node, attributes_have_defaults_and_types) {
  Node node;
  node.name = "conv1";
  node.op = "Conv";
  node.attributes = {
      {"group", std::int64_t{4}}, {"pads", Ints{1, 2}}, {"alpha", 0.5F}, {"auto_pad", std::string("VALID")}};
  EXPECT_EQ(node.int_attr("group", 1), 4);
  EXPECT_EQ(node.int_attr("missing", 7), 7);
  EXPECT_EQ(node.ints_attr("pads", {}), (Ints{1, 2}));
  EXPECT_EQ(node.float_attr("alpha", 1.0F), 0.5F);
  EXPECT_EQ(node.string_attr("auto_pad", ""), "VALID");
  EXPECT_EQ(message_of([&] { (void)node.int_attr("pads", 0); }),
            "node 'conv1' (Conv): attribute 'pads' has another type than ONNX gives it");
}

TEST(Topology, sorts_and_keeps_the_old_order_where_free) {
  GraphBuilder builder("g");
  builder.node("Relu", {"a"}, {}, "late");
  builder.node("Relu", {"x"}, {}, "b");
  builder.node("Relu", {"x"}, {}, "a");
  builder.input("x", {1});
  builder.output("late");
  builder.output("b");
  const Graph graph = builder.take();
  std::vector<std::string> order;
  for (const Node& node : graph.nodes) order.push_back(node.name);
  EXPECT_EQ(order, (std::vector<std::string>{"b", "a", "late"}));
  EXPECT_EQ(producers(graph).at("late"), 2U);
  EXPECT_EQ(consumers(graph).at("x"), (std::vector<std::size_t>{0, 1}));
}

TEST(Topology, refuses_graphs_that_cannot_run) {
  const auto text = [](const std::vector<std::vector<std::string>>& nodes, const std::string& output) {
    return message_of([&] {
      GraphBuilder builder("g");
      builder.input("x", {1});
      for (const auto& node : nodes) builder.node("Relu", {node[1]}, {}, node[0]);
      builder.output(output);
      (void)builder.take();
    });
  };
  EXPECT_EQ(text({{"a", "b"}, {"b", "a"}}, "a"),
            "node 'a' (Relu): depends on its own result; an ONNX graph has no cycles");
  EXPECT_EQ(text({{"a", "q"}}, "a"),
            "node 'a' (Relu): input 'q' is made by no node and is no graph input or initialiser");
  EXPECT_EQ(text({{"a", "x"}, {"a", "x"}}, "a"),
            "node 'a' (Relu): makes value 'a', which something else makes already; a value has one maker");
  EXPECT_EQ(text({{"a", "x"}}, "y"), "graph output 'y': no node, input or initialiser makes it");
}

TEST(Topology, replaces_uses_and_finds_free_names) {
  GraphBuilder builder("g");
  builder.input("x", {1});
  builder.output(builder.node("Relu", {builder.node("Identity", {"x"})}));
  Graph graph = builder.take();
  replace_uses(graph, "Identity_0", "x");
  EXPECT_EQ(graph.nodes[1].inputs[0], "x");
  EXPECT_EQ(unique_name(graph, "x"), "x_1");
  EXPECT_EQ(unique_name(graph, "free"), "free");
}

TEST(Graph, shape_of_an_unknown_value_is_our_bug) {
  Graph graph;
  graph.constants["c"] = float_tensor({2, 3}, std::vector<float>(6));
  EXPECT_EQ(graph.shape_of("c"), (Shape{2, 3}));
  EXPECT_EQ(graph.dtype_of("c"), DType::f32);
  EXPECT_EQ(graph.dtype_of("y"), DType::undefined);
  EXPECT_THROW((void)graph.shape_of("y"), InternalError);
}

TEST(QGraph, sums_macs) {
  QGraph graph;
  graph.nodes.resize(2);
  graph.nodes[0].macs = 3;
  graph.nodes[1].macs = 4;
  EXPECT_EQ(graph.macs(), 7);
  EXPECT_STREQ(qop_name(QOp::average_pool), "average_pool");
}

}  // namespace
}  // namespace tessera::compiler
