// One section of a program in time: queues start instructions when their words are there, their waits are met and their
// unit is ready (hw/models/cp/README.md, Start); units finish them and signal.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <vector>

#include "compiler/emit/dma_lane.hpp"
#include "compiler/emit/fetch_queue.hpp"
#include "compiler/emit/memory_flow.hpp"
#include "compiler/emit/memory_times.hpp"
#include "compiler/emit/scratchpad.hpp"
#include "compiler/emit/timed_instruction.hpp"

namespace tessera::compiler {

class SectionRun {
 public:
  using Finished = std::function<void(const TimedInstruction&, Cycles)>;
  SectionRun(const isa::ChipConfig& chip, const MemoryTimes& times, const std::vector<TimedInstruction>& instructions,
             Finished finished);
  /// From the doorbell in cycle 0 to the last finish, which is the result.
  Cycles run();

 private:
  struct Lane {
    int core = 0, queue = 0;
    std::vector<std::int32_t> items;
    FetchQueue words;
    Cycles nop_end = kNever;    // of the NOP or ...
    std::int32_t running = -1;  // ... instruction that a compute unit has
  };
  struct Core {
    Scratchpad units;
    DmaLane load, store;
    int loading;  // whose lines the units meet
  };
  struct Arrival {
    Cycles cycle;
    int core, semaphore, count;
    bool operator>(const Arrival& other) const { return cycle > other.cycle; }
  };

  [[nodiscard]] DmaLane* dma_of(const Lane& lane);
  [[nodiscard]] std::uint8_t& semaphore(int core, int number);
  [[nodiscard]] bool waits_met(const TimedInstruction& instruction);
  void fetch(std::size_t lane);
  void serve_memory(Cycles n);
  void finish_all(Cycles n);
  void finish(std::int32_t item, Cycles n);
  bool start_all(Cycles n);
  bool start_head(std::size_t lane, Cycles n);
  void pace_loads();
  void begin_store(int core, int item);
  [[nodiscard]] DmaStream stream_of(int item) const;
  Cycles run_units(Cycles n, Cycles until);
  Cycles advance(Cycles n);

  const isa::ChipConfig& chip_;
  MemoryTimes times_;
  const std::vector<TimedInstruction>& instructions_;
  Finished finished_;
  MemoryFlow memory_;
  std::vector<Core> cores_;
  std::vector<Lane> lanes_;
  std::vector<std::array<std::uint8_t, 128>> semaphores_;  // by core; global ones in the first
  std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> signals_, words_;  // words_: core = lane
  std::vector<MemoryFlow::Served> served_;
  std::size_t left_ = 0;
  Cycles last_ = 0;
};

}  // namespace tessera::compiler
