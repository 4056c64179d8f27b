// The fused schedule: values on random graphs at small SRAM sizes, where groups, line buffers and spilled maps occur;
// traffic and predicted cycles beside the layer schedule.
#include <algorithm>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "compiler/driver/compile.hpp"
#include "compiler/emit/emit.hpp"
#include "compiler/schedule/scheduler.hpp"
#include "hw/common/error.hpp"
#include "random_graph.hpp"
#include "run_program.hpp"

namespace tessera::compiler {
namespace {

using testing::QBuilder;

isa::ChipConfig chip_with(const std::string& name, std::int64_t bank_bytes, int engines = 1) {
  return isa::load_chip(name,
                        {"sram.size_bytes=" + std::to_string(bank_bytes), "conv.engines=" + std::to_string(engines)});
}

isa::Program compiled(const QGraph& graph, const isa::ChipConfig& chip, ScheduleKind kind, bool timing_only = false) {
  CompileOptions options;
  options.schedule = kind;
  options.timing_only = timing_only;
  return compile(graph, chip, options).program;
}

/// Smallest to largest: maps of a few KiB against all of the SRAM.
constexpr std::int64_t kBankBytes[] = {512, 1024, 2048, 8192};

/// How many random graphs: a share here, 500 by scripts/fused_seeds.sh.
std::uint64_t seeds() {
  const char* text = std::getenv("TESSERA_FUSED_SEEDS");
  return text == nullptr ? 40 : std::stoull(text);
}

TEST(Fused, RandomGraphsComputeTheGraphOnEverySchedule) {
  std::uint64_t ran = 0, with_groups = 0;
  for (std::uint64_t seed = 401; seed <= 400 + seeds(); ++seed) {
    const isa::ChipConfig chip = chip_with("tiny", kBankBytes[seed % 4]);
    const QGraph graph = testing::random_graph(seed, 17, seed % 5 == 0 ? 2 : 1);
    bool layer_fits = true;
    for (const ScheduleKind kind : {ScheduleKind::layer, ScheduleKind::naive, ScheduleKind::fused}) {
      try {
        const isa::Program program = compiled(graph, chip, kind);
        testing::expect_program_computes(graph, program, chip, testing::random_inputs(graph, seed + 1000), seed);
        ran += kind == ScheduleKind::fused ? 1 : 0;
        with_groups += program.groups.size() < program.layers.size() ? 1 : 0;
      } catch (const UserError& error) {  // what this SRAM cannot hold; what it can layer by layer, it can fused
        if (kind == ScheduleKind::layer) layer_fits = false;
        EXPECT_FALSE(layer_fits) << error.what();
      }
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(ran, seeds() / 2);
  EXPECT_GT(with_groups, seeds() / 4);
}

/// Rows of maps stay wherever they find room, whether or not the driver would want it.
TEST(Fused, RandomGraphsWithRowsThatStayComputeTheGraph) {
  std::uint64_t ran = 0, with_rows = 0;
  for (std::uint64_t seed = 801; seed <= 800 + seeds(); ++seed) {
    const isa::ChipConfig chip = chip_with("tiny", 128 << seed % 4, seed % 3 == 0 ? 2 : 1);
    const QGraph graph = testing::random_graph(seed, 17, seed % 5 == 0 ? 2 : 1);
    for (const bool fused : {false, true}) {
      ScheduleOptions options;
      options.fused = fused;
      options.rows_stay = RowsStay::if_fewer_bytes;
      try {
        const Schedule schedule = make_schedule(graph, chip, options);
        with_rows += std::any_of(schedule.notes.begin(), schedule.notes.end(),
                                 [](const LayerNote& note) { return note.kept_rows > 0; })
                         ? 1
                         : 0;
        testing::expect_program_computes(graph, emit(schedule, chip, {}), chip,
                                         testing::random_inputs(graph, seed + 1000), seed);
        ++ran;
      } catch (const UserError&) {  // what this SRAM cannot hold
      }
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(ran, seeds() / 2);
  EXPECT_GT(with_rows, seeds() / 20);
}

TEST(Fused, ImagesOfABatchComputeTheGraphOnTwoEngines) {
  std::uint64_t ran = 0, with_groups = 0;
  for (std::uint64_t seed = 701; seed <= 700 + seeds(); ++seed) {
    const isa::ChipConfig chip = chip_with("tiny", kBankBytes[seed % 4], 2);
    const QGraph graph = testing::random_graph(seed, 13, 2 + static_cast<std::int64_t>(seed % 3));
    for (const ScheduleKind kind : {ScheduleKind::layer, ScheduleKind::fused}) {
      try {
        const isa::Program program = compiled(graph, chip, kind);
        testing::expect_program_computes(graph, program, chip, testing::random_inputs(graph, seed + 1000), seed);
        ++ran;
        with_groups += program.groups.size() < program.layers.size() ? 1 : 0;
      } catch (const UserError&) {  // what this SRAM cannot hold
      }
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(ran, seeds());
  EXPECT_GT(with_groups, seeds() / 4);
}

TEST(Fused, ForcedStripsComputeTheGraph) {
  std::uint64_t ran = 0, in_strips = 0;
  for (std::uint64_t seed = 801; seed <= 800 + seeds(); ++seed) {
    const char* names[] = {"tiny", "micro", "a1000"};
    const std::string name = names[seed % 3];
    const isa::ChipConfig chip = name == "tiny" ? chip_with(name, kBankBytes[seed / 3 % 4]) : isa::load_chip(name);
    const QGraph graph = testing::random_graph(seed, 23);
    CompileOptions options;
    options.fusion.strips = 2 + static_cast<std::int64_t>(seed % 5);
    try {
      const Compiled made = compile(graph, chip, options);
      testing::expect_program_computes(graph, made.program, chip, testing::random_inputs(graph, seed + 1000), seed);
      ++ran;
      in_strips += std::any_of(made.schedule_view.nodes.begin(), made.schedule_view.nodes.end(), [](const Node& node) {
        const std::vector<std::int64_t> strips = node.ints_attr("strips", {});
        return !strips.empty() && strips.front() > 1;
      });
    } catch (const UserError&) {  // what this SRAM cannot hold
    }
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(ran, seeds() / 2);
  EXPECT_GT(in_strips, seeds() / 4);
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
