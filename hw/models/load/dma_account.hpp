// Who owns each cycle of LOAD or STORE while something is in flight (MACHINE.md section 9). Cycles in which the module
// was stepped are classified by it; the cycles it slept through waited for memory and are split by the memory system.
#pragma once

#include <functional>
#include <optional>

#include "hw/models/unit/issue.hpp"

namespace tessera::hw {

/// How a module asks the memory system about its manager's oldest outstanding burst.
struct MemoryProbe {
  std::function<std::optional<StallCause>()> cause;  // owner of the current cycle
  std::function<StallCounts()> totals;               // cycles before the current one, by cause
};

class DmaAccount {
 public:
  explicit DmaAccount(MemoryProbe probe) : probe_(std::move(probe)) {}

  /// Something starts in cycle n while nothing was in flight.
  void begin(Cycles n) { next_ = n; }
  /// Before cycle n is classified: the cycles since the last classified one waited for memory; `drain_from`: from this
  /// cycle on everything was handed over and only B were awaited (kNever: does not apply).
  void catch_up(Cycles n, Cycles drain_from);
  /// Cycle n (with all before it that are not classified) was busy, or cycle n was stalled.
  void busy(Cycles n) {
    account_.busy += n + 1 - next_;
    next_ = n + 1;
  }
  void stall(Cycles n, StallCause cause) {
    charge(cause, 1);
    next_ = n + 1;
  }
  /// Cycle n waited for memory; without an outstanding burst it was busy issuing.
  void wait(Cycles n);
  /// The module sleeps after cycle n (called in n).
  void sleep();

  [[nodiscard]] const UnitAccount& account() const { return account_; }
  /// Stalls since the last call: of the oldest instruction.
  [[nodiscard]] StallCounts take() {
    StallCounts out = current_;
    current_.fill(0);
    return out;
  }

 private:
  void charge(StallCause cause, Cycles n) {
    account_.add(cause, n);
    current_[static_cast<std::size_t>(cause)] += n;
  }

  MemoryProbe probe_;
  UnitAccount account_;
  StallCounts current_{};
  Cycles next_ = 0;  // first cycle not yet classified
  StallCounts mark_{};
};

}  // namespace tessera::hw
