// The command as others script against it: exit codes, one message that says where and what is legal, nothing left
// behind, and JSON that two runs write alike.
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "hw/common/file.hpp"
#include "tests/e2e/tessera_command.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;

std::string data(const char* name) { return std::string(TESSERA_TEST_DATA) + "/" + name; }

TEST(Command, AStuckProgramNamesTheWaitForCycle) {
  const fs::path dir = workplace();
  ASSERT_EQ(tessera_command("asm " + data("stuck.s") + " --chip tiny -o " + (dir / "p").string()).code, 0);
  for (const char* backend : {"tlm", "reference"}) {
    expect_parts(tessera_command("run " + (dir / "p").string() + " --timing-only --backend " + backend), 3,
                 {"edp", "reorder", "semaphore 1", "semaphore 2"});
  }
}

TEST(Command, ARaceIsNamedByBothInstructions) {
  const fs::path dir = workplace();
  ASSERT_EQ(tessera_command("asm " + data("race.s") + " --chip tiny -o " + (dir / "p").string()).code, 0);
  expect_parts(tessera_command("run " + (dir / "p").string() + " --backend reference"), 3,
               {"race", "load", "reorder", "0x20"});
}

TEST(Command, AFaultHaltsWithItsCause) {
  const fs::path dir = workplace();
  ASSERT_EQ(tessera_command("asm " + data("fault.s") + " --chip tiny -o " + (dir / "p").string()).code, 0);
  expect_parts(tessera_command("run " + (dir / "p").string()), 3, {"load", "dram_limit"});
}

TEST(Command, WrongChipKeysSayWhatIsLegal) {
  expect_parts(tessera_command("chip show tiny --set conv.window_byte=3"), 2, {"conv.window_byte", "window_bytes"});
  expect_parts(tessera_command("chip show tiny --set sram.banks=65"), 2, {"sram.banks", "[1, 64]"});
  expect_parts(tessera_command("chip show nochip"), 2, {"nochip", "a1000", "tiny"});
  const fs::path dir = workplace();
  nlohmann::json chip = nlohmann::json::parse(tessera_command("chip show tiny").text);
  chip["gemm"]["rows"] = "eight";
  std::ofstream(dir / "bad.json") << chip.dump();
  expect_parts(tessera_command("chip check " + (dir / "bad.json").string()), 2, {"bad.json", "/gemm/rows"});
}

TEST(Command, BrokenModelsLeaveNothingBehind) {
  const fs::path dir = workplace();
  ASSERT_EQ(tessera_command("zoo build squeezenet -o " + (dir / "net.onnx").string()).code, 0);
  const std::string whole = read_file(dir / "net.onnx");
  std::ofstream(dir / "cut.onnx", std::ios::binary) << whole.substr(0, whole.size() / 2);
  expect_parts(tessera_command("compile " + (dir / "cut.onnx").string() + " --chip tiny -o " + (dir / "p").string()), 2,
               {"cut.onnx"});
  std::set<std::string> left;
  for (const auto& entry : fs::directory_iterator(dir)) left.insert(entry.path().filename());
  EXPECT_EQ(left, (std::set<std::string>{"cut.onnx", "net.onnx"}));
}

TEST(Command, ProgramsRefuseAnotherArchitectureAndMissingWeights) {
  const fs::path dir = workplace();
  const std::string program = (dir / "p").string();
  ASSERT_EQ(tessera_command("zoo build squeezenet -o " + (dir / "net.onnx").string()).code, 0);
  const Answer compiled = tessera_command("compile " + (dir / "net.onnx").string() + " --chip a1000 -o " + program);
  ASSERT_EQ(compiled.code, 0) << compiled.text;
  expect_parts(tessera_command("run " + program + " --chip j5"), 2, {"another architecture", "conv.cout_lanes"});
  expect_parts(tessera_command("run " + program + " --set dram.channels=1 --timing-only"), 0, {"latency"});
  fs::remove(dir / "p" / "weights.bin");
  expect_parts(tessera_command("run " + program), 2, {"weights.bin", "--timing-only"});
  expect_parts(tessera_command("run " + program + " --timing-only"), 0, {"latency"});
}

TEST(Command, TwoRunsWithOneSeedWriteTheSameBytes) {
  const fs::path dir = workplace();
  ASSERT_EQ(tessera_command("zoo build squeezenet -o " + (dir / "net.onnx").string()).code, 0);
  std::vector<nlohmann::json> reports;
  for (const char* run : {"1", "2"}) {
    const std::string out = (dir / run).string();
    const Answer answer =
        tessera_command("simulate " + (dir / "net.onnx").string() + " --chip a1000 --seed 5 --report " + out +
                        ".json --trace " + out + ".trace --instr-trace " + out + ".csv");
    ASSERT_EQ(answer.code, 0) << answer.text;
    reports.push_back(nlohmann::json::parse(read_file(out + ".json")));
    reports.back().erase("wall_s");
  }
  EXPECT_EQ(reports[0].dump(), reports[1].dump());
  EXPECT_EQ(read_file(dir / "1.trace"), read_file(dir / "2.trace"));
  EXPECT_EQ(read_file(dir / "1.csv"), read_file(dir / "2.csv"));
  // Another seed gives other inputs, so the comparison above compares something.
  ASSERT_EQ(tessera_command("simulate " + (dir / "net.onnx").string() + " --chip a1000 --seed 6 --report " +
                            (dir / "3.json").string())
                .code,
            0);
  EXPECT_NE(nlohmann::json::parse(read_file(dir / "3.json")).at("outputs"), reports[0].at("outputs"));
}

TEST(Command, AFolderMayBeWrittenWithASlash) {
  const fs::path dir = workplace();
  ASSERT_EQ(tessera_command("zoo build squeezenet -o " + (dir / "net.onnx").string()).code, 0);
  const std::string compile = "compile " + (dir / "net.onnx").string() + " --chip a1000 --timing-only -o ";
  for (int time = 0; time < 2; ++time) {  // made, then replaced
    const Answer answer = tessera_command(compile + (dir / "p").string() + "/");
    ASSERT_EQ(answer.code, 0) << answer.text;
  }
  EXPECT_TRUE(fs::exists(dir / "p" / "program.bin"));
  EXPECT_FALSE(fs::exists(dir / "p.part"));
  expect_parts(tessera_command(compile + "."), 2, {"-o .: expected the name of a folder"});
}

TEST(Command, FilesThatCannotBeWrittenAreRefusedBeforeTheRun) {
  const fs::path dir = workplace();
  const std::string program = (dir / "p").string();
  ASSERT_EQ(tessera_command("asm " + data("stuck.s") + " --chip tiny -o " + program).code, 0);
  // The program would end with exit 3: exit 2 shows that it was not run, and the good report is not written either.
  for (const char* option : {"--trace", "--instr-trace", "--dram-trace"}) {
    expect_parts(tessera_command("run " + program + " --timing-only --report " + (dir / "r.json").string() + " " +
                                 option + " /no/such/folder/f"),
                 2, {"/no/such/folder/f: cannot be written: expected a writable folder"});
    EXPECT_FALSE(fs::exists(dir / "r.json"));
    EXPECT_FALSE(fs::exists(dir / "r.json.part"));
  }
  const std::string one = (dir / "one").string();
  expect_parts(tessera_command("run " + program + " --report " + one + " --trace " + one), 2, {"named by two options"});
  expect_parts(tessera_command("run " + program + " --output-dir " + program + "/program.bin"), 2,
               {"program.bin: is a file: expected a folder"});
  expect_parts(tessera_command("simulate /no/model.onnx --chip tiny --compare graf"), 2,
               {"--compare graf: expected a list of graph, reference"});
}

TEST(Command, NumbersBelowZeroAreRefused) {
  for (const char* arguments : {"run p --seed -1", "run p --max-cycles -5", "run p --process-order -1",
                                "compile m --chip tiny -o o --batch 0", "compile m --chip tiny -o o --batch -1",
                                "compile m --chip tiny -o o --randomize-weights -1", "lockstep --random -1"}) {
    expect_parts(tessera_command(arguments), 2, {"not in range"});
  }
}

TEST(Command, DamagedReportsAreRefusedByTheirKey) {
  const fs::path dir = workplace();
  ASSERT_EQ(tessera_command("zoo build squeezenet -o " + (dir / "net.onnx").string()).code, 0);
  ASSERT_EQ(tessera_command("simulate " + (dir / "net.onnx").string() + " --chip a1000 --timing-only --report " +
                            (dir / "r.json").string())
                .code,
            0);
  const nlohmann::json whole = nlohmann::json::parse(read_file(dir / "r.json"));
  const auto damage = [&](const char* pointer, const nlohmann::json& value) {
    nlohmann::json report = whole;
    report[nlohmann::json::json_pointer(pointer)] = value;
    write_file(dir / "bad.json", report.dump());
    return "report " + (dir / "bad.json").string() + " -o " + (dir / "r.html").string();
  };
  expect_parts(tessera_command(damage("/units/load/busy", nullptr)), 2, {"/units/load/busy = null: expected an int"});
  expect_parts(tessera_command(damage("/groups", 3)), 2, {"/groups = 3: expected a list"});
  expect_parts(tessera_command(damage("/cycles", "many")), 2, {"/cycles = \"many\": expected an integer"});
  expect_parts(tessera_command(damage("/groups/0", nlohmann::json::object())), 2, {"/groups/0/name is missing"});
  EXPECT_FALSE(fs::exists(dir / "r.html"));
  expect_parts(tessera_command("report " + (dir / "r.json").string() + " -o " + (dir / "r.html").string()), 0, {});
}

TEST(Command, UnknownOptionsAndCommandsExitWithTwo) {
  expect_parts(tessera_command("smulate x.onnx"), 2, {"smulate: no such command: expected one of", "simulate"});
  for (const char* arguments :
       {"", "nonsense", "run", "zoo build nothing -o /tmp/x.onnx", "diff a", "simulate x.onnx"}) {
    EXPECT_EQ(tessera_command(arguments).code, 2) << arguments;
  }
  EXPECT_EQ(tessera_command("--help").code, 0);
  EXPECT_EQ(tessera_command("run --help").code, 0);
}

TEST(Command, EvalRefusesOptionsThatItWouldIgnore) {
  const std::string out = " -o " + workplace().string();
  for (const std::string option : {"--calib x.npz", "--int16 conv", "--no-pass fold-pad"}) {
    expect_parts(
        tessera_command("eval net.onnx " + option + out), 2,
        {option.substr(0, option.find(' ')) + ": eval interprets a model as it stands", "legal with quantize"});
  }
}

}  // namespace
}  // namespace tessera
