#include "hw/models/unit/rigid_unit.hpp"

#include <utility>

#include "hw/common/error.hpp"

namespace tessera::hw {

BankMask SramGeometry::mask_of_bytes(std::int64_t begin, std::int64_t end) const {
  if (end <= begin) return 0;
  BankMask mask = 0;
  const int last = bank_of_line((end - 1) / line_bytes);
  for (int bank = bank_of_line(begin / line_bytes); bank <= last; ++bank) mask |= BankMask{1} << bank;
  return mask;
}

void RigidUnit::start_nop(Cycles n, Cycles cycles) {
  TESSERA_CHECK(!state_.active, "started in cycle ", n, " while busy");
  TESSERA_CHECK(cycles >= 1, "NOP of ", cycles, " cycles");
  plan_.reset();
  // The cycle of the pop is the first of the NOP's cycles, so cycles - 1 engine cycles follow it.
  state_ = RigidUnitState{};
  state_.active = cycles > 1;
  state_.start = n;
  state_.length = cycles - 1;
  state_.next = n + 1;
  loaded_ = false;
}

void RigidUnit::start(Cycles n, std::unique_ptr<AccessPlan> plan) {
  TESSERA_CHECK(!state_.active, "started in cycle ", n, " while busy");
  plan_ = std::move(plan);
  state_ = RigidUnitState{};
  state_.length = plan_->length();
  TESSERA_CHECK(state_.length >= 0, "plan of ", state_.length, " engine cycles");
  state_.active = state_.length > 0;
  state_.start = n;
  state_.next = n + 1;
  loaded_ = false;
}

void RigidUnit::load() {
  loaded_ = true;
  subs_ = 1;
  sub_banks_[0] = 0;
  if (!plan_) return;
  scratch_.clear();
  plan_->accesses(state_.engine, scratch_);
  BankMask all = 0;
  for (int i = 0; i < scratch_.count; ++i) {
    const BankMask bank = mask_of(scratch_.items[static_cast<std::size_t>(i)]);
    if ((all & bank) != 0) return load_sub_cycles();
    all |= bank;
  }
  sub_banks_[0] = all;
}

// Ports meet: the j-th port of a bank, in port order, is served in sub-cycle j.
void RigidUnit::load_sub_cycles() {
  subs_ = 0;
  sub_banks_ = {};
  for (int i = 0; i < scratch_.count; ++i) {
    const BankMask bank = mask_of(scratch_.items[static_cast<std::size_t>(i)]);
    int j = 0;
    while ((sub_banks_[static_cast<std::size_t>(j)] & bank) != 0) ++j;
    sub_banks_[static_cast<std::size_t>(j)] |= bank;
    if (j + 1 > subs_) subs_ = j + 1;
  }
}

bool RigidUnit::commit(bool granted) {
  TESSERA_CHECK(state_.active, "commit of an idle unit");
  if (!loaded_) load();
  ++state_.next;
  if (sub_banks_[static_cast<std::size_t>(state_.sub)] != 0 && !granted) {
    ++state_.conflicts;
    return false;
  }
  if (state_.sub + 1 < subs_) {
    ++state_.sub;
    ++state_.conflicts;  // this cycle was one more than the engine cycle needs
    return false;
  }
  state_.sub = 0;
  loaded_ = false;
  ++state_.engine;
  state_.active = state_.engine < state_.length;
  return !state_.active;
}

bool RigidUnit::advance_to(Cycles cycle) {
  if (!state_.active || cycle <= state_.next) return false;
  TESSERA_CHECK(state_.sub == 0, "fast-forward inside a sub-cycle");
  TESSERA_CHECK(cycle <= finish_if_unrefused(), "fast-forward to ", cycle, " past the end ", finish_if_unrefused());
  state_.engine += cycle - state_.next;
  state_.next = cycle;
  loaded_ = false;
  state_.active = state_.engine < state_.length;
  return !state_.active;
}

RigidUnit RigidUnit::clone() const {
  RigidUnit copy(geometry_);
  copy.state_ = state_;
  if (plan_) copy.plan_ = plan_->clone();
  return copy;
}

bool RigidUnit::walk_to(Cycles cycle) {
  while (state_.active && state_.next < cycle) (void)commit(true);
  return !state_.active;
}

bool RigidUnit::requests_in(Cycles cycle) {
  if (!state_.active || !plan_) return false;
  const Cycles engine = state_.engine + (cycle - state_.next);
  if (engine < state_.engine || engine >= state_.length) return false;
  scratch_.clear();
  plan_->accesses(engine, scratch_);
  return scratch_.count > 0;
}

}  // namespace tessera::hw
