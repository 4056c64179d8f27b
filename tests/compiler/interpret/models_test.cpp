// The float interpreter against models and single-operator cases that nobody of this project wrote, with outputs of
// independent runtimes. Needs ../shared beside the repository.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include <gtest/gtest.h>

#include "compiler/import/import.hpp"
#include "compiler/interpret/evaluate.hpp"
#include "compiler/passes/fold.hpp"
#include "compiler/quantize/quantize.hpp"
#include "compiler/tensor_io/tensor_io.hpp"
#include "hw/common/error.hpp"

namespace tessera::compiler {
namespace {

namespace fs = std::filesystem;

fs::path models() { return fs::path(TESSERA_SHARED) / "models"; }

#define NEED_MODELS()                                                                                      \
  if (!fs::exists(models())) {                                                                             \
    GTEST_SKIP() << "SKIPPED: " << models() << " is not there: nothing was compared with outside results"; \
  }

/// Largest difference, in units of 1e-4 absolute or relative, whichever is larger.
double distance(const Tensor& found, const Tensor& expected) {
  if (found.shape != expected.shape) {
    ADD_FAILURE() << "shape " << shape_text(found.shape) << ", expected " << shape_text(expected.shape);
    return HUGE_VAL;
  }
  const std::vector<double> a = found.as_doubles();
  const std::vector<double> b = expected.as_doubles();
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (a[i] == b[i]) continue;
    const double d = std::fabs(a[i] - b[i]) / std::max(1.0, std::fabs(b[i]));
    worst = std::isnan(d) ? HUGE_VAL : std::max(worst, d);
  }
  return worst;
}

/// Sample `index` of a tensor whose first axis counts samples.
Tensor sample_of(const Tensor& all, std::int64_t index) {
  Tensor one = Tensor::make(all.dtype, Shape(all.shape.begin() + 1, all.shape.end()));
  const auto size = static_cast<std::ptrdiff_t>(one.bytes.size());
  std::copy_n(all.bytes.begin() + index * size, size, one.bytes.begin());
  return one;
}

Graph load(const fs::path& file, const std::vector<std::string>& shapes = {}) {
  Graph graph = import_model(file, {shapes});
  prepare(graph, try_evaluate_node);
  return graph;
}

/// Worst distance over all samples and outputs of a golden.npz.
double golden_distance(const fs::path& dir) {
  const auto golden = read_npz(dir / "golden.npz");
  std::vector<std::string> shapes;
  std::int64_t samples = 0;
  for (const auto& [name, tensor] : golden) {
    if (name.rfind("test_", 0) != 0) continue;
    samples = tensor.shape.at(0);
    std::string input = name.substr(5);
    std::replace(input.begin(), input.end(), '~', '/');
    shapes.push_back(input + "=" + shape_text(Shape(tensor.shape.begin() + 1, tensor.shape.end())));
  }
  const Graph graph = load(dir / "model.onnx", shapes);
  double worst = 0;
  for (std::int64_t s = 0; s < samples; ++s) {
    NamedTensors inputs;
    for (const std::string& name : graph.inputs) inputs[name] = sample_of(golden.at("test_" + file_name_of(name)), s);
    const NamedTensors outputs = evaluate_model(graph, inputs);
    for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
      std::string key = "expect_" + std::to_string(i);
      if (golden.count(key) == 0) key += "_" + file_name_of(graph.outputs[i]);
      worst = std::max(worst, distance(outputs.at(graph.outputs[i]), sample_of(golden.at(key), s)));
    }
  }
  return worst;
}

TEST(InterpretModels, NetworksOfRealWeights) {
  NEED_MODELS();
  int count = 0;
  for (const auto& entry : fs::directory_iterator(models() / "models")) {
    SCOPED_TRACE(entry.path().filename().string());
    try {
      const double d = golden_distance(entry.path());
      std::cout << entry.path().filename().string() << ": " << d << "\n";
      // A quantised network: sums in another order flip roundings; its output step is 1/256.
      const bool quantized = entry.path().filename().string().find("_qdq") != std::string::npos;
      EXPECT_LE(d, quantized ? 5.0 / 256.0 : 1e-4);
      ++count;
    } catch (const UserError& e) {
      ADD_FAILURE() << e.what();
    }
  }
  EXPECT_GE(count, 16);
}

TEST(InterpretModels, LightNetworksAgreeWithTheirOutputs) {
  NEED_MODELS();
  for (const std::string name : {"light_resnet50", "light_squeezenet", "light_vgg19", "light_shufflenet"}) {
    SCOPED_TRACE(name);
    const Graph graph = load(models() / "light" / (name + ".onnx"));
    const NamedTensor expected = read_tensor_proto(models() / "light" / (name + "_output_0.pb"));
    // ONNX's own runner feeds these models with ones... the outputs are those of constant weights, a uniform vector.
    Tensor ones = Tensor::make(DType::f32, graph.shape_of(graph.inputs.at(0)));
    std::fill_n(ones.data<float>(), ones.elements(), 1.0F);
    const auto begin = std::chrono::steady_clock::now();
    const NamedTensors outputs = evaluate(graph, {{graph.inputs.at(0), ones}});
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    std::cout << name << ": " << seconds.count() << " s\n";
    EXPECT_LE(distance(outputs.at(graph.outputs.at(0)), expected.tensor), 1e-4);
  }
}

TEST(InterpretModels, Quirks) {
  NEED_MODELS();
  int right = 0;
  int refused = 0;
  for (const auto& entry : fs::directory_iterator(models() / "quirks")) {
    if (!entry.is_directory() || !fs::exists(entry.path() / "golden.npz")) continue;
    SCOPED_TRACE(entry.path().filename().string());
    try {
      const double d = golden_distance(entry.path());
      EXPECT_LE(d, 1e-4);
      ++right;
    } catch (const std::exception& e) {
      std::cout << "refused: " << entry.path().filename().string() << ": " << e.what() << "\n";
      ++refused;
    }
  }
  std::cout << right << " right, " << refused << " refused\n";
  EXPECT_GE(right, 24);
}

/// QLinear cases with everything but the activation bound as constants: the integer graph, at most one step apart.
TEST(InterpretModels, QLinearCasesAsIntegerGraphs) {
  NEED_MODELS();
  const fs::path root = fs::temp_directory_path() / "tessera_opconf_qlinear";
  fs::remove_all(root);
  fs::create_directories(root);
  const std::string untar = "tar xzf '" + (models() / "opconf.tar.gz").string() + "' -C '" + root.string() + "'";
  ASSERT_EQ(std::system(untar.c_str()), 0);
  int cases = 0;
  std::int64_t elements = 0;
  std::int64_t equal = 0;
  for (const auto& entry : fs::directory_iterator(root / "opconf")) {
    const std::string name = entry.path().filename().string();
    if (name.rfind("test_qlinear", 0) != 0) continue;
    SCOPED_TRACE(name);
    const fs::path data = entry.path() / "test_data_set_0";
    Graph graph = import_model(entry.path() / "model.onnx");
    NamedTensors inputs;
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
      const Tensor tensor = read_tensor_proto(data / ("input_" + std::to_string(i) + ".pb")).tensor;
      (i == 0 ? inputs : graph.constants)[graph.inputs[i]] = tensor;
      if (i > 0) graph.values.erase(graph.inputs[i]);
    }
    graph.inputs.resize(1);
    prepare(graph, try_evaluate_node);
    const std::vector<double> found = evaluate_model(graph, inputs).at(graph.outputs[0]).as_doubles();
    const std::vector<double> expected = read_tensor_proto(data / "output_0.pb").tensor.as_doubles();
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_LE(std::fabs(found[i] - expected[i]), 1.0);
      equal += found[i] == expected[i] ? 1 : 0;
      ++elements;
    }
    ++cases;
  }
  fs::remove_all(root);
  std::cout << cases << " QLinear cases, " << equal << " of " << elements << " elements equal\n";
  EXPECT_GE(cases, 2);
  EXPECT_GE(static_cast<double>(equal), 0.999 * static_cast<double>(elements));
}

TEST(InterpretModels, OperatorCases) {
  NEED_MODELS();
  const fs::path root = fs::temp_directory_path() / "tessera_opconf";
  fs::remove_all(root);
  fs::create_directories(root);
  const std::string untar = "tar xzf '" + (models() / "opconf.tar.gz").string() + "' -C '" + root.string() + "'";
  ASSERT_EQ(std::system(untar.c_str()), 0);
  int right = 0;
  int wrong = 0;
  int refused = 0;
  std::vector<std::pair<std::string, std::string>> reasons;
  std::vector<fs::path> cases;
  for (const auto& entry : fs::directory_iterator(root / "opconf")) cases.push_back(entry.path());
  std::sort(cases.begin(), cases.end());
  for (const fs::path& dir : cases) {
    const std::string name = dir.filename().string();
    try {
      Graph graph = import_model(dir / "model.onnx");
      NamedTensors inputs;
      for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
        inputs[graph.inputs[i]] =
            read_tensor_proto(dir / "test_data_set_0" / ("input_" + std::to_string(i) + ".pb")).tensor;
      }
      prepare(graph, try_evaluate_node);
      const NamedTensors outputs = evaluate_model(graph, inputs);
      double worst = 0;
      for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
        const fs::path file = dir / "test_data_set_0" / ("output_" + std::to_string(i) + ".pb");
        if (fs::exists(file))
          worst = std::max(worst, distance(outputs.at(graph.outputs[i]), read_tensor_proto(file).tensor));
      }
      if (worst <= 1e-3) {
        ++right;
      } else {
        ++wrong;
        std::cout << "WRONG: " << name << ": " << worst << "\n";
      }
    } catch (const std::exception& e) {
      ++refused;
      std::string reason = e.what();
      const std::string file = (dir / "model.onnx").string() + ": ";
      if (reason.rfind(file, 0) == 0) reason.erase(0, file.size());
      reasons.emplace_back(name, reason);
    }
  }
  fs::remove_all(root);
  std::cout << cases.size() << " operator cases: " << right << " right, " << wrong << " wrong, " << refused
            << " refused\n";
  EXPECT_EQ(wrong, 0);
  // docs/operators_conformance.md is this run; written anew when TESSERA_WRITE_CONFORMANCE names it.
  std::string page =
      "<!-- Generated by the test InterpretModels.OperatorCases with TESSERA_WRITE_CONFORMANCE=FILE set. -->\n"
      "# Operator cases\n\nThe single-operator cases of the shared models through `tessera eval`, within 1e-3 "
      "(absolute, "
      "or relative above 1).\n\n| cases | right | wrong | refused |\n|---|---|---|---|\n| " +
      std::to_string(cases.size()) + " | " + std::to_string(right) + " | " + std::to_string(wrong) + " | " +
      std::to_string(refused) + " |\n\n| refused | reason |\n|---|---|\n";
  for (const auto& [name, reason] : reasons) page += "| " + name + " | " + reason + " |\n";
  if (const char* file = std::getenv("TESSERA_WRITE_CONFORMANCE")) std::ofstream(file) << page;
  std::ifstream committed(TESSERA_SOURCE "/docs/operators_conformance.md");
  std::stringstream text;
  text << committed.rdbuf();
  EXPECT_EQ(text.str(), page);
}

}  // namespace
}  // namespace tessera::compiler
