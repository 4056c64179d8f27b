// Cycle rules of hw/models/store/README.md, driven cycle by cycle without SystemC.
#include "hw/models/store/store_core.hpp"

#include <algorithm>
#include <map>
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
  c.read_latency = 2;
  return c;
}

/// Steps every cycle; B comes `latency` cycles after the last W beat, in order.
struct Bench {
  explicit Bench(const DmaConfig& c) : core(c) {}
  StoreCore core;
  Cycles latency = 5;
  std::map<Cycles, DmaShape> starts;
  std::map<Cycles, bool> refuse, hold_aw;
  std::vector<Cycles> reads, aws, finishes;

  void run(Cycles cycles) {
    std::map<Cycles, int> responses;
    Cycles w_last = -1;
    std::int64_t held = 0;
    for (Cycles n = 0; n < cycles; ++n) {
      const auto accept = [&](std::int64_t beats) {
        w_last = std::max(n, w_last) + beats;
        ++responses[w_last + latency];
      };
      if (responses.count(n) != 0) core.response();
      if (held > 0 && hold_aw.count(n) == 0) {
        core.handshake();
        accept(held);
        held = 0;
      }
      const StoreOutputs out = core.outputs(n);
      bool accepted = false;
      if (out.raise_aw) {
        aws.push_back(n);
        accepted = hold_aw.count(n) == 0;
        if (accepted) {
          accept(out.aw_beats);
        } else {
          held = out.aw_beats;
        }
      }
      const bool granted = out.banks != 0 && refuse.count(n) == 0;
      if (granted) reads.push_back(n);
      if (starts.count(n) != 0) core.start(n, starts.at(n), 0);
      if (core.commit(n, out, granted, accepted)) finishes.push_back(n + 1);
    }
  }
};

TEST(StoreCore, OneBurstFromPopToFinish) {
  Bench bench(small());
  bench.starts[3] = rows(0, 32, 1, 0);
  bench.run(40);
  EXPECT_EQ(bench.reads, (std::vector<Cycles>{4, 5}));
  EXPECT_EQ(bench.aws, (std::vector<Cycles>{5 + 2 + 1}));           // whole: last grant + read latency + 1
  EXPECT_EQ(bench.finishes, (std::vector<Cycles>{8 + 4 + 5 + 1}));  // W 9..12, B 17
}

TEST(StoreCore, ARefusedReadIsRepeatedAndAwGoesOn) {
  Bench bench(small());
  bench.starts[0] = rows(0, 64, 1, 0);
  bench.refuse[3] = bench.refuse[4] = bench.refuse[5] = true;
  bench.run(60);
  EXPECT_EQ(bench.reads, (std::vector<Cycles>{1, 2, 6, 7}));
  EXPECT_EQ(bench.aws, (std::vector<Cycles>{5, 10}));
}

TEST(StoreCore, BufferSpaceLimitsReading) {
  DmaConfig config = small();
  config.buffer_beats = 4;
  Bench bench(config);
  bench.starts[0] = rows(0, 64, 1, 0);
  bench.run(60);
  // Burst 0 read in 1, 2; AW 5; W beats 6..9; its four places are free in 10: not in 9, yes in 10.
  EXPECT_EQ(bench.reads, (std::vector<Cycles>{1, 2, 10, 11}));
}

TEST(StoreCore, WriteCreditIsUsedInTheCycleOfB) {
  DmaConfig config = small();
  config.outstanding = 1;
  Bench bench(config);
  bench.starts[0] = rows(0, 64, 1, 0);
  bench.run(60);
  EXPECT_EQ(bench.aws, (std::vector<Cycles>{5, 14}));    // W 6..9, B 14
  EXPECT_EQ(bench.finishes, (std::vector<Cycles>{24}));  // W 15..18, B 23
}

TEST(StoreCore, WBeatsQueueBehindEachOther) {
  DmaConfig config = small();
  config.outstanding = 4;
  config.buffer_beats = 32;
  Bench bench(config);
  bench.starts[0] = rows(0, 64, 1, 0);
  bench.run(60);
  EXPECT_EQ(bench.aws, (std::vector<Cycles>{5, 7}));
  EXPECT_EQ(bench.core.state().w_last, 13);  // 6..9, 10..13
}

TEST(StoreCore, AHeldAwDelaysThePopOfTheNext) {
  Bench bench(small());
  bench.starts[0] = rows(0, 32, 1, 0);
  bench.hold_aw[5] = bench.hold_aw[6] = true;
  bench.run(7);
  EXPECT_FALSE(bench.core.ready(false));  // after cycle 6
  Bench longer(small());
  longer.starts = bench.starts;
  longer.hold_aw = bench.hold_aw;
  longer.run(8);
  EXPECT_TRUE(longer.core.ready(false));  // accepted in 7, popped in 8
}

TEST(StoreCore, ALineThatCrossesABurstIsReadOncePerBurst) {
  DmaConfig config = small();
  // Row of 40 bytes at DRAM 8: bursts 8..39 (32 B), 40..47. SRAM lines 0..15, 16..31, 32..39.
  DmaShape s = rows(8, 40, 1, 0);
  const DmaCost cost = store_cost(s, config);
  EXPECT_EQ(cost.bursts, 2);
  EXPECT_EQ(cost.sram_cycles, 3);
  // At SRAM 8 the burst boundary cuts a line: 8..15, 16..31, 32..39 | 40..47.
  s.sram_base = 8;
  EXPECT_EQ(store_cost(s, config).sram_cycles, 4);
}

TEST(StoreCore, FastWakeEqualsStepping) {
  // Stepping only in the cycles that next_wake names (and those of inputs) gives the same events.
  const DmaConfig config = small();
  Bench stepped(config);
  stepped.starts[2] = rows(13, 100, 3, 5);
  stepped.run(200);
  StoreCore core(config);
  std::vector<Cycles> reads, aws, finishes;
  std::map<Cycles, int> responses;
  Cycles w_last = -1, wake = kNever;
  for (Cycles n = 0; n < 200; ++n) {
    const bool start = n == 2;
    if (!start && wake != n && responses.count(n) == 0) continue;
    if (responses.count(n) != 0) core.response();
    const StoreOutputs out = core.outputs(n);
    if (out.raise_aw) {
      aws.push_back(n);
      w_last = std::max(n, w_last) + out.aw_beats;
      ++responses[w_last + 5];
    }
    if (out.banks != 0) reads.push_back(n);
    if (start) core.start(n, rows(13, 100, 3, 5), 0);
    if (core.commit(n, out, out.banks != 0, true)) finishes.push_back(n + 1);
    wake = core.next_wake(n);
  }
  EXPECT_EQ(reads, stepped.reads);
  EXPECT_EQ(aws, stepped.aws);
  EXPECT_EQ(finishes, stepped.finishes);
  EXPECT_EQ(finishes.size(), 1u);
}

// Bursts that are read in one step while nobody else wants their banks, given up in any cycle, change no event.
TEST(StoreCore, ReadingAheadEqualsStepping) {
  int given_up = 0;
  Cycles slept = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    DmaConfig config = small();
    config.max_burst_beats = 8;
    config.buffer_beats = 16;
    DmaShape shape =
        rows(static_cast<std::int64_t>(random.below(20)), 0, 1 + static_cast<std::int64_t>(random.below(3)), 3);
    shape.group_bytes = 1 + static_cast<std::int64_t>(random.below(6));
    shape.group_stride = 20;
    shape.row_bytes = 200;
    shape.dram_stride[2] = 300;
    shape.sram_stride[2] = 7;
    std::map<Cycles, bool> alone;  // changes
    Cycles at = 0;
    for (bool is = random.below(2) == 0; at < 3000; is = !is) {
      alone[at] = is;
      at += 1 + static_cast<Cycles>(random.below(60));
    }
    const auto run = [&](bool use) {
      StoreCore core(config);
      std::vector<Cycles> events;
      std::map<Cycles, int> responses;
      Cycles w_last = -1, wake = kNever;
      bool is_alone = false;
      for (Cycles n = 0; n < 3000; ++n) {
        if (alone.count(n) != 0) is_alone = use && alone.at(n);
        bool woken = wake == n || n == 2 || responses.count(n) != 0;
        if (!is_alone && core.interrupt(n)) {
          ++given_up;
          woken = true;
        }
        if (!woken) {
          slept += core.reading_ahead() ? 1 : 0;
          continue;
        }
        for (int i = responses.count(n) != 0 ? responses.at(n) : 0; i > 0; --i) core.response();
        const StoreOutputs out = core.outputs(n, is_alone);
        if (out.raise_aw) {
          events.insert(events.end(), {n, static_cast<Cycles>(out.aw_address), out.aw_beats});
          w_last = std::max(n, w_last) + out.aw_beats;
          ++responses[w_last + 5];
        }
        if (n == 2) core.start(n, shape, 0);
        if (core.commit(n, out, out.banks != 0, true)) events.push_back(n + 1);
        wake = core.next_wake(n);
      }
      EXPECT_TRUE(core.idle());
      return events;
    };
    const std::vector<Cycles> stepped = run(false);
    EXPECT_EQ(run(true), stepped) << "seed " << seed;
    EXPECT_GT(stepped.size(), 9u);
  }
  EXPECT_GT(given_up, 100);
  EXPECT_GT(slept, 1000);
}

}  // namespace
}  // namespace tessera::hw
