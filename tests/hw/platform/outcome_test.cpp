// What a run ends with: faults, stuck, left-over semaphores, the watchdog, host steps, frames, several cores; and
// conflicts counted by hand.
#include <string>

#include <gtest/gtest.h>

#include "hw/common/error.hpp"
#include "hw/platform/platform.hpp"
#include "tests/hw/platform/program_builder.hpp"

namespace tessera::platform {
namespace {

using isa::BufferKind;
using test::load_rows;
using test::ProgramBuilder;
using test::QueueId;
using test::store_rows;

isa::ChipConfig tiny(std::vector<std::string> sets = {}) {
  sets.emplace_back("dram.device=\"fixed\"");
  return isa::load_chip("tiny", sets);
}

hw::RunResult run(ProgramBuilder& builder, const isa::ChipConfig& chip, RunOptions options = {}) {
  hw::DramStorage dram;
  return run_program(builder.program(), chip, dram, options);
}

std::string error_of(ProgramBuilder& builder, const isa::ChipConfig& chip, RunOptions options = {}) {
  try {
    (void)run(builder, chip, options);
  } catch (const ProgramError& error) {
    return error.what();
  }
  return "no error";
}

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in: " << text;
}

Cycles stall(const hw::RunResult& result, const std::string& unit, StallCause cause) {
  for (const hw::UnitResult& u : result.units) {
    if (u.name == unit) return u.account.stall[static_cast<std::size_t>(cause)];
  }
  return -1;
}

TEST(Outcome, StuckNamesTheWaitForCycle) {
  ProgramBuilder builder;
  builder.nop(QueueId::load, 3, {{{0, 1}}, {{1, 1}}});
  builder.nop(QueueId::conv0, 3, {{{1, 1}}, {{0, 1}}});
  const std::string text = error_of(builder, tiny());
  expect_contains(text, "section main");
  expect_contains(text, "core 0 load instruction 0");
  expect_contains(text, "semaphore 0 of core 0");
  expect_contains(text, "core 0 conv0 instruction 0");
}

TEST(Outcome, ASemaphoreNeverSignalledEndsTheRun) {
  ProgramBuilder builder;
  builder.nop(QueueId::load, 3).nop(QueueId::conv0, 3, {{{5, 1}}, {}});
  expect_contains(error_of(builder, tiny()), "semaphore 5 of core 0");
}

TEST(Outcome, LeftOverSemaphore) {
  ProgramBuilder builder;
  builder.nop(QueueId::load, 3, {{}, {{7, 2}}});
  expect_contains(error_of(builder, tiny()),
                  "section main: semaphore 7 of core 0 is 2 at the section's end: expected 0");
}

TEST(Outcome, DramLimit) {
  ProgramBuilder builder;
  builder.buffer(BufferKind::input, 100);
  builder.add(QueueId::load, load_rows(BufferKind::input, 37, 64, 1, 0));
  const std::string text = error_of(builder, tiny());
  expect_contains(text, "fault dram_limit: section main, core 0 load instruction 0");
}

TEST(Outcome, SramRange) {
  ProgramBuilder builder;
  builder.buffer(BufferKind::input, 100);
  builder.nop(QueueId::load, 1);
  builder.add(QueueId::load, load_rows(BufferKind::input, 0, 64, 1, 8 * 8192 - 8));
  expect_contains(error_of(builder, tiny()), "fault sram_range: section main, core 0 load instruction 1");
}

TEST(Outcome, IllegalWord) {
  ProgramBuilder builder;
  builder.nop(QueueId::load, 1);
  builder.stream(QueueId::load).words.push_back(isa::Word{});
  expect_contains(error_of(builder, tiny()), "fault illegal_word: section main, core 0 load word 1");
}

TEST(Outcome, TheOthersRunOnAfterAFault) {
  // STORE faults at once; LOAD goes on to its end, then the run stops.
  ProgramBuilder builder;
  builder.buffer(BufferKind::input, 4096);
  builder.stream(QueueId::store).words.push_back(isa::Word{});
  builder.nop(QueueId::load, 5000);
  const std::string text = error_of(builder, tiny());
  expect_contains(text, "fault illegal_word");
  expect_contains(text, "stopped in cycle 51");
}

TEST(Outcome, Watchdog) {
  ProgramBuilder builder;
  builder.nop(QueueId::conv0, 100000);
  RunOptions options;
  options.max_cycles = 5000;
  expect_contains(error_of(builder, tiny(), options),
                  "watchdog: section main of frame 0 is not finished after 5000 cycles");
}

TEST(Outcome, AUnitTheChipLacksIsAUserError) {
  ProgramBuilder builder;
  builder.nop(QueueId::conv1, 1);
  try {
    (void)run(builder, tiny());
    FAIL();
  } catch (const UserError& error) {
    expect_contains(error.what(), "queue conv1, which tiny does not have");
  }
}

TEST(Outcome, HostStepsStandBetweenSections) {
  ProgramBuilder builder;
  builder.nop(QueueId::conv0, 10);
  builder.program().host_steps.push_back({"softmax", "Softmax", 0, {}, {}, {}});
  builder.program().sections.emplace_back().name = "host";
  builder.program().sections.back().host_step = 0;
  builder.begin_section("after").nop(QueueId::conv0, 10);
  RunOptions options;
  int calls = 0;
  options.host_step = [&](const isa::HostStep& step) {
    EXPECT_EQ(step.name, "softmax");
    ++calls;
    return HostCost{1234, 100, 50};
  };
  options.frames = 2;
  const hw::RunResult result = run(builder, tiny(), options);
  EXPECT_EQ(calls, 2);
  ASSERT_EQ(result.sections.size(), 3u);
  EXPECT_EQ(result.sections[1].start, result.sections[0].end);
  EXPECT_EQ(result.sections[1].end - result.sections[1].start, 1234);
  EXPECT_EQ(result.sections[2].start, result.sections[1].end);
  ASSERT_EQ(result.frame_ends.size(), 2u);
  EXPECT_EQ(result.frame_ends[0], result.sections[2].end);
  EXPECT_EQ(result.cycles, result.frame_ends[1]);
  EXPECT_EQ(stall(result, "load", StallCause::host), 2 * 1234);
  EXPECT_EQ(result.host_read_bytes, 200);
  EXPECT_EQ(result.instructions.size(), 2u);  // of frame 0
  EXPECT_EQ(result.instructions[1].section, 2);
}

TEST(Outcome, TwoUnitsOnOneBankShareItCycleByCycle) {
  // Two REORDER-like streams cannot be had from two queues of one unit, so LOAD writes the bank that STORE reads.
  const isa::ChipConfig chip = tiny({"dram.fixed_latency_cycles=20", "dram.fixed_bytes_per_cycle=0",
                                     "axi.read_outstanding=16", "load.landing_bytes=4096", "store.buffer_bytes=4096"});
  const auto conflicts = [&](std::uint32_t store_at) {
    ProgramBuilder builder;
    builder.buffer(BufferKind::input, 8192).buffer(BufferKind::output, 8192);
    builder.nop(QueueId::load, 100, {{}, {{0, 1}}});
    builder.add(QueueId::load, load_rows(BufferKind::input, 0, 1024, 1, 0));
    builder.nop(QueueId::store, 17, {{{0, 1}}, {}});
    builder.add(QueueId::store, store_rows(BufferKind::output, 0, 1024, 1, store_at));
    RunOptions options;
    options.timing_only = true;
    return run(builder, chip, options).sram_conflict_cycles;
  };
  EXPECT_EQ(conflicts(8192), 0);  // the next bank
  EXPECT_GT(conflicts(4096), 20);
}

TEST(Outcome, TwoCoresMeetAtAGlobalSemaphore) {
  const isa::ChipConfig chip = isa::load_chip("j5", {"dram.device=\"fixed\"", "chip.semaphore_hop_cycles=8"});
  ProgramBuilder builder;
  builder.nop(QueueId::conv0, 500, {{}, {{70, 1}}}, 0);
  builder.nop(QueueId::conv0, 10, {{{70, 1}}, {}}, 1);
  const hw::RunResult result = run(builder, chip);
  ASSERT_EQ(result.instructions.size(), 2u);
  EXPECT_EQ(result.instructions[1].core, 1);
  EXPECT_EQ(result.instructions[1].start, result.instructions[0].finish + 2 + 8);
  EXPECT_GT(stall(result, "core1.conv0", StallCause::semaphore_remote), 300);
}

TEST(Outcome, AGlobalSemaphoreOfOneCoreTravelsToo) {
  const isa::ChipConfig chip = tiny({"chip.semaphore_hop_cycles=5"});
  ProgramBuilder builder;
  builder.nop(QueueId::load, 50, {{}, {{64, 1}}}).nop(QueueId::conv0, 10, {{{64, 1}}, {}});
  const hw::RunResult result = run(builder, chip);
  EXPECT_EQ(result.instructions[1].start, result.instructions[0].finish + 2 + 5);
}

TEST(Outcome, BytesReadFromDramAreAccounted) {
  const isa::ChipConfig chip = tiny();
  ProgramBuilder builder;
  builder.buffer(BufferKind::input, 4096);
  builder.add(QueueId::load, load_rows(BufferKind::input, 3, 30, 4, 0));
  const hw::RunResult result = run(builder, chip);
  // Rows of 30 bytes at 3, 33, 63, 93 touch 5, 4, 5, 5 beats of 8.
  EXPECT_EQ(result.load_bytes, (5 + 4 + 5 + 5) * 8);
  EXPECT_EQ(result.fetch_bytes, 2 * 64);
}

TEST(Outcome, IdealOverlapIsNotStuckWhileADependenceSettles) {
  // After the only LOAD nothing is in flight for two cycles, and STORE waits for them.
  ProgramBuilder builder;
  builder.buffer(BufferKind::input, 512).buffer(BufferKind::output, 512);
  builder.add(QueueId::load, load_rows(BufferKind::input, 0, 512, 1, 0), {{}, {{0, 1}}});
  builder.add(QueueId::store, store_rows(BufferKind::output, 0, 512, 1, 0), {{{0, 1}}, {}});
  RunOptions options;
  options.timing_only = options.ideal_overlap = true;
  const hw::RunResult ideal = run(builder, tiny({}), options);
  EXPECT_EQ(ideal.instructions[1].start, ideal.instructions[0].finish + 2);
}

TEST(Outcome, IdealOverlapKeepsTrueDependencesOnly) {
  // LOAD fills a buffer, STORE drains it, four times through one buffer: single-buffered they alternate.
  const isa::ChipConfig chip = tiny({"dram.fixed_latency_cycles=100"});
  ProgramBuilder builder;
  builder.buffer(BufferKind::input, 4096).buffer(BufferKind::output, 4096);
  for (std::uint64_t i = 0; i < 4; ++i) {
    test::Sync fill{{}, {{0, 1}}}, drain{{{0, 1}}, {}};
    if (i > 0) fill.waits.emplace_back(1, 1);
    if (i < 3) drain.signals.emplace_back(1, 1);
    builder.add(QueueId::load, load_rows(BufferKind::input, i * 512, 512, 1, 0), fill);
    builder.add(QueueId::store, store_rows(BufferKind::output, i * 512, 512, 1, 0), drain);
  }
  RunOptions options;
  options.timing_only = true;
  const hw::RunResult real = run(builder, chip, options);
  options.ideal_overlap = true;
  const hw::RunResult ideal = run(builder, chip, options);
  EXPECT_LT(ideal.cycles, real.cycles);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_GE(ideal.instructions[4 + i].start, ideal.instructions[i].finish + 2);  // STORE i after LOAD i
  }
  EXPECT_LT(ideal.instructions[1].start, ideal.instructions[4].finish);  // LOAD 1 does not wait for STORE 0
  EXPECT_GE(real.instructions[1].start, real.instructions[4].finish + 2);
}

}  // namespace
}  // namespace tessera::platform
