// GEMM on the RTL against the model and the reference executor: random products alone, with all ports on one bank and
// on several. Ranges and fields: lockstep_test.cpp.
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "hw/cosim/lockstep.hpp"
#include "hw/cosim/random_gemm.hpp"
#include "hw/cosim/random_operands.hpp"
#include "tests/hw/platform/program_builder.hpp"

namespace tessera::cosim {
namespace {

using isa::BufferKind;
using platform::test::load_rows;
using platform::test::ProgramBuilder;
using platform::test::QueueId;

isa::ChipConfig tiny() { return isa::load_chip("tiny", {"dram.device=\"fixed\""}); }

/// Fills [begin, begin + size + room for parameters), loads the parameters, multiplies.
isa::Program one_product(const isa::Gemm& gemm, std::int64_t begin, std::int64_t size, std::uint64_t seed) {
  ProgramBuilder builder;
  std::vector<std::uint8_t> params;
  Random random(seed);
  append_params(gemm.n, false, random, params);
  builder.buffer(BufferKind::input, 65536).buffer(BufferKind::weights, params.size());
  builder.add(QueueId::load,
              load_rows(BufferKind::input, 0, static_cast<std::uint32_t>(size), 1, static_cast<std::uint32_t>(begin)));
  builder.add(QueueId::load,
              load_rows(BufferKind::weights, 0, static_cast<std::uint32_t>(params.size()), 1, gemm.p_base),
              {{}, {{0, 1}}});
  builder.add(QueueId::gemm, gemm, {{{0, 1}}, {}});
  isa::Program program = builder.program();
  program.weights = params;
  return program;
}

/// What a test of products wants to have seen.
void count(const isa::Gemm& g, const isa::ChipConfig& chip, std::map<std::string, int>& bins) {
  const auto bin = [&](const char* name, bool here) { bins[name] += here ? 1 : 0; };
  const std::int64_t rows = chip.gemm.rows, cols = chip.gemm.cols;
  const bool weight = g.dataflow == isa::GemmDataflow::weight_stationary;
  const std::string dataflow = weight ? "weight-stationary" : "output-stationary";
  const std::string transposes = std::string(g.trans_a ? ", A transposed" : "") + (g.trans_b ? ", B transposed" : "");
  ++bins[dataflow + transposes];
  ++bins[dataflow + (g.per_column ? ", per column" : ", one scale")];
  bin("several M chunks", weight && g.m > chip.gemm.accumulator_rows);
  bin("several k tiles", weight && g.k > rows);
  bin("several k tiles and n tiles", weight && g.k > rows && g.n > cols);
  bin("several m tiles", !weight && g.m > rows);
  bin("several m tiles and n tiles", !weight && g.m > rows && g.n > cols);
  bin("partial k tile", weight && g.k % rows != 0);
  bin("partial n tile", g.n % cols != 0);
  bin("partial m tile", !weight && g.m % rows != 0);
  bin("batches", g.batch > 1);
  bin("batches of one source", g.batch > 1 && (g.a_batch_pitch == 0 || g.b_batch_pitch == 0));
  bin("zero points", g.a_zp != 0 && g.b_zp != 0);
  bin("clamps", g.lo > -128 && g.hi < 127);
  bin("fewer steps than the array has rows, weight-stationary", weight && g.m < rows && g.n > cols);
  bin("fewer steps than the array has rows, output-stationary", !weight && g.k < rows && g.n > cols);
  bin("parameters off their line", g.per_column && g.p_base % chip.sram.line_bytes != 0);
}

TEST(GemmLockstep, RandomProducts) {
  const isa::ChipConfig chip = tiny();
  std::map<std::string, int> bins;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    // In one bank every port meets every other; across banks few do.
    const std::int64_t size = seed % 2 == 0 ? chip.sram.size_bytes - 512 : 3 * chip.sram.size_bytes;
    Random random(seed);
    const isa::Gemm gemm = matrix_product(chip, random, {0, size, size, 512});
    count(gemm, chip, bins);
    LockstepOptions options;
    options.data_seed = seed;
    options.check_reference = true;
    const LockstepResult result = run_lockstep(one_product(gemm, 0, size, seed), chip, chip, options);
    EXPECT_EQ(result.first, "");
    EXPECT_EQ(result.value_differences, 0);
    EXPECT_EQ(result.cycle_differences, 0);
    EXPECT_EQ(result.instructions, 3);
  }
  for (const auto& [name, number] : bins) EXPECT_GE(number, 5) << name;
  EXPECT_EQ(bins.size(), 8 + 4 + 15);
}

}  // namespace
}  // namespace tessera::cosim
