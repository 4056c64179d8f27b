// Whole small programs on the SystemC chip: start and finish cycles, accounts, values, faults, and that neither
// shortcuts nor process order change a result.
#include "hw/platform/platform.hpp"

#include <array>
#include <string>

#include <gtest/gtest.h>

#include "hw/common/error.hpp"
#include "hw/common/random.hpp"
#include "tests/hw/platform/program_builder.hpp"
#include "tests/hw/platform/random_program.hpp"

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

const hw::InstructionRecord& record(const hw::RunResult& result, QueueId queue, std::uint32_t index) {
  for (const hw::InstructionRecord& r : result.instructions) {
    if (r.queue == static_cast<std::uint8_t>(queue) && r.index == index) return r;
  }
  throw std::out_of_range("no such instruction");
}

TEST(Platform, NopStartsTwoCyclesAfterItsFetchAndTakesItsCycles) {
  const isa::ChipConfig chip = tiny({"dram.fixed_latency_cycles=100", "axi.max_burst_beats=32"});
  ProgramBuilder builder;
  builder.nop(QueueId::conv0, 5).nop(QueueId::conv0, 1).nop(QueueId::conv0, 3);
  hw::DramStorage dram;
  const hw::RunResult result = run_program(builder.program(), chip, dram, {});
  ASSERT_EQ(result.instructions.size(), 3u);
  // AR in cycle 0, three words in one burst: word i is whole with beat 8 (i + 1) - 1 of 24; the last comes in 100.
  const Cycles first_word = 100 - 16;
  const hw::InstructionRecord& a = record(result, QueueId::conv0, 0);
  EXPECT_EQ(a.start, first_word + 2);
  EXPECT_EQ(a.finish, a.start + 5);
  const hw::InstructionRecord& b = record(result, QueueId::conv0, 1);
  EXPECT_EQ(b.start, std::max(first_word + 8 + 2, a.finish));
  EXPECT_EQ(b.finish, b.start + 1);
  const hw::InstructionRecord& c = record(result, QueueId::conv0, 2);
  EXPECT_EQ(c.start, std::max(first_word + 16 + 2, b.finish));
  EXPECT_EQ(result.cycles, c.finish + 2);  // quiet is seen in finish + 1, the interrupt follows
}

TEST(Platform, LoadThenStoreMovesBytes) {
  const isa::ChipConfig chip = tiny();
  ProgramBuilder builder;
  builder.buffer(BufferKind::input, 4096).buffer(BufferKind::output, 4096);
  builder.add(QueueId::load, load_rows(BufferKind::input, 3, 100, 7, 8), {{}, {{0, 1}}});
  builder.add(QueueId::store, store_rows(BufferKind::output, 21, 100, 7, 8), {{{0, 1}}, {}});
  const DramLayout layout = place_program(builder.program(), chip);
  hw::DramStorage dram;
  load_program(builder.program(), layout, dram);
  std::array<std::uint8_t, 700> in{}, out{};
  Random random(1);
  for (std::uint8_t& byte : in) byte = static_cast<std::uint8_t>(random.next());
  dram.write(layout.base[1] + 3, in.data(), in.size());
  const hw::RunResult result = run_program(builder.program(), chip, layout, dram, {});
  dram.read(layout.base[2] + 21, out.data(), out.size());
  EXPECT_EQ(in, out);
  const hw::InstructionRecord& load = record(result, QueueId::load, 0);
  const hw::InstructionRecord& store = record(result, QueueId::store, 0);
  EXPECT_EQ(store.start, load.finish + 2);
  EXPECT_EQ(load.dram_read, result.load_bytes);
  EXPECT_EQ(store.dram_write, result.store_bytes);
}

void expect_same(const hw::RunResult& a, const hw::RunResult& b) {
  EXPECT_EQ(a.cycles, b.cycles);
  EXPECT_EQ(a.sram_conflict_cycles, b.sram_conflict_cycles);
  ASSERT_EQ(a.instructions.size(), b.instructions.size());
  for (std::size_t i = 0; i < a.instructions.size(); ++i) {
    const hw::InstructionRecord &x = a.instructions[i], &y = b.instructions[i];
    ASSERT_EQ(x.queue, y.queue);
    EXPECT_EQ(x.ready, y.ready) << "queue " << int{x.queue} << " index " << x.index;
    EXPECT_EQ(x.start, y.start) << "queue " << int{x.queue} << " index " << x.index;
    ASSERT_EQ(x.finish, y.finish) << "queue " << int{x.queue} << " index " << x.index;
    EXPECT_EQ(x.stall, y.stall);
  }
  ASSERT_EQ(a.units.size(), b.units.size());
  for (std::size_t i = 0; i < a.units.size(); ++i) {
    EXPECT_EQ(a.units[i].account.busy, b.units[i].account.busy) << a.units[i].name;
    EXPECT_EQ(a.units[i].account.idle, b.units[i].account.idle) << a.units[i].name;
    EXPECT_EQ(a.units[i].account.stall, b.units[i].account.stall) << a.units[i].name;
  }
}

class RandomPrograms : public ::testing::TestWithParam<const char*> {};

TEST_P(RandomPrograms, ShortcutsAndProcessOrderChangeNothing) {
  std::int64_t conflicts = 0;
  Cycles stepped = 0, all_stepped = 0;
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const isa::ChipConfig chip = isa::load_chip(GetParam(), {});
    const isa::Program program = test::RandomProgram(chip, seed).make(12);
    const auto run = [&](bool no_shortcuts, std::uint64_t order) {
      RunOptions options;
      options.timing_only = true;
      options.no_shortcuts = no_shortcuts;
      options.process_order_seed = order;
      hw::DramStorage dram;
      return run_program(program, chip, dram, options);
    };
    const hw::RunResult base = run(false, 0);
    const hw::RunResult full = run(true, 0);
    expect_same(base, full);
    expect_same(base, run(false, seed + 100));
    expect_same(base, run(true, seed + 200));
    conflicts += base.sram_conflict_cycles;
    stepped += base.stepped_cycles;
    all_stepped += full.stepped_cycles;
  }
  EXPECT_GT(conflicts, 100);
  EXPECT_LT(stepped, all_stepped);
}

INSTANTIATE_TEST_SUITE_P(Chips, RandomPrograms, ::testing::Values("micro", "tiny"));

}  // namespace
}  // namespace tessera::platform
