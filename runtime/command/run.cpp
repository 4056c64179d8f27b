// `compile`, `estimate`, `run`, `simulate`: from a model or a program to explained cycles.
#include <cstdio>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "compiler/passes/integer_passes.hpp"
#include "hw/common/error.hpp"
#include "hw/common/file.hpp"
#include "runtime/command/bounds.hpp"
#include "runtime/command/command.hpp"
#include "runtime/report/report.hpp"
#include "runtime/session/execute.hpp"
#include "runtime/session/front_end.hpp"

namespace tessera::runtime {
namespace {

/// A folder that appears whole or not at all: work goes to DIR.part, which replaces DIR at the end.
class FolderInTheMaking {
 public:
  explicit FolderInTheMaking(const std::string& dir) : dir_(without_slash(dir)), part_(dir_ + ".part") {
    std::error_code failed;
    if (dir_.empty() || std::filesystem::path(dir_).filename() == "." || dir_ == "..") {
      user_error("-o ", dir, ": expected the name of a folder to make or replace");
    }
    if (std::filesystem::exists(dir_) && !std::filesystem::is_directory(dir_)) {
      user_error("-o ", dir_, ": is a file: expected a folder to make or replace");
    }
    if (std::filesystem::exists(dir_) && !std::filesystem::is_empty(dir_) &&
        !std::filesystem::exists(std::filesystem::path(dir_) / "program.bin")) {
      user_error("-o ", dir_, ": is a folder with other things in it: expected an empty one or a compiled program");
    }
    std::filesystem::remove_all(part_, failed);
    std::filesystem::create_directories(part_, failed);
    if (failed) user_error("-o ", dir_, ": cannot be made: ", failed.message());
  }
  ~FolderInTheMaking() {
    std::error_code ignored;
    std::filesystem::remove_all(part_, ignored);
  }
  [[nodiscard]] std::filesystem::path path() const { return part_; }
  void finish() {
    std::error_code failed;
    std::filesystem::remove_all(dir_, failed);
    if (!failed) std::filesystem::rename(part_, dir_, failed);
    if (failed) user_error("-o ", dir_, ": cannot be replaced: ", failed.message());
  }

 private:
  /// `out/` is `out`; DIR.part must lie beside DIR, not in it.
  static std::string without_slash(const std::string& dir) {
    const std::filesystem::path path = std::filesystem::path(dir).lexically_normal();
    return (path.has_filename() ? path : path.parent_path()).string();
  }

  std::string dir_;
  std::string part_;
};

/// The chip to run on: the program's own with timing keys overridden, or the one named; another arch is refused.
isa::ChipConfig chip_of_run(const isa::Program& program, const RunOptions& o) {
  const isa::ChipConfig chip =
      o.chip.empty() ? isa::load_chip_text(program.chip_json, "meta.json", o.sets) : isa::load_chip(o.chip, o.sets);
  if (isa::arch_hash(chip) != program.arch_hash) {
    std::string which;
    const isa::ChipConfig tuned = isa::load_chip_text(program.chip_json, "meta.json");
    for (const isa::KeyInfo& key : isa::chip_keys()) {
      if (key.tag != isa::KeyTag::arch) continue;
      const std::string now = isa::chip_value_json(chip, key.path), then = isa::chip_value_json(tuned, key.path);
      if (now != then) which += " " + key.path + " (program " + then + ", chip " + now + ");";
    }
    if (which.empty()) which = " meta.json's chip is not the one that program.bin names;";
    user_error("the program was compiled for another architecture than chip '", chip.name, "':", which,
               " compile it for this chip, or override timing keys only (tessera chip keys)");
  }
  return chip;
}

}  // namespace

void add_compile_command(CLI::App& app) {
  struct Options {
    ModelOptions model;
    CompileOptions compile;
    std::string out;
    bool passes = false;
  };
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("compile", "Compiles an ONNX model for a chip");
  command->footer("Example: tessera compile net.onnx --chip a1000 -o out\n         tessera compile --passes");
  add_model_options(*command, o->model);
  add_compile_options(*command, o->compile);
  command->add_flag("--timing-only", o->model.timing_only, "No calibration, no weights: cycles only");
  command->add_option("--seed", o->model.seed, "Seed of the calibration sample")->check(seed_range());
  command->add_option("-o,--output", o->out, "Folder of the program");
  command->add_flag("--passes", o->passes, "Lists the passes and when each is legal, and compiles nothing");
  for (const char* name : {"model", "--chip"}) command->get_option(name)->required(false);
  command->callback([o] {
    if (o->passes) {
      std::fputs(compiler::passes_page().c_str(), stdout);
      return;
    }
    if (o->model.model.empty()) user_error("compile: no model: expected MODEL.onnx (or --passes)");
    if (o->compile.chip.empty()) user_error("compile: no chip: expected --chip NAME or a chip file");
    if (o->out.empty()) user_error("compile: no folder for the program: expected -o DIR");
    FolderInTheMaking folder(o->out);
    const CompiledModel compiled = compile_model(o->model, o->compile, folder.path() / "ir");
    isa::write_program(compiled.program, folder.path());
    folder.finish();
    std::fputs(summary_text(build_estimate(compiled.program, compiled.chip)).c_str(), stdout);
  });
}

void add_estimate_command(CLI::App& app) {
  struct Options {
    ModelOptions model;
    CompileOptions compile;
    std::string report;
    bool json = false, bounds = false;
  };
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("estimate", "The compiler's own prediction, no simulation");
  command->footer("Example: tessera estimate net.onnx --chip a1000 --bounds");
  add_model_options(*command, o->model);
  add_compile_options(*command, o->compile);
  command->add_option("--report", o->report, "Writes the estimate (JSON)");
  command->add_flag("--json", o->json, "JSON on standard output");
  command->add_flag("--bounds", o->bounds,
                    "Also what no schedule can beat: bytes, each layer's best mapping, lookahead");
  command->callback([o] {
    o->model.timing_only = true;
    if (!o->report.empty()) expect_writable(o->report);
    const CompiledModel compiled = compile_model(o->model, o->compile);
    nlohmann::json report = build_estimate(compiled.program, compiled.chip);
    std::string text = summary_text(report);
    if (o->bounds) {
      const compiler::NetworkBounds bounds = compiler::network_bounds(compiled.qgraph, compiled.chip);
      report["bounds"] = bounds_json(bounds);
      text += bounds_text(bounds);
    }
    if (!o->report.empty()) write_file(o->report, report.dump(1) + "\n");
    std::fputs((o->json ? report.dump(1) + "\n" : text).c_str(), stdout);
  });
}

void add_run_command(CLI::App& app) {
  struct Options {
    RunOptions run;
    std::string dir;
  };
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("run", "Runs a compiled program");
  command->footer("Example: tessera run out --set dram.channels=2 --timing-only --report r.json");
  command->add_option("dir", o->dir, "Folder of a compiled program")->required();
  command->add_option("--chip", o->run.chip, "Another chip of the same architecture; default: the one in meta.json");
  command->add_option("--set", o->run.sets, "Overrides one timing value, e.g. --set dram.channels=2 (repeatable)");
  command->add_option("--seed", o->run.seed, "Seed of inputs that are not given")->check(seed_range());
  command->add_flag("--timing-only", o->run.timing_only, "Cycles only, no values");
  add_run_options(*command, o->run);
  command->callback([o] {
    check_run_options(o->run);
    const isa::Program program =
        isa::read_program(o->dir, o->run.timing_only ? isa::Weights::optional : isa::Weights::required);
    const isa::ChipConfig chip = chip_of_run(program, o->run);
    const Outcome outcome = execute_program(program, chip, o->run, [o] { return read_quantised(o->dir); });
    if (deliver(program, chip, o->run, outcome) != 0) throw CLI::RuntimeError(1);
  });
}

void add_simulate_command(CLI::App& app) {
  struct Options {
    ModelOptions model;
    CompileOptions compile;
    RunOptions run;
  };
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("simulate", "Compiles and runs in one step");
  command->footer("Example: tessera simulate net.onnx --chip a1000 --compare graph,reference --report r.json");
  add_model_options(*command, o->model);
  add_compile_options(*command, o->compile);
  command->add_option("--seed", o->model.seed, "Seed of calibration sample and inputs")->check(seed_range());
  command->add_flag("--timing-only", o->model.timing_only, "Cycles only, no values");
  add_run_options(*command, o->run);
  command->callback([o] {
    o->run.seed = o->model.seed;
    o->run.timing_only = o->model.timing_only;
    check_run_options(o->run);
    const CompiledModel compiled = compile_model(o->model, o->compile);
    const Outcome outcome =
        execute_program(compiled.program, compiled.chip, o->run, [&compiled] { return compiled.qgraph; });
    if (deliver(compiled.program, compiled.chip, o->run, outcome) != 0) throw CLI::RuntimeError(1);
  });
}

}  // namespace tessera::runtime
