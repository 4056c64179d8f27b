// Models that come quantised: what the integer graph makes of integer products, networks of integers, unsigned types,
// and the text of every refusal of scales and zero points.
#include <cmath>
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "compiler/interpret/evaluate.hpp"
#include "compiler/ir/builder.hpp"
#include "compiler/passes/fold.hpp"
#include "compiler/quantize/integer_network.hpp"
#include "compiler/quantize/quantize.hpp"
#include "hw/common/error.hpp"
#include "hw/common/random.hpp"

namespace tessera::compiler {
namespace {

Tensor random_bytes(DType type, const Shape& shape, std::uint64_t seed) {
  Tensor tensor = Tensor::make(type, shape);
  Random random(seed);
  for (std::uint8_t& byte : tensor.bytes) byte = static_cast<std::uint8_t>(random.below(256));
  return tensor;
}

Graph prepared(GraphBuilder* builder) {
  Graph graph = builder->take();
  prepare(graph, try_evaluate_node);
  return graph;
}

std::vector<QOp> ops_of(const QGraph& graph) {
  std::vector<QOp> ops;
  for (const QNode& node : graph.nodes) ops.push_back(node.op);
  return ops;
}

// --- integer products ---

/// x uint8 [1,3,5,7] -> ConvInteger -> Cast -> Mul(scales) -> Add(bias) -> QuantizeLinear.
GraphBuilder conv_integer(const std::vector<std::int64_t>& bias_shape) {
  GraphBuilder b("g");
  b.input("x", {1, 3, 5, 7}, DType::u8);
  const std::string w = b.constant("w", random_bytes(DType::i8, {4, 3, 3, 3}, 3));
  const std::string sums = b.node("ConvInteger", {"x", w, b.constant("xz", uint8_tensor({}, {117}))}, {}, "product");
  const std::string real = b.node("Cast", {sums}, {{"to", std::int64_t{1}}});
  const std::string scaled =
      b.node("Mul", {b.constant("s", float_tensor({1, 4, 1, 1}, {0.001F, 0.002F, 0.0005F, 0.003F})), real});
  Tensor bias = Tensor::make(DType::f32, bias_shape);
  for (std::int64_t i = 0; i < bias.elements(); ++i) bias.data<float>()[i] = 0.5F * static_cast<float>(i) - 0.7F;
  const std::string sum = b.node("Add", {scaled, b.constant("b", bias)});
  b.output(b.node("QuantizeLinear",
                  {sum, b.constant("ys", float_tensor({}, {0.05F})), b.constant("yz", uint8_tensor({}, {128}))}));
  return b;
}

TEST(IntegerProducts, with_a_requantisation_run_as_a_convolution) {
  GraphBuilder b = conv_integer({4, 1, 1});
  const Graph graph = prepared(&b);
  const QGraph integer = lower(graph);
  EXPECT_EQ(ops_of(integer), std::vector<QOp>{QOp::conv});
  EXPECT_EQ(integer.nodes[0].fused.size(), 3U) << "Cast, Mul, Add";
  EXPECT_EQ(integer.macs(), 27 * 4 * 3 * 5);
  const NamedTensors x = {{"x", random_bytes(DType::u8, {1, 3, 5, 7}, 9)}};
  const Tensor found = evaluate_model(graph, x).begin()->second;
  const Tensor wanted = evaluate(graph, x).begin()->second;
  ASSERT_EQ(found.dtype, DType::u8);
  int different = 0;
  for (std::size_t i = 0; i < wanted.bytes.size(); ++i) {
    EXPECT_LE(std::abs(found.bytes[i] - wanted.bytes[i]), 1);
    different += found.bytes[i] == wanted.bytes[i] ? 0 : 1;
  }
  EXPECT_LE(different, 1) << "of " << wanted.bytes.size();
}

TEST(IntegerProducts, whose_sums_are_read_stay_on_the_host) {
  // A bias of the map's width is none a channel.
  GraphBuilder b = conv_integer({5});
  const QGraph integer = lower(prepared(&b));
  EXPECT_EQ(integer.nodes.at(0).op, QOp::host);
  EXPECT_EQ(integer.nodes.at(0).onnx_op, "ConvInteger");
}

// --- networks of integers ---

/// Conv (integer weights), Mul kappa, Add lambda, then m / D rounded down and a Clip, as NEMO writes it.
GraphBuilder nemo_layer(bool int64_division, std::int64_t m, std::int64_t d, float largest_weight) {
  GraphBuilder b("g");
  b.input("x", {1, 2, 6, 5});
  Random random(5);
  Tensor w = Tensor::make(DType::f32, {3, 2, 3, 3});
  for (std::int64_t i = 0; i < w.elements(); ++i) {
    const auto span = static_cast<std::uint64_t>(2 * largest_weight) + 1;
    w.data<float>()[i] = static_cast<float>(random.below(span)) - largest_weight;
  }
  std::string at = b.node("Conv", {"x", b.constant("w", w)}, {{"pads", Ints{1, 1, 1, 1}}}, "conv");
  at = b.node("Mul", {b.constant("kappa", float_tensor({1, 3, 1, 1}, {400, 731, 1999})), at});
  at = b.node("Add", {at, b.constant("lambda", float_tensor({1, 3, 1, 1}, {-2500, 310000, 77}))});
  if (int64_division) {
    at = b.node("Cast", {at}, {{"to", std::int64_t{7}}});
    at = b.node("Mul", {at, b.constant("m", int64_tensor({}, {m}))});
    at = b.node("Div", {at, b.constant("d", int64_tensor({}, {d}))});
    at = b.node("Cast", {at}, {{"to", std::int64_t{1}}});
  } else {
    at = b.node("Mul", {at, b.constant("m", float_tensor({}, {static_cast<float>(m)}))});
    at = b.node("Div", {at, b.constant("d", float_tensor({}, {static_cast<float>(d)}))});
    at = b.node("Floor", {at});
  }
  at = b.node("Clip", {at, b.constant("low", float_tensor({}, {0})), b.constant("high", float_tensor({}, {255}))});
  b.output(b.node("MaxPool", {at}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}));
  return b;
}

TEST(IntegerNetwork, a_layer_becomes_one_convolution_at_most_one_off) {
  for (const bool int64_division : {true, false}) {
    GraphBuilder b = nemo_layer(int64_division, 3, 65536, 60);
    const Graph graph = prepared(&b);
    const std::optional<IntegerNetwork> found = integer_network(graph);
    ASSERT_TRUE(found);
    ASSERT_EQ(found->layers.size(), 1U);
    const IntegerLayer& layer = found->layers[0];
    EXPECT_EQ(layer.node, "conv");
    EXPECT_GT(layer.steps, 300);
    EXPECT_LE(layer.most_off, 1);
    const QGraph integer = lower(found->qdq);
    EXPECT_EQ(ops_of(integer), (std::vector<QOp>{QOp::conv, QOp::max_pool}));
    Tensor x = Tensor::make(DType::f32, {1, 2, 6, 5});
    const Tensor bytes = random_bytes(DType::u8, x.shape, 4);
    for (std::int64_t i = 0; i < x.elements(); ++i) x.data<float>()[i] = static_cast<float>(bytes.bytes[size_t(i)]);
    const Tensor ours = evaluate_model(found->qdq, {{"x", x}}).begin()->second;
    const Tensor wanted = evaluate(graph, {{"x", x}}).begin()->second;
    ASSERT_EQ(ours.shape, wanted.shape);
    for (std::int64_t i = 0; i < wanted.elements(); ++i) {
      EXPECT_LE(std::fabs(ours.data<float>()[i] - wanted.data<float>()[i]), 1.0F) << i;
    }
  }
}

TEST(IntegerNetwork, divisors_that_leave_whole_steps_are_exact) {
  // k = kappa m divides D in no channel, but with weights of 1 each is multiplied by 127 first.
  GraphBuilder coarse = nemo_layer(true, 3, 65536, 60), fine = nemo_layer(true, 3, 65536, 1);
  const IntegerLayer a = integer_network(prepared(&coarse))->layers[0];
  const IntegerLayer b = integer_network(prepared(&fine))->layers[0];
  EXPECT_LT(b.wrong_sums / b.sums, a.wrong_sums / a.sums);
}

TEST(IntegerNetwork, fractions_and_other_convolutions_are_no_such_network) {
  GraphBuilder fraction = nemo_layer(true, 3, 65536, 0.5F);
  EXPECT_FALSE(integer_network(prepared(&fraction)));
  GraphBuilder mixed = nemo_layer(true, 3, 65536, 60);
  mixed.output(mixed.node("Conv", {"x", "w"}, {}, "plain"));
  EXPECT_FALSE(integer_network(prepared(&mixed)));
  GraphBuilder large = nemo_layer(true, 3, 65536, 4000);
  EXPECT_FALSE(integer_network(prepared(&large))) << "a weight beyond int8";
}

// --- boundary types ---

TEST(QuantisedBoundary, int8_without_a_zero_point_is_centred) {
  GraphBuilder b("g");
  b.input("x", {1, 4}, DType::i8);
  const std::string s = b.constant("s", float_tensor({}, {0.5F}));
  const std::string zero = b.constant("z", int8_tensor({}, {0}));
  b.output(b.node("QuantizeLinear", {b.node("Relu", {b.node("DequantizeLinear", {"x", s})}), s, zero}, {}, "y"));
  const Graph graph = prepared(&b);
  Tensor x = Tensor::make(DType::i8, {1, 4});
  for (int i = 0; i < 4; ++i) x.data<std::int8_t>()[i] = static_cast<std::int8_t>(40 * i - 60);
  const Tensor y = evaluate_model(graph, {{"x", x}}).at("y");
  EXPECT_EQ(y.as_ints(), (std::vector<std::int64_t>{0, 0, 20, 60}));
}

// --- refusals ---

struct Spec {
  std::vector<float> activation_scale = {0.1F};
  std::vector<float> weight_scale = {0.1F, 0.2F, 0.3F, 0.4F};
  std::vector<std::int8_t> weight_zero = {0, 0, 0, 0};
  std::string op = "Conv";
  std::int64_t groups = 1;
};

std::string refusal(const Spec& spec) {
  GraphBuilder b("g");
  b.input("x", {1, 4, 6, 6});
  const auto count = [](const auto& list) { return static_cast<std::int64_t>(list.size()); };
  const Shape one = count(spec.activation_scale) == 1 ? Shape{} : Shape{count(spec.activation_scale)};
  const std::string xs = b.constant("x_scale", float_tensor(one, spec.activation_scale));
  const std::string xz = b.constant("x_zero", int8_tensor({}, {0}));
  const std::string q = b.node("QuantizeLinear", {"x", xs, xz}, {}, "quantize");
  const std::string x = b.node("DequantizeLinear", {q, xs, xz}, {}, "dequantize");
  const std::string ws = b.constant("w_scale", float_tensor({count(spec.weight_scale)}, spec.weight_scale));
  const std::string wz = b.constant("w_zero", int8_tensor({count(spec.weight_zero)}, spec.weight_zero));
  const bool transposed = spec.op == "ConvTranspose";
  const std::string w = b.constant("w", random_bytes(DType::i8, {4, 4 / spec.groups, 3, 3}, 1));
  const std::string dw = b.node("DequantizeLinear", {w, ws, wz}, {{"axis", std::int64_t{transposed ? 1 : 0}}}, "dq_w");
  const std::string ys = b.constant("y_scale", float_tensor({}, {0.3F}));
  b.output(b.node("QuantizeLinear", {b.node(spec.op, {x, dw}, {{"group", spec.groups}}, "conv"), ys, xz}, {}, "y"));
  try {
    (void)lower(prepared(&b));
  } catch (const UserError& e) {
    return e.what();
  }
  return "no error";
}

TEST(QuantisedRefusals, scales_that_are_no_positive_numbers_name_node_and_initialiser) {
  EXPECT_EQ(refusal({}), "no error");
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const std::string tail = " at index 0: expected finite numbers above 0";
  const std::pair<float, const char*> bad[] = {{nan, "nan"}, {inf, "inf"}, {0.0F, "0"}, {-0.5F, "-0.5"}};
  for (const auto& [value, text] : bad) {
    Spec spec;
    spec.activation_scale = {value};
    EXPECT_EQ(refusal(spec), std::string("node 'quantize' (QuantizeLinear): its scale x_scale holds ") + text + tail);
    spec = {};
    spec.weight_scale[2] = value;
    EXPECT_EQ(refusal(spec), std::string("node 'dq_w' (DequantizeLinear): its scale w_scale holds ") + text +
                                 " at index 2: expected finite numbers above 0");
  }
}

TEST(QuantisedRefusals, zero_points_and_scales_that_the_array_has_no_form_for) {
  Spec spec;
  spec.weight_zero = {0, 1, 0, 0};
  EXPECT_EQ(refusal(spec),
            "node 'conv' (Conv): weight zero points differ from channel to channel: expected one for all");
  spec = {};
  spec.weight_zero = {0, 0};
  EXPECT_EQ(refusal(spec), "node 'dq_w' (DequantizeLinear): 2 zero points for 4 scales");
  spec = {};
  spec.activation_scale = {0.1F, 0.2F, 0.3F, 0.4F};
  EXPECT_EQ(refusal(spec),
            "node 'quantize' (QuantizeLinear): 4 scales for an activation: expected one for the whole tensor");
  spec = {};
  spec.op = "ConvTranspose";
  spec.groups = 2;
  spec.weight_scale = {0.1F, 0.2F};
  spec.weight_zero = {0, 0};
  const std::string text = refusal(spec);
  EXPECT_NE(text.find("node 'conv' (ConvTranspose)"), std::string::npos) << text;
  EXPECT_NE(text.find("expected"), std::string::npos) << text;
}

/// What lower says of a graph that `make` builds on x (float, 1x4x6x6), quantised at scale 0.5 as "q" and back as "d".
std::string refusal_of(const std::function<void(GraphBuilder&)>& make) {
  GraphBuilder b("g");
  b.input("x", {1, 4, 6, 6});
  b.constant("s", float_tensor({}, {0.5F}));
  b.constant("z", int8_tensor({}, {0}));
  b.node("DequantizeLinear", {b.node("QuantizeLinear", {"x", "s", "z"}, {}, "q"), "s", "z"}, {}, "d");
  make(b);
  try {
    (void)lower(prepared(&b));
  } catch (const UserError& e) {
    return e.what();
  }
  return "no error";
}

/// A convolution of "d" with int8 weights behind a DequantizeLinear of these scales along `axis`, and a bias.
std::string conv_refusal(std::int64_t scales, std::int64_t axis, std::int64_t bias) {
  return refusal_of([&](GraphBuilder& b) {
    std::vector<float> values(static_cast<std::size_t>(scales), 0.1F);
    const std::string w = b.node(
        "DequantizeLinear",
        {b.constant("w", random_bytes(DType::i8, {6, 4, 1, 1}, 1)), b.constant("ws", float_tensor({scales}, values))},
        {{"axis", axis}}, "dw");
    std::vector<std::string> inputs = {"d", w};
    if (bias > 0) inputs.push_back(b.constant("b", Tensor::make(DType::f32, {bias})));
    b.output(b.node("QuantizeLinear", {b.node("Conv", inputs, {}, "conv"), "s", "z"}, {}, "y"));
  });
}

TEST(QuantisedRefusals, weights_and_biases_that_do_not_fit) {
  EXPECT_EQ(conv_refusal(6, 0, 6), "no error");
  EXPECT_EQ(conv_refusal(4, 1, 0), "node 'conv' (Conv): weight scales along axis 1: expected 0");
  EXPECT_EQ(conv_refusal(2, 0, 0), "node 'conv' (Conv): 2 weight scales: expected 1 or 6");
  EXPECT_EQ(conv_refusal(6, 0, 5), "node 'conv' (Conv): bias is 5: expected one value for each of 6 output channels");
}

TEST(QuantisedRefusals, weights_without_elements) {  // found by tests/fuzz/fuzz_model
  EXPECT_EQ(
      refusal_of([](GraphBuilder& b) {
        const std::string w = b.node("DequantizeLinear", {b.constant("w", Tensor::make(DType::i8, {144, 0})), "s"});
        b.output(b.node("QuantizeLinear", {b.node("Gemm", {b.node("Flatten", {"d"}), w}, {}, "g"), "s", "z"}));
      }),
      "node 'g' (Gemm): weights of 144x0 hold no element: expected at least one");
}

TEST(QuantisedRefusals, parameters_that_are_computed_or_of_other_types) {
  const auto quantised_by = [](const char* scale, const char* zero) {
    return refusal_of([&](GraphBuilder& b) {
      b.input("s_in", {});
      b.input("z_in", {}, DType::i8);
      b.constant("z16", Tensor::make(DType::i16, {}));
      b.output(b.node("QuantizeLinear", {b.node("Relu", {"d"}), scale, zero}, {}, "y"));
    });
  };
  EXPECT_EQ(quantised_by("s", "z"), "no error");
  EXPECT_EQ(quantised_by("s_in", "z"), "node 'y' (QuantizeLinear): its scale is computed: expected a constant");
  EXPECT_EQ(quantised_by("s", "z_in"), "node 'y' (QuantizeLinear): its zero point is computed: expected a constant");
  EXPECT_EQ(quantised_by("s", "z16"),
            "node 'y' (QuantizeLinear): type int16 is not supported for activations: expected int8 or uint8");
  EXPECT_EQ(refusal_of([](GraphBuilder& b) {
              b.node("DequantizeLinear", {b.constant("w", Tensor::make(DType::i16, {6})), "s"}, {}, "dw");
              b.output(b.node("QuantizeLinear", {b.node("Add", {"d", "dw"}), "s", "z"}, {}, "y"));
            }).find("node 'dw' (DequantizeLinear): constant of type int16: expected int8, uint8 or int32"),
            0U);
}

TEST(QuantisedRefusals, pairs_that_do_not_match) {
  EXPECT_EQ(
      refusal_of([](GraphBuilder& b) {
        const std::string other = b.constant("other", float_tensor({}, {0.25F}));
        b.output(
            b.node("QuantizeLinear", {b.node("DequantizeLinear", {"q", other, "z"}, {}, "d2"), "s", "z"}, {}, "y"));
      }),
      "node 'd2' (DequantizeLinear): scale or zero point differ from those of its QuantizeLinear: expected the same");
  EXPECT_EQ(refusal_of([](GraphBuilder& b) {
              b.output(b.node("Add", {"q", "q"}, {}, "sum"));
            }),
            "node 'sum' (Add): on quantised values: expected DequantizeLinear before it and QuantizeLinear behind it");
  EXPECT_EQ(refusal_of([](GraphBuilder& b) {
              b.output(b.node("QuantizeLinear", {b.constant("k", Tensor::make(DType::f32, {2})), "s", "z"}, {}, "y"));
            }),
            "node 'y' (QuantizeLinear): its input k is a constant: expected it folded");
}

TEST(QuantisedRefusals, outputs_that_are_constants) {
  GraphBuilder b("g");
  b.input("x", {2});
  b.output(b.constant("c", float_tensor({2}, {1, 2})));
  try {
    (void)lower(prepared(&b));
    FAIL() << "no error";
  } catch (const UserError& e) {
    EXPECT_STREQ(e.what(), "output c: it is a constant: expected a computed value");
  }
}

}  // namespace
}  // namespace tessera::compiler
