#include "compiler/emit/scratchpad.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "hw/common/error.hpp"
#include "hw/models/conv/plan.hpp"
#include "hw/models/edp/plan.hpp"
#include "hw/models/gemm/plan.hpp"
#include "hw/models/reorder/plan.hpp"
#include "isa/semantics/layout.hpp"

namespace tessera::compiler {
namespace {

std::unique_ptr<hw::AccessPlan> make_plan(const isa::Body& work, const isa::ChipConfig& chip) {
  if (const auto* conv = std::get_if<isa::Conv>(&work)) return hw::make_conv_plan(*conv, chip);
  if (const auto* gemm = std::get_if<isa::Gemm>(&work)) return hw::make_gemm_plan(*gemm, chip);
  if (const auto* edp = std::get_if<isa::Edp>(&work)) return hw::make_edp_plan(*edp, chip);
  if (const auto* reorder = std::get_if<isa::Reorder>(&work)) return hw::make_reorder_plan(*reorder, chip);
  TESSERA_CHECK(false, "no plan for an instruction of kind ", work.index());
}

template <std::size_t... I>
std::array<hw::RigidUnit, sizeof...(I)> units_of(const hw::SramGeometry& geometry, std::index_sequence<I...>) {
  return {((void)I, hw::RigidUnit(geometry))...};
}

}  // namespace

Scratchpad::Scratchpad(const isa::ChipConfig& chip)
    : chip_(chip),
      units_(units_of({chip.sram.line_bytes, semantics::bank_lines(chip), static_cast<int>(chip.sram.banks)},
                      std::make_index_sequence<hw::kSramPorts>())) {}

void Scratchpad::start(int queue, Cycles n, const isa::Body& work) {
  units_[static_cast<std::size_t>(queue)].start(n, make_plan(work, chip_));
  busy_ = static_cast<hw::PortMask>(busy_ | 1U << queue);
  at_ = n;
  sorted_ = false;
}

void Scratchpad::begin_stream(int queue, const DmaStream& walk) {
  Stream& stream = streams_[static_cast<std::size_t>(queue)];
  // What the instruction before is behind comes first.
  const std::int64_t behind = std::max<std::int64_t>(stream.behind - (at_ - stream.known), 0);
  stream = {};
  stream.active = true;
  stream.walk = walk;
  stream.moved = -behind;
  stream.known = at_;
  sorted_ = false;
}

void Scratchpad::pace_stream(int queue, double at, double per_cycle) {
  Stream& stream = streams_[static_cast<std::size_t>(queue)];
  catch_up(stream, static_cast<std::int64_t>(at));
  stream.at = at;
  stream.per_cycle = per_cycle;
}

std::int64_t Scratchpad::end_stream(int queue) {
  Stream& stream = streams_[static_cast<std::size_t>(queue)];
  if (!stream.active) return 0;
  sorted_ = false;
  stream.active = false;
  const std::int64_t last = stream.walk.lines() - 1;  // comes now
  catch_up(stream, last);
  stream.behind = std::max<std::int64_t>(last - stream.moved, 0);
  return stream.behind;
}

/// Cycles in which nobody was stepped beside it: a line in each, as far as `due`.
void Scratchpad::catch_up(Stream& stream, std::int64_t due) const {
  stream.moved = std::max(stream.moved, std::min(due, stream.moved + at_ - stream.known));
  stream.known = at_;
}

/// Where the stream asks in this cycle, 0 if it does not.
BankMask Scratchpad::next_bank(Stream& stream) {
  if (!stream.active) return 0;
  stream.at += stream.per_cycle * static_cast<double>(at_ - stream.known);
  catch_up(stream, static_cast<std::int64_t>(stream.at));
  if (stream.moved >= stream.walk.lines()) {
    stream.active = sorted_ = false;
    return 0;
  }
  stream.at += stream.per_cycle;
  ++stream.known;
  if (static_cast<double>(stream.moved + 1) > stream.at) return 0;
  return stream.walk.bank_of(std::max<std::int64_t>(stream.moved, 0));
}

Cycles Scratchpad::finish_of(int queue) const {
  const hw::RigidUnit& unit = units_[static_cast<std::size_t>(queue)];
  return unit.state().active ? unit.finish_if_unrefused() : unit.state().next;
}

/// Which units may meet; those that could not before come to the present.
void Scratchpad::sort_units() {
  sorted_ = true;
  shared_ = 0;
  for (int a = 0; a < hw::kSramPorts; ++a) {
    if (!busy(a)) continue;
    hw::RigidUnit& unit = units_[static_cast<std::size_t>(a)];
    bool meets = unit.may_self_conflict();
    for (const Stream& stream : streams_) meets |= stream.active && (stream.walk.banks() & unit.banks()) != 0;
    for (int b = 0; b < hw::kSramPorts && !meets; ++b) {
      meets = a != b && busy(b) && (unit.banks() & units_[static_cast<std::size_t>(b)].banks()) != 0;
    }
    if (!meets) continue;
    shared_ = static_cast<hw::PortMask>(shared_ | 1U << a);
    (void)unit.advance_to(at_);
  }
}

Cycles Scratchpad::first_known_finish() {
  if (!sorted_) sort_units();
  Cycles first = kNever;
  for (int q = 0; q < hw::kSramPorts; ++q) {
    const bool known = (shared_ >> q & 1) == 0 || !units_[static_cast<std::size_t>(q)].state().active;
    if (busy(q) && known) first = std::min(first, finish_of(q));
  }
  return first;
}

Cycles Scratchpad::run(Cycles until) {
  if (!stepping()) {
    at_ = std::max(at_, until);
    return until;
  }
  for (; at_ < until && !finished_; ++at_) {
    std::array<BankMask, hw::kSramPorts> banks{};
    unsigned asking = 0;
    for (unsigned left = shared_; left != 0; left &= left - 1) {
      const auto q = static_cast<std::size_t>(__builtin_ctz(left));
      if (!units_[q].state().active || units_[q].state().next > at_) continue;
      banks[q] = units_[q].request();
      if (banks[q] != 0) asking |= 1U << q;
    }
    for (std::size_t q = 0; q < streams_.size(); ++q) {
      banks[q] = next_bank(streams_[q]);
      if (banks[q] != 0) asking |= 1U << q;
    }
    const hw::SramDecision decision =
        arbiter_.decide(banks, static_cast<hw::PortMask>(asking), [](int) { return false; });
    for (unsigned left = shared_; left != 0; left &= left - 1) {
      const auto q = static_cast<std::size_t>(__builtin_ctz(left));
      if (!units_[q].state().active || units_[q].state().next > at_) continue;
      finished_ |= units_[q].commit((decision.granted >> q & 1) != 0);
    }
    for (std::size_t q = 0; q < streams_.size(); ++q) streams_[q].moved += decision.granted >> q & 1;
  }
  return at_;
}

hw::PortMask Scratchpad::take_finished(Cycles n) {
  hw::PortMask finished = 0;
  finished_ = false;
  for (int q = 0; q < hw::kSramPorts; ++q) {
    if (!busy(q)) continue;
    hw::RigidUnit& unit = units_[static_cast<std::size_t>(q)];
    const bool is_shared = (shared_ >> q & 1) != 0;
    if (is_shared ? unit.state().active || unit.state().next > n : finish_of(q) > n) continue;
    (void)unit.advance_to(n);
    finished = static_cast<hw::PortMask>(finished | 1U << q);
  }
  if (finished != 0) sorted_ = false;
  busy_ = static_cast<hw::PortMask>(busy_ & ~finished);
  return finished;
}

}  // namespace tessera::compiler
