// The SRAM side of one instruction as a rigid pipeline (MACHINE.md section 4): in engine cycle e a unit needs a fixed
// set of SRAM accesses and is granted all or none. Time between engine cycles is added by the arbiter only, so a
// duration is length() plus frozen cycles. Leaves out: values (isa/semantics), instruction issue (hw/models/cp).
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "hw/common/units.hpp"

namespace tessera::hw {

/// One access of one full line. `line` = SRAM byte address / sram.line_bytes.
struct Access {
  std::uint32_t line = 0;
  bool write = false;
};

/// The accesses of one engine cycle, in port order (conv: A, W, R, O). At most one per port.
struct AccessSet {
  std::array<Access, 4> items{};
  int count = 0;
  void clear() { count = 0; }
  void add(std::uint32_t line, bool write) { items[static_cast<std::size_t>(count++)] = {line, write}; }
};

/// What one instruction does to the SRAM, cycle by cycle, were it never refused.
class AccessPlan {
 public:
  virtual ~AccessPlan() = default;
  /// Engine cycles; the last write lies in engine cycle length() - 1. Equals the block's cost function.
  [[nodiscard]] virtual Cycles length() const = 0;
  /// Accesses of engine cycle e in [0, length()). Calls come with non-decreasing e; cycles may be skipped (then cheap).
  virtual void accesses(Cycles e, AccessSet& out) = 0;
  /// A plan that stands where this one does and goes its own way.
  [[nodiscard]] virtual std::unique_ptr<AccessPlan> clone() const = 0;
  /// Banks that may be touched at any e (may be a superset; never a subset).
  [[nodiscard]] virtual BankMask banks() const = 0;
  /// True if two ports may need one bank in one engine cycle (may be a superset).
  [[nodiscard]] virtual bool may_self_conflict() const = 0;
  /// Lane-cycles issued (conv, gemm: MAC lanes; edp: elements incl. idle lanes), and counters such as
  /// gemm.array_cycles.
  [[nodiscard]] virtual std::int64_t macs_issued() const { return 0; }
  [[nodiscard]] virtual Cycles array_cycles() const { return 0; }
};

}  // namespace tessera::hw
