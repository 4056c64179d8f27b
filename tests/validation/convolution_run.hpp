// One convolution as an ONNX file, through the whole tool: the report, with the oracles compared.
#pragma once

#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "compiler/export/export.hpp"
#include "compiler/ir/builder.hpp"
#include "hw/common/random.hpp"
#include "runtime/session/execute.hpp"
#include "runtime/session/front_end.hpp"

namespace tessera::validation {

struct ConvolutionRun {
  nlohmann::json report;
  compiler::Shape output_shape;
  std::vector<compiler::Tensor> inputs, outputs;  // quantised
};

/// The graph through the whole tool; layer schedule.
inline ConvolutionRun run_graph(const std::string& name, const std::string& chip, const compiler::Graph& graph) {
  const auto file = std::filesystem::path(testing::TempDir()) / ("tessera_" + name + "_" + chip + ".onnx");
  compiler::export_model(graph, file);
  runtime::ModelOptions model;
  model.model = file.string();
  runtime::CompileOptions compile;
  compile.chip = chip;
  const runtime::CompiledModel compiled = runtime::compile_model(model, compile);
  runtime::RunOptions options;
  options.compare = {"graph", "reference"};
  const runtime::Outcome outcome =
      runtime::execute_program(compiled.program, compiled.chip, options, [&] { return compiled.qgraph; });
  for (const auto& [oracle, c] : outcome.compare) EXPECT_TRUE(c.equal) << oracle << ": " << c.first_difference;
  return {runtime::build_report({compiled.program, compiled.chip, outcome.result}), compiled.program.outputs[0].shape,
          outcome.inputs, outcome.outputs};
}

/// Input [1][channels][height][width], weights of `kernel` (OIHW), random values.
inline ConvolutionRun run_convolution(const std::string& name, const std::string& chip, const compiler::Shape& input,
                                      const compiler::Shape& kernel, const compiler::Attributes& attributes) {
  compiler::GraphBuilder builder(name);
  const std::string x = builder.input("x", input);
  std::vector<float> weights(static_cast<std::size_t>(compiler::element_count(kernel)));
  Random random(7);
  for (float& w : weights) w = static_cast<float>(random.normal());
  builder.constant("w", compiler::float_tensor(kernel, weights));
  builder.output(builder.node("Conv", {x, "w"}, attributes, "conv"));
  return run_graph(name, chip, builder.take());
}

}  // namespace tessera::validation
