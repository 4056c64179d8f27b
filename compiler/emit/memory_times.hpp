// What the chip file says of a lone access to DRAM, in core cycles: the constants of the prediction.
#pragma once

#include "hw/common/units.hpp"
#include "isa/chip.hpp"

namespace tessera::compiler {

struct MemoryTimes {
  double bytes_per_cycle = 1;  // of all channels, less refresh
  double port_bytes = 1;       // a cycle and manager
  Cycles read = 0;             // AR raised to the first data of a lone burst
  Cycles write = 0;            // W to B
  double queue_bytes = 0;      // reads that stand before a new one in the channels' queues, at most; as many writes

  [[nodiscard]] static MemoryTimes from(const isa::ChipConfig& chip);
};

}  // namespace tessera::compiler
