// Refresh of a channel: all banks at once or group by group, postponed or not, and counted only where it is idle.
#include <algorithm>

#include "hw/common/error.hpp"
#include "hw/models/dram/channel.hpp"

namespace tessera::dram {

// Earliest clock from `decision` on in which a refresh must begin although there is work; kNever while one is under
// way.
DramClocks Channel::refresh_event(DramClocks decision) const {
  if (refresh_group_ != kNone || !half_open_.empty()) return kNever;
  return std::max(refresh_forced(refresh_due_, device_, config_.refresh_debt), decision);
}

// --- all banks -------------------------------------------------------------------------------------------------------

void Channel::start_refresh(DramClocks clock) {
  refreshing_ = true;
  refresh_rank_ = 0;
  refresh_begin_ = clock;
  now_ = clock;
  choice_valid_ = false;
  listener_.on_refresh_begin(index_, clock);
}

// The next command of a refresh under way: precharge all in each rank with an open row, then refresh rank by rank.
// Issues it if its clock is at most `limit`; returns its clock.
DramClocks Channel::refresh_step(DramClocks limit) {
  const int banks = device_.banks();
  for (int r = 0; r < config_.ranks; ++r) {
    Rank& rank = ranks_[static_cast<std::size_t>(r)];
    if (rank.open_rows == 0) continue;
    DramClocks clock = std::max({refresh_begin_, bus_free_, rank.last_pre + t_.PPD});
    for (int b = r * banks; b < (r + 1) * banks; ++b) {
      clock = std::max(clock, banks_[static_cast<std::size_t>(b)].next_pre);  // also an auto-precharge still to come
    }
    if (clock > limit) return clock;
    for (int b = r * banks; b < (r + 1) * banks; ++b) {
      Bank& bank = banks_[static_cast<std::size_t>(b)];
      close_row(bank, clock);
      bank.next_act = std::max(bank.next_act, clock + t_.RPab);
    }
    rank.last_pre = clock;
    bus_free_ = clock + device_.length.pre;
    emit(CommandKind::pre_all, clock, r * banks, 0, 0);
    return clock;
  }
  DramClocks clock = std::max(refresh_begin_, bus_free_);
  for (int b = refresh_rank_ * banks; b < (refresh_rank_ + 1) * banks; ++b) {
    clock = std::max(clock, banks_[static_cast<std::size_t>(b)].next_act);
  }
  if (clock > limit) return clock;
  for (int b = refresh_rank_ * banks; b < (refresh_rank_ + 1) * banks; ++b) {
    banks_[static_cast<std::size_t>(b)].next_act = clock + t_.RFC;
  }
  bus_free_ = clock + device_.length.ref;
  ++account_.statistics.refreshes;
  emit(CommandKind::ref_all, clock, refresh_rank_ * banks, 0, 0);
  if (++refresh_rank_ < config_.ranks) return clock;
  refreshing_ = false;
  refresh_due_ += t_.REFI;
  account_.refresh(refresh_begin_, clock + t_.RFC);
  listener_.on_refresh_end(index_, clock + t_.RFC);
  return clock;
}

// Refreshes while nothing is queued, up to and including `limit`.
void Channel::idle_until(DramClocks limit) {
  if (config_.refresh == RefreshPolicy::all_bank) idle_all_bank(limit);
  if (config_.refresh == RefreshPolicy::per_bank) idle_per_bank(limit);
}

// The first refresh takes its steps (rows may be open), those between it and the last all look alike and are counted.
void Channel::idle_all_bank(DramClocks limit) {
  bool rows_closed = false;
  while (true) {
    if (refreshing_) {
      if (refresh_step(limit) > limit) return;
      rows_closed = !refreshing_;
      continue;
    }
    const DramClocks begin = std::max(refresh_due_, bus_free_);
    if (refresh_due_ >= kNever || begin > limit) return;
    const DramClocks length = t_.RFC + (config_.ranks - 1) * device_.length.ref;
    const DramClocks spare = limit - length - refresh_due_;
    if (rows_closed && begin == refresh_due_ && length + t_.REFI <= spare && banks_.back().next_act <= refresh_due_) {
      const std::int64_t count = spare / t_.REFI;
      for (std::int64_t i = 0; observer_ != nullptr && i < count; ++i) {
        for (int r = 0; r < config_.ranks; ++r) {
          emit(CommandKind::ref_all, refresh_due_ + i * t_.REFI + r * device_.length.ref, r * device_.banks(), 0, 0);
        }
      }
      account_.idle_refreshes(count, length);
      account_.statistics.refreshes += count * config_.ranks;
      refresh_due_ += count * t_.REFI;
      for (Bank& bank : banks_) bank.next_act = refresh_due_ - t_.REFI + length;
      rows_closed = false;  // the last one takes its steps again
      continue;
    }
    start_refresh(begin);
  }
}

// --- bank by bank ----------------------------------------------------------------------------------------------------

// The groups of all ranks take turns, each once a tREFI.
DramClocks Channel::bank_refresh_due(std::int64_t number) const { return number * t_.REFI / refresh_groups(); }

int Channel::bank_of_group(int group, int i) const {
  const int groups = device_.banks() / device_.banks_per_refresh;
  return group / groups * device_.banks() + group % groups + i * groups;
}

// Of the groups not yet refreshed in this round the first without waiting bursts, else the first.
void Channel::start_bank_refresh(DramClocks clock) {
  const std::uint32_t busy = queues_[kRead].banks | queues_[kWrite].banks;
  for (int group = refresh_groups() - 1; group >= 0; --group) {
    if ((refreshed_groups_ >> group & 1U) != 0) continue;
    std::uint32_t banks = 0;
    for (int i = 0; i < device_.banks_per_refresh; ++i) banks |= 1U << bank_of_group(group, i);
    if (refresh_group_ == kNone || (banks & busy) == 0 || (refresh_banks_ & busy) != 0) {
      refresh_group_ = group;
      refresh_banks_ = banks;
    }
  }
  now_ = std::max(now_, clock);
  choice_valid_ = false;
  for (int i = 0; i < device_.banks_per_refresh; ++i) {
    Bank& bank = banks_[static_cast<std::size_t>(bank_of_group(refresh_group_, i))];
    bank.refresh_begin = clock;
    bank.refresh_end = kNever;
    for (const Lane& lane : bank.lanes) {
      for (int e = lane.oldest; e != kNone; e = entries_[static_cast<std::size_t>(e)].bank_younger) {
        entries_[static_cast<std::size_t>(e)].request->change(clock, WaitState::refresh);
      }
    }
  }
}

// Precharge of an open bank of the group, or its refresh.
Channel::Choice Channel::bank_refresh_choice(DramClocks now) const {
  Choice open;
  DramClocks closed = now;
  const int first = bank_of_group(refresh_group_, 0);
  const Rank& own = ranks_[static_cast<std::size_t>(rank_of(first))];
  for (int i = 0; i < device_.banks_per_refresh; ++i) {
    const int b = bank_of_group(refresh_group_, i);
    const Bank& bank = banks_[static_cast<std::size_t>(b)];
    if (bank.row >= 0) {
      const DramClocks at = std::max({now, bank.next_pre, own.last_pre + t_.PPD});
      if (at < open.clock) open = {at, Action::precharge, b};
    }
    closed = std::max({closed, bank.next_act, own.last_act + t_.RRD_S,
                       last_act_group_[static_cast<std::size_t>(b / device_.banks_per_group)] + t_.RRD_L});
  }
  if (open.action != Action::none) return open;
  closed = std::max(
      {closed, own.act_window[static_cast<std::size_t>(own.act_slot)] + t_.FAW, own.last_bank_refresh + t_.PBR2PBR});
  return {closed, Action::refresh_bank, first};
}

void Channel::issue_bank_refresh(const Choice& choice) {
  const DramClocks end = choice.clock + t_.RFCpb;
  Rank& own = rank(choice.bank);
  own.last_bank_refresh = choice.clock;
  count_activate(own, choice.clock);
  bus_free_ = choice.clock + device_.length.ref;
  ++account_.statistics.refreshes;
  for (int i = 0; i < device_.banks_per_refresh; ++i) {
    Bank& bank = banks_[static_cast<std::size_t>(bank_of_group(refresh_group_, i))];
    bank.next_act = end;
    bank.refresh_end = end;
    for (const Lane& lane : bank.lanes) {
      for (int e = lane.oldest; e != kNone; e = entries_[static_cast<std::size_t>(e)].bank_younger) {
        entries_[static_cast<std::size_t>(e)].request->change(end, WaitState::queued);
      }
    }
  }
  refreshed_groups_ |= 1U << refresh_group_;
  if (refreshed_groups_ == (std::uint64_t{1} << refresh_groups()) - 1) refreshed_groups_ = 0;
  refresh_group_ = kNone;
  refresh_banks_ = 0;
  refresh_due_ = bank_refresh_due(++bank_refreshes_ + 1);
  emit(CommandKind::ref_bank, choice.clock, choice.bank, 0, 0);
}

void Channel::idle_per_bank(DramClocks limit) {
  while (true) {
    if (refresh_group_ != kNone) {
      const Choice step = bank_refresh_choice(std::max(now_, bus_free_));
      if (step.clock > limit) return;
      issue(step);
      continue;
    }
    const DramClocks begin = std::max(refresh_due_, bus_free_);
    if (begin > limit) return;
    if (!skip_idle_rounds(limit)) start_bank_refresh(begin);
  }
}

// Whole rounds in which every refresh comes on its due clock are counted only; the last round takes its steps.
bool Channel::skip_idle_rounds(DramClocks limit) {
  const int groups = refresh_groups();
  const std::int64_t rounds = (limit - refresh_due_) / t_.REFI - 1;
  if (rounds <= 0 || refreshed_groups_ != 0 || bank_refreshes_ % groups != 0) return false;
  for (const Bank& bank : banks_) {
    if (bank.row >= 0 || bank.next_act > refresh_due_) return false;
  }
  // Nothing of the past may hold one back, and neither may its predecessor.
  const DramClocks apart = t_.REFI / groups;
  const DramClocks settled = std::max({t_.FAW, t_.RRD_S, t_.RRD_L, t_.PBR2PBR});
  if (apart * (config_.ranks > 1 ? 1 : 4) < settled || apart < t_.PBR2PBR) return false;
  for (const Rank& rank : ranks_) {
    if (rank.last_act + settled > refresh_due_ || rank.last_bank_refresh + t_.PBR2PBR > refresh_due_) return false;
  }
  const std::int64_t count = rounds * groups;
  for (std::int64_t i = 1; observer_ != nullptr && i <= count; ++i) {
    const int group = static_cast<int>((i - 1) % groups);
    emit(CommandKind::ref_bank, bank_refresh_due(bank_refreshes_ + i), bank_of_group(group, 0), 0, 0);
  }
  for (int group = 0; group < groups; ++group) {
    const DramClocks at = bank_refresh_due(bank_refreshes_ + count - groups + group + 1);
    Rank& own = rank(bank_of_group(group, 0));
    own.last_bank_refresh = at;
    count_activate(own, at);
    for (int i = 0; i < device_.banks_per_refresh; ++i) {
      banks_[static_cast<std::size_t>(bank_of_group(group, i))].next_act = at + t_.RFCpb;
    }
  }
  account_.statistics.refreshes += count;
  bank_refreshes_ += count;
  refresh_due_ = bank_refresh_due(bank_refreshes_ + 1);
  return true;
}

ChannelStatistics Channel::result(DramClocks end) {
  TESSERA_CHECK(idle(), "channel ", index_, " still has requests at the end");
  idle_until(end);
  ChannelStatistics s = account_.result(end);
  for (const Rank& rank : ranks_) {
    if (rank.open_rows > 0) s.active_clocks += std::max<DramClocks>(0, s.clocks - rank.active_since);
  }
  return s;
}

}  // namespace tessera::dram
