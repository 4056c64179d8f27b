// Bandwidths of the outside reference set: the same traces, the band each case must land in, its row hits and latency.
// Class `tight` and `medium` bind on both sides; `policy` (the tools differ by scheduling) is listed when outside.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "tests/compiler/import/shared_models.hpp"
#include "tests/hw/models/dram/jedec_checker.hpp"
#include "tests/hw/models/dram/traffic.hpp"

namespace tessera::dram {
namespace {

using namespace test;
using nlohmann::json;
namespace fs = std::filesystem;

fs::path reference() { return shared_folder() / "dram"; }

json read_json(const char* name) {
  std::ifstream in(reference() / name);
  return json::parse(in);
}

/// The requests of a trace; all traces are made once a build folder.
std::vector<TraceRequest> trace(const std::string& device, const std::string& name) {
  const fs::path folder = TESSERA_TRACES;
  const fs::path file = folder / device / (name + ".txt");
  if (!fs::exists(file)) {
    const fs::path part = folder.string() + "." + std::to_string(::getpid());
    const std::string command =
        std::string(TESSERA_PYTHON) + " '" + (reference() / "make_traces.py").string() + "' '" + part.string() + "'";
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    std::error_code exists_already;
    fs::rename(part, folder, exists_already);
    if (exists_already) fs::remove_all(part);
  }
  std::ifstream in(file);
  EXPECT_TRUE(in.good()) << file;
  TraceReader reader(in, file.string());
  std::vector<TraceRequest> requests;
  for (TraceRequest r; reader.next(r);) requests.push_back(r);
  return requests;
}

Source source(const std::vector<TraceRequest>& requests, std::size_t most = SIZE_MAX) {
  return stream(static_cast<std::int64_t>(std::min(most, requests.size())),
                [&requests](std::int64_t i) { return requests[static_cast<std::size_t>(i)]; });
}

class Given : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { TESSERA_SKIP_WITHOUT(reference() / "cases_given.json"); }
};

std::string test_name(const testing::TestParamInfo<const char*>& p) {
  std::string name = p.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Devices, Given, testing::Values("DDR4-3200", "LPDDR4-3200", "LPDDR4-4266", "LPDDR5-6400"),
                         test_name);

TEST_P(Given, EveryCaseLandsInItsBand) {
  const json maps = read_json("address_mapping.json");
  int cases = 0, policy_outside = 0;
  for (const json& given : read_json("cases_given.json")) {
    if (given.at("device") != GetParam()) continue;
    ++cases;
    const std::string name = given.at("trace");
    SCOPED_TRACE(name + " " + given.at("map").get<std::string>());
    DramConfig c = config(GetParam());
    c.channel.address_map = maps.at(GetParam()).at(given.at("map").get<std::string>());
    const bool latency = name.compare(0, 4, "lat_") == 0;
    JedecChecker checker(c.channel.device, RefreshKind::all_bank);
    ReplayOptions options;
    options.outstanding = latency ? 1 : 0;
    options.observer = &checker;
    const std::vector<TraceRequest> requests = trace(GetParam(), name);
    const ReplayResult r = replay(c, source(requests), options);
    checker.finish(r.clocks);
    EXPECT_TRUE(checker.violations().empty()) << checker.text();
    const double seconds = static_cast<double>(r.clocks) * static_cast<double>(c.channel.device.tck_fs) * 1e-15;
    const double gigabytes = static_cast<double>(r.bytes) * 1e-9 / seconds;
    const double low = given.at("accept_bw_GBps")[0], high = given.at("accept_bw_GBps")[1];
    if (given.at("class") == "policy") {
      if (gigabytes >= low && gigabytes <= high) continue;
      ++policy_outside;
      std::printf("policy case outside: %s %s %s: %.3f GB/s, band %.3f to %.3f\n", GetParam(), name.c_str(),
                  given.at("map").get<std::string>().c_str(), gigabytes, low, high);
      continue;
    }
    EXPECT_GE(gigabytes, low);
    EXPECT_LE(gigabytes, high);
    if (given.contains("read_lat_mean_cyc_range")) {
      const double mean = static_cast<double>(r.read_latency_sum) / static_cast<double>(r.reads) -
                          static_cast<double>(c.channel.device.read_latency_constant());
      // The tools' ranges hold their own constants of 0 to 1 clock; ours is taken off.
      EXPECT_GE(mean, given.at("read_lat_mean_cyc_range")[0].get<double>() - 0.6);
      EXPECT_LE(mean, given.at("read_lat_mean_cyc_range")[1].get<double>() + 0.1);
      EXPECT_GE(mean, static_cast<double>(c.channel.device.t.RL + c.channel.device.t.BL));
    }
  }
  EXPECT_GE(cases, 6);
  EXPECT_LE(policy_outside, 1) << "docs/memory.md explains rw_alt_conflict on DDR4-3200";
}

// The checker on every trace, with each page policy and refresh mode, at one of several depths of the queue.
TEST_P(Given, NoTraceBreaksARuleUnderAnyPolicy) {
  std::set<std::string> names;
  for (const json& given : read_json("cases_given.json")) {
    if (given.at("device") == GetParam()) names.insert(given.at("trace").get<std::string>());
  }
  constexpr int kDepths[] = {32, 1, 4, 64};
  std::size_t turn = 0;
  for (const std::string& name : names) {
    const std::vector<TraceRequest> requests = trace(GetParam(), name);
    for (const PagePolicy page : {PagePolicy::open, PagePolicy::closed, PagePolicy::adaptive}) {
      for (const RefreshPolicy refresh : {RefreshPolicy::none, RefreshPolicy::all_bank, RefreshPolicy::per_bank}) {
        DramConfig c = config(GetParam());
        if (refresh == RefreshPolicy::per_bank && c.channel.device.banks_per_refresh == 0) continue;
        c.channel.page = page;
        c.channel.refresh = refresh;
        c.channel.queue_depth = kDepths[turn++ % 4];
        const RefreshKind kind = refresh == RefreshPolicy::none       ? RefreshKind::none
                                 : refresh == RefreshPolicy::all_bank ? RefreshKind::all_bank
                                                                      : RefreshKind::per_bank;
        JedecChecker checker(c.channel.device, kind);
        ReplayOptions options;
        options.observer = &checker;
        const ReplayResult r = replay(c, source(requests, 3000), options);
        checker.finish(r.clocks);
        EXPECT_TRUE(checker.violations().empty())
            << name << " page " << static_cast<int>(page) << " refresh " << static_cast<int>(refresh) << " depth "
            << c.channel.queue_depth << "\n"
            << checker.text();
        EXPECT_EQ(checker.bursts() * c.channel.device.burst_bytes, r.bytes);
        EXPECT_GT(checker.commands(), checker.bursts());
      }
    }
  }
}

// The values of the device files are those the reference runs used.
TEST_P(Given, TimingsAreTheMatchedSet) {
  const json set = read_json("timings.json").at("_matched_set_used_in_runs").at(GetParam());
  const Device& d = find_device(GetParam());
  EXPECT_DOUBLE_EQ(set.at("tCK").get<double>() * 1e6, static_cast<double>(d.tck_fs));
  EXPECT_EQ(set.at("BPC").get<int>(), d.burst_bytes);
  const std::pair<const char*, DramClocks> pairs[] = {
      {"BLc", d.t.BL},      {"CL", d.t.RL},       {"CWL", d.t.WL},  {"RCD", d.t.RCD},     {"RP", d.t.RP},
      {"RPab", d.t.RPab},   {"RAS", d.t.RAS},     {"RC", d.t.RC},   {"CCD_S", d.t.CCD_S}, {"CCD_L", d.t.CCD_L},
      {"RRD_S", d.t.RRD_S}, {"RRD_L", d.t.RRD_L}, {"FAW", d.t.FAW}, {"WTR_S", d.t.WTR_S}, {"WTR_L", d.t.WTR_L},
      {"RTP", d.t.RTP},     {"WR", d.t.WR},       {"RFC", d.t.RFC}, {"REFI", d.t.REFI},   {"PPD", d.t.PPD}};
  for (const auto& [name, value] : pairs) EXPECT_EQ(set.at(name).get<DramClocks>(), value) << name;
}

}  // namespace
}  // namespace tessera::dram
