// Cycle rules of hw/models/load/README.md, driven cycle by cycle without SystemC; costs against the walks.
#include "hw/models/load/load_core.hpp"

#include <map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "hw/common/random.hpp"
#include "hw/models/load/cost.hpp"

namespace tessera::hw {
namespace {

using semantics::DmaShape;

DmaShape rows(std::int64_t dram, std::int64_t row_bytes, std::int64_t count, std::int64_t sram) {
  DmaShape s;
  s.dram_offset = dram;
  s.sram_base = sram;
  s.row_bytes = s.group_bytes = s.group_stride = row_bytes;
  s.count[2] = count;
  s.dram_stride[2] = s.sram_stride[2] = row_bytes;
  return s;
}

DmaConfig small() {
  DmaConfig c;
  c.data_bytes = 8;
  c.max_burst_beats = 4;
  c.buffer_beats = 8;
  c.outstanding = 2;
  c.in_flight = 2;
  c.line_bytes = 16;
  c.lines_per_bank = 4;
  return c;
}

struct Event {
  Cycles cycle;
  std::int64_t value;
  bool operator==(const Event& o) const { return cycle == o.cycle && value == o.value; }
  friend std::ostream& operator<<(std::ostream& out, const Event& e) { return out << e.cycle << ":" << e.value; }
};

/// Steps every cycle; memory returns the beats of a burst back to back, the last `latency` cycles after AR.
struct Bench {
  explicit Bench(const DmaConfig& c) : config(c), core(c) {}
  DmaConfig config;
  LoadCore core;
  Cycles latency = 10;
  std::map<Cycles, int> starts;  // cycle -> index of shapes
  std::vector<DmaShape> shapes;
  std::map<Cycles, bool> refuse;   // SRAM refuses in these cycles
  std::map<Cycles, bool> hold_ar;  // AR is not accepted in these cycles
  std::vector<Event> ars, writes, finishes;

  void run(Cycles cycles) {
    std::map<Cycles, bool> beats;  // cycle -> last
    Cycles bus = -1;
    std::int64_t held = 0;
    for (Cycles n = 0; n < cycles; ++n) {
      const auto accept = [&](std::int64_t count) {
        const Cycles last = std::max(n + latency, bus + count);
        for (std::int64_t i = 0; i < count; ++i) beats[last - count + 1 + i] = i + 1 == count;
        bus = last;
      };
      if (const auto beat = beats.find(n); beat != beats.end()) core.beat(n, beat->second);
      if (held > 0 && hold_ar.count(n) == 0) {
        core.handshake();
        accept(held);
        held = 0;
      }
      const LoadOutputs out = core.outputs(n);
      bool accepted = false;
      if (out.raise_ar) {
        ars.push_back({n, static_cast<std::int64_t>(out.ar_address)});
        accepted = hold_ar.count(n) == 0;
        if (accepted) {
          accept(out.ar_beats);
        } else {
          held = out.ar_beats;
        }
      }
      const bool granted = out.banks != 0 && refuse.count(n) == 0;
      if (granted) writes.push_back({n, static_cast<std::int64_t>(out.banks)});
      if (const auto start = starts.find(n); start != starts.end()) {
        core.start(n, shapes[static_cast<std::size_t>(start->second)], 0);
      }
      if (core.commit(n, out, granted, accepted)) finishes.push_back({n + 1, 0});
    }
  }
};

TEST(LoadCore, OneBurstFromPopToFinish) {
  Bench bench(small());
  bench.shapes = {rows(0, 32, 1, 0)};
  bench.starts[3] = 0;
  bench.run(40);
  // Pop 3, AR 4, beats 11..14, usable 12..15; two beats a line: writes in 13 and 15, finish 16.
  EXPECT_EQ(bench.ars, (std::vector<Event>{{4, 0}}));
  EXPECT_EQ(bench.writes, (std::vector<Event>{{13, 1}, {15, 1}}));
  EXPECT_EQ(bench.finishes, (std::vector<Event>{{16, 0}}));
}

TEST(LoadCore, ARefusedWriteFreezesTheSramSideOnly) {
  Bench bench(small());
  bench.shapes = {rows(0, 64, 1, 0)};
  bench.starts[0] = 0;
  bench.refuse[10] = bench.refuse[11] = true;
  bench.run(60);
  // ARs 1 and 2 (32 B each); beats 8..11 and 12..15. The first write is tried in 10, 11, 12.
  EXPECT_EQ(bench.ars, (std::vector<Event>{{1, 0}, {2, 32}}));
  EXPECT_EQ(bench.writes, (std::vector<Event>{{12, 1}, {14, 1}, {16, 1}, {18, 1}}));
  EXPECT_EQ(bench.finishes, (std::vector<Event>{{19, 0}}));
}

TEST(LoadCore, ACreditFreedByALastBeatIsUsedInItsCycle) {
  DmaConfig config = small();
  config.outstanding = 1;
  config.buffer_beats = 64;
  Bench bench(config);
  bench.shapes = {rows(0, 96, 1, 0)};
  bench.starts[0] = 0;
  bench.run(80);
  EXPECT_EQ(bench.ars, (std::vector<Event>{{1, 0}, {11, 32}, {21, 64}}));
}

TEST(LoadCore, LandingSpaceIsReservedBeforeArAndFreedTheCycleAfter) {
  DmaConfig config = small();
  config.outstanding = 8;
  config.buffer_beats = 4;  // one burst
  Bench bench(config);
  bench.shapes = {rows(0, 64, 1, 0)};
  bench.starts[0] = 0;
  bench.run(80);
  // The fourth beat comes in 11 and leaves in 12: not in 12, yes in 13.
  EXPECT_EQ(bench.ars, (std::vector<Event>{{1, 0}, {13, 32}}));
}

TEST(LoadCore, AHeldArIsRepeatedAndTheNextComesACycleLater) {
  Bench bench(small());
  bench.shapes = {rows(0, 64, 1, 0)};
  bench.starts[0] = 0;
  bench.hold_ar[1] = bench.hold_ar[2] = true;
  bench.run(60);
  EXPECT_EQ(bench.ars, (std::vector<Event>{{1, 0}, {4, 32}}));  // handshake of the first in 3
}

TEST(LoadCore, BurstsAreAlignedAndStopAt4KiB) {
  DmaConfig config = small();
  config.outstanding = 64;
  config.buffer_beats = 64;
  Bench bench(config);
  bench.shapes = {rows(4096 - 13, 30, 1, 0)};  // bytes 4083..4112: beats from 4080
  bench.starts[0] = 0;
  bench.run(60);
  EXPECT_EQ(bench.ars, (std::vector<Event>{{1, 4080}, {2, 4096}}));
  EXPECT_EQ(load_cost(bench.shapes[0], config).beats, 2 + 3);
  EXPECT_EQ(bench.core.finished_beats(), 5);
}

TEST(LoadCore, TheNextIsPoppedTheCycleAfterTheLastArAndFinishesInOrder) {
  Bench bench(small());
  bench.shapes = {rows(0, 16, 1, 0), rows(64, 16, 1, 64)};
  bench.starts[0] = 0;
  bench.starts[2] = 1;  // AR of the first is accepted in 1
  bench.run(1);
  EXPECT_FALSE(bench.core.ready(false));
  Bench full(small());
  full.shapes = bench.shapes;
  full.starts = bench.starts;
  full.run(40);
  EXPECT_EQ(full.ars, (std::vector<Event>{{1, 0}, {3, 64}}));
  EXPECT_EQ(full.finishes, (std::vector<Event>{{13, 0}, {15, 0}}));
  EXPECT_EQ(full.writes, (std::vector<Event>{{12, 1}, {14, 2}}));
}

TEST(LoadCore, PaddingNeedsNoBeat) {
  Bench bench(small());
  DmaShape s = rows(0, 8, 1, 0);
  s.group_bytes = s.group_stride = 8;
  s.groups_before = 1;  // 8 bytes of padding, then 8 of data: one line, two segments
  s.rows_before = 1;    // a padding row of two groups
  s.sram_stride[2] = 16;
  bench.shapes = {s};
  bench.starts[0] = 0;
  bench.run(40);
  // Padding row written in 1; padding group merged in 2; the beat comes in 11, is used in 12.
  EXPECT_EQ(bench.writes, (std::vector<Event>{{1, 1}, {12, 1}}));
  EXPECT_EQ(bench.finishes, (std::vector<Event>{{13, 0}}));
}

TEST(LoadCore, ScatteredGroupsOfOneLineAreOneSegment) {
  // 8 one-byte groups with stride 4: four of them fill a line of 16 bytes.
  DmaShape s = rows(0, 8, 1, 0);
  s.group_bytes = 1;
  s.group_stride = 4;
  const DmaCost cost = load_cost(s, small());
  EXPECT_EQ(cost.sram_cycles, 2);
  EXPECT_EQ(cost.lines, 2);
  EXPECT_EQ(cost.beats, 1);
}

TEST(LoadCore, NopRunsAlone) {
  LoadCore core(small());
  core.start_nop(5, 3);
  EXPECT_FALSE(core.commit(5, {}, false, false));
  EXPECT_FALSE(core.ready(false));
  EXPECT_FALSE(core.commit(6, {}, false, false));
  EXPECT_TRUE(core.commit(7, {}, false, false));  // finish 8
  EXPECT_TRUE(core.ready(true));
}

TEST(LoadCost, EqualsSteppingOnRandomShapes) {
  Random random(7);
  for (int i = 0; i < 200; ++i) {
    DmaShape s = rows(random.between(0, 5000), random.between(1, 90), random.between(1, 4), 16 * random.between(0, 5));
    s.group_bytes = random.between(1, s.row_bytes);
    s.group_stride = s.group_bytes + random.between(0, 9);
    s.groups_before = random.between(0, 2);
    s.groups_after = random.between(0, 2);
    s.rows_before = random.between(0, 1);
    s.rows_after = random.between(0, 1);
    s.sram_stride[2] = random.between(0, 300);
    s.count[1] = random.between(1, 3);
    s.dram_stride[1] = random.between(0, 900);
    s.sram_stride[1] = random.between(0, 900);
    const DmaConfig config = small();
    DmaCost stepped;
    std::int64_t bytes = 0;
    SegmentWalk walk(s, config.line_bytes);
    while (!walk.done()) {
      const bool fill = walk.fill();
      const Segment segment = walk.next(fill ? 0 : beat_limit(walk, s, 0, config));
      EXPECT_EQ(segment.fill, fill);
      ++stepped.sram_cycles;
      stepped.lines += segment.closes ? 1 : 0;
      bytes += fill ? 0 : segment.bytes;
      const DmaHull hull = dma_hull(s);
      EXPECT_GE(segment.line * config.line_bytes + config.line_bytes, hull.sram_begin);
      EXPECT_LT(segment.line * config.line_bytes, hull.sram_end);
    }
    std::int64_t payload = 0;
    for (BurstWalk bursts(s, 0, config); !bursts.done(); bursts.advance()) {
      ++stepped.bursts;
      stepped.beats += bursts.beats();
      payload += bursts.payload_bytes();
    }
    const DmaCost cost = load_cost(s, config);
    EXPECT_EQ(cost.sram_cycles, stepped.sram_cycles) << i;
    EXPECT_EQ(cost.lines, stepped.lines) << i;
    EXPECT_EQ(cost.bursts, stepped.bursts) << i;
    EXPECT_EQ(cost.beats, stepped.beats) << i;
    EXPECT_EQ(bytes, s.row_bytes * s.count[1] * s.count[2]);
    EXPECT_EQ(payload, bytes);
  }
}

}  // namespace
}  // namespace tessera::hw
