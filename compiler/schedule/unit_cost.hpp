// Cycles of the instructions that a schedule search weighs, from the blocks' own cost functions, and the choice of a
// convolution's tile fields (pixel shape, gx, gy, t, loop order) by trying them. Results are remembered: networks
// repeat their layers. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "hw/common/units.hpp"
#include "isa/chip.hpp"
#include "isa/isa.hpp"

namespace tessera::compiler {

/// Lines that a convolution reads on its ports: those of its windows, halos again with every tile, and its weights.
struct ConvPorts {
  std::int64_t window_lines = 0, weight_lines = 0;
};
[[nodiscard]] ConvPorts conv_ports(const isa::Conv& conv, const isa::ChipConfig& chip);

class UnitCost {
 public:
  explicit UnitCost(const isa::ChipConfig& chip);

  /// Fills pixel_shape, gx, gy, t and order with the cheapest legal choice; nothing when no choice is legal, then
  /// `why()` says what the engine objects to.
  [[nodiscard]] std::optional<Cycles> choose(isa::Conv& conv);
  [[nodiscard]] const std::string& why() const { return why_; }
  /// Of a convolution that `choose` was asked about.
  [[nodiscard]] ConvPorts ports(const isa::Conv& conv) const { return known_.at(key_of(conv)).ports; }

  /// Lines that each tile's windows read one behind the other when the tile begins, and its cycles then.
  struct Burst {
    std::int64_t lines = 0, cycles = 0;
    std::int64_t total = 0;  // cycles of the instruction
  };
  [[nodiscard]] Burst window_burst(const isa::Conv& conv) const;

  /// The same for a product: sets `dataflow`.
  [[nodiscard]] std::optional<Cycles> choose(isa::Gemm& gemm);
  [[nodiscard]] Cycles edp(const isa::Edp& edp) const;
  [[nodiscard]] Cycles reorder(const isa::Reorder& reorder) const;

  /// DRAM bytes a core cycle, all channels at their peak.
  [[nodiscard]] double dram_bytes_per_cycle() const { return dram_bytes_per_cycle_; }
  [[nodiscard]] const isa::ChipConfig& chip() const { return chip_; }

 private:
  struct Choice {
    bool legal = false;
    Cycles cycles = 0;
    std::int64_t shape = 0, gx = 1, gy = 1, t = 1;
    isa::ConvOrder order = isa::ConvOrder::pixels_outer;
    ConvPorts ports;
    std::string why;  // it is not legal
  };
  using Key = std::array<std::int32_t, 17>;
  [[nodiscard]] static Key key_of(const isa::Conv& conv);
  Choice search(isa::Conv conv);

  const isa::ChipConfig& chip_;
  double dram_bytes_per_cycle_ = 1.0;
  std::map<Key, Choice> known_;
  std::string why_;
};

}  // namespace tessera::compiler
