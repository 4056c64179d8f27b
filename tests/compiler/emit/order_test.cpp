// Dependence synthesis: random items, run in random legal interleavings.
#include "compiler/emit/order.hpp"

#include <algorithm>
#include <array>
#include <map>

#include <gtest/gtest.h>

#include "hw/common/random.hpp"

namespace tessera::compiler {
namespace {

bool conflict(const OrderItem& a, const OrderItem& b) {
  for (const RangeUse& x : a.uses) {
    for (const RangeUse& y : b.uses) {
      if (x.space == y.space && x.begin < y.end && y.begin < x.end && (x.write || y.write)) return true;
    }
  }
  return false;
}

/// One run: an instruction starts when it heads its queue and has its waits, finishes some time later; compute queues
/// start the next only then, DMA queues at once, finishing in order. Returns start and finish times by item.
struct Times {
  std::vector<int> start, finish;
};
Times run(const std::vector<OrderItem>& items, const Ordering& ordering, std::uint64_t seed) {
  Random random(seed);
  std::map<std::pair<int, int>, std::vector<const OrderedItem*>> queues;
  for (const OrderedItem& o : ordering.items) queues[{o.core, o.queue}].push_back(&o);
  std::map<std::pair<int, int>, std::size_t> started, finished;
  std::array<int, 256> local{};  // two cores x 64, then the global ones
  const auto slot = [](int core, int semaphore) {
    return static_cast<std::size_t>(semaphore >= 64 ? 64 + semaphore : core * 64 + semaphore);
  };
  Times times{std::vector<int>(items.size(), -1), std::vector<int>(items.size(), -1)};
  int now = 0;
  for (;;) {
    std::vector<std::pair<std::pair<int, int>, bool>> moves;  // queue, true = start
    bool left = false;
    for (const auto& [queue, list] : queues) {
      const std::size_t s = started[queue];
      const std::size_t f = finished[queue];
      if (f < list.size()) left = true;
      if (f < s) moves.push_back({queue, false});
      if (s < list.size()) {
        const bool overlaps = list[s]->item < 0 || items[static_cast<std::size_t>(list[s]->item)].overlaps_in_queue;
        if (s > f && !(overlaps && items[static_cast<std::size_t>(list[s]->near)].overlaps_in_queue)) continue;
        bool ready = true;
        for (const SemaphoreStep& w : list[s]->waits) ready = ready && local[slot(queue.first, w.semaphore)] >= w.count;
        if (ready) moves.push_back({queue, true});
      }
    }
    if (!left) break;
    EXPECT_FALSE(moves.empty()) << "stuck";
    if (moves.empty()) break;
    const auto [queue, start] = moves[random.below(moves.size())];
    ++now;
    if (start) {
      const OrderedItem& o = *queues[queue][started[queue]++];
      for (const SemaphoreStep& w : o.waits) local[slot(queue.first, w.semaphore)] -= w.count;
      if (o.item >= 0) times.start[static_cast<std::size_t>(o.item)] = now;
    } else {
      const OrderedItem& o = *queues[queue][finished[queue]++];
      for (const SemaphoreStep& s : o.signals) {
        int& value = local[slot(queue.first, s.semaphore)];
        value += s.count;
        EXPECT_LE(value, 255);
      }
      if (o.item >= 0) times.finish[static_cast<std::size_t>(o.item)] = now;
    }
  }
  for (const int value : local) EXPECT_EQ(value, 0) << "a semaphore is not zero at the end";
  return times;
}

std::vector<OrderItem> random_items(Random& random, int count, int cores) {
  std::vector<OrderItem> items;
  for (int i = 0; i < count; ++i) {
    OrderItem item;
    item.core = static_cast<std::uint8_t>(random.below(static_cast<std::uint64_t>(cores)));
    item.queue = static_cast<std::uint8_t>(random.below(7));
    item.overlaps_in_queue = item.queue < 2;
    const bool load = item.queue == 0;
    const bool store = item.queue == 1;
    const int uses = 1 + static_cast<int>(random.below(3));
    for (int u = 0; u < uses; ++u) {
      RangeUse use;
      use.write = random.chance(1, 2);
      // LOAD reads DRAM and writes SRAM, STORE the other way round, as the machine does.
      const bool dram = load ? !use.write : store ? use.write : false;
      use.space = dram ? 16 : item.core;
      use.begin = random.below(60);
      use.end = use.begin + 1 + random.below(12);
      item.uses.push_back(use);
    }
    items.push_back(std::move(item));
  }
  return items;
}

TEST(Order, EveryConflictIsOrderedInEveryInterleaving) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed);
    const int cores = seed % 3 == 0 ? 2 : 1;
    const std::vector<OrderItem> items = random_items(random, 60, cores);
    const Ordering ordering = order_items(items, {});
    for (const OrderedItem& o : ordering.items) {
      ASSERT_LE(o.waits.size(), 4u);
      ASSERT_LE(o.signals.size(), 4u);
    }
    for (std::uint64_t run_seed = 0; run_seed < 4; ++run_seed) {
      const Times times = run(items, ordering, seed * 100 + run_seed);
      for (std::size_t i = 0; i < items.size(); ++i) {
        for (std::size_t k = i + 1; k < items.size(); ++k) {
          const bool same_queue = items[i].core == items[k].core && items[i].queue == items[k].queue;
          if (!same_queue && conflict(items[i], items[k])) {
            ASSERT_LT(times.finish[i], times.start[k]) << "seed " << seed << ", items " << i << " and " << k;
          }
        }
      }
    }
  }
}

TEST(Order, OneAtATimeRunsInProgramOrder) {
  Random random(7);
  const std::vector<OrderItem> items = random_items(random, 50, 1);
  OrderOptions options;
  options.one_at_a_time = true;
  const Times times = run(items, order_items(items, options), 11);
  for (std::size_t i = 1; i < items.size(); ++i) {
    if (items[i].queue != items[i - 1].queue) {
      EXPECT_LT(times.finish[i - 1], times.start[i]) << i;
    }
  }
}

RangeUse use(std::uint64_t begin, std::uint64_t end, bool write) { return {0, begin, end, write}; }

TEST(Order, EdgesImpliedByOthersAreDropped) {
  // load -> conv -> edp, and edp also reads what load wrote: that edge follows from the other two.
  const std::vector<OrderItem> items = {{0, 0, true, {use(0, 8, true)}},
                                        {0, 2, false, {use(0, 8, false), use(8, 16, true)}},
                                        {0, 7, false, {use(8, 16, false), use(0, 8, false)}}};
  const Ordering ordering = order_items(items, {});
  ASSERT_EQ(ordering.items.size(), 3u);
  EXPECT_EQ(ordering.items[0].signals.size(), 1u);
  EXPECT_EQ(ordering.items[1].waits.size(), 1u);
  EXPECT_EQ(ordering.items[2].waits.size(), 1u);
  EXPECT_EQ(ordering.items[2].waits[0].semaphore, ordering.items[1].signals[0].semaphore);
}

TEST(Order, DisjointRangesNeedNothing) {
  const std::vector<OrderItem> items = {{0, 2, false, {use(0, 8, true)}}, {0, 3, false, {use(8, 16, true)}}};
  for (const OrderedItem& o : order_items(items, {}).items) EXPECT_TRUE(o.waits.empty() && o.signals.empty());
}

TEST(Order, FiveWaitsTakeANop) {
  std::vector<OrderItem> items;
  for (std::uint8_t queue = 2; queue < 7; ++queue) items.push_back({0, queue, false, {use(queue, queue + 1u, true)}});
  items.push_back({0, 8, false, {use(0, 16, false)}});
  const Ordering ordering = order_items(items, {});
  ASSERT_EQ(ordering.items.size(), 7u);
  EXPECT_EQ(ordering.items[5].item, -1);
  EXPECT_EQ(ordering.items[5].waits.size(), 4u);
  EXPECT_EQ(ordering.items[6].waits.size(), 1u);
}

/// Runs LOAD (queue 0) as fast as it can, CONV only when LOAD is blocked: no semaphore may pass 16.
void expect_few_tokens(const std::vector<OrderItem>& items) {
  OrderOptions options;
  options.semaphore_limit = 16;
  const Ordering ordering = order_items(items, options);
  std::size_t load = 0, conv = 0;
  std::vector<const OrderedItem*> loads, convs;
  for (const OrderedItem& o : ordering.items) (o.queue == 0 ? loads : convs).push_back(&o);
  std::array<int, 64> tokens{};
  int most = 0;
  const auto step = [&](const std::vector<const OrderedItem*>& queue, std::size_t& at) {
    if (at == queue.size()) return false;
    for (const SemaphoreStep& w : queue[at]->waits) {
      if (tokens[w.semaphore] < w.count) return false;
    }
    for (const SemaphoreStep& w : queue[at]->waits) tokens[w.semaphore] -= w.count;
    for (const SemaphoreStep& s : queue[at]->signals) most = std::max(most, tokens[s.semaphore] += s.count);
    ++at;
    return true;
  };
  while (step(loads, load) || step(convs, conv)) {
  }
  EXPECT_EQ(load, loads.size());
  EXPECT_EQ(conv, convs.size());
  EXPECT_LE(most, 16);
}

// LOAD could run 600 items ahead: each writes its own range, CONV reads it.
TEST(Order, SemaphoresStayBelowTheirLimit) {
  std::vector<OrderItem> items;
  for (std::uint64_t i = 0; i < 600; ++i) {
    items.push_back({0, 0, true, {use(i * 8, i * 8 + 8, true)}});
    items.push_back({0, 2, false, {use(i * 8, i * 8 + 8, false)}});
  }
  expect_few_tokens(items);
}

// The program itself loads everything first: LOAD cannot wait for what comes later, so CONV waits for more at once.
TEST(Order, SemaphoresStayBelowTheirLimitWhenAllLoadsComeFirst) {
  std::vector<OrderItem> items;
  for (std::uint64_t i = 0; i < 600; ++i) items.push_back({0, 0, true, {use(i * 8, i * 8 + 8, true)}});
  for (std::uint64_t i = 0; i < 600; ++i) items.push_back({0, 2, false, {use(i * 8, i * 8 + 8, false)}});
  expect_few_tokens(items);
  const Ordering ordering = order_items(items, {});
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Times times = run(items, ordering, seed);
    for (std::size_t i = 0; i < 600; ++i) ASSERT_LT(times.finish[i], times.start[600 + i]) << "seed " << seed;
  }
}

}  // namespace
}  // namespace tessera::compiler
