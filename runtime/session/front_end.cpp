#include "runtime/session/front_end.hpp"

#include "compiler/driver/compile.hpp"
#include "compiler/export/export.hpp"
#include "compiler/import/import.hpp"
#include "compiler/interpret/evaluate.hpp"
#include "compiler/passes/canonicalise.hpp"
#include "compiler/passes/fold.hpp"
#include "compiler/passes/randomize.hpp"
#include "compiler/quantize/integer_network.hpp"
#include "compiler/quantize/quantize.hpp"
#include "hw/common/error.hpp"
#include "runtime/session/progress.hpp"

namespace tessera::runtime {
namespace {

constexpr const char* kQuantisedStage = "03-quantised";

void refuse_later_options(const ModelOptions& model) {
  if (!model.int16_nodes.empty()) {
    user_error("--int16 ", model.int16_nodes.front(),
               ": int16 operands are not built yet; legal: leave it out, every node runs in int8");
  }
}

void refuse_later_options(const CompileOptions& options) {
  if (options.schedule == "fused") {
    user_error("--schedule fused: not built yet; legal: naive, layer, auto (= layer)");
  }
  if (!options.boundaries.empty()) {
    user_error("--boundary ", options.boundaries.front(), ": manual sections are not built yet; leave it out");
  }
}

}  // namespace

compiler::Graph load_model(const ModelOptions& options) {
  progress("import");
  compiler::Graph graph = compiler::import_model(options.model, {options.shapes});
  compiler::prepare(graph, compiler::try_evaluate_node);
  if (options.randomize_weights) compiler::randomize_weights(graph, *options.randomize_weights);
  return graph;
}

Quantised quantise_model(const ModelOptions& options, const std::optional<std::filesystem::path>& ir_dir) {
  refuse_later_options(options);
  compiler::Graph graph = load_model(options);
  if (ir_dir) {
    std::filesystem::create_directories(*ir_dir);
    compiler::dump_ir(graph, *ir_dir, "01-imported");
  }
  compiler::spell_out_integers(graph);
  if (!compiler::is_quantized(graph)) {
    compiler::run_passes(graph);
    if (ir_dir) compiler::dump_ir(graph, *ir_dir, "02-canonical");
    progress("quantise");
    if (options.timing_only) {
      graph = compiler::quantize_for_timing(graph);
    } else {
      const auto samples = options.calibration.empty() ? compiler::random_calibration(graph, options.seed)
                                                       : compiler::read_calibration(graph, options.calibration);
      graph = compiler::quantize(graph, samples);
    }
  }
  if (ir_dir) {
    // Timing-only programs have no values: their dump is as small as the other stages'.
    if (options.timing_only) {
      compiler::dump_ir(graph, *ir_dir, kQuantisedStage);
    } else {
      compiler::dump_ir(graph, *ir_dir, kQuantisedStage, {});
    }
  }
  Quantised out{std::move(graph), {}};
  out.qgraph = compiler::lower(out.qdq);
  return out;
}

compiler::QGraph read_quantised(const std::filesystem::path& dir) {
  const std::filesystem::path file = dir / "ir" / (std::string(kQuantisedStage) + ".onnx");
  if (!std::filesystem::exists(file)) {
    user_error(file.string(), ": missing: --compare graph needs the quantised graph that `tessera compile` writes");
  }
  compiler::Graph graph = compiler::import_model(file, {});
  compiler::prepare(graph, compiler::try_evaluate_node);
  return compiler::lower(graph);
}

CompiledModel compile_model(const ModelOptions& model, const CompileOptions& options,
                            const std::optional<std::filesystem::path>& ir_dir) {
  refuse_later_options(options);
  CompiledModel out;
  out.chip = isa::load_chip(options.chip, options.sets);
  Quantised quantised = quantise_model(model, ir_dir);
  out.qgraph = std::move(quantised.qgraph);
  if (options.batch > 0 && !out.qgraph.inputs.empty()) {
    const std::int64_t has = out.qgraph.tensors[static_cast<std::size_t>(out.qgraph.inputs.front())].shape.front();
    if (has != options.batch) {
      user_error("--batch ", options.batch, ": the model has batch ", has,
                 "; bind it with --shape NAME=", options.batch, "x... where the model leaves it open");
    }
  }
  progress("schedule");
  compiler::CompileOptions backend;
  backend.schedule = compiler::parse_schedule(options.schedule);
  backend.timing_only = model.timing_only;
  backend.nhwc_inputs = options.input_layout == "NHWC";
  backend.seed = model.seed;
  compiler::Compiled compiled = compiler::compile(out.qgraph, out.chip, backend);
  out.program = std::move(compiled.program);
  if (ir_dir) compiler::dump_ir(compiled.schedule_view, *ir_dir, "04-scheduled");
  progress("");
  return out;
}

}  // namespace tessera::runtime
