// The integer oracle by hand-computed cases.
#include "compiler/interpret/qgraph_interpreter.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "compiler/ir/builder.hpp"
#include "hw/common/error.hpp"

namespace tessera::compiler {
namespace {

QTensor qtensor(const std::string& name, Shape shape, double scale = 1.0, std::int32_t zero_point = 0) {
  QTensor t;
  t.name = name;
  t.shape = shape;
  t.onnx_shape = std::move(shape);
  t.scale = scale;
  t.zero_point = zero_point;
  return t;
}

/// A graph of one node; all tensors but the last are inputs.
QGraph graph_of(QNode node, std::vector<QTensor> tensors) {
  QGraph g;
  g.tensors = std::move(tensors);
  const int last = static_cast<int>(g.tensors.size()) - 1;
  for (int i = 0; i < last; ++i) {
    g.inputs.push_back(i);
    node.inputs.push_back(i);
  }
  node.name = "n";
  node.output = last;
  g.outputs = {last};
  g.nodes.push_back(std::move(node));
  return g;
}

std::vector<std::int64_t> run(const QGraph& g, const std::vector<std::vector<std::int8_t>>& inputs) {
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < inputs.size(); ++i) tensors.push_back(int8_tensor(g.tensors[i].shape, inputs[i]));
  return interpret(g, tensors).at(0).as_ints();
}

TEST(QGraph, ConvHandlesZeroPointsPaddingAndRounding) {
  QNode n;
  n.op = QOp::conv;
  n.kh = 1;
  n.kw = 3;
  n.pad_left = 1;
  n.pad_right = 1;
  n.weights = {1, 2, 3};
  n.weight_zero_point = 1;  // 0, 1, 2
  n.bias = {1};
  n.scales = {{1, 1}};  // halves, ties to even
  const QGraph g = graph_of(n, {qtensor("x", {1, 1, 1, 3}, 1.0, 10), qtensor("y", {1, 1, 1, 3}, 1.0, -5)});
  // x - 10 = 1, 2, 4: sums 1*1+2*2+1 = 6, 2+8+1 = 11, 4+0+1 = 5 -> 3, 5.5 -> 6, 2.5 -> 2; minus 5.
  EXPECT_EQ(run(g, {{11, 12, 14}}), (std::vector<std::int64_t>{-2, 1, -3}));
}

TEST(QGraph, ConvClampsToItsLimits) {
  QNode n;
  n.op = QOp::conv;
  n.weights = {127};
  n.bias = {0};
  n.scales = {{1, 0}};
  n.lo = 0;
  n.hi = 100;
  const QGraph g = graph_of(n, {qtensor("x", {1, 1, 1, 2}), qtensor("y", {1, 1, 1, 2})});
  EXPECT_EQ(run(g, {{-1, 1}}), (std::vector<std::int64_t>{0, 100}));
}

TEST(QGraph, DepthwiseKeepsChannelsApart) {
  QNode n;
  n.op = QOp::conv;
  n.groups = 2;
  n.weights = {2, 3};
  n.bias = {0, 1};
  n.scales = {{1, 0}, {1, 0}};
  const QGraph g = graph_of(n, {qtensor("x", {1, 2, 1, 1}), qtensor("y", {1, 2, 1, 1})});
  EXPECT_EQ(run(g, {{5, 7}}), (std::vector<std::int64_t>{10, 22}));
}

TEST(QGraph, AddOfTwoScales) {
  QNode n;
  n.op = QOp::add;
  n.ma = 3;
  n.mb = -1;
  n.shift = 1;
  const QGraph g =
      graph_of(n, {qtensor("a", {1, 1, 1, 2}, 1, 1), qtensor("b", {1, 1, 1, 2}), qtensor("y", {1, 1, 1, 2}, 1, 4)});
  // ((2-1)*3 - 2)/2 = 0.5 -> 0; ((4-1)*3 - 2)/2 = 3.5 -> 4.
  EXPECT_EQ(run(g, {{2, 4}, {2, 2}}), (std::vector<std::int64_t>{4, 8}));
}

TEST(QGraph, AveragePoolAtTheBorder) {
  QNode n;
  n.op = QOp::average_pool;
  n.kw = 3;
  n.pad_left = 1;
  n.pad_right = 1;
  n.scales = {{1, 0}, {1, 1}, {1, 2}};  // for 1, 2 and 3 elements: x 1, 1/2, 1/4
  QGraph g = graph_of(n, {qtensor("x", {1, 1, 1, 3}, 1, 1), qtensor("y", {1, 1, 1, 3})});
  EXPECT_EQ(run(g, {{5, 9, 13}}), (std::vector<std::int64_t>{6, 6, 10}));  // 12/2, 24/4, 20/2
  g.nodes[0].count_include_pad = true;
  EXPECT_EQ(run(g, {{5, 9, 13}}), (std::vector<std::int64_t>{3, 6, 5}));  // padding counts as real 0
}

TEST(QGraph, MaxPoolNeverTakesPadding) {
  QNode n;
  n.op = QOp::max_pool;
  n.kw = 2;
  n.pad_left = 1;
  const QGraph g = graph_of(n, {qtensor("x", {1, 1, 1, 2}), qtensor("y", {1, 1, 1, 2})});
  EXPECT_EQ(run(g, {{-100, -120}}), (std::vector<std::int64_t>{-100, -100}));
}

TEST(QGraph, ConcatTableMulRequantize) {
  QNode concat;
  concat.op = QOp::concat;
  EXPECT_EQ(run(graph_of(concat, {qtensor("a", {2, 1, 1, 1}), qtensor("b", {2, 2, 1, 1}), qtensor("y", {2, 3, 1, 1})}),
                {{1, 2}, {3, 4, 5, 6}}),
            (std::vector<std::int64_t>{1, 3, 4, 2, 5, 6}));
  QNode table;
  table.op = QOp::table;
  for (int i = 0; i < 256; ++i) table.table.push_back(static_cast<std::int8_t>(i == 0 ? 7 : i == 255 ? 9 : 0));
  EXPECT_EQ(run(graph_of(table, {qtensor("x", {1, 3, 1, 1}), qtensor("y", {1, 3, 1, 1})}), {{-128, 0, 127}}),
            (std::vector<std::int64_t>{7, 0, 9}));
  QNode mul;
  mul.op = QOp::mul;
  mul.scales = {{1, 2}};
  EXPECT_EQ(run(graph_of(mul, {qtensor("a", {1, 1, 1, 2}, 1, 1), qtensor("b", {1, 1, 1, 2}, 1, -1),
                               qtensor("y", {1, 1, 1, 2}, 1, 3)}),
                {{3, 4}, {4, -4}}),
            (std::vector<std::int64_t>{5, 1}));  // 2*5/4 = 2.5 -> 2; 3*-3/4 = -2.25 -> -2
  QNode requantize;
  requantize.op = QOp::requantize;
  requantize.scales = {{3, 1}};
  requantize.lo = 0;
  EXPECT_EQ(run(graph_of(requantize, {qtensor("x", {1, 3, 1, 1}, 1, 1), qtensor("y", {1, 3, 1, 1})}), {{2, 100, -5}}),
            (std::vector<std::int64_t>{2, 127, 0}));
}

TEST(QGraph, HostStepRunsOnTheOnnxShape) {
  QNode n;
  n.op = QOp::host;
  n.onnx_op = "Softmax";
  n.attributes["axis"] = {1};
  QGraph g = graph_of(n, {qtensor("x", {1, 2, 1, 1}), qtensor("y", {1, 2, 1, 1}, 1.0 / 256.0, -128)});
  g.tensors[0].onnx_shape = g.tensors[1].onnx_shape = {1, 2};
  EXPECT_EQ(run(g, {{5, 5}}), (std::vector<std::int64_t>{0, 0}));
}

TEST(QGraph, InputsAreChecked) {
  QNode n;
  n.op = QOp::view;
  const QGraph g = graph_of(n, {qtensor("x", {1, 2, 1, 1}), qtensor("y", {1, 2, 1, 1})});
  try {
    (void)interpret(g, {int8_tensor({3}, {1, 2, 3})});
    FAIL();
  } catch (const UserError& e) {
    EXPECT_STREQ(e.what(), "input x: found 3 int8, expected 1x2x1x1 int8");
  }
  EXPECT_THROW((void)interpret(g, {}), UserError);
}

TEST(QGraph, BoundaryConversion) {
  const QTensor as = qtensor("x", {4}, 0.5, 10);
  EXPECT_EQ(quantize_tensor(as, float_tensor({4}, {0.25F, 0.75F, 1000.0F, -1000.0F})).as_ints(),
            (std::vector<std::int64_t>{10, 12, 127, -128}));
  EXPECT_EQ(dequantize_tensor(as, int8_tensor({2}, {10, -128})).as_doubles(), (std::vector<double>{0.0, -69.0}));
  EXPECT_THROW((void)quantize_tensor(as, float_tensor({1}, {NAN})), UserError);
}

}  // namespace
}  // namespace tessera::compiler
