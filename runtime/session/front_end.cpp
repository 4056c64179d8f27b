#include "runtime/session/front_end.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "compiler/driver/compile.hpp"
#include "compiler/export/export.hpp"
#include "compiler/import/import.hpp"
#include "compiler/interpret/evaluate.hpp"
#include "compiler/passes/canonicalise.hpp"
#include "compiler/passes/fold.hpp"
#include "compiler/passes/integer_passes.hpp"
#include "compiler/passes/preprocess.hpp"
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

/// The float passes among those that the user switched off; UserError for a name that no pass has.
std::set<std::string> float_passes(const ModelOptions& options) {
  const std::set<std::string> off(options.no_passes.begin(), options.no_passes.end());
  compiler::check_pass_names(off);
  std::set<std::string> out;
  for (const compiler::Pass& pass : compiler::all_passes()) {
    if (off.count(pass.name) != 0) out.insert(pass.name);
  }
  return out;
}

/// A model of one image as one of `batch`: its inputs get so many, every other shape is inferred from them.
void set_batch(compiler::Graph& graph, std::int64_t batch) {
  for (const std::string& input : graph.inputs) {
    compiler::Shape shape = graph.shape_of(input);
    if (shape.empty() || shape[0] == batch) continue;
    if (shape[0] != 1) {
      user_error("--batch ", batch, ": input ", input, " has ", shape[0], " images; legal are ", shape[0],
                 ", or a model of one image");
    }
    shape[0] = batch;
    graph.values[input].shape = shape;
  }
  for (auto& [name, info] : graph.values) {
    if (std::find(graph.inputs.begin(), graph.inputs.end(), name) == graph.inputs.end()) info.shape.reset();
  }
}

/// The compiler's form of the wishes. A node that the file has and the lowered graph has not was folded away: said
/// here, since from then on nobody knows it.
compiler::Wishes wishes_of(const ModelOptions& model, const CompileOptions& options, const compiler::QGraph& graph) {
  compiler::Wishes wishes;
  wishes.boundaries = options.boundaries;
  wishes.alone = options.alone;
  wishes.keep = options.keep;
  for (const std::string& text : options.tiles) wishes.tiles.push_back(compiler::parse_tile_wish(text));
  std::vector<std::pair<std::string, std::string>> named;  // option, node
  for (const std::string& node : wishes.boundaries) named.emplace_back("--boundary " + node, node);
  for (const std::string& node : wishes.alone) named.emplace_back("--alone " + node, node);
  for (const std::string& node : wishes.keep) named.emplace_back("--keep " + node, node);
  for (std::size_t i = 0; i < wishes.tiles.size(); ++i)
    named.emplace_back("--tile " + options.tiles[i], wishes.tiles[i].node);
  std::set<std::string> known, in_file;
  for (const compiler::QNode& node : graph.nodes) {
    known.insert(node.name);
    known.insert(node.fused.begin(), node.fused.end());
  }
  for (const auto& [option, node] : named) {
    if (known.count(node) != 0) continue;
    if (in_file.empty()) {
      for (const compiler::Node& n : compiler::import_model(model.model, {model.shapes}).nodes) in_file.insert(n.name);
    }
    if (in_file.count(node) != 0) {
      user_error(option,
                 ": the node was folded into a constant or removed before scheduling; legal are nodes that run ",
                 "(tessera check lists them)");
    }
  }
  return wishes;
}

void refuse_wishes(const CompileOptions& options) {
  const bool fusion = options.fuse_depth != 0 || options.effort != 1;
  if (fusion && options.schedule != "fused" && options.schedule != "auto") {
    user_error(options.fuse_depth != 0 ? "--fuse-depth" : "--effort", ": --schedule ", options.schedule,
               " fuses nothing; legal with fused and auto");
  }
}

}  // namespace

compiler::Graph load_model(const ModelOptions& options) {
  progress("import");
  compiler::Graph graph = compiler::import_model(options.model, {options.shapes});
  if (options.batch > 0) set_batch(graph, options.batch);
  compiler::prepare(graph, compiler::try_evaluate_node);
  if (options.randomize_weights) compiler::randomize_weights(graph, *options.randomize_weights);
  for (const std::string& text : options.preprocess) {
    if (compiler::is_quantized(graph)) {
      user_error("--preprocess ", text, ": the model is quantised already; legal with a float model");
    }
    compiler::add_preprocessing(graph, compiler::parse_preprocessing(text));
  }
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
    compiler::run_passes(graph, compiler::canonical_passes(), float_passes(options));
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

PreparedModel prepare_model(const ModelOptions& model, const CompileOptions& options,
                            const std::optional<std::filesystem::path>& ir_dir) {
  refuse_wishes(options);
  PreparedModel out;
  out.chip = isa::load_chip(options.chip, options.sets);
  ModelOptions batched = model;
  batched.batch = options.batch;
  Quantised quantised = quantise_model(batched, ir_dir);
  out.qgraph = std::move(quantised.qgraph);
  if (options.batch > 0 && !out.qgraph.inputs.empty()) {
    const std::int64_t has = out.qgraph.tensors[static_cast<std::size_t>(out.qgraph.inputs.front())].shape.front();
    if (has != options.batch) {
      user_error("--batch ", options.batch, ": the model has batch ", has, "; legal is ", has);
    }
  }
  return out;
}

compiler::Compiled schedule_model(const PreparedModel& prepared, const ModelOptions& model,
                                  const CompileOptions& options) {
  refuse_wishes(options);
  progress("schedule");
  compiler::CompileOptions backend;
  backend.schedule = compiler::parse_schedule(options.schedule);
  backend.timing_only = model.timing_only;
  backend.nhwc_inputs = options.input_layout == "NHWC";
  backend.no_passes = {model.no_passes.begin(), model.no_passes.end()};
  backend.wishes = wishes_of(model, options, prepared.qgraph);
  backend.fusion.deepest = static_cast<int>(options.fuse_depth);
  backend.fusion.effort = options.effort;
  backend.seed = model.seed;
  compiler::Compiled compiled = compiler::compile(prepared.qgraph, prepared.chip, backend);
  progress("");
  return compiled;
}

CompiledModel compile_model(const ModelOptions& model, const CompileOptions& options,
                            const std::optional<std::filesystem::path>& ir_dir) {
  PreparedModel prepared = prepare_model(model, options, ir_dir);
  compiler::Compiled compiled = schedule_model(prepared, model, options);
  if (ir_dir) compiler::dump_ir(compiled.schedule_view, *ir_dir, "04-scheduled");
  return {std::move(compiled.program), std::move(prepared.chip), std::move(prepared.qgraph)};
}

}  // namespace tessera::runtime
