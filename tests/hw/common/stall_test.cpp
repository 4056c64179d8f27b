#include "hw/common/stall.hpp"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Stall, EveryCauseHasItsOwnName) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < kStallCauses; ++i) {
    names.insert(stall_name(static_cast<StallCause>(i)));
  }
  EXPECT_EQ(names.size(), kStallCauses);
  EXPECT_EQ(names.count("?"), 0U);
  EXPECT_STREQ(stall_name(StallCause::semaphore_conv1), "semaphore.conv1");
  EXPECT_STREQ(stall_name(StallCause::dram_row_miss), "dram.row_miss");
}

TEST(Stall, AccountAddsUp) {
  UnitAccount account;
  account.busy = 10;
  account.idle = 5;
  account.add(StallCause::drain, 2);
  account.add(StallCause::drain, 1);
  EXPECT_EQ(account.total(), 18);
}

}  // namespace
}  // namespace tessera
