// Closed form 1 (double buffering): 8 tiles, compute 1000 cycles each, load 250 / 1000 / 4000, as NOPs in the queues of
// LOAD and CONV0. Both sides are computed: the closed form plus start cost plus H = 2 cycles for each hand-over on the
// critical path, against the machine.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "hw/platform/platform.hpp"
#include "tests/hw/platform/program_builder.hpp"

namespace tessera {
namespace {

using platform::test::ProgramBuilder;
using platform::test::QueueId;
using platform::test::Sync;

constexpr int kTiles = 8;
constexpr Cycles kCompute = 1000;
constexpr Cycles kHandOver = 2;
constexpr Cycles kFetchLatency = 100;
constexpr int kFull = 0, kFree = 1;  // semaphores

struct Case {
  Cycles load;
  Cycles closed_form;
  int hand_overs;
};

/// `buffers` tiles fit on the chip; load i waits until compute i - buffers has freed its place.
isa::Program tiles(int buffers, Cycles load) {
  ProgramBuilder builder;
  for (int i = 0; i < kTiles; ++i) {
    Sync fill{{}, {{kFull, 1}}};
    if (i >= buffers) fill.waits.emplace_back(kFree, 1);
    builder.nop(QueueId::load, static_cast<std::uint32_t>(load), fill);
    Sync use{{{kFull, 1}}, {}};
    if (i + buffers < kTiles) use.signals.emplace_back(kFree, 1);
    builder.nop(QueueId::conv0, kCompute, use);
  }
  return builder.program();
}

hw::RunResult run(const isa::Program& program) {
  const isa::ChipConfig chip =
      isa::load_chip("a1000", {"dram.device=\"fixed\"", "dram.fixed_latency_cycles=" + std::to_string(kFetchLatency),
                               "dram.fixed_bytes_per_cycle=0"});
  hw::DramStorage dram;
  return platform::run_program(program, chip, dram, {});
}

/// LOAD's eight words are one burst of eight beats: AR in cycle 0, the first word in latency - 7, its start 2 later.
constexpr Cycles kStartCost = kFetchLatency - (kTiles - 1) + 2;

Cycles last_finish(const hw::RunResult& result) {
  Cycles last = 0;
  for (const hw::InstructionRecord& r : result.instructions) last = std::max(last, r.finish);
  return last;
}

TEST(ClosedForm1, DoubleBuffered) {
  for (const Case& c : {Case{250, 8250, 1}, Case{1000, 9000, 7}, Case{4000, 33000, 1}}) {
    const hw::RunResult result = run(tiles(2, c.load));
    EXPECT_EQ(last_finish(result), c.closed_form + kStartCost + c.hand_overs * kHandOver) << "load " << c.load;
    // Load i + 1 lies under compute i (records are ordered by queue, then index).
    ASSERT_EQ(result.instructions.size(), 2u * kTiles);
    for (std::size_t i = 0; i + 1 < kTiles; ++i) {
      const hw::InstructionRecord& next_load = result.instructions[i + 1];
      const hw::InstructionRecord& compute = result.instructions[kTiles + i];
      EXPECT_LT(next_load.start, compute.finish);
      EXPECT_GT(next_load.finish, compute.start);
    }
  }
}

TEST(ClosedForm1, SingleBuffered) {
  for (const Case& c : {Case{250, 10000, 15}, Case{1000, 16000, 15}, Case{4000, 40000, 15}}) {
    const hw::RunResult result = run(tiles(1, c.load));
    EXPECT_EQ(last_finish(result), c.closed_form + kStartCost + c.hand_overs * kHandOver) << "load " << c.load;
  }
}

TEST(ClosedForm1, StallsNameTheOtherUnit) {
  const hw::RunResult result = run(tiles(2, 4000));
  const auto unit = [&](const std::string& name) {
    for (const hw::UnitResult& u : result.units) {
      if (u.name == name) return u.account;
    }
    return UnitAccount{};
  };
  EXPECT_EQ(unit("load").busy, kTiles * 4000);
  EXPECT_EQ(unit("conv0").busy, kTiles * kCompute);
  // CONV0 waits for LOAD 8 times: 4000 + H before the first (less its own fetch), 3000 before each other.
  const Cycles waited = unit("conv0").stall[static_cast<std::size_t>(StallCause::semaphore_load)];
  const Cycles fetched = unit("conv0").stall[static_cast<std::size_t>(StallCause::instruction_fetch)];
  EXPECT_EQ(waited + fetched, kStartCost + 4000 + kHandOver + 7 * 3000);
}

}  // namespace
}  // namespace tessera
