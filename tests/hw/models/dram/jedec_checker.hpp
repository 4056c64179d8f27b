// Checks a command trace of one channel against JEDEC's rules by comparing every pair of commands, written without a
// look at the scheduler: it keeps a list of what happened and a table of least distances, nothing else.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "hw/models/dram/command.hpp"
#include "hw/models/dram/device.hpp"

namespace tessera::dram::test {

class JedecChecker : public CommandObserver {
 public:
  /// `limits` may differ from what the controller believes: the self-test raises each by a clock.
  JedecChecker(const Device& limits, bool refresh) : d_(limits), t_(limits.t), refresh_(refresh) {}

  void on_command(const Command& command) override;
  /// Rules that can only be judged at the end.
  void finish(DramClocks end);

  const std::map<std::string, int>& violations() const { return violations_; }
  std::string text() const;
  std::int64_t commands() const { return commands_; }
  std::int64_t bursts() const { return bursts_; }

 private:
  struct Event {
    DramClocks clock;
    CommandKind kind;
    int group;
    int bank;  // over all groups
  };
  void flag(const char* rule, const Command& c) {
    if (violations_[rule]++ == 0) first_[rule] = c.clock;
  }
  void pair(const Event& before, const Event& now, const Command& c);
  static bool is_read(CommandKind k) { return k == CommandKind::rd || k == CommandKind::rda; }
  static bool is_write(CommandKind k) { return k == CommandKind::wr || k == CommandKind::wra; }
  static bool is_column(CommandKind k) { return is_read(k) || is_write(k); }
  DramClocks length(CommandKind k) const;

  const Device d_;
  const Timings t_;
  const bool refresh_;
  std::vector<Event> recent_;
  std::vector<DramClocks> activates_;
  std::map<int, std::int64_t> open_;          // bank -> row
  std::map<int, DramClocks> activated_;       // bank -> last ACT
  std::map<int, DramClocks> self_precharge_;  // bank -> clock of the precharge implied by RDA / WRA
  DramClocks data_end_ = 0;
  std::int64_t refreshes_ = 0;
  std::int64_t commands_ = 0;
  std::int64_t bursts_ = 0;
  std::map<std::string, int> violations_;
  std::map<std::string, DramClocks> first_;
};

}  // namespace tessera::dram::test
