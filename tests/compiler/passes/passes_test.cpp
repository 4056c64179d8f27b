// Each float pass: what it changes, and that the interpreter computes the same before and after on random inputs.
#include <cmath>

#include <gtest/gtest.h>

#include "compiler/interpret/evaluate.hpp"
#include "compiler/ir/builder.hpp"
#include "compiler/ir/marks.hpp"
#include "compiler/passes/canonicalise.hpp"
#include "compiler/passes/fold.hpp"
#include "compiler/passes/integer_passes.hpp"
#include "compiler/passes/macs.hpp"
#include "compiler/passes/preprocess.hpp"
#include "compiler/passes/shape_inference.hpp"
#include "hw/common/error.hpp"
#include "hw/common/random.hpp"

namespace tessera::compiler {
namespace {

Tensor random_tensor(const Shape& shape, std::uint64_t seed, double low = -1, double high = 1) {
  Random random(seed);
  std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
  for (float& value : values) value = static_cast<float>(low + (high - low) * random.unit());
  return float_tensor(shape, values);
}

/// Runs the passes and compares all outputs before and after; returns the changed graph.
Graph run_and_compare(GraphBuilder& builder, const std::vector<std::string>& passes = canonical_passes()) {
  Graph graph = builder.take();
  prepare(graph);
  NamedTensors inputs;
  for (const std::string& input : graph.inputs) inputs[input] = random_tensor(graph.shape_of(input), 5);
  const NamedTensors before = evaluate(graph, inputs);
  run_passes(graph, passes);
  require_shapes(graph);
  const NamedTensors after = evaluate(graph, inputs);
  EXPECT_EQ(before.size(), after.size());
  for (const auto& [name, tensor] : before) {
    const Tensor& other = after.at(name);
    EXPECT_EQ(tensor.shape, other.shape) << name;
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
      if (std::abs(tensor.data<float>()[i] - other.data<float>()[i]) > 1e-4F) {
        ADD_FAILURE() << name << " element " << i << ": " << tensor.data<float>()[i] << " became "
                      << other.data<float>()[i];
        break;
      }
    }
  }
  return graph;
}

std::vector<std::string> ops(const Graph& graph) {
  std::vector<std::string> list;
  for (const Node& node : graph.nodes) list.push_back(node.op);
  return list;
}

using Ops = std::vector<std::string>;

std::string norm(GraphBuilder& b, const std::string& value, std::int64_t channels, const std::string& name) {
  std::vector<std::string> inputs = {value};
  inputs.push_back(b.constant(name + ".scale", random_tensor({channels}, 11, 0.5, 1.5)));
  inputs.push_back(b.constant(name + ".shift", random_tensor({channels}, 12)));
  inputs.push_back(b.constant(name + ".mean", random_tensor({channels}, 13)));
  inputs.push_back(b.constant(name + ".var", random_tensor({channels}, 14, 0.5, 2)));
  return b.node("BatchNormalization", inputs, {{"epsilon", 0.01F}}, name);
}

TEST(Passes, batch_norm_goes_into_convolutions) {
  for (const bool with_bias : {false, true}) {
    GraphBuilder b("g");
    b.input("x", {2, 4, 5, 5});
    std::vector<std::string> inputs = {"x", b.constant("w", random_tensor({6, 2, 3, 3}, 1))};
    if (with_bias) inputs.push_back(b.constant("b", random_tensor({6}, 2)));
    b.output(b.node("Relu", {norm(b, b.node("Conv", inputs, {{"group", std::int64_t{2}}}, "conv"), 6, "bn")}));
    const Graph graph = run_and_compare(b);
    EXPECT_EQ(ops(graph), (Ops{"Conv", "Relu"}));
    EXPECT_EQ(graph.nodes[0].fused, (Ops{"bn"}));
    EXPECT_EQ(graph.constants.size(), 2U);
  }
}

TEST(Passes, batch_norm_goes_into_transposed_convolutions) {
  // Two groups: output channel = group * 3 + column of the weight.
  GraphBuilder b("g");
  b.input("x", {1, 4, 3, 3});
  const std::string w = b.constant("w", random_tensor({4, 3, 2, 2}, 1));
  b.output(norm(b, b.node("ConvTranspose", {"x", w}, {{"group", std::int64_t{2}}, {"strides", Ints{2, 2}}}), 6, "bn"));
  EXPECT_EQ(ops(run_and_compare(b)), (Ops{"ConvTranspose"}));
}

TEST(Passes, batch_norm_stays_out_of_a_convolution_with_other_readers) {
  GraphBuilder b("g");
  b.input("x", {1, 2, 3, 3});
  const std::string conv = b.node("Conv", {"x", b.constant("w", random_tensor({3, 2, 1, 1}, 1))}, {}, "conv");
  b.output(norm(b, conv, 3, "bn"));
  b.output(conv);
  const Graph graph = run_and_compare(b);
  EXPECT_EQ(ops(graph), (Ops{"Conv", "Conv"}));
  EXPECT_EQ(graph.nodes[1].int_attr("group", 1), 3);
  EXPECT_EQ(macs(graph), 9 * 3 * 2) << "the normalisation's products are no useful MACs";
  EXPECT_EQ(graph.nodes[1].attributes.count(kScaleShiftConv), 1U);
}

TEST(Passes, weights_shared_by_two_convolutions_are_not_folded_twice) {
  GraphBuilder b("g");
  b.input("x", {1, 2, 4, 4});
  const std::string w = b.constant("w", random_tensor({2, 2, 1, 1}, 1));
  const std::string first = norm(b, b.node("Conv", {"x", w}), 2, "bn1");
  b.output(norm(b, b.node("Conv", {first, w}), 2, "bn2"));
  const Graph graph = run_and_compare(b);
  EXPECT_EQ(ops(graph), (Ops{"Conv", "Conv"}));
  EXPECT_NE(graph.nodes[0].inputs[1], graph.nodes[1].inputs[1]);
}

TEST(Passes, identities_vanish_also_in_front_of_an_output) {
  GraphBuilder b("g");
  b.input("x", {1, 2, 3});
  const std::string relu = b.node("Relu", {b.node("Identity", {"x"})}, {}, "relu");
  b.node("Sigmoid", {relu}, {}, "second");
  b.output(b.node("Dropout", {b.node("Transpose", {relu}, {{"perm", Ints{1, 0, 2}}}, "moved")}, {}, "y"));
  b.output("second");
  Graph graph = run_and_compare(b);
  EXPECT_EQ(ops(graph), (Ops{"Relu", "Sigmoid", "Transpose"})) << "1x2x3 to 2x1x3 changes the shape, so it stays";
  EXPECT_EQ(graph.outputs, (Ops{"y", "second"}));
  EXPECT_EQ(graph.nodes[2].outputs[0], "y");
  EXPECT_EQ(graph.nodes[2].fused, (Ops{"y"}));
}

/// Relu, the node, Sigmoid: prepared, compared with the graph as it stood, and what is left.
Ops left_of(const char* op, const std::vector<Tensor>& inputs,
            const std::map<std::string, Attribute>& attributes = {}) {
  GraphBuilder b("g");
  b.input("x", {1, 4, 6});
  std::vector<std::string> names = {b.node("Relu", {"x"})};
  for (std::size_t i = 0; i < inputs.size(); ++i) names.push_back(b.constant("c" + std::to_string(i), inputs[i]));
  b.output(b.node("Sigmoid", {b.node(op, names, attributes)}, {}, "y"));
  Graph graph = b.take();
  const NamedTensors x = {{"x", random_tensor({1, 4, 6}, 5)}};
  const Tensor before = evaluate(graph, x).at("y");
  prepare(graph);
  const Tensor after = evaluate(graph, x).at("y");
  EXPECT_EQ(before.shape, after.shape) << op;
  EXPECT_EQ(before.bytes, after.bytes) << op;
  return ops(graph);
}

TEST(Passes, a_slice_of_everything_goes_and_a_reversed_one_stays) {
  const auto ints = [](const Ints& values) { return int64_tensor({static_cast<std::int64_t>(values.size())}, values); };
  const Ops gone = {"Relu", "Sigmoid"}, stays = {"Relu", "Slice", "Sigmoid"};
  EXPECT_EQ(left_of("Slice", {ints({0, -6}), ints({INT64_MAX, 6}), ints({1, 2}), ints({1, 1})}), gone);
  EXPECT_EQ(left_of("Slice", {ints({-1}), ints({INT64_MIN}), ints({0}), ints({-1})}), gone) << "an axis of one";
  EXPECT_EQ(left_of("Slice", {ints({-1}), ints({INT64_MIN}), ints({2}), ints({-1})}), stays);
  EXPECT_EQ(left_of("Slice", {ints({1}), ints({6}), ints({2}), ints({1})}), stays);
}

TEST(Passes, a_pad_of_zeros_goes_and_pads_that_cancel_stay) {
  const Ops gone = {"Relu", "Sigmoid"}, stays = {"Relu", "Pad", "Sigmoid"};
  EXPECT_EQ(left_of("Pad", {int64_tensor({6}, {0, 0, 0, 0, 0, 0})}), gone);
  EXPECT_EQ(left_of("Pad", {int64_tensor({6}, {0, 0, 1, 0, 0, -1})}), stays);
  EXPECT_EQ(left_of("Pad", {int64_tensor({6}, {0, 0, 0, 0, 0, 1})}), stays);
}

TEST(Passes, repeating_once_goes_and_repeating_twice_stays) {
  EXPECT_EQ(left_of("Tile", {int64_tensor({3}, {1, 1, 1})}), (Ops{"Relu", "Sigmoid"}));
  EXPECT_EQ(left_of("Tile", {int64_tensor({3}, {1, 2, 1})}), (Ops{"Relu", "Tile", "Sigmoid"}));
  EXPECT_EQ(left_of("Expand", {int64_tensor({2}, {1, 6})}), (Ops{"Relu", "Sigmoid"}));
  EXPECT_EQ(left_of("Expand", {int64_tensor({3}, {2, 1, 1})}), (Ops{"Relu", "Expand", "Sigmoid"}));
}

TEST(Passes, an_identity_between_input_and_output_stays) {
  GraphBuilder b("g");
  b.input("x", {2});
  b.output(b.node("Identity", {"x"}, {}, "y"));
  EXPECT_EQ(ops(run_and_compare(b)), (Ops{"Identity"}));
}

TEST(Passes, a_dropout_with_an_unread_mask_goes_and_one_with_a_read_mask_stays) {
  for (const bool mask_is_read : {false, true}) {
    GraphBuilder b("g");
    b.input("x", {2});
    const auto outputs = b.node_with_outputs("Dropout", {b.node("Relu", {"x"})}, 2, {}, "drop");
    b.output(b.node("Sigmoid", {outputs[0]}));
    if (mask_is_read) b.output(outputs[1]);
    Graph graph = b.take();
    prepare(graph);
    run_passes(graph, {"remove-identity"});
    EXPECT_EQ(graph.nodes.size(), mask_is_read ? 3U : 2U);
  }
}

TEST(Passes, reshapes_merge) {
  GraphBuilder b("g");
  b.input("x", {2, 3, 4});
  const std::string flat = b.node("Flatten", {"x"}, {}, "flat");
  const std::string axes = b.constant("axes", int64_tensor({1}, {0}));
  const std::string wide = b.node("Unsqueeze", {flat, axes}, {}, "wide");
  b.output(b.node("Relu", {b.node("Reshape", {wide, b.constant("t", int64_tensor({2}, {4, -1}))}, {}, "last")}));
  const Graph graph = run_and_compare(b);
  EXPECT_EQ(ops(graph), (Ops{"Reshape", "Relu"}));
  EXPECT_EQ(graph.nodes[0].name, "flat");
  EXPECT_EQ(graph.nodes[0].fused, (Ops{"wide", "last"}));
  EXPECT_EQ(graph.constants.at(graph.nodes[0].inputs[1]).as_ints(), (Ints{4, 6}));
}

TEST(Passes, a_reshape_with_another_reader_is_not_merged) {
  GraphBuilder b("g");
  b.input("x", {2, 6});
  const std::string first = b.node("Reshape", {"x", b.constant("s", int64_tensor({2}, {3, 4}))});
  b.output(b.node("Reshape", {first, b.constant("t", int64_tensor({2}, {4, 3}))}));
  b.output(b.node("Relu", {first}));
  EXPECT_EQ(ops(run_and_compare(b)).size(), 3U);
}

TEST(Passes, zero_pads_go_into_the_convolution) {
  const auto padded = [](const Ints& pads, float value) {
    GraphBuilder b("g");
    b.input("x", {1, 2, 4, 4});
    const std::string p = b.constant("p", int64_tensor({8}, pads));
    const std::string pad = b.node("Pad", {"x", p, b.constant("v", float_tensor({}, {value}))}, {}, "pad");
    const std::string w = b.constant("w", random_tensor({2, 2, 3, 3}, 1));
    b.output(b.node("Conv", {pad, w}, {{"pads", Ints{1, 0, 0, 0}}, {"strides", Ints{2, 1}}}, "conv"));
    return run_and_compare(b);
  };
  const Graph folded = padded({0, 0, 1, 2, 0, 0, 0, 1}, 0);
  EXPECT_EQ(ops(folded), (Ops{"Conv"}));
  EXPECT_EQ(folded.nodes[0].ints_attr("pads", {}), (Ints{2, 2, 0, 1}));
  EXPECT_EQ(folded.nodes[0].fused, (Ops{"pad"}));
  EXPECT_EQ(ops(padded({0, 0, 1, 2, 0, 0, 0, 1}, 1)), (Ops{"Pad", "Conv"})) << "pads of ones";
  EXPECT_EQ(ops(padded({0, 0, 1, -1, 0, 0, 0, 1}, 0)), (Ops{"Pad", "Conv"})) << "a crop";
}

TEST(Passes, a_constant_per_channel_becomes_the_bias) {
  for (const Shape& shape : {Shape{3, 1, 1}, Shape{1, 3, 1, 1}, Shape{}, Shape{1}}) {
    GraphBuilder b("g");
    b.input("x", {2, 2, 3, 3});
    const std::string conv =
        b.node("Conv", {"x", b.constant("w", random_tensor({3, 2, 1, 1}, 1)), b.constant("b", random_tensor({3}, 2))});
    b.output(b.node("Add", {b.constant("c", random_tensor(shape, 3)), conv}, {}, "add"));
    const Graph graph = run_and_compare(b);
    EXPECT_EQ(ops(graph), (Ops{"Conv"})) << shape_text(shape);
    EXPECT_EQ(graph.nodes[0].fused, (Ops{"add"}));
  }
}

TEST(Passes, other_sums_stay) {
  for (const Shape& shape : {Shape{3}, Shape{1, 3, 3}, Shape{2, 1, 1, 1}, Shape{1, 2, 3, 3, 3}}) {
    GraphBuilder b("g");
    b.input("x", {2, 2, 3, 3});
    const std::string conv = b.node("Conv", {"x", b.constant("w", random_tensor({3, 2, 1, 1}, 1))});
    b.output(b.node("Add", {conv, b.constant("c", random_tensor(shape, 3))}));
    EXPECT_EQ(ops(run_and_compare(b)), (Ops{"Conv", "Add"})) << shape_text(shape);
  }
}

TEST(Passes, gemm_gets_one_form) {
  struct Case {
    std::int64_t trans_b;
    float alpha, beta;
    Shape bias;
    Ops expected;
  };
  const std::vector<Case> cases = {
      {0, 1, 1, {5}, {"Gemm"}},           {1, 0.5F, 2, {1, 5}, {"Gemm"}},        {0, 2, 0.25F, {}, {"Gemm"}},
      {1, 1, 1, {4, 1}, {"Gemm", "Add"}}, {0, 0.5F, 3, {4, 5}, {"Gemm", "Add"}}, {1, 1, 1, {5}, {"Gemm"}}};
  for (const Case& c : cases) {
    GraphBuilder b("g");
    b.input("a", {4, 3});
    const std::string w = b.constant("w", random_tensor(c.trans_b != 0 ? Shape{5, 3} : Shape{3, 5}, 1));
    b.output(b.node("Gemm", {"a", w, b.constant("c", random_tensor(c.bias, 2))},
                    {{"transB", c.trans_b}, {"alpha", c.alpha}, {"beta", c.beta}}, "y"));
    const Graph graph = run_and_compare(b);
    EXPECT_EQ(ops(graph), c.expected);
    const Node& gemm = graph.nodes[0];
    EXPECT_EQ(graph.shape_of(gemm.inputs[1]), (Shape{5, 3}));
    EXPECT_EQ(gemm.int_attr("transB", 0), 1);
    EXPECT_EQ(gemm.float_attr("alpha", 1) * gemm.float_attr("beta", 1), 1);
    if (gemm.inputs.size() > 2) {
      EXPECT_EQ(graph.shape_of(gemm.inputs[2]), (Shape{5}));
    }
    EXPECT_EQ(macs(graph), 4 * 3 * 5);
  }
}

TEST(Passes, matmul_with_its_bias_becomes_gemm) {
  GraphBuilder b("g");
  b.input("a", {4, 3});
  const std::string product = b.node("MatMul", {"a", b.constant("w", random_tensor({3, 5}, 1))}, {}, "product");
  b.output(b.node("Add", {product, b.constant("c", random_tensor({5}, 2))}, {}, "y"));
  const Graph graph = run_and_compare(b);
  EXPECT_EQ(ops(graph), (Ops{"Gemm"}));
  EXPECT_EQ(graph.nodes[0].name, "product");
  EXPECT_EQ(graph.nodes[0].fused, (Ops{"y"}));
}

TEST(Passes, matmul_of_computed_operands_stays) {
  GraphBuilder b("g");
  b.input("a", {2, 4, 3});
  b.input("c", {3, 3});
  const std::string first = b.node("MatMul", {"a", b.constant("w", random_tensor({3, 3}, 1))});
  b.output(b.node("MatMul", {first, "c"}));
  EXPECT_EQ(ops(run_and_compare(b)), (Ops{"Reshape", "Gemm", "Reshape", "MatMul"}));
}

TEST(Passes, windows_become_explicit) {
  GraphBuilder b("g");
  b.input("x", {1, 2, 5, 5});
  const std::string w = b.constant("w", random_tensor({2, 2, 3, 3}, 1));
  const std::string conv = b.node("Conv", {"x", w}, {{"auto_pad", std::string("SAME_LOWER")}, {"strides", Ints{2, 2}}});
  b.output(b.node("ConvTranspose", {conv, b.constant("v", random_tensor({2, 2, 3, 3}, 2))},
                  {{"output_shape", Ints{4, 6}}, {"strides", Ints{2, 2}}}));
  const Graph graph = run_and_compare(b, {"explicit-windows"});
  EXPECT_EQ(graph.nodes[0].ints_attr("pads", {}), (Ints{1, 1, 1, 1}));
  EXPECT_EQ(graph.nodes[0].ints_attr("kernel_shape", {}), (Ints{3, 3}));
  EXPECT_EQ(graph.nodes[0].attributes.count("auto_pad"), 0U);
  EXPECT_EQ(graph.nodes[1].attributes.count("output_shape"), 0U);
  EXPECT_EQ(graph.nodes[1].ints_attr("pads", {}), (Ints{2, 1, 1, 0}));
}

TEST(Passes, softmax_of_old_opsets_settles) {
  const auto settled = [](const Shape& shape, std::int64_t axis) {
    GraphBuilder b("g");
    b.input("x", shape);
    b.output(b.node("Softmax", {"x"}, {{"axis", axis}, {kCoercedSoftmax, std::int64_t{1}}}, "y"));
    Graph graph = b.take();
    prepare(graph);
    return graph;
  };
  EXPECT_EQ(ops(settled({1, 1000, 1, 1}, 1)), (Ops{"Softmax"}));
  EXPECT_EQ(settled({1, 1000, 1, 1}, 1).nodes[0].int_attr("axis", 9), 1);
  EXPECT_EQ(settled({2, 1, 7}, 1).nodes[0].int_attr("axis", 9), 2);
  EXPECT_EQ(settled({2, 3}, -1).nodes[0].int_attr("axis", 9), 1);
  Graph spread = settled({2, 3, 4}, 1);
  EXPECT_EQ(ops(spread), (Ops{"Flatten", "Softmax", "Reshape"}));
  EXPECT_EQ(spread.shape_of("y"), (Shape{2, 3, 4}));
  // Each of the two rows of twelve sums to 1.
  const Tensor y = evaluate(spread, {{"x", random_tensor({2, 3, 4}, 3)}}).at("y");
  float sum = 0;
  for (int i = 0; i < 12; ++i) sum += y.data<float>()[i];
  EXPECT_NEAR(sum, 1.0F, 1e-6F);
}

TEST(Passes, transposes_merge) {
  GraphBuilder b("g");
  b.input("x", {2, 3, 4, 5});
  const std::string first = b.node("Transpose", {"x"}, {{"perm", Ints{0, 2, 3, 1}}});
  const std::string second = b.node("Transpose", {first}, {{"perm", Ints{0, 2, 1, 3}}});
  const std::string third = b.node("Transpose", {second});
  b.output(b.node("Relu", {third}));
  const Graph graph = run_and_compare(b);
  ASSERT_EQ(ops(graph), (Ops{"Transpose", "Relu"}));
  // Axis i of the result is axis perm[i] of x: 0231, then 0213 of it, then reversed.
  EXPECT_EQ(graph.nodes[0].ints_attr("perm", {}), (Ints{1, 2, 3, 0}));
}

TEST(Passes, transposes_that_cancel_vanish) {
  GraphBuilder b("g");
  b.input("x", {1, 3, 4, 5});
  const std::string there = b.node("Transpose", {"x"}, {{"perm", Ints{0, 2, 3, 1}}});
  const std::string back = b.node("Transpose", {there}, {{"perm", Ints{0, 3, 1, 2}}});
  b.output(b.node("Relu", {back}));
  EXPECT_EQ(ops(run_and_compare(b)), (Ops{"Relu"}));
}

TEST(Passes, a_transpose_with_another_reader_stays) {
  GraphBuilder b("g");
  b.input("x", {1, 3, 4, 5});
  const std::string there = b.node("Transpose", {"x"}, {{"perm", Ints{0, 2, 3, 1}}});
  b.output(there);
  b.output(b.node("Transpose", {there}, {{"perm", Ints{0, 3, 2, 1}}}));
  EXPECT_EQ(ops(run_and_compare(b)), (Ops{"Transpose", "Transpose"}));
}

TEST(Passes, means_over_space_become_pools) {
  for (const bool keep : {true, false}) {
    GraphBuilder b("g");
    b.input("x", {2, 3, 4, 5});
    b.output(b.node("ReduceMean", {"x"}, {{"axes", Ints{-1, 2}}, {"keepdims", std::int64_t{keep ? 1 : 0}}}));
    EXPECT_EQ(ops(run_and_compare(b)), keep ? (Ops{"GlobalAveragePool"}) : (Ops{"GlobalAveragePool", "Reshape"}));
  }
  for (const Ints& axes : {Ints{2}, Ints{1, 2, 3}}) {
    GraphBuilder b("g");
    b.input("x", {2, 3, 4, 5});
    b.output(b.node("ReduceMean", {"x"}, {{"axes", axes}}));
    EXPECT_EQ(ops(run_and_compare(b)), (Ops{"ReduceMean"}));
  }
}

TEST(Passes, a_constant_factor_per_channel_goes_into_the_weights) {
  for (const Shape& shape : {Shape{4, 1, 1}, Shape{1}}) {
    GraphBuilder b("g");
    b.input("x", {1, 2, 5, 5});
    const std::string conv =
        b.node("Conv", {"x", b.constant("w", random_tensor({4, 2, 3, 3}, 1)), b.constant("c", random_tensor({4}, 2))});
    b.output(b.node("Mul", {b.constant("f", random_tensor(shape, 3)), conv}));
    EXPECT_EQ(ops(run_and_compare(b)), (Ops{"Conv"}));
  }
  GraphBuilder b("g");  // one factor a column is none a channel
  b.input("x", {1, 2, 5, 5});
  const std::string conv = b.node("Conv", {"x", b.constant("w", random_tensor({4, 2, 1, 1}, 1))});
  b.output(b.node("Mul", {conv, b.constant("f", random_tensor({1, 1, 1, 5}, 3))}));
  EXPECT_EQ(ops(run_and_compare(b)), (Ops{"Conv", "Mul"}));
}

TEST(Passes, a_preprocessing_head_is_one_depthwise_convolution) {
  GraphBuilder b("g");
  b.input("x", {1, 3, 2, 2});
  b.output(b.node("Conv", {b.node("Relu", {"x"}), b.constant("w", random_tensor({4, 3, 1, 1}, 1))}));
  Graph graph = b.take();
  prepare(graph);
  Graph plain = graph;
  add_preprocessing(graph, parse_preprocessing("x=1,2,3/2,4,0.5"));
  run_passes(graph);
  EXPECT_EQ(ops(graph), (Ops{"Conv", "Relu", "Conv"}));
  const Tensor raw = random_tensor({1, 3, 2, 2}, 7, 0, 10);
  Tensor normal = raw;
  const float mean[] = {1, 2, 3}, deviation[] = {2, 4, 0.5F};
  for (std::size_t i = 0; i < 12; ++i)
    normal.data<float>()[i] = (raw.data<float>()[i] - mean[i / 4]) / deviation[i / 4];
  const Tensor with = evaluate(graph, {{"x", raw}}).at(graph.outputs[0]);
  const Tensor without = evaluate(plain, {{"x", normal}}).at(plain.outputs[0]);
  for (std::int64_t i = 0; i < with.elements(); ++i)
    EXPECT_NEAR(with.data<float>()[i], without.data<float>()[i], 1e-4F);
  for (const char* text : {"x", "x=1,2,3", "x=1,2/1,1", "x=1,2,3/1,0,1", "x=1,a,3/1,1,1", "y=1,2,3/1,1,1"}) {
    EXPECT_THROW(add_preprocessing(plain, parse_preprocessing(text)), UserError) << text;
  }
}

/// A pass of a user's own, linked in: y = -(-x) is x.
std::size_t cancel_negations(Graph& graph) {
  std::size_t changed = 0;
  for (Node& node : graph.nodes) {
    if (node.op != "Neg") continue;
    for (const Node& maker : graph.nodes) {
      if (maker.op != "Neg" || maker.outputs[0] != node.inputs[0]) continue;
      node.op = "Identity";
      node.inputs[0] = maker.inputs[0];
      ++changed;
    }
  }
  return changed;
}
const UserPass kCancelNegations({"double-identity", "Neg of Neg becomes Identity.", "Legal always.", cancel_negations},
                                "remove-identity");

TEST(Passes, of_the_user_run_where_he_wants_them) {
  const auto make = [] {
    GraphBuilder b("g");
    b.input("x", {1, 2, 3, 3});
    b.output(b.node("Relu", {b.node("Neg", {b.node("Neg", {"x"})})}));
    return b;
  };
  GraphBuilder on = make(), off = make();
  EXPECT_EQ(ops(run_and_compare(on)), (Ops{"Relu"}));
  Graph graph = off.take();
  prepare(graph);
  run_passes(graph, canonical_passes(), {"double-identity"});
  EXPECT_EQ(ops(graph), (Ops{"Neg", "Neg", "Relu"}));
}

TEST(Passes, of_every_kind_say_when_they_are_legal) {
  for (const Pass& pass : all_passes()) {
    EXPECT_EQ(pass.legal.rfind("Legal", 0), 0u) << pass.name;
    EXPECT_NE(passes_page().find(pass.name + "\n"), std::string::npos);
  }
  for (const IntegerPass& pass : integer_passes()) {
    EXPECT_EQ(pass.legal.rfind("Legal", 0), 0u) << pass.name;
    EXPECT_NE(pass.run == nullptr, pass.forbids == nullptr) << pass.name;
    EXPECT_NE(passes_page().find(pass.name + "\n"), std::string::npos);
  }
  EXPECT_NO_THROW(check_pass_names({"fold-pad", "add-in-drain"}));
  EXPECT_THROW(check_pass_names({"add-in-brain"}), UserError);
}

TEST(Passes, have_names_and_can_be_switched_off) {
  const auto make = [] {
    GraphBuilder b("g");
    b.input("x", {1, 2, 3, 3});
    const std::string conv = b.node("Conv", {"x", b.constant("w", random_tensor({2, 2, 1, 1}, 1))});
    b.output(norm(b, conv, 2, "bn"));
    Graph graph = b.take();
    prepare(graph);
    return graph;
  };
  Graph on = make();
  run_passes(on);
  EXPECT_EQ(ops(on), (Ops{"Conv"}));
  Graph off = make();
  run_passes(off, canonical_passes(), {"fold-batch-norm"});
  EXPECT_EQ(ops(off), (Ops{"Conv", "BatchNormalization"}));
  try {
    run_passes(off, {"fold-everything"});
    FAIL() << "expected an error";
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(),
                 "pass 'fold-everything' does not exist: expected one of settle-softmax, explicit-windows, "
                 "remove-identity, merge-reshapes, merge-transposes, reduce-to-pool, fuse-layer-norm, div-to-mul, "
                 "tokens-to-gemm, split-gemm, fold-pad, fold-bias-add, fold-batch-norm, fold-scale, normalise-linear, "
                 "remove-dead, double-identity");
  }
}

}  // namespace
}  // namespace tessera::compiler
