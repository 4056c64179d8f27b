#include "hw/models/dram/channel.hpp"

#include <algorithm>

#include "hw/common/error.hpp"

namespace tessera::dram {

const char* command_name(CommandKind kind) {
  switch (kind) {
    case CommandKind::act:
      return "ACT";
    case CommandKind::act1:
      return "ACT1";
    case CommandKind::act2:
      return "ACT2";
    case CommandKind::cas:
      return "CAS";
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
    case CommandKind::ref_bank:
      return "REFpb";
  }
  return "?";
}

Channel::Channel(const ChannelConfig& config, int index, ChannelListener& listener)
    : config_(config),
      device_(config.device),
      t_(config.device.t),
      index_(index),
      map_(config.address_map.empty() ? config.device.default_map : config.address_map, config.device, config.ranks),
      drain_(drain_policy(config.queue_depth)),
      starvation_(starvation_clocks(config.device, config.queue_depth)),
      columns_first_(columns_first(config.device)),
      enough_hits_(enough_hits(config.device)),
      listener_(listener),
      banks_(static_cast<std::size_t>(config.ranks * config.device.banks())),
      ranks_(static_cast<std::size_t>(config.ranks)),
      last_column_group_(static_cast<std::size_t>(config.ranks * config.device.bank_groups), {kLongAgo, kLongAgo}),
      last_act_group_(static_cast<std::size_t>(config.ranks * config.device.bank_groups), kLongAgo) {
  TESSERA_CHECK(banks_.size() <= 32, "more banks than the bank mask holds");
  if (config_.refresh == RefreshPolicy::all_bank) refresh_due_ = t_.REFI;
  if (config_.refresh == RefreshPolicy::per_bank) {
    if (device_.banks_per_refresh == 0) {
      user_error("dram.refresh = \"per_bank\": ", device_.name,
                 " has no per-bank refresh; expected \"none\" or \"all_bank\"");
    }
    refresh_due_ = bank_refresh_due(1);
  }
  if (config_.ecc) check_lines_ = std::make_unique<CheckLines>(map_.capacity_bytes());
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
  ++waiting_[request.write ? kWrite : kRead];
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
      if (const DramClocks due = refresh_event(decision); event >= due) {
        event = due;
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
      config_.refresh == RefreshPolicy::per_bank ? start_bank_refresh(event) : start_refresh(event);
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
    --waiting_[request.write ? kWrite : kRead];
    TESSERA_CHECK(queue.requests <= config_.queue_depth, "channel ", index_, ": queue overflow in clock ", now);
    const int bursts = device_.bursts_per_request();
    request.bursts_left = bursts;
    for (int i = 0; i < bursts; ++i) {
      const auto offset = static_cast<std::uint64_t>(i * device_.burst_bytes);
      admit_burst(request, arrival.address + offset, arrival.clock);
    }
    if (check_lines_) admit_check_line(request, arrival.address, arrival.clock);
  }
  choice_valid_ = false;
}

// In-band ECC: a read brings the check line it needs with it; a write has it fetched, to be merged, and a changed line
// that makes room is written back.
void Channel::admit_check_line(Request& request, std::uint64_t address, DramClocks arrival) {
  const CheckLines::Access access = check_lines_->access(address, request.write);
  if (access.held) return;
  if (access.written) admit_own(*access.written, true, request.source, arrival);
  if (request.write) {
    admit_own(access.line, false, request.source, arrival);
    return;
  }
  for (int i = 0; i < device_.bursts_per_request(); ++i) {
    ++request.bursts_left;
    ++account_.statistics.check_bursts;
    admit_burst(request, access.line + static_cast<std::uint64_t>(i * device_.burst_bytes), arrival);
  }
}

void Channel::admit_own(std::uint64_t address, bool write, std::int16_t source, DramClocks arrival) {
  if (free_own_.empty()) {
    own_requests_.push_back(std::make_unique<Request>());
    free_own_.push_back(own_requests_.back().get());
  }
  Request& request = *free_own_.back();
  free_own_.pop_back();
  request = Request{};
  request.address = address;
  request.write = write;
  request.source = source;
  request.own = true;
  request.channel = index_;
  request.arrival = arrival;
  ++queues_[write ? kWrite : kRead].own;
  for (int i = 0; i < device_.bursts_per_request(); ++i) {
    ++request.bursts_left;
    ++account_.statistics.check_bursts;
    admit_burst(request, address + static_cast<std::uint64_t>(i * device_.burst_bytes), arrival);
  }
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
    if (bank.row == e.at.row) {
      if (lane.hits++ == 0) lane.hit = index;
    }
  }
  if ((refresh_banks_ >> e.at.bank & 1U) != 0) {
    request.change(arrival, WaitState::refresh);
  } else if (arrival < bank.refresh_end) {
    request.change(arrival, WaitState::refresh);
    request.change(bank.refresh_end, WaitState::queued);
  } else if (bank.row == e.at.row && arrival < bank.next_column) {
    request.change(arrival, WaitState::opening);
    request.change(bank.next_column, WaitState::queued);
  }
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
    if (lane.hits == 0) break;
    if (e.at.row == bank.row) {
      lane.hit = i;
      break;
    }
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
  if (e.at.row == bank.row) --lane.hits;
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
    if (--e.blocked_by > 0) continue;
    ++queues_[other].ready;
    if (e.at.row == bank.row) ++bank.lanes[other].hits;
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
