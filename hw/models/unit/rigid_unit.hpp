// A unit as a rigid pipeline (MACHINE.md section 4): walks an AccessPlan one engine cycle a cycle, frozen when refused.
// The clocked core behind every compute queue, no SystemC. Leaves out: values, issue (hw/models/cp), arbitration
// (hw/models/sram). Cycle rules: README.md here.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "hw/common/units.hpp"
#include "hw/models/unit/access.hpp"

namespace tessera::hw {

struct SramGeometry {
  std::int64_t line_bytes = 0;
  std::int64_t lines_per_bank = 0;
  int banks = 0;
  [[nodiscard]] int bank_of_line(std::int64_t line) const { return static_cast<int>(line / lines_per_bank); }
  [[nodiscard]] BankMask mask_of_line(std::int64_t line) const { return BankMask{1} << bank_of_line(line); }
  /// Banks of the byte range [begin, end), both inside the scratchpad.
  [[nodiscard]] BankMask mask_of_bytes(std::int64_t begin, std::int64_t end) const;
};

struct RigidUnitState {
  bool active = false;   // started and not yet past its last engine cycle
  Cycles start = 0;      // cycle of the pop
  Cycles length = 0;     // engine cycles
  Cycles engine = 0;     // next engine cycle ...
  Cycles next = 0;       // ... which takes place in this cycle unless refused
  int sub = 0;           // sub-cycle of it
  Cycles conflicts = 0;  // refusals and extra sub-cycles since start
};

class RigidUnit {
 public:
  explicit RigidUnit(const SramGeometry& geometry) : geometry_(geometry) {
    const std::int64_t lines = geometry.lines_per_bank;
    if ((lines & (lines - 1)) == 0) bank_shift_ = __builtin_ctzll(static_cast<unsigned long long>(lines));
  }

  /// Popped in cycle n. Without a plan: a NOP, `cycles` long (start n, finish n + cycles).
  void start_nop(Cycles n, Cycles cycles);
  void start(Cycles n, std::unique_ptr<AccessPlan> plan);

  /// Banks needed in this cycle; 0 = none (the cycle then always proceeds).
  [[nodiscard]] BankMask request() {
    if (!state_.active) return 0;
    if (!loaded_) load();
    return sub_banks_[static_cast<std::size_t>(state_.sub)];
  }
  /// End of cycle state().next. Returns true if it was the last: the unit finishes in the following cycle.
  bool commit(bool granted);

  /// Fast-forward: from here on never refused. The caller guarantees it.
  [[nodiscard]] Cycles finish_if_unrefused() const { return state_.next + (state_.length - state_.engine); }
  /// As if committed with grants up to and excluding `cycle`; true if that includes the last engine cycle.
  bool advance_to(Cycles cycle);
  /// Does it request in `cycle` (>= state().next), being fast-forwarded?
  [[nodiscard]] bool requests_in(Cycles cycle);
  /// The same for a unit whose ports may meet each other: commits with grants up to and excluding `cycle`, or to the
  /// end; true if that includes the last engine cycle.
  bool walk_to(Cycles cycle);
  /// A unit that stands where this one does and goes its own way.
  [[nodiscard]] RigidUnit clone() const;

  [[nodiscard]] const RigidUnitState& state() const { return state_; }
  [[nodiscard]] BankMask banks() const { return plan_ ? plan_->banks() : 0; }
  [[nodiscard]] bool may_self_conflict() const { return plan_ && plan_->may_self_conflict(); }
  [[nodiscard]] const AccessPlan* plan() const { return plan_.get(); }

 private:
  void load();
  void load_sub_cycles();
  [[nodiscard]] BankMask mask_of(const Access& access) const {
    return bank_shift_ >= 0 ? BankMask{1} << (access.line >> bank_shift_) : geometry_.mask_of_line(access.line);
  }

  SramGeometry geometry_;
  int bank_shift_ = -1;  // of a line number, where the lines of a bank are a power of two
  RigidUnitState state_;
  std::unique_ptr<AccessPlan> plan_;
  // Decoded accesses of engine cycle state_.engine: bank sets of its sub-cycles (at least one, perhaps empty).
  bool loaded_ = false;
  int subs_ = 0;
  std::array<BankMask, 4> sub_banks_{};
  AccessSet scratch_;
};

}  // namespace tessera::hw
