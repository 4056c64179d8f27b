// Hits by hand, eviction order, sectors, blocking; relations between caches of different size.
#include "hw/models/cache/cache_core.hpp"

#include <gtest/gtest.h>

#include "hw/common/random.hpp"

namespace tessera::hw {
namespace {

using Addresses = std::vector<std::uint64_t>;

/// Reads `address` and lets what it fetches arrive at once.
CacheOutcome read(CacheCore& cache, std::uint64_t address, bool allocate = true) {
  const CacheAccess a = cache.access(address, false, true, allocate);
  for (const std::uint64_t sector : a.fetches) cache.fetched(sector);
  return a.outcome;
}

TEST(Cache, AKnownReuseGivesHitsByHand) {
  CacheCore cache({1024, 2, 64, 1, 4});  // 8 sets of 2 ways
  int hits = 0;
  // 1 KiB read three times: the first time 16 misses, then everything hits.
  for (int pass = 0; pass < 3; ++pass) {
    for (std::uint64_t i = 0; i < 16; ++i) hits += read(cache, i * 64) == CacheOutcome::hit ? 1 : 0;
  }
  EXPECT_EQ(hits, 32);
  // Three lines of one set in turn do not fit two ways: least recently used never hits.
  hits = 0;
  for (int i = 0; i < 30; ++i) hits += read(cache, 4096 + static_cast<std::uint64_t>(i % 3) * 512) == CacheOutcome::hit;
  EXPECT_EQ(hits, 0);
  // Two of them do: the first round misses.
  for (int i = 0; i < 30; ++i) hits += read(cache, 8192 + static_cast<std::uint64_t>(i % 2) * 512) == CacheOutcome::hit;
  EXPECT_EQ(hits, 28);
}

TEST(Cache, AnAccessMakesALineTheYoungest) {
  CacheCore cache({128, 2, 64, 1, 4});  // one set
  read(cache, 0);
  read(cache, 64);
  read(cache, 0);
  read(cache, 128);  // 64 makes room
  EXPECT_EQ(read(cache, 0), CacheOutcome::hit);
  EXPECT_EQ(read(cache, 64), CacheOutcome::miss);
}

TEST(Cache, ChangedSectorsAreWrittenBackOnce) {
  CacheCore cache({256, 1, 256, 1, 4});  // one line of four sectors
  EXPECT_TRUE(cache.access(64, true, true, true).fetches.empty()) << "a whole sector needs no fetch";
  EXPECT_EQ(cache.access(192, true, false, true).fetches, (Addresses{192})) << "a part of one does";
  cache.fetched(192);
  EXPECT_EQ(cache.dirty_sectors(), 2);
  const CacheAccess next = cache.access(1024 + 128, false, true, true);
  EXPECT_EQ(next.write_backs, (Addresses{64, 192}));
  EXPECT_EQ(next.fetches, (Addresses{1024 + 128, 1024 + 192, 1024, 1024 + 64})) << "the one asked for first";
  for (const std::uint64_t sector : next.fetches) cache.fetched(sector);
  EXPECT_TRUE(cache.access(2048, false, true, true).write_backs.empty());
}

TEST(Cache, AMissingSectorOfALineIsFetchedAlone) {
  CacheCore cache({256, 1, 256, 1, 4});
  (void)cache.access(0, true, true, true);
  EXPECT_EQ(cache.access(64, false, true, true).fetches, (Addresses{64}));
  EXPECT_EQ(cache.access(64, false, true, true).outcome, CacheOutcome::merged);
  cache.fetched(64);
  EXPECT_EQ(cache.access(64, false, true, true).outcome, CacheOutcome::hit);
  EXPECT_EQ(cache.access(0, false, true, true).outcome, CacheOutcome::hit) << "what was written is there";
}

TEST(Cache, BypassLeavesNothingAndSeesWhatIsThere) {
  CacheCore cache({1024, 2, 64, 1, 4});
  EXPECT_EQ(cache.access(0, false, true, false).outcome, CacheOutcome::bypass);
  EXPECT_EQ(cache.access(0, false, true, false).outcome, CacheOutcome::bypass);
  read(cache, 0);
  EXPECT_EQ(cache.access(0, false, true, false).outcome, CacheOutcome::hit);
  EXPECT_EQ(cache.access(0, true, true, false).outcome, CacheOutcome::hit) << "or older bytes would stay in it";
  EXPECT_EQ(cache.dirty_sectors(), 1);
}

TEST(Cache, MissesAreLimitedAndBlockWithoutAChange) {
  CacheCore cache({1024, 2, 64, 1, 2});
  EXPECT_EQ(cache.access(0, false, true, true).outcome, CacheOutcome::miss);
  EXPECT_EQ(cache.access(64, false, true, true).outcome, CacheOutcome::miss);
  EXPECT_EQ(cache.outstanding(), 2);
  EXPECT_EQ(cache.access(128, false, true, true).outcome, CacheOutcome::blocked);
  EXPECT_EQ(cache.access(128, true, true, true).outcome, CacheOutcome::miss) << "a whole write fetches nothing";
  cache.fetched(0);
  EXPECT_EQ(cache.access(192, false, true, true).outcome, CacheOutcome::miss);
  // A set whose ways all wait for sectors.
  CacheCore narrow({128, 2, 64, 1, 8});
  (void)narrow.access(0, false, true, true);
  (void)narrow.access(64, false, true, true);
  EXPECT_EQ(narrow.access(128, false, true, true).outcome, CacheOutcome::blocked);
  narrow.fetched(64);
  EXPECT_EQ(narrow.access(128, false, true, true).outcome, CacheOutcome::miss);
}

/// DRAM bytes of a stream with some locality.
Bytes traffic(const CacheConfig& config, std::uint64_t seed) {
  CacheCore cache(config);
  Random random(seed);
  Bytes sectors = 0;
  std::uint64_t base = 0;
  for (int i = 0; i < 60'000; ++i) {
    if (random.chance(1, 50)) base = random.below(1 << 18) / 64 * 64;
    const std::uint64_t address = (base + random.below(1 << 13)) / 64 * 64;
    const CacheAccess a = cache.access(address, random.chance(1, 4), true, true);
    sectors += static_cast<Bytes>(a.fetches.size() + a.write_backs.size());
    for (const std::uint64_t sector : a.fetches) cache.fetched(sector);
  }
  return (sectors + cache.dirty_sectors()) * 64;
}

TEST(Cache, MoreWaysAtEqualSetsNeverCostBytes) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Bytes before = INT64_MAX;
    for (const int ways : {1, 2, 4, 8, 16}) {
      const Bytes now = traffic({std::int64_t{ways} * 64 * 64, ways, 64, 1, 8}, seed);
      EXPECT_LE(now, before) << ways << " ways, seed " << seed;
      before = now;
    }
  }
}

TEST(Cache, AGreaterCacheCostsAtMostHalfAPercentMore) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Bytes before = INT64_MAX / 2;
    for (Bytes size = 4096; size <= 1 << 19; size *= 2) {
      const Bytes now = traffic({size, 8, 64, 1, 8}, seed);
      EXPECT_LE(static_cast<double>(now), 1.005 * static_cast<double>(before)) << size << " bytes, seed " << seed;
      before = now;
    }
  }
}

}  // namespace
}  // namespace tessera::hw
