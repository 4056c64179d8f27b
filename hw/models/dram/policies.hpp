// The controller's choices as small pure functions, each replaceable by itself. README.md states them in words.
#pragma once

#include "hw/common/units.hpp"
#include "hw/models/dram/device.hpp"

namespace tessera::dram {

enum class RefreshPolicy : std::uint8_t { none, all_bank, per_bank };
enum class PagePolicy : std::uint8_t { open, closed, adaptive };

/// Writes wait until there are many, then are drained until few are left: each change of direction costs clocks.
struct DrainPolicy {
  int high;  // write requests at which draining begins
  int low;   // write requests at which it ends when reads wait
};
[[nodiscard]] constexpr DrainPolicy drain_policy(int queue_depth) {
  const int high = queue_depth * 3 / 4 > 0 ? queue_depth * 3 / 4 : 1;
  return {high, queue_depth / 4};
}

struct QueueView {
  int reads = 0;  // requests that may be served (not held back by an older write to the same bytes)
  int writes = 0;
  int queued_writes = 0;         // also those held back
  bool read_starved = false;     // the oldest read waits longer than starvation_clocks()
  bool starved_blocked = false;  // ... because of an older write to the same bytes
};
/// Direction to serve next: true for writes.
[[nodiscard]] constexpr bool serve_writes(bool serving_writes, const QueueView& q, const DrainPolicy& policy) {
  if (q.writes == 0) return false;
  if (q.reads == 0) return true;
  if (q.read_starved) return q.starved_blocked;
  return serving_writes ? q.queued_writes > policy.low : q.queued_writes >= policy.high;
}

/// A burst that waited this long goes before younger ones: four times what a full queue needs at the peak rate.
[[nodiscard]] inline DramClocks starvation_clocks(const Device& device, int queue_depth) {
  return 4 * queue_depth * device.bursts_per_request() * device.t.BL;
}

/// True: a row command may not begin when a column command becomes ready before it ends. Only where ACT fits between
/// two bursts, else rows would never open under a stream of hits.
[[nodiscard]] constexpr bool columns_first(const Device& device) {
  return device.length.act <= device.t.CCD_S - device.length.rd;
}

/// Row hits waiting below this: the data bus runs dry soon, so opening rows goes before moving data.
[[nodiscard]] inline int enough_hits(const Device& device) {
  constexpr int kRequests = 3;
  return kRequests * device.bursts_per_request();
}

/// What a bank remembers for the adaptive page policy: 0..3, from 2 on its rows are closed.
class RowHistory {
 public:
  [[nodiscard]] bool close() const { return value_ >= 2; }
  /// The row in the way was another one: closing it early would have been right.
  void conflict() { value_ = value_ < 3 ? value_ + 1 : 3; }
  /// The row was wanted again: leaving it open was (or would have been) right.
  void reuse() { value_ = value_ > 0 ? value_ - 1 : 0; }

 private:
  int value_ = 0;
};

/// Closed page: the last queued burst of a row closes it with auto-precharge; adaptive: where the bank's history says
/// so.
[[nodiscard]] constexpr bool auto_precharge(PagePolicy policy, bool more_for_this_row, bool history_says_close) {
  return !more_for_this_row && (policy == PagePolicy::closed || (policy == PagePolicy::adaptive && history_says_close));
}

/// Work waits: a refresh is put off for as long as the debt allows, JEDEC's eight tREFI at most.
[[nodiscard]] inline DramClocks refresh_forced(DramClocks due, const Device& device, int debt) {
  return due >= kNever ? kNever : due + debt * device.t.REFI;
}

}  // namespace tessera::dram
