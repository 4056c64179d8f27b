// The fused schedule: values on random graphs at small SRAM sizes, where groups, line buffers and spilled maps occur;
// traffic and predicted cycles beside the layer schedule.
#include <gtest/gtest.h>

#include "compiler/driver/compile.hpp"
#include "hw/common/error.hpp"
#include "random_graph.hpp"
#include "run_program.hpp"

namespace tessera::compiler {
namespace {

using testing::QBuilder;

isa::ChipConfig chip_with(const std::string& name, std::int64_t bank_bytes) {
  return isa::load_chip(name, {"sram.size_bytes=" + std::to_string(bank_bytes)});
}

isa::Program compiled(const QGraph& graph, const isa::ChipConfig& chip, ScheduleKind kind, bool timing_only = false) {
  CompileOptions options;
  options.schedule = kind;
  options.timing_only = timing_only;
  return compile(graph, chip, options).program;
}

/// Smallest to largest: maps of a few KiB against all of the SRAM.
constexpr std::int64_t kBankBytes[] = {512, 1024, 2048, 8192};

TEST(Fused, RandomGraphsComputeTheGraph) {
  int ran = 0;
  for (std::uint64_t seed = 401; seed <= 440; ++seed) {
    const isa::ChipConfig chip = chip_with("tiny", kBankBytes[seed % 4]);
    const QGraph graph = testing::random_graph(seed, 17, seed % 5 == 0 ? 2 : 1);
    try {
      const isa::Program program = compiled(graph, chip, ScheduleKind::fused);
      testing::expect_program_computes(graph, program, chip, testing::random_inputs(graph, seed + 1000), seed);
      ++ran;
    } catch (const UserError& error) {  // what no schedule can hold
      EXPECT_THROW((void)compiled(graph, chip, ScheduleKind::layer), UserError) << error.what();
    }
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(ran, 20);
}

TEST(Fused, MovesAndProductsComputeTheGraph) {
  for (std::uint64_t seed = 501; seed <= 520; ++seed) {
    const isa::ChipConfig chip = chip_with("tiny", kBankBytes[2 + seed % 2]);
    const QGraph graph = testing::random_moves(seed, 13, seed % 4 == 0 ? 2 : 1);
    testing::expect_program_computes(graph, compiled(graph, chip, ScheduleKind::fused), chip,
                                     testing::random_inputs(graph, seed + 1000), seed);
    if (HasFatalFailure()) return;
  }
}

TEST(Fused, IsTheSameTwice) {
  const isa::ChipConfig chip = chip_with("tiny", 1024);
  const QGraph graph = testing::random_graph(7, 17);
  const isa::Program one = compiled(graph, chip, ScheduleKind::fused);
  const isa::Program two = compiled(graph, chip, ScheduleKind::fused);
  ASSERT_EQ(one.sections.size(), two.sections.size());
  for (std::size_t s = 0; s < one.sections.size(); ++s) {
    ASSERT_EQ(one.sections[s].streams.size(), two.sections[s].streams.size());
    for (std::size_t q = 0; q < one.sections[s].streams.size(); ++q) {
      EXPECT_EQ(one.sections[s].streams[q].words, two.sections[s].streams[q].words);
    }
  }
}

TEST(Fused, IsNeverPredictedSlowerThanLayer) {
  for (std::uint64_t seed = 601; seed <= 630; ++seed) {
    const isa::ChipConfig chip = chip_with("tiny", kBankBytes[seed % 4]);
    const QGraph graph = testing::random_graph(seed, 17);
    try {
      const isa::Program layer = compiled(graph, chip, ScheduleKind::layer, true);
      EXPECT_LE(compiled(graph, chip, ScheduleKind::fused, true).predicted.cycles, layer.predicted.cycles) << seed;
    } catch (const UserError&) {  // no layer schedule to compare with
    }
  }
}

}  // namespace
}  // namespace tessera::compiler
