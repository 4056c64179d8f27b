// Networks that nobody of this project wrote: MACs and node counts of index.json, golden outputs through folding and
// passes, and the output shapes of several hundred operator cases.
#include "../import/shared_models.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "compiler/import/import.hpp"
#include "compiler/interpret/evaluate.hpp"
#include "compiler/passes/canonicalise.hpp"
#include "compiler/passes/fold.hpp"
#include "compiler/passes/macs.hpp"
#include "compiler/passes/shape_inference.hpp"
#include "compiler/tensor_io/tensor_io.hpp"
#include "hw/common/error.hpp"
#include "hw/common/file.hpp"

namespace tessera::compiler {
namespace {

ImportOptions shapes_for(const std::string& name) {
  if (name == "emmtrix_micro_kws_m_static_qdq") return {{"1x1960"}};
  if (name == "mobilenet_v3_large_dyn_op14") return {{"1x3x224x224"}};
  return {};
}

std::filesystem::path file_of(const nlohmann::json& entry) {
  const std::string kind = entry.at("kind");
  const std::string name = entry.at("name");
  return kind == "models" ? shared_models() / kind / name / "model.onnx" : shared_models() / kind / (name + ".onnx");
}

TEST(SharedModels, macs_equal_those_seen_at_run_time) {
  TESSERA_SKIP_WITHOUT(shared_models() / "index.json");
  const auto index = nlohmann::json::parse(read_file(shared_models() / "index.json"));
  int counted = 0;
  for (const auto& entry : index) {
    if (!entry.contains("macs") || !std::filesystem::exists(file_of(entry))) continue;
    const std::string name = entry.at("name");
    Graph graph = import_model(file_of(entry), shapes_for(name));
    prepare(graph);
    EXPECT_EQ(macs(graph), entry.at("macs").get<std::int64_t>()) << name;
    run_passes(graph);
    require_shapes(graph);
    EXPECT_EQ(macs(graph), entry.at("macs").get<std::int64_t>()) << name << " after the passes";
    ++counted;
  }
  EXPECT_GE(counted, 26);
}

TEST(SharedModels, node_counts_after_folding_and_passes) {
  // index.json gives ONNX Runtime's counts after basic optimisation for the first four; BatchNormalization is folded
  // there.
  TESSERA_SKIP_WITHOUT(shared_models() / "light");
  const std::map<std::string, std::size_t> expected = {
      {"light_resnet50", 123}, {"light_squeezenet", 65}, {"light_shufflenet", 154}, {"light_vgg19", 44}};
  for (const auto& [name, count] : expected) {
    Graph graph = import_model(shared_models() / "light" / (name + ".onnx"));
    prepare(graph);
    run_passes(graph);
    EXPECT_EQ(graph.nodes.size(), count) << name;
  }
}

TEST(SharedModels, swin_folds_to_the_nodes_of_the_index) {
  // 6,705 nodes in the file; README.md of the models gives 825 after folding.
  const auto file = shared_models() / "structure" / "swin_t_224_op13.onnx";
  TESSERA_SKIP_WITHOUT(file);
  Graph graph = import_model(file);
  prepare(graph, try_evaluate_node);
  EXPECT_LE(graph.nodes.size(), 825U);
  EXPECT_GE(graph.nodes.size(), 700U) << "a network without its layers";
  const auto is_shape_arithmetic = [](const Node& node) {
    static const std::set<std::string> ops = {"Shape", "Cast", "ConstantOfShape", "Where", "Mod", "Range", "ScatterND"};
    return ops.count(node.op) != 0;
  };
  EXPECT_EQ(std::count_if(graph.nodes.begin(), graph.nodes.end(), is_shape_arithmetic), 0);
}

/// Largest difference relative to 1 + |expected|.
double difference(const Tensor& found, const Tensor& expected) {
  const std::vector<double> a = found.as_doubles();
  const std::vector<double> b = expected.as_doubles();
  double worst = a.size() == b.size() ? 0 : HUGE_VAL;
  for (std::size_t i = 0; worst != HUGE_VAL && i < a.size(); ++i) {
    worst = std::max(worst, std::abs(a[i] - b[i]) / (1 + std::abs(b[i])));
  }
  return worst;
}

Tensor sample(const Tensor& all, std::int64_t index, const Shape& shape) {
  Tensor one = Tensor::make(all.dtype, shape);
  std::copy_n(all.bytes.begin() + index * static_cast<std::ptrdiff_t>(one.bytes.size()), one.bytes.size(),
              one.bytes.begin());
  return one;
}

TEST(SharedModels, golden_outputs_survive_folding_and_passes) {
  TESSERA_SKIP_WITHOUT(shared_models() / "models");
  int compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(shared_models() / "models")) {
    const std::string name = entry.path().filename();
    Graph graph = import_model(entry.path() / "model.onnx", shapes_for(name));
    prepare(graph, try_evaluate_node);
    run_passes(graph);
    const auto golden = read_npz(entry.path() / "golden.npz");
    NamedTensors inputs;
    for (const std::string& input : graph.inputs) {
      const auto it = golden.find("test_" + file_name_of(input));
      ASSERT_NE(it, golden.end()) << name << ": no input " << input;
      inputs[input] = sample(it->second, 0, graph.shape_of(input));
    }
    const NamedTensors outputs = evaluate(graph, inputs);
    for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
      const std::string prefix = "expect_" + std::to_string(i);
      for (const auto& [key, tensor] : golden) {
        if (key != prefix && key.rfind(prefix + "_", 0) != 0) continue;
        const Tensor& found = outputs.at(graph.outputs[i]);
        const double worst = difference(found, sample(tensor, 0, found.shape));
        // QDQ: two steps of the int8 output, 1/256 each, where sums round differently.
        EXPECT_LT(worst, name.find("qdq") == std::string::npos ? 1e-3 : 8e-3) << name << " output " << graph.outputs[i];
        ++compared;
      }
    }
  }
  EXPECT_GE(compared, 16);
}

TEST(SharedModels, quirks_give_their_golden_values) {
  TESSERA_SKIP_WITHOUT(shared_models() / "quirks");
  int compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(shared_models() / "quirks")) {
    const std::string name = entry.path().filename();
    if (name == "unknown_domain_op" || !std::filesystem::exists(entry.path() / "golden.npz")) continue;
    Graph graph = import_model(entry.path() / "model.onnx");
    prepare(graph, try_evaluate_node);
    run_passes(graph);
    const auto golden = read_npz(entry.path() / "golden.npz");
    NamedTensors inputs;
    for (std::size_t i = 0; i < graph.inputs.size(); ++i)
      inputs[graph.inputs[i]] = golden.at("in_" + std::to_string(i));
    const NamedTensors outputs = evaluate(graph, inputs);
    for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
      EXPECT_LT(difference(outputs.at(graph.outputs[i]), golden.at("out_" + std::to_string(i))), 1e-4) << name;
      ++compared;
    }
  }
  EXPECT_GE(compared, 25);
}

class OperatorCases : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto archive = shared_models() / "opconf.tar.gz";
    TESSERA_SKIP_WITHOUT(archive);
    folder_ = std::filesystem::path(::testing::TempDir()) / "tessera_opconf_passes";
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    const std::string command = "tar -xzf '" + archive.string() + "' -C '" + folder_.string() + "'";
    ASSERT_EQ(std::system(command.c_str()), 0);
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }
  std::filesystem::path folder_;
};

TEST_F(OperatorCases, inferred_shapes_equal_those_of_the_golden_outputs) {
  int compared = 0;
  int unknown = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_)) {
    if (entry.path().filename() != "model.onnx") continue;
    const auto data = entry.path().parent_path() / "test_data_set_0";
    const std::string name = entry.path().parent_path().filename();
    Graph graph;
    try {
      graph = import_model(entry.path());
    } catch (const UserError& error) {
      // Older opsets, and inputs without elements, which --shape would have to bind.
      const std::string text = error.what();
      const bool expected = text.find("expected an opset in [7, 21]") != std::string::npos ||
                            text.find("'0' unbound") != std::string::npos;
      EXPECT_TRUE(expected) << text;
      continue;
    }
    // What shapes depend on is constant in networks: bind the integer inputs to the case's values.
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
      const auto file = data / ("input_" + std::to_string(i) + ".pb");
      if (!std::filesystem::exists(file)) continue;
      const Tensor tensor = read_tensor_proto(file).tensor;
      EXPECT_EQ(tensor.shape, graph.shape_of(graph.inputs[i])) << name;
      const bool shapes = tensor.dtype == DType::i64 || tensor.dtype == DType::i32 ||
                          (graph.nodes[0].op == "Resize" && i > 0) || graph.nodes[0].op == "Range";
      if (shapes) graph.constants[graph.inputs[i]] = tensor;
    }
    infer_shapes(graph);
    for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
      const auto file = data / ("output_" + std::to_string(i) + ".pb");
      const auto value = graph.values.find(graph.outputs[i]);
      if (!std::filesystem::exists(file) || value == graph.values.end()) continue;
      if (!value->second.shape) {
        std::cout << name << ": no shape for " << graph.nodes.back().op << "\n";
        ++unknown;
        continue;
      }
      const Tensor expected = read_tensor_proto(file).tensor;
      EXPECT_EQ(shape_text(*value->second.shape), shape_text(expected.shape)) << name << " output " << i;
      EXPECT_EQ(value->second.dtype, expected.dtype) << name << " output " << i;
      ++compared;
    }
  }
  EXPECT_GE(compared, 300);
  EXPECT_LE(unknown, 10);
}

}  // namespace
}  // namespace tessera::compiler
