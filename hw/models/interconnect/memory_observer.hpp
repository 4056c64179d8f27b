// Hooks for traces: records of what the memory system did. Observers never change a cycle.
#pragma once

#include <cstdint>

#include "hw/common/units.hpp"

namespace tessera::hw {

/// One finished burst.
struct BurstRecord {
  int port = 0;  // core * 3 + manager
  bool write = false;
  std::uint64_t address = 0;
  Bytes bytes = 0;
  Cycles handshake = 0;  // AR / AW accepted
  Cycles granted = 0;    // last part left the request FIFO
  Cycles done = 0;       // last R beat handed over, or B
};

class MemoryObserver {
 public:
  virtual ~MemoryObserver() = default;
  virtual void on_burst(const BurstRecord& record) = 0;
};

}  // namespace tessera::hw
