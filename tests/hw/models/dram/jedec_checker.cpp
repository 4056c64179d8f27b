#include "tests/hw/models/dram/jedec_checker.hpp"

#include <algorithm>
#include <sstream>

namespace tessera::dram::test {

DramClocks JedecChecker::length(CommandKind k) const {
  switch (k) {
    case CommandKind::act:
      return d_.length.act;
    case CommandKind::rd:
    case CommandKind::rda:
      return d_.length.rd;
    case CommandKind::wr:
    case CommandKind::wra:
      return d_.length.wr;
    case CommandKind::pre:
    case CommandKind::pre_all:
      return d_.length.pre;
    case CommandKind::ref_all:
      return d_.length.ref;
  }
  return 0;
}

void JedecChecker::pair(const Event& before, const Event& now, const Command& c) {
  const DramClocks gap = now.clock - before.clock;
  const bool same_bank = before.bank == now.bank;
  const bool same_group = before.group == now.group;
  const auto least = [&](const char* rule, DramClocks clocks) {
    if (gap < clocks) flag(rule, c);
  };
  using K = CommandKind;
  switch (now.kind) {
    case K::act:
      if (before.kind == K::act) {
        least("RRD_S", t_.RRD_S);
        if (same_group) least("RRD_L", t_.RRD_L);
        if (same_bank) least("RC", t_.RC);
      }
      if (before.kind == K::pre && same_bank) least("RP", t_.RP);
      if (before.kind == K::pre_all) least("RPab", t_.RPab);
      if (before.kind == K::ref_all) least("RFC", t_.RFC);
      break;
    case K::rd:
    case K::rda:
      if (before.kind == K::act && same_bank) least("RCD", t_.RCD);
      if (is_read(before.kind)) {
        least("CCD_S", t_.CCD_S);
        if (same_group) least("CCD_L", t_.CCD_L);
      }
      if (is_write(before.kind)) {
        least("WTR_S", t_.WL + t_.BL + t_.WTR_S);
        if (same_group) least("WTR_L", t_.WL + t_.BL + t_.WTR_L);
      }
      break;
    case K::wr:
    case K::wra:
      if (before.kind == K::act && same_bank) least("RCD", t_.RCD);
      if (is_write(before.kind)) {
        least("CCD_S", t_.CCD_S);
        if (same_group) least("CCD_L", t_.CCD_L);
      }
      if (is_read(before.kind)) least("RTW_gap", t_.RL + t_.BL + t_.RTW_gap - t_.WL);
      break;
    case K::pre:
    case K::pre_all: {
      const bool hits = now.kind == K::pre_all || same_bank;
      if (before.kind == K::act && hits) least("RAS", t_.RAS);
      if (before.kind == K::rd && hits) least("RTP", t_.RTP);
      if (before.kind == K::wr && hits) least("WR", t_.WL + t_.BL + t_.WR);
      if (before.kind == K::pre || before.kind == K::pre_all) least("PPD", t_.PPD);
      if (before.kind == K::ref_all) least("RFC", t_.RFC);
      break;
    }
    case K::ref_all:
      if (before.kind == K::act) least("RC", t_.RC);
      if (before.kind == K::pre) least("RP", t_.RP);
      if (before.kind == K::pre_all) least("RPab", t_.RPab);
      if (before.kind == K::ref_all) least("RFC", t_.RFC);
      break;
  }
}

void JedecChecker::on_command(const Command& c) {
  ++commands_;
  const int bank = c.bank_group * d_.banks_per_group + c.bank;
  const Event now{c.clock, c.kind, c.bank_group, bank};
  if (!recent_.empty()) {
    const Event& last = recent_.back();
    if (now.clock < last.clock + length(last.kind)) flag("command bus", c);
  }
  for (const Event& before : recent_) pair(before, now, c);

  using K = CommandKind;
  const bool row_command = c.kind == K::act || c.kind == K::ref_all;
  if (row_command) {  // precharges implied by auto-precharge
    for (const auto& [b, clock] : self_precharge_) {
      if ((c.kind == K::ref_all || b == bank) && c.clock < clock + t_.RP) flag("RP after auto-precharge", c);
    }
  }
  switch (c.kind) {
    case K::act:
      if (open_.count(bank) != 0) flag("ACT on an open bank", c);
      open_[bank] = c.row;
      activated_[bank] = c.clock;
      self_precharge_.erase(bank);
      activates_.push_back(c.clock);
      if (activates_.size() > 4 && c.clock - activates_[activates_.size() - 5] < t_.FAW) flag("FAW", c);
      break;
    case K::rd:
    case K::rda:
    case K::wr:
    case K::wra: {
      ++bursts_;
      if (open_.count(bank) == 0 || open_[bank] != c.row) flag("column command on a closed or other row", c);
      const DramClocks begin = c.clock + (is_read(c.kind) ? t_.RL : t_.WL);
      if (begin < data_end_) flag("data windows overlap", c);
      data_end_ = begin + t_.BL;
      if (c.kind == K::rda || c.kind == K::wra) {
        const DramClocks own = c.kind == K::rda ? c.clock + t_.RTP : c.clock + t_.WL + t_.BL + t_.WR;
        self_precharge_[bank] = std::max(own, activated_[bank] + t_.RAS);
        open_.erase(bank);
      }
      break;
    }
    case K::pre:
      if (open_.count(bank) == 0) flag("PRE on a closed bank", c);
      open_.erase(bank);
      break;
    case K::pre_all:
      open_.clear();
      break;
    case K::ref_all:
      if (!open_.empty()) flag("REF with an open bank", c);
      ++refreshes_;
      if (c.clock < refreshes_ * t_.REFI) flag("REF before its time", c);
      if (c.clock / t_.REFI - refreshes_ > 8) flag("refresh debt", c);
      break;
  }
  constexpr DramClocks kMemory = 1000;
  recent_.push_back(now);
  if (recent_.size() > 400) {
    recent_.erase(
        std::remove_if(recent_.begin(), recent_.end(), [&](const Event& e) { return e.clock + kMemory < now.clock; }),
        recent_.end());
  }
}

void JedecChecker::finish(DramClocks end) {
  if (refresh_ && end / t_.REFI - refreshes_ > 8) {
    Command c;
    c.clock = end;
    flag("refresh debt", c);
  }
}

std::string JedecChecker::text() const {
  std::ostringstream out;
  for (const auto& [rule, count] : violations_) {
    out << rule << ": " << count << " times, first in clock " << first_.at(rule) << "\n";
  }
  return out.str();
}

}  // namespace tessera::dram::test
