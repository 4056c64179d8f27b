// The whole path: AXI request queue, arbitration, crossing, channels, in-order return, causes.
#include "hw/models/interconnect/dram_path.hpp"

#include <numeric>

#include <gtest/gtest.h>

#include "hw/common/error.hpp"
#include "hw/common/random.hpp"
#include "tests/hw/models/interconnect/manager.hpp"

namespace tessera::hw {
namespace {

using test::Managers;
using test::Traffic;

MemoryConfig lpddr4(int channels = 1) {  // the memory of a1000
  MemoryConfig c;
  c.fixed = false;
  c.device = "LPDDR4-4266";
  c.tck_fs = 468'750;
  c.channels = channels;
  c.data_bytes = 64;
  c.queue_depth = 8;
  c.latency_cycles = 8;
  return c;
}

Traffic reads(int outstanding, int bursts, int beats) {
  Traffic t;
  t.outstanding = outstanding;
  t.bursts = bursts;
  t.beats = beats;
  t.stride = static_cast<std::uint64_t>(beats) * 64;
  return t;
}

Cycles sum(const CauseTotals& totals) { return std::accumulate(totals.begin(), totals.end(), Cycles{0}); }
Cycles of(const CauseTotals& totals, StallCause cause) { return totals[static_cast<std::size_t>(cause)]; }

void expect_clocks_add_up(const MemoryResult& result) {
  for (const DramChannelResult& c : result.channels) {
    EXPECT_EQ(c.data + c.activate + c.turnaround + c.refresh + c.idle, c.clocks);
  }
}

// AR in cycle 0, granted in 1, 8 cycles of interconnect: request of cycle 9, seen in clock ceil(10 * 32 / 15) + 2 = 24.
// Closed bank: ACT 24, RD 63, second RD 71; last beat 71 + 36 + 8 - 1 = 114; seen in ceil(115 * 15 / 32) + 2 = 56.
TEST(DramPath, LatencyOfALoneReadByHand) {
  Managers m(lpddr4());
  m.add(reads(1, 1, 1));
  EXPECT_EQ(m.run(), 56);
  const CauseTotals totals = m.core.totals(56, 1);
  EXPECT_EQ(sum(totals), 56);
  // Opening from clock 24 (cycle ceil(24 * 15 / 32) = 12) to clock 63 (cycle 30).
  EXPECT_EQ(of(totals, StallCause::dram_row_miss), 30 - 12);
  // Between the two column commands (clocks 63 to 71, cycles 30 to 34) it waits behind its own first half.
  EXPECT_EQ(of(totals, StallCause::dram_bandwidth), 34 - 30);
  EXPECT_EQ(of(totals, StallCause::dram_latency), 12 + 56 - 34);
}

// The second read finds the row open: 39 clocks less.
TEST(DramPath, LatencyOfARowHitByHand) {
  Managers m(lpddr4());
  m.add(reads(1, 2, 1));
  m.run();
  // AR in cycle 56, request of cycle 65: clock ceil(66 * 32 / 15) + 2 = 143; RD 143, 151; last beat 194: cycle 94.
  EXPECT_EQ(m.handshakes(1)[1], 56);
  EXPECT_EQ(m.last(1)[1], 94);
}

// B: request of cycle 10 (W beat in 1, dispatched in 2) arrives in clock ceil(11 * 32 / 15) + 2 = 26, seen in cycle 15.
TEST(DramPath, ResponseOfAWriteIsItsArrival) {
  Managers m(lpddr4());
  Traffic w = reads(1, 1, 1);
  w.port = 2;
  w.write = true;
  m.add(w);
  EXPECT_EQ(m.run(), 15);
  const MemoryResult result = m.core.results(15);
  EXPECT_EQ(result.dram_bursts, 2) << "posted writes are served before the account is closed";
  expect_clocks_add_up(result);
}

TEST(DramPath, StreamsReachTheBandwidthOfTheirChannels) {
  for (const int channels : {1, 2, 4}) {
    Managers m(lpddr4(channels));
    m.add(reads(32, 8000, 4));  // 256-byte bursts
    const Cycles end = m.run();
    const double bytes_per_ns = 8000.0 * 256 / static_cast<double>(end);
    const double expected = 8.533 * channels * 0.9168;
    EXPECT_NEAR(bytes_per_ns / expected, 1.0, 0.03) << channels << " channels";
    const MemoryResult result = m.core.results(end);
    expect_clocks_add_up(result);
    EXPECT_EQ(result.dram_bursts, 8000 * 256 / 32);
    EXPECT_EQ(static_cast<int>(result.channels.size()), channels);
  }
}

TEST(DramPath, FewOutstandingBurstsAreLatencyBound) {
  // Closed form 2 with the real latency L of a row hit: outstanding x 64 B / L until the channel is the limit.
  MemoryConfig c = lpddr4();
  c.refresh = "none";
  const auto bytes_per_cycle = [&](int outstanding) {
    Managers m(c);
    m.add(reads(outstanding, 3000, 1));
    m.run();
    return 2000.0 * 64 / static_cast<double>(m.last(1)[2500] - m.last(1)[500]);
  };
  const double latency = 64.0 / bytes_per_cycle(1);
  EXPECT_NEAR(latency, 38.5, 1.5);  // 94 - 56 by hand, row changes and phases of the clocks aside
  EXPECT_NEAR(bytes_per_cycle(2) / (2 * 64.0 / latency), 1.0, 0.05);
  EXPECT_NEAR(bytes_per_cycle(4) / (4 * 64.0 / latency), 1.0, 0.10);
  EXPECT_NEAR(bytes_per_cycle(16), 8.533, 0.1);
}

TEST(DramPath, NarrowAndWideBusesMoveTheSameBytes) {
  for (const Bytes width : {4, 8, 64, 128}) {
    MemoryConfig c = lpddr4();
    c.data_bytes = width;
    Managers m(c);
    Traffic t;
    t.outstanding = 8;
    t.bursts = 300;
    t.beats = static_cast<int>(std::max<Bytes>(1, 256 / width / 2));
    t.stride =
        static_cast<std::uint64_t>(t.beats) * static_cast<std::uint64_t>(width) * 3;  // also beside 64-byte borders
    m.add(t);
    m.run();
    EXPECT_EQ(m.beats(1).size(), static_cast<std::size_t>(300 * t.beats)) << width;
    for (std::size_t i = 1; i < m.beats(1).size(); ++i) ASSERT_GT(m.beats(1)[i], m.beats(1)[i - 1]);
  }
}

TEST(DramPath, SlowReadersOfANarrowPortAreTheirOwnBandwidth) {
  MemoryConfig c = lpddr4(4);
  c.data_bytes = 8;
  Managers m(c);
  Traffic t;
  t.outstanding = 8;
  t.bursts = 500;
  t.beats = 8;
  m.add(t);
  const Cycles end = m.run();
  EXPECT_NEAR(static_cast<double>(end), 500 * 8, 400) << "one beat a cycle is the limit";
  const CauseTotals totals = m.core.totals(end, 1);
  EXPECT_GT(of(totals, StallCause::dram_bandwidth), end * 8 / 10);
}

Traffic random_traffic(int port, Random& random) {
  Traffic t;
  t.port = port;
  t.write = port % 3 == 2;
  t.outstanding = static_cast<int>(random.between(1, 32));
  t.bursts = static_cast<int>(random.between(50, 400));
  t.beats = static_cast<int>(random.between(1, 16));
  t.stride = 1024 * static_cast<std::uint64_t>(random.between(1, 70));
  t.base = random.below(1 << 8) * 1024;  // close together, so that caches hit
  t.begin = random.between(0, 300);
  return t;
}

MemoryConfig random_config(Random& random) {
  MemoryConfig c = lpddr4(1 << random.between(0, 2));
  c.cores = static_cast<int>(random.between(1, 2));
  c.queue_depth = static_cast<int>(random.between(1, 8));
  c.latency_cycles = random.between(0, 12);
  c.sync_clocks = random.between(0, 3);
  c.dram_queue_depth = static_cast<int>(random.between(1, 32));
  c.clock_hz = random.between(100, 4000) * 1'000'000;
  c.page_policy = random.chance(1, 2) ? "open" : "closed";
  if (random.chance(1, 3)) {
    c.device = "LPDDR5-6400";
    c.tck_fs = 1'250'000;
  }
  if (random.chance(1, 2)) c.refresh = "per_bank";
  if (random.chance(1, 2)) {
    c.cache = {1 << random.between(12, 16), 1 << static_cast<int>(random.between(0, 3)), 64 << random.between(0, 2),
               1 << static_cast<int>(random.between(0, 2)), static_cast<int>(random.between(1, 16))};
    c.cache_hit_cycles = random.between(1, 12);
    for (bool& allocate : c.cache_allocate) allocate = random.chance(3, 4);
  }
  if (random.chance(1, 2)) {
    c.traffic.camera_bytes = random.between(1000, 100'000);
    c.traffic.camera_fps = random.between(1000, 20'000);
    c.traffic.cpu_bytes_per_s = random.between(1, 1000) * 1'000'000;
  }
  return c;
}

TEST(DramPath, OrderOfCallsAndAskingForCausesChangeNothing) {
  for (std::uint64_t seed = 1; seed <= 16; ++seed) {
    std::vector<std::vector<Cycles>> seen[3];
    CauseTotals totals[3][6] = {};
    for (int variant = 0; variant < 3; ++variant) {
      Random random(seed);
      const MemoryConfig c = random_config(random);
      Managers m(c);
      for (int port = 0; port < c.cores * 3; ++port) m.add(random_traffic(port, random));
      m.ask_every_cycle = variant == 2;
      const Cycles end = m.run(variant == 1);
      for (int port = 0; port < c.cores * 3; ++port) {
        seen[variant].push_back(m.handshakes(port));
        seen[variant].push_back(m.beats(port));
        totals[variant][port] = m.core.totals(end, port);
        Cycles outstanding = 0;  // cycles in which the port has a burst between handshake and response
        Cycles until = 0;
        for (std::size_t i = 0; i < m.last(port).size(); ++i) {
          const Cycles from = std::max(until, m.handshakes(port)[i]);
          until = std::max(until, m.last(port)[i]);
          outstanding += until - from;
        }
        EXPECT_EQ(sum(totals[variant][port]), outstanding) << "seed " << seed << " port " << port;
      }
      expect_clocks_add_up(m.core.results(end));
    }
    EXPECT_EQ(seen[0], seen[1]) << "seed " << seed;
    EXPECT_EQ(seen[0], seen[2]) << "seed " << seed;
    for (int port = 0; port < 6; ++port) {
      EXPECT_EQ(totals[0][port], totals[1][port]) << "seed " << seed << " port " << port;
      EXPECT_EQ(totals[0][port], totals[2][port]) << "seed " << seed << " port " << port;
    }
  }
}

// Totals only ever grow: an interval's causes are a difference of two totals.
TEST(DramPath, TotalsNeverShrink) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    Random random(seed + 100);
    const MemoryConfig c = random_config(random);
    Managers m(c);
    for (int port = 0; port < c.cores * 3; ++port) m.add(random_traffic(port, random));
    std::vector<CauseTotals> before(static_cast<std::size_t>(c.cores * 3));
    bool shrunk = false;
    m.every_cycle = [&](Cycles now) {
      for (int port = 0; port < c.cores * 3; ++port) {
        const CauseTotals after = m.core.totals(now, port);
        CauseTotals& old = before[static_cast<std::size_t>(port)];
        for (std::size_t k = 0; k < after.size(); ++k) shrunk = shrunk || after[k] < old[k];
        old = after;
      }
    };
    m.run();
    EXPECT_FALSE(shrunk) << "seed " << seed;
  }
}

TEST(DramPath, ContentionIsNamed) {
  MemoryConfig c = lpddr4();
  Managers alone(c);
  Traffic load = reads(32, 2000, 4);
  alone.add(load);
  const Cycles before = alone.run();
  EXPECT_EQ(of(alone.core.totals(before, 1), StallCause::dram_contention_store), 0);
  Managers m(c);
  m.add(load);
  Traffic store = reads(32, 2000, 4);
  store.port = 2;
  store.write = true;
  store.base = 1 << 24;
  m.add(store);
  const Cycles end = m.run();
  EXPECT_GT(end, before * 18 / 10);
  EXPECT_GT(of(m.core.totals(end, 1), StallCause::dram_contention_store), end / 4);
  EXPECT_EQ(of(m.core.totals(end, 1), StallCause::dram_contention_load), 0);
  EXPECT_GT(m.core.results(end).channels[0].turnaround, 0);
}

TEST(DramPath, IdleTimeHasNoEvents) {
  Managers m(lpddr4());
  m.add(reads(4, 8, 4));
  m.run();
  EXPECT_EQ(m.core.next_event(), kNever);
  const MemoryResult result = m.core.results(1'000'000'000);
  expect_clocks_add_up(result);
  EXPECT_NEAR(static_cast<double>(result.channels[0].refreshes), 1e9 * 32 / 15 / 8341, 2);
}

TEST(DramPath, UserErrors) {
  const auto message = [](const MemoryConfig& c) {
    try {
      Managers m(c);
    } catch (const UserError& e) {
      return std::string(e.what());
    }
    return std::string("none");
  };
  MemoryConfig c = lpddr4();
  c.device = "DDR4-3200";
  c.refresh = "per_bank";
  EXPECT_EQ(message(c),
            "dram.refresh = \"per_bank\": DDR4-3200 has no per-bank refresh; expected \"none\" or \"all_bank\"");
  c = lpddr4();
  c.timings["BL"] = 0;
  EXPECT_EQ(message(c), "dram.timings.BL = 0: expected at least 1 (a burst takes time)");
  c = lpddr4();
  c.interleave_bytes = 96;
  EXPECT_EQ(message(c), "dram.interleave_bytes = 96: expected a multiple of 64");
}

}  // namespace
}  // namespace tessera::hw
