// What no schedule can beat, from the layers' shapes, the chip file and the blocks' closed forms: compulsory bytes,
// each layer's best mapping, and the network's lookahead bound. Reads the layer graph (which unit runs what), no tile,
// group or address that a scheduler chose. Leaves out: DRAM latency and rows, bank conflicts, instruction fetch, maps
// in SRAM, REORDER and the placing of graph inputs pixel by pixel.
#pragma once

#include <string>
#include <vector>

#include "compiler/bounds/lookahead.hpp"
#include "compiler/bounds/mapping.hpp"
#include "compiler/ir/qgraph.hpp"
#include "hw/models/interconnect/stream_rate.hpp"
#include "isa/chip.hpp"

namespace tessera::compiler {

/// Read or written once, unpadded.
struct CompulsoryBytes {
  Bytes weights = 0;  // and constant matrices
  Bytes params = 0;   // bias and scales, average entries, tables
  Bytes inputs = 0, outputs = 0;
  [[nodiscard]] Bytes total() const { return weights + params + inputs + outputs; }
};

struct LayerBound {
  std::string name, op, unit;
  CompulsoryBytes bytes;   // weights and params of the layer
  Bytes stream_bytes = 0;  // the same as they lie in DRAM, padded lanes included
  Mapping mapping;
  Cycles host_cycles = 0;
};

struct NetworkBounds {
  std::int64_t batch = 1;
  CompulsoryBytes bytes;
  Bytes stream_bytes = 0;  // constants as they lie, and graph inputs
  hw::StreamRate rate;
  std::vector<LayerBound> layers;
  Cycles stream_cycles = 0;           // all bytes, nothing else
  std::array<Cycles, kPools> work{};  // of each pool's engines together, nothing else
  Cycles host_cycles = 0;
  Cycles lookahead_cycles = 0;             // the bound
  std::string lookahead_limit;             // what it comes up against: "stream" or a pool
  Cycles lookahead_ideal_dram_cycles = 0;  // the same behind AXI ports alone
};

[[nodiscard]] NetworkBounds network_bounds(const QGraph& graph, const isa::ChipConfig& chip);

}  // namespace tessera::compiler
