#include <numeric>

#include <gtest/gtest.h>

#include "tests/hw/models/interconnect/manager.hpp"

namespace tessera::hw {
namespace {

using test::Managers;
using test::Traffic;

MemoryConfig fixed(Cycles latency, Bytes rate, Bytes data_bytes = 64) {
  MemoryConfig c;
  c.fixed = true;
  c.fixed_latency_cycles = latency;
  c.fixed_bytes_per_cycle = rate;
  c.data_bytes = data_bytes;
  c.queue_depth = 8;
  return c;
}

Traffic reads(int outstanding, int bursts, int beats = 1) {
  Traffic t;
  t.outstanding = outstanding;
  t.bursts = bursts;
  t.beats = beats;
  t.stride = 64;
  return t;
}

TEST(FixedMemory, LoneBurstTakesExactlyTheLatency) {
  for (const Cycles latency : {1, 2, 7, 100}) {
    Managers m(fixed(latency, 0));
    m.add(reads(1, 3));
    m.run();
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(m.last(1)[i] - m.handshakes(1)[i], latency);
    EXPECT_EQ(m.handshakes(1)[1], m.last(1)[0]) << "a credit freed in a cycle issues an AR in that cycle";
  }
}

TEST(FixedMemory, LastBeatOfALongBurstObeysLatencyPortAndRate) {
  Managers slow(fixed(100, 0, 8));  // 8 beats of 8 bytes, latency decides
  slow.add(reads(1, 1, 8));
  slow.run();
  EXPECT_EQ(slow.beats(1), (std::vector<Cycles>{93, 94, 95, 96, 97, 98, 99, 100}));
  Managers port(fixed(3, 0, 8));  // one beat a cycle decides
  port.add(reads(1, 1, 8));
  port.run();
  EXPECT_EQ(port.beats(1), (std::vector<Cycles>{1, 2, 3, 4, 5, 6, 7, 8}));
  Managers rate(fixed(3, 4, 8));  // 64 bytes at 4 bytes a cycle decide, beats two cycles apart
  rate.add(reads(1, 1, 8));
  rate.run();
  EXPECT_EQ(rate.beats(1), (std::vector<Cycles>{2, 4, 6, 8, 10, 12, 14, 16}));
}

// A rate that does not divide a beat: the last beat of a burst and the first of the next round to the same cycle, but a
// port gets one beat a cycle.
TEST(FixedMemory, OneBeatACycleAtAnyRate) {
  for (const Bytes rate : {1, 2, 3, 4, 5, 6, 7, 8, 9, 13}) {
    for (const int beats : {1, 2, 3, 5, 8}) {
      Managers m(fixed(9, rate, 8));
      m.add(reads(4, 30, beats));
      m.run();
      const std::vector<Cycles>& cycles = m.beats(1);
      for (std::size_t i = 1; i < cycles.size(); ++i) {
        ASSERT_LT(cycles[i - 1], cycles[i]) << "rate " << rate << ", " << beats << " beats, beat " << i;
      }
    }
  }
}

// Closed form 2 of the validation page: outstanding x 64 B / 100 cycles until the memory's 8 B a cycle is the limit.
TEST(FixedMemory, LatencyBoundDmaIsExact) {
  const struct {
    int outstanding;
    std::int64_t bytes_per_100_cycles;
  } cases[] = {{1, 64}, {4, 256}, {8, 512}, {16, 800}};
  for (const auto& c : cases) {
    for (const Bytes data_bytes : {8, 64}) {
      Managers m(fixed(100, 8, data_bytes));
      m.add(reads(c.outstanding, 16 * 100, static_cast<int>(64 / data_bytes)));
      m.run();
      // Steady state: whole periods in the middle of the run.
      const auto& last = m.last(1);
      const std::size_t a = 400, b = 1200;
      const std::int64_t bytes = static_cast<std::int64_t>(b - a) * 64;
      EXPECT_EQ(bytes * 100, c.bytes_per_100_cycles * (last[b] - last[a])) << c.outstanding << " outstanding";
    }
  }
}

TEST(FixedMemory, ReadsAndWritesShareThePipe) {
  Managers m(fixed(20, 8));
  Traffic r = reads(8, 100);
  Traffic w = reads(8, 100);
  w.port = 2;
  w.write = true;
  m.add(r);
  m.add(w);
  const Cycles end = m.run();
  EXPECT_GE(end, 200 * 64 / 8);
  EXPECT_LE(end, 200 * 64 / 8 + 20);
  const MemoryResult result = m.core.results(end);
  EXPECT_EQ(result.read_bytes, 6400);
  EXPECT_EQ(result.write_bytes, 6400);
  EXPECT_EQ(result.channels[0].data, 1600);
  EXPECT_EQ(result.channels[0].data + result.channels[0].idle, result.channels[0].clocks);
}

TEST(FixedMemory, ResponseOfAWriteFollowsItsLastWBeat) {
  Managers m(fixed(1, 0, 8));
  Traffic w = reads(4, 2, 8);
  w.port = 2;
  w.write = true;
  m.add(w);
  m.run();
  // AW in 0 and 1; W beats 1..8 and 9..16.
  EXPECT_EQ(m.last(2), (std::vector<Cycles>{9, 17}));
}

TEST(FixedMemory, FullQueueRefusesAndHandshakesWhenSpaceAppears) {
  MemoryConfig c = fixed(10, 0);
  c.queue_depth = 1;
  Managers m(c);
  m.add(reads(16, 4));
  m.run();
  // Depth 1: in 0 accepted; in 1 the FIFO begins full (refused); granted in 1, so space is there in 2.
  EXPECT_EQ(m.handshakes(1), (std::vector<Cycles>{0, 2, 4, 6}));
  EXPECT_EQ(m.refusals(1), 3);
}

TEST(FixedMemory, RoundRobinSharesOneGrantACycle) {
  Managers m(fixed(10, 0));
  for (int port : {0, 1, 2}) {
    Traffic t = reads(64, 60);
    t.port = port;
    t.write = port == 2;
    m.add(t);
  }
  const Cycles end = m.run();
  EXPECT_EQ(end, 180 + 10 - 1 + 0) << "one burst a cycle: 180 grants, cycles 1..180; the last one ends 9 later";
  for (int port : {0, 1, 2}) EXPECT_GT(m.refusals(port), 0);
}

TEST(FixedMemory, OrderOfCallsInACycleDoesNotMatter) {
  std::vector<std::vector<Cycles>> seen[2];
  for (int reverse = 0; reverse < 2; ++reverse) {
    MemoryConfig c = fixed(13, 8);
    c.cores = 2;
    c.queue_depth = 2;
    Managers m(c);
    for (int port = 0; port < 6; ++port) {
      Traffic t = reads(3 + port, 50 + port, 1 + port % 3);
      t.port = port;
      t.write = port % 3 == 2;
      t.begin = port % 4;
      m.add(t);
    }
    m.run(reverse == 1);
    for (int port = 0; port < 6; ++port) {
      seen[reverse].push_back(m.handshakes(port));
      seen[reverse].push_back(m.beats(port));
    }
  }
  EXPECT_EQ(seen[0], seen[1]);
}

TEST(FixedMemory, CausesAddUpAndNameTheOther) {
  MemoryConfig c = fixed(20, 8);
  Managers m(c);
  Traffic load = reads(8, 50);
  Traffic store = reads(8, 50);
  store.port = 2;
  store.write = true;
  m.add(load);
  m.add(store);
  const Cycles end = m.run();
  const CauseTotals totals = m.core.totals(end, 1);
  const auto of = [&](StallCause cause) { return totals[static_cast<std::size_t>(cause)]; };
  // The load port has a burst outstanding in every cycle from its first handshake to its last beat.
  EXPECT_EQ(std::accumulate(totals.begin(), totals.end(), Cycles{0}), m.last(1).back() - m.handshakes(1).front());
  EXPECT_GT(of(StallCause::dram_contention_store), 0);
  EXPECT_GT(of(StallCause::dram_bandwidth), 0);
  EXPECT_GE(of(StallCause::dram_latency), 20);
  EXPECT_EQ(of(StallCause::dram_contention_fetch), 0);
  EXPECT_EQ(of(StallCause::dram_contention_core), 0);
}

TEST(FixedMemory, LatencyBoundWaitIsLatency) {
  Managers m(fixed(100, 8));
  m.add(reads(1, 10));
  const Cycles end = m.run();
  const CauseTotals totals = m.core.totals(end, 1);
  EXPECT_EQ(totals[static_cast<std::size_t>(StallCause::dram_latency)], end);
}

}  // namespace
}  // namespace tessera::hw
