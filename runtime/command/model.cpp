// `zoo`, `quantize`, `eval`: models without a chip.
#include <cmath>
#include <cstdio>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "compiler/export/export.hpp"
#include "compiler/passes/canonicalise.hpp"
#include "compiler/quantize/accuracy.hpp"
#include "compiler/quantize/quantize.hpp"
#include "compiler/tensor_io/tensor_io.hpp"
#include "compiler/zoo/zoo.hpp"
#include "hw/common/error.hpp"
#include "hw/common/file.hpp"
#include "hw/common/hash.hpp"
#include "hw/common/random.hpp"
#include "runtime/command/command.hpp"
#include "runtime/report/report.hpp"
#include "runtime/session/front_end.hpp"

namespace tessera::runtime {
namespace {

using compiler::Tensor;

Tensor eval_input(const compiler::Graph& graph, const std::string& name,
                  const std::map<std::string, std::string>& files, std::uint64_t seed) {
  const auto given = files.find(name);
  if (given != files.end()) return compiler::read_npy(given->second);
  if (graph.dtype_of(name) != compiler::DType::f32) {
    user_error("input '", name, "' is ", compiler::dtype_name(graph.dtype_of(name)),
               ": only float inputs are made at random; give it with --input ", name, "=F.npy");
  }
  Tensor tensor = Tensor::make(compiler::DType::f32, graph.shape_of(name));
  Fnv64 hash;
  hash.add(name);
  std::uint64_t mixed = seed ^ hash.value();
  Random random(splitmix64(mixed));
  for (std::int64_t i = 0; i < tensor.elements(); ++i) tensor.data<float>()[i] = static_cast<float>(random.normal());
  return tensor;
}

/// Against the float model on the samples it was calibrated with.
void report_accuracy(const ModelOptions& options, const compiler::Graph& qdq, const std::string& report,
                     const std::string& html) {
  compiler::Graph graph = load_model(options);
  if (compiler::is_quantized(graph)) {
    user_error(options.model, ": it is quantised already: an accuracy report needs the float model");
  }
  compiler::run_passes(graph);
  const auto samples = options.calibration.empty() ? compiler::random_calibration(graph, options.seed)
                                                   : compiler::read_calibration(graph, options.calibration);
  const std::vector<compiler::TensorAccuracy> rows = compiler::measure_accuracy(graph, qdq, samples);
  if (!report.empty()) {
    nlohmann::json list = nlohmann::json::array();
    for (const compiler::TensorAccuracy& row : rows) {
      list.push_back({{"name", row.name},
                      {"node", row.node},
                      {"op", row.op},
                      {"output", row.output},
                      {"mae", row.mae},
                      {"mse", row.mse},
                      {"psnr", std::isinf(row.psnr) ? nlohmann::json() : nlohmann::json(row.psnr)},
                      {"cosine", row.cosine}});
    }
    write_file(report, nlohmann::json{{"schema", "tessera.accuracy/1"}, {"tensors", list}}.dump(1) + "\n");
  }
  if (!html.empty()) write_file(html, compiler::accuracy_page(options.model, rows));
}

/// `eval` takes a model as it stands.
void refuse_quantising(const ModelOptions& options) {
  const char* const given = !options.calibration.empty()   ? "--calib"
                            : !options.int16_nodes.empty() ? "--int16"
                            : !options.no_passes.empty()   ? "--no-pass"
                            : options.method != "minmax"   ? "--method"
                                                           : nullptr;
  if (given != nullptr) {
    user_error(given,
               ": eval interprets a model as it stands, float or quantised; legal with quantize, compile, simulate");
  }
}

}  // namespace

void add_zoo_command(CLI::App& app) {
  struct Options {
    std::string name, out;
    std::uint64_t seed = 1;
    bool json = false;
  };
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("zoo", "The built-in networks, made as ONNX files");
  command->require_subcommand(1);
  command->footer("Example: tessera zoo build resnet50 -o resnet50.onnx --seed 1");
  CLI::App* list = command->add_subcommand("list", "Names and what they are");
  list->add_flag("--json", o->json, "JSON on standard output");
  list->callback([o] {
    nlohmann::json rows = nlohmann::json::array();
    for (const compiler::ZooEntry& entry : compiler::zoo_list()) {
      rows.push_back({{"name", entry.name}, {"about", entry.sentence}});
      if (!o->json) std::printf("%-14s %s\n", entry.name.c_str(), entry.sentence.c_str());
    }
    if (o->json) std::printf("%s\n", rows.dump(1).c_str());
  });
  CLI::App* build = command->add_subcommand("build", "Writes one network");
  build->add_option("name", o->name, "Name (tessera zoo list)")->required();
  build->add_option("-o,--output", o->out, "ONNX file")->required();
  build->add_option("--seed", o->seed, "Seed of the weights")->check(seed_range());
  build->callback([o] { compiler::export_model(compiler::zoo_build(o->name, o->seed), o->out); });
}

void add_quantize_command(CLI::App& app) {
  struct Options {
    ModelOptions model;
    std::string out, report, html;
  };
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("quantize", "Float to standard QDQ ONNX; chip-independent");
  command->footer("Example: tessera quantize net.onnx -o net.int8.onnx --calib samples.npz");
  add_model_options(*command, o->model);
  command->add_option("--seed", o->model.seed, "Seed of the calibration sample")->check(seed_range());
  command->add_option("-o,--output", o->out, "ONNX file")->required();
  command->add_option("--report", o->report, "Accuracy a tensor and end to end, worst first (JSON)");
  command->add_option("--report-html", o->html, "The same as a page");
  command->callback([o] {
    const Quantised quantised = quantise_model(o->model);
    compiler::export_model(quantised.qdq, o->out);
    if (!o->report.empty() || !o->html.empty()) report_accuracy(o->model, quantised.qdq, o->report, o->html);
  });
}

void add_eval_command(CLI::App& app) {
  struct Options {
    ModelOptions model;
    RunOptions run;
    std::vector<std::string> inputs;
    std::string out;
  };
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("eval", "Interprets a model as it stands, float or quantised");
  command->footer("Example: tessera eval net.onnx --input x=x.npy -o out");
  add_model_options(*command, o->model);
  command->add_option("--input", o->inputs, "NAME=F.npy (repeatable); others are seeded random");
  command->add_option("--seed", o->model.seed, "Seed of inputs that are not given")->check(seed_range());
  command->add_option("-o,--output", o->out, "Folder for NAME.npy of each output")->required();
  command->callback([o] {
    refuse_quantising(o->model);
    for (const std::string& item : o->inputs) {
      const std::size_t at = item.find('=');
      if (at == std::string::npos) user_error("--input ", item, ": expected NAME=FILE.npy");
      o->run.inputs[item.substr(0, at)] = item.substr(at + 1);
    }
    const compiler::Graph graph = load_model(o->model);
    compiler::NamedTensors inputs;
    for (const std::string& name : graph.inputs) inputs[name] = eval_input(graph, name, o->run.inputs, o->model.seed);
    for (const auto& [name, file] : o->run.inputs) {
      if (inputs.count(name) == 0) user_error("--input ", name, "=", file, ": the model has no such input");
    }
    const compiler::NamedTensors outputs = compiler::evaluate_model(graph, inputs);
    std::error_code failed;
    std::filesystem::create_directories(o->out, failed);
    if (failed) user_error("-o ", o->out, ": cannot be made: ", failed.message());
    for (const auto& [name, tensor] : outputs) {
      compiler::write_npy(std::filesystem::path(o->out) / (compiler::file_name_of(name) + ".npy"), tensor);
    }
  });
}

}  // namespace tessera::runtime
