#include <cstdio>
#include <cstdlib>
#include <exception>

#include "hw/common/error.hpp"
#include "runtime/command/command.hpp"
#include "runtime/version.hpp"

namespace {

constexpr int kBug = 1;
constexpr int kUserError = 2;
constexpr int kProgramFailed = 3;

/// CLI11 would answer `tessera smulate` with "A subcommand is required" only.
void check_command_name(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::string legal;
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    if (command->get_name() == argv[1]) return;
    legal += (legal.empty() ? "" : ", ") + command->get_name();
  }
  tessera::user_error(argv[1], ": no such command: expected one of ", legal);
}

int run_command(int argc, char** argv) {
  using namespace tessera;
  CLI::App app("Tessera: from an ONNX network to explained cycles on an NPU that does not exist yet.", "tessera");
  app.set_version_flag("--version", runtime::kToolVersion);
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::simple);
  runtime::add_zoo_command(app);
  runtime::add_chip_command(app);
  runtime::add_check_command(app);
  runtime::add_quantize_command(app);
  runtime::add_eval_command(app);
  runtime::add_compile_command(app);
  runtime::add_estimate_command(app);
  runtime::add_explain_command(app);
  runtime::add_run_command(app);
  runtime::add_simulate_command(app);
  runtime::add_report_command(app);
  runtime::add_diff_command(app);
  runtime::add_dram_command(app);
  runtime::add_asm_command(app);
  runtime::add_disasm_command(app);
  runtime::add_lockstep_command(app);
  try {
    check_command_name(app, argc, argv);
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : kUserError;
  } catch (const UserError& error) {
    std::fprintf(stderr, "tessera: %s\n", error.what());
    return kUserError;
  } catch (const ProgramError& error) {
    std::fprintf(stderr, "tessera: the program failed: %s\n", error.what());
    return kProgramFailed;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tessera: internal error (a bug of Tessera, please report it): %s\n", error.what());
    return kBug;
  }
}

}  // namespace

int main(int argc, char** argv) {
  setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
  return run_command(argc, argv);
}
