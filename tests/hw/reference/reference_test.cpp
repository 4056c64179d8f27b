#include "hw/reference/reference.hpp"

#include <map>

#include <gtest/gtest.h>

#include "hw/common/error.hpp"
#include "hw/common/random.hpp"
#include "hw/reference/order.hpp"
#include "hw/reference/race.hpp"
#include "hw/reference/section.hpp"
#include "hw/reference/written_dram.hpp"

namespace tessera::reference {
namespace {

using isa::QueueId;

/// Builds one section queue by queue.
class Builder {
 public:
  struct Use {
    int semaphore;
    int count = 1;
  };
  template <typename Body>
  Builder& add(QueueId queue, const Body& body, const std::vector<Use>& waits = {},
               const std::vector<Use>& signals = {}, int layer = 0, int core = 0) {
    isa::Instruction instruction{};
    instruction.body = body;
    instruction.header.layer = static_cast<std::uint16_t>(layer);
    instruction.header.overlap = overlap_next_;
    overlap_next_ = false;
    for (std::size_t i = 0; i < waits.size(); ++i) {
      instruction.header.waits[i] = {static_cast<std::uint8_t>(waits[i].semaphore),
                                     static_cast<std::uint8_t>(waits[i].count)};
    }
    for (std::size_t i = 0; i < signals.size(); ++i) {
      instruction.header.signals[i] = {static_cast<std::uint8_t>(signals[i].semaphore),
                                       static_cast<std::uint8_t>(signals[i].count)};
    }
    auto& words = words_[{core, static_cast<int>(queue)}];
    for (const isa::Word& word : isa::encode(instruction)) words.push_back(word);
    return *this;
  }
  Builder& overlap() {
    overlap_next_ = true;
    return *this;
  }
  [[nodiscard]] isa::Program program() const {
    isa::Program p;
    isa::Section section;
    section.name = "s0";
    for (const auto& [key, words] : words_) {
      isa::QueueStream stream;
      stream.core = static_cast<std::uint8_t>(key.first);
      stream.queue = static_cast<std::uint8_t>(key.second);
      stream.words = words;
      section.streams.push_back(stream);
    }
    p.sections.push_back(section);
    p.layers.resize(3);
    p.layers[1].name = "conv1";
    p.layers[2].name = "relu1";
    return p;
  }

 private:
  std::map<std::pair<int, int>, std::vector<isa::Word>> words_;
  bool overlap_next_ = false;
};

isa::Load load(std::uint32_t sram, std::uint32_t bytes, std::uint64_t dram = 0, std::uint8_t base = 1) {
  isa::Load l{};
  l.base_register = base;
  l.dram_offset = dram;
  l.row_bytes = l.group_bytes = bytes;
  l.sram_base = sram;
  return l;
}
isa::Store store(std::uint32_t sram, std::uint32_t bytes, std::uint64_t dram = 0, std::uint8_t base = 2) {
  isa::Store s{};
  s.base_register = base;
  s.dram_offset = dram;
  s.row_bytes = s.group_bytes = bytes;
  s.sram_base = sram;
  return s;
}
isa::Reorder copy(std::uint32_t from, std::uint32_t to, std::uint16_t bytes) {
  isa::Reorder r{};
  r.src_base = from;
  r.dst_base = to;
  r.run_bytes = bytes;
  return r;
}
isa::Edp relu(std::uint32_t from, std::uint32_t to) {  // one pixel of four channels on tiny
  isa::Edp e{};
  e.a.base = from;
  e.out.base = to;
  e.c = 4;
  e.stages[0].op = isa::EdpOp::clip;
  e.stages[0].hi = 127;
  return e;
}

const isa::ChipConfig& tiny() {
  static const isa::ChipConfig chip = isa::load_chip("tiny");
  return chip;
}

BaseRegisters bases() {
  BaseRegisters b;
  for (std::size_t i = 0; i < 8; ++i) {
    b.base[i] = 0x100000 * i;
    b.limit[i] = 0x1000;
  }
  return b;
}

ReferenceResult run(const Builder& builder, hw::DramStorage& dram, const ReferenceOptions& options = {},
                    const isa::ChipConfig& chip = tiny()) {
  return run_reference(builder.program(), chip, dram, bases(), options);
}

std::string error_of(const Builder& builder, const isa::ChipConfig& chip = tiny()) {
  hw::DramStorage dram;
  try {
    (void)run(builder, dram, {}, chip);
  } catch (const ProgramError& e) {
    return e.what();
  }
  return "";
}

TEST(Reference, RunsALoadComputeStorePipelineInEveryOrder) {
  // Two buffers: LOAD i+2 waits until EDP i is done, EDP i until STORE i-2 has left its result.
  Builder b;
  for (int i = 0; i < 8; ++i) {
    const auto buffer = static_cast<std::uint32_t>(i % 2) * 64;
    std::vector<Builder::Use> edp_waits = {{1}};
    if (i >= 2) edp_waits.push_back({4});
    b.add(QueueId::load, load(buffer, 8, static_cast<std::uint64_t>(i) * 8),
          i >= 2 ? std::vector<Builder::Use>{{2}} : std::vector<Builder::Use>{}, {{1}});
    b.add(QueueId::edp, relu(buffer, 256 + buffer), edp_waits,
          i < 6 ? std::vector<Builder::Use>{{2}, {3}} : std::vector<Builder::Use>{{3}});
    b.add(QueueId::store, store(256 + buffer, 4, static_cast<std::uint64_t>(i) * 4), {{3}},
          i < 6 ? std::vector<Builder::Use>{{4}} : std::vector<Builder::Use>{});
  }
  std::vector<std::uint8_t> input(64);
  for (std::size_t i = 0; i < input.size(); ++i) input[i] = static_cast<std::uint8_t>(i * 37);
  std::vector<std::vector<Executed>> orders;
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    hw::DramStorage dram;
    dram.write(0x100000, input.data(), input.size());
    ReferenceOptions options;
    if (seed > 0) options.order_seed = seed;
    const ReferenceResult result = run(b, dram, options);
    EXPECT_TRUE(result.warnings.empty()) << result.warnings.front();
    EXPECT_EQ(result.order.size(), 24U);
    std::vector<std::uint8_t> output(32);
    dram.read(0x200000, output.data(), output.size());
    for (std::size_t i = 0; i < 32; ++i) {
      const auto v = static_cast<std::int8_t>(input[i / 4 * 8 + i % 4]);
      ASSERT_EQ(output[i], v < 0 ? 0 : v) << "seed " << seed << " byte " << i;
    }
    EXPECT_EQ(result.sram[0][0], input[48]);
    orders.push_back(result.order);
  }
  const auto queues = [](const std::vector<Executed>& order) {
    std::string text;
    for (const Executed& e : order) text += static_cast<char>('0' + e.queue);
    return text;
  };
  EXPECT_NE(queues(orders[1]), queues(orders[0]));  // the seeds do choose other orders
}

TEST(Reference, NamesARaceByBothInstructions) {
  Builder b;
  b.add(QueueId::load, load(0x100, 16), {}, {}, 1);
  b.add(QueueId::edp, relu(0x108, 0x200), {}, {}, 2);
  EXPECT_EQ(
      error_of(b),
      "race in section s0: core 0 load instruction 0 (load, layer 1 'conv1') writes SRAM 0x100..0x10f (load.sram) and "
      "core 0 edp instruction 0 (edp, layer 2 'relu1') reads SRAM 0x108..0x10f (edp.a); neither queue order nor "
      "semaphores order them");
}

TEST(Reference, NamesAWriteAfterReadRace) {
  Builder b;  // the second load overwrites what edp reads; nothing tells it to wait
  b.add(QueueId::load, load(0, 8), {}, {{1}});
  b.add(QueueId::load, load(0, 8));
  b.add(QueueId::edp, relu(0, 64), {{1}});
  const std::string text = error_of(b);
  EXPECT_NE(text.find("core 0 load instruction 1 (load, layer 0) writes SRAM 0x0..0x7 (load.sram)"), std::string::npos)
      << text;
  EXPECT_NE(text.find("core 0 edp instruction 0"), std::string::npos) << text;
}

TEST(Reference, FindsARaceInDramThroughAnotherBaseRegister) {
  Builder b;
  b.add(QueueId::store, store(0, 8, 0x10, 1));
  b.add(QueueId::load, load(64, 8, 0x14, 1));
  EXPECT_NE(error_of(b).find("DRAM base 1 + 0x10..0x17 (store.dram)"), std::string::npos) << error_of(b);
  Builder apart;
  apart.add(QueueId::store, store(0, 4, 0x10, 1));
  apart.add(QueueId::load, load(64, 8, 0x14, 1));
  EXPECT_EQ(error_of(apart), "");
}

TEST(Reference, OrderThroughAThirdQueueIsOrder) {
  Builder b;
  b.add(QueueId::load, load(0, 8), {}, {{1}});
  b.add(QueueId::edp, isa::Nop{}, {{1}}, {{2}});
  b.add(QueueId::reorder, copy(0, 64, 8), {{2}});
  EXPECT_EQ(error_of(b), "");
}

TEST(Reference, SeveralSignallersOrderOnlyWhenAllAreNeeded) {
  // reorder waits for two signals: one each from load and edp, and neither can give two before it.
  Builder both;
  both.add(QueueId::load, load(0, 8), {}, {{1}});
  both.add(QueueId::edp, isa::Nop{}, {}, {{1}});
  both.add(QueueId::reorder, copy(0, 64, 8), {{1, 2}});
  EXPECT_EQ(error_of(both), "");
  // With two signals of edp, the load may still be running.
  Builder loose;
  loose.add(QueueId::load, load(0, 8), {}, {{1}});
  loose.add(QueueId::edp, isa::Nop{}, {}, {{1}});
  loose.add(QueueId::edp, isa::Nop{}, {}, {{1}});
  loose.add(QueueId::reorder, copy(0, 64, 8), {{1, 2}});
  loose.add(QueueId::reorder, isa::Nop{}, {{1}});
  EXPECT_NE(error_of(loose).find("race in section s0"), std::string::npos);
  // Held back by reorder itself, edp cannot: ordered again.
  Builder held;
  held.add(QueueId::load, load(0, 8), {}, {{1}});
  held.add(QueueId::edp, isa::Nop{}, {}, {{1}});
  held.add(QueueId::edp, isa::Nop{}, {{2}}, {{1}});
  held.add(QueueId::reorder, copy(0, 64, 8), {{1, 2}}, {{2}});
  held.add(QueueId::reorder, isa::Nop{}, {{1}});
  EXPECT_EQ(error_of(held), "");
}

TEST(Reference, CoresHaveTheirOwnSramAndShareGlobalSemaphores) {
  const isa::ChipConfig j5 = isa::load_chip("j5");
  Builder apart;  // the same SRAM addresses on two cores are different bytes
  apart.add(QueueId::load, load(0, 8), {}, {}, 0, 0);
  apart.add(QueueId::load, load(0, 8), {}, {}, 0, 1);
  EXPECT_EQ(error_of(apart, j5), "");
  Builder dram;
  dram.add(QueueId::store, store(0, 8), {}, {{64}}, 0, 0);
  dram.add(QueueId::load, load(0, 8, 0, 2), {{64}}, {}, 0, 1);
  EXPECT_EQ(error_of(dram, j5), "");
  Builder race;
  race.add(QueueId::store, store(0, 8), {}, {}, 0, 0);
  race.add(QueueId::load, load(0, 8, 0, 2), {}, {}, 0, 1);
  EXPECT_NE(error_of(race, j5).find("core 1 load instruction 0"), std::string::npos) << error_of(race, j5);
}

TEST(Reference, ChecksOverlapBitsAndInstructionsOnThemselves) {
  Builder bad;
  bad.add(QueueId::reorder, copy(0, 64, 8));
  bad.overlap().add(QueueId::reorder, copy(64, 128, 8));
  EXPECT_EQ(
      error_of(bad),
      "race in section s0: core 0 reorder instruction 1 (reorder, layer 0) has its overlap bit set, but reads SRAM "
      "0x40..0x47 (reorder.src), which core 0 reorder instruction 0 (reorder, layer 0) writes (reorder.dst)");
  Builder good;
  good.add(QueueId::reorder, copy(0, 64, 8));
  good.overlap().add(QueueId::reorder, copy(0, 128, 8));
  EXPECT_EQ(error_of(good), "");
  Builder self;
  self.add(QueueId::reorder, copy(0, 4, 8));
  EXPECT_NE(error_of(self).find("reads SRAM 0x0..0x7 (reorder.src) and writes SRAM 0x4..0xb (reorder.dst) itself"),
            std::string::npos);
  Builder in_place;
  in_place.add(QueueId::edp, relu(0, 0));
  EXPECT_EQ(error_of(in_place), "");
}

TEST(Reference, WarnsOfBytesNeverWritten) {
  Builder b;
  b.add(QueueId::load, load(0, 2), {}, {{1}});
  b.add(QueueId::edp, relu(0, 64), {{1}}, {{2}}, 2);
  b.add(QueueId::store, store(64, 4, 0x20, 3), {{2}}, {{3}});
  b.add(QueueId::load, load(128, 8, 0x20, 3), {{3}});
  hw::DramStorage dram;
  const ReferenceResult result = run(b, dram);
  ASSERT_EQ(result.warnings.size(), 2U);
  EXPECT_EQ(
      result.warnings[0],
      "section s0: core 0 edp instruction 0 (edp, layer 2 'relu1') reads 2 bytes never written, the first at SRAM 0x2 "
      "(edp.a)");
  EXPECT_EQ(
      result.warnings[1],
      "section s0: core 0 load instruction 1 (load, layer 0) reads 4 bytes never written, the first at DRAM scratch "
      "0x24 (load.dram)");
}

TEST(Reference, ExplainsACycle) {
  Builder b;
  b.add(QueueId::load, load(0, 8), {{2}}, {{1}}, 1);
  b.add(QueueId::edp, relu(0, 64), {{1}}, {{2}}, 2);
  EXPECT_EQ(
      error_of(b),
      "section s0: stuck: every queue waits and nothing is in flight\n"
      "  core 0 load instruction 0 (load, layer 1 'conv1') waits for semaphore 2 of core 0, which has 0 of 1; it would "
      "be signalled by core 0 edp instruction 0 (edp, layer 2 'relu1')\n"
      "  core 0 edp instruction 0 (edp, layer 2 'relu1') waits for semaphore 1 of core 0, which has 0 of 1; it would "
      "be signalled by core 0 load instruction 0 (load, layer 1 'conv1')\n"
      "  wait-for cycle: core 0 load -> core 0 edp -> core 0 load");
}

TEST(Reference, ExplainsASemaphoreNeverSignalled) {
  Builder b;
  b.add(QueueId::load, load(0, 8), {}, {{1}});
  b.add(QueueId::edp, relu(0, 64), {{1, 2}}, {{3}}, 2);
  b.add(QueueId::store, store(64, 4), {{3}});
  EXPECT_EQ(
      error_of(b),
      "section s0: stuck: every queue waits and nothing is in flight\n"
      "  core 0 store instruction 0 (store, layer 0) waits for semaphore 3 of core 0, which has 0 of 1; it would be "
      "signalled by core 0 edp instruction 0 (edp, layer 2 'relu1')\n"
      "  core 0 edp instruction 0 (edp, layer 2 'relu1') waits for semaphore 1 of core 0, which has 1 of 2; nobody "
      "signals it any more\n"
      "  wait-for chain: core 0 store -> core 0 edp -> nobody (semaphore 1 of core 0 is never signalled)");
}

TEST(Reference, RefusesBrokenSemaphoreRules) {
  Builder left;
  left.add(QueueId::load, load(0, 8), {}, {{1, 3}});
  left.add(QueueId::edp, isa::Nop{}, {{1}});
  EXPECT_EQ(error_of(left), "section s0: semaphore 1 of core 0 is 2 at the section's end: expected 0");

  Builder two;
  two.add(QueueId::load, load(0, 8), {}, {{1, 2}});
  two.add(QueueId::edp, isa::Nop{}, {{1}});
  two.add(QueueId::reorder, isa::Nop{}, {{1}});
  EXPECT_EQ(
      error_of(two),
      "section s0: semaphore 1 of core 0 has two waiting queues, core 0 edp and core 0 reorder instruction 0 (nop, "
      "layer 0)");

  // The lowest queue first would never see it, but a slow edp lets the semaphore rise to 256.
  Builder overflow;
  overflow.add(QueueId::load, load(0, 8), {}, {{1, 128}});
  overflow.add(QueueId::load, load(0, 8), {}, {{1, 128}});
  overflow.add(QueueId::edp, isa::Nop{}, {{1, 128}});
  overflow.add(QueueId::edp, isa::Nop{}, {{1, 128}});
  EXPECT_EQ(error_of(overflow),
            "fault semaphore_overflow: section s0: semaphore 1 of core 0 can reach 256 before core 0 edp instruction 0 "
            "(nop, layer 0) takes from it: expected at most 255");
}

TEST(Reference, NamesFaults) {
  Builder limit;
  limit.add(QueueId::load, load(0, 8, 0xffc), {}, {}, 1);
  EXPECT_EQ(
      error_of(limit),
      "fault dram_limit: section s0, core 0 load instruction 0 (load, layer 1 'conv1'): load.dram touches DRAM base 1 "
      "+ 0xffc..0x1003, outside the limit of 4096 bytes of that base register");
  Builder range;
  range.add(QueueId::load, load(65532, 8));
  EXPECT_NE(error_of(range).find("fault sram_range: "), std::string::npos);
  Builder field;
  isa::Conv conv{};
  conv.gx = 9;
  conv.hi = 1;
  field.add(QueueId::conv0, conv);
  EXPECT_NE(error_of(field).find(
                "fault illegal_word: section s0, core 0 conv0 instruction 0 (conv, layer 0): conv.gx*gy*t = 9"),
            std::string::npos)
      << error_of(field);
  Builder word;
  conv.out_int16 = true;
  word.add(QueueId::conv0, conv);
  EXPECT_EQ(
      error_of(word).rfind("fault illegal_word: section s0 core 0 conv0 instruction 0 (word 0): conv: out_int16", 0),
      0U)
      << error_of(word);
  Builder absent;
  absent.add(QueueId::conv1, isa::Nop{});
  EXPECT_EQ(error_of(absent), "section s0: chip tiny has no queue 3 on core 0");
  Builder wrong;
  wrong.add(QueueId::edp, load(0, 8));
  EXPECT_NE(error_of(wrong).find("opcode load is not accepted by this queue"), std::string::npos);
}

TEST(Reference, RunsHostStepsBetweenSections) {
  Builder first;
  first.add(QueueId::store, store(0, 4));
  isa::Program program = first.program();
  isa::Section host;
  host.name = "softmax";
  host.host_step = 0;
  program.sections.push_back(host);
  program.host_steps.resize(1);
  program.host_steps[0].name = "softmax";
  hw::DramStorage dram;
  int calls = 0;
  ReferenceOptions options;
  options.host_step = [&](const isa::HostStep& step, hw::DramStorage& storage) {
    ++calls;
    EXPECT_EQ(step.name, "softmax");
    const std::uint8_t one = 1;
    storage.write(0x300000, &one, 1);
  };
  (void)run_reference(program, tiny(), dram, bases(), options);
  EXPECT_EQ(calls, 1);
  std::uint8_t seen = 0;
  dram.read(0x300000, &seen, 1);
  EXPECT_EQ(seen, 1);
}

TEST(Reference, ValuesCanBeLeftOut) {
  Builder b;
  b.add(QueueId::load, load(0, 8), {}, {{1}});
  b.add(QueueId::store, store(0, 8), {{1}});
  hw::DramStorage dram;
  const std::uint8_t input[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  dram.write(0x100000, input, 8);
  ReferenceOptions options;
  options.values = false;
  const ReferenceResult result = run(b, dram, options);
  EXPECT_EQ(result.order.size(), 2U);
  EXPECT_EQ(result.sram[0][0], 0);
}

/// All outcomes of a small section, by brute force: `first` precedes `second` if no schedule starts `second` earlier.
bool before_by_search(const Section& section, InstructionId first, InstructionId second) {
  // Depth-first over reachable states without ever running `first`; is `second` startable in one of them?
  std::map<std::vector<std::uint32_t>, bool> seen;
  std::vector<SectionState> stack{SectionState(section)};
  const auto queues = static_cast<std::uint32_t>(section.queues().size());
  while (!stack.empty()) {
    const SectionState state = stack.back();
    stack.pop_back();
    std::vector<std::uint32_t> heads;
    for (std::uint32_t q = 0; q < queues; ++q) heads.push_back(state.head(q));
    if (!seen.emplace(heads, true).second) continue;
    for (std::uint32_t q = 0; q < queues; ++q) {
      if (!state.can_start(q)) continue;
      if (q == second.queue && state.head(q) == second.index) return false;
      if (q == first.queue && state.head(q) == first.index) continue;
      SectionState next = state;
      next.run_head(q);
      stack.push_back(next);
    }
  }
  return true;
}

TEST(HappensBefore, AgreesWithSearchOnRandomSections) {
  const QueueId ids[] = {QueueId::load, QueueId::store, QueueId::edp, QueueId::reorder};
  int ordered = 0;
  int unordered = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    Random r(seed);
    // A random serial schedule defines a section that completes: waits take only what is there.
    Builder b;
    std::vector<int> value(8, 0);  // semaphore s is waited on by queue s % 4 only
    const int length = static_cast<int>(r.between(4, 12));
    for (int i = 0; i < length; ++i) {
      const int q = static_cast<int>(r.below(4));
      std::vector<Builder::Use> waits;
      std::vector<Builder::Use> signals;
      for (int s = q; s < 8; s += 4) {
        if (value[static_cast<std::size_t>(s)] == 0 || !r.chance(2, 3)) continue;
        const int take = static_cast<int>(r.between(1, value[static_cast<std::size_t>(s)]));
        value[static_cast<std::size_t>(s)] -= take;
        waits.push_back({s, take});
      }
      if (r.chance(2, 3)) {
        const int s = static_cast<int>(r.below(8));
        const int give = static_cast<int>(r.between(1, 2));
        value[static_cast<std::size_t>(s)] += give;
        signals.push_back({s, give});
      }
      b.add(ids[q], isa::Nop{}, waits, signals);
    }
    const Section section(b.program().sections[0], tiny(), {});
    const HappensBefore order(section);
    for (std::uint32_t qa = 0; qa < section.queues().size(); ++qa) {
      for (std::uint32_t qb = 0; qb < section.queues().size(); ++qb) {
        if (qa == qb) continue;
        for (std::uint32_t i = 0; i < section.queues()[qa].stream.size(); ++i) {
          for (std::uint32_t k = 0; k < section.queues()[qb].stream.size(); ++k) {
            const bool expected = before_by_search(section, {qa, i}, {qb, k});
            ASSERT_EQ(order.before({qa, i}, {qb, k}), expected) << "seed " << seed;
            ++(expected ? ordered : unordered);
          }
        }
      }
    }
  }
  EXPECT_GT(ordered, 500);
  EXPECT_GT(unordered, 500);
}

TEST(FindConflict, AgreesWithAllPairs) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random r(seed);
    const auto random_ranges = [&] {
      std::vector<semantics::Range> ranges;
      for (int i = 0; i < 6; ++i) {
        semantics::Range x;
        x.begin = r.between(0, 200);
        x.end = x.begin + r.between(1, 15);
        x.write = r.chance(1, 2);
        x.dram = r.chance(1, 3);
        x.base_register = static_cast<std::uint8_t>(x.dram ? r.below(2) : 0);
        ranges.push_back(x);
      }
      return ranges;
    };
    const std::vector<semantics::Range> a = random_ranges();
    const std::vector<semantics::Range> b = random_ranges();
    bool expected = false;
    for (const auto& x : a) {
      for (const auto& y : b) expected = expected || semantics::conflict(x, y);
    }
    RangePair pair;
    ASSERT_EQ(find_conflict(a, b, pair), expected) << "seed " << seed;
    ASSERT_EQ(semantics::conflict(pair.a, pair.b), expected);
  }
}

TEST(WrittenDram, MergesAndFindsGaps) {
  WrittenDram w;
  w.mark(10, 20);
  w.mark(30, 40);
  w.mark(20, 25);
  EXPECT_EQ(w.missing(10, 25).bytes, 0);
  EXPECT_EQ(w.missing(0, 50).bytes, 10 + 5 + 10);
  EXPECT_EQ(w.missing(0, 50).first, 0);
  EXPECT_EQ(w.missing(22, 35).first, 25);
  w.mark(5, 45);
  EXPECT_EQ(w.missing(5, 45).bytes, 0);
}

}  // namespace
}  // namespace tessera::reference
