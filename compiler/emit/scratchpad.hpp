// The compute units of a core and their SRAM banks: the units' own clocked cores (hw/models/unit) and arbiter
// (hw/models/sram), stepped only while they may meet another in a bank. LOAD and STORE ask for a line whenever their
// pace, which others set, says so, and again in the next cycle when refused.
#pragma once

#include <array>
#include <cstdint>

#include "compiler/emit/dma_stream.hpp"
#include "hw/common/units.hpp"
#include "hw/models/sram/arbiter.hpp"
#include "hw/models/unit/rigid_unit.hpp"
#include "isa/chip.hpp"
#include "isa/isa.hpp"

namespace tessera::compiler {

class Scratchpad {
 public:
  explicit Scratchpad(const isa::ChipConfig& chip);

  /// An instruction popped in cycle n; every unit stands at n.
  void start(int queue, Cycles n, const isa::Body& work);
  [[nodiscard]] bool busy(int queue) const { return (busy_ >> queue & 1) != 0; }
  /// LOAD or STORE (`queue`) begins to move the lines of an instruction; `per_cycle` of them a cycle from `at` on.
  void begin_stream(int queue, const DmaStream& walk);
  void pace_stream(int queue, double at, double per_cycle);
  /// Returns the lines that it is behind.
  std::int64_t end_stream(int queue);
  [[nodiscard]] std::int64_t stream_lines(int queue) const {
    return streams_[static_cast<std::size_t>(queue)].walk.lines();
  }
  /// When the first unit finishes that is not stepped; kNever: none.
  [[nodiscard]] Cycles first_known_finish();
  /// Are there units to step? As first_known_finish() found.
  [[nodiscard]] bool stepping() const { return shared_ != 0; }
  /// Did a stepped unit reach its end?
  [[nodiscard]] bool finished() const { return finished_; }
  /// Runs to `until`, which no known finish precedes, or to the first cycle before it in which a stepped unit finishes.
  Cycles run(Cycles until);
  /// The queues whose instruction finishes in cycle n, to which it was run; they are idle from then on.
  hw::PortMask take_finished(Cycles n);

 private:
  struct Stream {
    bool active = false;
    DmaStream walk;
    double at = 0, per_cycle = 0;  // lines
    std::int64_t moved = 0;        // granted; negative: lines of the instruction before
    std::int64_t behind = 0;       // lines that it was behind when it ended
    Cycles known = 0;              // both are of the beginning of this cycle
  };
  void sort_units();
  [[nodiscard]] Cycles finish_of(int queue) const;
  [[nodiscard]] BankMask next_bank(Stream& stream);
  void catch_up(Stream& stream, std::int64_t due) const;
  const isa::ChipConfig& chip_;
  std::array<Stream, 2> streams_;
  std::array<hw::RigidUnit, hw::kSramPorts> units_;
  hw::SramArbiter arbiter_;
  hw::PortMask busy_ = 0;    // started, its finish not taken
  hw::PortMask shared_ = 0;  // of these: may meet another
  bool sorted_ = true, finished_ = false;
  Cycles at_ = 0;  // shared units have done all cycles before it
};

}  // namespace tessera::compiler
