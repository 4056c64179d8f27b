// The `tessera` command: one function a sub-command, each adds its options and its work to the parser. Errors travel as
// exceptions; main.cpp alone turns them into exit codes (hw/common/error.hpp).
#pragma once

#include <CLI/CLI.hpp>

#include "runtime/session/options.hpp"

namespace tessera::runtime {

void add_zoo_command(CLI::App& app);
void add_chip_command(CLI::App& app);
void add_check_command(CLI::App& app);
void add_quantize_command(CLI::App& app);
void add_eval_command(CLI::App& app);
void add_compile_command(CLI::App& app);
void add_estimate_command(CLI::App& app);
void add_explain_command(CLI::App& app);
void add_run_command(CLI::App& app);
void add_simulate_command(CLI::App& app);
void add_report_command(CLI::App& app);
void add_diff_command(CLI::App& app);
void add_dram_command(CLI::App& app);
void add_asm_command(CLI::App& app);
void add_disasm_command(CLI::App& app);
void add_lockstep_command(CLI::App& app);

/// Seeds stand in JSON files, whose readers agree on no integer above 2^63 - 1.
[[nodiscard]] CLI::Range seed_range();

// Option groups that several commands share.
void add_model_options(CLI::App& command, ModelOptions& options);
void add_compile_options(CLI::App& command, CompileOptions& options);
void add_run_options(CLI::App& command, RunOptions& options);

}  // namespace tessera::runtime
