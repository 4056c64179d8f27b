#include "hw/models/reorder/plan.hpp"

#include <algorithm>

#include "hw/models/reorder/cost.hpp"
#include "hw/models/reorder/runs.hpp"
#include "hw/models/unit/bank_set.hpp"
#include "isa/semantics/footprint.hpp"

namespace tessera::hw {
namespace {

/// The segments of the copy, merged to steps: one pair of source and destination line a step.
class StepCursor {
 public:
  StepCursor(const ReorderRuns& runs, std::int64_t line_bytes)
      : runs_(&runs), line_bytes_(line_bytes), index_(runs.loops.size()), src_(runs.src), dst_(runs.dst) {
    locate();
  }

  [[nodiscard]] bool done() const { return done_; }
  [[nodiscard]] std::int64_t source_line() const { return source_line_; }
  [[nodiscard]] std::int64_t destination_line() const { return destination_line_; }

  /// To the first segment with another pair of lines.
  void advance() {
    const std::int64_t source = source_line_;
    const std::int64_t destination = destination_line_;
    do {
      next_segment();
    } while (!done_ && source == source_line_ && destination == destination_line_);
  }

 private:
  void locate() {
    source_line_ = src_ / line_bytes_;
    destination_line_ = dst_ / line_bytes_;
  }

  void next_segment() {
    const std::int64_t to_dst_end = line_bytes_ - dst_ % line_bytes_;
    const std::int64_t to_src_end = runs_->fill ? to_dst_end : line_bytes_ - src_ % line_bytes_;
    const std::int64_t bytes = std::min({to_dst_end, to_src_end, runs_->run_bytes - in_run_});
    in_run_ += bytes;
    if (!runs_->fill) src_ += bytes;
    dst_ += bytes;
    if (in_run_ == runs_->run_bytes) next_run();
    locate();
  }

  void next_run() {
    if (!runs_->fill) src_ -= runs_->run_bytes;
    dst_ -= runs_->run_bytes;
    in_run_ = 0;
    for (std::size_t level = runs_->loops.size(); level-- > 0;) {
      const ReorderLoop& loop = runs_->loops[level];
      src_ += loop.src_stride;
      dst_ += loop.dst_stride;
      if (++index_[level] < loop.count) return;
      src_ -= loop.count * loop.src_stride;
      dst_ -= loop.count * loop.dst_stride;
      index_[level] = 0;
    }
    done_ = true;
  }

  const ReorderRuns* runs_;
  std::int64_t line_bytes_;
  std::vector<std::int64_t> index_;
  std::int64_t src_, dst_, in_run_ = 0;
  std::int64_t source_line_ = 0, destination_line_ = 0;
  bool done_ = false;
};

class ReorderPlan final : public AccessPlan {
 public:
  ReorderPlan(const isa::Reorder& reorder, const isa::ChipConfig& chip)
      : shared_(std::make_shared<const ReorderRuns>(reorder)),
        runs_(*shared_),
        steps_(reorder_steps(reorder, chip)),
        latency_(chip.sram.read_latency + chip.reorder.pipeline_cycles),
        read_cursor_(runs_, chip.sram.line_bytes),
        write_next_(runs_, chip.sram.line_bytes),
        write_line_(write_next_.destination_line()) {
    write_next_.advance();
    BankMask source = 0, destination = 0;
    isa::Instruction instruction;
    instruction.body = reorder;
    for (const semantics::Range& range : semantics::footprint(instruction, chip)) {
      (range.write ? destination : source) |= banks_of_bytes(range.begin, range.end - range.begin, chip);
    }
    banks_ = source | destination;
    self_conflict_ = (source & destination) != 0;
  }

  [[nodiscard]] Cycles length() const override { return steps_ + latency_; }
  [[nodiscard]] std::unique_ptr<AccessPlan> clone() const override { return std::make_unique<ReorderPlan>(*this); }
  [[nodiscard]] BankMask banks() const override { return banks_; }
  [[nodiscard]] bool may_self_conflict() const override { return self_conflict_; }

  void accesses(Cycles e, AccessSet& out) override {
    out.clear();
    if (!runs_.fill && e < steps_) {
      for (; read_step_ < e; ++read_step_) {
        held_line_ = read_cursor_.source_line();
        read_cursor_.advance();
      }
      const std::int64_t line = read_cursor_.source_line();
      if (e == 0 || line != held_line_) out.add(static_cast<std::uint32_t>(line), false);
    }
    const Cycles step = e - latency_;
    if (step < 0) return;
    for (; write_step_ < step; ++write_step_) {
      write_line_ = write_next_.destination_line();
      write_next_.advance();
    }
    if (write_next_.done() || write_line_ != write_next_.destination_line()) {
      out.add(static_cast<std::uint32_t>(write_line_), true);
    }
  }

 private:
  std::shared_ptr<const ReorderRuns> shared_;  // with the clones
  const ReorderRuns& runs_;
  std::int64_t steps_;
  Cycles latency_;
  StepCursor read_cursor_, write_next_;  // the step under way; the step behind the one written now
  std::int64_t write_line_;
  Cycles read_step_ = 0, write_step_ = 0;
  std::int64_t held_line_ = -1;
  BankMask banks_ = 0;
  bool self_conflict_ = false;
};

}  // namespace

std::unique_ptr<AccessPlan> make_reorder_plan(const isa::Reorder& reorder, const isa::ChipConfig& chip) {
  return std::make_unique<ReorderPlan>(reorder, chip);
}

}  // namespace tessera::hw
