// What surrounds the lock-step checker: faults end both sides alike, coverage bins fill, failing programs shrink.
#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "hw/common/random.hpp"
#include "hw/cosim/bins.hpp"
#include "hw/cosim/lockstep.hpp"
#include "hw/cosim/random_fault.hpp"
#include "hw/cosim/random_program.hpp"
#include "hw/cosim/shrink.hpp"
#include "isa/program/instructions.hpp"
#include "isa/semantics/legal.hpp"
#include "tests/hw/platform/program_builder.hpp"

namespace tessera::cosim {
namespace {

using platform::test::ProgramBuilder;
using platform::test::QueueId;

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

TEST(Faults, EveryCauseEndsBothSidesInTheSameCycle) {
  LockstepResult all;
  for (std::uint64_t seed = 8; seed <= 96; seed += 8) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const LockstepResult one = run_random_lockstep("tiny", {}, seed, 1);
    EXPECT_EQ(one.first, "");
    all.add(one, "");
  }
  for (const std::string& name : all.bins.unfilled()) {
    EXPECT_NE(name.rfind("fault ", 0), 0u) << name;
    EXPECT_NE(name, "stuck");
  }
}

// A bit that a field uses makes another legal instruction of the word, which the RTL may not even take.
TEST(Faults, AnIllegalWordIsOne) {
  const isa::ChipConfig chip = isa::load_chip("tiny");
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    const isa::Program program =
        with_fault(random_program(chip, seed, 20), chip, isa::FaultCause::illegal_word, random);
    int illegal = 0;
    for (const isa::Section& section : program.sections) {
      for (const isa::QueueStream& stream : section.streams) {
        std::size_t words = 0;
        for (const isa::Instruction& one : isa::decode_stream(stream)) {
          words += isa::encode(one).size();
          illegal += semantics::find_field_fault(one, chip) ? 1 : 0;
        }
        illegal += words < stream.words.size() ? 1 : 0;
      }
    }
    EXPECT_EQ(illegal, 1) << seed;
  }
}

TEST(BinsOfInstructions, FollowFromTheFieldTable) {
  Bins bins;
  const std::vector<std::string> before = bins.unfilled();
  for (const char* name : {"conv mode=depthwise", "gemm dataflow=output_stationary", "edp mode=max_pool",
                           "conv shift_only=1", "nop in reorder", "fault bus_error", "stall dram.row_miss",
                           "three units on a bank", "refused AW of store", "full queue load"}) {
    EXPECT_TRUE(has(before, name)) << name;
  }
  EXPECT_EQ(before.size(), bins.size());
  bins.count_program(ProgramBuilder().nop(QueueId::reorder, 3).program(), isa::load_chip("tiny"));
  EXPECT_FALSE(has(bins.unfilled(), "nop in reorder"));
  EXPECT_TRUE(has(bins.unfilled(), "nop in load"));
  EXPECT_EQ(bins.unfilled().size() + 1, before.size());
}

TEST(BinsOfInstructions, WantOperandsAtBothEndsOfTheScratchpad) {
  const isa::ChipConfig chip = isa::load_chip("tiny");
  Bins bins;
  const auto ends = [&] {
    std::string text;
    for (const char* end : {"first", "last"}) {
      for (const char* unit : {"load", "store", "conv0", "gemm", "edp", "reorder"}) {
        const std::string name = std::string("operand at the ") + end + " byte of the scratchpad in " + unit;
        if (!has(bins.unfilled(), name)) text += std::string(end) + " " + unit + ", ";
      }
    }
    return text;
  };
  const auto count = [&](QueueId queue, const isa::Body& body) {
    ProgramBuilder builder;
    builder.buffer(isa::BufferKind::input, 64).buffer(isa::BufferKind::output, 64).add(queue, body);
    bins.count_program(builder.program(), chip);
  };
  using platform::test::load_rows;
  using platform::test::store_rows;
  count(QueueId::load, load_rows(isa::BufferKind::input, 0, 8, 1, 1));
  count(QueueId::load, load_rows(isa::BufferKind::input, 0, 8, 1, 65536 - 9));
  EXPECT_EQ(ends(), "");
  count(QueueId::load, load_rows(isa::BufferKind::input, 0, 8, 1, 0));
  EXPECT_EQ(ends(), "first load, ");
  count(QueueId::store, store_rows(isa::BufferKind::output, 0, 8, 1, 65536 - 8));
  EXPECT_EQ(ends(), "first load, last store, ");
  // Behind the scratchpad is not at its end.
  count(QueueId::load, load_rows(isa::BufferKind::input, 0, 8, 1, 65536 - 7));
  EXPECT_EQ(ends(), "first load, last store, ");
}

TEST(RandomLockstep, ResetsSomeProgramsInMidSection) {
  LockstepResult all;
  for (std::uint64_t seed = 9; seed <= 73; seed += 16) all.add(run_random_lockstep("tiny", {}, seed, 1), "");
  EXPECT_EQ(all.first, "");
  EXPECT_FALSE(has(all.bins.unfilled(), "soft reset"));
  EXPECT_TRUE(has(Bins().unfilled(), "soft reset"));
  // What a program would have done is not what it did.
  EXPECT_TRUE(has(all.bins.unfilled(), "nop in load"));
}

TEST(BinsOfStalls, AreNotApplicableToAMemoryThatCannotHaveThem) {
  hw::RunResult run;
  run.units.emplace_back().name = "load";
  const isa::ChipConfig fixed = isa::load_chip("tiny", {"dram.device=\"fixed\""});
  Bins bins;
  EXPECT_TRUE(bins.not_applicable().empty());  // nothing ran
  bins.count_run(run, fixed, {}, false);
  const std::map<std::string, std::string> expected = {{"stall dram.row_miss", "the fixed memory has no rows"},
                                                       {"stall dram.refresh", "the memory is never refreshed"}};
  EXPECT_EQ(bins.not_applicable(), expected);
  EXPECT_FALSE(has(bins.unfilled(), "stall dram.row_miss"));
  Bins none;
  EXPECT_EQ(bins.size() + 2, none.size());
  // One run on a memory with rows, and the bin has to be filled.
  Bins dram;
  dram.count_run(run, isa::load_chip("tiny", {"dram.refresh=\"none\""}), {}, false);
  bins.add(dram);
  EXPECT_EQ(bins.not_applicable().size(), 1u);
  EXPECT_TRUE(has(bins.unfilled(), "stall dram.row_miss"));
  EXPECT_FALSE(has(bins.unfilled(), "stall dram.refresh"));
}

TEST(BinsOfStalls, NeedAHundredthOfTheCyclesOfAUnit) {
  const isa::ChipConfig chip = isa::load_chip("tiny");
  hw::RunResult run;
  hw::UnitResult& unit = run.units.emplace_back();
  unit.name = "load";
  unit.account.busy = 990;
  unit.account.add(StallCause::dram_row_miss, 9);
  Bins bins;
  bins.count_run(run, chip, {}, false);
  EXPECT_TRUE(has(bins.unfilled(), "stall dram.row_miss"));
  unit.account.add(StallCause::dram_row_miss, 1);
  Bins more;
  more.count_run(run, chip, {}, false);
  EXPECT_FALSE(has(more.unfilled(), "stall dram.row_miss"));
}

TEST(BinsOfStalls, TheShareOfFaultsIsOfTheRunsThatAFaultEnds) {
  const isa::ChipConfig chip = isa::load_chip("tiny");
  hw::RunResult run;
  hw::UnitResult& unit = run.units.emplace_back();
  unit.name = "load";
  unit.account.busy = 100000;
  Bins bins;
  bins.count_run(run, chip, {}, false);
  unit.account.busy = 98;
  unit.account.add(StallCause::fault, 2);
  bins.count_run(run, chip, {}, true);
  EXPECT_FALSE(has(bins.unfilled(), "stall fault"));
  unit.account.busy = 2000;
  bins.count_run(run, chip, {}, true);
  EXPECT_TRUE(has(bins.unfilled(), "stall fault"));
}

TEST(RandomPrograms, LoadNoMoreThanTheirBuffersHold) {
  // Banks of 64 KiB, of which a window takes up to two; buffers in DRAM are smaller.
  const isa::ChipConfig chip = isa::load_chip("tiny", {"sram.size_bytes=65536"});
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const isa::Program program = random_program(chip, seed, 12);
    const isa::QueueStream& loads = program.sections.front().streams.front();
    ASSERT_EQ(loads.queue, static_cast<int>(isa::QueueId::load));
    const auto fill = std::get<isa::Load>(isa::decode_stream(loads).front().body);  // of the window
    EXPECT_LE(fill.dram_offset + fill.row_bytes, program.buffers.front().size) << "seed " << seed;
  }
}

TEST(RandomMemory, IsADramOnAChipWithFixedMemoryToo) {
  int drams = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const isa::ChipConfig chip = isa::load_chip("micro", random_memory(seed));
    if (chip.dram.device == "fixed") continue;
    ++drams;
    EXPECT_NE(chip.dram.refresh, isa::DramRefresh::none);
  }
  EXPECT_GT(drams, 3);
  EXPECT_LT(drams, 17);
}

TEST(Lockstep, EveryWayToRunTheModelIsTimedAndTakesTheSameCycles) {
  const isa::ChipConfig chip = isa::load_chip("tiny", {});
  LockstepOptions options;
  options.every_way = true;
  const LockstepResult result = run_lockstep(random_program(chip, 3, 40), chip, chip, options);
  EXPECT_EQ(result.first, "");
  EXPECT_GT(result.cycles, 100);
  for (const double seconds : {result.cpu.rtl, result.cpu.model, result.cpu.timing_only, result.cpu.no_shortcuts}) {
    EXPECT_GT(seconds, 0);
  }
  std::int64_t sum = 0;
  for (const std::int64_t count : result.instructions_of) sum += count;
  EXPECT_EQ(sum, result.instructions);
  EXPECT_NE(lockstep_text(result).find("\ninstructions: load "), std::string::npos);
  EXPECT_EQ(cpu_text(result).rfind("cycles: " + std::to_string(result.cycles) + "\nseconds: rtl ", 0), 0u);
}

std::size_t instructions_of(const isa::Program& program, isa::Opcode opcode) {
  std::size_t count = 0;
  for (const isa::Section& section : program.sections) {
    for (const isa::QueueStream& stream : section.streams) {
      for (const isa::Instruction& one : isa::decode_stream(stream)) count += one.header.opcode == opcode ? 1u : 0u;
    }
  }
  return count;
}

std::size_t all_instructions_of(const isa::Program& program) {
  std::size_t count = 0;
  for (const isa::Section& section : program.sections) {
    for (const isa::QueueStream& stream : section.streams) count += isa::decode_stream(stream).size();
  }
  return count;
}

TEST(Shrink, LeavesWhatTheFailureNeeds) {
  const isa::ChipConfig chip = isa::load_chip("tiny", {});
  std::uint64_t seed = 1;
  while (instructions_of(random_program(chip, seed, 40), isa::Opcode::store) < 2) ++seed;
  const isa::Program program = random_program(chip, seed, 40);
  int calls = 0;
  const auto fails = [&](const isa::Program& p) {
    ++calls;
    return instructions_of(p, isa::Opcode::store) >= 1 && instructions_of(p, isa::Opcode::load) >= 1;
  };
  const isa::Program shortest = shrink(program, fails, 400);
  EXPECT_EQ(all_instructions_of(shortest), 2u);
  EXPECT_EQ(instructions_of(shortest, isa::Opcode::store), 1u);
  EXPECT_EQ(instructions_of(shortest, isa::Opcode::load), 1u);
  EXPECT_LE(calls, 400);
}

TEST(Shrink, KeepsAProgramThatFailsNoMore) {
  const isa::Program program = random_program(isa::load_chip("tiny", {}), 3, 20);
  const isa::Program same = shrink(
      program, [](const isa::Program&) { return false; }, 50);
  EXPECT_EQ(all_instructions_of(same), all_instructions_of(program));
}

TEST(RandomLockstep, EndsWithTheFirstDifferenceAndShrinksIt) {
  // The RTL of a chip whose window reads are slower stands for a wrong one: the model is built from this chip.
  const isa::ChipConfig chip = isa::load_chip("tiny", {"dram.device=\"fixed\""});
  const isa::ChipConfig other = isa::load_chip("tiny", {"dram.device=\"fixed\"", "reorder.pipeline_cycles=3"});
  const isa::Program program = random_program(chip, 7, 40);
  const auto fails = [&](const isa::Program& p) {
    LockstepOptions options;
    return !run_lockstep(p, chip, other, options).equal();
  };
  ASSERT_TRUE(fails(program));
  const isa::Program shortest = shrink(program, fails, 150);
  EXPECT_EQ(instructions_of(shortest, isa::Opcode::reorder), 1u);
  EXPECT_LT(all_instructions_of(shortest), 6u);
}

}  // namespace
}  // namespace tessera::cosim
