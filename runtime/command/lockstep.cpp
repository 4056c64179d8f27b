// `lockstep`: the same program on the models and on the verilated RTL, compared cycle by cycle.
#include "hw/cosim/lockstep.hpp"

#include <cstdio>

#include "hw/common/error.hpp"
#include "runtime/command/command.hpp"
#include "runtime/session/boundary.hpp"
#include "runtime/session/progress.hpp"

namespace tessera::runtime {

void add_lockstep_command(CLI::App& app) {
  struct Options {
    std::string dir, chip;
    std::vector<std::string> sets;
    int random = 0;
    bool speeds = false;
    std::uint64_t seed = 1;
    bool no_shrink = false;
  };
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("lockstep", "Models and RTL side by side, first divergence");
  command->footer("Example: tessera lockstep --random 300 --seed 1");
  command->add_option("dir", o->dir, "Folder of a compiled program of the RTL slice (hw/rtl/README.md)");
  command->add_option("--random", o->random, "Number of random programs instead")->check(CLI::Range(1, 1000000));
  command->add_option("--seed", o->seed, "Seed of the programs, or of the input data")->check(seed_range());
  command->add_option("--chip", o->chip, "Name or JSON file; default: the program's own, tiny for random ones");
  command->add_option("--set", o->sets,
                      "Overrides one value of the chip; of a program's chip, a timing value (repeatable)");
  command->add_flag("--no-shrink", o->no_shrink, "Does not look for a shorter program that differs");
  command->add_flag("--speeds", o->speeds,
                    "Of a folder: processor seconds of the RTL and of each way to run the model");
  command->callback([o] {
    if (o->speeds && o->random > 0) user_error("--speeds: expected a folder, not --random");
    if (o->dir.empty() == (o->random == 0)) user_error("lockstep: expected either a folder or --random N");
    cosim::LockstepResult result;
    if (o->random > 0) {
      const auto told = [o](int done) {
        progress("lockstep " + std::to_string(done) + " of " + std::to_string(o->random));
      };
      result = cosim::run_random_lockstep(o->chip.empty() ? "tiny" : o->chip, o->sets, o->seed, o->random, told,
                                          o->no_shrink ? cosim::OnDifference::stop : cosim::OnDifference::shrink);
      progress("");
    } else {
      const isa::Program program = isa::read_program(o->dir, isa::Weights::optional);
      const isa::ChipConfig chip = o->chip.empty() ? isa::load_chip_text(program.chip_json, "meta.json", o->sets)
                                                   : isa::load_chip(o->chip, o->sets);
      if (isa::arch_hash(chip) != program.arch_hash) {
        user_error("the program was compiled for another architecture than chip '", chip.name, "'");
      }
      cosim::LockstepOptions options;
      options.data_seed = o->seed;
      options.every_way = o->speeds;
      const platform::DramLayout layout = platform::place_program(program, chip);
      options.host_step = [&](const isa::HostStep& step, hw::DramStorage& dram) {
        run_host_step_on(program, layout, step, dram);
        return host_step_cost(chip, step);
      };
      result.add(cosim::run_lockstep(program, chip, chip, options), o->dir);
    }
    if (!result.first.empty()) std::printf("first divergence: %s", result.first.c_str());
    if (!result.shortest.empty()) std::printf("a short program that differs:\n%s\n", result.shortest.c_str());
    std::fputs(cosim::lockstep_text(result).c_str(), stdout);
    if (o->speeds) std::fputs(cosim::cpu_text(result).c_str(), stdout);
    if (!result.equal()) throw CLI::RuntimeError(1);
  });
}

}  // namespace tessera::runtime
