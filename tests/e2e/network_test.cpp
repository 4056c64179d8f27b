// Whole networks from the ONNX file to the report: graph == reference == tlm, sums that add up (build_report throws
// when one does not), and everything that must not matter does not.
#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "compiler/export/export.hpp"
#include "compiler/zoo/zoo.hpp"
#include "runtime/session/execute.hpp"
#include "runtime/session/front_end.hpp"
#include "tests/compiler/import/shared_models.hpp"

namespace tessera::runtime {
namespace {

struct Case {
  const char* name;
  const char* model;  // below shared/models, or "zoo:NAME"
  const char* chip;
  bool randomize;
  std::int64_t macs;  // of models/index.json, or counted by hand from the published structure
};

std::filesystem::path model_file(const std::string& model) {
  if (model.rfind("zoo:", 0) != 0) return std::filesystem::path(shared_folder()) / "models" / model;
  const auto path = std::filesystem::path(testing::TempDir()) /
                    ("tessera_e2e_" + model.substr(4) + std::to_string(getpid()) + ".onnx");
  compiler::export_model(compiler::zoo_build(model.substr(4), 1), path);
  return path;
}

CompiledModel compile_case(const Case& c, const std::string& schedule) {
  ModelOptions model;
  model.model = model_file(c.model).string();
  if (c.randomize) model.randomize_weights = 1;
  CompileOptions compile;
  compile.chip = c.chip;
  compile.schedule = schedule;
  return compile_model(model, compile);
}

Outcome run(const CompiledModel& compiled, RunOptions options) {
  return execute_program(compiled.program, compiled.chip, options, [&] { return compiled.qgraph; });
}

/// Building it asserts every sum of the report.
nlohmann::json report_of(const CompiledModel& compiled, const Outcome& outcome) {
  return build_report({compiled.program, compiled.chip, outcome.result});
}

class Network : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (std::string(GetParam().model).rfind("zoo:", 0) != 0 && !std::filesystem::exists(model_file(GetParam().model))) {
      GTEST_SKIP() << "SKIPPED: " << model_file(GetParam().model) << " is absent";
    }
  }
};

TEST_P(Network, OraclesAgreeAndEveryCycleAndByteHasAnOwner) {
  const CompiledModel compiled = compile_case(GetParam(), "layer");
  RunOptions options;
  options.compare = {"graph", "reference"};
  const Outcome outcome = run(compiled, options);
  for (const auto& [oracle, c] : outcome.compare) EXPECT_TRUE(c.equal) << oracle << ": " << c.first_difference;
  EXPECT_GT(outcome.compare.at("graph").elements, 0);
  const nlohmann::json report = report_of(compiled, outcome);
  EXPECT_EQ(report.at("macs").at("useful"), GetParam().macs);
  // Constant outputs would agree whatever the machine did.
  std::set<std::uint8_t> distinct(outcome.outputs[0].bytes.begin(), outcome.outputs[0].bytes.end());
  EXPECT_GT(distinct.size(), 1u) << "the output holds one value only";
}

TEST_P(Network, TimingOnlyGivesTheCyclesOfTheValuedRun) {
  const CompiledModel valued = compile_case(GetParam(), "layer");
  ModelOptions model;
  model.model = model_file(GetParam().model).string();
  model.timing_only = true;
  CompileOptions compile;
  compile.chip = GetParam().chip;
  compile.schedule = "layer";
  const CompiledModel timing = compile_model(model, compile);
  RunOptions timing_run;
  timing_run.timing_only = true;
  EXPECT_EQ(run(timing, timing_run).result.cycles, run(valued, {}).result.cycles);
}

TEST_P(Network, NaiveIsSlowerWithEqualOutputs) {
  const CompiledModel layer = compile_case(GetParam(), "layer");
  const CompiledModel naive = compile_case(GetParam(), "naive");
  const Outcome fast = run(layer, {}), slow = run(naive, {});
  EXPECT_GT(slow.result.cycles, fast.result.cycles);
  ASSERT_EQ(slow.outputs.size(), fast.outputs.size());
  for (std::size_t i = 0; i < fast.outputs.size(); ++i) EXPECT_EQ(slow.outputs[i].bytes, fast.outputs[i].bytes);
}

TEST_P(Network, ShortcutsAndProcessOrderChangeNothing) {
  const CompiledModel compiled = compile_case(GetParam(), "layer");
  RunOptions options;
  options.timing_only = true;
  const nlohmann::json usual = report_of(compiled, run(compiled, options));
  options.no_shortcuts = true;
  nlohmann::json stepped = report_of(compiled, run(compiled, options));
  EXPECT_GE(stepped.at("stepped_cycles"), usual.at("stepped_cycles"));
  stepped["stepped_cycles"] = usual.at("stepped_cycles");
  EXPECT_EQ(stepped, usual);
  options.no_shortcuts = false;
  for (const std::uint64_t seed : {1, 2, 3}) {
    options.process_order_seed = seed;
    EXPECT_EQ(report_of(compiled, run(compiled, options)), usual) << "process order " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Network,
    testing::Values(Case{"mnist_tiny", "models/zoo_mnist_cntk/model.onnx", "tiny", false, 786560},
                    Case{"residual_block_tiny", "models/qonnx_residual_block_clean/model.onnx", "tiny", false,
                         10622024},
                    Case{"shufflenet_tiny", "models/torch_shufflenet_64_op9/model.onnx", "tiny", false, 327264},
                    Case{"convnext_a1000", "models/torch_convnext_64_op13/model.onnx", "a1000", false, 3458272},
                    Case{"vit_tiny", "models/torch_vit_64_op14/model.onnx", "tiny", false, 8799232},
                    Case{"squeezenet_a1000", "light/light_squeezenet.onnx", "a1000", true, 349151936},
                    Case{"mobilenet_v2_a1000", "zoo:mobilenet_v2", "a1000", false, 300774272},
                    Case{"mobilenet_v2_j5", "zoo:mobilenet_v2", "j5", false, 300774272}),
    [](const auto& param) { return std::string(param.param.name); });

// Minutes under a debug build; the long networks get one test each, not four.
class LongNetwork : public Network {};

TEST_P(LongNetwork, OraclesAgreeAndEveryCycleAndByteHasAnOwner) {
  const CompiledModel compiled = compile_case(GetParam(), "layer");
  RunOptions options;
  options.compare = {"graph", "reference"};
  const Outcome outcome = run(compiled, options);
  for (const auto& [oracle, c] : outcome.compare) EXPECT_TRUE(c.equal) << oracle << ": " << c.first_difference;
  EXPECT_EQ(report_of(compiled, outcome).at("macs").at("useful"), GetParam().macs);
}

INSTANTIATE_TEST_SUITE_P(
    All, LongNetwork,
    testing::Values(Case{"resnet50_a1000", "light/light_resnet50.onnx", "a1000", true, 4089184256},
                    Case{"squeezenet_tiny", "light/light_squeezenet.onnx", "tiny", true, 349151936},
                    Case{"shufflenet_v1_a1000", "light/light_shufflenet.onnx", "a1000", true, 124664528},
                    Case{"mnv3_tiny", "models/torch_mnv3_96_op14/model.onnx", "tiny", false, 1142720},
                    Case{"lraspp_tiny", "models/torch_lraspp_64_op13/model.onnx", "tiny", false, 598400},
                    Case{"pointpillars_tiny", "models/torch_pointpillars_rpn_small_op11/model.onnx", "tiny", false,
                         9580032},
                    Case{"swin_tiny", "models/torch_swin_56_op13/model.onnx", "tiny", false, 7254336},
                    Case{"yunet_a1000", "models/yunet_s_320_320/model.onnx", "a1000", false, 86056000},
                    Case{"convnext_j5", "models/torch_convnext_64_op13/model.onnx", "j5", false, 3458272}),
    [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace tessera::runtime
