// Small graphs through quantize and lower: scales, structure, exact numbers, and every refusal by its message.
#include "compiler/quantize/quantize.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "compiler/interpret/qgraph_interpreter.hpp"
#include "compiler/ir/builder.hpp"
#include "compiler/passes/shape_inference.hpp"
#include "compiler/quantize/accuracy.hpp"
#include "compiler/tensor_io/tensor_io.hpp"
#include "hw/common/error.hpp"
#include "hw/common/random.hpp"

namespace tessera::compiler {
namespace {

Graph shaped(GraphBuilder* builder) {
  Graph graph = builder->take();
  infer_shapes(graph);
  return graph;
}

Tensor random_floats(Shape shape, std::uint64_t seed) {
  Tensor t = Tensor::make(DType::f32, std::move(shape));
  Random random(seed);
  for (std::int64_t i = 0; i < t.elements(); ++i) t.data<float>()[i] = static_cast<float>(random.normal());
  return t;
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

/// Largest difference between the integer graph and the QDQ graph run in float, in steps of the output.
double steps_apart(const Graph& qdq, const NamedTensors& inputs) {
  const QGraph integer = lower(qdq);
  const NamedTensors found = evaluate_model(qdq, inputs);
  const NamedTensors expected = evaluate(qdq, inputs);
  double worst = 0;
  for (const int index : integer.outputs) {
    const QTensor& t = integer.tensors[static_cast<std::size_t>(index)];
    const std::vector<double> a = found.at(t.name).as_doubles();
    const std::vector<double> b = expected.at(t.name).as_doubles();
    EXPECT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::fabs(a[i] - b[i]) / t.scale);
  }
  return worst;
}

std::vector<QOp> ops_of(const QGraph& graph) {
  std::vector<QOp> ops;
  for (const QNode& node : graph.nodes) ops.push_back(node.op);
  return ops;
}

struct ConvNet {
  GraphBuilder builder{"net"};
  std::string x = builder.input("x", {2, 3, 6, 6});
  std::string conv(const std::string& input, std::int64_t cout, std::int64_t cin, std::uint64_t seed,
                   Attributes attributes = {}) {
    const std::string tag = std::to_string(seed);
    const std::string w = builder.constant("w" + tag, random_floats({cout, cin, 3, 3}, seed));
    const std::string b = builder.constant("b" + tag, random_floats({cout}, seed + 100));
    attributes["kernel_shape"] = Ints{3, 3};
    attributes["pads"] = Ints{1, 1, 1, 1};
    return builder.node("Conv", {input, w, b}, attributes, "conv" + tag);
  }
};

TEST(Quantize, ConvReluIsOneIntegerNode) {
  ConvNet net;
  net.builder.output(net.builder.node("Relu", {net.conv(net.x, 4, 3, 1)}, {}, "relu"));
  const Graph graph = shaped(&net.builder);
  const auto samples = random_calibration(graph, 5);
  const Graph qdq = quantize(graph, samples);
  EXPECT_TRUE(is_quantized(qdq));
  EXPECT_FALSE(is_quantized(graph));
  EXPECT_EQ(qdq.outputs, graph.outputs);
  // Pairs around x and the Relu, DequantizeLinear of weight and bias; none between Conv and Relu.
  EXPECT_EQ(std::count_if(qdq.nodes.begin(), qdq.nodes.end(), [](const Node& n) { return n.op == "QuantizeLinear"; }),
            2);
  EXPECT_EQ(std::count_if(qdq.nodes.begin(), qdq.nodes.end(), [](const Node& n) { return n.op == "DequantizeLinear"; }),
            4);
  const QGraph integer = lower(qdq);
  ASSERT_EQ(ops_of(integer), (std::vector<QOp>{QOp::conv}));
  const QNode& conv = integer.nodes[0];
  EXPECT_EQ(conv.name, "conv1");
  EXPECT_EQ(conv.onnx_op, "Conv");
  EXPECT_EQ(conv.fused, (std::vector<std::string>{"relu"}));
  EXPECT_EQ(conv.lo, 0);
  EXPECT_EQ(conv.hi, 127);
  EXPECT_EQ(conv.macs, 2 * 4 * 6 * 6 * 3 * 3 * 3);
  EXPECT_EQ(integer.macs(), conv.macs);
  EXPECT_EQ(integer.tensors[static_cast<std::size_t>(integer.inputs[0])].shape, (Shape{2, 3, 6, 6}));
  EXPECT_LE(steps_apart(qdq, samples[0]), 1.01);
}

TEST(Quantize, ScalesAreSymmetricMinMax) {
  GraphBuilder builder("g");
  builder.output(builder.node("Relu", {builder.input("x", {1, 2})}, {}, "relu"));
  const Graph graph = shaped(&builder);
  const QGraph integer = lower(quantize(graph, {{{"x", float_tensor({1, 2}, {-254.0F, 12.7F})}}}));
  EXPECT_FLOAT_EQ(static_cast<float>(integer.tensors[static_cast<std::size_t>(integer.inputs[0])].scale), 2.0F);
  EXPECT_FLOAT_EQ(static_cast<float>(integer.tensors[static_cast<std::size_t>(integer.outputs[0])].scale), 0.1F);
  EXPECT_EQ(integer.tensors[0].zero_point, 0);
  ASSERT_EQ(ops_of(integer), (std::vector<QOp>{QOp::requantize}));
  EXPECT_EQ(integer.nodes[0].lo, 0);
}

TEST(Quantize, ConcatAndPoolShareOneScale) {
  ConvNet net;
  const std::string a = net.conv(net.x, 4, 3, 1);
  const std::string b = net.conv(net.x, 2, 3, 2);
  const std::string both = net.builder.node("Concat", {a, b}, {{"axis", std::int64_t{1}}}, "concat");
  net.builder.output(
      net.builder.node("MaxPool", {both}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}, "pool"));
  const Graph graph = shaped(&net.builder);
  const auto samples = random_calibration(graph, 5);
  const Graph qdq = quantize(graph, samples);
  const QGraph integer = lower(qdq);
  EXPECT_EQ(ops_of(integer), (std::vector<QOp>{QOp::conv, QOp::conv, QOp::concat, QOp::max_pool}));
  for (const QTensor& t : integer.tensors) {
    EXPECT_TRUE(t.name == "x" || t.scale == integer.tensors.back().scale) << t.name;
  }
  EXPECT_LE(steps_apart(qdq, samples[0]), 1.01);
}

TEST(Quantize, ResidualAveragePoolGemmSoftmax) {
  ConvNet net;
  const std::string a = net.conv(net.x, 3, 3, 1);
  const std::string sum = net.builder.node("Relu", {net.builder.node("Add", {a, net.x}, {}, "add")}, {}, "relu");
  const std::string pooled =
      net.builder.node("AveragePool", {sum}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}, "pool");
  const std::string flat = net.builder.node("Flatten", {pooled}, {{"axis", std::int64_t{1}}}, "flatten");
  const std::string w = net.builder.constant("w", random_floats({5, 27}, 4));
  const std::string bias = net.builder.constant("b", random_floats({5}, 5));
  const std::string logits = net.builder.node("Gemm", {flat, w, bias}, {{"transB", std::int64_t{1}}}, "gemm");
  net.builder.output(net.builder.node("Softmax", {logits}, {{"axis", std::int64_t{-1}}}, "softmax"));
  const Graph graph = shaped(&net.builder);
  const auto samples = random_calibration(graph, 5);
  const Graph qdq = quantize(graph, samples);
  const QGraph integer = lower(qdq);
  // Flatten vanishes: the Gemm became a convolution whose kernel is the 3x3 map.
  ASSERT_EQ(ops_of(integer), (std::vector<QOp>{QOp::conv, QOp::add, QOp::average_pool, QOp::conv, QOp::host}));
  const QNode& gemm = integer.nodes[3];
  EXPECT_EQ(gemm.kh, 3);
  EXPECT_EQ(gemm.kw, 3);
  EXPECT_EQ(gemm.weights.size(), 5u * 27u);
  EXPECT_EQ(gemm.macs, 2 * 5 * 27);
  EXPECT_NE(std::find(gemm.fused.begin(), gemm.fused.end(), "flatten"), gemm.fused.end());
  EXPECT_EQ(integer.nodes[2].scales.size(), 4u);
  const QTensor& out = integer.tensors[static_cast<std::size_t>(integer.outputs[0])];
  EXPECT_EQ(out.scale, 1.0 / 256.0);
  EXPECT_EQ(out.zero_point, -128);
  EXPECT_EQ(out.onnx_shape, (Shape{2, 5}));
  EXPECT_LE(steps_apart(qdq, samples[0]), 1.01);
}

TEST(Quantize, FunctionsBecomeTables) {
  GraphBuilder builder("g");
  const std::string x = builder.input("x", {1, 4, 3, 3});
  std::string v = x;
  for (const char* op : {"Sigmoid", "HardSwish", "LeakyRelu", "Tanh"}) v = builder.node(op, {v}, {}, op);
  const std::string half = builder.constant("half", float_tensor({}, {0.5F}));
  builder.output(builder.node("Mul", {v, half}, {}, "mul"));
  const Graph graph = shaped(&builder);
  const auto samples = random_calibration(graph, 5);
  const Graph qdq = quantize(graph, samples);
  EXPECT_EQ(ops_of(lower(qdq)), std::vector<QOp>(1, QOp::table));  // whatever the length of the chain
  EXPECT_EQ(steps_apart(qdq, samples[0]), 0.0);
}

TEST(Quantize, ConstantsPerChannelBecomeDepthwise) {
  for (const char* op : {"Add", "Sub", "Mul"}) {
    GraphBuilder builder("g");
    const std::string c = builder.constant("c", random_floats({3, 1, 1}, 8));
    builder.output(builder.node(op, {builder.input("x", {2, 3, 4, 4}), c}, {}, "n"));
    const Graph graph = shaped(&builder);
    const auto samples = random_calibration(graph, 5);
    const Graph qdq = quantize(graph, samples);
    const QGraph integer = lower(qdq);
    ASSERT_EQ(ops_of(integer), (std::vector<QOp>{QOp::conv})) << op;
    EXPECT_EQ(integer.nodes[0].groups, 3);
    EXPECT_EQ(integer.macs(), 0);
    EXPECT_LE(steps_apart(qdq, samples[0]), 1.01) << op;
  }
}

TEST(Quantize, BiasThatMeetsTinyWeightsFits) {
  GraphBuilder builder("g");
  const std::string w = builder.constant("w", float_tensor({1, 1, 1, 1}, {1e-12F}));
  const std::string b = builder.constant("b", float_tensor({1}, {1000.0F}));
  builder.output(builder.node("Conv", {builder.input("x", {1, 1, 1, 2}), w, b}, {}, "conv"));
  const Graph graph = shaped(&builder);
  const Graph qdq = quantize(graph, {{{"x", float_tensor({1, 1, 1, 2}, {1.0F, -1.0F})}}});
  EXPECT_LE(steps_apart(qdq, {{"x", float_tensor({1, 1, 1, 2}, {1.0F, -1.0F})}}), 1.01);
  EXPECT_EQ(evaluate_model(qdq, {{"x", float_tensor({1, 1, 1, 2}, {1.0F, -1.0F})}}).begin()->second.as_doubles()[0],
            1000.0);
}

TEST(Quantize, TimingOnlyHasTheSameStructure) {
  ConvNet net;
  const std::string a = net.builder.node("Relu", {net.conv(net.x, 4, 3, 1)}, {}, "relu");
  net.builder.output(net.conv(a, 2, 4, 2, {{"strides", Ints{2, 2}}}));
  const Graph graph = shaped(&net.builder);
  const QGraph valued = lower(quantize(graph, random_calibration(graph, 5)));
  const QGraph timing = lower(quantize_for_timing(graph));
  ASSERT_EQ(ops_of(valued), ops_of(timing));
  for (std::size_t i = 0; i < timing.nodes.size(); ++i) {
    EXPECT_EQ(timing.nodes[i].macs, valued.nodes[i].macs);
    EXPECT_EQ(timing.nodes[i].weights.size(), valued.nodes[i].weights.size());
  }
}

// --- models that come quantised ---

struct Quantised {
  GraphBuilder builder{"q"};
  std::string scale(const std::string& name, float v) { return builder.constant(name, float_tensor({}, {v})); }
  std::string zero_u8(const std::string& name, std::uint8_t v) { return builder.constant(name, uint8_tensor({}, {v})); }
};

TEST(Lower, UnsignedModelsMoveBy128) {
  Quantised m;
  const std::string x = m.builder.input("x", {1, 2, 1, 2});
  const std::string xs = m.scale("xs", 0.5F), xz = m.zero_u8("xz", 100), ys = m.scale("ys", 0.25F),
                    yz = m.zero_u8("yz", 3);
  const std::string q = m.builder.node("QuantizeLinear", {x, xs, xz});
  const std::string dq = m.builder.node("DequantizeLinear", {q, xs, xz});
  const std::string w = m.builder.constant("w", uint8_tensor({1, 2, 1, 1}, {130, 120}));
  const std::string ws = m.scale("ws", 0.125F), wz = m.zero_u8("wz", 128);
  const std::string dw = m.builder.node("DequantizeLinear", {w, ws, wz});
  const std::string y = m.builder.node("Conv", {dq, dw}, {}, "conv");
  const std::string yq = m.builder.node("QuantizeLinear", {y, ys, yz});
  m.builder.output(m.builder.node("DequantizeLinear", {yq, ys, yz}));
  const Graph graph = shaped(&m.builder);
  const QGraph integer = lower(graph);
  EXPECT_EQ(integer.tensors[static_cast<std::size_t>(integer.inputs[0])].zero_point, -28);
  EXPECT_EQ(integer.tensors[static_cast<std::size_t>(integer.outputs[0])].zero_point, -125);
  EXPECT_EQ(integer.nodes[0].weights, (std::vector<std::int8_t>{2, -8}));
  EXPECT_EQ(integer.nodes[0].weight_zero_point, 0);
  EXPECT_EQ(steps_apart(graph, {{"x", float_tensor({1, 2, 1, 2}, {1, -2, 3, 0.5F})}}), 0.0);
}

TEST(Lower, QLinearConvIsTheSameConvolution) {
  Quantised m;
  const std::string x = m.builder.input("x", {1, 1, 3, 3});
  const std::string xs = m.scale("xs", 0.5F), xz = m.zero_u8("xz", 10), ys = m.scale("ys", 2.0F),
                    yz = m.zero_u8("yz", 5);
  const std::string q = m.builder.node("QuantizeLinear", {x, xs, xz});
  const std::string w = m.builder.constant("w", uint8_tensor({1, 1, 2, 2}, {1, 2, 3, 4}));
  const std::string ws = m.scale("ws", 1.0F), wz = m.zero_u8("wz", 2);
  const std::string b = m.builder.constant("b", int32_tensor({1}, {7}));
  const std::string y = m.builder.node("QLinearConv", {q, xs, xz, w, ws, wz, ys, yz, b}, {}, "qconv");
  m.builder.output(m.builder.node("DequantizeLinear", {y, ys, yz}));
  const Graph graph = shaped(&m.builder);
  const QGraph integer = lower(graph);
  ASSERT_EQ(ops_of(integer), (std::vector<QOp>{QOp::conv}));
  EXPECT_EQ(integer.nodes[0].weight_zero_point, -126);
  EXPECT_EQ(integer.nodes[0].bias, (std::vector<std::int32_t>{7}));
  EXPECT_EQ(steps_apart(graph, {{"x", random_floats({1, 1, 3, 3}, 4)}}), 0.0);
}

// Found by fuzz_model: these were read as floats, past their end.
TEST(Lower, QLinearConvScalesOfAnotherTypeOrLengthAreNamed) {
  const auto error_of = [](const Tensor& weight_scale, const Tensor& bias) -> std::string {
    Quantised m;
    const std::string x = m.builder.input("x", {1, 1, 3, 3});
    const std::string s = m.scale("s", 0.5F), z = m.zero_u8("z", 10);
    const std::string q = m.builder.node("QuantizeLinear", {x, s, z});
    const std::string w = m.builder.constant("w", uint8_tensor({2, 1, 1, 1}, {1, 2}));
    m.builder.output(m.builder.node(
        "DequantizeLinear",
        {m.builder.node("QLinearConv",
                        {q, s, z, w, m.builder.constant("ws", weight_scale),
                         m.builder.constant("wz", uint8_tensor({2}, {2, 2})), s, z, m.builder.constant("b", bias)},
                        {}, "qconv"),
         s, z}));
    try {
      (void)lower(shaped(&m.builder));
    } catch (const UserError& e) {
      return e.what();
    }
    return "no error";
  };
  const Tensor scale = float_tensor({2}, {1.0F, 2.0F}), bias = int32_tensor({2}, {7, 8});
  EXPECT_EQ(error_of(scale, bias), "no error");
  EXPECT_EQ(error_of(Tensor::make(DType::f16, {2}), bias),
            "node 'qconv' (QLinearConv): input 4 is float16 with 2 elements: expected float32 with 1 or 2");
  EXPECT_EQ(error_of(float_tensor({3}, {1.0F, 2.0F, 3.0F}), bias),
            "node 'qconv' (QLinearConv): input 4 is float32 with 3 elements: expected float32 with 1 or 2");
  EXPECT_EQ(error_of(scale, float_tensor({2}, {7.0F, 8.0F})),
            "node 'qconv' (QLinearConv): input 8 is float32 with 2 elements: expected int32 with 1 or 2");
}

TEST(Calibration, SaysWhatItLacks) {
  GraphBuilder bytes("g");
  bytes.output(bytes.node("Abs", {bytes.input("x", {1, 2}, DType::u8)}));
  const Graph graph = shaped(&bytes);
  EXPECT_EQ(message_of([&] { (void)random_calibration(graph, 1); }),
            "input x: type uint8 has no random sample: give one with --calib");
  const std::filesystem::path empty =
      std::filesystem::temp_directory_path() / ("tessera_no_samples_" + std::to_string(::getpid()));
  std::filesystem::create_directory(empty);
  EXPECT_EQ(message_of([&] { (void)read_calibration(graph, empty); }),
            empty.string() + ": no .npz file in this directory: expected at least one");
  std::filesystem::remove(empty);
}

TEST(QuantizeTensor, RefusesWhatIsNoNumber) {
  QTensor as;
  as.name = "x";
  as.dtype = DType::i8;
  as.scale = 0.5;
  EXPECT_EQ(quantize_tensor(as, float_tensor({2}, {1.0F, 2.0F})).bytes, (std::vector<std::uint8_t>{2, 4}));
  EXPECT_EQ(message_of([&] {
              (void)quantize_tensor(as, float_tensor({2}, {1.0F, std::nanf("")}));
            }),
            "input x: element 1 is not a number");
  as.dtype = DType::i64;
  EXPECT_EQ(message_of([&] { (void)quantize_tensor(as, float_tensor({1}, {1.0F})); }),
            "input x: found float32, expected int64");
}

TEST(Lower, ConcatOfTwoScalesRequantizes) {
  Quantised m;
  const std::string xs = m.scale("xs", 0.5F), z = m.builder.constant("z", int8_tensor({}, {0})),
                    ys = m.scale("ys", 1.0F);
  const std::string a = m.builder.node("QuantizeLinear", {m.builder.input("a", {1, 2, 2, 2}), xs, z});
  const std::string b = m.builder.node("QuantizeLinear", {m.builder.input("b", {1, 1, 2, 2}), ys, z});
  const std::string c = m.builder.node(
      "Concat", {m.builder.node("DequantizeLinear", {a, xs, z}), m.builder.node("DequantizeLinear", {b, ys, z})},
      {{"axis", std::int64_t{1}}}, "concat");
  m.builder.output(m.builder.node("DequantizeLinear", {m.builder.node("QuantizeLinear", {c, ys, z}), ys, z}));
  const Graph graph = shaped(&m.builder);
  EXPECT_EQ(ops_of(lower(graph)), (std::vector<QOp>{QOp::requantize, QOp::concat}));
  EXPECT_EQ(steps_apart(graph, {{"a", random_floats({1, 2, 2, 2}, 4)}, {"b", random_floats({1, 1, 2, 2}, 5)}}), 0.0);
}

TEST(Lower, ClampsCompose) {
  Quantised m;
  const std::string s = m.scale("s", 1.0F), z = m.builder.constant("z", int8_tensor({}, {0}));
  const std::string x = m.builder.node("DequantizeLinear",
                                       {m.builder.node("QuantizeLinear", {m.builder.input("x", {1, 3}), s, z}), s, z});
  const std::string low = m.builder.constant("low", float_tensor({}, {-3.0F}));
  const std::string high = m.builder.constant("high", float_tensor({}, {6.0F}));
  const std::string clip = m.builder.node("Clip", {m.builder.node("Add", {x, x}, {}, "add"), low, high}, {}, "clip");
  const std::string relu = m.builder.node("Relu", {clip}, {}, "relu");
  m.builder.output(m.builder.node("DequantizeLinear", {m.builder.node("QuantizeLinear", {relu, s, z}), s, z}));
  const Graph graph = shaped(&m.builder);
  const QGraph integer = lower(graph);
  ASSERT_EQ(ops_of(integer), (std::vector<QOp>{QOp::add}));
  EXPECT_EQ(integer.nodes[0].lo, 0);
  EXPECT_EQ(integer.nodes[0].hi, 6);
  EXPECT_EQ(integer.nodes[0].fused, (std::vector<std::string>{"clip", "relu"}));
}

TEST(Lower, RefusalsNameNodeAndWhatIsLegal) {
  const auto message_for = [](const std::string& op, const std::string& domain) {
    GraphBuilder builder("g");
    builder.output(builder.node(op, {builder.input("x", {1, 2, 3, 4})}, {}, "n"));
    Graph graph = builder.take();
    graph.nodes[0].domain = domain;
    graph.values["n"] = {DType::f32, Shape{1, 2, 3, 4}};
    return message_of([&] { (void)lower(graph); });
  };
  EXPECT_EQ(message_for("Warp", "acme"),
            "node 'n' (Warp): operator of the domain acme: expected one of ONNX's own operators");
  EXPECT_EQ(message_for("NonZero9", ""),
            "node 'n' (NonZero9): is not supported: neither a unit nor the host has it; expected an operator of "
            "docs/operators.md");
}

TEST(Accuracy, OfOneTensorByHand) {
  // x = [1, -2, 127] at scale 1; Relu gives [1, 0, 127] at scale 1: equal. The control sample moves one value by 0.4.
  GraphBuilder builder("g");
  builder.output(builder.node("Relu", {builder.input("x", {1, 3})}, {}, "relu"));
  const Graph graph = shaped(&builder);
  const Graph qdq = quantize(graph, {{{"x", float_tensor({1, 3}, {1.0F, -2.0F, 127.0F})}}});
  const auto equal = measure_accuracy(graph, qdq, {{{"x", float_tensor({1, 3}, {1.0F, -2.0F, 127.0F})}}});
  ASSERT_EQ(equal.size(), 2u);
  EXPECT_EQ(equal[0].mae, 0.0);
  EXPECT_TRUE(std::isinf(equal[0].psnr));
  EXPECT_EQ(equal[0].cosine, 1.0);
  const auto rows = measure_accuracy(graph, qdq, {{{"x", float_tensor({1, 3}, {1.5F, -2.0F, 3.0F})}}});
  const auto& relu = rows[0].name == "relu" ? rows[0] : rows[1];  // 1.5 becomes 2
  EXPECT_TRUE(relu.output);
  EXPECT_EQ(relu.op, "Relu");
  EXPECT_NEAR(relu.mae, 0.5 / 3, 1e-12);
  EXPECT_NEAR(relu.mse, 0.25 / 3, 1e-12);
  EXPECT_NEAR(relu.psnr, 10.0 * std::log10(9.0 / (0.25 / 3)), 1e-9);
  EXPECT_NEAR(relu.cosine, 12.0 / std::sqrt(11.25 * 13.0), 1e-12);
  EXPECT_LE(rows[0].cosine, rows[1].cosine);
  const std::string page = accuracy_page("a<b", rows);
  EXPECT_NE(page.find("<h1>a&lt;b</h1>"), std::string::npos);
  EXPECT_NE(page.find("<td class=t>relu<td class=t>relu<td class=t>Relu<td>0.166667"), std::string::npos);
}

TEST(Lower, AllRefusalsAreGathered) {
  GraphBuilder builder("g");
  const std::string x = builder.input("x", {1, 2, 3, 4});
  const std::string a = builder.node("Warp", {x}, {}, "first");
  builder.output(builder.node("Twist", {builder.node("Relu", {a}, {}, "between")}, {}, "second"));
  Graph graph = builder.take();
  for (const char* value : {"first", "between", "second"}) graph.values[value] = {DType::f32, Shape{1, 2, 3, 4}};
  const Graph qdq = quantize_for_timing(graph);
  std::vector<Refusal> refusals;
  const QGraph integer = lower(qdq, &refusals);
  ASSERT_EQ(refusals.size(), 2u);
  EXPECT_EQ(refusals[0].node, "first");
  EXPECT_EQ(refusals[1].node, "second");
  EXPECT_EQ(refusals[0].text, message_of([&] { (void)lower(qdq); }));  // what stops lower alone
  EXPECT_EQ(ops_of(integer), (std::vector<QOp>{QOp::host, QOp::requantize, QOp::host}));
}

TEST(Lower, SumsThatLeaveInt32AreRefused) {
  Quantised m;
  const std::string s = m.scale("s", 1.0F), z = m.builder.constant("z", int8_tensor({}, {127}));
  const std::string wz = m.builder.constant("wz", int8_tensor({}, {0}));
  const std::string x = m.builder.node(
      "DequantizeLinear", {m.builder.node("QuantizeLinear", {m.builder.input("x", {1, 1, 1, 1}), s, z}), s, z});
  const std::string w =
      m.builder.node("DequantizeLinear", {m.builder.constant("w", int8_tensor({1, 1, 1, 1}, {100})), s, wz});
  // 100 * 255 = 25500: the bias may be 2^31 - 1 - 25500 and not one more.
  const auto lower_with = [&](std::int32_t bias) {
    Quantised n = m;
    const std::string b = n.builder.node("DequantizeLinear", {n.builder.constant("b", int32_tensor({1}, {bias})), s,
                                                              n.builder.constant("bz", int32_tensor({}, {0}))});
    const std::string y = n.builder.node("Conv", {x, w, b}, {}, "conv");
    n.builder.output(n.builder.node("DequantizeLinear", {n.builder.node("QuantizeLinear", {y, s, z}), s, z}));
    const Graph graph = shaped(&n.builder);
    return message_of([&] { (void)lower(graph); });
  };
  EXPECT_EQ(lower_with(INT32_MAX - 25500), "no error");
  EXPECT_EQ(lower_with(INT32_MAX - 25499).substr(0, 68),
            "node 'conv' (Conv): the sums of output channel 0 can reach 2.14748e+");
}

TEST(Calibration, ArraysOfSamples) {
  const auto dir = std::filesystem::temp_directory_path() / "tessera_calibration_test";
  std::filesystem::create_directories(dir);
  GraphBuilder builder("g");
  builder.output(builder.node("Relu", {builder.input("a/b", {1, 2})}, {}, "relu"));
  const Graph graph = shaped(&builder);
  // A stored ZIP archive of one member, written by hand.
  const auto write_npz = [&](const std::string& member, const Tensor& tensor) {
    const std::vector<std::uint8_t> data = npy_bytes(tensor);
    std::vector<std::uint8_t> out;
    const auto put = [&](std::uint64_t v, int bytes) {
      for (int i = 0; i < bytes; ++i) out.push_back(static_cast<std::uint8_t>(v >> (8 * i)));
    };
    std::uint32_t crc = 0xffffffffU;
    for (const std::uint8_t byte : data) {
      crc ^= byte;
      for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1U) != 0 ? 0xedb88320U : 0U);
    }
    const auto entry = [&] {
      put(20, 2), put(0, 2), put(0, 2), put(0, 4), put(crc ^ 0xffffffffU, 4), put(data.size(), 4), put(data.size(), 4);
      put(member.size(), 2), put(0, 2);
    };
    put(0x04034b50, 4), entry();
    out.insert(out.end(), member.begin(), member.end());
    out.insert(out.end(), data.begin(), data.end());
    const std::size_t central = out.size();
    put(0x02014b50, 4), put(20, 2), entry(), put(0, 2), put(0, 2), put(0, 2), put(0, 4), put(0, 4);
    out.insert(out.end(), member.begin(), member.end());
    const std::size_t end = out.size();
    put(0x06054b50, 4), put(0, 4), put(1, 2), put(1, 2), put(end - central, 4), put(central, 4), put(0, 2);
    std::FILE* file = std::fopen((dir / "c.npz").c_str(), "wb");
    std::fwrite(out.data(), 1, out.size(), file);
    std::fclose(file);
  };
  write_npz("calib_a~b.npy", float_tensor({3, 1, 2}, {1, 2, 3, 4, 5, 6}));
  auto samples = read_calibration(graph, dir / "c.npz");
  ASSERT_EQ(samples.size(), 3u);
  EXPECT_EQ(samples[2].at("a/b").as_doubles(), (std::vector<double>{5, 6}));
  EXPECT_EQ(read_calibration(graph, dir).size(), 3u);
  write_npz("a~b.npy", float_tensor({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(read_calibration(graph, dir / "c.npz").size(), 4u);
  write_npz("a~b.npy", float_tensor({2, 3}, {1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(message_of([&] { (void)read_calibration(graph, dir / "c.npz"); }),
            (dir / "c.npz").string() + ": a~b: found shape 2x3, expected samples x 1x2");
  write_npz("other.npy", float_tensor({1, 2}, {1, 2}));
  EXPECT_EQ(message_of([&] { (void)read_calibration(graph, dir / "c.npz"); }),
            (dir / "c.npz").string() + ": no array for input a/b: expected calib_a~b or a~b");
  std::filesystem::remove_all(dir);
  EXPECT_EQ(message_of([&] { (void)quantize(graph, {}); }), "calibration: no samples: expected at least one");
  EXPECT_EQ(message_of([&] {
              (void)quantize(graph, {{{"a/b", float_tensor({1, 2}, {NAN, 1})}}});
            }),
            "calibration: value a/b is not finite: expected finite samples and weights");
  EXPECT_EQ(random_calibration(graph, 3)[0].at("a/b").bytes, random_calibration(graph, 3)[0].at("a/b").bytes);
  EXPECT_NE(random_calibration(graph, 3)[0].at("a/b").bytes, random_calibration(graph, 4)[0].at("a/b").bytes);
}

}  // namespace
}  // namespace tessera::compiler
