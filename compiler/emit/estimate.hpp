// The compiler's own prediction: an event-driven simulation of the emitted instructions. Semaphores, issue and compute
// units are the machine's rules, down to the bank arbiter; instruction fetch, LOAD, STORE and the DRAM are fluids
// (memory_flow.hpp, dma_lane.hpp, fetch_queue.hpp). README.md says what it leaves out.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/emit/memory_times.hpp"
#include "compiler/emit/timed_instruction.hpp"
#include "isa/chip.hpp"

namespace tessera::compiler {

class Estimate {
 public:
  explicit Estimate(const isa::ChipConfig& chip) : chip_(chip), times_(MemoryTimes::from(chip)) {}

  /// Adds one section: the instructions of each queue in their order.
  void section(const std::vector<TimedInstruction>& instructions);
  /// Adds a host step that moves `bytes` and handles `elements`.
  void host(std::size_t layer, std::int64_t elements, std::int64_t bytes);

  [[nodiscard]] Cycles cycles() const { return now_; }
  /// When the last instruction of each layer ends; shorter than the layers by those at the end that have none.
  [[nodiscard]] const std::vector<Cycles>& layer_ends() const { return layer_ends_; }

 private:
  void ends(std::size_t layer, Cycles end);
  const isa::ChipConfig& chip_;
  MemoryTimes times_;
  Cycles now_ = 0;
  std::vector<Cycles> layer_ends_;
};

}  // namespace tessera::compiler
