// The RTL slice against the models: each unit alone, all together on one bank, random programs, faults and the end in
// the same cycle; and that the checker sees a difference when there is one.
#include "hw/cosim/lockstep.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "hw/common/error.hpp"
#include "hw/cosim/random_program.hpp"
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

isa::ChipConfig tiny(const std::vector<std::string>& sets = {}) { return isa::load_chip("tiny", sets); }

LockstepResult lockstep(const isa::Program& program, const isa::ChipConfig& chip) {
  return run_lockstep(program, chip, chip, {});
}

ProgramBuilder with_buffers() {
  ProgramBuilder builder;
  builder.buffer(BufferKind::input, 16384).buffer(BufferKind::output, 16384);
  return builder;
}

isa::Reorder copy_lines(std::uint32_t src, std::uint32_t dst, int lines, int rows = 1, int pitch = 0) {
  isa::Reorder r;
  r.src_base = src;
  r.dst_base = dst;
  r.run_bytes = static_cast<std::uint16_t>(lines * 8);
  for (auto& dim : r.dims) dim.count = 1;
  r.dims[4].count = static_cast<std::uint16_t>(rows);
  r.dims[4].src_stride = r.dims[4].dst_stride = pitch;
  return r;
}

#define EXPECT_EQUAL_RUNS(result)             \
  do {                                        \
    EXPECT_EQ((result).first, "");            \
    EXPECT_EQ((result).value_differences, 0); \
    EXPECT_EQ((result).cycle_differences, 0); \
  } while (false)

TEST(Lockstep, NopsAndSemaphores) {
  ProgramBuilder builder;
  builder.nop(QueueId::load, 5, {{}, {{0, 2}}}).nop(QueueId::load, 1).nop(QueueId::load, 3);
  builder.nop(QueueId::store, 1, {{{0, 1}, {0, 1}}, {{1, 1}}});
  builder.nop(QueueId::reorder, 1, {{{1, 1}}, {}}).nop(QueueId::reorder, 7).nop(QueueId::reorder, 2);
  const LockstepResult result = lockstep(builder.program(), tiny());
  EXPECT_EQUAL_RUNS(result);
  EXPECT_EQ(result.instructions, 7);
}

TEST(Lockstep, MoreInstructionsThanThePrefetchBufferHolds) {
  ProgramBuilder builder;
  for (std::uint32_t i = 0; i < 60; ++i) {
    builder.nop(QueueId::load, 1 + i % 3).nop(QueueId::store, 1 + i % 40).nop(QueueId::reorder, 1 + i % 7);
  }
  EXPECT_EQUAL_RUNS(lockstep(builder.program(), tiny()));
  EXPECT_EQUAL_RUNS(lockstep(builder.program(), tiny({"dram.device=\"fixed\"", "dram.fixed_latency_cycles=1",
                                                      "dram.fixed_bytes_per_cycle=0"})));
}

TEST(Lockstep, LoadAndStoreAtEveryAlignment) {
  for (std::uint32_t alignment = 0; alignment < 8; ++alignment) {
    for (const std::uint32_t row : {1u, 7u, 8u, 9u, 61u, 700u}) {
      SCOPED_TRACE("alignment " + std::to_string(alignment) + ", row of " + std::to_string(row));
      ProgramBuilder builder = with_buffers();
      builder.add(QueueId::load, load_rows(BufferKind::input, 4090 + alignment, row, 5, 8190 + (3 * alignment) % 8),
                  {{}, {{0, 1}}});
      builder.add(QueueId::store, store_rows(BufferKind::output, 4093, row, 5, 8190 + (3 * alignment) % 8),
                  {{{0, 1}}, {}});
      EXPECT_EQUAL_RUNS(lockstep(builder.program(), tiny({"interconnect.queue_depth=1"})));
    }
  }
}

TEST(Lockstep, LoadScattersAndPadsIntoCircularRows) {
  // Three channels of one byte into pixels of four, two rows of padding around, a ring of seven rows; also with groups
  // that cross lines and a short last one, which padding rows have too.
  for (const std::uint32_t group : {1u, 3u, 8u, 11u}) {
    for (const std::uint32_t row : {1u, 10u, 22u, 47u}) {
      SCOPED_TRACE("groups of " + std::to_string(group) + ", row of " + std::to_string(row));
      ProgramBuilder builder = with_buffers();
      isa::Load load = load_rows(BufferKind::input, 4091, row, 3, 8189);
      load.group_bytes = group;
      load.group_stride = group + 3;
      load.fill_value = 0x5a;
      load.fill_groups_before = 2;
      load.fill_groups_after = 1;
      load.fill_rows_before = load.fill_rows_after = 1;
      load.dims[1] = {3, 3 * row, 1};
      load.dims[2].sram_stride = 340;
      load.wrap_rows = 7;
      load.first_row = 4;
      builder.add(QueueId::load, load);
      load.dims[2].sram_stride = -170;
      load.fill_groups_after = 0;
      load.sram_base = 20001;
      builder.add(QueueId::load, load);
      EXPECT_EQUAL_RUNS(lockstep(builder.program(), tiny({"interconnect.queue_depth=1"})));
    }
  }
}

TEST(Lockstep, StoreGathersGroupsOfCircularRows) {
  for (const std::uint32_t group : {1u, 3u, 8u, 11u}) {
    for (const std::uint32_t row : {1u, 10u, 22u, 47u}) {
      SCOPED_TRACE("groups of " + std::to_string(group) + ", row of " + std::to_string(row));
      ProgramBuilder builder = with_buffers();
      builder.add(QueueId::load, load_rows(BufferKind::input, 0, 4096, 1, 6000), {{}, {{0, 1}}});
      isa::Store store = store_rows(BufferKind::output, 4091, row, 4, 7001);
      store.group_bytes = group;
      store.group_stride = group + 3;
      store.dims[1] = {3, 4 * row, 1};
      store.dims[2].sram_stride = 340;
      store.wrap_rows = 5;
      store.first_row = 3;
      builder.add(QueueId::store, store, {{{0, 1}}, {}});
      EXPECT_EQUAL_RUNS(lockstep(builder.program(), tiny({"interconnect.queue_depth=1"})));
    }
  }
}

TEST(Lockstep, ReorderWithinABankAndAcrossBanks) {
  for (const std::uint32_t dst : {1024u, 8192u + 64u}) {
    ProgramBuilder builder = with_buffers();
    builder.add(QueueId::load, load_rows(BufferKind::input, 0, 1024, 1, 0), {{}, {{0, 1}}});
    builder.add(QueueId::reorder, copy_lines(0, dst, 20, 4, 168), {{{0, 1}}, {}});
    builder.add(QueueId::reorder, copy_lines(0, 20000, 1));
    // One source line again and again; then one destination line again and again.
    isa::Reorder broadcast = copy_lines(64, 30000, 2, 9, 16);
    broadcast.dims[4].src_stride = 0;
    builder.add(QueueId::reorder, broadcast);
    broadcast = copy_lines(72, 40000, 1, 9, 0);
    broadcast.dims[4].src_stride = 16;
    builder.add(QueueId::reorder, broadcast);
    EXPECT_EQUAL_RUNS(lockstep(builder.program(), tiny()));
  }
}

isa::Reorder reorder_runs(std::uint32_t src, std::uint32_t dst, std::uint16_t run,
                          std::initializer_list<isa::ReorderDim> inner) {
  isa::Reorder r = copy_lines(src, dst, 1);
  r.run_bytes = run;
  std::size_t d = r.dims.size() - inner.size();
  for (const isa::ReorderDim& dim : inner) r.dims[d++] = dim;
  return r;
}

TEST(Lockstep, ReorderOfBytesAtEveryAlignment) {
  for (std::uint32_t shift = 0; shift < 8; ++shift) {
    SCOPED_TRACE("shift " + std::to_string(shift));
    const std::uint32_t dst = 20000 + 8 * shift;
    ProgramBuilder builder = with_buffers();
    builder.add(QueueId::load, load_rows(BufferKind::input, 0, 2048, 1, 0), {{}, {{0, 1}}});
    // One run; rows closer than a line, gathered; a transposition; columns of a blocked map, backwards.
    builder.add(QueueId::reorder, reorder_runs(3, dst + shift, 61, {}), {{{0, 1}}, {}});
    builder.add(QueueId::reorder, reorder_runs(5 + shift, dst + 1001, 3, {{3, 200, 40}, {11, 5, 3}}));
    builder.add(QueueId::reorder, reorder_runs(shift, dst + 2003, 1, {{9, 7, 1}, {7, 1, 9}}));
    builder.add(QueueId::reorder, reorder_runs(900 + shift, dst + 3000, 4, {{5, -4, 4}, {3, -88, 20}}));
    // One byte again and again into one line, then one line's bytes onto one byte: a step each.
    builder.add(QueueId::reorder, reorder_runs(100 + shift, dst + 4000, 1, {{8, 0, 1}}));
    builder.add(QueueId::reorder, reorder_runs(104, dst + 4100 + shift, 1, {{8, 1, 0}}));
    isa::Reorder fill = reorder_runs(65535, dst + 5001, 13, {{3, 7, 100}, {4, 0, 14}});
    fill.fill = true;
    fill.fill_value = 0xa5;
    builder.add(QueueId::reorder, fill);
    EXPECT_EQUAL_RUNS(lockstep(builder.program(), tiny()));
  }
}

TEST(Lockstep, ThreeStreamsOnOneBank) {
  ProgramBuilder builder = with_buffers();
  builder.add(QueueId::load, load_rows(BufferKind::input, 0, 2048, 1, 0), {{}, {{0, 1}, {1, 1}}});
  for (int i = 0; i < 4; ++i) {
    const auto at = static_cast<std::uint32_t>(i) * 512;
    platform::test::Sync store, reorder;
    if (i == 0) store.waits = {{0, 1}}, reorder.waits = {{1, 1}};
    builder.add(QueueId::load, load_rows(BufferKind::input, at + 5, 512, 1, 4096 + at));
    builder.add(QueueId::store, store_rows(BufferKind::output, at, 512, 1, at), store);
    builder.add(QueueId::reorder, copy_lines(at, 6144 + at, 64), reorder);
  }
  const LockstepResult result =
      lockstep(builder.program(), tiny({"dram.device=\"fixed\"", "dram.fixed_latency_cycles=20"}));
  EXPECT_EQUAL_RUNS(result);
  EXPECT_GT(result.coverage.triples_on_a_bank, 100);
}

TEST(Lockstep, RandomPrograms) {
  const LockstepResult result = run_random_lockstep("tiny", {}, 1, 40);
  EXPECT_EQUAL_RUNS(result);
  EXPECT_EQ(result.programs, 40);
  EXPECT_GT(result.programs_refused, 10);
  for (const std::int64_t refused : result.coverage.refused) EXPECT_GT(refused, 0);
  EXPECT_GT(result.coverage.triples_on_a_bank, 100);
}

TEST(Lockstep, BothConvolutionEngines) {
  ::setenv("TESSERA_RTL_CACHE", TESSERA_TEST_RTL_CACHE, 1);
  const std::vector<std::string> sets = {"conv.engines=2"};
  const isa::Program program = random_program(tiny(sets), 3, 48);
  for (const QueueId queue : {QueueId::conv0, QueueId::conv1}) {
    const auto& streams = program.sections.front().streams;
    EXPECT_TRUE(std::any_of(streams.begin(), streams.end(), [&](const isa::QueueStream& stream) {
      return stream.queue == static_cast<std::uint8_t>(queue);
    }));
  }
  const LockstepResult result = run_random_lockstep("tiny", sets, 1, 20);
  EXPECT_EQUAL_RUNS(result);
  EXPECT_EQ(result.programs, 20);
  const std::vector<std::string> unfilled = result.bins.unfilled();
  EXPECT_EQ(std::count(unfilled.begin(), unfilled.end(), "nop in conv1"), 0);
}

/// The model is built from another chip than the RTL.
LockstepResult against(const std::string& set) {
  const isa::ChipConfig chip = tiny({"dram.device=\"fixed\""});
  const isa::ChipConfig other = tiny({"dram.device=\"fixed\"", set});
  // Not every program notices every rule.
  LockstepResult result;
  for (std::uint64_t seed = 7; seed < 12 && result.equal(); ++seed) {
    result = run_lockstep(random_program(chip, seed, 48), chip, other, {});
  }
  return result;
}

TEST(LockstepChecker, SeesADifferentRule) {
  for (const char* set :
       {"sram.read_latency=3", "reorder.pipeline_cycles=3", "conv.pipeline_cycles=5", "load.landing_bytes=128",
        "store.buffer_bytes=128", "axi.read_outstanding=3", "axi.write_outstanding=1", "load.in_flight=1",
        "cp.fetch_words=1", "cp.prefetch_words=4", "dram.fixed_latency_cycles=101"}) {
    const LockstepResult result = against(set);
    EXPECT_GT(result.cycle_differences, 0) << set;
    EXPECT_EQ(result.value_differences, 0) << set;
    EXPECT_EQ(result.first.rfind("cycle ", 0), 0u) << result.first;
  }
}

TEST(LockstepChecker, SeesADifferentValue) {
  // A race: REORDER copies what a slow LOAD is writing. The models apply a LOAD at its finish, the RTL as it goes.
  ProgramBuilder race = with_buffers();
  race.add(QueueId::load, load_rows(BufferKind::input, 0, 2000, 1, 0));
  race.nop(QueueId::reorder, 1000).add(QueueId::reorder, copy_lines(0, 4096, 50));
  const LockstepResult result =
      lockstep(race.program(), tiny({"dram.device=\"fixed\"", "dram.fixed_bytes_per_cycle=1"}));
  EXPECT_GT(result.value_differences, 0);
  EXPECT_EQ(result.cycle_differences, 0);
  EXPECT_NE(result.first.find(": SRAM byte "), std::string::npos) << result.first;
  EXPECT_NE(result.first.find(", written by section 0, reorder instruction 1 (reorder, layer 0): model "),
            std::string::npos)
      << result.first;
}

TEST(LockstepChecker, SaysWhatDiffersFirst) {
  const LockstepResult result = against("dram.fixed_latency_cycles=101");
  EXPECT_NE(result.first.find("section 0, load instruction 0 (load, layer 0), start: model "), std::string::npos)
      << result.first;
  EXPECT_NE(result.first.find(", RTL "), std::string::npos) << result.first;
  EXPECT_NE(result.first.find("\n  last events of the model:\n"), std::string::npos);
  EXPECT_NE(result.first.find("\n  last events of the RTL:\n"), std::string::npos);
  EXPECT_NE(lockstep_text(result).find("\nlockstep: 1 programs, "), std::string::npos);
}

std::string refusal(const isa::Program& program, const isa::ChipConfig& chip) {
  try {
    (void)lockstep(program, chip);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no refusal";
}

TEST(Slice, RefusesByName) {
  const isa::ChipConfig chip = tiny();
  EXPECT_EQ(refusal(ProgramBuilder().nop(QueueId::dsp, 1).program(), chip),
            "section 'main': instructions for queue dsp: the RTL slice has load, store, conv0, conv1, gemm, edp and "
            "reorder");
  EXPECT_EQ(refusal(with_buffers().add(QueueId::reorder, reorder_runs(0, 64, 3, {{3, 0, 0}})).program(), chip),
            "section 'main', reorder instruction 0 (reorder): a step of more bytes than a line: not in the RTL slice");
  EXPECT_EQ(refusal(ProgramBuilder().nop(QueueId::load, 1, {{}, {{64, 1}}}).program(), chip),
            "section 'main', load instruction 0 (nop): global semaphores: not in the RTL slice");
  EXPECT_EQ(refusal(ProgramBuilder().nop(QueueId::load, 1).program(), tiny({"cores=2"})),
            "chip 'tiny': cores = 2: the RTL slice is one core");
  EXPECT_EQ(refusal(ProgramBuilder().nop(QueueId::load, 1).program(), tiny({"conv.engines=3"})),
            "chip 'tiny': conv.engines = 3: the RTL slice has at most 2");
}

// ---- programs that fail: the same cause in the same cycle

/// "... cycle N)" at the end of a message.
std::string last_cycle(const std::string& text) {
  const std::size_t at = text.rfind("cycle ");
  return at == std::string::npos ? text : text.substr(at);
}

struct Failures {
  std::string model, rtl;
};
Failures fail_both(const isa::Program& program, const isa::ChipConfig& chip, const platform::DramLayout& layout) {
  Failures failures;
  hw::DramStorage dram;
  platform::load_program(program, layout, dram);
  try {
    (void)platform::run_program(program, chip, layout, dram, {});
  } catch (const ProgramError& error) {
    failures.model = error.what();
  }
  platform::RunOptions options;
  options.max_cycles = 100000;
  failures.rtl = run_on_rtl(program, chip, layout, dram, options).failure;
  return failures;
}

Failures fail_both(const isa::Program& program) {
  const isa::ChipConfig chip = tiny();
  return fail_both(program, chip, platform::place_program(program, chip));
}

TEST(LockstepFailures, StuckInTheSameCycle) {
  ProgramBuilder builder;
  builder.nop(QueueId::load, 9).nop(QueueId::load, 1, {{{3, 2}}, {}}).nop(QueueId::reorder, 30, {{}, {{3, 1}}});
  const Failures failures = fail_both(builder.program());
  EXPECT_NE(failures.rtl.find("is stuck"), std::string::npos) << failures.rtl;
  EXPECT_EQ(last_cycle(failures.model), last_cycle(failures.rtl));
}

TEST(LockstepFailures, SemaphoreOverflow) {
  ProgramBuilder builder;
  builder.nop(QueueId::load, 4, {{}, {{5, 200}}}).nop(QueueId::load, 4, {{}, {{5, 60}}}).nop(QueueId::load, 4);
  builder.nop(QueueId::store, 300);
  const Failures failures = fail_both(builder.program());
  EXPECT_NE(failures.rtl.find("fault semaphore_overflow: section main, load word 2"), std::string::npos)
      << failures.rtl << " / " << failures.model;
  EXPECT_EQ(last_cycle(failures.model), last_cycle(failures.rtl));
}

TEST(LockstepFailures, IllegalWord) {
  ProgramBuilder builder;
  builder.nop(QueueId::store, 4).nop(QueueId::store, 2);
  builder.stream(QueueId::store).words[1][63] = 1;  // a reserved bit
  builder.nop(QueueId::load, 50);
  const Failures failures = fail_both(builder.program());
  EXPECT_NE(failures.rtl.find("fault illegal_word: section main, store word 1"), std::string::npos) << failures.rtl;
  EXPECT_EQ(last_cycle(failures.model), last_cycle(failures.rtl));
}

TEST(LockstepFailures, BusErrorOfEveryManager) {
  // One kind of buffers lies behind the end of the DRAM.
  const isa::ChipConfig chip = tiny({"dram.size_bytes=1048576"});
  const struct {
    std::size_t outside;
    const char* queue;
  } cases[] = {{1, "load"}, {2, "store"}, {4, "load"}};
  for (const auto& c : cases) {
    ProgramBuilder builder = with_buffers();
    builder.add(QueueId::load, load_rows(BufferKind::input, 8, 100, 3, 0));
    builder.add(QueueId::store, store_rows(BufferKind::output, 8, 100, 3, 4096));
    builder.nop(QueueId::reorder, 900).nop(QueueId::load, 5).nop(QueueId::store, 5);
    platform::DramLayout layout = platform::place_program(builder.program(), tiny());
    layout.base = {0, 0, 65536, 0, 131072, 0, 0, 0};
    layout.base[c.outside] = 1048576;
    const Failures failures = fail_both(builder.program(), chip, layout);
    SCOPED_TRACE(failures.model + " / " + failures.rtl);
    EXPECT_EQ(failures.rtl.rfind(std::string("fault bus_error: section main, ") + c.queue, 0), 0u);
    EXPECT_EQ(failures.model.rfind("fault bus_error: section main, ", 0), 0u);
    EXPECT_EQ(last_cycle(failures.model), last_cycle(failures.rtl));
  }
}

TEST(LockstepFailures, RangesOfEveryUnit) {
  // In the cycle of the would-be start, behind a NOP of the queue; what ends exactly at the limit is legal.
  constexpr std::uint32_t kSram = 65536;
  const auto load = [](std::int64_t offset, std::uint32_t sram, std::int64_t dram_stride, std::int32_t sram_stride) {
    isa::Load l = load_rows(BufferKind::input, static_cast<std::uint64_t>(offset), 8, 3, sram);
    l.dims[2].dram_stride = dram_stride;
    l.dims[2].sram_stride = sram_stride;
    return l;
  };
  const auto copy = [](std::uint32_t src, std::uint32_t dst, std::int32_t src_stride, std::int32_t dst_stride) {
    isa::Reorder r = copy_lines(src, dst, 1, 3, 0);
    r.dims[4].src_stride = src_stride;
    r.dims[4].dst_stride = dst_stride;
    return r;
  };
  // The source, which a fill has not, lies outside.
  const auto fill = [&](std::uint32_t dst, bool is_fill) {
    isa::Reorder r = copy(kSram, dst, 8, 8);
    r.fill = is_fill;
    return r;
  };
  // Rows of two groups of 5 and 3 bytes, 9 apart, one of padding on either side; a run goes through rows 1, 2, 3 of a
  // buffer or, from row `first` = 2 on, through all four.
  const auto groups = [&](std::uint32_t sram, std::uint16_t first, std::uint16_t wrap, std::uint32_t stride) {
    isa::Load l = load(0, sram, 8, 100);
    l.group_bytes = 5;
    l.group_stride = stride;
    l.fill_groups_before = 1;
    l.dims[2].count = 2;
    l.fill_rows_before = 1;
    l.first_row = first;
    l.wrap_rows = wrap;
    return l;
  };
  const auto gather = [&](std::uint32_t sram, std::uint32_t row_bytes, std::uint32_t group_bytes) {
    isa::Store s = store_rows(BufferKind::output, 0, row_bytes, 1, sram);
    s.group_bytes = group_bytes;
    s.group_stride = 100;
    return s;
  };
  // Two batches of 2 x 9 = 2 x 3 by 3 x 9, one field changed: pitches of 3 lines, batches 10 lines apart.
  const auto product = [](auto isa::Gemm::*field, std::int64_t value) {
    isa::Gemm g;
    g.m = g.batch = 2;
    g.n = 9;
    g.k = 3;
    g.b_base = 1024;
    g.o_base = 2048;
    g.p_base = 4096;
    g.a_pitch = g.b_pitch = g.o_pitch = 3;
    g.a_batch_pitch = g.b_batch_pitch = g.o_batch_pitch = 10;
    g.hi = 1;
    g.per_column = 1;
    g.*field = static_cast<std::decay_t<decltype(g.*field)>>(value);
    return g;
  };
  // Two blocks of 2 x 3 pixels, a table, b; or the average of 2 x 3 pixels.
  const auto vectors = [](auto change, bool average = false) {
    isa::Edp e;
    e.h = average ? 1 : 2;
    e.w = average ? 1 : 3;
    e.c = 5;
    e.in_h = average ? 2 : 0;
    e.in_w = average ? 3 : 0;
    e.mode = average ? isa::EdpMode::global_average : isa::EdpMode::elementwise;
    e.has_b = !average;
    e.hi = 100;
    e.p_base = 8192;
    for (isa::SramTensor* map : {&e.a, &e.b, &e.out}) {
      map->row_pitch = 4;
      map->block_pitch = 16;
    }
    e.b.base = 1024;
    e.out.base = 2048;
    e.stages[0].op = average ? isa::EdpOp::none : isa::EdpOp::add;
    e.stages[0].lo = -1000;
    e.stages[0].hi = 1000;
    if (!average) e.stages[1].op = isa::EdpOp::table;
    e.stages[1].hi = 127;
    e.stages[1].table_base = 4096;
    change(e);
    return e;
  };
  using isa::Edp;
  using isa::Gemm;
  const struct {
    isa::Body body;
    const char* cause;
  } cases[] = {{vectors([](Edp&) {}), ""},
               {vectors([](Edp& e) { e.a.base = kSram - 8 * 22; }), ""},
               {vectors([](Edp& e) { e.a.base = kSram - 8 * 21; }), "sram_range"},
               {vectors([](Edp& e) { e.b.base = kSram - 8 * 21; }), "sram_range"},
               {vectors([](Edp& e) { e.out.base = kSram - 8 * 21; }), "sram_range"},
               {vectors([](Edp& e) { e.out.block_pitch = 0xffffff; }), "sram_range"},
               {vectors([](Edp& e) { e.b.base = 1028; }), "illegal_word"},
               {vectors([](Edp& e) { e.a.row_pitch = 1; }), "illegal_word"},
               {vectors([](Edp& e) { e.out.wrap_rows = 1; }), "illegal_word"},
               {vectors([](Edp& e) { e.out.wrap_rows = e.out.first_row = 2; }), "illegal_word"},
               {vectors([](Edp& e) { e.out.wrap_rows = 3, e.out.first_row = 2; }), ""},
               {vectors([](Edp& e) {
                  e.a = {kSram - 8 * 26, 4, 16, 3, 2};
                }),
                ""},
               {vectors([](Edp& e) {
                  e.a = {kSram - 8 * 25, 4, 16, 3, 2};
                }),
                "sram_range"},
               {vectors([](Edp& e) { e.b_broadcast = 2; }), "illegal_word"},
               {vectors([](Edp& e) { e.has_b = false; }), "illegal_word"},
               {vectors([](Edp& e) { e.b_broadcast = 1, e.b.base = kSram - 8 * 17; }), ""},
               {vectors([](Edp& e) { e.b_broadcast = 1, e.b.base = kSram - 8 * 16; }), "sram_range"},
               {vectors([](Edp& e) { e.stages[0].lo = 1001; }), "illegal_word"},
               {vectors([](Edp& e) { e.stages[1].hi = 128; }), "illegal_word"},
               {vectors([](Edp& e) { e.stages[1].lo = -129; }), "illegal_word"},
               {vectors([](Edp& e) { e.stages[1].op = isa::EdpOp::none; }), "illegal_word"},
               {vectors([](Edp& e) { e.stages[3].op = isa::EdpOp::clip; }), "illegal_word"},
               {vectors([](Edp& e) { e.stages[1].table_base = 4100; }), "illegal_word"},
               {vectors([](Edp& e) { e.stages[1].table_base = kSram - 256; }), ""},
               {vectors([](Edp& e) { e.stages[1].table_base = kSram - 248; }), "sram_range"},
               {vectors([](Edp&) {}, true), ""},
               {vectors([](Edp& e) { e.h = 2; }, true), "illegal_word"},
               {vectors([](Edp& e) { e.in_w = 0; }, true), "illegal_word"},
               {vectors([](Edp& e) { e.hi = 128; }, true), "illegal_word"},
               {vectors([](Edp& e) { e.lo = 101; }, true), "illegal_word"},
               {vectors([](Edp& e) { e.p_base = kSram - 8; }, true), ""},
               {vectors([](Edp& e) { e.p_base = kSram - 7; }, true), "sram_range"},
               {vectors([](Edp& e) { e.in_h = 4000; }, true), "sram_range"},
               {product(&Gemm::a_base, kSram - 8 * 14), ""},
               {product(&Gemm::a_base, kSram - 8 * 13), "sram_range"},
               {product(&Gemm::b_base, kSram - 8 * 18), ""},
               {product(&Gemm::b_base, kSram - 8 * 17), "sram_range"},
               {product(&Gemm::o_base, kSram - 8 * 15), ""},
               {product(&Gemm::o_base, kSram - 8 * 14), "sram_range"},
               {product(&Gemm::p_base, kSram - 12 * 9), ""},
               {product(&Gemm::p_base, kSram - 12 * 9 + 1), "sram_range"},
               {product(&Gemm::a_batch_pitch, kSram / 8 - 4), ""},
               {product(&Gemm::a_batch_pitch, kSram / 8 - 3), "sram_range"},
               {product(&Gemm::a_batch_pitch, (1 << 24) - 1), "sram_range"},
               {product(&Gemm::b_pitch, 1), "illegal_word"},
               {product(&Gemm::b_pitch, 2), ""},
               {product(&Gemm::b_base, 1028), "illegal_word"},
               {product(&Gemm::lo, 2), "illegal_word"},
               {product(&Gemm::lo, -128), ""},
               {product(&Gemm::lo, -129), "illegal_word"},
               {product(&Gemm::hi, 127), ""},
               {product(&Gemm::hi, 128), "illegal_word"},
               {product(&Gemm::hi, -1), "illegal_word"},
               {groups(kSram - 321, 1, 4, 9), ""},
               {groups(kSram - 320, 1, 4, 9), "sram_range"},
               {groups(kSram - 321, 2, 4, 9), ""},
               {groups(kSram - 320, 2, 4, 9), "sram_range"},
               {groups(0, 1, 4, 5), ""},
               {groups(0, 1, 4, 4), "illegal_word"},
               {groups(0, 1, 2, 9), "illegal_word"},
               {groups(0, 3, 3, 9), "illegal_word"},
               {groups(kSram - 221, 3, 0, 9), ""},
               {groups(kSram - 220, 3, 0, 9), "sram_range"},
               {gather(kSram - 105, 10, 5), ""},
               {gather(kSram - 104, 10, 5), "sram_range"},
               {gather(kSram - 101, 10, 9), ""},
               {gather(kSram - 100, 10, 9), "sram_range"},
               {gather(0, 102, 101), "illegal_word"},
               {gather(0, 101, 101), ""},
               {load(16384 - 24, 0, 8, 8), ""},
               {load(16384 - 23, 0, 8, 8), "dram_limit"},
               {load(16, 0, -8, 8), ""},
               {load(15, 0, -8, 8), "dram_limit"},
               {load(0, kSram - 24, 8, 8), ""},
               {load(0, kSram - 23, 8, 8), "sram_range"},
               {load(0, 15, 8, -8), "sram_range"},
               {load(16380, 15, 8, -8), "dram_limit"},
               {store_rows(BufferKind::output, 16384 - 8, 8, 1, kSram - 8), ""},
               {store_rows(BufferKind::output, 16384 - 7, 8, 1, 0), "dram_limit"},
               {store_rows(BufferKind::output, 0, 8, 1, kSram - 7), "sram_range"},
               {copy(kSram - 24, 16, 8, -8), ""},
               {copy(kSram - 16, 16, 8, -8), "sram_range"},
               {fill(kSram - 24, true), ""},
               {fill(kSram - 23, true), "sram_range"},
               {fill(kSram - 24, false), "sram_range"},
               {copy(0, 8, 8, -8), "sram_range"}};
  for (const auto& c : cases) {
    ProgramBuilder builder = with_buffers();
    const QueueId queue = std::holds_alternative<isa::Load>(c.body)    ? QueueId::load
                          : std::holds_alternative<isa::Store>(c.body) ? QueueId::store
                          : std::holds_alternative<isa::Gemm>(c.body)  ? QueueId::gemm
                          : std::holds_alternative<isa::Edp>(c.body)   ? QueueId::edp
                                                                       : QueueId::reorder;
    builder.nop(queue, 20).add(queue, c.body).nop(queue, 3);
    const Failures failures = fail_both(builder.program());
    SCOPED_TRACE(failures.model + " / " + failures.rtl);
    if (*c.cause == 0) {
      EXPECT_EQ(failures.model + failures.rtl, "");
      continue;
    }
    const std::string text = std::string("fault ") + c.cause + ": section main, " + isa::to_string(queue) + " word 1 ";
    EXPECT_EQ(failures.rtl.rfind(text, 0), 0u);
    EXPECT_EQ(failures.model.rfind(std::string("fault ") + c.cause, 0), 0u);
    EXPECT_EQ(last_cycle(failures.model), last_cycle(failures.rtl));
  }
}

TEST(LockstepFailures, WritePointerInsideAnInstruction) {
  ProgramBuilder builder = with_buffers();
  builder.add(QueueId::load, load_rows(BufferKind::input, 0, 8, 1, 0));
  builder.stream(QueueId::load).words.pop_back();
  const Failures failures = fail_both(builder.program());
  EXPECT_NE(failures.rtl.find("fault illegal_word: section main, load word 0"), std::string::npos) << failures.rtl;
  EXPECT_EQ(last_cycle(failures.model), last_cycle(failures.rtl));
}

}  // namespace
}  // namespace tessera::cosim
