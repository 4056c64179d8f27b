// Who owns each cycle of a unit (MACHINE.md section 9): busy, idle, or one cause of this closed enum, in priority
// order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "hw/common/units.hpp"

namespace tessera {

enum class StallCause : std::uint8_t {
  fault,
  instruction_fetch,
  semaphore_load,  // waits for a semaphore that LOAD would signal; the next ten follow QueueId order
  semaphore_store,
  semaphore_conv0,
  semaphore_conv1,
  semaphore_conv2,
  semaphore_conv3,
  semaphore_gemm,
  semaphore_edp,
  semaphore_reorder,
  semaphore_dsp,
  semaphore_remote,  // a global semaphore that another core would signal
  sram_bank_conflict,
  dram_contention_fetch,
  dram_contention_load,
  dram_contention_store,
  dram_contention_core,    // another core's traffic
  dram_contention_camera,  // background traffic of the chip file
  dram_contention_cpu,
  dram_bandwidth,
  dram_row_miss,
  dram_refresh,
  dram_latency,
  drain,  // STORE: data handed over, B outstanding; any unit: the section's fence
  host,
  count_
};
inline constexpr std::size_t kStallCauses = static_cast<std::size_t>(StallCause::count_);

/// "semaphore.load", "dram.row_miss", ... as reports print them.
[[nodiscard]] const char* stall_name(StallCause cause);

struct UnitAccount {
  Cycles busy = 0;
  Cycles idle = 0;
  std::array<Cycles, kStallCauses> stall{};
  [[nodiscard]] Cycles total() const {
    Cycles sum = busy + idle;
    for (const Cycles s : stall) sum += s;
    return sum;
  }
  void add(StallCause cause, Cycles n) { stall[static_cast<std::size_t>(cause)] += n; }
};

}  // namespace tessera
