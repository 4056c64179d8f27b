#include "hw/models/unit/compute_unit.hpp"

#include <utility>

#include "hw/common/error.hpp"
#include "hw/tlm/clock.hpp"

namespace tessera::hw {

using tlm_base::now_cycle;
using tlm_base::Process;

ComputeUnit::ComputeUnit(const sc_core::sc_module_name& name, int queue, const SramGeometry& geometry,
                         PlanFactory factory, Sram& sram, IssueSource& source)
    : sc_module(name),
      queue_(queue),
      factory_(std::move(factory)),
      sram_(sram),
      source_(source),
      unit_(geometry),
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
  if (!busy_) return;
  if (is_private) {
    if (!private_) commit_.notify(unit_.finish_if_unrefused() - 1);
    private_ = true;
    return;
  }
  if (private_) {
    (void)unit_.advance_to(n);
    commit_.cancel();
    private_ = false;
  }
  evaluate_.notify(n);
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
  if (popped_) {
    popped_ = false;
    private_ = false;
    if (plan_) {
      unit_.start(n, std::move(plan_));
    } else {
      unit_.start_nop(n, nop_cycles_);
    }
    if (!unit_.state().active) {
      finish(n);
      return;
    }
    busy_ = true;
    sram_.claim(queue_, unit_.banks(), unit_.may_self_conflict());
    return;
  }
  if (!busy_) return;
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
