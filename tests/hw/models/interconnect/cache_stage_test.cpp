// The system cache in the path: times by hand, hits of a known reuse, DRAM bytes, streams that bypass; background
// traffic.
#include <gtest/gtest.h>

#include "hw/models/interconnect/dram_path.hpp"
#include "tests/hw/models/interconnect/manager.hpp"

namespace tessera::hw {
namespace {

using test::Managers;
using test::Traffic;

MemoryConfig config(Bytes cache_bytes) {  // the memory of a1000, one channel
  MemoryConfig c;
  c.fixed = false;
  c.device = "LPDDR4-4266";
  c.tck_fs = 468'750;
  c.latency_cycles = 8;
  c.cache.size_bytes = cache_bytes;
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

Cycles of(const CauseTotals& totals, StallCause cause) { return totals[static_cast<std::size_t>(cause)]; }

// AR in cycle 0, in the cache in 1, the miss leaves in 2: one cycle later than without a cache (56, see
// dram_path_test).
TEST(CacheStage, LatencyOfAMissByHand) {
  Managers m(config(65536));
  m.add(reads(1, 1, 1));
  const Cycles end = m.run();
  // Request of cycle 10: clock ceil(11 * 32 / 15) + 2 = 26; ACT 26, RD 65, 73; last beat 116: ceil(117 * 15 / 32) + 2
  // = 57.
  EXPECT_EQ(end, 57);
  const CauseTotals totals = m.core.totals(end, 1);
  Cycles sum = 0;
  for (const Cycles c : totals) sum += c;
  EXPECT_EQ(sum, end);
}

// AR in n, in the cache in n + 1, 8 cycles of interconnect, 8 of the cache: data in n + 17.
TEST(CacheStage, LatencyOfAHitByHand) {
  Managers m(config(65536));
  Traffic t = reads(1, 3, 1);
  t.stride = 0;  // the same bytes three times
  m.add(t);
  m.run();
  EXPECT_EQ(m.last(1)[1] - m.handshakes(1)[1], 17);
  EXPECT_EQ(m.last(1)[2] - m.handshakes(1)[2], 17);
  const CacheResult result = m.core.results(1000).cache;
  EXPECT_EQ(result.streams[1].name, "load");
  EXPECT_EQ(result.streams[1].hits, 2);
  EXPECT_EQ(result.streams[1].misses, 1);
}

TEST(CacheStage, AKnownReuseGivesHitsByHand) {
  // 32 KiB read four times through 64 KiB: the first pass misses, the others hit; DRAM sees the bytes once.
  Managers m(config(65536));
  MemoryResult result;
  std::int64_t hits = 0;
  Traffic t = reads(8, 128, 4);
  m.add(t);
  Cycles end = m.run();
  EXPECT_EQ(m.core.results(end).cache.streams[1].misses, 512);
  for (int pass = 2; pass <= 4; ++pass) {
    // A new path each time would start cold: the same traffic again in one run instead.
    Managers again(config(65536));
    Traffic twice = t;
    twice.bursts = 128 * pass;
    twice.wrap = 128;
    again.add(twice);
    end = again.run();
    result = again.core.results(end);
    hits = result.cache.streams[1].hits + result.cache.streams[1].merged;
    EXPECT_EQ(hits, 512 * (pass - 1));
    EXPECT_EQ(result.cache.streams[1].misses, 512);
    EXPECT_EQ(result.dram_bursts, 32768 / 32);
    EXPECT_EQ(result.cache.fetched_bytes, 32768);
  }
}

TEST(CacheStage, WritesStayUntilTheyMakeRoom) {
  Managers m(config(65536));
  Traffic w = reads(8, 128, 4);  // 32 KiB of whole sectors
  w.port = 2;
  w.write = true;
  m.add(w);
  const Cycles end = m.run();
  MemoryResult result = m.core.results(end);
  EXPECT_EQ(result.dram_bursts, 0);
  EXPECT_EQ(result.cache.dirty_bytes_left, 32768);
  Managers more(config(16384));  // now twice what fits
  more.add(w);
  result = more.core.results(more.run());
  EXPECT_EQ(result.cache.written_bytes + result.cache.dirty_bytes_left, 32768);
  EXPECT_EQ(result.cache.dirty_bytes_left, 16384);
  EXPECT_EQ(result.cache.fetched_bytes, 0);
}

TEST(CacheStage, AStreamThatBypassesLeavesTheCacheAlone) {
  MemoryConfig c = config(65536);
  c.cache_allocate[1] = false;
  Managers m(c);
  Traffic t = reads(8, 256, 4);
  t.wrap = 128;
  m.add(t);
  const MemoryResult result = m.core.results(m.run());
  EXPECT_EQ(result.cache.streams[1].bypassed, 1024);
  EXPECT_EQ(result.cache.streams[1].hits, 0);
  EXPECT_EQ(result.dram_bursts, 2 * 32768 / 32);
}

TEST(CacheStage, SizeZeroIsNoCache) {
  const auto last = [](const MemoryConfig& c) {
    Managers m(c);
    m.add(reads(16, 500, 4));
    Traffic w = reads(4, 300, 2);
    w.port = 2;
    w.write = true;
    w.base = 1 << 20;
    m.add(w);
    const Cycles end = m.run();
    EXPECT_TRUE(m.core.results(end).cache.streams.empty());
    return std::pair{m.last(1), m.last(2)};
  };
  MemoryConfig other = config(0);
  other.cache = {0, 1, 1024, 1, 1};
  other.cache_hit_cycles = 100;
  other.cache_allocate = {false, false, false};
  MemoryConfig plain;  // as it was before there was a cache
  plain.fixed = false;
  plain.device = "LPDDR4-4266";
  plain.tck_fs = 468'750;
  plain.latency_cycles = 8;
  EXPECT_EQ(last(other), last(plain));
}

TEST(CacheStage, MissesStreamAtTheRateOfTheDram) {
  MemoryConfig c = config(65536);
  Managers m(c);
  m.add(reads(32, 4000, 4));
  const Cycles end = m.run();
  EXPECT_NEAR(4000.0 * 256 / static_cast<double>(end) / (8.533 * 0.9168), 1.0, 0.03);
  c.cache.outstanding_misses = 1;  // one line at a time: its latency is the limit
  Managers one(c);
  one.add(reads(32, 500, 4));
  EXPECT_GT(one.run(), 2000 * 30);
}

// Camera: 6.4 MB/s x n; its bytes by the end are those due by then, and the rest of the chip waits for it by name.
TEST(Background, ACameraTakesExactlyItsBytes) {
  MemoryConfig c = config(0);
  c.traffic.camera_bytes = 100'001;  // the last request of a frame is a byte
  c.traffic.camera_fps = 20'000;     // 2 GB/s
  Managers alone(config(0));
  alone.add(reads(32, 4000, 4));
  const Cycles before = alone.run();
  Managers m(c);
  m.add(reads(32, 4000, 4));
  const Cycles end = m.run();
  const MemoryResult result = m.core.results(end);
  ASSERT_EQ(result.traffic.size(), 1U);
  EXPECT_EQ(result.traffic[0].name, "camera");
  // Frames of 50,000 cycles; at most the longest wait is still to be taken.
  const double due = 100'001.0 * 20'000 * static_cast<double>(end) * 1e-9;
  EXPECT_NEAR(static_cast<double>(result.traffic[0].bytes), due,
              64.0 + 2.0 * static_cast<double>(result.traffic[0].longest_wait));
  // The channel is the limit for both: what the camera takes, the stream loses; the loss has the camera's name.
  EXPECT_GT(end, before * 5 / 4);
  const Cycles named = of(m.core.totals(end, 1), StallCause::dram_contention_camera);
  EXPECT_GT(named, (end - before) / 4);
  EXPECT_EQ(of(alone.core.totals(before, 1), StallCause::dram_contention_camera), 0);
}

TEST(Background, WholeFramesTakeWholeFrames) {
  MemoryConfig c = config(0);
  c.traffic.camera_bytes = 6'220'800;  // 1080p, 24 bits a pixel
  c.traffic.camera_fps = 1000;
  Managers m(c);
  m.add(reads(1, 1, 1));
  m.run();
  for (Cycles next = m.core.next_event(); next < 3'000'100; next = m.core.next_event()) m.core.advance(next);
  // Three frames and what a hundred cycles of the fourth bring.
  EXPECT_NEAR(static_cast<double>(m.core.results(3'000'100).traffic[0].bytes), 3 * 6'220'800 + 622, 64);
}

TEST(Background, CpuTrafficHasItsRateAndShareOfWrites) {
  MemoryConfig c = config(0);
  c.traffic.cpu_bytes_per_s = 1'000'000'000;
  c.traffic.cpu_write_percent = 25;
  Managers m(c);
  m.add(reads(1, 1, 1));
  m.run();
  for (Cycles next = m.core.next_event(); next < 2'000'000; next = m.core.next_event()) m.core.advance(next);
  const MemoryResult result = m.core.results(2'000'000);
  EXPECT_EQ(result.traffic[0].name, "cpu");
  EXPECT_NEAR(static_cast<double>(result.traffic[0].bytes), 2e6, 2e6 * 0.02) << "1 GB/s at 1 GHz";
  const MemoryResult again = [&] {
    Managers other(c);
    other.add(reads(1, 1, 1));
    other.run();
    for (Cycles next = other.core.next_event(); next < 2'000'000; next = other.core.next_event()) {
      other.core.advance(next);
    }
    return other.core.results(2'000'000);
  }();
  EXPECT_EQ(again.channels[0].row_hits, result.channels[0].row_hits) << "the seed decides everything";
  EXPECT_EQ(again.channels[0].activate, result.channels[0].activate);
}

}  // namespace
}  // namespace tessera::hw
