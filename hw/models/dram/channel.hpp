// One DRAM channel with its controller, event-driven in DRAM clocks: queues, bank state, FR-FCFS, write drain, refresh.
// It jumps from command to command; idle time costs nothing (refreshes in it are accounted when the next request
// comes). Exact rules: README.md. Leaves out: power-down, masked writes, temperature.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "hw/common/units.hpp"
#include "hw/models/dram/account.hpp"
#include "hw/models/dram/address_map.hpp"
#include "hw/models/dram/command.hpp"
#include "hw/models/dram/device.hpp"
#include "hw/models/dram/ecc.hpp"
#include "hw/models/dram/policies.hpp"
#include "hw/models/dram/request.hpp"

namespace tessera::dram {

struct ChannelConfig {
  Device device;
  std::string address_map;  // empty: the device's default
  int queue_depth = 32;     // read requests, and as many write requests
  RefreshPolicy refresh = RefreshPolicy::all_bank;
  PagePolicy page = PagePolicy::open;
  int ranks = 1;
  int refresh_debt = 0;  // refreshes that may be postponed while there is work
  bool ecc = false;      // in-band
};

class Channel {
 public:
  /// Throws UserError when the device cannot do what the configuration asks.
  Channel(const ChannelConfig& config, int index, ChannelListener& listener);

  /// `address` is the channel's own (interleave removed). Arrivals never decrease and lie after the last run_until().
  void push(Request& request, std::uint64_t address, DramClocks arrival);
  /// Everything that happens in clocks <= limit.
  void run_until(DramClocks limit);
  /// Earliest clock after the last run_until() in which something can happen; kNever when idle.
  [[nodiscard]] DramClocks next_event() const { return next_; }
  /// Refreshes of clocks <= limit in idle time, which otherwise wait for the next request: so that the listener knows.
  /// Changes no outcome.
  void settle_idle(DramClocks limit) {
    if (refresh_due_ > limit || queues_[0].size + queues_[1].size > 0) return;
    if (arrivals_.empty() || arrivals_.front().clock > limit) idle_until(limit);
  }
  [[nodiscard]] bool idle() const { return arrivals_.empty() && queues_[0].size + queues_[1].size == 0; }
  /// Statistics of clocks [0, end), refreshes in idle time included; run_until(end) must have been called.
  [[nodiscard]] ChannelStatistics result(DramClocks end);
  /// Requests that may still be pushed in this direction.
  [[nodiscard]] int space(bool write) const {
    const std::size_t w = write ? kWrite : kRead;
    return config_.queue_depth - queues_[w].requests - waiting_[w];
  }
  [[nodiscard]] DramClocks data_end() const { return account_.data_end(); }
  void set_observer(CommandObserver* observer) { observer_ = observer; }

 private:
  static constexpr int kNone = -1;
  static constexpr DramClocks kLongAgo = -1'000'000;
  enum Direction : std::uint8_t { kRead = 0, kWrite = 1 };

  /// One burst of a request in a queue.
  struct Entry {
    Request* request = nullptr;
    Location at;
    std::uint64_t order = 0;
    DramClocks arrival = 0;
    int blocked_by = 0;                            // older bursts of the other direction to the same bytes
    bool blocks = false;                           // a younger one waits for this
    bool opened = false;                           // ACT was issued for it
    bool conflict = false;                         // PRE of another row was issued for it
    int older = kNone, younger = kNone;            // in its queue
    int bank_older = kNone, bank_younger = kNone;  // in its queue and bank
  };
  struct Lane {  // bursts of one direction in one bank
    int oldest = kNone, youngest = kNone;
    int first = kNone;  // oldest that may be served
    int hit = kNone;    // oldest that may be served and fits the open row
    int hits = 0;       // how many do
  };
  struct Bank {
    std::int64_t row = -1;  // -1: closed
    DramClocks next_act = 0, next_column = 0, next_pre = 0;
    DramClocks last_column = kLongAgo;
    DramClocks refresh_begin = kLongAgo, refresh_end = kLongAgo;  // its last per-bank refresh
    std::int64_t closed_row = -1;                                 // that auto-precharge closed last
    RowHistory history;
    std::array<Lane, 2> lanes;
  };
  struct Rank {
    DramClocks last_act = kLongAgo, last_pre = kLongAgo, last_bank_refresh = kLongAgo;
    std::array<DramClocks, 4> act_window{kLongAgo, kLongAgo, kLongAgo, kLongAgo};
    int act_slot = 0;  // oldest of the last four
    std::array<DramClocks, 2> last_column{kLongAgo, kLongAgo};
    DramClocks wck_until = kLongAgo;  // a column command up to this clock needs no CAS
    int open_rows = 0;
    DramClocks active_since = 0;
  };
  struct Queue {
    int oldest = kNone, youngest = kNone;
    int size = 0;             // bursts
    int requests = 0;         // of the caller
    int own = 0;              // of the controller itself (check lines)
    int ready = 0;            // bursts that may be served
    std::uint32_t banks = 0;  // banks with bursts that may be served
  };
  enum class Action : std::uint8_t { none, column, activate, second_half, precharge, refresh_bank };
  struct Choice {
    DramClocks clock = kNever;  // first command-bus edge
    Action action = Action::none;
    int bank = 0;
    int entry = kNone;
    bool urgent = false;
    DramClocks lead = 0;  // CAS before the column command
  };
  struct HalfOpen {  // ACT-1 is out, ACT-2 is not
    int bank;
    DramClocks since;
  };

  // channel.cpp: the loop and the queues
  void admit(DramClocks now);
  void admit_burst(Request& request, std::uint64_t address, DramClocks arrival);
  void admit_check_line(Request& request, std::uint64_t address, DramClocks arrival);
  void admit_own(std::uint64_t address, bool write, std::int16_t source, DramClocks arrival);
  void remove(int index);
  void unblock(const Entry& entry);
  void update_lane(Bank& bank, Direction direction, int bank_index);
  void mark_opening(Bank& bank, std::int64_t row, DramClocks clock, bool activated);
  // schedule.cpp: choice and issue of commands
  void choose(DramClocks now);
  [[nodiscard]] bool better(DramClocks clock, int entry, bool urgent, const Choice& than) const;
  [[nodiscard]] int count_hits(const Lane& lane, std::int64_t row) const;
  [[nodiscard]] int blocker_of(const Entry& read) const;
  void issue(const Choice& choice);
  void issue_column(const Choice& choice);
  void issue_activate(const Choice& choice);
  void issue_second_half(const Choice& choice);
  void issue_precharge(const Choice& choice);
  void open_row(Rank& rank, DramClocks clock);
  void close_row(Bank& bank, DramClocks clock);
  [[nodiscard]] DramClocks column_ready(Direction direction, int bank_group) const;
  [[nodiscard]] DramClocks act_ready(int bank_group) const;
  void count_activate(Rank& rank, DramClocks clock);
  [[nodiscard]] int rank_of(int bank) const { return bank / device_.banks(); }
  [[nodiscard]] Rank& rank(int bank) { return ranks_[static_cast<std::size_t>(rank_of(bank))]; }
  void emit(CommandKind kind, DramClocks clock, int bank, std::int64_t row, int column);
  // refresh.cpp
  [[nodiscard]] DramClocks refresh_event(DramClocks decision) const;
  void start_refresh(DramClocks clock);
  DramClocks refresh_step(DramClocks limit);
  void idle_until(DramClocks limit);
  void idle_all_bank(DramClocks limit);
  void idle_per_bank(DramClocks limit);
  [[nodiscard]] bool skip_idle_rounds(DramClocks limit);
  void start_bank_refresh(DramClocks clock);
  [[nodiscard]] Choice bank_refresh_choice(DramClocks now) const;
  void issue_bank_refresh(const Choice& choice);
  [[nodiscard]] DramClocks bank_refresh_due(std::int64_t number) const;
  [[nodiscard]] int refresh_groups() const { return static_cast<int>(banks_.size()) / device_.banks_per_refresh; }
  /// The i-th bank of a group that is refreshed together.
  [[nodiscard]] int bank_of_group(int group, int i) const;

  const ChannelConfig config_;
  const Device device_;
  const Timings t_;
  const int index_;
  const AddressMap map_;
  const DrainPolicy drain_;
  const DramClocks starvation_;
  const bool columns_first_;
  const int enough_hits_;
  ChannelListener& listener_;
  CommandObserver* observer_ = nullptr;

  struct Arrival {
    DramClocks clock;
    std::uint64_t address;
    Request* request;
  };
  std::deque<Arrival> arrivals_;
  std::array<int, 2> waiting_{};  // of them by direction
  std::vector<Entry> entries_;
  std::vector<int> free_;
  std::uint64_t next_order_ = 0;
  std::array<Queue, 2> queues_;
  std::vector<Bank> banks_;
  std::vector<Rank> ranks_;
  bool writing_ = false;
  std::unique_ptr<CheckLines> check_lines_;             // null without ECC
  std::vector<std::unique_ptr<Request>> own_requests_;  // of the controller, for check lines
  std::vector<Request*> free_own_;

  DramClocks bus_free_ = 0;
  DramClocks now_ = 0;  // no decision lies before this clock
  DramClocks next_ = kNever;
  Choice choice_;
  bool choice_valid_ = false;
  DramClocks work_since_ = 0;
  std::deque<HalfOpen> half_open_;

  std::vector<std::array<DramClocks, 2>> last_column_group_;  // by rank x groups + group
  std::vector<DramClocks> last_act_group_;

  DramClocks refresh_due_ = kNever;
  bool refreshing_ = false;  // all-bank refresh under way
  int refresh_rank_ = 0;
  DramClocks refresh_begin_ = 0;
  std::int64_t bank_refreshes_ = 0;     // per-bank refreshes issued
  std::uint32_t refreshed_groups_ = 0;  // in this round
  int refresh_group_ = kNone;           // that waits for its per-bank refresh
  std::uint32_t refresh_banks_ = 0;     // its banks: no ACT, no column
  ChannelAccount account_;
};

}  // namespace tessera::dram
