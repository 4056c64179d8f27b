// Executes a program's values, instruction by instruction, in a legal order, without time, and checks what a program
// must keep: no races, no overflow, semaphores zero at a section's end, nothing read before it is written. The third
// oracle of FORMAT.md section 1; the timed backends must leave the same memory.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hw/models/dram/based_storage.hpp"
#include "isa/chip.hpp"
#include "isa/program/program.hpp"

namespace tessera::reference {

using hw::BaseRegisters;

struct ReferenceOptions {
  /// Without a seed: always the lowest queue (core, then queue id) that can start. With one: a random one of them.
  std::optional<std::uint64_t> order_seed;
  bool check_races = true;
  bool check_unwritten = true;
  /// false: checks only, memory stays as it is; host steps are not run.
  bool values = true;
  /// Runs a host step on DRAM. Needed if the program has host steps.
  std::function<void(const isa::HostStep&, hw::DramStorage&)> host_step;
};

/// An executed instruction, in the order of execution.
struct Executed {
  std::uint16_t section = 0;
  std::uint8_t core = 0;
  std::uint8_t queue = 0;  // isa::QueueId
  std::uint32_t index = 0;
  std::uint16_t layer = 0;
};

struct ReferenceResult {
  std::vector<std::vector<std::uint8_t>> sram;  // bytes of each core at the end
  std::vector<Executed> order;
  std::vector<std::string> warnings;  // reads of bytes never written: instruction, address, count
  std::int64_t macs_useful = 0;       // lanes and halo that instructions ask for, padding lanes aside
};

/// `dram` holds weights and inputs before, outputs after. Throws ProgramError on a fault, a race, an overflow, a stuck
/// section or a semaphore left over.
[[nodiscard]] ReferenceResult run_reference(const isa::Program& program, const isa::ChipConfig& chip,
                                            hw::DramStorage& dram, const BaseRegisters& bases,
                                            const ReferenceOptions& options = {});

}  // namespace tessera::reference
