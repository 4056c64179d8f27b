// The compiler's own prediction: a list simulation of the emitted items with the blocks' cost functions and one shared
// DRAM bandwidth. Knows queue order, waits and the DRAM's peak less refresh; not bank conflicts or row misses.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/emit/dram_calendar.hpp"
#include "compiler/emit/order.hpp"
#include "compiler/schedule/work.hpp"
#include "isa/chip.hpp"

namespace tessera::compiler {

class Estimate {
 public:
  explicit Estimate(const isa::ChipConfig& chip);

  /// Adds one section: `producers` by item, from order_items.
  void section(const std::vector<WorkItem>& items, const std::vector<std::vector<std::int32_t>>& producers,
               bool one_at_a_time);
  /// Adds a host step that moves `bytes` and handles `elements`.
  void host(std::size_t layer, std::int64_t elements, std::int64_t bytes);

  [[nodiscard]] Cycles cycles() const { return now_; }
  /// When the last instruction of each layer ends; shorter than the layers by those at the end that have none.
  [[nodiscard]] const std::vector<Cycles>& layer_ends() const { return layer_ends_; }

 private:
  [[nodiscard]] Cycles duration(const WorkItem& item) const;
  void ends(std::size_t layer, Cycles end);
  [[nodiscard]] Cycles meeting(const std::vector<WorkItem>& items, std::size_t i) const;
  const isa::ChipConfig& chip_;
  double bytes_per_cycle_ = 1;
  DramCalendar dram_;
  Cycles latency_ = 0;  // of a lone DRAM access, queue to data
  Cycles now_ = 0;
  std::vector<Cycles> layer_ends_;
};

/// Bytes that a LOAD or STORE moves through DRAM.
[[nodiscard]] std::int64_t dma_bytes(const isa::Load& load);
[[nodiscard]] std::int64_t dma_bytes(const isa::Store& store);

}  // namespace tessera::compiler
