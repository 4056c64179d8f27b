#include "hw/models/load/dma_account.hpp"

#include <algorithm>

#include "hw/common/error.hpp"

namespace tessera::hw {

void DmaAccount::wait(Cycles n) {
  if (const std::optional<StallCause> cause = probe_.cause()) {
    stall(n, *cause);
  } else {
    busy(n);
  }
}

void DmaAccount::sleep() {
  mark_ = probe_.totals();
  // Totals end before the current cycle, which is classified already.
  if (const std::optional<StallCause> cause = probe_.cause()) ++mark_[static_cast<std::size_t>(*cause)];
}

void DmaAccount::catch_up(Cycles n, Cycles drain_from) {
  Cycles gap = n - next_;
  TESSERA_CHECK(gap >= 0, "cycle ", n, " is classified twice");
  if (gap == 0) return;
  next_ = n;
  if (drain_from < kNever) {
    const Cycles drain = std::clamp<Cycles>(n - drain_from, 0, gap);
    charge(StallCause::drain, drain);
    account_.busy += gap - drain;
    return;
  }
  const StallCounts totals = probe_.totals();
  for (std::size_t c = 0; c < totals.size(); ++c) {
    const Cycles waited = totals[c] - mark_[c];
    if (waited == 0) continue;
    charge(static_cast<StallCause>(c), waited);
    gap -= waited;
  }
  TESSERA_CHECK(gap >= 0, "memory explains ", -gap, " cycles too many");
  account_.busy += gap;  // nothing outstanding: latency of the pipeline itself
}

}  // namespace tessera::hw
