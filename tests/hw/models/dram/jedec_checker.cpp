#include "tests/hw/models/dram/jedec_checker.hpp"

#include <algorithm>
#include <sstream>

namespace tessera::dram::test {

using K = CommandKind;

DramClocks JedecChecker::length(CommandKind k) const {
  switch (k) {
    case K::act:
    case K::act1:
    case K::act2:
      return d_.length.act;
    case K::cas:
      return 1;
    case K::rd:
    case K::rda:
      return d_.length.rd;
    case K::wr:
    case K::wra:
      return d_.length.wr;
    case K::pre:
    case K::pre_all:
      return d_.length.pre;
    case K::ref_all:
    case K::ref_bank:
      return d_.length.ref;
  }
  return 0;
}

// Two commands to one rank.
void JedecChecker::pair(const Event& before, const Event& now, const Command& c) {
  const DramClocks gap = now.clock - before.clock;
  const bool same_bank = before.bank == now.bank;
  const bool same_group = before.group == now.group;
  const auto least = [&](const char* rule, DramClocks clocks) {
    if (gap < clocks) flag(rule, c);
  };
  switch (now.kind) {
    case K::act:
    case K::act1:
      if (is_act(before.kind)) {
        least("RRD_S", t_.RRD_S);
        if (same_group) least("RRD_L", t_.RRD_L);
        if (same_bank) least("RC", t_.RC);
      }
      if (before.kind == K::pre && same_bank) least("RP", t_.RP);
      if (before.kind == K::pre_all) least("RPab", t_.RPab);
      if (before.kind == K::ref_all) least("RFC", t_.RFC);
      if (before.kind == K::ref_bank) {
        if (refreshed_with(now.bank, before.bank)) {
          least("RFCpb", t_.RFCpb);
        } else {
          least("PBR2ACT", t_.PBR2ACT);
        }
      }
      break;
    case K::act2:
    case K::cas:
      break;
    case K::rd:
    case K::rda:
      if ((before.kind == K::act || before.kind == K::act2) && same_bank) least("RCD", t_.RCD);
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
      if ((before.kind == K::act || before.kind == K::act2) && same_bank) least("RCD", t_.RCD);
      if (is_write(before.kind)) {
        least("CCD_S", t_.CCD_S);
        if (same_group) least("CCD_L", t_.CCD_L);
      }
      if (is_read(before.kind)) least("RTW_gap", t_.RL + t_.BL + t_.RTW_gap - t_.WL);
      break;
    case K::pre:
    case K::pre_all: {
      const bool hits = now.kind == K::pre_all || same_bank;
      if (is_act(before.kind) && hits) least("RAS", t_.RAS);
      if (before.kind == K::rd && hits) least("RTP", t_.RTP);
      if (before.kind == K::wr && hits) least("WR", t_.WL + t_.BL + t_.WR);
      if (before.kind == K::pre || before.kind == K::pre_all) least("PPD", t_.PPD);
      if (before.kind == K::ref_all) least("RFC", t_.RFC);
      break;
    }
    case K::ref_all:
      if (is_act(before.kind)) least("RC", t_.RC);
      if (before.kind == K::pre) least("RP", t_.RP);
      if (before.kind == K::pre_all) least("RPab", t_.RPab);
      if (before.kind == K::ref_all) least("RFC", t_.RFC);
      if (before.kind == K::ref_bank) least("RFCpb", t_.RFCpb);
      break;
    case K::ref_bank: {
      const bool mine = refreshed_with(before.bank, now.bank);
      if (is_act(before.kind)) {
        least("RRD_S", t_.RRD_S);
        if (mine) least("RC", t_.RC);
      }
      if (before.kind == K::pre && mine) least("RP", t_.RP);
      if (before.kind == K::ref_bank) least("PBR2PBR", t_.PBR2PBR);
      if (before.kind == K::ref_bank && mine) least("RFCpb", t_.RFCpb);
      if (before.kind == K::ref_all) least("RFC", t_.RFC);
      break;
    }
  }
}

void JedecChecker::on_command(const Command& c) {
  ++commands_;
  ++kinds_[static_cast<std::size_t>(c.kind)];
  const Event now{c.clock, c.kind, c.rank, c.bank_group, c.bank_group * d_.banks_per_group + c.bank};
  if (!recent_.empty()) {
    const Event& last = recent_.back();
    if (now.clock < last.clock + length(last.kind)) flag("command bus", c);
    // CAS wakes WCK for the column command right behind it.
    if (last.kind == K::cas && !(is_column(now.kind) && now.clock == last.clock + 1 && now.rank == last.rank)) {
      flag("CAS without its column command", c);
    }
  }
  for (const Event& before : recent_) {
    if (before.rank == now.rank) pair(before, now, c);
  }
  state(now, c);
  constexpr DramClocks kMemory = 1000;
  recent_.push_back(now);
  if (recent_.size() > 400) {
    recent_.erase(
        std::remove_if(recent_.begin(), recent_.end(), [&](const Event& e) { return e.clock + kMemory < now.clock; }),
        recent_.end());
  }
}

// What must be open or closed, windows of several commands, the data bus.
void JedecChecker::state(const Event& now, const Command& c) {
  const int banks = d_.banks();
  const int bank = now.rank * banks + now.bank;
  RankState& rank = rank_[static_cast<std::size_t>(now.rank)];
  const auto each_bank = [&](auto&& f) {
    for (int b = now.rank * banks; b < (now.rank + 1) * banks; ++b) f(b);
  };
  if (is_act(c.kind) || c.kind == K::ref_all || c.kind == K::ref_bank) {  // precharges implied by auto-precharge
    for (const auto& [b, clock] : self_precharge_) {
      const bool mine = c.kind == K::ref_all    ? b / banks == now.rank
                        : c.kind == K::ref_bank ? b / banks == now.rank && refreshed_with(b % banks, now.bank)
                                                : b == bank;
      if (mine && c.clock < clock + t_.RP) flag("RP after auto-precharge", c);
    }
    if (c.kind != K::ref_all) {
      rank.activates.push_back(c.clock);
      const std::size_t n = rank.activates.size();
      if (n > 4 && c.clock - rank.activates[n - 5] < t_.FAW) flag("FAW", c);
    }
  }
  switch (c.kind) {
    case K::act:
    case K::act1:
      if (open_.count(bank) != 0) flag("ACT on an open bank", c);
      if ((c.kind == K::act1) != d_.split_activate()) flag("ACT in the wrong number of commands", c);
      open_[bank] = c.row;
      activated_[bank] = c.clock;
      if (c.kind == K::act1) half_[bank] = c.clock;
      self_precharge_.erase(bank);
      break;
    case K::act2:
      if (half_.count(bank) == 0 || open_[bank] != c.row) {
        flag("ACT-2 without its ACT-1", c);
      } else if (c.clock - half_[bank] > t_.AAD) {
        flag("AAD", c);
      }
      half_.erase(bank);
      break;
    case K::cas:
      if (!d_.wck()) flag("CAS on a device without WCK", c);
      break;
    case K::rd:
    case K::rda:
    case K::wr:
    case K::wra:
      column(now, c);
      break;
    case K::pre:
      if (open_.count(bank) == 0) flag("PRE on a closed bank", c);
      if (half_.count(bank) != 0) flag("PRE between ACT-1 and ACT-2", c);
      open_.erase(bank);
      break;
    case K::pre_all:
      each_bank([&](int b) {
        if (half_.count(b) != 0) flag("PRE between ACT-1 and ACT-2", c);
        open_.erase(b);
      });
      break;
    case K::ref_all:
      each_bank([&](int b) {
        if (open_.count(b) != 0) flag("REF with an open bank", c);
      });
      ++rank.refreshes;
      if (refresh_ != RefreshKind::all_bank) flag("REFab in another refresh mode", c);
      if (c.clock < rank.refreshes * t_.REFI) flag("REF before its time", c);
      debt(c.clock / t_.REFI, rank.refreshes, 8, c);
      break;
    case K::ref_bank:
      bank_refresh(now, c);
      break;
  }
}

void JedecChecker::column(const Event& now, const Command& c) {
  const int bank = now.rank * d_.banks() + now.bank;
  RankState& rank = rank_[static_cast<std::size_t>(now.rank)];
  ++bursts_;
  if (open_.count(bank) == 0 || open_[bank] != c.row) flag("column command on a closed or other row", c);
  if (half_.count(bank) != 0) flag("column command before ACT-2", c);
  const DramClocks begin = c.clock + (is_read(c.kind) ? t_.RL : t_.WL);
  if (begin < data_end_) flag("data windows overlap", c);
  if (data_rank_ != now.rank && data_end_ > 0 && begin < data_end_ + t_.RTRS) flag("RTRS", c);
  data_end_ = begin + t_.BL;
  data_rank_ = now.rank;
  if (d_.wck()) {
    const bool woken = !recent_.empty() && recent_.back().kind == K::cas;
    if (!woken && c.clock > rank.wck_until) flag("WCK off", c);
    rank.wck_until = data_end_ + t_.WCKPST;
  }
  if (c.kind == K::rda || c.kind == K::wra) {
    const DramClocks own = c.kind == K::rda ? c.clock + t_.RTP : c.clock + t_.WL + t_.BL + t_.WR;
    self_precharge_[bank] = std::max(own, activated_[bank] + t_.RAS);
    open_.erase(bank);
  }
}

void JedecChecker::bank_refresh(const Event& now, const Command& c) {
  RankState& rank = rank_[static_cast<std::size_t>(now.rank)];
  if (refresh_ != RefreshKind::per_bank) flag("REFpb in another refresh mode", c);
  for (int b = 0; b < d_.banks(); ++b) {
    if (!refreshed_with(b, now.bank)) continue;
    if (open_.count(now.rank * d_.banks() + b) != 0) flag("REF with an open bank", c);
    ++rank.refreshed[b];
  }
  std::int64_t least = INT64_MAX, most = 0;
  for (int b = 0; b < d_.banks(); ++b) {
    least = std::min(least, rank.refreshed[b]);
    most = std::max(most, rank.refreshed[b]);
  }
  if (most - least > 1) flag("a bank refreshed twice before all were once", c);
  const std::int64_t rounds = d_.banks() / d_.banks_per_refresh;
  ++rank.refreshes;
  // Banks and ranks may take each other's turn within a round, so one tREFI early is as early as it gets.
  if (c.clock < (rank.refreshes - rounds) * t_.REFI / rounds) flag("REF before its time", c);
  debt(c.clock * rounds / t_.REFI, rank.refreshes, 8 * rounds, c);
}

void JedecChecker::debt(std::int64_t due, std::int64_t done, std::int64_t most, const Command& c) {
  if (due - done > most) flag("refresh debt", c);
}

void JedecChecker::finish(DramClocks end) {
  Command c;
  c.clock = end;
  const std::int64_t rounds = d_.banks_per_refresh > 0 ? d_.banks() / d_.banks_per_refresh : 1;
  for (const RankState& rank : rank_) {
    if (refresh_ == RefreshKind::all_bank) debt(end / t_.REFI, rank.refreshes, 8, c);
    if (refresh_ == RefreshKind::per_bank) debt(end * rounds / t_.REFI, rank.refreshes, 8 * rounds, c);
    if (refresh_ == RefreshKind::none && rank.refreshes > 0) flag("refresh although off", c);
  }
  if (!half_.empty()) flag("ACT-1 without ACT-2", c);
}

std::string JedecChecker::text() const {
  std::ostringstream out;
  for (const auto& [rule, count] : violations_) {
    out << rule << ": " << count << " times, first in clock " << first_.at(rule) << "\n";
  }
  return out.str();
}

}  // namespace tessera::dram::test
