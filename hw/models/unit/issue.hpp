// Between the command processor and a unit: how an instruction is started and how its end is told. Both sides see only
// registered state of the current cycle; what they hand over is stamped with the cycle in which it takes effect.
#pragma once

#include <array>
#include <cstdint>

#include "hw/common/stall.hpp"
#include "hw/common/units.hpp"
#include "isa/isa.hpp"

namespace tessera::hw {

using StallCounts = std::array<Cycles, kStallCauses>;

/// A unit, as the command processor sees it (phase evaluate).
class IssueTarget {
 public:
  virtual ~IssueTarget() = default;
  /// May an instruction (a NOP) be popped in this cycle?
  [[nodiscard]] virtual bool ready(bool nop) const = 0;
  /// Something started in an earlier cycle has not finished.
  [[nodiscard]] virtual bool busy() const = 0;
  /// Pop in cycle n, the current one. `base`: value of the DRAM base register the instruction names.
  virtual void start(const isa::Instruction& instruction, Cycles n, std::uint64_t base) = 0;
  /// Owners of all cycles with something in flight.
  [[nodiscard]] virtual const UnitAccount& account() const = 0;
  [[nodiscard]] virtual std::int64_t macs_issued() const { return 0; }
  [[nodiscard]] virtual Cycles array_cycles() const { return 0; }
  [[nodiscard]] virtual Cycles stepped_cycles() const = 0;
};

/// The command processor, as a unit sees it (phases deliver and commit).
class IssueSource {
 public:
  virtual ~IssueSource() = default;
  /// The oldest instruction of the queue finishes in cycle `finish`, which must not be past. `axi`: bytes it moved.
  virtual void finished(int queue, Cycles finish, const StallCounts& stalls, Bytes axi) = 0;
  /// ready() or busy() of the unit differ in this cycle from the one before.
  virtual void wake(Cycles cycle) = 0;
  /// AXI answered a burst of this unit with an error in the current cycle.
  virtual void bus_error(int queue) = 0;
};

}  // namespace tessera::hw
