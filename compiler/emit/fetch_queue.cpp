#include "compiler/emit/fetch_queue.hpp"

#include <algorithm>

#include "isa/isa.hpp"

namespace tessera::compiler {
namespace {

constexpr std::int64_t kMostOfAnInstruction = isa::kMaxWords - 1;  // that stand in the prefetch, incomplete
constexpr std::int64_t kWordBytes = isa::kWordBytes;
constexpr std::int64_t kPageWords = 4096 / kWordBytes;
// Last beat to start, and start to the next start (rules 4 and 5).
constexpr Cycles kArrivalToStart = 2;

}  // namespace

FetchQueue::FetchQueue(const isa::ChipConfig& chip, Cycles doorbell)
    : prefetch_(chip.cp.prefetch_words),
      burst_(chip.cp.fetch_words),
      most_words_(std::max<std::int64_t>(1, chip.axi.max_burst_beats * chip.axi.data_bytes / kWordBytes)),
      popped_(doorbell) {}

std::int64_t FetchQueue::raise() {
  const std::int64_t left = (ends_.empty() ? 0 : ends_.back()) - requested_;
  if (outstanding_ || left == 0) return 0;
  const std::int64_t space = prefetch_ - (arrived_ - taken_);
  if (space < std::min({burst_, left, prefetch_ - kMostOfAnInstruction})) return 0;
  const std::int64_t words = std::min({burst_, left, space, kPageWords - requested_ % kPageWords, most_words_});
  requested_ += words;
  outstanding_ = true;
  return words;
}

void FetchQueue::arrive(Cycles n) {
  arrived_ = requested_;
  outstanding_ = false;
  if (ready_ == kNever) load(n + kArrivalToStart);
}

void FetchQueue::pop(Cycles n) {
  ++head_;
  popped_ = n;
  ready_ = kNever;
  load(n + 1);
}

/// The next instruction becomes the head, if it is there.
void FetchQueue::load(Cycles n) {
  if (done() || arrived_ < ends_[head_]) return;
  taken_ = ends_[head_];
  ready_ = std::max(n, popped_ + 1);
}

}  // namespace tessera::compiler
