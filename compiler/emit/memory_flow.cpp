#include "compiler/emit/memory_flow.hpp"

#include <algorithm>
#include <limits>

namespace tessera::compiler {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kNoBytes = 1e-6;  // less is what rounding leaves of a transfer

}  // namespace

MemoryFlow::MemoryFlow(double bytes_per_cycle, int flows)
    : capacity_(bytes_per_cycle), next_(kInfinite), flows_(static_cast<std::size_t>(flows)) {}

void MemoryFlow::offer(int flow, double bytes, double most, int tag) {
  Flow& f = flows_[static_cast<std::size_t>(flow)];
  f.transfers.push_back({bytes, bytes, most, tag});
  f.backlog += bytes;
  share();
}

std::optional<MemoryFlow::Front> MemoryFlow::front(int flow) const {
  const Flow& f = flows_[static_cast<std::size_t>(flow)];
  if (f.transfers.empty()) return std::nullopt;
  const Transfer& t = f.transfers.front();
  return Front{t.tag, t.all, t.bytes, f.rate};
}

double MemoryFlow::falls_to(int flow, double bytes) const {
  const Flow& f = flows_[static_cast<std::size_t>(flow)];
  if (f.backlog <= bytes) return now_;
  const double rest = f.backlog - bytes;
  return rest <= f.transfers.front().bytes ? now_ + rest / f.rate : kInfinite;
}

void MemoryFlow::advance(double now, std::vector<Served>& served) {
  while (next_ <= now) {
    serve(next_);
    for (std::size_t i = 0; i < flows_.size(); ++i) {
      Flow& f = flows_[i];
      if (f.transfers.empty() || f.transfers.front().bytes > kNoBytes) continue;
      served.push_back({static_cast<int>(i), f.transfers.front().tag, now_});
      f.backlog -= f.transfers.front().bytes;
      f.transfers.pop_front();
      if (f.transfers.empty()) f.backlog = 0;
    }
    share();
  }
  serve(now);
}

void MemoryFlow::serve(double until) {
  for (Flow& f : flows_) {
    if (f.transfers.empty()) continue;
    const double bytes = std::min(f.transfers.front().bytes, f.rate * (until - now_));
    f.transfers.front().bytes -= bytes;
    f.backlog -= bytes;
    if (until == next_ && f.transfers.front().bytes < kNoBytes) f.transfers.front().bytes = 0;
  }
  now_ = until;
}

/// What a flow cannot take goes to the others in equal parts.
void MemoryFlow::share() {
  double left = capacity_;
  int open = 0;
  for (Flow& f : flows_) {
    f.rate = -1;
    if (!f.transfers.empty()) ++open;
  }
  for (bool changed = true; changed && open > 0;) {
    changed = false;
    const double part = left / open;
    for (Flow& f : flows_) {
      if (f.transfers.empty() || f.rate >= 0 || f.transfers.front().most > part) continue;
      f.rate = f.transfers.front().most;
      left -= f.rate;
      --open;
      changed = true;
      break;
    }
  }
  next_ = kInfinite;
  for (Flow& f : flows_) {
    if (f.transfers.empty()) continue;
    if (f.rate < 0) f.rate = left / open;
    next_ = std::min(next_, now_ + f.transfers.front().bytes / f.rate);
  }
}

}  // namespace tessera::compiler
