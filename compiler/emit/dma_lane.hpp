// LOAD or STORE of one core as the prediction sees it: instructions overlap as far as addresses accepted and
// `in_flight` allow, their bytes are served by the shared DRAM, their SRAM side moves one segment a cycle.
#pragma once

#include <deque>

#include "compiler/emit/memory_flow.hpp"
#include "compiler/emit/memory_times.hpp"
#include "isa/chip.hpp"
#include "isa/isa.hpp"

namespace tessera::compiler {

/// Bytes that a LOAD or STORE moves through DRAM.
[[nodiscard]] std::int64_t dma_bytes(const isa::Load& load);
[[nodiscard]] std::int64_t dma_bytes(const isa::Store& store);

class DmaLane {
 public:
  DmaLane(const isa::ChipConfig& chip, const MemoryTimes& times, bool load, int flow);

  /// May an instruction (a NOP) be popped in cycle n? `now` of the memory is n.
  [[nodiscard]] bool ready(bool nop, Cycles n, const MemoryFlow& memory) const;
  /// When that may change without an instruction finishing or being served; kNever: not known.
  [[nodiscard]] Cycles next_ready(Cycles n, const MemoryFlow& memory) const;
  void start(int tag, Cycles n, const isa::Body& work, MemoryFlow& memory);
  void start_nop(int tag, Cycles n, Cycles cycles);
  /// `behind`: lines that the SRAM side still has to move because it was refused.
  void served(int tag, double time, Cycles behind);
  /// Finish of the oldest instruction, if its bytes have been served; else kNever.
  [[nodiscard]] Cycles finish() const;
  [[nodiscard]] bool idle() const { return flight_.empty(); }
  /// The tag of the oldest, which finished.
  int take_finished();

 private:
  struct Flight {
    int tag = 0;
    bool nop = false;
    Cycles least = 0;  // finish if the DRAM took no time
    Cycles finish = kNever;
  };
  const isa::ChipConfig& chip_;
  MemoryTimes times_;
  bool load_;
  int flow_;
  std::size_t in_flight_;
  double ahead_ = 0;      // bytes whose addresses may be accepted before they are served
  Cycles addresses_ = 0;  // of the youngest: raised at the earliest
  Cycles walked_ = 0;     // the SRAM side is busy until
  Cycles last_finish_ = 0;
  std::deque<Flight> flight_;
};

}  // namespace tessera::compiler
