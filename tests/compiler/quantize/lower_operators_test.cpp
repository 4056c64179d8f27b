// Every operator's integer form against the QDQ graph run in float: at most one step apart on seeded random tensors of
// sizes that fit no lane count, and on the unit that docs/operators.md names.
#include <algorithm>
#include <cmath>
#include <functional>

#include <gtest/gtest.h>

#include "compiler/ir/builder.hpp"
#include "compiler/passes/canonicalise.hpp"
#include "compiler/passes/fold.hpp"
#include "compiler/quantize/quantize.hpp"
#include "hw/common/error.hpp"
#include "hw/common/random.hpp"

namespace tessera::compiler {
namespace {

Tensor random_floats(Shape shape, std::uint64_t seed) {
  Tensor t = Tensor::make(DType::f32, std::move(shape));
  Random random(seed);
  for (std::int64_t i = 0; i < t.elements(); ++i) t.data<float>()[i] = static_cast<float>(random.normal());
  return t;
}

struct Outcome {
  double steps = 0;      // largest difference, in steps of the output
  std::vector<QOp> ops;  // of the integer graph
  std::vector<std::string> why;
};

/// One output: through passes, quantize, lower; the oracle against the float run of the QDQ graph.
Outcome run(GraphBuilder* builder) {
  Graph graph = builder->take();
  prepare(graph, try_evaluate_node);
  run_passes(graph);
  const auto samples = random_calibration(graph, 11);
  const Graph qdq = quantize(graph, samples);
  const QGraph integer = lower(qdq);
  Outcome outcome;
  for (const QNode& node : integer.nodes) {
    outcome.ops.push_back(node.op);
    if (node.op == QOp::host) outcome.why.push_back(node.onnx_op + ": " + node.why);
  }
  const NamedTensors found = evaluate_model(qdq, samples[0]);
  const NamedTensors expected = evaluate(qdq, samples[0]);
  for (const int index : integer.outputs) {
    const QTensor& t = integer.tensors[static_cast<std::size_t>(index)];
    EXPECT_EQ(found.at(t.name).shape, expected.at(t.name).shape);
    const std::vector<double> a = found.at(t.name).as_doubles();
    const std::vector<double> b = expected.at(t.name).as_doubles();
    for (std::size_t i = 0; i < a.size(); ++i) {
      outcome.steps = std::max(outcome.steps, std::fabs(a[i] - b[i]) / t.scale);
    }
  }
  return outcome;
}

Outcome unary(const std::string& op, const Shape& shape, Attributes attributes = {},
              const std::vector<Tensor>& constants = {}) {
  GraphBuilder builder("g");
  std::vector<std::string> inputs = {builder.input("x", shape)};
  for (std::size_t i = 0; i < constants.size(); ++i) {
    inputs.push_back(constants[i].dtype == DType::undefined ? ""
                                                            : builder.constant("c" + std::to_string(i), constants[i]));
  }
  builder.output(builder.node(op, inputs, std::move(attributes), "n"));
  return run(&builder);
}

constexpr double kOneStep = 1.01;

TEST(LowerOperators, MovesAreExact) {
  const auto move = [](const Outcome& outcome) {
    EXPECT_EQ(outcome.ops, std::vector<QOp>{QOp::move});
    EXPECT_EQ(outcome.steps, 0.0);
  };
  move(unary("Transpose", {1, 3, 5, 7}, {{"perm", Ints{0, 2, 3, 1}}}));
  move(unary("Transpose", {2, 3, 5, 2, 3}, {{"perm", Ints{3, 0, 4, 2, 1}}}));
  move(unary("Transpose", {2, 3, 2, 2, 3, 5}, {{"perm", Ints{0, 3, 1, 4, 2, 5}}}));
  move(unary("Slice", {1, 5, 9, 7}, {},
             {int64_tensor({2}, {1, 8}), int64_tensor({2}, {5, -100}), int64_tensor({2}, {1, 2}),
              int64_tensor({2}, {2, -3})}));
  move(unary("Pad", {1, 3, 5, 7}, {}, {int64_tensor({8}, {0, 1, 2, 0, 0, 0, 3, -2})}));
  move(unary("Pad", {1, 2, 5, 7}, {{"mode", std::string("reflect")}}, {int64_tensor({8}, {0, 0, 2, 1, 0, 0, 1, 3})}));
  move(unary("Pad", {1, 2, 5, 7}, {{"mode", std::string("edge")}}, {int64_tensor({8}, {0, 0, 2, 1, 0, 0, 1, 3})}));
  move(unary("DepthToSpace", {1, 12, 3, 5}, {{"blocksize", std::int64_t{2}}}));
  move(unary("DepthToSpace", {1, 12, 3, 5}, {{"blocksize", std::int64_t{2}}, {"mode", std::string("CRD")}}));
  move(unary("SpaceToDepth", {1, 3, 4, 6}, {{"blocksize", std::int64_t{2}}}));
  move(unary("Expand", {1, 3, 1, 5}, {}, {int64_tensor({4}, {2, 3, 7, 5})}));
  move(unary("Tile", {1, 3, 2, 5}, {}, {int64_tensor({4}, {1, 2, 1, 3})}));
  move(unary("Gather", {1, 6, 2, 5}, {{"axis", std::int64_t{1}}}, {int64_tensor({3}, {5, -3, 1})}));
  move(unary("Resize", {1, 3, 4, 5},
             {{"coordinate_transformation_mode", std::string("asymmetric")}, {"nearest_mode", std::string("floor")}},
             {{}, float_tensor({4}, {1, 1, 2, 3})}));
  move(unary("Resize", {1, 2, 4, 5}, {}, {{}, {}, int64_tensor({4}, {1, 2, 7, 8})}));
}

TEST(LowerOperators, SplitGivesEachPart) {
  GraphBuilder builder("g");
  const std::string sizes = builder.constant("sizes", int64_tensor({3}, {1, 4, 2}));
  for (const std::string& part :
       builder.node_with_outputs("Split", {builder.input("x", {1, 7, 3, 5}), sizes}, 3, {{"axis", std::int64_t{1}}})) {
    builder.output(part);
  }
  const Outcome outcome = run(&builder);
  EXPECT_EQ(outcome.ops, std::vector<QOp>(3, QOp::move));
  EXPECT_EQ(outcome.steps, 0.0);
}

TEST(LowerOperators, ConcatOverAnyAxis) {
  for (std::int64_t axis = 0; axis < 4; ++axis) {
    GraphBuilder builder("g");
    const std::string a = builder.input("a", {2, 3, 4, 5});
    Shape shape = {2, 3, 4, 5};
    shape[static_cast<std::size_t>(axis)] = 7;
    const std::string b = builder.input("b", shape);
    builder.output(builder.node("Concat", {a, b, a}, {{"axis", axis}}, "n"));
    const Outcome outcome = run(&builder);
    EXPECT_EQ(outcome.ops, std::vector<QOp>{axis == 1 ? QOp::concat : QOp::move});
    EXPECT_EQ(outcome.steps, 0.0);
  }
}

TEST(LowerOperators, BroadcastSumsAndProducts) {
  const std::vector<std::pair<Shape, Shape>> shapes = {{{2, 3, 5, 7}, {2, 3, 1, 1}}, {{2, 3, 5, 7}, {1, 3, 1, 1}},
                                                       {{2, 3, 5, 7}, {5, 7}},       {{2, 3, 5, 7}, {2, 1, 5, 1}},
                                                       {{3, 5}, {2, 3, 5}},          {{2, 3, 1, 7}, {1, 3, 5, 1}}};
  for (const char* op : {"Add", "Sub", "Mul"}) {
    for (const auto& [a, b] : shapes) {
      GraphBuilder builder("g");
      builder.output(builder.node(op, {builder.input("a", a), builder.input("b", b)}, {}, "n"));
      const Outcome outcome = run(&builder);
      EXPECT_LE(outcome.steps, kOneStep) << op << shape_text(a) << " " << shape_text(b);
      EXPECT_TRUE(outcome.why.empty());
    }
    for (const Shape& constant : {Shape{3, 1, 1}, Shape{7}, Shape{5, 7}, Shape{2, 3, 5, 7}}) {
      const Outcome outcome = unary(op, {2, 3, 5, 7}, {}, {random_floats(constant, 5)});
      EXPECT_LE(outcome.steps, kOneStep) << op << shape_text(constant);
      EXPECT_TRUE(outcome.why.empty());
    }
  }
}

TEST(LowerOperators, ChainsOfOneValueAreOneTable) {
  const auto table = [](const std::function<std::string(GraphBuilder&, const std::string&)>& build) {
    GraphBuilder builder("g");
    builder.output(build(builder, builder.input("x", {1, 3, 5, 7})));
    const Outcome outcome = run(&builder);
    EXPECT_EQ(outcome.ops, std::vector<QOp>{QOp::table});
    EXPECT_EQ(outcome.steps, 0.0);
  };
  const auto number = [](GraphBuilder& b, const std::string& name, float v) {
    return b.constant(name, float_tensor({}, {v}));
  };
  table([](GraphBuilder& b, const std::string& x) { return b.node("Mul", {x, b.node("Sigmoid", {x})}, {}, "silu"); });
  table([&](GraphBuilder& b, const std::string& x) {
    const std::string erf = b.node("Erf", {b.node("Div", {x, number(b, "root", 1.41421356F)})});
    return b.node("Mul", {b.node("Mul", {x, b.node("Add", {erf, number(b, "one", 1.0F)})}), number(b, "half", 0.5F)},
                  {}, "gelu");
  });
  table([&](GraphBuilder& b, const std::string& x) {
    const std::string clip =
        b.node("Clip", {b.node("Add", {x, number(b, "three", 3.0F)}), number(b, "zero", 0.0F), number(b, "six", 6.0F)});
    return b.node("Mul", {x, b.node("Div", {clip, number(b, "d", 6.0F)})}, {}, "hard_swish");
  });
  for (const char* op : {"Sigmoid", "Tanh", "HardSwish", "HardSigmoid", "LeakyRelu", "Elu", "Softplus", "Erf"}) {
    table([&](GraphBuilder& b, const std::string& x) { return b.node(op, {x}, {}, "n"); });
  }
  table([&](GraphBuilder& b, const std::string& x) {
    return b.node("PRelu", {x, b.constant("s", float_tensor({1}, {0.2F}))}, {}, "n");
  });
}

TEST(LowerOperators, PReluWithASlopeAChannel) {
  const Outcome outcome = unary("PRelu", {2, 5, 3, 7}, {}, {random_floats({5, 1, 1}, 3)});
  EXPECT_EQ(outcome.ops, (std::vector<QOp>{QOp::requantize, QOp::requantize, QOp::conv, QOp::add}));
  EXPECT_LE(outcome.steps, kOneStep);
}

TEST(LowerOperators, Reductions) {
  for (const char* op : {"ReduceMean", "ReduceMax"}) {
    for (const Ints& axes : {Ints{2, 3}, Ints{1}, Ints{3}, Ints{1, 2}, Ints{-1, -2}, Ints{0, 1, 2, 3}}) {
      for (const std::int64_t keep : {0, 1}) {
        const Outcome outcome = unary(op, {2, 5, 3, 7}, {{"axes", axes}, {"keepdims", keep}});
        EXPECT_LE(outcome.steps, kOneStep) << op;
        EXPECT_TRUE(outcome.why.empty()) << outcome.why[0];
      }
    }
  }
  EXPECT_LE(unary("ReduceSum", {2, 5, 3, 7}, {}, {int64_tensor({2}, {2, 3})}).steps, kOneStep);
  const Outcome apart = unary("ReduceMean", {2, 5, 3, 7}, {{"axes", Ints{0, 2}}});
  EXPECT_EQ(apart.why, std::vector<std::string>{"ReduceMean: legal on the NPU: neighbouring axes"});
  EXPECT_LE(apart.steps, kOneStep);
}

TEST(LowerOperators, ConvTransposeByPhases) {
  struct Deconv {
    Ints kernel, strides, pads, output_padding;
    std::int64_t group;
  };
  for (const Deconv& d :
       {Deconv{{2, 2}, {2, 2}, {0, 0, 0, 0}, {0, 0}, 1}, Deconv{{3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}, 1},
        Deconv{{4, 4}, {2, 2}, {1, 1, 1, 1}, {0, 0}, 2}, Deconv{{3, 5}, {1, 3}, {0, 2, 1, 1}, {0, 0}, 1},
        Deconv{{2, 1}, {3, 4}, {0, 0, 0, 0}, {1, 2}, 1}, Deconv{{4, 4}, {4, 4}, {3, 0, 2, 1}, {0, 0}, 4}}) {
    GraphBuilder builder("g");
    const std::string w = builder.constant("w", random_floats({8, 12 / d.group, d.kernel[0], d.kernel[1]}, 2));
    const std::string b = builder.constant("b", random_floats({12}, 3));
    builder.output(builder.node(
        "Relu",
        {builder.node(
            "ConvTranspose", {builder.input("x", {2, 8, 5, 3}), w, b},
            {{"strides", d.strides}, {"pads", d.pads}, {"group", d.group}, {"output_padding", d.output_padding}},
            "n")}));
    const Outcome outcome = run(&builder);
    EXPECT_LE(outcome.steps, kOneStep) << d.strides[0] << d.strides[1];
    EXPECT_TRUE(outcome.why.empty());
    EXPECT_TRUE(
        std::all_of(outcome.ops.begin(), outcome.ops.end(), [](QOp op) { return op == QOp::conv || op == QOp::move; }));
  }
  GraphBuilder builder("g");
  const std::string w = builder.constant("w", random_floats({4, 3, 4}, 2));
  builder.output(builder.node("ConvTranspose", {builder.input("x", {1, 4, 9}), w}, {{"strides", Ints{2}}}, "n"));
  EXPECT_LE(run(&builder).steps, kOneStep);
}

TEST(LowerOperators, LinearResizeByWholeFactors) {
  for (const Ints& factors : {Ints{2, 2}, Ints{4, 4}, Ints{1, 3}, Ints{5, 2}}) {
    const Outcome outcome =
        unary("Resize", {2, 3, 4, 5}, {{"mode", std::string("linear")}},
              {{}, float_tensor({4}, {1, 1, static_cast<float>(factors[0]), static_cast<float>(factors[1])})});
    EXPECT_LE(outcome.steps, kOneStep) << factors[0];
    EXPECT_TRUE(outcome.why.empty());
  }
  // Two passes, rounded once each.
  EXPECT_LE(
      unary("Resize", {1, 3, 4, 5}, {{"mode", std::string("linear")}}, {{}, float_tensor({4}, {1, 1, 8, 16})}).steps,
      2.01);
  const Outcome uneven =
      unary("Resize", {1, 3, 4, 5}, {{"mode", std::string("linear")}}, {{}, {}, int64_tensor({4}, {1, 3, 6, 7})});
  EXPECT_EQ(uneven.why,
            std::vector<std::string>{"Resize: legal on the NPU: nearest; or linear on [N,C,H,W], half_pixel, "
                                     "by whole factors up to 16 in rows and columns"});
  EXPECT_LE(uneven.steps, kOneStep);
}

TEST(LowerOperators, MatrixProducts) {
  const std::vector<std::pair<Shape, Shape>> shapes = {
      {{3, 5}, {5, 7}},       {{2, 3, 5}, {2, 5, 7}}, {{2, 4, 9, 5}, {2, 4, 5, 9}},
      {{2, 4, 9, 5}, {5, 3}}, {{9, 5}, {2, 5, 3}},    {{1, 2, 9, 5}, {2, 5, 3}}};
  for (const auto& [a, b] : shapes) {
    GraphBuilder builder("g");
    builder.output(builder.node("MatMul", {builder.input("a", a), builder.input("b", b)}, {}, "n"));
    const Outcome outcome = run(&builder);
    EXPECT_EQ(outcome.ops, std::vector<QOp>{QOp::matmul}) << shape_text(a);
    EXPECT_LE(outcome.steps, kOneStep) << shape_text(a) << " " << shape_text(b);
  }
  const Outcome tokens = unary("MatMul", {2, 9, 5}, {}, {random_floats({5, 7}, 4)});
  EXPECT_EQ(tokens.ops, std::vector<QOp>{QOp::matmul});
  EXPECT_LE(tokens.steps, kOneStep);
  const Outcome gemm = unary("Gemm", {9, 5}, {{"transB", std::int64_t{1}}, {"alpha", 0.5F}},
                             {random_floats({7, 5}, 4), random_floats({7}, 5)});
  EXPECT_EQ(gemm.ops, std::vector<QOp>{QOp::matmul});
  EXPECT_LE(gemm.steps, kOneStep);
}

TEST(LowerOperators, PoolsWithPaddingAndBothCountRules) {
  for (const std::int64_t include : {0, 1}) {
    const Outcome outcome = unary("AveragePool", {2, 5, 7, 9},
                                  {{"kernel_shape", Ints{3, 2}},
                                   {"strides", Ints{2, 1}},
                                   {"pads", Ints{1, 0, 1, 1}},
                                   {"count_include_pad", include}});
    EXPECT_EQ(outcome.ops, std::vector<QOp>{QOp::average_pool});
    EXPECT_LE(outcome.steps, kOneStep);
  }
}

TEST(LowerOperators, TheRestRunsOnTheHost) {
  const auto host = [](const Outcome& outcome, const std::string& why) {
    EXPECT_EQ(outcome.why, std::vector<std::string>{why});
    EXPECT_LE(outcome.steps, kOneStep);
  };
  host(unary("Softmax", {2, 5, 7}, {{"axis", std::int64_t{1}}}), "Softmax: no unit computes Softmax");
  host(unary("LayerNormalization", {2, 5, 7}, {}, {random_floats({7}, 1), random_floats({7}, 2)}),
       "LayerNormalization: no unit computes LayerNormalization");
  host(unary("InstanceNormalization", {2, 5, 7, 3}, {}, {random_floats({5}, 1), random_floats({5}, 2)}),
       "InstanceNormalization: no unit computes InstanceNormalization");
  host(unary("ReduceL2", {2, 5, 7, 3}, {{"axes", Ints{1}}}), "ReduceL2: no unit computes ReduceL2");
  host(unary("CumSum", {2, 5}, {}, {int64_tensor({}, {1})}), "CumSum: no unit computes CumSum");
}

TEST(LowerOperators, HostStepsOfOtherTypes) {
  GraphBuilder builder("g");
  const std::string k = builder.constant("k", int64_tensor({1}, {3}));
  const auto top = builder.node_with_outputs("TopK", {builder.input("x", {4, 9}), k}, 2, {}, "top");
  builder.output(top[0]);
  builder.output(top[1]);
  builder.output(builder.node("ArgMax", {top[0]}, {{"axis", std::int64_t{1}}}, "arg"));
  Graph graph = builder.take();
  prepare(graph, try_evaluate_node);
  const auto samples = random_calibration(graph, 11);
  const Graph qdq = quantize(graph, samples);
  const NamedTensors found = evaluate_model(qdq, samples[0]);
  const NamedTensors expected = evaluate(qdq, samples[0]);
  EXPECT_EQ(found.at("top:1").as_ints(), expected.at("top:1").as_ints());
  EXPECT_EQ(found.at("arg").as_ints(), expected.at("arg").as_ints());
  EXPECT_EQ(found.at("arg").dtype, DType::i64);
}

}  // namespace
}  // namespace tessera::compiler
