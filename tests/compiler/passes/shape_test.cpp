#include <gtest/gtest.h>

#include "compiler/passes/shape_inference.hpp"
#include "one_node.hpp"

namespace tessera::compiler {
namespace {

const std::int64_t kFirst = INT64_MIN;
const std::int64_t kLast = INT64_MAX;

TEST(Shape, elementwise_operators_broadcast) {
  EXPECT_EQ(shape_of("Relu", {Shape{2, 3}}), (Shape{2, 3}));
  EXPECT_EQ(shape_of("Add", {Shape{2, 1, 4}, Shape{3, 1}}), (Shape{2, 3, 4}));
  EXPECT_EQ(shape_of("Mul", {Shape{}, Shape{5}}), (Shape{5}));
  EXPECT_EQ(shape_of("Max", {Shape{2, 1}, Shape{1, 3}, Shape{3}}), (Shape{2, 3}));
  EXPECT_EQ(shape_of("Where", {Shape{2, 1}, Shape{1, 3}, Shape{}}), (Shape{2, 3}));
  EXPECT_EQ(shape_of("Add", {Shape{0, 3}, Shape{1, 3}}), (Shape{0, 3}));
  EXPECT_EQ(shape_error("Add", {Shape{2, 3}, Shape{4}}), "node 'n' (Add): input 1 of 4 does not broadcast with 2x3");
  EXPECT_EQ(shape_error("Add", {Shape{2, 3}}), "node 'n' (Add): has no input 1: expected at least 2");
}

TEST(Shape, types_follow_the_operator) {
  Graph graph = one_node("Equal", {Shape{2}, Shape{2}});
  infer_shapes(graph);
  EXPECT_EQ(graph.dtype_of("n:0"), DType::boolean);
  graph = one_node("Cast", {Shape{2}}, {{"to", std::int64_t{7}}});
  infer_shapes(graph);
  EXPECT_EQ(graph.dtype_of("n:0"), DType::i64);
  graph = one_node("QuantizeLinear", {Shape{2}, Shape{}, Operand(int8_tensor({}, {0}))});
  infer_shapes(graph);
  EXPECT_EQ(graph.dtype_of("n:0"), DType::i8);
  graph = one_node("QuantizeLinear", {Shape{2}, Shape{}});
  infer_shapes(graph);
  EXPECT_EQ(graph.dtype_of("n:0"), DType::u8) << "without zero point";
}

TEST(Shape, convolutions) {
  EXPECT_EQ(shape_of("Conv", {Shape{1, 3, 224, 224}, Shape{64, 3, 7, 7}},
                     {{"strides", Ints{2, 2}}, {"pads", Ints{3, 3, 3, 3}}}),
            (Shape{1, 64, 112, 112}));
  EXPECT_EQ(shape_of("Conv", {Shape{2, 8, 10}, Shape{8, 1, 3}}, {{"group", std::int64_t{8}}, {"dilations", Ints{2}}}),
            (Shape{2, 8, 6}));
  EXPECT_EQ(shape_of("ConvTranspose", {Shape{1, 4, 5, 5}, Shape{4, 3, 2, 2}},
                     {{"strides", Ints{2, 2}}, {"group", std::int64_t{2}}}),
            (Shape{1, 6, 10, 10}));
  EXPECT_EQ(shape_of("QLinearConv",
                     {Shape{1, 2, 4, 4}, Shape{}, Shape{}, Shape{5, 2, 3, 3}, Shape{}, Shape{}, Shape{}, Shape{}}),
            (Shape{1, 5, 2, 2}));
  EXPECT_EQ(shape_of("GlobalAveragePool", {Shape{2, 5, 7, 9}}), (Shape{2, 5, 1, 1}));
  EXPECT_EQ(shape_error("Conv", {Shape{1, 3, 8, 8}, Shape{4, 2, 3, 3}}),
            "node 'n' (Conv): weights of 4x2x3x3 in 1 groups do not fit 3 input channels: expected output channels a "
            "multiple of the groups, times input channels / groups");
  EXPECT_EQ(shape_error("Conv", {Shape{1, 3, 8, 8}, Shape{4, 3, 3, 3}, Shape{5}}),
            "node 'n' (Conv): bias is 5: expected one value for each of 4 output channels");
  EXPECT_EQ(
      shape_error("Conv", {Shape{1, 3, 2, 8}, Shape{4, 3, 3, 3}}),
      "node 'n' (Conv): a kernel of [3, 3] with dilations [1, 1] does not fit into 1x3x2x8 padded by [0, 0, 0, 0]");
}

TEST(Shape, matrices_and_reductions) {
  EXPECT_EQ(shape_of("Gemm", {Shape{3, 2}, Shape{5, 3}, Shape{5}},
                     {{"transA", std::int64_t{1}}, {"transB", std::int64_t{1}}}),
            (Shape{2, 5}));
  EXPECT_EQ(shape_of("MatMul", {Shape{7, 1, 4, 3}, Shape{2, 3, 5}}), (Shape{7, 2, 4, 5}));
  EXPECT_EQ(shape_of("MatMul", {Shape{3}, Shape{3, 5}}), (Shape{5}));
  EXPECT_EQ(shape_of("MatMul", {Shape{4, 3}, Shape{3}}), (Shape{4}));
  EXPECT_EQ(shape_error("MatMul", {Shape{4, 3}, Shape{4, 3}}),
            "node 'n' (MatMul): A is 4x3 and B is 4x3: expected matrices with equal inner sizes");
  EXPECT_EQ(shape_of("ReduceMean", {Shape{2, 3, 4}}, {{"axes", Ints{-1, 0}}}), (Shape{1, 3, 1}));
  EXPECT_EQ(shape_of("ReduceSum", {Shape{2, 3, 4}, ints({1})}, {{"keepdims", std::int64_t{0}}}), (Shape{2, 4}));
  EXPECT_EQ(shape_of("ReduceMax", {Shape{2, 3}}, {{"keepdims", std::int64_t{0}}}), Shape{});
  EXPECT_EQ(shape_of("ArgMax", {Shape{2, 3}}, {{"axis", std::int64_t{-1}}, {"keepdims", std::int64_t{0}}}), (Shape{2}));
  EXPECT_EQ(shape_of("TopK", {Shape{2, 9}, ints({4})}), (Shape{2, 4}));
  EXPECT_EQ(shape_error("ReduceMean", {Shape{2, 3}}, {{"axes", Ints{2}}}),
            "node 'n' (ReduceMean): axis 2 of a tensor of rank 2: expected an axis in [-2, 1]");
}

TEST(Shape, layout_operators) {
  EXPECT_EQ(shape_of("Reshape", {Shape{2, 3, 4}, ints({0, -1})}), (Shape{2, 12}));
  EXPECT_EQ(shape_of("Reshape", {Shape{0, 3}, ints({3, 0})}, {{"allowzero", std::int64_t{1}}}), (Shape{3, 0}));
  EXPECT_EQ(shape_error("Reshape", {Shape{2, 3}, ints({4, -1})}),
            "node 'n' (Reshape): cannot reshape 2x3 to [4, -1]: expected as many elements and at most one -1");
  EXPECT_EQ(shape_of("Flatten", {Shape{2, 3, 4}}, {{"axis", std::int64_t{-1}}}), (Shape{6, 4}));
  EXPECT_EQ(shape_of("Flatten", {Shape{2, 3, 4}}, {{"axis", std::int64_t{0}}}), (Shape{1, 24}));
  EXPECT_EQ(shape_of("Transpose", {Shape{2, 3, 4}}), (Shape{4, 3, 2}));
  EXPECT_EQ(shape_of("Transpose", {Shape{2, 3, 4}}, {{"perm", Ints{0, 2, 1}}}), (Shape{2, 4, 3}));
  EXPECT_EQ(shape_of("Concat", {Shape{2, 3}, Shape{2, 5}}, {{"axis", std::int64_t{-1}}}), (Shape{2, 8}));
  EXPECT_EQ(shape_error("Concat", {Shape{2, 3}, Shape{3, 3}}, {{"axis", std::int64_t{1}}}),
            "node 'n' (Concat): input 1 is 3x3: expected 2x3 but for axis 1");
  EXPECT_EQ(shape_of("Squeeze", {Shape{1, 3, 1}}), (Shape{3}));
  EXPECT_EQ(shape_of("Squeeze", {Shape{1, 3, 1}, ints({-1})}), (Shape{1, 3}));
  EXPECT_EQ(shape_of("Unsqueeze", {Shape{3}, ints({0, -1})}), (Shape{1, 3, 1}));
  EXPECT_EQ(shape_of("Expand", {Shape{3, 1}, ints({2, 1, 4})}), (Shape{2, 3, 4}));
  EXPECT_EQ(shape_of("Tile", {Shape{2, 3}, ints({2, 1})}), (Shape{4, 3}));
  EXPECT_EQ(shape_of("Pad", {Shape{2, 3}, ints({1, 0, 0, -1})}), (Shape{3, 2}));
  EXPECT_EQ(shape_of("Pad", {Shape{2, 3}, ints({1, 2}), Operand::absent(), ints({-1})}), (Shape{2, 6}));
  EXPECT_EQ(shape_of("Shape", {Shape{2, 3, 4}}, {{"start", std::int64_t{1}}}), (Shape{2}));
  EXPECT_EQ(shape_of("ConstantOfShape", {ints({2, 3})}), (Shape{2, 3}));
  EXPECT_EQ(shape_of("Slice", {Shape{5, 4}, ints({-1}), ints({kFirst}), ints({0}), ints({-1})}), (Shape{5, 4}));
  EXPECT_EQ(shape_of("Slice", {Shape{5, 4}, ints({1}), ints({kLast}), ints({1}), ints({2})}), (Shape{5, 2}));
}

TEST(Shape, indexing_operators) {
  EXPECT_EQ(shape_of("Gather", {Shape{5, 4}, Shape{2, 3}}, {{"axis", std::int64_t{1}}}), (Shape{5, 2, 3}));
  EXPECT_EQ(shape_of("Gather", {Shape{5, 4}, Shape{}}), (Shape{4}));
  EXPECT_EQ(shape_of("GatherND", {Shape{2, 3, 4}, Shape{6, 2}}), (Shape{6, 4}));
  EXPECT_EQ(shape_of("OneHot", {Shape{2}, ints({5}), Shape{2}}), (Shape{2, 5}));
  Graph graph = one_node("Split", {Shape{2, 7}}, {{"axis", std::int64_t{1}}}, 3);
  infer_shapes(graph);
  EXPECT_EQ(graph.shape_of("n:0"), (Shape{2, 3}));
  EXPECT_EQ(graph.shape_of("n:2"), (Shape{2, 1})) << "opset 18: the last part is smaller";
}

TEST(Shape, resampling) {
  const Operand scales = float_tensor({4}, {1, 1, 2, 1.5F});
  EXPECT_EQ(shape_of("Resize", {Shape{1, 2, 4, 5}, Operand::absent(), scales}), (Shape{1, 2, 8, 7}));
  EXPECT_EQ(shape_of("Resize", {Shape{1, 2, 4, 5}, Operand::absent(), Operand::absent(), ints({1, 2, 3, 3})}),
            (Shape{1, 2, 3, 3}));
  EXPECT_EQ(shape_of("DepthToSpace", {Shape{1, 12, 2, 3}}, {{"blocksize", std::int64_t{2}}}), (Shape{1, 3, 4, 6}));
  EXPECT_EQ(shape_of("SpaceToDepth", {Shape{1, 3, 4, 6}}, {{"blocksize", std::int64_t{2}}}), (Shape{1, 12, 2, 3}));
}

TEST(Shape, is_never_guessed) {
  EXPECT_EQ(
      shape_error("FancyOp", {Shape{2}}),
      "node 'n' (FancyOp): the shape of its output 'n:0' is unknown: Tessera does not know this operator; no shape is "
      "guessed");
  EXPECT_EQ(
      shape_error("Reshape", {Shape{2, 3}, Shape{2}}),
      "node 'n' (Reshape): the shape of its output 'n:0' is unknown: it depends on values that are known only at run "
      "time; no shape is guessed");
  Graph graph = one_node("Relu", {Shape{2}});
  graph.nodes[0].domain = "com.example";
  EXPECT_FALSE(has_shape_function(graph.nodes[0]));
}

TEST(Shape, sizes_that_no_machine_holds_are_refused) {
  EXPECT_EQ(shape_error("ConstantOfShape", {ints({1 << 20, 1 << 20})}),
            "node 'n' (ConstantOfShape): makes a tensor of 1048576x1048576, which is more than 2^34 elements");
  EXPECT_EQ(shape_error("ConstantOfShape", {ints({-2})}),
            "node 'n' (ConstantOfShape): makes a tensor with a negative size: -2");
}

}  // namespace
}  // namespace tessera::compiler
