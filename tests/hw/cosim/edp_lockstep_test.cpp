// EDP on the RTL against the model and the reference executor: every operation and mode by hand, random instructions
// alone, with all operands in one bank and in several; what the slice refuses.
#include <algorithm>
#include <cctype>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "hw/common/error.hpp"
#include "hw/cosim/lockstep.hpp"
#include "hw/cosim/random_edp.hpp"
#include "hw/cosim/random_fault.hpp"
#include "isa/semantics/layout.hpp"
#include "isa/semantics/legal.hpp"
#include "tests/hw/platform/program_builder.hpp"

namespace tessera::cosim {
namespace {

using isa::BufferKind;
using isa::EdpMode;
using isa::EdpOp;
using platform::test::load_rows;
using platform::test::ProgramBuilder;
using platform::test::QueueId;

isa::ChipConfig tiny() { return isa::load_chip("tiny", {"dram.device=\"fixed\""}); }

/// Data in [0, size), constants behind.
Window window_of(const isa::ChipConfig& chip, std::int64_t size) { return {0, size, size, most_edp_constants(chip)}; }

/// Fills the window, loads the constants, runs the instruction.
isa::Program one_operation(const isa::Edp& edp, const Window& window, std::uint64_t seed) {
  ProgramBuilder builder;
  Random random(seed);
  EdpConstants constants = edp_constants(edp, random, window);
  if (constants.bytes.empty()) constants = {window.constants, {0}};  // a LOAD has a byte
  builder.buffer(BufferKind::input, 65536).buffer(BufferKind::weights, constants.bytes.size());
  builder.add(QueueId::load, load_rows(BufferKind::input, 0, static_cast<std::uint32_t>(window.size), 1,
                                       static_cast<std::uint32_t>(window.begin)));
  builder.add(QueueId::load,
              load_rows(BufferKind::weights, 0, static_cast<std::uint32_t>(constants.bytes.size()), 1,
                        static_cast<std::uint32_t>(constants.at)),
              {{}, {{0, 1}}});
  builder.add(QueueId::edp, edp, {{{0, 1}}, {}});
  isa::Program program = builder.program();
  program.weights = constants.bytes;
  return program;
}

LockstepResult run(const isa::Edp& edp, const isa::ChipConfig& chip, std::int64_t size, std::uint64_t seed) {
  LockstepOptions options;
  options.data_seed = seed;
  options.check_reference = true;
  return run_lockstep(one_operation(edp, window_of(chip, size), seed), chip, chip, options);
}

void expect_equal(const LockstepResult& result) {
  EXPECT_EQ(result.first, "");
  EXPECT_EQ(result.value_differences, 0);
  EXPECT_EQ(result.cycle_differences, 0);
  EXPECT_EQ(result.instructions, 3);
}

/// What a test of random operations wants to have seen.
void count(const isa::Edp& e, std::map<std::string, int>& bins) {
  const auto bin = [&](const std::string& name, bool here) { bins[name] += here ? 1 : 0; };
  std::size_t stages = 0;
  for (; stages < e.stages.size() && e.stages[stages].op != EdpOp::none; ++stages) {
    bin(std::string("op ") + isa::to_string(e.stages[stages].op) + " in stage " + std::to_string(stages), true);
  }
  bin("chain of " + std::to_string(stages), true);
  bin(std::string("mode ") + isa::to_string(e.mode), true);
  const bool window = e.mode == EdpMode::max_pool || e.mode == EdpMode::average_pool;
  bin("b as a", e.has_b && e.b_broadcast == 0);
  bin("b broadcast", e.has_b && e.b_broadcast == 1);
  bin("circular input and output", e.a.wrap_rows != 0 && e.out.wrap_rows != 0);
  bin("in place of a", e.out == e.a);
  bin("in place of b", e.has_b && e.out == e.b);
  bin("partial channels", e.c % 4 != 0);
  bin("several blocks", e.c > 4);
  bin("odd width", e.w % 2 != 0);
  bin("stride", window && e.sx > 1 && e.sy > 1);
  bin("stride beyond the window", window && (e.sx > e.kw || e.sy > e.kh));
  bin("dilation", e.mode == EdpMode::max_pool && e.dx > 1 && e.kw > 1);
  bin("padding", window && e.pad_left > 0 && e.pad_top > 0);
  const bool average = e.mode == EdpMode::average_pool;
  bin("padding counts", average && e.count_include_pad && e.pad_left + e.pad_right > 0);
  bin("padding does not count", average && !e.count_include_pad && e.pad_left + e.pad_right > 0);
  bin("windows of padding alone", average && e.count_include_pad && (e.pad_left >= e.kw || e.pad_top >= e.kh));
}

std::string text(const isa::Edp& e) {
  std::string chain = isa::to_string(e.mode);
  for (const isa::EdpStage& stage : e.stages) chain += std::string(", ") + isa::to_string(stage.op);
  return chain + (e.has_b ? e.b_broadcast == 1 ? "; b broadcast" : "; b" : "");
}

void random_operations(const isa::ChipConfig& chip, std::uint64_t first, std::uint64_t last,
                       std::map<std::string, int>& bins) {
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    // In one bank every port meets every other; across banks few do.
    const std::int64_t size =
        seed % 2 == 0 ? chip.sram.size_bytes - most_edp_constants(chip) : 3 * chip.sram.size_bytes;
    Random random(seed);
    const isa::Edp edp = vector_operation(chip, random, window_of(chip, size));
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + text(edp));
    count(edp, bins);
    expect_equal(run(edp, chip, size, seed));
  }
}

TEST(EdpLockstep, RandomOperations) {
  std::map<std::string, int> bins;
  random_operations(tiny(), 1, 300, bins);
  for (const auto& [name, number] : bins) EXPECT_GE(number, 2) << name;
  EXPECT_EQ(bins.size(), 7u * 4 + 5 + 4 + 15);
}

/// A pooling of a map of c channels at address 0 to one in the second bank, constants in the fourth.
isa::Edp pooling(EdpMode mode, int c, int in_h, int in_w, int kernel) {
  const isa::ChipConfig chip = tiny();
  isa::Edp e;
  e.mode = mode;
  e.c = static_cast<std::uint16_t>(c);
  e.in_h = static_cast<std::uint16_t>(in_h);
  e.in_w = static_cast<std::uint16_t>(in_w);
  e.kh = e.kw = static_cast<std::uint8_t>(kernel);
  e.sy = e.sx = e.dy = e.dx = 1;
  e.h = static_cast<std::uint16_t>(in_h - kernel + 1);
  e.w = static_cast<std::uint16_t>(in_w - kernel + 1);
  if (mode == EdpMode::global_average) e.h = e.w = 1;
  e.a = semantics::dense_tensor(0, semantics::map_layout(c, in_h, in_w, chip));
  e.out = semantics::dense_tensor(chip.sram.size_bytes, semantics::map_layout(c, e.h, e.w, chip));
  e.p_base = static_cast<std::uint32_t>(3 * chip.sram.size_bytes + 5);
  e.lo = -128;
  e.hi = 127;
  return e;
}

TEST(EdpLockstep, LargeWindows) {
  const std::int64_t size = 3 * tiny().sram.size_bytes;
  isa::Edp average =
      pooling(EdpMode::average_pool, 3, 24, 23, 20);  // 400 entries, of which windows at the edge need others
  average.pad_top = average.pad_left = 3;
  expect_equal(run(average, tiny(), size, 1));
  average.count_include_pad = true;
  average.pad_left = 25;  // the first windows hold padding alone
  expect_equal(run(average, tiny(), size, 2));
  isa::Edp maximum = pooling(EdpMode::max_pool, 5, 24, 23, 17);
  maximum.kw = 3;  // far apart, over lines without a needed column
  maximum.dx = 9;
  maximum.w = 5;
  expect_equal(run(maximum, tiny(), size, 3));
  expect_equal(run(pooling(EdpMode::global_average, 6, 31, 29, 1), tiny(), size, 4));
}

std::string refusal(const isa::Edp& edp) {
  try {
    (void)run(edp, tiny(), 4096, 1);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no refusal";
}

TEST(EdpLockstep, RingsHoldTheRowsThatWindowsTouch) {
  // Windows of two taps 8 rows apart, of which the map's 5 rows hold the first alone: rows 0 to 2 in a ring of 3. No
  // window ends inside the map.
  isa::Edp e = pooling(EdpMode::max_pool, 2, 5, 6, 2);
  e.dy = 8;
  e.h = 3;
  e.out = semantics::dense_tensor(tiny().sram.size_bytes, semantics::map_layout(2, e.h, e.w, tiny()));
  e.a.wrap_rows = 3;
  e.a.first_row = 2;
  expect_equal(run(e, tiny(), 3 * tiny().sram.size_bytes, 1));
  // A ring of 2 is one too short, on both sides.
  e.a.wrap_rows = 2;
  e.a.first_row = 0;
  ProgramBuilder builder;
  builder.add(QueueId::edp, e);
  const LockstepResult result = run_lockstep(builder.program(), tiny(), tiny(), {});
  EXPECT_EQ(result.first, "");
  EXPECT_EQ(result.ended_early, 1);
}

/// What a test of faults wants to have seen: the rule that is broken, without its numbers.
std::string rule_of(const std::string& fault) {
  std::string rule;
  for (const char c : fault) {
    if (std::isdigit(static_cast<unsigned char>(c)) == 0 && c != '-') rule += c;
  }
  return rule;
}

TEST(EdpLockstep, PoolingThatFaultsDoesSoInTheSameCycle) {
  const isa::ChipConfig chip = tiny();
  const Window window = window_of(chip, 2 * chip.sram.size_bytes);
  std::map<std::string, int> rules;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    isa::Instruction instruction;
    do {
      instruction.body = vector_operation(chip, random, window);
    } while (std::get<isa::Edp>(instruction.body).mode != EdpMode::max_pool &&
             std::get<isa::Edp>(instruction.body).mode != EdpMode::average_pool);
    const bool range = seed % 3 == 0;
    if (range ? !leave_scratchpad(instruction, chip, random) : !break_field_rule(instruction, chip, random)) continue;
    ++rules[rule_of(semantics::find_fault(instruction, chip, {})->text)];
    ProgramBuilder builder;
    builder.nop(QueueId::edp, 20).add(QueueId::edp, instruction.body).nop(QueueId::edp, 3);
    const LockstepResult result = run_lockstep(builder.program(), chip, chip, {});
    EXPECT_EQ(result.first, "");
    EXPECT_TRUE(result.equal());
    EXPECT_EQ(result.ended_early, 1);
  }
  int holds_none = 0, ranges = 0;
  for (const auto& [rule, number] : rules) {
    if (rule.find("holds no element") != std::string::npos) holds_none += number;
    if (rule.find("outside the SRAM") != std::string::npos) ranges += number;
  }
  EXPECT_GT(holds_none, 60);
  EXPECT_GT(ranges, 60);
  EXPECT_GT(rules.size(), 25u);
}

TEST(EdpLockstep, RefusesByName) {
  const std::string begin = "section 'main', edp instruction 0 (edp): ";
  const std::string end = ": not in the RTL slice";
  // All windows have four elements: entries 4 to 8 are read, but not needed.
  isa::Edp edp = pooling(EdpMode::average_pool, 1, 4, 4, 3);
  edp.in_h = edp.in_w = 2;
  edp.pad_top = edp.pad_left = 1;
  edp.p_base = 65536 - 8 * 8;
  EXPECT_EQ(refusal(edp), begin + "average entries that leave the scratchpad" + end);
  // Rows 2 and 0 of a circular buffer, whose row 3 lies behind the scratchpad.
  edp = pooling(EdpMode::max_pool, 1, 3, 4, 1);
  edp.sy = 2;
  edp.h = 2;
  edp.a.wrap_rows = 4;
  edp.a.first_row = 2;
  edp.a.base = 65536 - 3 * 8 * edp.a.row_pitch;
  EXPECT_EQ(refusal(edp), begin + "a circular map with rows behind the scratchpad that no window reads" + end);
}

}  // namespace
}  // namespace tessera::cosim
