#include "hw/cosim/rtl_unit.hpp"

#include <algorithm>
#include <cstring>

#include "hw/common/error.hpp"
#include "hw/cosim/core_library_cache.hpp"
#include "hw/cosim/rtl_core.hpp"
#include "hw/platform/chip.hpp"
#include "hw/tlm/clock.hpp"

namespace tessera::cosim {

using tlm_base::kCommit;
using tlm_base::kEvaluate;
using tlm_base::notify_at;
using tlm_base::now_cycle;

RtlUnit::RtlUnit(const sc_core::sc_module_name& name, const isa::ChipConfig& chip, int queue, hw::Sram& sram,
                 hw::IssueSource& source)
    : sc_module(name),
      chip_(chip),
      queue_(queue),
      sram_(sram),
      source_(source),
      api_(unit_library(chip, static_cast<isa::QueueId>(queue))),
      unit_(api_.create(), api_.destroy),
      pipeline_(static_cast<std::size_t>(chip.sram.read_latency)),
      evaluate_event_("evaluate"),
      commit_event_("commit") {
  sram.attach(queue, *this);
  SC_METHOD(on_evaluate);
  sensitive << evaluate_event_;
  dont_initialize();
  SC_METHOD(on_commit);
  sensitive << commit_event_;
  dont_initialize();
}

void RtlUnit::start(const isa::Instruction& instruction, Cycles n, std::uint64_t) {
  TESSERA_CHECK(!busy_, name(), " started in cycle ", n, " while busy");
  const bool nop = instruction.header.opcode == isa::Opcode::nop;
  in_.start = !nop;
  in_.start_nop = nop;
  in_.head.fill(0);
  std::size_t at = 0;
  for (const isa::Word& word : isa::encode(instruction)) {
    TESSERA_CHECK(at + word.size() <= in_.head.size(), name(), ": an instruction of more words than the RTL takes");
    std::memcpy(&in_.head[at], word.data(), word.size());
    at += word.size();
  }
  if (!nop) {
    const auto plan = platform::make_plan(instruction, chip_);
    macs_issued_ += plan->macs_issued();
    array_cycles_ += plan->array_cycles();
  }
  notify_at(commit_event_, n, kCommit);
}

void RtlUnit::on_evaluate() {
  if (!busy_) return;
  const Cycles n = now_cycle();
  ++stepped_;
  in_.data = pipeline_.front();
  api_.eval(unit_.get(), in_, out_);
  BankMask banks = 0;
  for (const UnitAccess& access : out_.accesses) {
    if (access.valid) banks |= BankMask{1} << access.bank;
  }
  if (banks != 0) {
    requested_ = n;
    sram_.request(queue_, banks);
  }
  notify_at(commit_event_, n, kCommit);
}

/// A granted access: lines go to and from the scratchpad at once; what was read reaches the unit read_latency later.
void RtlUnit::move(const UnitAccess& access, std::size_t port) {
  const auto line_bytes = static_cast<std::size_t>(chip_.sram.line_bytes);
  const std::size_t at = access.bank * static_cast<std::size_t>(chip_.sram.size_bytes) + access.line * line_bytes;
  if (bytes_ == nullptr || bytes_->empty()) return;
  TESSERA_CHECK(at + line_bytes <= bytes_->size(), name(), " wants bank ", access.bank, " line ", access.line);
  if (!access.write) {
    std::memcpy(pipeline_.back()[port].data(), &(*bytes_)[at], line_bytes);
    return;
  }
  for (std::size_t i = 0; i < line_bytes; ++i) {
    if ((access.strobes[i / 8] >> i % 8 & 1) != 0) (*bytes_)[at + i] = access.data[i];
  }
}

void RtlUnit::fail(const std::string& text) {
  failure_ = detail::concat(text, " failed in unit ", isa::to_string(static_cast<isa::QueueId>(queue_)), " (in cycle ",
                            now_cycle(), ")");
  sc_core::sc_stop();
}

void RtlUnit::on_commit() {
  const Cycles n = now_cycle();
  const bool starts = in_.start || in_.start_nop;
  in_.granted = requested_ == n && sram_.granted(queue_);
  in_.data = pipeline_.front();
  api_.eval(unit_.get(), in_, out_);
  pipeline_.pop_front();
  pipeline_.emplace_back();
  if (in_.granted) {
    for (std::size_t p = 0; p < out_.accesses.size(); ++p) {
      if (out_.accesses[p].valid) move(out_.accesses[p], p);
    }
  }
  if (starts || !out_.conflict) {
    ++account_.busy;
  } else {
    account_.add(StallCause::sram_bank_conflict, 1);
    sram_.lost(queue_, n);
    ++stalls_[static_cast<std::size_t>(StallCause::sram_bank_conflict)];
  }
  api_.edge(unit_.get());
  if (const char* failure = api_.failure(unit_.get())) return fail(failure);
  in_.start = in_.start_nop = in_.granted = false;
  api_.eval(unit_.get(), in_, out_);
  if (!busy_ && !out_.done) sram_.claim(queue_, ~BankMask{0}, true);
  if (out_.done) {
    if (busy_) sram_.release(queue_);
    source_.finished(queue_, n + 1, std::exchange(stalls_, hw::StallCounts{}), 0);
  }
  busy_ = !out_.done;
  if (busy_) notify_at(evaluate_event_, n + 1, kEvaluate);
}

RtlUnits::RtlUnits(const isa::ChipConfig& chip, const std::vector<std::string>& names) : chip_(chip) {
  std::string legal;
  for (std::size_t u = 0; u < kUnits; ++u) {
    if (kQueueOfUnit[u] >= static_cast<int>(isa::QueueId::conv0) && platform::has_unit(chip, kQueueOfUnit[u]))
      legal += std::string(legal.empty() ? "" : ", ") + kUnitNames[u];
  }
  for (const std::string& name : names) {
    const auto unit = std::find(kUnitNames.begin(), kUnitNames.end(), name);
    const int queue = unit != kUnitNames.end() ? kQueueOfUnit[static_cast<std::size_t>(unit - kUnitNames.begin())] : 0;
    const bool known = unit != kUnitNames.end() && platform::has_unit(chip, queue);
    if (known && queue < static_cast<int>(isa::QueueId::conv0)) {
      user_error("--rtl-unit ", name,
                 ": LOAD and STORE are in RTL with the whole core only (--backend rtl); legal: ", legal);
    }
    if (!known) user_error("--rtl-unit ", name, ": has no RTL; legal: ", legal);
    queues_.push_back(queue);
  }
}

bool RtlUnits::has(int queue) const { return std::find(queues_.begin(), queues_.end(), queue) != queues_.end(); }

std::unique_ptr<hw::IssueTarget> RtlUnits::make(int core, int queue, const std::string& name, hw::Sram& sram,
                                                hw::IssueSource& source) {
  auto unit = std::make_unique<RtlUnit>(name.c_str(), chip_, queue, sram, source);
  units_.emplace_back(core, unit.get());
  return unit;
}

void RtlUnits::connect(int core, std::vector<std::uint8_t>& sram) {
  for (const auto& [of, unit] : units_) {
    if (of == core) unit->connect(sram);
  }
}

std::string RtlUnits::failure() const {
  for (const auto& [core, unit] : units_) {
    if (!unit->failure().empty()) return unit->failure();
  }
  return "";
}

}  // namespace tessera::cosim
