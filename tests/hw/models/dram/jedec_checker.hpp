// Checks a command trace of one channel against JEDEC's rules by comparing every pair of commands, written without a
// look at the scheduler: it keeps a list of what happened and a table of least distances, nothing else.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "hw/models/dram/command.hpp"
#include "hw/models/dram/device.hpp"

namespace tessera::dram::test {

enum class RefreshKind { none, all_bank, per_bank };

class JedecChecker : public CommandObserver {
 public:
  /// `limits` may differ from what the controller believes: the self-test raises each by a clock.
  JedecChecker(const Device& limits, RefreshKind refresh, int ranks = 1)
      : d_(limits), t_(limits.t), refresh_(refresh), ranks_(ranks), rank_(static_cast<std::size_t>(ranks)) {}

  void on_command(const Command& command) override;
  /// Rules that can only be judged at the end.
  void finish(DramClocks end);

  const std::map<std::string, int>& violations() const { return violations_; }
  std::string text() const;
  std::int64_t commands() const { return commands_; }
  std::int64_t bursts() const { return bursts_; }
  std::int64_t count(CommandKind kind) const { return kinds_[static_cast<std::size_t>(kind)]; }

 private:
  struct Event {
    DramClocks clock;
    CommandKind kind;
    int rank;
    int group;  // within the rank
    int bank;   // over all groups of the rank
  };
  struct RankState {
    std::vector<DramClocks> activates;  // and per-bank refreshes: both count for tFAW
    std::int64_t refreshes = 0;
    std::map<int, std::int64_t> refreshed;  // per-bank refreshes of each bank
    DramClocks wck_until = -1'000'000;
  };
  void flag(const char* rule, const Command& c) {
    if (violations_[rule]++ == 0) first_[rule] = c.clock;
  }
  void pair(const Event& before, const Event& now, const Command& c);
  void state(const Event& now, const Command& c);
  void column(const Event& now, const Command& c);
  void bank_refresh(const Event& now, const Command& c);
  void debt(std::int64_t due, std::int64_t done, std::int64_t most, const Command& c);
  /// Is `bank` refreshed by a per-bank refresh of `named`?
  bool refreshed_with(int bank, int named) const {
    const int apart = d_.banks() / (d_.banks_per_refresh > 0 ? d_.banks_per_refresh : 1);
    return bank % apart == named % apart;
  }
  static bool is_act(CommandKind k) { return k == CommandKind::act || k == CommandKind::act1; }
  static bool is_read(CommandKind k) { return k == CommandKind::rd || k == CommandKind::rda; }
  static bool is_write(CommandKind k) { return k == CommandKind::wr || k == CommandKind::wra; }
  static bool is_column(CommandKind k) { return is_read(k) || is_write(k); }
  DramClocks length(CommandKind k) const;

  const Device d_;
  const Timings t_;
  const RefreshKind refresh_;
  const int ranks_;
  std::vector<Event> recent_;
  std::vector<RankState> rank_;
  std::map<int, std::int64_t> open_;          // rank x banks + bank -> row
  std::map<int, DramClocks> half_;            // ACT-1 is out, ACT-2 is not
  std::map<int, DramClocks> activated_;       // last ACT
  std::map<int, DramClocks> self_precharge_;  // clock of the precharge implied by RDA / WRA
  DramClocks data_end_ = 0;
  int data_rank_ = 0;
  std::int64_t commands_ = 0;
  std::int64_t bursts_ = 0;
  std::array<std::int64_t, 16> kinds_{};
  std::map<std::string, int> violations_;
  std::map<std::string, DramClocks> first_;
};

}  // namespace tessera::dram::test
