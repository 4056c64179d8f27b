#include "hw/models/unit/compute_unit.hpp"

#include <algorithm>
#include <utility>

#include "hw/common/error.hpp"
#include "hw/tlm/clock.hpp"

namespace tessera::hw {

using tlm_base::now_cycle;
using tlm_base::Process;

namespace {
constexpr Cycles kShortest = 32, kLongest = 1024;
}  // namespace

ComputeUnit::ComputeUnit(const sc_core::sc_module_name& name, int queue, const SramGeometry& geometry,
                         PlanFactory factory, Sram& sram, IssueSource& source)
    : sc_module(name),
      queue_(queue),
      factory_(std::move(factory)),
      sram_(sram),
      source_(source),
      unit_(geometry),
      ahead_(geometry),
      evaluate_(Process::of<&ComputeUnit::on_evaluate>(tlm_base::kEvaluate, *this)),
      commit_(Process::of<&ComputeUnit::on_commit>(tlm_base::kCommit, *this)) {
  sram.attach(queue, *this);
}

void ComputeUnit::start(const isa::Instruction& instruction, Cycles n, std::uint64_t) {
  TESSERA_CHECK(!busy_ && !popped_, name(), " started in cycle ", n, " while busy");
  popped_ = true;
  if (const auto* nop = std::get_if<isa::Nop>(&instruction.body)) {
    nop_cycles_ = nop->cycles;
    plan_.reset();
  } else {
    plan_ = factory_(instruction);
    macs_issued_ += plan_->macs_issued();
    array_cycles_ += plan_->array_cycles();
  }
  commit_.notify(n);
}

void ComputeUnit::set_private(bool is_private, Cycles n) {
  if (!busy_ || (!is_private && !private_)) {
    if (busy_) evaluate_.notify(n);
    return;
  }
  if (is_private == private_) return;
  private_ = is_private;
  if (!is_private) {
    (void)(unit_.may_self_conflict() ? unit_.walk_to(n) : unit_.advance_to(n));
    commit_.cancel();
    evaluate_.notify(n);
  } else if (unit_.may_self_conflict()) {
    stretch_ = kShortest;
    look_ahead();
  } else {
    commit_.notify(unit_.finish_if_unrefused() - 1);
  }
}

// Walks a copy ahead; until the unit itself comes there, nobody need look at it. Where another unit comes meanwhile,
// the walk was in vain: so stretches begin short and grow while none does.
void ComputeUnit::look_ahead() {
  ahead_ = unit_.clone();
  (void)ahead_.walk_to(unit_.state().next + stretch_);
  stretch_ = std::min(2 * stretch_, kLongest);
  commit_.notify(ahead_.state().next - 1);
}

bool ComputeUnit::requests_in(Cycles n) {
  if (!private_) return false;
  if (!unit_.may_self_conflict()) return unit_.requests_in(n);
  (void)unit_.walk_to(n);
  return unit_.request() != 0;
}

void ComputeUnit::on_evaluate() {
  if (!busy_ || private_) return;
  const Cycles n = now_cycle();
  ++stepped_;
  evaluated_ = n;
  if (const BankMask banks = unit_.request(); banks != 0) sram_.request(queue_, banks);
  commit_.notify(n);
}

void ComputeUnit::on_commit() {
  const Cycles n = now_cycle();
  if (popped_) return start_popped(n);
  if (!busy_) return;
  if (private_ && unit_.may_self_conflict()) {
    unit_ = std::move(ahead_);
    unit_.state().active ? look_ahead() : finish(n);
    return;
  }
  if (private_) {
    if (unit_.advance_to(n + 1)) finish(n);
    return;
  }
  if (evaluated_ != n) return;
  const Cycles conflicts = unit_.state().conflicts;
  const bool ends = unit_.commit(sram_.granted(queue_));
  if (unit_.state().conflicts != conflicts) sram_.lost(queue_, n);
  if (ends) {
    finish(n);
  } else {
    evaluate_.notify(n + 1);
  }
}

void ComputeUnit::start_popped(Cycles n) {
  popped_ = false;
  private_ = false;
  if (plan_) {
    unit_.start(n, std::move(plan_));
  } else {
    unit_.start_nop(n, nop_cycles_);
  }
  if (!unit_.state().active) return finish(n);
  busy_ = true;
  sram_.claim(queue_, unit_.banks(), unit_.may_self_conflict());
}

void ComputeUnit::finish(Cycles n) {
  const RigidUnitState& state = unit_.state();
  if (busy_) sram_.release(queue_);
  busy_ = false;
  private_ = false;
  StallCounts stalls{};
  stalls[static_cast<std::size_t>(StallCause::sram_bank_conflict)] = state.conflicts;
  account_.add(StallCause::sram_bank_conflict, state.conflicts);
  account_.busy += n + 1 - state.start - state.conflicts;
  source_.finished(queue_, n + 1, stalls, 0);
}

}  // namespace tessera::hw
