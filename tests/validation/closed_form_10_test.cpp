// Closed form 10: 1x7 (side pads 3) then 7x1 on 17x11, 16 to 24 channels. Swapping H and W of map and kernels changes
// neither MACs nor DRAM bytes of input, weights and output.
#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "compiler/export/export.hpp"
#include "compiler/ir/builder.hpp"
#include "runtime/session/execute.hpp"
#include "runtime/session/front_end.hpp"

namespace tessera::runtime {
namespace {

using compiler::Ints;

std::string write_model(bool swapped) {
  const auto pick = [swapped](std::int64_t a, std::int64_t b) { return swapped ? Ints{b, a} : Ints{a, b}; };
  const auto pads = [swapped](std::int64_t y, std::int64_t x) { return swapped ? Ints{x, y, x, y} : Ints{y, x, y, x}; };
  const Ints map = pick(17, 11), first = pick(1, 7), second = pick(7, 1);
  compiler::GraphBuilder builder("cross");
  const std::string x = builder.input("x", {1, 16, map[0], map[1]});
  const auto weights = [](std::int64_t o, std::int64_t i, const Ints& kernel) {
    return compiler::float_tensor({o, i, kernel[0], kernel[1]},
                                  std::vector<float>(static_cast<std::size_t>(o * i * 7), 0.01F));
  };
  builder.constant("w1", weights(24, 16, first));
  builder.constant("w2", weights(24, 24, second));
  const std::string a = builder.node("Conv", {x, "w1"}, {{"pads", pads(0, 3)}, {"kernel_shape", first}}, "row");
  const std::string b = builder.node("Conv", {a, "w2"}, {{"pads", pads(0, 0)}, {"kernel_shape", second}}, "column");
  builder.output(b);
  const auto path = std::filesystem::path(testing::TempDir()) /
                    (std::string(swapped ? "cross_swapped" : "cross") + std::to_string(getpid()) + ".onnx");
  compiler::export_model(builder.take(), path);
  return path.string();
}

nlohmann::json report_of(const std::string& model, const std::string& chip) {
  ModelOptions m;
  m.model = model;
  CompileOptions c;
  c.chip = chip;
  const CompiledModel compiled = compile_model(m, c);
  RunOptions options;
  options.compare = {"graph", "reference"};
  const Outcome outcome = execute_program(compiled.program, compiled.chip, options, [&] { return compiled.qgraph; });
  EXPECT_TRUE(outcome.compare.at("graph").equal);
  EXPECT_TRUE(outcome.compare.at("reference").equal);
  return build_report({compiled.program, compiled.chip, outcome.result});
}

class ClosedForm10 : public testing::TestWithParam<const char*> {};

TEST_P(ClosedForm10, SwappingHeightAndWidthChangesNeitherMacsNorBytes) {
  const nlohmann::json upright = report_of(write_model(false), GetParam());
  const nlohmann::json swapped = report_of(write_model(true), GetParam());
  // 17 x 11 out of 1x7 with side pads 3; 11 x 11 out of 7x1 without.
  const std::int64_t macs = std::int64_t{17} * 11 * 24 * 16 * 7 + std::int64_t{11} * 11 * 24 * 24 * 7;
  EXPECT_EQ(upright.at("macs").at("useful"), macs);
  EXPECT_EQ(swapped.at("macs").at("useful"), macs);
  for (const char* kind : {"input", "weights", "output"}) {
    EXPECT_EQ(upright.at("dram").at("by_kind").at(kind), swapped.at("dram").at("by_kind").at(kind)) << kind;
  }
  EXPECT_EQ(upright.at("dram").at("by_kind").at("input"), 16 * 17 * 11);
  EXPECT_EQ(upright.at("dram").at("by_kind").at("weights"), 24 * 16 * 7 + 24 * 24 * 7);
  EXPECT_EQ(upright.at("dram").at("by_kind").at("output"), 24 * 11 * 11);
}

INSTANTIATE_TEST_SUITE_P(Chips, ClosedForm10, testing::Values("tiny", "a1000"),
                         [](const auto& param) { return std::string(param.param); });

}  // namespace
}  // namespace tessera::runtime
