// One DRAM channel with its controller, event-driven in DRAM clocks: queues, bank state, FR-FCFS, write drain, refresh.
// It jumps from command to command; idle time costs nothing (refreshes in it are accounted when the next request
// comes). Exact rules: README.md. Leaves out: several ranks, per-bank refresh, refresh postponing, power-down.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "hw/common/units.hpp"
#include "hw/models/dram/account.hpp"
#include "hw/models/dram/address_map.hpp"
#include "hw/models/dram/command.hpp"
#include "hw/models/dram/device.hpp"
#include "hw/models/dram/policies.hpp"
#include "hw/models/dram/request.hpp"

namespace tessera::dram {

struct ChannelConfig {
  Device device;
  std::string address_map;  // empty: the device's default
  int queue_depth = 32;     // read requests, and as many write requests
  RefreshPolicy refresh = RefreshPolicy::all_bank;
  PagePolicy page = PagePolicy::open;
};

class Channel {
 public:
  Channel(const ChannelConfig& config, int index, ChannelListener& listener);

  /// `address` is the channel's own (interleave removed). Arrivals never decrease and lie after the last run_until().
  void push(Request& request, std::uint64_t address, DramClocks arrival);
  /// Everything that happens in clocks <= limit.
  void run_until(DramClocks limit);
  /// Earliest clock after the last run_until() in which something can happen; kNever when idle.
  [[nodiscard]] DramClocks next_event() const { return next_; }
  [[nodiscard]] bool idle() const { return arrivals_.empty() && queues_[0].size + queues_[1].size == 0; }
  /// Statistics of clocks [0, end), refreshes in idle time included; run_until(end) must have been called.
  [[nodiscard]] ChannelStatistics result(DramClocks end);
  /// Requests that may still be pushed in this direction.
  [[nodiscard]] int space(bool write) const;
  [[nodiscard]] DramClocks data_end() const { return account_.data_end(); }
  void set_observer(CommandObserver* observer) { observer_ = observer; }

 private:
  static constexpr int kNone = -1;
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
  };
  struct Bank {
    std::int64_t row = -1;  // -1: closed
    DramClocks next_act = 0, next_column = 0, next_pre = 0;
    std::array<Lane, 2> lanes;
  };
  struct Queue {
    int oldest = kNone, youngest = kNone;
    int size = 0;  // bursts
    int requests = 0;
    int ready = 0;            // bursts that may be served
    std::uint32_t banks = 0;  // banks with bursts that may be served
  };
  enum class Action : std::uint8_t { none, column, activate, precharge };
  struct Choice {
    DramClocks clock = kNever;
    Action action = Action::none;
    int bank = 0;
    int entry = kNone;
    bool urgent = false;
  };

  void admit(DramClocks now);
  void admit_burst(Request& request, std::uint64_t address, DramClocks arrival);
  void choose(DramClocks now);
  void consider(Choice& best, const Choice& other) const;
  [[nodiscard]] int count_hits(int first, int most) const;
  [[nodiscard]] int blocker_of(const Entry& read) const;
  void issue(const Choice& choice);
  void issue_column(const Choice& choice);
  void issue_activate(const Choice& choice);
  void issue_precharge(const Choice& choice);
  DramClocks refresh_step(DramClocks limit);
  void idle_until(DramClocks limit);
  void start_refresh(DramClocks clock);
  void remove(int index);
  void unblock(const Entry& entry);
  void update_lane(Bank& bank, Direction direction, int bank_index);
  void mark_opening(Bank& bank, std::int64_t row, DramClocks clock, bool activated);
  [[nodiscard]] DramClocks column_ready(Direction direction, int bank_group) const;
  [[nodiscard]] DramClocks act_ready(int bank_group) const;
  void emit(CommandKind kind, DramClocks clock, int bank, std::int64_t row, int column);

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
  std::vector<Entry> entries_;
  std::vector<int> free_;
  std::uint64_t next_order_ = 0;
  std::array<Queue, 2> queues_;
  std::vector<Bank> banks_;
  bool writing_ = false;

  DramClocks bus_free_ = 0;
  DramClocks now_ = 0;  // no decision lies before this clock
  DramClocks next_ = kNever;
  Choice choice_;
  bool choice_valid_ = false;
  DramClocks work_since_ = 0;

  static constexpr DramClocks kLongAgo = -1'000'000;
  std::array<DramClocks, 2> last_column_{kLongAgo, kLongAgo};
  std::vector<std::array<DramClocks, 2>> last_column_group_;
  DramClocks last_act_ = kLongAgo, last_pre_ = kLongAgo;
  std::vector<DramClocks> last_act_group_;
  std::array<DramClocks, 4> act_window_{kLongAgo, kLongAgo, kLongAgo, kLongAgo};
  int act_slot_ = 0;  // oldest of the last four

  DramClocks refresh_due_ = kNever;
  bool refreshing_ = false;
  DramClocks refresh_begin_ = 0;
  ChannelAccount account_;
};

}  // namespace tessera::dram
