// EDP on the RTL against the model and the reference executor: every operation and mode by hand, random instructions
// alone, with all operands in one bank and in several; what the slice refuses.
#include <algorithm>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "hw/common/error.hpp"
#include "hw/cosim/lockstep.hpp"
#include "hw/cosim/random_edp.hpp"
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

/// Fills [begin, begin + size), loads the constants behind it, runs the instruction.
isa::Program one_operation(const isa::Edp& edp, const isa::ChipConfig& chip, std::int64_t begin, std::int64_t size,
                           std::uint64_t seed) {
  ProgramBuilder builder;
  Random random(seed);
  std::vector<std::uint8_t> constants = edp_constants(edp, chip, random, begin + size);
  constants.push_back(0);  // never empty
  builder.buffer(BufferKind::input, 65536).buffer(BufferKind::weights, constants.size());
  builder.add(QueueId::load,
              load_rows(BufferKind::input, 0, static_cast<std::uint32_t>(size), 1, static_cast<std::uint32_t>(begin)));
  builder.add(QueueId::load,
              load_rows(BufferKind::weights, 0, static_cast<std::uint32_t>(constants.size()), 1,
                        static_cast<std::uint32_t>(begin + size)),
              {{}, {{0, 1}}});
  builder.add(QueueId::edp, edp, {{{0, 1}}, {}});
  isa::Program program = builder.program();
  program.weights = constants;
  return program;
}

LockstepResult run(const isa::Edp& edp, const isa::ChipConfig& chip, std::int64_t size, std::uint64_t seed) {
  LockstepOptions options;
  options.data_seed = seed;
  options.check_reference = true;
  return run_lockstep(one_operation(edp, chip, 0, size, seed), chip, chip, options);
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
    const isa::Edp edp = vector_operation(chip, random, 0, size, size);
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

}  // namespace
}  // namespace tessera::cosim
