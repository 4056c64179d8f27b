// Cycle rules of hw/models/cp/README.md, driven cycle by cycle without SystemC: fetch, heads, H = 2, faults, end,
// stuck.
#include "hw/models/cp/cp_core.hpp"

#include <map>
#include <vector>

#include <gtest/gtest.h>

namespace tessera::hw {
namespace {

using isa::QueueId;

isa::Instruction nop(std::vector<std::pair<int, int>> waits = {}, std::vector<std::pair<int, int>> signals = {}) {
  isa::Instruction instruction;
  isa::Nop body;
  body.cycles = 1;
  instruction.body = body;
  for (std::size_t i = 0; i < waits.size(); ++i) {
    instruction.header.waits[i] = {static_cast<std::uint8_t>(waits[i].first),
                                   static_cast<std::uint8_t>(waits[i].second)};
  }
  for (std::size_t i = 0; i < signals.size(); ++i) {
    instruction.header.signals[i] = {static_cast<std::uint8_t>(signals[i].first),
                                     static_cast<std::uint8_t>(signals[i].second)};
  }
  return instruction;
}

CpConfig config(std::int64_t prefetch = 8, std::int64_t fetch = 4, std::int64_t data = 64, std::int64_t beats = 16) {
  return {prefetch, fetch, data, beats};
}

constexpr std::uint64_t kRingStride = 1 << 16;

/// Units are always ready and finish what they start `busy_cycles` later; memory answers with one beat a cycle.
struct Bench {
  explicit Bench(const CpConfig& c)
      : core(
            c, [this](const isa::Instruction&, std::string&) { return check; },
            [this](std::uint64_t address) {
              return words[static_cast<std::size_t>(address / kRingStride)].at(address % kRingStride / 64);
            }) {}

  void add(QueueId queue, const isa::Instruction& instruction) {
    for (const isa::Word& word : isa::encode(instruction)) words[static_cast<std::size_t>(queue)].push_back(word);
  }
  struct Started {
    Cycles cycle;
    int queue;
    bool operator==(const Started& o) const { return cycle == o.cycle && queue == o.queue; }
    friend std::ostream& operator<<(std::ostream& out, const Started& s) { return out << s.cycle << "/" << s.queue; }
  };

  void run(Cycles cycles) {
    for (int q = 0; q < kQueues; ++q) {
      core.set_ring(q, static_cast<std::uint64_t>(q) * kRingStride, ring_words);
      core.set_write_pointer(q, static_cast<std::uint32_t>(words[static_cast<std::size_t>(q)].size()));
    }
    core.doorbell();
    std::map<Cycles, std::vector<std::pair<int, isa::Header>>> finishes;
    std::map<Cycles, int> beats;
    std::array<Cycles, kQueues> free{};
    Cycles bus = -1;
    for (Cycles n = 0; n < cycles; ++n) {
      CpInputs in;
      for (int q = 0; q < kQueues; ++q) {
        if (free[static_cast<std::size_t>(q)] <= n) {
          in.ready |= 1u << q;
        } else {
          in.busy |= 1u << q;
        }
      }
      in.ready_nop = in.ready;
      for (const auto& [q, header] : finishes[n]) {
        in.done |= 1u << q;
        in.signals[static_cast<std::size_t>(q)] = header.signals;
      }
      if (beats.count(n) != 0) in.beat_queue = beats[n];
      const CpOutputs out = core.outputs(in);
      if (out.raise_ar) {
        ars.push_back({n, out.ar_queue});
        ar_bytes.push_back(out.ar.bytes);
        bus = std::max(n + latency - out.ar.beats, bus);
        for (int i = 0; i < out.ar.beats; ++i) beats[++bus] = out.ar_queue;
      }
      for (int q = 0; q < kQueues; ++q) {
        if ((out.start >> q & 1) == 0) continue;
        starts.push_back({n, q});
        finishes[n + busy_cycles].emplace_back(q, core.queue(q).head.header);
        free[static_cast<std::size_t>(q)] = n + busy_cycles;
      }
      if (out.fault != 0 && faulted < 0) faulted = n;
      if (out.quiet && quiet < 0) quiet = n;
      if (out.stuck && stuck < 0) stuck = n;
      (void)core.commit(n, in, out, true, false);
    }
  }

  isa::FaultCause check = isa::FaultCause::none;
  std::array<std::vector<isa::Word>, kQueues> words;
  std::uint32_t ring_words = 256;
  CpCore core;
  Cycles latency = 10, busy_cycles = 1;
  std::vector<Started> starts, ars;
  std::vector<std::int64_t> ar_bytes;
  Cycles faulted = -1, quiet = -1, stuck = -1;
};

constexpr int kLoad = 0, kStore = 1, kConv0 = 2;

TEST(CpCore, AWordStartsTwoCyclesAfterItsBeat) {
  Bench bench(config());
  bench.add(QueueId::load, nop());
  bench.add(QueueId::load, nop());
  bench.run(30);
  // AR 0, beats 9 and 10; one-cycle NOPs follow each other.
  EXPECT_EQ(bench.starts, (std::vector<Bench::Started>{{11, kLoad}, {12, kLoad}}));
  EXPECT_EQ(bench.quiet, 14);  // finish 13, quiet in 14
}

TEST(CpCore, QueuesTakeTurnsOnFetch) {
  Bench bench(config(8, 2));
  for (int i = 0; i < 4; ++i) {
    bench.add(QueueId::load, nop());
    bench.add(QueueId::conv0, nop());
    bench.add(QueueId::store, nop());
  }
  bench.run(60);
  ASSERT_GE(bench.ars.size(), 6u);
  EXPECT_EQ((std::vector<Bench::Started>{bench.ars.begin(), bench.ars.begin() + 3}),
            (std::vector<Bench::Started>{{0, kLoad}, {1, kStore}, {2, kConv0}}));
  // One burst a queue: LOAD's second AR follows its last beat (10) by one cycle.
  EXPECT_EQ(bench.ars[3], (Bench::Started{11, kLoad}));
  EXPECT_EQ(bench.ar_bytes[3], 2 * 64);
}

TEST(CpCore, FetchWaitsForRoom) {
  Bench bench(config(8, 4));
  bench.busy_cycles = 100;
  for (int i = 0; i < 20; ++i) bench.add(QueueId::load, nop());
  bench.run(60);
  // Two bursts of four; one word is popped and one stands in the head, so two places are free: not enough for four.
  EXPECT_EQ(bench.ars.size(), 2u);
}

TEST(CpCore, BurstsStopAtTheRingEndAndAt4KiB) {
  Bench bench(config(64, 16));
  bench.ring_words = 6;
  for (int i = 0; i < 10; ++i) bench.add(QueueId::load, nop());
  bench.words[0].resize(6);
  // Ten words through a ring of six: the ring holds the first six again.
  bench.core.set_ring(kLoad, 0, 6);
  bench.run(1);
  EXPECT_EQ(bench.ar_bytes, (std::vector<std::int64_t>{6 * 64}));
}

TEST(CpCore, AWordLongerThanABurstComesInPieces) {
  Bench bench(config(8, 4, 8, 4));  // bursts of 32 bytes
  bench.add(QueueId::load, nop());
  bench.run(60);
  EXPECT_EQ(bench.ar_bytes, (std::vector<std::int64_t>{32, 32}));
  EXPECT_EQ(bench.ars, (std::vector<Bench::Started>{{0, kLoad}, {11, kLoad}}));
  EXPECT_EQ(bench.starts, (std::vector<Bench::Started>{{23, kLoad}}));  // last beat in 21
}

TEST(CpCore, ASignalStartsItsWaiterTwoCyclesAfterTheFinish) {
  Bench bench(config());
  bench.busy_cycles = 7;
  bench.add(QueueId::load, nop({}, {{3, 1}}));
  bench.add(QueueId::conv0, nop({{3, 1}}));
  bench.run(60);
  // LOAD's word in 10, start 12, finish 19: not in 20, yes in 21.
  EXPECT_EQ(bench.starts, (std::vector<Bench::Started>{{12, kLoad}, {21, kConv0}}));
  EXPECT_EQ(bench.core.semaphore(3), 0);
}

TEST(CpCore, WaitsAreAllOrNothing) {
  Bench bench(config());
  bench.add(QueueId::load, nop({}, {{3, 2}}));
  bench.add(QueueId::conv0, nop({{3, 1}, {4, 1}}));
  bench.run(60);
  EXPECT_EQ(bench.starts.size(), 1u);
  EXPECT_EQ(bench.core.semaphore(3), 2);  // nothing was taken
  EXPECT_EQ(bench.core.unmet_wait(kConv0), 4);
  EXPECT_GT(bench.stuck, 0);
}

TEST(CpCore, TwoWaitsOnOneSemaphoreAddUp) {
  Bench bench(config());
  bench.add(QueueId::load, nop({}, {{3, 2}}));
  bench.add(QueueId::load, nop({}, {{3, 1}}));
  bench.add(QueueId::conv0, nop({{3, 1}, {3, 2}}));
  bench.run(60);
  ASSERT_EQ(bench.starts.size(), 3u);
  EXPECT_EQ(bench.core.semaphore(3), 0);
}

TEST(CpCore, StuckIsSeenInTheCycleInWhichNothingMoves) {
  Bench bench(config());
  bench.busy_cycles = 5;
  bench.add(QueueId::load, nop({}, {{3, 1}}));
  bench.add(QueueId::conv0, nop({{3, 2}}));
  bench.run(60);
  // LOAD's word in 10, start 12, finish 17; the increment is settled in 19: not in 18, yes in 19.
  EXPECT_EQ(bench.stuck, 19);
  EXPECT_EQ(bench.quiet, -1);
}

TEST(CpCore, OverflowHaltsTheSignallingQueue) {
  Bench bench(config());
  bench.add(QueueId::load, nop({}, {{3, 255}}));
  bench.add(QueueId::load, nop({}, {{3, 1}}));
  bench.add(QueueId::load, nop());
  bench.run(60);
  EXPECT_EQ(bench.core.fault().cause, isa::FaultCause::semaphore_overflow);
  EXPECT_EQ(bench.core.fault().queue, kLoad);
  EXPECT_EQ(bench.core.semaphore(3), 255);
}

TEST(CpCore, IllegalWordHaltsItsQueueAndTheOthersRun) {
  Bench bench(config());
  bench.add(QueueId::load, nop());
  bench.words[kLoad].push_back(isa::Word{});  // opcode 0
  bench.add(QueueId::load, nop());
  bench.add(QueueId::store, nop());
  bench.run(60);
  EXPECT_EQ(bench.core.fault().cause, isa::FaultCause::illegal_word);
  EXPECT_EQ(bench.core.fault().index, 1u);
  EXPECT_EQ(bench.core.halted(), 1u << kLoad);
  EXPECT_EQ(bench.starts.size(), 2u);
  EXPECT_GT(bench.stuck, 0);
}

TEST(CpCore, AnOpcodeOfAnotherQueueIsIllegal) {
  Bench bench(config());
  isa::Instruction reorder;
  isa::Reorder body;
  body.run_bytes = 1;
  for (auto& dim : body.dims) dim.count = 1;
  reorder.body = body;
  bench.add(QueueId::load, reorder);
  bench.run(40);
  EXPECT_EQ(bench.core.fault().cause, isa::FaultCause::illegal_word);
  EXPECT_NE(bench.core.fault().text.find("load does not accept reorder"), std::string::npos) << bench.core.fault().text;
}

TEST(CpCore, AFailedCheckFaultsInTheCycleOfTheStart) {
  Bench bench(config());
  bench.check = isa::FaultCause::sram_range;
  isa::Instruction load;
  isa::Load body;
  body.row_bytes = body.group_bytes = 1;
  for (auto& dim : body.dims) dim.count = 1;
  load.body = body;
  bench.add(QueueId::load, load);  // two words: beats 9, 10
  bench.run(40);
  EXPECT_EQ(bench.faulted, 12);
  EXPECT_TRUE(bench.starts.empty());
  EXPECT_EQ(bench.core.fault().cause, isa::FaultCause::sram_range);
}

TEST(CpCore, AnEmptySectionIsQuietAtOnce) {
  Bench bench(config());
  bench.run(3);
  EXPECT_EQ(bench.quiet, 0);
}

}  // namespace
}  // namespace tessera::hw
