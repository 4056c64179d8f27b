// The commands that show, force and price the compiler's choices, as others script against them.
#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "hw/common/file.hpp"
#include "tests/e2e/tessera_command.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class Choices : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = workplace();
    net_ = (dir_ / "net.onnx").string();
    ASSERT_EQ(tessera_command("zoo build squeezenet -o " + net_).code, 0);
  }
  void TearDown() override { fs::remove_all(dir_); }

  /// Name of the first layer on `unit`.
  [[nodiscard]] std::string first_layer(const std::string& unit) const {
    const Answer answer = tessera_command("estimate " + net_ + " --chip a1000 --schedule layer --json");
    const json report = json::parse(answer.text);
    for (const json& layer : report.at("layers")) {
      if (layer.at("unit") == unit) return layer.at("name");
    }
    return "";
  }

  fs::path dir_;
  std::string net_;
};

TEST_F(Choices, PassesAreListedAndSwitchedOff) {
  expect_parts(tessera_command("compile --passes"), 0,
               {"fold-batch-norm", "add-in-drain", "Legal", "before", "behind"});
  expect_parts(tessera_command("estimate " + net_ + " --chip a1000 --no-pass fold-everything"), 2,
               {"--no-pass fold-everything", "fold-pad", "concat-in-place"});
  expect_parts(tessera_command("estimate " + net_ + " --chip a1000 --no-pass concat-in-place"), 0, {"latency"});
  expect_parts(tessera_command("compile"), 2, {"no model", "--passes"});
  expect_parts(tessera_command("compile " + net_ + " --chip a1000"), 2, {"-o DIR"});
}

TEST_F(Choices, BoundsStandBesideThePrediction) {
  const Answer answer = tessera_command("estimate " + net_ + " --chip a1000 --bounds --json");
  ASSERT_EQ(answer.code, 0) << answer.text;
  const json report = json::parse(answer.text);
  const json& bounds = report.at("bounds");
  EXPECT_EQ(bounds.at("schema"), "tessera.bounds/1");
  const json& dram = report.at("dram");
  EXPECT_EQ(
      bounds.at("compulsory_bytes").at("total").get<std::int64_t>(),
      dram.at("compulsory_read_bytes").get<std::int64_t>() + dram.at("compulsory_write_bytes").get<std::int64_t>());
  EXPECT_GE(report.at("cycles").get<std::int64_t>(), bounds.at("lookahead").at("cycles").get<std::int64_t>());
  EXPECT_EQ(bounds.at("layers").size(), report.at("layers").size());
  expect_parts(tessera_command("estimate " + net_ + " --chip a1000 --bounds"), 0,
               {"compulsory bytes", "lookahead bound", "best mapping", "port"});
}

TEST_F(Choices, BatchMakesOneImageMany) {
  const json one = json::parse(tessera_command("estimate " + net_ + " --chip a1000 --bounds --json").text);
  const json four = json::parse(tessera_command("estimate " + net_ + " --chip a1000 --bounds --json --batch 4").text);
  EXPECT_EQ(four.at("batch"), 4);
  EXPECT_EQ(four.at("bounds").at("compulsory_bytes").at("weights"),
            one.at("bounds").at("compulsory_bytes").at("weights"));
  EXPECT_EQ(four.at("bounds").at("compulsory_bytes").at("input").get<std::int64_t>(),
            4 * one.at("bounds").at("compulsory_bytes").at("input").get<std::int64_t>());
}

TEST_F(Choices, ExplainPricesTheOtherChoices) {
  const std::string node = first_layer("conv");
  const Answer answer = tessera_command("explain " + net_ + " '" + node + "' --chip a1000 --schedule fused --json");
  ASSERT_EQ(answer.code, 0) << answer.text;
  const json choices = json::parse(answer.text).at("choices");
  ASSERT_GE(choices.size(), 5u);
  EXPECT_EQ(choices[0].at("choice"), "chosen");
  EXPECT_EQ(choices[0].at("unit"), "conv");
  EXPECT_FALSE(choices[0].at("tile_rows").empty());
  const std::string places = choices[0].at("places").dump();
  for (const char* part : {"reads ", "writes ", "weights: loaded"}) EXPECT_NE(places.find(part), std::string::npos);
  for (const json& choice : choices) {
    if (choice.contains("refused")) continue;
    EXPECT_GT(choice.at("predicted").at("cycles").get<std::int64_t>(), 0);
    EXPECT_GT(choice.at("predicted").at("dram_bytes").get<std::int64_t>(), 0);
  }
  expect_parts(tessera_command("explain " + net_ + " '" + node + "' --chip a1000"), 0,
               {"--fuse-depth 1", "tile", "group"});
  expect_parts(tessera_command("explain " + net_ + " nosuchnode --chip a1000"), 2, {"nosuchnode", "tessera check"});
}

TEST_F(Choices, WishesThatCannotBeAreRefused) {
  for (const char* wish : {"--boundary nosuch", "--alone nosuch", "--keep nosuch", "--tile nosuch=1x1"}) {
    expect_parts(
        tessera_command("compile " + net_ + " --chip a1000 --timing-only -o " + (dir_ / "p").string() + " " + wish), 2,
        {wish, "no such node"});
    EXPECT_FALSE(fs::exists(dir_ / "p"));
  }
  expect_parts(tessera_command("estimate " + net_ + " --chip a1000 --schedule naive --fuse-depth 2"), 2,
               {"--fuse-depth"});
  expect_parts(tessera_command("estimate " + net_ + " --chip a1000 --effort 4"), 2, {"--effort"});
}

}  // namespace
}  // namespace tessera
