// The text of every refusal of the shape functions and of --preprocess: node, what was found, what is legal.
#include <gtest/gtest.h>

#include "compiler/passes/preprocess.hpp"
#include "tests/compiler/passes/one_node.hpp"

namespace tessera::compiler {
namespace {

struct Case {
  const char* op;
  std::vector<Operand> operands;
  Attributes attributes;
  const char* text;  // behind "node 'n' (OP): "
};

void expect_refused(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    EXPECT_EQ(shape_error(c.op, c.operands, c.attributes), std::string("node 'n' (") + c.op + "): " + c.text);
  }
}

constexpr std::int64_t operator""_i(unsigned long long value) { return static_cast<std::int64_t>(value); }

TEST(Refusals, of_indices) {
  expect_refused({
      {"GatherElements", {Shape{2, 3}, ints({1})}, {}, "data of 2x3 and indices of 1: expected equal ranks"},
      {"GatherND", {Shape{2}, int64_tensor({1, 2}, {0, 0})}, {}, "indices of 1x2 do not fit data of 2"},
      {"Split",
       {Shape{4, 2}, ints({3, 3})},
       {},
       "splits 4x2 along axis 0: expected one size for each output, together the axis"},
      {"GridSample",
       {Shape{1, 2, 3, 4}, Shape{1, 3, 4, 5, 3}},
       {},
       "input of 1x2x3x4 and grid of 1x3x4x5x3: expected equal ranks"},
      {"Slice",
       {Shape{4}, ints({0}), ints({1, 2})},
       {},
       "starts, ends, axes and steps differ in length: expected one entry each for every sliced axis"},
      {"Slice", {Shape{4}, ints({0, 0}), ints({1, 2})}, {}, "slices more axes than the input of 4 has"},
      {"Slice", {Shape{4}, ints({0}), ints({1}), ints({0}), ints({0})}, {}, "has a step of 0: expected any other step"},
  });
}

TEST(Refusals, of_layouts) {
  const Operand two = float_tensor({2}, {0, 0}), zero = float_tensor({}, {0}), one = float_tensor({}, {1});
  expect_refused({
      {"Transpose", {Shape{2, 3}}, {{"perm", Ints{0, 0}}}, "perm is no permutation of the axes of 2x3"},
      {"Squeeze", {Shape{2, 3}, ints({0})}, {}, "axis 0 of 2x3 is not 1"},
      {"Expand", {Shape{2}, ints({3})}, {}, "cannot expand 2 to 3"},
      {"Tile", {Shape{2, 3}, ints({2})}, {}, "expected one repeat for each axis of 2x3"},
      {"Tile", {Shape{2}, ints({-1})}, {}, "has an illegal repeat"},
      {"Pad", {Shape{2, 3}, ints({1, 1})}, {}, "has 2 pads: expected two for each of 2 axes"},
      {"Pad", {Shape{2}, ints({1_i << 40, 0})}, {}, "has an illegal pad 1099511627776"},
      {"Pad", {Shape{2}, ints({-3, 0})}, {}, "cuts more off axis 0 than it has"},
      {"Range", {two, one, one}, {}, "expected start, limit and delta to be scalars"},
      {"Range", {zero, one, zero}, {}, "has no finite number of elements"},
  });
}

TEST(Refusals, of_windows) {
  const Operand four_scales = float_tensor({4}, {1, 1, 2, 2});
  expect_refused({
      {"Conv",
       {Shape{1, 2, 4, 4}, Shape{3, 2, 3}},
       {},
       "input of 1x2x4x4 and weights of 3x2x3: expected equal ranks of at least 3"},
      {"Conv",
       {Shape{1, 2, 4, 4}, Shape{3, 2, 3, 3}},
       {{"strides", Ints{0, 1}}},
       "strides is [0, 1]: expected 2 values in [1, 16777216]"},
      {"ConvTranspose",
       {Shape{1, 2, 4, 4}, Shape{3, 2, 3, 3}},
       {},
       "input of 1x2x4x4 and weights of 3x2x3x3 in 1 groups do not fit: expected equal ranks and input channels first "
       "in the weights"},
      {"ConvTranspose",
       {Shape{1, 2, 4, 4}, Shape{2, 2, 3, 3}},
       {{"output_shape", Ints{9}}},
       "output_shape is [9]: expected 2 sizes"},
      {"GlobalAveragePool", {Shape{1, 2}}, {}, "input is 1x2: expected batch, channels and spatial sizes"},
      {"Resize",
       {Shape{1, 2, 4, 4}, Operand::absent(), four_scales},
       {{"keep_aspect_ratio_policy", std::string("not_larger")}},
       "keep_aspect_ratio_policy is not supported: expected stretch"},
      {"Resize", {Shape{1, 2, 4}, Operand::absent(), four_scales}, {}, "gives 4 sizes or scales for 3 axes"},
      {"Resize", {Shape{1, 2, 4, 4}}, {}, "expected scales or sizes"},
      {"DepthToSpace",
       {Shape{4, 4}},
       {{"blocksize", 2_i}},
       "input of 4x4 with blocksize 2: expected rank 4 and a blocksize of at least 1"},
      {"DepthToSpace",
       {Shape{1, 6, 2, 2}},
       {{"blocksize", 2_i}},
       "6 channels: expected a multiple of blocksize squared"},
      {"SpaceToDepth",
       {Shape{1, 1, 3, 2}},
       {{"blocksize", 2_i}},
       "a map of 1x1x3x2: expected height and width multiples of the blocksize"},
  });
}

TEST(Refusals, of_products_and_normalisations) {
  expect_refused({
      {"Gemm", {Shape{2, 3}, Shape{3, 4}, Shape{5}}, {}, "C is 5: expected a shape that broadcasts to 2x4"},
      {"BatchNormalization",
       {Shape{2}, Shape{2}, Shape{2}, Shape{2}, Shape{2}},
       {},
       "input is 2: expected batch and channels"},
      {"Einsum",
       {Shape{2, 3}},
       {{"equation", std::string("ij,jk->ik")}},
       "equation 'ij,jk->ik': names 2 operands, the node has 1"},
      {"Einsum",
       {Shape{2, 3}},
       {{"equation", std::string("i->i")}},
       "equation 'i->i': operand 0 has rank 2, expected 1"},
      {"Einsum", {Shape{2, 3}}, {{"equation", std::string("i1->i")}}, "equation 'i1->i': '1' is no letter"},
      {"Einsum", {Shape{2, 3}}, {{"equation", std::string("ii->i")}}, "equation 'ii->i': axis i has sizes 2 and 3"},
      {"Einsum",
       {Shape{2, 3}},
       {{"equation", std::string("ij->k")}},
       "equation 'ij->k': result axis k stands in no operand"},
  });
}

TEST(Refusals, of_preprocessing) {
  const auto error_of = [](const std::string& text) -> std::string {
    try {
      Graph graph = one_node("Relu", {Shape{1, 3, 4, 4}});
      infer_shapes(graph);
      add_preprocessing(graph, parse_preprocessing(text));
    } catch (const UserError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(error_of("in0=1,2,3/1,1,1"), "no error");
  EXPECT_EQ(error_of("in0=1,x,3/1,1,1"),
            "--preprocess in0=1,x,3/1,1,1: 'x' is no number; expected INPUT=MEAN,.../DEVIATION,...");
  EXPECT_EQ(error_of("in0"), "--preprocess in0: expected INPUT=MEAN,.../DEVIATION,..., one value a channel");
  EXPECT_EQ(error_of("in0=1,2,3/1,1,0"),
            "--preprocess in0=1,2,3/1,1,0: expected as many deviations as means, each above 0");
  EXPECT_EQ(error_of("image=1,2,3/1,1,1"), "--preprocess image: the model has no such input; legal are in0");
  EXPECT_EQ(error_of("in0=1,2/1,1"),
            "--preprocess in0: 2 values for an input of float32 1x3x4x4; legal is a float32 input with one value for "
            "each of its channels (axis 1)");
}

}  // namespace
}  // namespace tessera::compiler
