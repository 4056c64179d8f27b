// A soft reset while bursts of LOAD and STORE are in flight: model and RTL end in the same cycle with the same memory
// and counters, and the section behind it runs as if nothing had been.
#include <string>

#include <gtest/gtest.h>

#include "hw/cosim/lockstep.hpp"
#include "hw/cosim/rtl_run.hpp"
#include "hw/platform/platform.hpp"
#include "tests/hw/platform/program_builder.hpp"

namespace tessera::cosim {
namespace {

using isa::BufferKind;
using platform::test::load_rows;
using platform::test::ProgramBuilder;
using platform::test::QueueId;
using platform::test::store_rows;

constexpr std::uint64_t kCopied = 2000;

/// Much traffic with semaphores left over at any time; then input bytes 0.. copied behind those that it writes.
isa::Program traffic_then_copy() {
  ProgramBuilder builder;
  builder.buffer(BufferKind::input, 16384).buffer(BufferKind::output, 32768);
  for (int i = 0; i < 6; ++i) {
    const auto at = static_cast<std::uint32_t>(i);
    builder.add(QueueId::load, load_rows(BufferKind::input, 3 + 100 * at, 700, 2, 2000 * at), {{}, {{1, 2}, {2, 1}}});
    builder.add(QueueId::store, store_rows(BufferKind::output, 2000 * at, 700, 2, 2000 * at), {{{1, 2}}, {{3, 1}}});
    builder.nop(QueueId::reorder, 20 + at, {{{2, 1}}, {{3, 5}}});
    builder.nop(QueueId::edp, 5, {{{3, 6}}, {}});
  }
  builder.begin_section("copy");
  builder.add(QueueId::load, load_rows(BufferKind::input, 0, kCopied, 1, 30000), {{}, {{1, 1}, {3, 1}}});
  builder.add(QueueId::store, store_rows(BufferKind::output, 16384, kCopied, 1, 30000), {{{1, 1}}, {}});
  builder.nop(QueueId::edp, 2, {{{3, 1}}, {}});
  return builder.program();
}

TEST(SoftReset, EndsTrafficInTheSameCycle) {
  const isa::Program program = traffic_then_copy();
  for (const char* memory : {"dram.device=\"fixed\"", "interconnect.queue_depth=1"}) {
    const isa::ChipConfig chip = isa::load_chip("tiny", {memory});
    for (const Cycles cycle : {1, 7, 40, 41, 42, 43, 90, 137, 200, 301, 450, 603, 777}) {
      SCOPED_TRACE(std::string(memory) + ", reset in cycle " + std::to_string(cycle));
      LockstepOptions options;
      options.soft_reset = cycle;
      options.no_shortcuts = cycle % 2 == 0;
      const LockstepResult result = run_lockstep(program, chip, chip, options);
      EXPECT_EQ(result.first, "");
      EXPECT_TRUE(result.equal());
      EXPECT_LT(result.instructions, 27);  // of 24 + 3
      EXPECT_GE(result.instructions, 3);
    }
  }
}

/// Runs with a soft reset in `cycle`; what the second section copied.
std::vector<std::uint8_t> copied_after_reset(const isa::ChipConfig& chip, Cycles cycle, bool rtl, Cycles& section_end) {
  const isa::Program program = traffic_then_copy();
  const platform::DramLayout layout = platform::place_program(program, chip);
  hw::DramStorage dram;
  platform::load_program(program, layout, dram);
  for (std::uint64_t i = 0; i < 16384; ++i) {
    const auto byte = static_cast<std::uint8_t>(i * 7 + i / 256);
    dram.write(layout.base[isa::base_register_of(BufferKind::input)] + i, &byte, 1);
  }
  platform::RunOptions options;
  options.soft_reset = cycle;
  const hw::RunResult result = rtl ? run_on_rtl(program, chip, layout, dram, options).result
                                   : platform::run_program(program, chip, layout, dram, options);
  section_end = result.sections.at(0).end;
  std::vector<std::uint8_t> bytes(kCopied);
  dram.read(layout.base[isa::base_register_of(BufferKind::output)] + 16384, bytes.data(), bytes.size());
  return bytes;
}

TEST(SoftReset, WhatFollowsHasTheRightValues) {
  const isa::ChipConfig chip = isa::load_chip("tiny");
  for (const Cycles cycle : {50, 123, 400}) {
    for (const bool rtl : {false, true}) {
      SCOPED_TRACE(std::to_string(cycle) + (rtl ? " RTL" : " model"));
      Cycles end = 0;
      const std::vector<std::uint8_t> bytes = copied_after_reset(chip, cycle, rtl, end);
      for (std::size_t i = 0; i < bytes.size(); ++i) ASSERT_EQ(bytes[i], static_cast<std::uint8_t>(i * 7 + i / 256));
      EXPECT_GT(end, cycle + 5);  // AXI drains first
    }
  }
}

TEST(SoftReset, ForgetsAFault) {
  // LOAD leaves the DRAM limit and halts; the others go on, are reset, and the next section knows nothing of it.
  ProgramBuilder builder;
  builder.buffer(BufferKind::input, 16384).buffer(BufferKind::output, 16384);
  builder.add(QueueId::load, load_rows(BufferKind::input, 16380, 700, 1, 0));
  builder.add(QueueId::store, store_rows(BufferKind::output, 0, 700, 2, 9000)).nop(QueueId::reorder, 5000);
  builder.begin_section("copy").add(QueueId::load, load_rows(BufferKind::input, 0, 900, 1, 100));
  const isa::ChipConfig chip = isa::load_chip("tiny");
  LockstepOptions options;
  options.soft_reset = 300;
  const LockstepResult result = run_lockstep(builder.program(), chip, chip, options);
  EXPECT_EQ(result.first, "");
  EXPECT_TRUE(result.equal());
  EXPECT_EQ(result.instructions, 3);  // STORE, the NOP, and LOAD of the second section
}

TEST(SoftReset, IsLeftAloneBetweenSections) {
  // In the cycle in which a section begins, and after the end of the run.
  ProgramBuilder builder;
  builder.nop(QueueId::load, 50).begin_section("second").nop(QueueId::load, 60);
  const isa::ChipConfig chip = isa::load_chip("tiny");
  hw::DramStorage dram;
  const platform::DramLayout layout = platform::place_program(builder.program(), chip);
  platform::load_program(builder.program(), layout, dram);
  const Cycles end = platform::run_program(builder.program(), chip, layout, dram, {}).sections.at(0).end;
  for (const Cycles cycle : {end, Cycles{100000}}) {
    LockstepOptions options;
    options.soft_reset = cycle;
    const LockstepResult result = run_lockstep(builder.program(), chip, chip, options);
    EXPECT_EQ(result.first, "");
    EXPECT_EQ(result.instructions, 2);
  }
}

}  // namespace
}  // namespace tessera::cosim
