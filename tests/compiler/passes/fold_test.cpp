#include "compiler/passes/fold.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "compiler/interpret/evaluate.hpp"
#include "compiler/ir/builder.hpp"
#include "one_node.hpp"

namespace tessera::compiler {
namespace {

using Values = std::vector<double>;

/// The folded output; the node must be gone.
Tensor folded(const std::string& op, const std::vector<Operand>& operands, Attributes attributes = {}) {
  Graph graph = one_node(op, operands, std::move(attributes));
  EXPECT_EQ(fold_constants(graph), 1U) << op;
  return graph.constants.count("n:0") != 0 ? graph.constants.at("n:0") : Tensor{};
}

Values values(const std::string& op, const std::vector<Operand>& operands, Attributes attributes = {}) {
  return folded(op, operands, std::move(attributes)).as_doubles();
}

Operand count_up(const Shape& shape) {
  std::vector<std::int64_t> list(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < list.size(); ++i) list[i] = static_cast<std::int64_t>(i);
  return int64_tensor(shape, list);
}

Operand booleans(const std::vector<std::uint8_t>& bits) {
  Tensor tensor = Tensor::make(DType::boolean, {static_cast<std::int64_t>(bits.size())});
  std::copy(bits.begin(), bits.end(), tensor.bytes.begin());
  return tensor;
}

TEST(Fold, shapes_are_constants_though_their_input_is_not) {
  EXPECT_EQ(values("Shape", {Shape{2, 3, 4}}), (Values{2, 3, 4}));
  EXPECT_EQ(values("Shape", {Shape{2, 3, 4}}, {{"start", std::int64_t{-2}}, {"end", std::int64_t{2}}}), (Values{3}));
  EXPECT_EQ(values("Size", {Shape{2, 3, 4}}), (Values{24}));
}

TEST(Fold, movement) {
  EXPECT_EQ(values("Transpose", {count_up({2, 3})}), (Values{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(values("Transpose", {count_up({2, 1, 3})}, {{"perm", Ints{1, 2, 0}}}), (Values{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(values("Concat", {count_up({2, 1}), count_up({2, 2})}, {{"axis", std::int64_t{1}}}),
            (Values{0, 0, 1, 1, 2, 3}));
  EXPECT_EQ(values("Slice", {count_up({2, 4}), ints({3, 0}), ints({0, 2}), ints({1, 0}), ints({-2, 1})}),
            (Values{3, 1, 7, 5}));
  EXPECT_EQ(values("Gather", {count_up({3, 2}), ints({-1, 0})}), (Values{4, 5, 0, 1}));
  EXPECT_EQ(values("Gather", {count_up({2, 3}), ints({2, 0})}, {{"axis", std::int64_t{1}}}), (Values{2, 0, 5, 3}));
  EXPECT_EQ(values("Expand", {count_up({2, 1}), ints({2, 2, 3})}), (Values{0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(values("Tile", {count_up({1, 2}), ints({2, 2})}), (Values{0, 1, 0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(folded("Unsqueeze", {count_up({2}), ints({0})}).shape, (Shape{1, 2}));
  EXPECT_EQ(values("ConstantOfShape", {ints({2})}, {{"value", int64_tensor({1}, {7})}}), (Values{7, 7}));
  EXPECT_EQ(folded("ConstantOfShape", {ints({2})}).dtype, DType::f32);
  EXPECT_EQ(values("ScatterND", {count_up({3, 2}), Operand(int64_tensor({2, 1}, {-1, 0})),
                                 Operand(int64_tensor({2, 2}, {9, 8, 7, 6}))}),
            (Values{7, 6, 2, 3, 9, 8}));
}

TEST(Fold, integer_arithmetic) {
  EXPECT_EQ(values("Add", {ints({1, 2}), ints({10})}), (Values{11, 12}));
  EXPECT_EQ(values("Div", {ints({-7, 7}), ints({2})}), (Values{-3, 3})) << "toward zero";
  EXPECT_EQ(values("Mod", {ints({-7, 7}), ints({3})}), (Values{2, 1})) << "sign of the divisor";
  EXPECT_EQ(values("Mod", {ints({-7}), ints({3})}, {{"fmod", std::int64_t{1}}}), (Values{-1}));
  EXPECT_EQ(folded("Div", {ints({INT64_MIN}), ints({-1})}).as_ints(), (Ints{INT64_MIN})) << "wraps";
  EXPECT_EQ(folded("Mul", {ints({INT64_MAX}), ints({2})}).as_ints(), (Ints{-2})) << "wraps";
  EXPECT_EQ(values("Neg", {ints({-4})}), (Values{4}));
  EXPECT_EQ(shape_error("Div", {ints({1}), ints({0})}), "no error");
  Graph graph = one_node("Div", {ints({1}), ints({0})});
  EXPECT_THROW((void)fold_constants(graph), UserError);
}

TEST(Fold, floats_and_comparisons) {
  EXPECT_EQ(values("Div", {Operand(float_tensor({2}, {1, -1})), Operand(float_tensor({}, {4}))}),
            (Values{0.25, -0.25}));
  EXPECT_EQ(values("Equal", {ints({1, 2}), ints({2})}), (Values{0, 1}));
  EXPECT_EQ(values("Where", {booleans({1, 0}), ints({1, 2}), ints({8, 9})}), (Values{1, 9}));
  EXPECT_EQ(values("Not", {booleans({1, 0})}), (Values{0, 1}));
  EXPECT_EQ(values("Cast", {Operand(float_tensor({3}, {1.9F, -1.9F, 0}))}, {{"to", std::int64_t{7}}}),
            (Values{1, -1, 0}));
  EXPECT_EQ(values("Cast", {Operand(float_tensor({3}, {0.5F, -2, 0}))}, {{"to", std::int64_t{9}}}), (Values{1, 1, 0}));
  EXPECT_EQ(values("Range",
                   {Operand(int64_tensor({}, {7})), Operand(int64_tensor({}, {0})), Operand(int64_tensor({}, {-3}))}),
            (Values{7, 4, 1}));
}

TEST(Fold, a_reshape_target_computed_from_shapes_vanishes) {
  // What exporters write for x.view(x.shape[0], -1).
  GraphBuilder b("g");
  b.input("x", {4, 2, 3});
  const std::string zero = b.constant("zero", int64_tensor({}, {0}));
  const std::string batch = b.node("Gather", {b.node("Shape", {"x"}), zero});
  const std::string axes = b.constant("axes", int64_tensor({1}, {0}));
  const std::string rest = b.constant("rest", int64_tensor({1}, {-1}));
  const std::string target = b.node("Concat", {b.node("Unsqueeze", {batch, axes}), rest}, {{"axis", std::int64_t{0}}});
  b.output(b.node("Reshape", {"x", target}, {}, "view"));
  Graph graph = b.take();
  prepare(graph);
  ASSERT_EQ(graph.nodes.size(), 1U);
  EXPECT_EQ(graph.shape_of("view"), (Shape{4, 6}));
  EXPECT_EQ(graph.constants.size(), 1U) << "constants that nobody reads go";
}

TEST(Fold, keeps_quantisers_and_asks_the_evaluator_for_the_rest) {
  Graph quantised = one_node("DequantizeLinear", {Operand(int8_tensor({1}, {3})), Operand(float_tensor({}, {0.5F}))});
  EXPECT_EQ(fold_constants(quantised), 0U);
  Graph root = one_node("Sqrt", {Operand(float_tensor({1}, {9}))});
  EXPECT_EQ(fold_constants(root), 0U);
  std::string asked;
  const Evaluator evaluator = [&](const Node& node, const std::vector<const Tensor*>& inputs) {
    asked = node.op;
    return std::optional<std::vector<Tensor>>{{float_tensor({1}, {inputs[0]->data<float>()[0] / 3})}};
  };
  EXPECT_EQ(fold_constants(root, evaluator), 1U);
  EXPECT_EQ(asked, "Sqrt");
  EXPECT_EQ(root.constants.at("n:0").as_doubles(), (Values{3}));
}

TEST(Fold, an_evaluator_that_answers_with_another_shape_is_our_bug) {
  Graph root = one_node("Sqrt", {Operand(float_tensor({1}, {9}))});
  const Evaluator wrong = [](const Node&, const std::vector<const Tensor*>&) {
    return std::optional<std::vector<Tensor>>{{float_tensor({2}, {1, 1})}};
  };
  EXPECT_THROW((void)fold_constants(root, wrong), InternalError);
}

TEST(Fold, indices_outside_name_the_node) {
  Graph graph = one_node("Gather", {ints({1, 2}), ints({2})});
  try {
    (void)fold_constants(graph);
    FAIL() << "expected an error";
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "node 'n' (Gather): index 2 of an axis of size 2");
  }
}

TEST(Fold, small_files_cannot_ask_for_minutes_or_all_memory) {
  GraphBuilder b("g");
  b.input("x", {1});
  const std::string size = b.constant("size", int64_tensor({2}, {3000, 3000}));
  const std::string filled = b.node("ConstantOfShape", {size});
  b.output(b.node("Add", {"x", b.node("MatMul", {filled, filled}, {}, "product")}));  // 27 G multiplications
  const std::string vast = b.constant("vast", int64_tensor({2}, {1 << 15, 1 << 16}));
  b.output(b.node("Add", {"x", b.node("ConstantOfShape", {vast}, {}, "filler")}));  // 8 GiB
  Graph graph = b.take();
  prepare(graph, try_evaluate_node);
  const auto stays = [&](const char* name) {
    return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) { return node.name == name; });
  };
  EXPECT_TRUE(stays("product"));
  EXPECT_TRUE(stays("filler"));
  EXPECT_EQ(graph.constants.count(filled), 1U) << "36 MB are taken";
}

}  // namespace
}  // namespace tessera::compiler
