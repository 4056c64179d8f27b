// Where the verilated core of a chip comes from: the build tree, the cache, or a build on first use; and what is said
// when that fails. A stand-in for build_core.py keeps Verilator out of the tests.
#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "hw/common/error.hpp"
#include "hw/common/file.hpp"
#include "hw/cosim/core_library_cache.hpp"
#include "hw/cosim/verilated_core.hpp"
#include "isa/isa.hpp"

namespace tessera::cosim {
namespace {

namespace fs = std::filesystem;

class CoreLibrary : public ::testing::Test {
 protected:
  CoreLibrary() : folder_(fs::temp_directory_path() / ("tessera_core_library_" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
    ::setenv("TESSERA_RTL_CACHE", (folder_ / "cache").c_str(), 1);
    ::unsetenv("TESSERA_RTL_ROOT");
  }
  ~CoreLibrary() override {
    ::unsetenv("TESSERA_RTL_CACHE");
    ::unsetenv("TESSERA_RTL_ROOT");
    fs::remove_all(folder_);
  }

  /// A source tree whose build_core.py is `script`.
  void use_tree(const std::string& script) {
    const fs::path root = folder_ / "tree";
    for (const char* file : {"hw/rtl/files.f", "hw/rtl/generate_chip_package.py", "hw/rtl/lint_waivers.vlt",
                             "hw/cosim/build_core.py", "hw/cosim/core_api.hpp", "hw/cosim/core_library.cpp",
                             "hw/cosim/observe.vlt", "hw/cosim/unit_api.hpp", "hw/cosim/tessera_unit_bench.sv",
                             "hw/cosim/unit_library.cpp", "hw/cosim/verilated_pins.hpp", "isa/isa.json"}) {
      fs::create_directories((root / file).parent_path());
      write_file(root / file, "");
    }
    write_file(root / "hw/cosim/build_core.py", script);
    ::setenv("TESSERA_RTL_ROOT", root.c_str(), 1);
  }
  static std::string refusal(const isa::ChipConfig& chip) {
    try {
      (void)core_library(chip);
    } catch (const UserError& error) {
      return error.what();
    }
    return "no refusal";
  }

  fs::path folder_;
};

TEST_F(CoreLibrary, TheBuildTreeHasTinyAndItRuns) {
  const isa::ChipConfig chip = isa::load_chip("tiny", {});
  const CoreApi& api = core_library(chip);
  EXPECT_EQ(api.shape, rtl_shape(chip));
  EXPECT_FALSE(fs::exists(folder_ / "cache"));
  VerilatedCore core(chip);
  EXPECT_EQ(core.read_register(isa::registers::kId), isa::registers::kIdReset);
  EXPECT_EQ(core.sram(), std::vector<std::uint8_t>(65536, 0));
  EXPECT_EQ(core.failure(), "");
}

TEST_F(CoreLibrary, TheShapeIsWhatTheRtlSees) {
  const isa::ChipConfig tiny = isa::load_chip("tiny", {});
  EXPECT_NE(rtl_shape(tiny).find("sram.banks=8\n"), std::string::npos);
  EXPECT_EQ(rtl_shape(tiny), rtl_shape(isa::load_chip("tiny", {"dram.channels=2", "clock_hz=700000000"})));
  EXPECT_NE(rtl_shape(tiny), rtl_shape(isa::load_chip("tiny", {"sram.read_latency=3"})));
}

TEST_F(CoreLibrary, AFailedAssertionIsAText) {
  VerilatedCore core(isa::load_chip("tiny", {}));
  CoreInputs in;
  in.valid[0] = true;  // an R beat for FETCH, which asked for none
  (void)core.eval(in);
  core.edge();
  EXPECT_EQ(core.failure().rfind("RTL assertion at tessera_cp.sv:", 0), 0u) << core.failure();
}

TEST_F(CoreLibrary, AnotherShapeIsBuiltOnceIntoTheCache) {
  // The stand-in makes a library that is none.
  use_tree("import sys\nopen(sys.argv[2], 'w').write(open(sys.argv[1]).read())\n");
  const isa::ChipConfig chip = isa::load_chip("tiny", {"sram.read_latency=5"});
  EXPECT_NE(refusal(chip).find("cannot be loaded"), std::string::npos) << refusal(chip);
  std::vector<fs::path> files(fs::directory_iterator(folder_ / "cache"), fs::directory_iterator{});
  ASSERT_EQ(files.size(), 1u);  // and no file in the making
  EXPECT_EQ(read_file(files[0]), rtl_shape(chip));
  // Sources are part of the name: a change builds again.
  write_file(folder_ / "tree/isa/isa.json", "changed");
  (void)refusal(chip);
  files.assign(fs::directory_iterator(folder_ / "cache"), fs::directory_iterator{});
  EXPECT_EQ(files.size(), 2u);
}

TEST_F(CoreLibrary, SaysWhyItCannotBeBuilt) {
  const isa::ChipConfig chip = isa::load_chip("tiny", {"sram.read_latency=5"});
  use_tree("import sys\nsys.exit('verilator: not found')\n");
  EXPECT_EQ(refusal(chip), "the RTL of chip 'tiny' cannot be built: verilator: not found\n");
  ::setenv("TESSERA_RTL_ROOT", "/nowhere", 1);
  EXPECT_EQ(refusal(chip),
            "the RTL of chip 'tiny' is not built, and its sources are not in /nowhere ($TESSERA_RTL_ROOT names another "
            "source tree)");
}

}  // namespace
}  // namespace tessera::cosim
