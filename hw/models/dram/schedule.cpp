// Choice of the next command (FR-FCFS) and what issuing it changes. Rules in words: README.md.
#include <algorithm>

#include "hw/common/error.hpp"
#include "hw/models/dram/channel.hpp"

namespace tessera::dram {

DramClocks Channel::column_ready(Direction direction, int bank_group) const {
  const auto& group = last_column_group_[static_cast<std::size_t>(bank_group)];
  const auto own = static_cast<std::size_t>(bank_group / device_.bank_groups);
  const auto& last = ranks_[own].last_column;
  DramClocks ready = std::max(last[direction] + t_.CCD_S, group[direction] + t_.CCD_L);
  if (direction == kWrite) {
    ready = std::max(ready, last[kRead] + t_.read_to_write());
  } else {
    ready = std::max({ready, last[kWrite] + t_.write_to_read_S(), group[kWrite] + t_.write_to_read_L()});
  }
  for (std::size_t r = 0; ranks_.size() > 1 && r < ranks_.size(); ++r) {  // the data bus changes hands
    if (r == own) continue;
    const DramClocks latency = direction == kWrite ? t_.WL : t_.RL;
    ready = std::max({ready, ranks_[r].last_column[kRead] + t_.RL + t_.BL + t_.RTRS - latency,
                      ranks_[r].last_column[kWrite] + t_.WL + t_.BL + t_.RTRS - latency});
  }
  return ready;
}

DramClocks Channel::act_ready(int bank_group) const {
  const Rank& rank = ranks_[static_cast<std::size_t>(bank_group / device_.bank_groups)];
  return std::max({rank.last_act + t_.RRD_S, last_act_group_[static_cast<std::size_t>(bank_group)] + t_.RRD_L,
                   rank.act_window[static_cast<std::size_t>(rank.act_slot)] + t_.FAW,
                   rank.last_bank_refresh + t_.PBR2ACT});
}

// Earlier clock first, then the starved one, then the older.
inline bool Channel::better(DramClocks clock, int entry, bool urgent, const Choice& than) const {
  if (clock != than.clock) return clock < than.clock;
  if (urgent != than.urgent) return urgent;
  return entries_[static_cast<std::size_t>(entry)].order < entries_[static_cast<std::size_t>(than.entry)].order;
}

void Channel::choose(DramClocks now) {
  QueueView view;
  view.reads = queues_[kRead].ready;
  view.writes = queues_[kWrite].ready;
  view.queued_writes = queues_[kWrite].requests + queues_[kWrite].own;
  int urgent = kNone;
  if (queues_[kRead].oldest != kNone) {
    const Entry& oldest = entries_[static_cast<std::size_t>(queues_[kRead].oldest)];
    view.read_starved = oldest.arrival + starvation_ <= now;
    view.starved_blocked = oldest.blocked_by > 0;
    if (view.read_starved) urgent = oldest.blocked_by > 0 ? blocker_of(oldest) : queues_[kRead].oldest;
  }
  writing_ = serve_writes(writing_, view, drain_);
  const Direction direction = writing_ ? kWrite : kRead;
  if (urgent != kNone && entries_[static_cast<std::size_t>(urgent)].request->write != writing_) urgent = kNone;

  Choice column;
  Choice row;
  int group = kNone;
  DramClocks act_from = 0;  // constraints of rank and group, for the group at hand
  DramClocks column_from = 0;
  DramClocks pre_from = 0;
  DramClocks wck_until = kNever;  // a column command after this clock needs a CAS before it
  int hits = 0;                   // bursts that wait for nothing but the data bus
  for (std::uint32_t mask = queues_[direction].banks & ~refresh_banks_; mask != 0; mask &= mask - 1) {
    const int b = __builtin_ctz(mask);
    const Bank& bank = banks_[static_cast<std::size_t>(b)];
    const Lane& lane = bank.lanes[direction];
    const bool starved = urgent != kNone && entries_[static_cast<std::size_t>(urgent)].at.bank == b;
    if (const int own = b / device_.banks_per_group; own != group) {
      group = own;
      act_from = std::max(now, act_ready(group));
      column_from = std::max(now, column_ready(direction, group));
      const Rank& rank = ranks_[static_cast<std::size_t>(group / device_.bank_groups)];
      pre_from = std::max(now, rank.last_pre + t_.PPD);
      if (device_.wck()) wck_until = rank.wck_until;
    }
    if (bank.row < 0) {
      const DramClocks at = std::max(bank.next_act, act_from);
      const int entry = starved ? urgent : lane.first;
      if (better(at, entry, starved, row)) row = {at, Action::activate, b, entry, starved};
      continue;
    }
    int hit = lane.hit;
    if (starved) hit = entries_[static_cast<std::size_t>(urgent)].at.row == bank.row ? urgent : kNone;
    if (hit != kNone) {
      const DramClocks seen = entries_[static_cast<std::size_t>(hit)].arrival + device_.read_latency_constant();
      const DramClocks at = std::max({bank.next_column, column_from, seen});
      const DramClocks lead = at > wck_until ? 1 : 0;
      const DramClocks from = std::max(now, at - lead);
      if (better(from, hit, starved, column)) column = {from, Action::column, b, hit, starved, lead};
      hits += lane.hits;
    } else {
      const DramClocks at = std::max(bank.next_pre, pre_from);
      const int entry = starved ? urgent : lane.first;
      if (better(at, entry, starved, row)) row = {at, Action::precharge, b, entry, starved};
    }
  }
  const DramClocks length = row.action == Action::activate ? device_.length.act : device_.length.pre;
  const bool row_first = row.urgent || (hits < enough_hits_ && !column.urgent);
  const DramClocks column_length = writing_ ? device_.length.wr : device_.length.rd;
  if (row_first ? row.clock < column.clock + column_length
                : row.clock < column.clock && !(columns_first_ && row.clock + length > column.clock)) {
    choice_ = row;
  } else {
    choice_ = column;
  }
  if (refresh_group_ != kNone) {
    const Choice refresh = bank_refresh_choice(now);
    if (refresh.clock <= choice_.clock) choice_ = refresh;
  }
  if (!half_open_.empty()) {
    // ACT-2 takes the first edge that no column command wants; at its last, or when a refresh waits for it, any.
    const HalfOpen& half = half_open_.front();
    const DramClocks at = std::max(now, half.since + 1);
    const bool must =
        at + 1 >= half.since + t_.AAD || at >= refresh_forced(refresh_due_, device_, config_.refresh_debt);
    if (must || at < choice_.clock || (at == choice_.clock && choice_.action != Action::column)) {
      choice_ = {at, Action::second_half, half.bank};
    }
  }
  choice_valid_ = true;
  TESSERA_CHECK(choice_.action != Action::none, "channel ", index_, " has work and nothing to do in clock ", now);
}

// Bursts of a lane that may be served and fit the row.
int Channel::count_hits(const Lane& lane, std::int64_t row) const {
  int count = 0;
  for (int i = lane.oldest; i != kNone; i = entries_[static_cast<std::size_t>(i)].bank_younger) {
    const Entry& e = entries_[static_cast<std::size_t>(i)];
    count += e.blocked_by == 0 && e.at.row == row ? 1 : 0;
  }
  return count;
}

// The oldest queued write to the same bytes.
int Channel::blocker_of(const Entry& read) const {
  const Bank& bank = banks_[static_cast<std::size_t>(read.at.bank)];
  for (int i = bank.lanes[kWrite].oldest; i != kNone; i = entries_[static_cast<std::size_t>(i)].bank_younger) {
    const Entry& write = entries_[static_cast<std::size_t>(i)];
    if (write.at.row == read.at.row && write.at.column == read.at.column) return i;
  }
  return kNone;
}

// --- commands --------------------------------------------------------------------------------------------------------

void Channel::emit(CommandKind kind, DramClocks clock, int bank, std::int64_t row, int column) {
  if (observer_ == nullptr) return;
  const int in_rank = bank % device_.banks();
  observer_->on_command({clock, kind, index_, rank_of(bank), in_rank / device_.banks_per_group,
                         in_rank % device_.banks_per_group, row, column});
}

void Channel::issue(const Choice& choice) {
  choice_valid_ = false;
  now_ = choice.clock;
  switch (choice.action) {
    case Action::column:
      issue_column(choice);
      break;
    case Action::activate:
      issue_activate(choice);
      break;
    case Action::second_half:
      issue_second_half(choice);
      break;
    case Action::precharge:
      issue_precharge(choice);
      break;
    case Action::refresh_bank:
      issue_bank_refresh(choice);
      break;
    case Action::none:
      break;
  }
}

void Channel::issue_column(const Choice& choice) {
  const DramClocks c = choice.clock + choice.lead;
  const Entry e = entries_[static_cast<std::size_t>(choice.entry)];
  Request& request = *e.request;
  const Direction direction = request.write ? kWrite : kRead;
  const DramClocks latency = request.write ? t_.WL : t_.RL;
  Bank& bank = banks_[static_cast<std::size_t>(choice.bank)];
  Rank& own = ranks_[static_cast<std::size_t>(e.at.rank)];
  if (choice.lead > 0) emit(CommandKind::cas, choice.clock, choice.bank, 0, 0);

  ChannelStatistics& s = account_.statistics;
  ++(request.write ? s.write_bursts : s.read_bursts);
  ++(!e.opened ? s.row_hits : e.conflict ? s.row_conflicts : s.row_misses);
  if (bank.refresh_end > kLongAgo) account_.refresh(bank.refresh_begin, bank.refresh_end);
  account_.column(c, latency, t_.BL, work_since_, column_ready(direction, e.at.bank_group));

  own.last_column[direction] = c;
  own.wck_until = c + latency + t_.BL + t_.WCKPST;
  last_column_group_[static_cast<std::size_t>(e.at.bank_group)][direction] = c;
  bus_free_ = c + (request.write ? device_.length.wr : device_.length.rd);
  const DramClocks precharge = c + (request.write ? t_.write_to_precharge() : t_.RTP);
  bank.next_pre = std::max(bank.next_pre, precharge);
  if (!e.opened && e.arrival > bank.last_column) bank.history.reuse();  // the row was left open for it
  bank.last_column = c;
  remove(choice.entry);

  const bool more = bank.lanes[kRead].hit != kNone || bank.lanes[kWrite].hit != kNone;
  if (auto_precharge(config_.page, more, bank.history.close())) {
    emit(request.write ? CommandKind::wra : CommandKind::rda, c, choice.bank, e.at.row, e.at.column);
    close_row(bank, c);
    bank.closed_row = e.at.row;
    bank.next_act = std::max(bank.next_act, bank.next_pre + t_.RP);
  } else {
    emit(request.write ? CommandKind::wr : CommandKind::rd, c, choice.bank, e.at.row, e.at.column);
  }

  listener_.on_column(index_, request.source, c);
  if (request.last_beat < 0) request.first_burst = c + latency + t_.BL - 1;
  request.last_beat = std::max(request.last_beat, c + latency + t_.BL - 1);
  if (--request.bursts_left > 0) return;
  request.issued = c;
  request.change(c, WaitState::flight);
  if (request.own) {
    --queues_[direction].own;
    free_own_.push_back(&request);
    return;
  }
  --queues_[direction].requests;
  listener_.on_issued(request);
}

void Channel::open_row(Rank& own, DramClocks clock) {
  if (own.open_rows++ == 0) own.active_since = clock;
}

// The bank has no open row from here on; without effect where it had none.
void Channel::close_row(Bank& bank, DramClocks clock) {
  if (bank.row < 0) return;
  Rank& own = rank(static_cast<int>(&bank - banks_.data()));
  if (--own.open_rows == 0) account_.statistics.active_clocks += clock - own.active_since;
  bank.row = -1;
  for (Lane& lane : bank.lanes) {
    lane.hit = kNone;
    lane.hits = 0;
  }
}

// An ACT or what counts as one.
void Channel::count_activate(Rank& own, DramClocks clock) {
  own.act_window[static_cast<std::size_t>(own.act_slot)] = clock;
  own.act_slot = (own.act_slot + 1) % 4;
}

void Channel::issue_activate(const Choice& choice) {
  const DramClocks a = choice.clock;
  Bank& bank = banks_[static_cast<std::size_t>(choice.bank)];
  Rank& own = rank(choice.bank);
  Entry& e = entries_[static_cast<std::size_t>(choice.entry)];
  e.opened = true;
  if (bank.closed_row >= 0) bank.closed_row == e.at.row ? bank.history.reuse() : bank.history.conflict();
  bank.closed_row = -1;
  bank.row = e.at.row;
  bank.next_act = a + t_.RC;
  bank.next_column = a + t_.RCD + t_.AAD;  // where ACT-2 follows: until it is out
  bank.next_pre = a + std::max(t_.RAS, t_.AAD + 1);
  own.last_act = a;
  last_act_group_[static_cast<std::size_t>(e.at.bank_group)] = a;
  count_activate(own, a);
  open_row(own, a);
  ++account_.statistics.activates;
  bus_free_ = a + device_.length.act;
  for (const Direction direction : {kRead, kWrite}) {
    bank.lanes[direction].hits = count_hits(bank.lanes[direction], bank.row);
    update_lane(bank, direction, choice.bank);
  }
  mark_opening(bank, bank.row, a, true);
  if (device_.split_activate()) half_open_.push_back({choice.bank, a});
  emit(device_.split_activate() ? CommandKind::act1 : CommandKind::act, a, choice.bank, bank.row, 0);
}

void Channel::issue_second_half(const Choice& choice) {
  Bank& bank = banks_[static_cast<std::size_t>(choice.bank)];
  half_open_.pop_front();
  bank.next_column = choice.clock + t_.RCD;
  bus_free_ = choice.clock + device_.length.act;
  mark_opening(bank, bank.row, choice.clock, true);
  emit(CommandKind::act2, choice.clock, choice.bank, bank.row, 0);
}

// For the entry of the choice, or (none) for a per-bank refresh.
void Channel::issue_precharge(const Choice& choice) {
  const DramClocks p = choice.clock;
  Bank& bank = banks_[static_cast<std::size_t>(choice.bank)];
  close_row(bank, p);
  bank.next_act = std::max(bank.next_act, p + t_.RP);
  rank(choice.bank).last_pre = p;
  bus_free_ = p + device_.length.pre;
  if (choice.entry != kNone) {
    Entry& e = entries_[static_cast<std::size_t>(choice.entry)];
    e.conflict = true;
    bank.history.conflict();
    mark_opening(bank, e.at.row, p, false);
  }
  emit(CommandKind::pre, p, choice.bank, 0, 0);
}

}  // namespace tessera::dram
