// Hand-made cases of the float interpreter: edge values, and the messages of its refusals. What every operator means is
// tested by ONNX's own cases in models_test.cpp.
#include <cmath>

#include <gtest/gtest.h>

#include "compiler/interpret/evaluate.hpp"
#include "compiler/ir/builder.hpp"
#include "hw/common/error.hpp"

namespace tessera::compiler {
namespace {

Node node_of(const std::string& op, Attributes attributes = {}, std::size_t outputs = 1) {
  Node node;
  node.name = "n";
  node.op = op;
  for (std::size_t i = 0; i < outputs; ++i) node.outputs.push_back("y" + std::to_string(i));
  node.attributes = std::move(attributes);
  return node;
}

std::vector<double> run(const Node& node, const std::vector<const Tensor*>& inputs) {
  return evaluate_node(node, inputs).at(0).as_doubles();
}

template <typename Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const UserError& e) {
    return e.what();
  }
  return "no error";
}

TEST(Operators, ConvWithAsymmetricPads) {
  const Tensor x = float_tensor({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor w = float_tensor({1, 1, 2, 2}, {1, 10, 100, 1000});
  const Tensor b = float_tensor({1}, {0.5F});
  // One row of padding above, one column on the right: sums of the four neighbours.
  EXPECT_EQ(run(node_of("Conv", {{"pads", Ints{1, 0, 0, 1}}}), {&x, &w, &b}),
            (std::vector<double>{2100.5, 3200.5, 300.5, 5421.5, 6532.5, 603.5}));
}

TEST(Operators, EinsumSumsOverTheLettersTheResultLacks) {
  const Tensor a = float_tensor({2, 2}, {1, 2, 3, 4});
  const Tensor b = float_tensor({2, 2}, {10, 20, 30, 40});
  const auto equation = [](const char* text) { return node_of("Einsum", {{"equation", std::string(text)}}); };
  EXPECT_EQ(run(equation("ij,jk->ik"), {&a, &b}), (std::vector<double>{70, 100, 150, 220}));
  EXPECT_EQ(run(equation("ij,kj->ik"), {&a, &b}), (std::vector<double>{50, 110, 110, 250}));
  EXPECT_EQ(run(equation("ii"), {&a}), (std::vector<double>{5}));
  EXPECT_EQ(run(equation("ij->ji"), {&a}), (std::vector<double>{1, 3, 2, 4}));
  EXPECT_EQ(message_of([&] { (void)run(equation("...j->j"), {&a}); }),
            "node 'n' (Einsum): equation '...j->j': has an ellipsis: expected one letter an axis");
  EXPECT_EQ(message_of([&] { (void)run(equation("ijk->i"), {&a}); }),
            "node 'n' (Einsum): equation 'ijk->i': operand 0 has rank 2, expected 3");
}

TEST(Operators, UnknownModesAreNamed) {
  const Tensor x = float_tensor({1, 1, 2, 2}, {1, 2, 3, 4}), scales = float_tensor({4}, {1, 1, 2, 2});
  const auto resize = [&](const char* key, const char* value) {
    return message_of([&] { (void)run(node_of("Resize", {{key, std::string(value)}}), {&x, nullptr, &scales}); });
  };
  EXPECT_EQ(resize("mode", "nearest"), "no error");
  EXPECT_EQ(resize("mode", "area"), "node 'n' (Resize): mode 'area': expected nearest, linear or cubic");
  EXPECT_EQ(resize("nearest_mode", "up"),
            "node 'n' (Resize): nearest_mode 'up': expected round_prefer_floor, round_prefer_ceil, floor or ceil");
  EXPECT_EQ(resize("coordinate_transformation_mode", "tf_crop"),
            "node 'n' (Resize): coordinate_transformation_mode 'tf_crop' is not supported: expected half_pixel, "
            "half_pixel_symmetric, pytorch_half_pixel, asymmetric or align_corners");
}

TEST(Operators, WhatANodeLacksIsNamed) {
  const Tensor x = float_tensor({1}, {1});
  EXPECT_EQ(message_of([&] { (void)run(node_of("Constant"), {}); }),
            "node 'n' (Constant): has no value, value_float, value_floats, value_int or value_ints");
  EXPECT_EQ(message_of([&] { (void)run(node_of("MatMul"), {&x}); }), "node 'n' (MatMul): input 1 is missing");
}

TEST(Operators, QuantizesToBytesOrWords) {
  const Tensor x = float_tensor({1}, {1}), scale = float_tensor({}, {1}), zero = int32_tensor({}, {0});
  EXPECT_EQ(message_of([&] {
              (void)run(node_of("QuantizeLinear"), {&x, &scale, &zero});
            }),
            "node 'n' (QuantizeLinear): quantised type int32: expected int8, uint8, int16 or uint16");
}

TEST(Operators, GridSampleAtCornersAndBetween) {
  const Tensor x = float_tensor({1, 1, 2, 2}, {1, 2, 3, 4});
  const Tensor grid = float_tensor({1, 1, 3, 2}, {0, 0, -1, -1, 3, 0});
  const Attributes corners = {{"align_corners", std::int64_t{1}}};
  EXPECT_EQ(run(node_of("GridSample", corners), {&x, &grid}), (std::vector<double>{2.5, 1, 0}));
  EXPECT_EQ(run(node_of("GridSample", {{"align_corners", std::int64_t{1}}, {"padding_mode", std::string("border")}}),
                {&x, &grid}),
            (std::vector<double>{2.5, 1, 3}));
  // Without align_corners -1 is the outer edge: a quarter of the corner pixel is inside.
  EXPECT_EQ(run(node_of("GridSample"), {&x, &grid}), (std::vector<double>{2.5, 0.25, 0}));
}

TEST(Operators, QuantizeRoundsTiesToEven) {
  const Tensor x = float_tensor({6}, {0.5F, 1.5F, -0.5F, -1.5F, 1000.0F, -1000.0F});
  const Tensor scale = float_tensor({}, {1.0F});
  const Tensor zero = int8_tensor({}, {0});
  EXPECT_EQ(run(node_of("QuantizeLinear"), {&x, &scale, &zero}), (std::vector<double>{0, 2, 0, -2, 127, -128}));
}

TEST(Operators, DequantizeAlongAnAxis) {
  const Tensor q = int8_tensor({2, 2}, {1, 2, 3, 4});
  const Tensor scale = float_tensor({2}, {1.0F, 0.5F});
  const Tensor zero = int8_tensor({2}, {0, 1});
  EXPECT_EQ(run(node_of("DequantizeLinear", {{"axis", std::int64_t{0}}}), {&q, &scale, &zero}),
            (std::vector<double>{1, 2, 1, 1.5}));
  EXPECT_EQ(run(node_of("DequantizeLinear", {{"axis", std::int64_t{1}}}), {&q, &scale, &zero}),
            (std::vector<double>{1, 0.5, 3, 1.5}));
}

TEST(Operators, SliceTakesExtremeBounds) {
  const Tensor x = float_tensor({4}, {0, 1, 2, 3});
  const auto slice = [&](std::int64_t start, std::int64_t end, std::int64_t step) {
    const Tensor s = int64_tensor({1}, {start}), e = int64_tensor({1}, {end}), a = int64_tensor({1}, {0}),
                 t = int64_tensor({1}, {step});
    return run(node_of("Slice"), {&x, &s, &e, &a, &t});
  };
  EXPECT_EQ(slice(1, INT64_MAX, 1), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(slice(-1, INT64_MIN, -1), (std::vector<double>{3, 2, 1, 0}));
  EXPECT_EQ(slice(INT64_MIN, INT64_MAX, INT64_MAX), (std::vector<double>{0}));
  EXPECT_EQ(slice(3, 1, 1), (std::vector<double>{}));
}

TEST(Operators, MaxPoolIgnoresPadding) {
  const Tensor x = float_tensor({1, 1, 1, 2}, {-5, -7});
  EXPECT_EQ(run(node_of("MaxPool", {{"kernel_shape", Ints{1, 2}}, {"pads", Ints{0, 1, 0, 1}}}), {&x}),
            (std::vector<double>{-5, -5, -7}));
}

TEST(Operators, ReshapeZeroCopiesAndMinusOneFills) {
  const Tensor x = float_tensor({2, 3, 4}, std::vector<float>(24, 1.0F));
  const Tensor shape = int64_tensor({2}, {0, -1});
  EXPECT_EQ(evaluate_node(node_of("Reshape"), {&x, &shape}).at(0).shape, (Shape{2, 12}));
}

TEST(Operators, HalfPrecisionRoundsToNearestEven) {
  Tensor x = float_tensor({5}, {1.0F + 1.0F / 2048.0F, 1.0F + 3.0F / 2048.0F, 65519.0F, 65520.0F, 5.9604645e-8F});
  const Tensor half = evaluate_node(node_of("Cast", {{"to", std::int64_t{10}}}), {&x}).at(0);
  EXPECT_EQ(half.dtype, DType::f16);
  EXPECT_EQ(half.as_doubles(), (std::vector<double>{1.0, 1.001953125, 65504.0, HUGE_VAL, 5.9604644775390625e-8}));
}

TEST(Operators, RefusalsNameNodeAndReason) {
  const Tensor x = float_tensor({2}, {1, 2});
  const Tensor y = float_tensor({3}, {1, 2, 3});
  EXPECT_EQ(message_of([&] { (void)evaluate_node(node_of("Scan"), {&x}); }),
            "node 'n' (Scan): the interpreter has no such operator");
  EXPECT_EQ(message_of([&] {
              (void)evaluate_node(node_of("Add"), {&x, &y});
            }),
            "node 'n' (Add): shapes 2 and 3 do not broadcast: each dimension must be equal or 1");
  EXPECT_EQ(message_of([&] {
              (void)evaluate_node(node_of("Add"), {&x, nullptr});
            }),
            "node 'n' (Add): input 1 is missing");
  EXPECT_EQ(message_of([&] {
              (void)evaluate_node(node_of("Concat", {{"axis", std::int64_t{1}}}), {&x});
            }),
            "node 'n' (Concat): axis 1 is outside [-1, 1)");
  EXPECT_EQ(message_of([&] {
              (void)evaluate_node(node_of("MaxPool", {{"kernel_shape", Ints{1}}}, 2), {&y});
            }),
            "node 'n' (MaxPool): input is 3: expected batch, channels and 1 to 3 spatial sizes");
}

TEST(Evaluate, ChecksInputsAndShowsValues) {
  GraphBuilder builder("g");
  const std::string x = builder.input("x", {2});
  const std::string y = builder.node("Relu", {x}, {}, "relu");
  builder.output(y);
  const Graph graph = builder.take();
  std::vector<std::string> seen;
  const NamedTensors out = evaluate(graph, {{"x", float_tensor({2}, {-1, 2})}},
                                    [&](const std::string& value, const Tensor&) { seen.push_back(value); });
  EXPECT_EQ(out.at(y).as_doubles(), (std::vector<double>{0, 2}));
  EXPECT_EQ(seen, (std::vector<std::string>{"x", y}));
  EXPECT_EQ(message_of([&] { (void)evaluate(graph, {}); }), "input x: no tensor was given");
  EXPECT_EQ(message_of([&] {
              (void)evaluate(graph, {{"x", float_tensor({3}, {1, 2, 3})}});
            }),
            "input x: found shape 3, expected 2");
  EXPECT_EQ(message_of([&] {
              (void)evaluate(graph, {{"x", int8_tensor({2}, {1, 2})}});
            }),
            "input x: found type int8, expected float32");
  EXPECT_EQ(message_of([&] {
              (void)evaluate(graph, {{"x", float_tensor({2}, {1, 2})}, {"z", float_tensor({}, {1})}});
            }),
            "input z: the model has no such input: expected x");
}

}  // namespace
}  // namespace tessera::compiler
