#include "hw/models/reorder/cost.hpp"

#include <numeric>

#include "hw/models/reorder/runs.hpp"

namespace tessera::hw {
namespace {

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }

struct Lines {
  std::int64_t src = 0;
  std::int64_t dst = 0;
  bool operator==(const Lines& other) const { return src == other.src && dst == other.dst; }
};

/// Steps of a nest, with the line pairs it begins and ends in: nests in a row share a step where those are equal.
struct Count {
  std::int64_t steps = 0;
  Lines first;
  Lines last;
};

class Counter {
 public:
  Counter(const ReorderRuns& runs, std::int64_t line_bytes) : runs_(runs), line_(line_bytes) {}

  [[nodiscard]] Count nest(std::size_t level, std::int64_t src, std::int64_t dst) const {
    if (level == runs_.loops.size()) return run(src, dst);
    const ReorderLoop& loop = runs_.loops[level];
    // Both offsets in a line repeat after `period` iterations; so do the steps and where iterations share one.
    const std::int64_t period =
        std::lcm(line_ / std::gcd(loop.src_stride, line_), line_ / std::gcd(loop.dst_stride, line_));
    const std::int64_t periods = loop.count / period;
    if (periods < 2) return sequence(level, src, dst, loop.count);
    const Count one = sequence(level, src, dst, period);
    const Lines shift{period * loop.src_stride / line_, period * loop.dst_stride / line_};
    const Lines second{one.first.src + shift.src, one.first.dst + shift.dst};
    Count all = one;
    all.steps = periods * one.steps - (periods - 1) * (one.last == second ? 1 : 0);
    all.last = {one.last.src + (periods - 1) * shift.src, one.last.dst + (periods - 1) * shift.dst};
    const std::int64_t done = periods * period;
    if (done == loop.count) return all;
    return join(all, sequence(level, src + done * loop.src_stride, dst + done * loop.dst_stride, loop.count - done));
  }

 private:
  [[nodiscard]] static Count join(const Count& a, const Count& b) {
    return {a.steps + b.steps - (a.last == b.first ? 1 : 0), a.first, b.last};
  }

  [[nodiscard]] Count sequence(std::size_t level, std::int64_t src, std::int64_t dst, std::int64_t count) const {
    const ReorderLoop& loop = runs_.loops[level];
    Count all = nest(level + 1, src, dst);
    for (std::int64_t i = 1; i < count; ++i) {
      all = join(all, nest(level + 1, src + i * loop.src_stride, dst + i * loop.dst_stride));
    }
    return all;
  }

  [[nodiscard]] Count run(std::int64_t src, std::int64_t dst) const {
    const std::int64_t src_end = runs_.fill ? src : src + runs_.run_bytes - 1;
    const std::int64_t dst_end = dst + runs_.run_bytes - 1;
    Count count;
    count.first = {floor_div(src, line_), floor_div(dst, line_)};
    count.last = {floor_div(src_end, line_), floor_div(dst_end, line_)};
    const std::int64_t src_crossings = count.last.src - count.first.src;
    const std::int64_t dst_crossings = count.last.dst - count.first.dst;
    const bool together = (src - dst) % line_ == 0;  // then both leave their lines at the same byte
    count.steps = 1 + (together ? std::max(src_crossings, dst_crossings) : src_crossings + dst_crossings);
    return count;
  }

  const ReorderRuns& runs_;
  std::int64_t line_;
};

}  // namespace

std::int64_t reorder_steps(const isa::Reorder& reorder, const isa::ChipConfig& chip) {
  const ReorderRuns runs(reorder);
  return Counter(runs, chip.sram.line_bytes).nest(0, runs.src, runs.dst).steps;
}

Cycles reorder_cycles(const isa::Reorder& reorder, const isa::ChipConfig& chip) {
  return reorder_steps(reorder, chip) + chip.sram.read_latency + chip.reorder.pipeline_cycles;
}

}  // namespace tessera::hw
