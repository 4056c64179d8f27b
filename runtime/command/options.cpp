// Option groups shared by several commands, and the sub-commands' common wording.
#include <limits>

#include "runtime/command/command.hpp"

namespace tessera::runtime {

CLI::Range seed_range() { return {std::int64_t{0}, std::numeric_limits<std::int64_t>::max()}; }

void add_model_options(CLI::App& command, ModelOptions& o) {
  command.add_option("model", o.model, "ONNX file: float, QDQ or QLinear")->required();
  command.add_option("--shape", o.shapes, "Binds a symbolic input, e.g. --shape input=1x3x224x224 (repeatable)");
  command.add_option("--randomize-weights", o.randomize_weights, "Seed; replaces every float weight")
      ->check(seed_range());
  command.add_option("--calib", o.calibration, "Calibration samples: .npz (calib_<input> or <input>) or a folder");
  command.add_option("--method", o.method, "Calibration method")->check(CLI::IsMember({"minmax"}));
  command.add_option(
      "--preprocess", o.preprocess,
      "INPUT=MEAN,.../DEVIATION,...: a head on the NPU for inputs as the camera gives them (repeatable)");
  command.add_option("--no-pass", o.no_passes, "Switches a pass off (repeatable; names: compile --passes)");
  command.add_option("--int16", o.int16_nodes, "Nodes to keep in int16 (a later version; refused today)");
}

void add_compile_options(CLI::App& command, CompileOptions& o) {
  command.add_option("--chip", o.chip, "Name (tessera chip list) or JSON file")->required();
  command.add_option("--set", o.sets, "Overrides one chip value, e.g. --set dram.channels=2 (repeatable)");
  command.add_option("--schedule", o.schedule, "naive, layer, fused or auto: the best that exists")
      ->check(CLI::IsMember({"naive", "layer", "fused", "auto"}));
  command.add_option("--batch", o.batch, "Images a run; default: as the model says")->check(CLI::Range(1, 65536));
  command.add_option("--boundary", o.boundaries, "Node that begins a section: values cross in DRAM alone (repeatable)");
  command.add_option("--alone", o.alone, "Node in a section of its own (repeatable)");
  command.add_option("--tile", o.tiles, "NODE=HxW: tiles of H output rows of width W (repeatable)");
  command.add_option("--keep", o.keep, "Node whose result stays in SRAM as a whole (repeatable)");
  command.add_option("--fuse-depth", o.fuse_depth, "Most layers of a fusion group; 1: none are fused")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000}));
  command.add_option("--effort", o.effort, "Of the search for groups: 0 to 3")->check(CLI::Range(0, 3));
  command.add_option("--input-layout", o.input_layout, "Layout of inputs in DRAM")
      ->check(CLI::IsMember({"NCHW", "NHWC"}));
}

void add_run_options(CLI::App& command, RunOptions& o) {
  command.add_option("--frames", o.frames, "Runs the network N times back to back")->check(CLI::Range(1, 1000000));
  command.add_option_function<std::vector<std::string>>(
      "--input",
      [&o](const std::vector<std::string>& list) {
        for (const std::string& item : list) {
          const std::size_t at = item.find('=');
          if (at == std::string::npos) throw CLI::ValidationError("--input", item + ": expected NAME=FILE.npy");
          o.inputs[item.substr(0, at)] = item.substr(at + 1);
        }
      },
      "NAME=F.npy, float or quantised, ONNX's order (repeatable); others are seeded random");
  command.add_option("--output-dir", o.output_dir, "Writes each output as float and quantised .npy");
  command.add_option("--backend", o.backend, "Who executes")->check(CLI::IsMember({"tlm", "rtl", "reference"}));
  command.add_option("--rtl-unit", o.rtl_units, "This unit in RTL, the rest model, e.g. conv0 (repeatable)");
  command.add_flag("--no-shortcuts", o.no_shortcuts, "Steps every cycle; the result must not change");
  command
      .add_option("--process-order", o.process_order_seed, "Seed that shuffles SystemC processes; nothing may change")
      ->check(seed_range());
  command.add_option("--ideal", o.ideal, "What-if cycles beside the run: dram, sram, overlap (repeatable)");
  command.add_option("--compare", o.compare, "Oracles to compare with: graph,reference,rtl")->delimiter(',');
  command.add_option("--report", o.report, "Writes the run report (JSON)");
  command.add_option("--trace", o.trace, "Writes the timeline (Chrome trace JSON, opens in Perfetto)");
  command.add_option("--wave", o.wave, "Writes a waveform, .fst or .vcd (one frame)");
  command.add_option("--dram-trace", o.dram_trace, "Writes the DRAM requests, as `tessera dram` reads them");
  command.add_option("--instr-trace", o.instruction_trace, "Writes one CSV line an instruction");
  command.add_option("--max-cycles", o.max_cycles, "Watchdog: ends with exit 3 after so many cycles")
      ->check(CLI::Range(std::int64_t{1}, std::numeric_limits<std::int64_t>::max()));
}

}  // namespace tessera::runtime
