#include "traces/timeline.hpp"

#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "hw/common/error.hpp"
#include "hw/common/file.hpp"

namespace tessera::traces {
namespace {

std::filesystem::path temporary(const char* name) {
  return std::filesystem::path(testing::TempDir()) / ("tessera_timeline_" + std::string(name));
}

Timeline two_slices(Cycles second_begin) {
  Timeline t;
  t.clock_hz = 800'000'000;
  t.processes = {{0, "core0"}};
  t.threads = {{{0, 2}, "conv0"}};
  t.slices = {{0, 2, "a \"quoted\" name", 4, 8, {{"layer", "conv1"}}}, {0, 2, "b", second_begin, 20, {}}};
  t.counters = {{0, "in flight", 4, 1}};
  return t;
}

TEST(Timeline, TimesAreMicrosecondsOfTheClock) {
  const auto path = temporary("times.json");
  write_timeline(two_slices(8), path);
  const auto events = nlohmann::json::parse(read_file(path)).at("traceEvents");
  ASSERT_EQ(events.size(), 6u);
  EXPECT_EQ(events[3].at("name"), "a \"quoted\" name");
  EXPECT_DOUBLE_EQ(events[3].at("ts").get<double>(), 0.005);  // 4 cycles of 1.25 ns
  EXPECT_DOUBLE_EQ(events[3].at("dur").get<double>(), 0.005);
  EXPECT_EQ(events[3].at("args").at("layer"), "conv1");
  EXPECT_EQ(events[5].at("ph"), "C");
}

TEST(Timeline, SlicesOfAThreadMayTouchButNotOverlap) {
  EXPECT_NO_THROW(write_timeline(two_slices(8), temporary("touch.json")));
  EXPECT_THROW(write_timeline(two_slices(7), temporary("overlap.json")), InternalError);
  EXPECT_FALSE(std::filesystem::exists(temporary("overlap.json")));
}

TEST(Timeline, AnUnwritablePlaceIsTheUsersError) {
  try {
    write_timeline(two_slices(8), "/nonexistent/t.json");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("/nonexistent/t.json: cannot be written"), std::string::npos);
  }
}

}  // namespace
}  // namespace tessera::traces
