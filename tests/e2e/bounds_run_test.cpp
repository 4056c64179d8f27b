// No run is faster than the bounds, on any chip, schedule or memory; a run that is bound by its stream comes near; and
// more SRAM costs neither cycles nor bytes.
#include <filesystem>

#include <gtest/gtest.h>
#include <unistd.h>

#include "compiler/bounds/bounds.hpp"
#include "compiler/export/export.hpp"
#include "compiler/zoo/zoo.hpp"
#include "runtime/session/execute.hpp"
#include "runtime/session/front_end.hpp"

namespace tessera::runtime {
namespace {

struct Case {
  const char* network;
  const char* chip;
  const char* schedule;
  std::vector<std::string> sets;
};

struct Figures {
  Cycles run = 0, run_ideal_dram = 0;
  Bytes bytes = 0;  // that cross the DRAM's pins, as predicted
  compiler::NetworkBounds bounds;
};

Figures measure(const Case& c) {
  const auto file = std::filesystem::path(testing::TempDir()) /
                    ("tessera_bounds_" + std::string(c.network) + std::to_string(getpid()) + ".onnx");
  compiler::export_model(compiler::zoo_build(c.network, 1), file);
  ModelOptions model;
  model.model = file.string();
  model.timing_only = true;
  CompileOptions compile;
  compile.chip = c.chip;
  compile.schedule = c.schedule;
  compile.sets = c.sets;
  const CompiledModel compiled = compile_model(model, compile);
  std::filesystem::remove(file);
  RunOptions options;
  options.timing_only = true;
  options.ideal = {"dram"};
  const Outcome outcome = execute_program(compiled.program, compiled.chip, options, [&] { return compiled.qgraph; });
  return {outcome.result.cycles, outcome.ideal.at("dram"), compiled.program.predicted.dram_bytes,
          compiler::network_bounds(compiled.qgraph, compiled.chip)};
}

/// What ctest shows; without it the bytes of the case, pointers and all.
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.network << " " << c.chip << " " << c.schedule;
  for (const std::string& set : c.sets) *out << " " << set;
}
std::string name_of(const testing::TestParamInfo<Case>& info) {
  return std::string(info.param.network) + "_" + info.param.chip + "_" + info.param.schedule + "_" +
         std::to_string(info.index);
}

class BoundsOfRuns : public testing::TestWithParam<Case> {};

TEST_P(BoundsOfRuns, NoRunIsFaster) {
  const Figures f = measure(GetParam());
  EXPECT_GT(f.bounds.lookahead_cycles, 0);
  EXPECT_GE(f.run, f.bounds.lookahead_cycles);
  EXPECT_GE(f.run_ideal_dram, f.bounds.lookahead_ideal_dram_cycles);
  Cycles layers = 0;
  for (const compiler::LayerBound& layer : f.bounds.layers) {
    if (layer.unit == "conv") layers = std::max(layers, layer.mapping.cycles);
  }
  EXPECT_GE(f.run, layers);
}

INSTANTIATE_TEST_SUITE_P(
    , BoundsOfRuns,
    testing::Values(Case{"squeezenet", "a1000", "layer", {}}, Case{"squeezenet", "a1000", "auto", {"dram.channels=16"}},
                    Case{"squeezenet", "a1000", "naive", {"dram.channels=1"}}, Case{"squeezenet", "j5", "auto", {}},
                    Case{"squeezenet", "a1000", "auto", {"sram.size_bytes=8192"}},
                    Case{"squeezenet", "a1000", "auto", {"dram.refresh=per_bank", "conv.engines=1"}},
                    Case{"squeezenet", "a1000", "fused", {"sram.size_bytes=16384"}},
                    Case{"mobilenet_v2", "a1000", "auto", {"dram.channels=16"}},
                    Case{"mobilenet_v2", "a1000", "auto", {"dram.device=DDR4-3200", "dram.ecc=in_band"}}),
    name_of);

/// Four channels bind this network; that its units would be busy without them is chosen too.
TEST(BoundsOfRun, MobileNetStaysNearBothBounds) {
  const Figures f = measure({"mobilenet_v2", "a1000", "fused", {}});
  EXPECT_LE(static_cast<double>(f.run), 1.15 * static_cast<double>(f.bounds.lookahead_cycles));
  EXPECT_LE(static_cast<double>(f.run_ideal_dram), 1.25 * static_cast<double>(f.bounds.lookahead_ideal_dram_cycles));
}

/// Larger banks, not more: a buffer then lies in fewer, so that it takes other places for the same cycles.
TEST(BoundsOfRun, MobileNetTakesNoMoreWithMoreSram) {
  Figures before;
  for (const char* bank : {"4096", "16384", "65536", "131072", "262144"}) {
    const Figures now = measure({"mobilenet_v2", "a1000", "fused", {std::string("sram.size_bytes=") + bank}});
    if (before.run > 0) {
      EXPECT_LE(now.run, before.run) << bank;
      EXPECT_LE(now.bytes, before.bytes) << bank;
    }
    before = now;
  }
}

TEST(BoundsOfRun, AStreamBoundRunComesNear) {
  const Figures f = measure({"resnet50", "a1000", "layer", {"dram.channels=1"}});
  EXPECT_EQ(f.bounds.lookahead_limit, "stream");
  EXPECT_LE(static_cast<double>(f.run), 1.15 * static_cast<double>(f.bounds.lookahead_cycles));
}

}  // namespace
}  // namespace tessera::runtime
