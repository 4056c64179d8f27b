// Runs a program with a backend, feeds it inputs, fetches its outputs and compares them with the oracles. The boundary
// (float to quantised and back) lives here and is not charged (FORMAT.md section 4 of the contracts).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compiler/ir/graph.hpp"
#include "compiler/ir/qgraph.hpp"
#include "hw/platform/run_result.hpp"
#include "isa/chip.hpp"
#include "isa/program/program.hpp"
#include "runtime/report/report.hpp"
#include "runtime/session/options.hpp"

namespace tessera::runtime {

struct Outcome {
  hw::RunResult result;
  std::vector<compiler::Tensor> inputs;   // quantised, ONNX's shape, order of Program::inputs
  std::vector<compiler::Tensor> outputs;  // the same of Program::outputs; empty with timing_only
  std::map<std::string, Comparison> compare;
  std::map<std::string, Cycles> ideal;
  std::vector<DramSlice> dram_slices;  // with --trace
  std::string dram_trace;              // with --dram-trace
  double wall_s = 0;
};

/// UserError for options that no program can be run with, and for files that cannot be written: asked before long work.
void check_run_options(const RunOptions& options);

/// `qgraph` is called when --compare names graph. UserError for options that do not fit, ProgramError for a program
/// that fails.
[[nodiscard]] Outcome execute_program(const isa::Program& program, const isa::ChipConfig& chip,
                                      const RunOptions& options, const std::function<compiler::QGraph()>& qgraph);

/// Writes what the options ask for (report, trace, outputs, instruction trace), prints the summary to standard output,
/// and returns 1 when a comparison found a difference, else 0.
int deliver(const isa::Program& program, const isa::ChipConfig& chip, const RunOptions& options,
            const Outcome& outcome);

}  // namespace tessera::runtime
