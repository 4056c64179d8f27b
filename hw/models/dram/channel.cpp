#include "hw/models/dram/channel.hpp"

#include <algorithm>

#include "hw/common/error.hpp"

namespace tessera::dram {

const char* command_name(CommandKind kind) {
  switch (kind) {
    case CommandKind::act:
      return "ACT";
    case CommandKind::rd:
      return "RD";
    case CommandKind::wr:
      return "WR";
    case CommandKind::rda:
      return "RDA";
    case CommandKind::wra:
      return "WRA";
    case CommandKind::pre:
      return "PRE";
    case CommandKind::pre_all:
      return "PREab";
    case CommandKind::ref_all:
      return "REFab";
  }
  return "?";
}

Channel::Channel(const ChannelConfig& config, int index, ChannelListener& listener)
    : config_(config),
      device_(config.device),
      t_(config.device.t),
      index_(index),
      map_(config.address_map.empty() ? config.device.default_map : config.address_map, config.device),
      drain_(drain_policy(config.queue_depth)),
      starvation_(starvation_clocks(config.device, config.queue_depth)),
      columns_first_(columns_first(config.device)),
      enough_hits_(enough_hits(config.device)),
      listener_(listener),
      banks_(static_cast<std::size_t>(config.device.banks())),
      last_column_group_(static_cast<std::size_t>(config.device.bank_groups), {kLongAgo, kLongAgo}),
      last_act_group_(static_cast<std::size_t>(config.device.bank_groups), kLongAgo) {
  TESSERA_CHECK(device_.banks() <= 32, "more banks than the bank mask holds");
  if (config_.refresh == RefreshPolicy::all_bank) refresh_due_ = t_.REFI;
}

void Channel::push(Request& request, std::uint64_t address, DramClocks arrival) {
  TESSERA_CHECK(arrivals_.empty() || arrivals_.back().clock <= arrival, "arrival ", arrival, " goes back in time");
  TESSERA_CHECK(address % kRequestBytes == 0, "address ", address, " is not a multiple of 64");
  request.channel = index_;
  request.arrival = arrival;
  request.issued = -1;
  request.last_beat = -1;
  request.log_size = 0;
  arrivals_.push_back({arrival, address, &request});
  next_ = std::min(next_, arrival);
}

// --- the loop --------------------------------------------------------------------------------------------------------

void Channel::run_until(DramClocks limit) {
  while (true) {
    const DramClocks arrival = arrivals_.empty() ? kNever : arrivals_.front().clock;
    if (queues_[kRead].size + queues_[kWrite].size == 0) {
      next_ = arrival;
      if (arrival > limit) return;
      idle_until(arrival);
      work_since_ = arrival;
      now_ = std::max(now_, arrival);
      admit(arrival);
      continue;
    }
    const DramClocks decision = std::max(now_, bus_free_);
    if (arrival <= std::min(decision, limit)) {
      admit(std::min(decision, limit));
      continue;
    }
    DramClocks event = decision;
    bool refresh_starts = false;
    if (refreshing_) {
      event = refresh_step(INT64_MIN);
    } else if (decision <= limit || choice_valid_) {
      if (!choice_valid_) choose(decision);
      event = choice_.clock;
      if (event >= refresh_due_) {
        event = std::max(refresh_due_, decision);
        refresh_starts = true;
      }
    }
    if (arrival <= std::min(event, limit)) {
      now_ = std::max(now_, arrival);
      admit(arrival);
      continue;
    }
    next_ = event;
    if (event > limit) return;
    if (refresh_starts) {
      start_refresh(event);
    } else if (refreshing_) {
      refresh_step(limit);
    } else {
      issue(choice_);
    }
  }
}

// Takes in all arrivals up to `now`.
void Channel::admit(DramClocks now) {
  while (!arrivals_.empty() && arrivals_.front().clock <= now) {
    const Arrival arrival = arrivals_.front();
    arrivals_.pop_front();
    Request& request = *arrival.request;
    Queue& queue = queues_[request.write ? kWrite : kRead];
    ++queue.requests;
    TESSERA_CHECK(queue.requests <= config_.queue_depth, "channel ", index_, ": queue overflow in clock ", now);
    const int bursts = device_.bursts_per_request();
    request.bursts_left = bursts;
    for (int i = 0; i < bursts; ++i) {
      const auto offset = static_cast<std::uint64_t>(i * device_.burst_bytes);
      admit_burst(request, arrival.address + offset, arrival.clock);
    }
  }
  choice_valid_ = false;
}

void Channel::admit_burst(Request& request, std::uint64_t address, DramClocks arrival) {
  if (free_.empty()) {
    free_.push_back(static_cast<int>(entries_.size()));
    entries_.emplace_back();
  }
  const int index = free_.back();
  free_.pop_back();
  Entry& e = entries_[static_cast<std::size_t>(index)];
  e = Entry{};
  e.request = &request;
  e.at = map_.decode(address);
  e.order = next_order_++;
  e.arrival = arrival;
  const Direction direction = request.write ? kWrite : kRead;
  const Direction other = request.write ? kRead : kWrite;
  Queue& queue = queues_[direction];
  Bank& bank = banks_[static_cast<std::size_t>(e.at.bank)];
  Lane& lane = bank.lanes[direction];
  // Order of one address: wait for older bursts of the other direction to the same bytes.
  for (int i = bank.lanes[other].oldest; i != kNone; i = entries_[static_cast<std::size_t>(i)].bank_younger) {
    Entry& older = entries_[static_cast<std::size_t>(i)];
    if (older.at.row == e.at.row && older.at.column == e.at.column) {
      older.blocks = true;
      ++e.blocked_by;
    }
  }
  const auto append = [&](int& oldest, int& youngest, int Entry::*link_older, int Entry::*link_younger) {
    e.*link_older = youngest;
    if (youngest != kNone) {
      entries_[static_cast<std::size_t>(youngest)].*link_younger = index;
    } else {
      oldest = index;
    }
    youngest = index;
  };
  append(queue.oldest, queue.youngest, &Entry::older, &Entry::younger);
  append(lane.oldest, lane.youngest, &Entry::bank_older, &Entry::bank_younger);
  ++queue.size;
  if (e.blocked_by == 0) {
    ++queue.ready;
    queue.banks |= 1U << e.at.bank;
    if (lane.first == kNone) lane.first = index;
    if (lane.hit == kNone && bank.row == e.at.row) lane.hit = index;
  }
  if (bank.row == e.at.row && arrival < bank.next_column) {
    request.change(arrival, WaitState::opening);
    request.change(bank.next_column, WaitState::queued);
  }
}

// --- choice of the next command --------------------------------------------------------------------------------------

DramClocks Channel::column_ready(Direction direction, int bank_group) const {
  const auto& group = last_column_group_[static_cast<std::size_t>(bank_group)];
  const DramClocks same = std::max(last_column_[direction] + t_.CCD_S, group[direction] + t_.CCD_L);
  if (direction == kWrite) return std::max(same, last_column_[kRead] + t_.read_to_write());
  return std::max({same, last_column_[kWrite] + t_.write_to_read_S(), group[kWrite] + t_.write_to_read_L()});
}

DramClocks Channel::act_ready(int bank_group) const {
  return std::max({last_act_ + t_.RRD_S, last_act_group_[static_cast<std::size_t>(bank_group)] + t_.RRD_L,
                   act_window_[static_cast<std::size_t>(act_slot_)] + t_.FAW});
}

// Earlier clock first, then the starved one, then the older.
void Channel::consider(Choice& best, const Choice& other) const {
  if (other.clock > best.clock) return;
  if (other.clock == best.clock) {
    if (best.urgent != other.urgent) {
      if (best.urgent) return;
    } else if (entries_[static_cast<std::size_t>(other.entry)].order >
               entries_[static_cast<std::size_t>(best.entry)].order) {
      return;
    }
  }
  best = other;
}

void Channel::choose(DramClocks now) {
  QueueView view;
  view.reads = queues_[kRead].ready;
  view.writes = queues_[kWrite].ready;
  view.queued_writes = queues_[kWrite].requests;
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
  const DramClocks pre_from = std::max(now, last_pre_ + t_.PPD);
  int hits = 0;  // bursts that wait for nothing but the data bus, counted up to enough_hits_
  for (std::uint32_t mask = queues_[direction].banks; mask != 0; mask &= mask - 1) {
    const int b = __builtin_ctz(mask);
    const Bank& bank = banks_[static_cast<std::size_t>(b)];
    const Lane& lane = bank.lanes[direction];
    const bool starved = urgent != kNone && entries_[static_cast<std::size_t>(urgent)].at.bank == b;
    if (const int own = b / device_.banks_per_group; own != group) {
      group = own;
      act_from = std::max(now, act_ready(group));
      column_from = std::max(now, column_ready(direction, group));
    }
    if (bank.row < 0) {
      const DramClocks at = std::max(bank.next_act, act_from);
      consider(row, {at, Action::activate, b, starved ? urgent : lane.first, starved});
      continue;
    }
    int hit = lane.hit;
    if (starved) hit = entries_[static_cast<std::size_t>(urgent)].at.row == bank.row ? urgent : kNone;
    if (hit != kNone) {
      const DramClocks at = std::max(bank.next_column, column_from);
      consider(column, {at, Action::column, b, hit, starved});
      if (hits < enough_hits_) hits += count_hits(hit, enough_hits_ - hits);
    } else {
      const DramClocks at = std::max(bank.next_pre, pre_from);
      consider(row, {at, Action::precharge, b, starved ? urgent : lane.first, starved});
    }
  }
  const DramClocks length = row.action == Action::activate ? device_.length.act : device_.length.pre;
  const bool row_first = row.urgent || (hits < enough_hits_ && !column.urgent);
  if (row_first ? row.clock <= column.clock
                : row.clock < column.clock && !(columns_first_ && row.clock + length > column.clock)) {
    choice_ = row;
  } else {
    choice_ = column;
  }
  choice_valid_ = true;
  TESSERA_CHECK(choice_.action != Action::none, "channel ", index_, " has work and nothing to do in clock ", now);
}

// Bursts of one direction that fit the open row of a bank, from `first` on; counts no further than `most`.
int Channel::count_hits(int first, int most) const {
  const std::int64_t row = entries_[static_cast<std::size_t>(first)].at.row;
  int count = 0;
  for (int i = first; i != kNone && count < most; i = entries_[static_cast<std::size_t>(i)].bank_younger) {
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
  observer_->on_command(
      {clock, kind, index_, 0, bank / device_.banks_per_group, bank % device_.banks_per_group, row, column});
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
    case Action::precharge:
      issue_precharge(choice);
      break;
    case Action::none:
      break;
  }
}

void Channel::issue_column(const Choice& choice) {
  const DramClocks c = choice.clock;
  const Entry e = entries_[static_cast<std::size_t>(choice.entry)];
  Request& request = *e.request;
  const Direction direction = request.write ? kWrite : kRead;
  const DramClocks latency = request.write ? t_.WL : t_.RL;
  Bank& bank = banks_[static_cast<std::size_t>(choice.bank)];

  ChannelStatistics& s = account_.statistics;
  ++(request.write ? s.write_bursts : s.read_bursts);
  ++(!e.opened ? s.row_hits : e.conflict ? s.row_conflicts : s.row_misses);
  account_.column(c, latency, t_.BL, work_since_, column_ready(direction, e.at.bank_group));

  last_column_[direction] = c;
  last_column_group_[static_cast<std::size_t>(e.at.bank_group)][direction] = c;
  bus_free_ = c + (request.write ? device_.length.wr : device_.length.rd);
  const DramClocks precharge = c + (request.write ? t_.write_to_precharge() : t_.RTP);
  bank.next_pre = std::max(bank.next_pre, precharge);
  remove(choice.entry);

  const bool more = bank.lanes[kRead].hit != kNone || bank.lanes[kWrite].hit != kNone;
  const bool close = auto_precharge(config_.page, more);
  if (close) {
    emit(request.write ? CommandKind::wra : CommandKind::rda, c, choice.bank, e.at.row, e.at.column);
    bank.row = -1;
    bank.next_act = std::max(bank.next_act, bank.next_pre + t_.RP);
  } else {
    emit(request.write ? CommandKind::wr : CommandKind::rd, c, choice.bank, e.at.row, e.at.column);
  }

  listener_.on_column(index_, request.source, c);
  if (request.last_beat < 0) request.first_burst = c + latency + t_.BL - 1;
  request.last_beat = std::max(request.last_beat, c + latency + t_.BL - 1);
  if (--request.bursts_left == 0) {
    request.issued = c;
    request.change(c, WaitState::flight);
    --queues_[direction].requests;
    listener_.on_issued(request);
  }
}

void Channel::issue_activate(const Choice& choice) {
  const DramClocks a = choice.clock;
  Bank& bank = banks_[static_cast<std::size_t>(choice.bank)];
  Entry& e = entries_[static_cast<std::size_t>(choice.entry)];
  e.opened = true;
  bank.row = e.at.row;
  bank.next_act = a + t_.RC;
  bank.next_column = a + t_.RCD;
  bank.next_pre = a + t_.RAS;
  last_act_ = a;
  last_act_group_[static_cast<std::size_t>(e.at.bank_group)] = a;
  act_window_[static_cast<std::size_t>(act_slot_)] = a;
  act_slot_ = (act_slot_ + 1) % 4;
  bus_free_ = a + device_.length.act;
  update_lane(bank, kRead, choice.bank);
  update_lane(bank, kWrite, choice.bank);
  mark_opening(bank, bank.row, a, true);
  emit(CommandKind::act, a, choice.bank, bank.row, 0);
}

void Channel::issue_precharge(const Choice& choice) {
  const DramClocks p = choice.clock;
  Bank& bank = banks_[static_cast<std::size_t>(choice.bank)];
  Entry& e = entries_[static_cast<std::size_t>(choice.entry)];
  e.conflict = true;
  bank.row = -1;
  bank.next_act = std::max(bank.next_act, p + t_.RP);
  bank.lanes[kRead].hit = kNone;
  bank.lanes[kWrite].hit = kNone;
  last_pre_ = p;
  bus_free_ = p + device_.length.pre;
  mark_opening(bank, e.at.row, p, false);
  emit(CommandKind::pre, p, choice.bank, 0, 0);
}

// --- refresh ---------------------------------------------------------------------------------------------------------

void Channel::start_refresh(DramClocks clock) {
  refreshing_ = true;
  refresh_begin_ = clock;
  now_ = clock;
  choice_valid_ = false;
  listener_.on_refresh_begin(index_, clock);
}

// The next command of a refresh under way: precharge all if a row is open, then refresh. Issues it if its clock is at
// most `limit`; returns its clock.
DramClocks Channel::refresh_step(DramClocks limit) {
  DramClocks clock = std::max(refresh_begin_, bus_free_);
  DramClocks closed = clock;
  bool open = false;
  for (const Bank& bank : banks_) {
    open = open || bank.row >= 0;
    clock = std::max(clock, bank.next_pre);  // also where an auto-precharge is still to come
    closed = std::max(closed, bank.next_act);
  }
  if (open) {
    clock = std::max(clock, last_pre_ + t_.PPD);
    if (clock > limit) return clock;
    for (Bank& bank : banks_) {
      bank.row = -1;
      bank.lanes[kRead].hit = kNone;
      bank.lanes[kWrite].hit = kNone;
      bank.next_act = std::max(bank.next_act, clock + t_.RPab);
    }
    last_pre_ = clock;
    bus_free_ = clock + device_.length.pre;
    emit(CommandKind::pre_all, clock, 0, 0, 0);
    return clock;
  }
  if (closed > limit) return closed;
  for (Bank& bank : banks_) bank.next_act = closed + t_.RFC;
  bus_free_ = closed + device_.length.ref;
  refreshing_ = false;
  refresh_due_ += t_.REFI;
  account_.refresh(refresh_begin_, closed + t_.RFC);
  listener_.on_refresh_end(index_, closed + t_.RFC);
  emit(CommandKind::ref_all, closed, 0, 0, 0);
  return closed;
}

// Refreshes while nothing is queued, up to and including `limit`. The first takes its steps (rows may be open), those
// between it and the last all look alike and are counted only.
void Channel::idle_until(DramClocks limit) {
  bool rows_closed = false;
  while (true) {
    if (refreshing_) {
      if (refresh_step(limit) > limit) return;
      rows_closed = !refreshing_;
      continue;
    }
    const DramClocks begin = std::max(refresh_due_, bus_free_);
    if (refresh_due_ >= kNever || begin > limit) return;
    const DramClocks spare = limit - t_.RFC - refresh_due_;
    if (rows_closed && begin == refresh_due_ && t_.RFC + t_.REFI <= spare && banks_[0].next_act <= refresh_due_) {
      const std::int64_t count = spare / t_.REFI;
      if (observer_ != nullptr) {
        for (std::int64_t i = 0; i < count; ++i) emit(CommandKind::ref_all, refresh_due_ + i * t_.REFI, 0, 0, 0);
      }
      account_.idle_refreshes(count, t_.RFC);
      refresh_due_ += count * t_.REFI;
      for (Bank& bank : banks_) bank.next_act = refresh_due_ - t_.REFI + t_.RFC;
      rows_closed = false;  // the last one takes its steps again
      continue;
    }
    start_refresh(begin);
  }
}

ChannelStatistics Channel::result(DramClocks end) {
  TESSERA_CHECK(idle(), "channel ", index_, " still has requests at the end");
  idle_until(end);
  return account_.result(end);
}

int Channel::space(bool write) const {
  int waiting = 0;
  for (const Arrival& arrival : arrivals_) waiting += arrival.request->write == write ? 1 : 0;
  return config_.queue_depth - queues_[write ? kWrite : kRead].requests - waiting;
}

// --- queues ----------------------------------------------------------------------------------------------------------

void Channel::update_lane(Bank& bank, Direction direction, int bank_index) {
  Lane& lane = bank.lanes[direction];
  lane.first = kNone;
  lane.hit = kNone;
  for (int i = lane.oldest; i != kNone; i = entries_[static_cast<std::size_t>(i)].bank_younger) {
    const Entry& e = entries_[static_cast<std::size_t>(i)];
    if (e.blocked_by > 0) continue;
    if (lane.first == kNone) lane.first = i;
    if (e.at.row == bank.row) {
      lane.hit = i;
      break;
    }
    if (bank.row < 0) break;
  }
  const std::uint32_t bit = 1U << bank_index;
  queues_[direction].banks = lane.first == kNone ? queues_[direction].banks & ~bit : queues_[direction].banks | bit;
}

void Channel::remove(int index) {
  const Entry e = entries_[static_cast<std::size_t>(index)];
  const Direction direction = e.request->write ? kWrite : kRead;
  Queue& queue = queues_[direction];
  Bank& bank = banks_[static_cast<std::size_t>(e.at.bank)];
  Lane& lane = bank.lanes[direction];
  const auto unlink = [&](int& oldest, int& youngest, int Entry::*link_older, int Entry::*link_younger) {
    const int before = e.*link_older;
    const int after = e.*link_younger;
    (before == kNone ? oldest : entries_[static_cast<std::size_t>(before)].*link_younger) = after;
    (after == kNone ? youngest : entries_[static_cast<std::size_t>(after)].*link_older) = before;
  };
  unlink(queue.oldest, queue.youngest, &Entry::older, &Entry::younger);
  unlink(lane.oldest, lane.youngest, &Entry::bank_older, &Entry::bank_younger);
  --queue.size;
  --queue.ready;
  free_.push_back(index);
  update_lane(bank, direction, e.at.bank);
  if (e.blocks) unblock(e);
}

void Channel::unblock(const Entry& done) {
  const Direction other = done.request->write ? kRead : kWrite;
  Bank& bank = banks_[static_cast<std::size_t>(done.at.bank)];
  for (int i = bank.lanes[other].oldest; i != kNone; i = entries_[static_cast<std::size_t>(i)].bank_younger) {
    Entry& e = entries_[static_cast<std::size_t>(i)];
    if (e.order < done.order || e.at.row != done.at.row || e.at.column != done.at.column) continue;
    if (--e.blocked_by == 0) ++queues_[other].ready;
  }
  update_lane(bank, other, done.at.bank);
}

// Requests for `row` wait from `clock` on for it to open (until the column may follow, once it is activated); those
// that believed so for another row are back in the queue.
void Channel::mark_opening(Bank& bank, std::int64_t row, DramClocks clock, bool activated) {
  for (const Lane& lane : bank.lanes) {
    for (int i = lane.oldest; i != kNone; i = entries_[static_cast<std::size_t>(i)].bank_younger) {
      Entry& e = entries_[static_cast<std::size_t>(i)];
      if (e.at.row == row) {
        e.request->change(clock, WaitState::opening);
        if (activated) e.request->change(bank.next_column, WaitState::queued);
      } else if (e.request->state() == WaitState::opening) {
        e.request->change(clock, WaitState::queued);
      }
    }
  }
}

}  // namespace tessera::dram
