// Quantisation and lowering of whole networks: MACs against the models' index, the integer graph against the QDQ graph
// run in float, accuracy against the float network. Needs ../shared beside the repository.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <iostream>

#include <gtest/gtest.h>

#include "compiler/import/import.hpp"
#include "compiler/interpret/qgraph_interpreter.hpp"
#include "compiler/passes/canonicalise.hpp"
#include "compiler/passes/fold.hpp"
#include "compiler/passes/macs.hpp"
#include "compiler/passes/randomize.hpp"
#include "compiler/quantize/quantize.hpp"
#include "compiler/zoo/zoo.hpp"
#include "hw/common/error.hpp"

namespace tessera::compiler {
namespace {

namespace fs = std::filesystem;

fs::path models() { return fs::path(TESSERA_SHARED) / "models"; }

#define NEED_MODELS()                                                               \
  if (!fs::exists(models())) {                                                      \
    GTEST_SKIP() << "SKIPPED: " << models() << " is not there: nothing was tested"; \
  }

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

Graph load(const fs::path& file, std::uint64_t seed) {
  Graph graph = import_model(file);
  prepare(graph, try_evaluate_node);
  if (seed != 0) randomize_weights(graph, seed);
  run_passes(graph);
  return graph;
}

/// Signal to noise in dB of `found` against `expected`.
double snr(const std::vector<double>& found, const std::vector<double>& expected) {
  double signal = 0;
  double noise = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    signal += expected[i] * expected[i];
    noise += (found[i] - expected[i]) * (found[i] - expected[i]);
  }
  return 10.0 * std::log10((signal + 1e-30) / (noise + 1e-30));
}

/// The last of `names` that the graph computes.
std::vector<double> float_value(const Graph& graph, const NamedTensors& inputs, const std::vector<std::string>& names) {
  std::vector<double> result;
  (void)evaluate(graph, inputs, [&](const std::string& value, const Tensor& tensor) {
    if (std::find(names.begin(), names.end(), value) != names.end()) result = tensor.as_doubles();
  });
  return result;
}

std::vector<double> oracle_value(const QGraph& graph, const NamedTensors& inputs, const std::string& name) {
  std::vector<Tensor> quantized;
  for (const int index : graph.inputs) {
    const QTensor& as = graph.tensors[static_cast<std::size_t>(index)];
    quantized.push_back(quantize_tensor(as, inputs.at(as.name)));
  }
  const std::vector<Tensor> values = interpret_all(graph, quantized, Keep::everything);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (graph.tensors[i].name == name) return dequantize_tensor(graph.tensors[i], values[i]).as_doubles();
  }
  return {};
}

struct Case {
  const char* file;
  std::int64_t macs;
  std::uint64_t seed;
};

class Networks : public testing::TestWithParam<Case> {};

TEST_P(Networks, QuantiseLowerInterpret) {
  NEED_MODELS();
  const Case& c = GetParam();
  const Graph graph = load(models() / c.file, c.seed);
  const auto samples = random_calibration(graph, 7);
  auto begin = std::chrono::steady_clock::now();
  const Graph qdq = quantize(graph, samples);
  const double quantize_s = seconds_since(begin);
  begin = std::chrono::steady_clock::now();
  const QGraph integer = lower(qdq);
  const double lower_s = seconds_since(begin);
  EXPECT_EQ(integer.macs(), c.macs);
  begin = std::chrono::steady_clock::now();
  (void)evaluate_model(qdq, samples[0]);
  const double oracle_s = seconds_since(begin);
  begin = std::chrono::steady_clock::now();
  const QGraph timing = lower(quantize_for_timing(graph));
  const double timing_s = seconds_since(begin);
  std::cout << c.file << ": quantize " << quantize_s << " s, lower " << lower_s << " s, oracle with lower " << oracle_s
            << " s, timing-only quantize + lower " << timing_s << " s\n";
  // Same structure with and without values.
  ASSERT_EQ(timing.nodes.size(), integer.nodes.size());
  for (std::size_t i = 0; i < timing.nodes.size(); ++i) EXPECT_EQ(timing.nodes[i].op, integer.nodes[i].op);
  EXPECT_EQ(timing.macs(), c.macs);

  // The last matrix product: behind it a Softmax would hide or blow up every difference.
  std::string last;
  for (const QNode& node : integer.nodes) {
    if (node.op == QOp::conv || node.op == QOp::add) last = integer.tensors[static_cast<std::size_t>(node.output)].name;
  }
  const std::vector<double> found = oracle_value(integer, samples[0], last);
  const double against_qdq = snr(found, float_value(qdq, samples[0], {last, last + "_dequantized"}));
  const double against_float = snr(found, float_value(graph, samples[0], {last}));
  std::cout << "  " << last << ": " << against_qdq << " dB against QDQ in float, " << against_float
            << " dB against float\n";
  EXPECT_GE(against_qdq, 20.0);
  EXPECT_GE(against_float, 10.0);
  for (const QNode& node : integer.nodes) {
    if (node.op == QOp::host) {
      EXPECT_EQ(node.onnx_op, "Softmax");
    }
  }
}

/// Depthwise convolutions, Relu6 and residual adds, at full size.
TEST(ZooNetworks, MobilenetV2) {
  Graph graph = zoo_build("mobilenet_v2", 1);
  prepare(graph, try_evaluate_node);
  run_passes(graph);
  const auto samples = random_calibration(graph, 7);
  const Graph qdq = quantize(graph, samples);
  const QGraph integer = lower(qdq);
  EXPECT_EQ(integer.macs(), macs(graph));
  for (const QNode& node : integer.nodes) {
    EXPECT_TRUE(node.op == QOp::conv || node.op == QOp::add || node.op == QOp::average_pool || node.op == QOp::host)
        << node.name;
  }
  EXPECT_EQ(evaluate_model(qdq, samples[0]).size(), 1u);
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
  std::string name = info.param.file;
  std::replace_if(
      name.begin(), name.end(), [](char ch) { return std::isalnum(static_cast<unsigned char>(ch)) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Quantize, Networks,
                         testing::Values(Case{"light/light_resnet50.onnx", 4089184256, 1},
                                         Case{"light/light_squeezenet.onnx", 349151936, 1},
                                         Case{"light/light_vgg19.onnx", 19632062464, 1},
                                         Case{"models/zoo_mnist_cntk/model.onnx", 786560, 0},
                                         Case{"models/qonnx_residual_block_clean/model.onnx", 10622024, 0},
                                         Case{"models/torch_mnv2_w025_96_op11/model.onnx", 6610592, 0}),
                         case_name);

}  // namespace
}  // namespace tessera::compiler
