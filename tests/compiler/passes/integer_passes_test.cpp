// Passes behind quantisation on hand-made graphs: what becomes of the nodes, and that no value changes.
#include "compiler/passes/integer_passes.hpp"

#include <gtest/gtest.h>

#include "compiler/interpret/qgraph_interpreter.hpp"
#include "compiler/passes/merge_requantize.hpp"
#include "hw/common/random.hpp"

namespace tessera::compiler {
namespace {

QTensor tensor(const char* name, double scale, std::int32_t zero_point) {
  QTensor t;
  t.name = name;
  t.shape = t.onnx_shape = {1, 2, 8, 16};
  t.scale = scale;
  t.zero_point = zero_point;
  return t;
}

QNode requantize(const char* name, int in, int out, std::uint32_t multiplier) {
  QNode node;
  node.op = QOp::requantize;
  node.name = name;
  node.onnx_op = "Clip";
  node.inputs = {in};
  node.output = out;
  node.scales = {{multiplier, 10}};
  node.lo = -100;
  node.hi = 90;
  return node;
}

QNode table(const char* name, int in, int out, std::uint64_t seed) {
  QNode node;
  node.op = QOp::table;
  node.name = name;
  node.onnx_op = "Sigmoid";
  node.inputs = {in};
  node.output = out;
  Random random(seed);
  for (int i = 0; i < 256; ++i) node.table.push_back(static_cast<std::int8_t>(random.below(256)));
  return node;
}

/// requantize, table, requantize in a row, every input value present.
QGraph chain() {
  QGraph graph;
  graph.tensors = {tensor("x", 1, 3), tensor("a", 0.5, -7), tensor("b", 1, 0), tensor("y", 2, 11)};
  graph.nodes = {requantize("first", 0, 1, 1500), table("middle", 1, 2, 4), requantize("last", 2, 3, 700)};
  graph.inputs = {0};
  graph.outputs = {3};
  return graph;
}

Tensor every_value() {
  Tensor x = Tensor::make(DType::i8, {1, 2, 8, 16});
  for (std::int64_t i = 0; i < x.elements(); ++i) x.data<std::int8_t>()[i] = static_cast<std::int8_t>(i - 128);
  return x;
}

TEST(IntegerPasses, FunctionsInARowBecomeOneTable) {
  QGraph graph = chain();
  const std::vector<Tensor> before = interpret(graph, {every_value()});
  EXPECT_EQ(merge_tables(graph), 2u);
  ASSERT_EQ(graph.nodes.size(), 1u);
  EXPECT_EQ(graph.nodes[0].op, QOp::table);
  EXPECT_EQ(graph.nodes[0].fused, (std::vector<std::string>{"middle", "last"}));
  EXPECT_EQ(interpret(graph, {every_value()})[0].bytes, before[0].bytes);
}

TEST(IntegerPasses, AValueThatOthersReadStays) {
  QGraph graph = chain();
  graph.outputs = {3, 1};
  const std::vector<Tensor> before = interpret(graph, {every_value()});
  EXPECT_EQ(merge_tables(graph), 1u);
  EXPECT_EQ(graph.nodes.size(), 2u);
  const std::vector<Tensor> after = interpret(graph, {every_value()});
  EXPECT_EQ(after[0].bytes, before[0].bytes);
  EXPECT_EQ(after[1].bytes, before[1].bytes);
}

TEST(IntegerPasses, SwitchedOffTheyChangeNothingOrKeepNodesApart) {
  QGraph graph = chain();
  EXPECT_TRUE(run_integer_passes(graph, {"merge-tables"}).empty());
  EXPECT_EQ(graph.nodes.size(), 3u);
  QNode add;
  add.op = QOp::add;
  graph.nodes.push_back(add);
  run_integer_passes(graph, {"merge-tables", "add-in-drain"});
  EXPECT_TRUE(graph.nodes.back().apart);
  EXPECT_FALSE(graph.nodes.front().apart);
}

}  // namespace
}  // namespace tessera::compiler
