// The modules of one chip, wired: memory system, and per core command processor, scratchpad, LOAD, STORE and the
// compute units that the chip file has. Knows nothing of programs.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "hw/models/cp/cp.hpp"
#include "hw/models/interconnect/memory_system.hpp"
#include "hw/models/load/load.hpp"
#include "hw/models/sram/sram.hpp"
#include "hw/models/store/store.hpp"
#include "hw/models/unit/compute_unit.hpp"
#include "hw/platform/platform.hpp"

namespace tessera::platform {

struct Core {
  std::unique_ptr<hw::Sram> sram;
  std::unique_ptr<hw::Cp> cp;
  std::unique_ptr<hw::Load> load;
  std::unique_ptr<hw::Store> store;
  std::array<std::unique_ptr<hw::ComputeUnit>, hw::kQueues> compute;  // by queue; null where the chip has none
  std::array<std::unique_ptr<hw::IssueTarget>, hw::kQueues> foreign;  // in place of a compute unit
  std::array<hw::IssueTarget*, hw::kQueues> unit{};                   // load, store, compute and foreign
};

class Chip {
 public:
  Chip(const isa::ChipConfig& config, const hw::DramStorage& dram, hw::CpListener& listener, const RunOptions& options);

  [[nodiscard]] hw::MemorySystem& memory() { return *memory_; }
  [[nodiscard]] Core& core(int i) { return cores_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] int cores() const { return static_cast<int>(cores_.size()); }

 private:
  void build_shared(const hw::DramStorage& dram, hw::CpListener& listener, const RunOptions& options);
  void build_units(const RunOptions& options);

  const isa::ChipConfig& config_;
  std::unique_ptr<hw::MemorySystem> memory_;
  std::vector<Core> cores_;
};

/// Access plan of a compute instruction on this chip.
[[nodiscard]] std::unique_ptr<hw::AccessPlan> make_plan(const isa::Instruction& instruction,
                                                        const isa::ChipConfig& chip);
/// Does the chip have the unit of this queue?
[[nodiscard]] bool has_unit(const isa::ChipConfig& chip, int queue);

}  // namespace tessera::platform
