// The prediction against closed forms: two units in one bank, instruction fetch, LOAD and STORE on one DRAM, waits.
#include "compiler/emit/section_run.hpp"

#include <deque>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "hw/models/edp/cost.hpp"
#include "isa/chip.hpp"

namespace tessera::compiler {
namespace {

constexpr int kLoad = static_cast<int>(isa::QueueId::load), kStore = static_cast<int>(isa::QueueId::store);
constexpr int kGemm = static_cast<int>(isa::QueueId::gemm), kEdp = static_cast<int>(isa::QueueId::edp);
constexpr int kReorder = static_cast<int>(isa::QueueId::reorder);
constexpr Cycles kLines = 200;

/// kLines lines from one place of the scratchpad to another, one read and one written a cycle.
isa::Body copy(std::int64_t from, std::int64_t to) {
  isa::Edp edp;
  edp.c = 32;
  edp.h = 1;
  edp.w = 4 * kLines;
  edp.a.base = static_cast<std::uint32_t>(from);
  edp.out.base = static_cast<std::uint32_t>(to);
  edp.a.row_pitch = edp.out.row_pitch = kLines;
  edp.a.block_pitch = edp.out.block_pitch = kLines;
  return edp;
}

template <typename Dma>
isa::Body dma(std::int64_t bytes, std::int64_t offset, std::int64_t sram) {
  Dma d;
  d.row_bytes = d.group_bytes = static_cast<std::uint32_t>(bytes);
  d.dram_offset = static_cast<std::uint64_t>(offset);
  d.sram_base = static_cast<std::uint32_t>(sram);
  for (isa::DmaDim& dim : d.dims) dim.count = 1;
  return d;
}

struct Section {
  explicit Section(const std::vector<std::string>& settings = {}) : chip(isa::load_chip("a1000", settings)) {}
  TimedInstruction& add(int queue, const isa::Body* work, int words = 2) {
    TimedInstruction instruction;
    instruction.queue = static_cast<std::uint8_t>(queue);
    instruction.layer = static_cast<std::uint16_t>(instructions.size());
    instruction.words = static_cast<std::uint8_t>(words);
    instruction.nop_cycles = 1;
    instruction.work = work;
    instructions.push_back(instruction);
    return instructions.back();
  }
  TimedInstruction& add(int queue, isa::Body work) { return add(queue, &works.emplace_back(std::move(work))); }
  /// Finish of each instruction.
  std::vector<Cycles> run() {
    std::vector<Cycles> ends(instructions.size(), -1);
    const Cycles last =
        SectionRun(chip, MemoryTimes::from(chip), instructions, [&](const TimedInstruction& i, Cycles end) {
          ends[i.layer] = end;
        }).run();
    EXPECT_EQ(last, *std::max_element(ends.begin(), ends.end()));
    return ends;
  }
  isa::ChipConfig chip;
  std::deque<isa::Body> works;
  std::vector<TimedInstruction> instructions;
};

constexpr std::int64_t kBank = 131072;

/// Cycles between the finish of the NOPs that the units wait for and the last finish.
Cycles two_copies(std::int64_t from_a, std::int64_t from_b) {
  Section s;
  s.add(kGemm, nullptr, 1).signals = {{0, 1}, {1, 1}};
  s.instructions.back().nop_cycles = 1000;
  s.add(kEdp, copy(from_a, 2 * kBank)).waits = {{0, 1}};
  s.add(kReorder, copy(from_b, 3 * kBank)).waits = {{1, 1}};
  const auto ends = s.run();
  return std::max(ends[1], ends[2]) - ends[0];
}

TEST(SectionRun, UnitsThatReadOneBankTakeTheSumOfTheirLines) {
  const isa::ChipConfig chip = isa::load_chip("a1000");
  const Cycles alone = hw::edp_cycles(std::get<isa::Edp>(copy(0, 2 * kBank)), chip);
  EXPECT_EQ(two_copies(0, kBank), 2 + 1 + alone) << "signal to start 2, pop to first engine cycle 1";
  EXPECT_EQ(two_copies(0, 64 * 128), 2 + 1 + alone + kLines) << "the other one's lines on top";
}

TEST(SectionRun, AUnitWhosePortsMeetTakesTheSumOfThem) {
  const isa::ChipConfig chip = isa::load_chip("a1000");
  Section s;
  s.add(kEdp, copy(0, 512 * 128));
  const Cycles meeting = s.run()[0];
  Section apart;
  apart.add(kEdp, copy(0, kBank));
  const Cycles skew = chip.sram.read_latency + chip.edp.pipeline_cycles;
  EXPECT_EQ(meeting, apart.run()[0] + kLines - skew) << "each read but the first ones meets a write";
}

TEST(SectionRun, TinyInstructionsTakeWhatTheirWordsTake) {
  // Bursts of 16 words, the next one raised when the words of the last have come: 16 / 64 bytes a cycle and a latency.
  const std::vector<std::string> slow = {"dram.device=fixed", "dram.fixed_latency_cycles=500", "cp.prefetch_words=19"};
  Section s(slow);
  for (int i = 0; i < 160; ++i) s.add(kGemm, nullptr, 1);
  const Cycles end = s.run().back();
  EXPECT_GE(end, 10 * (500 + 16));
  EXPECT_LE(end, 10 * (500 + 16 + 20));
  Section fast({"dram.device=fixed", "dram.fixed_latency_cycles=1"});
  for (int i = 0; i < 160; ++i) fast.add(kGemm, nullptr, 1);
  EXPECT_LE(fast.run().back(), 2 * 160 + 30) << "one word a cycle, one start a cycle";
}

TEST(SectionRun, AQueueThatWaitsDoesNotHoldUpAnother) {
  Section s;
  for (int i = 0; i < 100; ++i) s.add(kEdp, nullptr, 1);
  s.instructions.front().waits = {{0, 1}};
  for (int i = 0; i < 100; ++i) s.add(kGemm, nullptr, 1);
  s.instructions.back().signals = {{0, 1}};
  const auto ends = s.run();
  EXPECT_EQ(ends[0], ends[199] + 2 + 1) << "the head starts 2 after the signal and takes 1";
}

TEST(SectionRun, AWaitTakesAllItsTokensOrNone) {
  Section s;
  s.add(kEdp, nullptr, 1).waits = {{0, 2}, {1, 1}};
  s.add(kGemm, nullptr, 1).signals = {{0, 1}};
  s.add(kGemm, nullptr, 1).signals = {{0, 1}, {1, 1}};
  s.instructions.back().nop_cycles = 700;
  const auto ends = s.run();
  EXPECT_EQ(ends[0], ends[2] + 3);
}

TEST(SectionRun, LoadAndStoreShareTheDram) {
  const std::int64_t bytes = 1 << 20;
  const std::vector<std::string> one_channel = {"dram.channels=1"};
  const auto end_of = [&](bool load, bool store) {
    Section s(one_channel);
    if (load) s.add(kLoad, dma<isa::Load>(bytes, 0, 0));
    if (store) s.add(kStore, dma<isa::Store>(bytes, 1 << 22, 16 * kBank));
    const auto ends = s.run();
    return *std::max_element(ends.begin(), ends.end());
  };
  const double rate = MemoryTimes::from(isa::load_chip("a1000", one_channel)).bytes_per_cycle;
  const double lone = static_cast<double>(bytes) / rate;
  EXPECT_NEAR(static_cast<double>(end_of(true, false)), lone, 0.01 * lone);
  EXPECT_NEAR(static_cast<double>(end_of(false, true)), lone, 0.01 * lone);
  EXPECT_NEAR(static_cast<double>(end_of(true, true)), 2 * lone, 0.01 * lone);
}

/// How long a copy takes beside a LOAD into or a STORE from `place`.
template <typename Dma>
Cycles copy_beside(int queue, std::int64_t bytes, std::int64_t place) {
  Section s;
  s.add(kGemm, nullptr, 1).signals = {{0, 1}, {1, 1}};
  s.instructions.back().nop_cycles = 1000;
  s.add(queue, dma<Dma>(bytes, 0, place)).waits = {{1, 1}};
  s.add(kGemm, nullptr, 1).signals = {{2, 1}};
  s.instructions.back().waits = {{0, 1}};
  s.instructions.back().nop_cycles = queue == kLoad ? 200 : 1;
  s.add(kEdp, copy(0, 2 * kBank)).waits = {{2, 1}};
  const auto ends = s.run();
  return ends[3] - ends[2];
}

TEST(SectionRun, ALoadTakesLinesOfTheBankThatAUnitReads) {
  const Cycles apart = copy_beside<isa::Load>(kLoad, 98304, 5 * kBank);
  const Cycles together = copy_beside<isa::Load>(kLoad, 98304, 32768);
  // A line for every 128 bytes that come; the copy is longer by the lines that come while it reads.
  const double rate = MemoryTimes::from(isa::load_chip("a1000")).bytes_per_cycle / 128;
  const double expected = static_cast<double>(kLines) * rate / (1 - rate);
  EXPECT_NEAR(static_cast<double>(together - apart), expected, 0.1 * expected);
}

TEST(SectionRun, ALoadOfALineACycleIsSlowedByAUnitInItsBank) {
  const auto end_of = [](std::int64_t copy_from) {
    Section s({"dram.channels=16"});
    isa::Load load = std::get<isa::Load>(dma<isa::Load>(16000, 0, 65536));  // 500 groups, each in a line of its own
    load.group_bytes = 32;
    load.group_stride = 128;
    s.add(kGemm, nullptr, 1).signals = {{0, 1}, {1, 1}};
    s.instructions.back().nop_cycles = 1000;
    s.add(kLoad, load).waits = {{0, 1}};
    s.add(kEdp, copy(copy_from, 2 * kBank)).waits = {{1, 1}};
    return s.run()[1];
  };
  EXPECT_NEAR(static_cast<double>(end_of(0) - end_of(kBank)), kLines, 0.05 * kLines);
}

TEST(SectionRun, AStoreReadsALineACycleUntilItsBufferIsFull) {
  const Cycles apart = copy_beside<isa::Store>(kStore, 12800, 5 * kBank);
  const Cycles together = copy_beside<isa::Store>(kStore, 12800, 32768);
  EXPECT_NEAR(static_cast<double>(together - apart), 100, 8) << "100 lines, the first before the copy begins";
}

TEST(SectionRun, LoadsOverlapAsFarAsTheyMayBeInFlight) {
  const auto end_of = [](int in_flight) {
    Section s({"dram.device=fixed", "dram.fixed_latency_cycles=400", "load.in_flight=" + std::to_string(in_flight)});
    for (int i = 0; i < 16; ++i) s.add(kLoad, dma<isa::Load>(64, 4096 * i, 128 * i));
    return static_cast<double>(s.run().back());
  };
  EXPECT_NEAR(end_of(1), 16 * 400, 0.15 * 16 * 400);
  EXPECT_NEAR(end_of(4), 4 * 400, 0.35 * 4 * 400);
}

TEST(SectionRun, ANopInLoadWaitsForWhatIsInFlight) {
  Section s({"dram.device=fixed", "dram.fixed_latency_cycles=400"});
  s.add(kLoad, dma<isa::Load>(64, 0, 0));
  s.add(kLoad, nullptr, 1);
  s.add(kLoad, dma<isa::Load>(64, 4096, 128));
  const auto ends = s.run();
  EXPECT_GE(ends[1], ends[0] + 1);
  EXPECT_GE(ends[2], ends[1] + 400);
}

}  // namespace
}  // namespace tessera::compiler
