// Runs a program on the verilated core: the third backend next to `reference` and the SystemC chip, with the same
// options and result structure. Leaves out: ideal runs, waits of single instructions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hw/cosim/rtl_core.hpp"
#include "hw/cosim/wave.hpp"
#include "hw/platform/dram_layout.hpp"
#include "hw/platform/platform.hpp"
#include "hw/platform/run_result.hpp"
#include "isa/chip.hpp"
#include "isa/program/program.hpp"

namespace tessera::cosim {

struct RtlRun {
  /// Start and finish of every instruction, sections, AXI bytes, the accounts of the units from their counters.
  hw::RunResult result;
  std::vector<std::uint8_t> sram;
  std::string failure;  // why it ended early: fault, stuck, a semaphore left over, max_cycles; empty: it did not
  Coverage coverage;
};

/// `dram` holds the program and its inputs. UserError for what the RTL lacks. A `wave`, if any, is told the pins of
/// every cycle.
[[nodiscard]] RtlRun run_on_rtl(const isa::Program& program, const isa::ChipConfig& chip,
                                const platform::DramLayout& layout, hw::DramStorage& dram,
                                const platform::RunOptions& options, Wave* wave = nullptr);

}  // namespace tessera::cosim
