// One case a rule of compiler/import/opset.hpp: the old form goes in, the opset-13 form comes out.
#include "compiler/import/opset.hpp"

#include <gtest/gtest.h>

#include "compiler/import/import.hpp"
#include "compiler/ir/builder.hpp"
#include "compiler/ir/marks.hpp"
#include "hw/common/error.hpp"

namespace tessera::compiler {
namespace {

using Values = std::vector<double>;

struct Settled {
  std::vector<Node> nodes;
  Graph graph;

  [[nodiscard]] const Node& node() const { return nodes.back(); }
  [[nodiscard]] Values input(std::size_t i) const { return graph.constants.at(node().inputs.at(i)).as_doubles(); }
};

Settled settle(const std::string& op, std::int64_t opset, Attributes attributes,
               std::vector<std::string> inputs = {"x"}, std::map<std::string, Tensor> constants = {}) {
  Settled result;
  result.graph.constants = std::move(constants);
  Node node{"n", op, "", std::move(inputs), {"y"}, std::move(attributes), {}};
  result.nodes = to_opset13(std::move(node), result.graph, opset);
  return result;
}

std::string refusal(const std::string& op, std::int64_t opset, Attributes attributes, std::vector<std::string> inputs) {
  try {
    (void)settle(op, opset, std::move(attributes), std::move(inputs));
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Opset, axes_become_an_input_before_13) {
  for (const char* op : {"Squeeze", "Unsqueeze", "ReduceSum"}) {
    const Settled old = settle(op, 12, {{"axes", Ints{0, 2}}});
    EXPECT_EQ(old.input(1), (Values{0, 2})) << op;
    EXPECT_TRUE(old.node().attributes.empty()) << op;
    EXPECT_EQ(settle(op, 13, {}, {"x", "a"}).node().inputs[1], "a") << op;
  }
  EXPECT_EQ(settle("Squeeze", 11, {}).node().inputs.size(), 1U) << "no axes: all of size 1";
  EXPECT_EQ(settle("Split", 11, {{"axis", std::int64_t{1}}, {"split", Ints{2, 3}}}).input(1), (Values{2, 3}));
}

TEST(Opset, forms_before_7_become_those_of_7) {
  const Settled add = settle("Add", 6, {{"broadcast", std::int64_t{1}}, {"consumed_inputs", Ints{0, 0}}}, {"x", "z"});
  EXPECT_TRUE(add.node().attributes.empty());
  EXPECT_EQ(
      refusal("Add", 6, {{"broadcast", std::int64_t{1}}, {"axis", std::int64_t{1}}}, {"x", "z"}),
      "node 'n' (Add, opset 6): broadcast along an axis: expected broadcasting as since opset 7; convert the model");
  EXPECT_EQ(settle("Reshape", 4, {{"shape", Ints{2, -1}}}).input(1), (Values{2, -1}));
  EXPECT_EQ(settle("Concat", 3, {}, {"x", "z"}).node().int_attr("axis", 0), 1);
  EXPECT_EQ(settle("Pad", 1, {{"paddings", Ints{0, 1, 0, 2}}}).input(1), (Values{0, 1, 0, 2}));
  EXPECT_EQ(settle("Squeeze", 1, {{"axes", Ints{0}}}).input(1), (Values{0})) << "rules of opset 7 follow";
}

TEST(Opset, slice_pad_topk_and_clip_take_inputs) {
  const Settled slice = settle("Slice", 9, {{"starts", Ints{1}}, {"ends", Ints{-1}}, {"axes", Ints{2}}});
  EXPECT_EQ(slice.input(1), (Values{1}));
  EXPECT_EQ(slice.input(2), (Values{-1}));
  EXPECT_EQ(slice.input(3), (Values{2}));
  const Settled pad =
      settle("Pad", 10, {{"pads", Ints{0, 1, 0, 2}}, {"value", 1.5F}, {"mode", std::string("constant")}});
  EXPECT_EQ(pad.input(1), (Values{0, 1, 0, 2}));
  EXPECT_EQ(pad.input(2), (Values{1.5}));
  EXPECT_EQ(pad.node().attributes.count("mode"), 1U);
  EXPECT_EQ(settle("TopK", 9, {{"k", std::int64_t{3}}}).input(1), (Values{3}));
  const Settled relu6 = settle("Clip", 6 + 1, {{"min", 0.0F}, {"max", 6.0F}});
  EXPECT_EQ(relu6.input(1), (Values{0}));
  EXPECT_EQ(relu6.input(2), (Values{6}));
  const Settled upper = settle("Clip", 10, {{"max", 6.0F}});
  EXPECT_EQ(upper.node().inputs[1], "");
  EXPECT_EQ(upper.input(2), (Values{6}));
  EXPECT_EQ(settle("Clip", 10, {}).node().inputs, (std::vector<std::string>{"x"}));
}

TEST(Opset, old_resampling_becomes_resize_13) {
  const Settled seven =
      settle("Upsample", 7, {{"scales", std::vector<float>{1, 1, 2, 2}}, {"mode", std::string("linear")}});
  EXPECT_EQ(seven.node().op, "Resize");
  EXPECT_EQ(seven.node().inputs[1], "");
  EXPECT_EQ(seven.input(2), (Values{1, 1, 2, 2}));
  EXPECT_EQ(seven.node().string_attr("mode", ""), "linear");
  for (const auto& [op, opset] : {std::pair<const char*, int>{"Upsample", 9}, {"Resize", 10}}) {
    const Settled later = settle(op, opset, {}, {"x", "s"});
    EXPECT_EQ(later.node().inputs, (std::vector<std::string>{"x", "", "s"})) << op;
    EXPECT_EQ(later.node().string_attr("coordinate_transformation_mode", ""), "asymmetric") << op;
    EXPECT_EQ(later.node().string_attr("nearest_mode", ""), "floor") << op;
    EXPECT_EQ(later.node().string_attr("mode", ""), "nearest") << op;
  }
}

TEST(Opset, batch_norm_and_dropout_are_for_inference) {
  const std::vector<std::string> five = {"x", "s", "b", "m", "v"};
  const Node norm = settle("BatchNormalization", 8, {{"spatial", std::int64_t{1}}, {"epsilon", 0.5F}}, five).node();
  EXPECT_EQ(norm.attributes.count("spatial"), 0U);
  EXPECT_EQ(norm.float_attr("epsilon", 0), 0.5F);
  EXPECT_EQ(refusal("BatchNormalization", 7, {{"spatial", std::int64_t{0}}}, five),
            "node 'n' (BatchNormalization, opset 7): spatial = 0 is not supported: expected spatial = 1");
  EXPECT_EQ(refusal("BatchNormalization", 15, {{"training_mode", std::int64_t{1}}}, five),
            "node 'n' (BatchNormalization, opset 15): training mode is not supported: export the model for inference");
  EXPECT_EQ(settle("Dropout", 7, {{"ratio", 0.5F}}).node().attributes.size(), 0U);
  Tensor yes = Tensor::make(DType::boolean, {});
  yes.bytes[0] = 1;
  EXPECT_THROW((void)settle("Dropout", 13, {}, {"x", "", "t"}, {{"t", yes}}), UserError);
  const Tensor zero = float_tensor({}, {0.0F});
  EXPECT_EQ(settle("Dropout", 13, {}, {"x", "r", "t"}, {{"r", zero}, {"t", yes}}).node().inputs.size(), 1U);
}

TEST(Opset, softmax_before_13_is_marked_as_coerced) {
  const Node old = settle("Softmax", 12, {}).node();
  EXPECT_EQ(old.int_attr("axis", -9), 1);
  EXPECT_EQ(old.int_attr(kCoercedSoftmax, 0), 1);
  EXPECT_EQ(settle("Softmax", 13, {}).node().attributes.size(), 0U);
}

TEST(Opset, sum_becomes_adds) {
  EXPECT_EQ(settle("Sum", 13, {}).node().op, "Identity");
  const Settled two = settle("Sum", 9, {}, {"a", "b"});
  EXPECT_EQ(two.nodes.size(), 1U);
  EXPECT_EQ(two.node().op, "Add");
  EXPECT_EQ(two.node().name, "n");
  const Settled four = settle("Sum", 13, {}, {"a", "b", "c", "d"});
  ASSERT_EQ(four.nodes.size(), 3U);
  EXPECT_EQ(four.nodes[0].inputs, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(four.nodes[1].inputs, (std::vector<std::string>{"n/1", "c"}));
  EXPECT_EQ(four.nodes[2].inputs, (std::vector<std::string>{"n/2", "d"}));
  EXPECT_EQ(four.nodes[2].outputs, (std::vector<std::string>{"y"}));
}

TEST(Opset, reductions_of_18_get_their_attribute_back) {
  const std::map<std::string, Tensor> axes = {{"a", int64_tensor({2}, {1, -1})}, {"none", int64_tensor({0}, {})}};
  EXPECT_EQ(settle("ReduceMean", 18, {}, {"x", "a"}, axes).node().ints_attr("axes", {}), (Ints{1, -1}));
  EXPECT_EQ(settle("ReduceMean", 18, {}, {"x", "a"}, axes).node().inputs.size(), 1U);
  EXPECT_EQ(settle("ReduceMax", 18, {}, {"x", "none"}, axes).node().attributes.count("axes"), 0U);
  EXPECT_EQ(settle("ReduceMax", 20, {{"noop_with_empty_axes", std::int64_t{1}}}).node().op, "Identity");
  EXPECT_EQ(settle("ReduceMean", 18, {}, {"x", "computed"}).node().inputs.size(), 2U) << "folding may make it constant";
}

TEST(Opset, every_rule_is_documented_and_within_the_legal_range) {
  for (const OpsetRule& rule : opset_rules()) {
    EXPECT_GE(rule.first, kOldestOpset) << rule.op;
    EXPECT_LE(rule.last, kNewestOpset) << rule.op;
    EXPECT_GT(std::string(rule.sentence).size(), 10U) << rule.op;
  }
}

}  // namespace
}  // namespace tessera::compiler
