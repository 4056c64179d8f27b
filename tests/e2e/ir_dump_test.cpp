// Every stage's dump is a file that ONNX's own loader and checker take, and the last one says where each layer runs.
#include <filesystem>

#include <gtest/gtest.h>
#include <unistd.h>

#include "compiler/export/export.hpp"
#include "compiler/import/import.hpp"
#include "compiler/zoo/zoo.hpp"
#include "hw/common/file.hpp"
#include "runtime/session/front_end.hpp"

namespace tessera::runtime {
namespace {

namespace fs = std::filesystem;

TEST(IrDump, LoadsInOnnxAndNamesUnitTileGroupAndAddress) {
  const fs::path dir = fs::path(testing::TempDir()) / ("tessera_ir" + std::to_string(getpid()));
  fs::create_directories(dir);
  compiler::export_model(compiler::zoo_build("squeezenet", 1), dir / "net.onnx");
  ModelOptions model;
  model.model = (dir / "net.onnx").string();
  model.timing_only = true;
  CompileOptions compile;
  compile.chip = "a1000";
  (void)compile_model(model, compile, dir / "ir");
  int stages = 0;
  for (const auto& entry : fs::directory_iterator(dir / "ir")) {
    ++stages;
    EXPECT_EQ(compiler::check_exported(read_file(entry.path())), "") << entry.path();
  }
  EXPECT_EQ(stages, 4);
  const compiler::Graph scheduled = compiler::import_model(dir / "ir" / "04-scheduled.onnx");
  int convolutions = 0;
  for (const compiler::Node& node : scheduled.nodes) {
    if (node.op != "conv") continue;
    ++convolutions;
    EXPECT_EQ(node.domain, "tessera");
    EXPECT_EQ(node.string_attr("unit", ""), "conv") << node.name;
    EXPECT_FALSE(node.string_attr("group_name", "").empty()) << node.name;
    for (const char* key : {"tile_rows", "tile_channels", "output_sram_address", "estimated_cycles"}) {
      EXPECT_EQ(node.ints_attr(key, {}).size(), 1u) << node.name << " " << key;
    }
    EXPECT_GE(node.int_attr("group", -1), 0) << node.name;
  }
  EXPECT_EQ(convolutions, 26);
  fs::remove_all(dir);
}

}  // namespace
}  // namespace tessera::runtime
