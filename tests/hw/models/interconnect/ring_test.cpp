// The queue of bursts and parts: order, growth, and that elements stay where they are.
#include "hw/models/interconnect/ring.hpp"

#include <algorithm>
#include <deque>
#include <utility>

#include <gtest/gtest.h>

#include "hw/common/random.hpp"

namespace tessera::hw {
namespace {

TEST(Ring, IsAQueueWhoseElementsStay) {
  Random random(3);
  Ring<int> ring;
  std::deque<std::pair<int, const int*>> expected;
  std::size_t longest = 0;
  for (int i = 0; i < 5000; ++i) {
    if (random.below(100) < (i / 1000 % 2 == 0 ? 60u : 40u)) {
      int& slot = ring.push();
      slot = i;
      expected.emplace_back(i, &slot);
    } else if (!ring.empty()) {
      ring.pop();
      expected.pop_front();
    }
    longest = std::max(longest, expected.size());
    ASSERT_EQ(ring.size(), expected.size());
    ASSERT_EQ(ring.empty(), expected.empty());
    for (std::size_t k = 0; k < expected.size(); k += 1 + k / 4) {
      ASSERT_EQ(ring[k], expected[k].first);
      ASSERT_EQ(&ring[k], expected[k].second);
    }
  }
  EXPECT_GT(longest, 64u);
}

}  // namespace
}  // namespace tessera::hw
