// Cost of LOAD and STORE instructions for the compiler: pure counts, no state, no contention. LOAD's SRAM side moves
// one segment a cycle, STORE's reads one line a cycle; AXI moves whole beats. Exact for base registers that are a
// multiple of 4 KiB. Derivation: README.md here and hw/models/store/README.md.
#pragma once

#include <cstdint>

#include "hw/models/load/dma_walk.hpp"

namespace tessera::hw {

struct DmaCost {
  Cycles sram_cycles = 0;   // segments: cycles of the SRAM side were it never starved, blocked or refused
  std::int64_t lines = 0;   // SRAM accesses among them
  std::int64_t bursts = 0;  // AR or AW
  std::int64_t beats = 0;   // of axi.data_bytes, R or W
  [[nodiscard]] Bytes axi_bytes(const DmaConfig& config) const { return beats * config.data_bytes; }
};

[[nodiscard]] DmaCost load_cost(const semantics::DmaShape& shape, const DmaConfig& config);
[[nodiscard]] DmaCost store_cost(const semantics::DmaShape& shape, const DmaConfig& config);

}  // namespace tessera::hw
