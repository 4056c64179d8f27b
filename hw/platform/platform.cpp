#include "hw/platform/platform.hpp"

#include "hw/common/error.hpp"
#include "hw/platform/runner.hpp"
#include "hw/tlm/kernel.hpp"

namespace tessera::platform {

void check_program(const isa::Program& program, const isa::ChipConfig& chip, const RunOptions& options) {
  TESSERA_CHECK(!options.ideal_overlap || options.timing_only, "ideal overlap has no values");
  for (const isa::Section& section : program.sections) {
    if (section.host_step >= 0 && !options.host_step) {
      user_error("section '", section.name, "' is a host step, and no host was given");
    }
    for (const isa::QueueStream& stream : section.streams) {
      if (stream.core >= chip.cores || !has_unit(chip, stream.queue)) {
        user_error("section '", section.name, "': instructions for core ", int{stream.core}, " queue ",
                   isa::to_string(static_cast<isa::QueueId>(stream.queue)), ", which ", chip.name, " does not have");
      }
      if (stream.words.size() > static_cast<std::size_t>(chip.cp.ring_words)) {
        throw ProgramError(detail::concat("section '", section.name, "': ", stream.words.size(), " words for queue ",
                                          isa::to_string(static_cast<isa::QueueId>(stream.queue)), ", a ring holds ",
                                          chip.cp.ring_words, " (cp.ring_words)"));
      }
    }
  }
}

hw::RunResult run_program(const isa::Program& program, const isa::ChipConfig& chip, const DramLayout& layout,
                          hw::DramStorage& dram, const RunOptions& options) {
  check_program(program, chip, options);
  tlm_base::Simulation simulation;
  Runner runner("runner", program, chip, layout, dram, options);
  Chip machine(chip, dram, runner, options);
  runner.connect(machine);
  simulation.run();
  if (options.foreign_units != nullptr) {
    if (const std::string failure = options.foreign_units->failure(); !failure.empty()) throw ProgramError(failure);
  }
  runner.check_outcome();
  for (int i = 0; options.end_run && i < machine.cores(); ++i) options.end_run(i, runner.sram(i));
  return runner.result();
}

hw::RunResult run_program(const isa::Program& program, const isa::ChipConfig& chip, hw::DramStorage& dram,
                          const RunOptions& options) {
  const DramLayout layout = place_program(program, chip);
  load_program(program, layout, dram);
  return run_program(program, chip, layout, dram, options);
}

}  // namespace tessera::platform
