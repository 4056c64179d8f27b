// Walks an access plan cycle by cycle and counts what it does to every line; shared by the tests of all compute blocks.
#pragma once

#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "hw/models/unit/access.hpp"
#include "isa/chip.hpp"

namespace tessera::hw {

struct PlanCount {
  std::map<std::uint32_t, int> reads;   // by line
  std::map<std::uint32_t, int> writes;  // by line
  std::vector<std::pair<Cycles, Access>> log;
  Cycles last_write = -1;
  int most_in_cycle = 0;
};

/// Every cycle, plus `beyond` cycles behind the end in which nothing may happen.
inline PlanCount walk(AccessPlan& plan, const isa::ChipConfig& chip) {
  PlanCount count;
  const std::int64_t bank_lines = chip.sram.size_bytes / chip.sram.line_bytes;
  const BankMask banks = plan.banks();
  for (Cycles e = 0; e < plan.length(); ++e) {
    AccessSet set;
    plan.accesses(e, set);
    count.most_in_cycle = std::max(count.most_in_cycle, set.count);
    BankMask used = 0;
    for (int i = 0; i < set.count; ++i) {
      const Access& access = set.items[static_cast<std::size_t>(i)];
      const std::int64_t bank = access.line / bank_lines;
      EXPECT_LT(bank, chip.sram.banks) << "line " << access.line << " in cycle " << e;
      const BankMask bit = BankMask{1} << (bank & 63);
      EXPECT_TRUE(banks & bit) << "banks() misses bank " << bank;
      EXPECT_TRUE(plan.may_self_conflict() || !(used & bit)) << "two ports meet in bank " << bank << ", cycle " << e;
      used |= bit;
      (access.write ? count.writes : count.reads)[access.line]++;
      if (access.write) count.last_write = e;
      count.log.emplace_back(e, access);
    }
  }
  return count;
}

/// The accesses found when only some cycles are asked for must be those of the full walk.
inline void expect_skipping_is_equal(AccessPlan& skipping, const PlanCount& full, Cycles stride) {
  std::size_t at = 0;
  for (Cycles e = 0; e < skipping.length(); e += stride) {
    AccessSet set;
    skipping.accesses(e, set);
    while (at < full.log.size() && full.log[at].first < e) ++at;
    for (int i = 0; i < set.count; ++i, ++at) {
      ASSERT_LT(at, full.log.size());
      const Access& access = set.items[static_cast<std::size_t>(i)];
      ASSERT_EQ(full.log[at].first, e);
      ASSERT_EQ(full.log[at].second.line, access.line) << "cycle " << e;
      ASSERT_EQ(full.log[at].second.write, access.write) << "cycle " << e;
    }
    ASSERT_TRUE(at == full.log.size() || full.log[at].first > e) << "cycle " << e << " lacks an access";
  }
}

}  // namespace tessera::hw
