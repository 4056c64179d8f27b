// What one layer costs at best, by the blocks' own closed forms: the cheapest legal instruction (or one an engine) of a
// search over mode, pixel shape, tile and loop order that asks no plan of the scheduler's; and what its operands cost
// on the SRAM ports, each read or written once.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "compiler/schedule/layer_graph.hpp"
#include "hw/common/units.hpp"
#include "isa/chip.hpp"

namespace tessera::compiler {

/// SRAM accesses of a layer in bytes, whole lines, all images.
struct PortBytes {
  Bytes activations = 0;  // port A: every line that some output needs, once an image
  Bytes weights = 0;      // port W: as often as the mapping reads them, and parameters
  Bytes residual = 0;     // port R (EDP: the second operand)
  Bytes output = 0;       // port O
  [[nodiscard]] Bytes total() const { return activations + weights + residual + output; }
};

struct Mapping {
  Cycles cycles = 0;         // closed form, all engines, all images
  double engine_cycles = 0;  // the same work in time of one engine, however it is cut: the least sum of closed forms
  std::int64_t steps = 0;    // cycles in which the arrays work, shared by the engines, all images
  PortBytes ports;
  Cycles port_cycles = 0;  // of the port with the most lines, shared by the engines
  std::string limit;       // "array" or the port: which of the two the layer comes up against
  std::string text;        // mode, split, tile
};

/// Remembers instructions: networks repeat their layers.
class MappingSearch {
 public:
  explicit MappingSearch(const isa::ChipConfig& chip) : chip_(chip) {}
  /// conv, edp, copy and gemm layers.
  [[nodiscard]] Mapping best(const Layer& layer, const LayerGraph& graph);

 private:
  struct Instruction {
    bool legal = false;
    isa::Conv conv;
    Cycles cycles = 0;
  };
  const Instruction& best(isa::Conv conv);
  [[nodiscard]] Instruction search(isa::Conv conv) const;
  void consider_mode(Layer layer, const LayerGraph& graph, Mapping& best_so_far);
  [[nodiscard]] Mapping convolution(const Layer& layer, const LayerGraph& graph);
  [[nodiscard]] Mapping elementwise(const Layer& layer, const LayerGraph& graph) const;
  [[nodiscard]] Mapping product(const Layer& layer) const;

  const isa::ChipConfig& chip_;
  std::map<std::array<std::int32_t, 18>, Instruction> known_;
};

}  // namespace tessera::compiler
