// `tessera dram` as others script against it: fields of the report, the commands file, exit codes and messages.
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "hw/common/file.hpp"
#include "tests/e2e/tessera_command.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class DramCommand : public testing::Test {
 protected:
  void SetUp() override { dir_ = workplace(); }
  Answer dram(const std::string& trace, const std::string& options) const {
    std::ofstream(dir_ / "t.txt") << trace;
    return tessera_command("dram " + (dir_ / "t.txt").string() + " --chip a1000 " + options);
  }
  json report(const std::string& trace, const std::string& options) const {
    const Answer answer = dram(trace, options + " --report " + path("r.json"));
    EXPECT_EQ(answer.code, 0) << answer.text;
    return json::parse(read_file(dir_ / "r.json"));
  }
  std::string path(const char* name) const { return (dir_ / name).string(); }

  fs::path dir_;
};

std::string reads(int count, int stride = 64) {
  std::ostringstream out;
  for (int i = 0; i < count; ++i) out << "- R 0x" << std::hex << i * stride << std::dec << "\n";
  return out.str();
}

// LPDDR4-4266: ACT 0, RD 39 and 47; the last beat of the second burst in clock 47 + 36 + 8 - 1.
TEST_F(DramCommand, ALoneReadByHand) {
  const json r = report("0 R 0x40\n", "--set dram.channels=1 --commands " + path("c.csv"));
  EXPECT_EQ(r.at("cycles"), 47 + 36 + 8);
  EXPECT_EQ(r.at("bytes"), 64);
  EXPECT_EQ(r.at("row_hits"), 1) << "the second burst";
  EXPECT_EQ(r.at("row_misses"), 1);
  EXPECT_EQ(r.at("row_conflicts"), 0);
  EXPECT_EQ(r.at("refreshes"), 0);
  EXPECT_EQ(r.at("read_latency_mean_cycles"), 39 + 36 + 8.0);
  EXPECT_EQ(r.at("read_latency_constant_cycles"), 0);
  EXPECT_NEAR(r.at("peak_bytes_per_s").get<double>(), 32 / (8 * 468.75e-12), 1);
  EXPECT_NEAR(r.at("bandwidth_bytes_per_s").get<double>(), 64 / (91 * 468.75e-12), 1);
  EXPECT_EQ(read_file(dir_ / "c.csv"),
            "clock,command,channel,rank,bank_group,bank,row,column\n"
            "0,ACT,0,0,0,0,0,0\n39,RD,0,0,0,0,0,2\n47,RD,0,0,0,0,0,3\n");
  EXPECT_EQ(r.at("chip").at("dram").at("channels"), 1) << "the resolved chip stands in the report";
}

TEST_F(DramCommand, Lpddr5OpensRowsInTwoCommandsAndWakesWck) {
  const json r =
      report("0 R 0x40\n", "--set dram.channels=1 --set dram.device=LPDDR5-6400 --commands " + path("c.csv"));
  const std::string csv = read_file(dir_ / "c.csv");
  for (const char* name : {",ACT1,", ",ACT2,", ",CAS,", ",RD,"}) EXPECT_NE(csv.find(name), std::string::npos) << csv;
  EXPECT_EQ(r.at("read_latency_mean_cycles"), 15 + 17 + 2 + r.at("read_latency_constant_cycles").get<int>());
}

TEST_F(DramCommand, TwoChannelsDoubleAStream) {
  const std::string trace = reads(16'384);
  const double one = report(trace, "--set dram.channels=1").at("bandwidth_bytes_per_s").get<double>();
  const double two = report(trace, "--set dram.channels=2").at("bandwidth_bytes_per_s").get<double>();
  EXPECT_NEAR(two / one, 2.0, 0.04);
}

TEST_F(DramCommand, OneOutstandingReadWaitsForTheLast) {
  const json r = report(reads(64), "--set dram.channels=1 --outstanding 1");
  EXPECT_LT(r.at("read_latency_mean_cycles").get<double>(), 46) << "row hits: 36 + 8, one miss";
  EXPECT_GT(r.at("cycles").get<int>(), 64 * 44);
}

TEST_F(DramCommand, TimingsMayBeOverridden) {
  const std::string trace = reads(2048, 16384);  // a new row of one bank each time
  const auto cycles = [&](const char* options) {
    return report(trace, std::string("--set dram.channels=1 --set dram.refresh=none ") + options)
        .at("cycles")
        .get<double>();
  };
  EXPECT_NEAR(cycles("--set dram.timings.tRAS=180 --set dram.timings.tRC=258") / cycles(""), 2.0, 0.01);
  EXPECT_EQ(cycles("--set dram.timings.RC=130"), cycles("--set dram.timings.tRCpb=130")) << "whichever way it is spelt";
}

TEST_F(DramCommand, MistakesAreNamedWithWhatIsLegal) {
  const auto expect = [&](const std::string& trace, const std::string& options, const std::string& part) {
    const Answer answer = dram(trace, options + " --report " + path("r.json") + " --commands " + path("c.csv"));
    EXPECT_EQ(answer.code, 2) << answer.text;
    EXPECT_NE(answer.text.find(part), std::string::npos) << "'" << part << "' is not in:\n" << answer.text;
    for (const char* left : {"r.json", "c.csv", "c.csv.part"}) EXPECT_FALSE(fs::exists(dir_ / left)) << left;
  };
  expect("- R 0x40\n- Q 0x40\n", "", "t.txt:2: kind \"Q\": expected R or W");
  expect("- R 0x41\n", "", "t.txt:1: address \"0x41\": expected a multiple of 64");
  expect("7 R 0x40\n6 R 0x40\n", "", "t.txt:2: clock \"6\": expected one that is not below");
  expect("- R 0x40\n", "--set dram.device=fixed", "dram.device = \"fixed\" has no channels");
  expect("- R 0x40\n", "--set dram.timings.tXYZ=3", "dram.timings.tXYZ = 3: unknown; expected one of RL, WL");
  expect("- R 0x40\n", "--set dram.timings.REFI=500", "dram.timings.REFI = 500: expected at least");
  expect("- R 0x40\n", "--set dram.device=DDR4-3200 --set dram.refresh=per_bank", "DDR4-3200 has no per-bank refresh");
  expect("- R 0x40\n", "--set dram.address_map=mapB", "LPDDR4-4266 has mapA");
  EXPECT_EQ(dram("- R 0x40\n", "--outstanding 0").code, 2);
}

}  // namespace
}  // namespace tessera
