// What a run leaves behind: report, timeline, outputs, instruction trace, the table on the terminal.
#include <cstdio>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "compiler/ir/sha256.hpp"
#include "compiler/tensor_io/tensor_io.hpp"
#include "hw/common/error.hpp"
#include "hw/common/file.hpp"
#include "hw/models/interconnect/stream_rate.hpp"
#include "runtime/report/attribution.hpp"
#include "runtime/report/report.hpp"
#include "runtime/session/boundary.hpp"
#include "runtime/session/execute.hpp"

namespace tessera::runtime {
namespace {

void write_outputs(const isa::Program& program, const std::string& dir, const std::vector<compiler::Tensor>& outputs) {
  std::error_code failed;
  std::filesystem::create_directories(dir, failed);
  if (failed) user_error("--output-dir ", dir, ": cannot be made: ", failed.message());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const isa::TensorRef& ref = program.outputs[i];
    const std::filesystem::path base = std::filesystem::path(dir) / compiler::file_name_of(ref.name);
    compiler::write_npy(base.string() + ".npy", dequantise(ref, outputs[i]));
    compiler::write_npy(base.string() + ".quantised.npy", outputs[i]);
  }
}

/// One CSV line an instruction, in the order of section, core, queue, index.
std::string instruction_trace(const isa::Program& program, const isa::ChipConfig& chip, const hw::RunResult& result) {
  std::string out = "section,unit,index,layer,ready,start,finish,dram_read_bytes,dram_write_bytes\n";
  for (const hw::InstructionRecord& r : result.instructions) {
    const std::string layer = r.layer < program.layers.size() ? program.layers[r.layer].name : std::to_string(r.layer);
    out += std::to_string(r.section) + "," + unit_name(chip, r.core, r.queue) + "," + std::to_string(r.index) + "," +
           layer + "," + std::to_string(r.ready) + "," + std::to_string(r.start) + "," + std::to_string(r.finish) +
           "," + std::to_string(r.dram_read) + "," + std::to_string(r.dram_write) + "\n";
  }
  return out;
}

}  // namespace

int deliver(const isa::Program& program, const isa::ChipConfig& chip, const RunOptions& o, const Outcome& outcome) {
  ReportInput input{program, chip, outcome.result};
  input.backend = o.backend;
  input.seed = o.seed;
  input.frames = o.frames;
  input.wall_s = outcome.wall_s;
  input.compare = outcome.compare;
  input.dram_slices = outcome.dram_slices;
  input.ideal = outcome.ideal;
  input.dram_peak_bytes_per_s = hw::peak_bytes_per_second(chip);
  for (std::size_t i = 0; i < outcome.outputs.size(); ++i) {
    const auto& bytes = outcome.outputs[i].bytes;
    input.output_sha256[program.outputs[i].name] = sha256_hex(bytes.data(), bytes.size());
  }
  const nlohmann::json report = build_report(input);
  if (!o.report.empty()) write_file(o.report, report.dump(1) + "\n");
  if (!o.trace.empty()) traces::write_timeline(build_timeline(input), o.trace);
  if (!o.instruction_trace.empty()) write_file(o.instruction_trace, instruction_trace(program, chip, outcome.result));
  if (!o.dram_trace.empty()) write_file(o.dram_trace, outcome.dram_trace);
  if (!o.output_dir.empty()) write_outputs(program, o.output_dir, outcome.outputs);
  std::fputs(summary_text(report).c_str(), stdout);
  for (const std::string& warning : outcome.result.warnings) std::fprintf(stderr, "warning: %s\n", warning.c_str());
  int code = 0;
  for (const auto& [name, c] : outcome.compare) {
    if (c.equal) continue;
    std::fprintf(stderr, "tessera: --compare %s: first difference %s\n", name.c_str(), c.first_difference.c_str());
    code = 1;
  }
  return code;
}

}  // namespace tessera::runtime
