// What a user may force of a schedule: values stay right, the report says what crosses where and why, and each wish
// that cannot be is one clear message.
#include <filesystem>
#include <functional>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "compiler/export/export.hpp"
#include "compiler/ir/builder.hpp"
#include "hw/common/error.hpp"
#include "hw/common/random.hpp"
#include "runtime/session/execute.hpp"
#include "runtime/session/front_end.hpp"

namespace tessera::runtime {
namespace {

using compiler::GraphBuilder;
using compiler::Ints;

constexpr std::int64_t kChannels = 8, kHeight = 12, kWidth = 10;

/// conv1, relu, conv2, conv3, sum (of relu and conv3), pool; the weights of conv3 are a product of constants.
class Wished {
 public:
  Wished() {
    GraphBuilder b("wished");
    b.input("x", {1, kChannels, kHeight, kWidth});
    const auto weight = [&](const char* name, std::uint64_t seed) {
      Random random(seed);
      std::vector<float> values(static_cast<std::size_t>(kChannels * kChannels * 9));
      for (float& v : values) v = static_cast<float>(random.unit() - 0.5);
      return b.constant(name, compiler::float_tensor({kChannels, kChannels, 3, 3}, values));
    };
    const compiler::Attributes pads = {{"pads", Ints{1, 1, 1, 1}}};
    const std::string a = b.node("Relu", {b.node("Conv", {"x", weight("w1", 1)}, pads, "conv1")}, {}, "relu");
    const std::string c = b.node("Conv", {a, weight("w2", 2)}, pads, "conv2");
    const std::string folded =
        b.node("Mul", {weight("w3", 3), b.constant("half", compiler::float_tensor({}, {0.5F}))}, {}, "folded");
    const std::string d = b.node("Conv", {c, folded}, pads, "conv3");
    b.output(b.node("MaxPool", {b.node("Add", {a, d}, {}, "sum")}, {{"kernel_shape", Ints{2, 2}}}, "pool"));
    file_ = std::filesystem::path(testing::TempDir()) / ("tessera_wished" + std::to_string(getpid()) + ".onnx");
    compiler::export_model(b.take(), file_);
    compile.chip = "tiny";
    compile.schedule = "layer";
    model.model = file_.string();
  }
  ~Wished() { std::filesystem::remove(file_); }

  [[nodiscard]] CompiledModel compiled() const { return compile_model(model, compile); }

  void expect_right_values() const {
    const CompiledModel program = compiled();
    RunOptions run;
    run.compare = {"graph", "reference"};
    const Outcome outcome = execute_program(program.program, program.chip, run, [&] { return program.qgraph; });
    for (const auto& [oracle, c] : outcome.compare) EXPECT_TRUE(c.equal) << oracle << ": " << c.first_difference;
    EXPECT_EQ(outcome.compare.size(), 2u);
  }

  void expect_refusal(const std::vector<std::string>& parts) const {
    try {
      (void)compiled();
      FAIL() << "expected an error with '" << parts.front() << "'";
    } catch (const UserError& error) {
      for (const std::string& part : parts) {
        EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
            << "'" << part << "' is not in: " << error.what();
      }
    }
  }

  ModelOptions model;
  CompileOptions compile;

 private:
  std::filesystem::path file_;
};

/// A map of the network as it lies in blocks of 4 channels and lines of 2 pixels.
constexpr Bytes kMapBytes = kChannels * kHeight * kWidth;

TEST(Wishes, ABoundarySendsWhatLivesAcrossThroughDram) {
  for (const char* schedule : {"naive", "layer", "fused"}) {
    Wished w;
    w.compile.schedule = schedule;
    w.compile.boundaries = {"conv2"};
    w.expect_right_values();
    const isa::Program program = w.compiled().program;
    ASSERT_EQ(program.sections.size(), 2u) << schedule;
    EXPECT_EQ(program.sections[0].why, "the network begins");
    EXPECT_EQ(program.sections[0].crossing_bytes, 0);
    EXPECT_EQ(program.sections[1].why, "--boundary conv2");
    EXPECT_EQ(program.sections[1].crossing_bytes, kMapBytes);  // the result of relu
  }
}

TEST(Wishes, ANodeAloneHasTwoBoundaries) {
  Wished w;
  w.compile.alone = {"conv2"};
  w.expect_right_values();
  const isa::Program program = w.compiled().program;
  ASSERT_EQ(program.sections.size(), 3u);
  EXPECT_EQ(program.sections[1].why, "--alone conv2");
  EXPECT_EQ(program.sections[2].why, "behind --alone conv2");
  EXPECT_EQ(program.sections[2].crossing_bytes, 2 * kMapBytes);  // relu is read again by the sum
}

TEST(Wishes, SectionsStandInTheReport) {
  Wished w;
  w.compile.boundaries = {"pool"};
  const CompiledModel compiled = w.compiled();
  const nlohmann::json report = build_estimate(compiled.program, compiled.chip);
  ASSERT_EQ(report.at("sections").size(), 2u);
  EXPECT_EQ(report.at("sections")[1].at("why"), "--boundary pool");
  EXPECT_EQ(report.at("sections")[1].at("crossing_bytes"), kMapBytes);
}

TEST(Wishes, TilesHaveTheirHeight) {
  for (const std::string schedule : {"layer", "fused"}) {
    for (const std::int64_t rows : {1, 5, 12}) {
      Wished w;
      w.compile.schedule = schedule;
      w.compile.tiles = {"conv2=" + std::to_string(rows) + "x10"};
      w.expect_right_values();
      w.model.timing_only = true;
      const PreparedModel prepared = prepare_model(w.model, w.compile);
      for (const compiler::Node& node : schedule_model(prepared, w.model, w.compile).schedule_view.nodes) {
        if (node.name == "conv2") {
          EXPECT_EQ(node.ints_attr("tile_rows", {}), (Ints{rows}));
        }
      }
    }
  }
}

TEST(Wishes, NarrowTilesAreStripsOfTheirGroup) {
  for (const std::int64_t columns : {2, 4, 6, 8}) {
    for (const std::int64_t rows : {1, 5}) {
      Wished w;
      w.compile.schedule = "fused";
      w.compile.tiles = {"conv2=" + std::to_string(rows) + "x" + std::to_string(columns)};
      w.expect_right_values();
      w.model.timing_only = true;
      const PreparedModel prepared = prepare_model(w.model, w.compile);
      for (const compiler::Node& node : schedule_model(prepared, w.model, w.compile).schedule_view.nodes) {
        if (node.name != "conv2") continue;
        EXPECT_EQ(node.ints_attr("tile_rows", {}), (Ints{rows}));
        EXPECT_EQ(node.ints_attr("strips", {}), (Ints{(10 + columns - 1) / columns}));
        EXPECT_GE(node.ints_attr("made_pixels", {}).at(0), kHeight * kWidth);
      }
    }
  }
}

TEST(Wishes, ForStripsThatCannotBeAreRefused) {
  Wished w;
  w.compile.tiles = {"conv2=4x4"};
  w.compile.schedule = "layer";
  w.expect_refusal({"--tile conv2=4x4", "--schedule fused"});
  w.compile.schedule = "fused";
  w.compile.sets = {"sram.size_bytes=64"};
  w.expect_refusal({"--tile conv2=4x4", "sram.size_bytes"});
  w.compile.sets.clear();
  w.compile.tiles = {"conv2=4x4", "conv3=4x2"};
  w.expect_right_values();
}

TEST(Wishes, KeptMapsStayInSram) {
  Wished w;
  w.compile.sets = {"sram.size_bytes=512"};
  w.compile.keep = {"conv1"};
  w.expect_right_values();
}

TEST(Wishes, OfNodesThatDoNotRunAreRefused) {
  for (const char* option : {"--boundary", "--alone", "--keep", "--tile"}) {
    const auto wish = [&](Wished& w, const std::string& node) {
      if (std::string(option) == "--boundary") w.compile.boundaries = {node};
      if (std::string(option) == "--alone") w.compile.alone = {node};
      if (std::string(option) == "--keep") w.compile.keep = {node};
      if (std::string(option) == "--tile") w.compile.tiles = {node + "=1x10"};
    };
    Wished w;
    wish(w, "conv9");
    w.expect_refusal({option, "conv9", "no such node", "conv1"});
    wish(w, "relu");
    w.expect_refusal({option, "relu", "runs inside conv1"});
    wish(w, "sum");
    w.expect_refusal({option, "sum", "runs inside conv3"});
    wish(w, "folded");
    w.expect_refusal({option, "folded", "folded into a constant"});
  }
}

TEST(Wishes, OfTilesThatCannotBeAreRefused) {
  Wished w;
  w.compile.tiles = {"conv2=13x10"};
  w.expect_refusal({"--tile conv2=13x10", "1x10 to 12x10"});
  w.compile.tiles = {"conv2=4x5"};
  w.expect_refusal({"--tile conv2=4x5", "multiples of 2", "all 10"});
  for (const char* text : {"conv2", "conv2=4", "conv2=x10", "conv2=0x10", "=4x10", "conv2=4x10x"}) {
    w.compile.tiles = {text};
    w.expect_refusal({std::string("--tile ") + text, "NODE=HxW"});
  }
  // The tile needs the whole map (960 bytes), half the channels of the result (480) and their weights (288): 1,728.
  w.compile.sets = {"sram.size_bytes=208"};  // 1,664 in eight banks
  w.compile.tiles.clear();
  EXPECT_NO_THROW((void)w.compiled());
  w.compile.tiles = {"conv2=12x10"};
  w.expect_refusal({"--tile conv2=12x10", "does not fit", "sram.size_bytes"});
}

TEST(Wishes, OfMapsThatCannotStayAreRefused) {
  Wished w;
  w.compile.keep = {"conv1"};
  w.compile.boundaries = {"conv2"};
  w.expect_refusal({"--keep conv1", "boundary"});
  w.compile.boundaries.clear();
  w.compile.sets = {"sram.size_bytes=64"};
  w.expect_refusal({"--keep conv1", std::to_string(kMapBytes), "512"});
}

TEST(Wishes, OfFusionNeedAFusedSchedule) {
  Wished w;
  w.compile.fuse_depth = 2;
  w.expect_refusal({"--fuse-depth", "layer", "fused"});
  w.compile.fuse_depth = 0;
  w.compile.effort = 3;
  w.expect_refusal({"--effort", "layer", "fused"});
}

}  // namespace
}  // namespace tessera::runtime
