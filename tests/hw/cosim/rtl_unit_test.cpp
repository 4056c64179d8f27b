// A unit in RTL inside the model: the same run as with the model's unit, bytes and cycles.
#include "hw/cosim/rtl_unit.hpp"

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "hw/common/error.hpp"
#include "hw/common/random.hpp"
#include "hw/cosim/random_program.hpp"
#include "hw/platform/platform.hpp"

namespace tessera::cosim {
namespace {

struct Ran {
  hw::RunResult result;
  std::vector<std::uint8_t> sram;
  std::vector<std::uint8_t> output;
};

Ran run(const isa::Program& program, const isa::ChipConfig& chip, platform::ForeignUnits* units) {
  const platform::DramLayout layout = platform::place_program(program, chip);
  hw::DramStorage dram;
  platform::load_program(program, layout, dram);
  Random random(5);
  for (const isa::Buffer& buffer : program.buffers) {
    if (buffer.kind != isa::BufferKind::input && buffer.kind != isa::BufferKind::scratch) continue;
    std::vector<std::uint8_t> bytes(buffer.size);
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random.below(256));
    dram.write(layout.address(buffer), bytes.data(), bytes.size());
  }
  Ran ran;
  platform::RunOptions options;
  options.foreign_units = units;
  options.end_run = [&](int, const std::vector<std::uint8_t>& sram) { ran.sram = sram; };
  ran.result = platform::run_program(program, chip, layout, dram, options);
  for (const isa::Buffer& buffer : program.buffers) {
    if (buffer.kind != isa::BufferKind::output) continue;
    ran.output.resize(buffer.size);
    dram.read(layout.address(buffer), ran.output.data(), ran.output.size());
  }
  return ran;
}

/// Random programs with these units in RTL, and without.
void expect_equal_runs(const std::vector<std::string>& names, const std::vector<std::string>& sets = {}) {
  ::setenv("TESSERA_RTL_CACHE", TESSERA_TEST_RTL_CACHE, 1);
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::vector<std::string> all_sets = random_memory(seed);
    all_sets.insert(all_sets.end(), sets.begin(), sets.end());
    const isa::ChipConfig chip = isa::load_chip("tiny", all_sets);
    const isa::Program program = random_program(chip, seed, 40);
    RtlUnits units(chip, names);
    const Ran model = run(program, chip, nullptr), rtl = run(program, chip, &units);
    EXPECT_EQ(model.result.cycles, rtl.result.cycles);
    EXPECT_TRUE(model.sram == rtl.sram);
    EXPECT_TRUE(model.output == rtl.output);
    ASSERT_EQ(model.result.instructions.size(), rtl.result.instructions.size());
    for (std::size_t i = 0; i < model.result.instructions.size(); ++i) {
      ASSERT_EQ(model.result.instructions[i].finish, rtl.result.instructions[i].finish);
      ASSERT_EQ(model.result.instructions[i].stall, rtl.result.instructions[i].stall);
    }
    for (std::size_t u = 0; u < model.result.units.size(); ++u) {
      EXPECT_EQ(model.result.units[u].account.busy, rtl.result.units[u].account.busy) << model.result.units[u].name;
      EXPECT_EQ(model.result.units[u].account.stall, rtl.result.units[u].account.stall);
      EXPECT_EQ(model.result.units[u].macs_issued, rtl.result.units[u].macs_issued);
    }
  }
}

TEST(RtlUnit, Conv0RunsAsTheModelsDoes) { expect_equal_runs({"conv0"}); }
TEST(RtlUnit, GemmEdpAndReorderTogether) { expect_equal_runs({"gemm", "edp", "reorder"}); }

// The second engine in RTL beside the first in the model, and both in RTL.
TEST(RtlUnit, Conv1OfTwoEngines) {
  expect_equal_runs({"conv1"}, {"conv.engines=2"});
  expect_equal_runs({"conv0", "conv1"}, {"conv.engines=2"});
  const isa::ChipConfig chip = isa::load_chip("tiny", {"conv.engines=2"});
  RtlUnits units(chip, {"conv1"});
  EXPECT_TRUE(units.has(static_cast<int>(isa::QueueId::conv1)));
  EXPECT_FALSE(units.has(static_cast<int>(isa::QueueId::conv0)));
}

std::string refusal(const std::string& name) {
  try {
    const isa::ChipConfig chip = isa::load_chip("tiny", {});
    (void)RtlUnits(chip, {name});
  } catch (const UserError& error) {
    return error.what();
  }
  return "no refusal";
}

TEST(RtlUnit, RefusesByName) {
  EXPECT_EQ(refusal("dsp"), "--rtl-unit dsp: has no RTL; legal: conv0, gemm, edp, reorder");
  EXPECT_EQ(refusal("conv1"), "--rtl-unit conv1: has no RTL; legal: conv0, gemm, edp, reorder");  // of one engine
  EXPECT_EQ(refusal("load"),
            "--rtl-unit load: LOAD and STORE are in RTL with the whole core only (--backend rtl); legal: conv0, gemm, "
            "edp, reorder");
}

}  // namespace
}  // namespace tessera::cosim
