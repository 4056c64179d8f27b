// The networks that users bring, through import, passes, quantize, lower and the `graph` oracle: MACs as in the models'
// index, few host steps, the integer graph close to the QDQ graph run in float. Needs ../shared beside the repository.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "compiler/import/import.hpp"
#include "compiler/passes/canonicalise.hpp"
#include "compiler/passes/fold.hpp"
#include "compiler/passes/randomize.hpp"
#include "compiler/quantize/quantize.hpp"

namespace tessera::compiler {
namespace {

namespace fs = std::filesystem;

fs::path models() { return fs::path(TESSERA_SHARED) / "models"; }

#define NEED_MODELS()                                                               \
  if (!fs::exists(models())) {                                                      \
    GTEST_SKIP() << "SKIPPED: " << models() << " is not there: nothing was tested"; \
  }

struct Case {
  const char* file;
  const char* shape;     // --shape, or ""
  std::uint64_t seed;    // of random weights; 0: its own
  bool values;           // also run the oracle
  std::ptrdiff_t steps;  // most host steps
};

class LowerModels : public testing::TestWithParam<Case> {};

std::int64_t index_macs(const std::string& file) {
  std::ifstream in(models() / "index.json");
  const nlohmann::json index = nlohmann::json::parse(in);
  for (const auto& entry : index) {
    // models/NAME/model.onnx or FOLDER/NAME.onnx
    if (file.find("/" + entry.at("name").get<std::string>() + (file.rfind("models/", 0) == 0 ? "/" : ".")) ==
        std::string::npos) {
      continue;
    }
    return entry.at("macs").is_number() ? entry.at("macs").get<std::int64_t>() : -1;
  }
  return -1;
}

double cosine(const std::vector<double>& a, const std::vector<double>& b) {
  double ab = 0, aa = 1e-30, bb = 1e-30;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += a[i] * b[i];
    aa += a[i] * a[i];
    bb += b[i] * b[i];
  }
  return ab / std::sqrt(aa * bb);
}

TEST_P(LowerModels, ThroughTheOracle) {
  NEED_MODELS();
  const Case& c = GetParam();
  const auto begin = std::chrono::steady_clock::now();
  Graph graph =
      import_model(models() / c.file, {*c.shape == 0 ? std::vector<std::string>{} : std::vector<std::string>{c.shape}});
  prepare(graph, try_evaluate_node);
  if (c.seed != 0) randomize_weights(graph, c.seed);
  std::vector<NamedTensors> samples = random_calibration(graph, 7);
  Graph qdq = graph;
  if (!is_quantized(graph)) {
    run_passes(graph);
    qdq = c.values ? quantize(graph, samples) : quantize_for_timing(graph);
  }
  const QGraph integer = lower(qdq);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::map<std::string, int> host;
  std::map<std::string, int> ops;
  std::ptrdiff_t steps = 0;
  for (const QNode& node : integer.nodes) {
    ++ops[qop_name(node.op)];
    if (node.op != QOp::host) continue;
    ++host[node.onnx_op + " (" + node.why + ")"];
    ++steps;
  }
  std::cout << c.file << ": " << seconds << " s to the integer graph, " << integer.macs() << " MACs;";
  for (const auto& [op, count] : ops) std::cout << " " << count << " " << op;
  std::cout << "\n";
  for (const auto& [op, count] : host) std::cout << "  host: " << count << " " << op << "\n";
  EXPECT_LE(steps, c.steps);
  const std::int64_t expected = index_macs(c.file);
  if (expected >= 0) {
    EXPECT_EQ(integer.macs(), expected);
  }
  if (!c.values) return;
  const NamedTensors found = evaluate_model(qdq, samples[0]);
  const NamedTensors wanted = evaluate(qdq, samples[0]);
  const NamedTensors real = evaluate(graph, samples[0]);
  for (const auto& [name, tensor] : found) {
    ASSERT_EQ(tensor.shape, wanted.at(name).shape) << name;
    const double against_qdq = cosine(tensor.as_doubles(), wanted.at(name).as_doubles());
    const double against_float = cosine(tensor.as_doubles(), real.at(name).as_doubles());
    std::cout << "  " << name << ": cosine " << against_qdq << " to QDQ in float, " << against_float << " to float\n";
    EXPECT_GT(against_qdq, 0.98) << name;  // yunet's scores are a few steps: single roundings show
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shared, LowerModels,
    testing::Values(Case{"light/light_shufflenet.onnx", "", 1, true, 1},
                    Case{"models/torch_mnv2_w025_96_op11/model.onnx", "", 0, true, 0},
                    Case{"models/torch_shufflenet_64_op9/model.onnx", "", 0, true, 0},
                    Case{"models/torch_mnv3_96_op14/model.onnx", "", 0, true, 0},
                    Case{"models/torch_lraspp_64_op13/model.onnx", "", 0, true, 0},
                    Case{"models/torch_convnext_64_op13/model.onnx", "", 0, true, 9},
                    Case{"models/torch_pointpillars_rpn_small_op11/model.onnx", "", 0, true, 0},
                    Case{"models/torch_swin_56_op13/model.onnx", "", 0, true, 15},
                    Case{"models/torch_vit_64_op14/model.onnx", "", 0, true, 10},
                    Case{"models/emmtrix_micro_kws_m_static_fp32/model.onnx", "", 0, true, 1},
                    Case{"models/emmtrix_micro_kws_m_static_qdq/model.onnx", "serving_default_input:0=1x1960", 0, true,
                         1},
                    Case{"models/espdl_model/model.onnx", "", 0, true, 0},
                    Case{"models/nemo_NAS_Frontnet/model.onnx", "", 0, true, 28},
                    Case{"models/yunet_s_320_320/model.onnx", "", 0, true, 0},
                    Case{"models/ultraface_version-slim-320_simplified/model.onnx", "", 0, true, 1},
                    Case{"structure/efficientnet_b0_224_op13.onnx", "", 1, false, 0},
                    Case{"structure/mobilenet_v3_large_dyn_op14.onnx", "input=1x3x224x224", 1, false, 0},
                    Case{"structure/resnet18_720p_op17.onnx", "", 1, false, 0},
                    Case{"structure/pointpillars_rpn_kitti_496x432_op11.onnx", "", 1, false, 0},
                    Case{"structure/swin_t_224_op13.onnx", "", 1, false, 41},
                    Case{"structure/vit_b_16_224_op14.onnx", "", 1, false, 37}),
    [](const testing::TestParamInfo<Case>& i) {
      std::string name = i.param.file;
      for (char& ch : name) ch = std::isalnum(static_cast<unsigned char>(ch)) ? ch : '_';
      return name;
    });

}  // namespace
}  // namespace tessera::compiler
