// Bandwidths and latencies against closed forms of the device's timings; both sides are computed.
#include <gtest/gtest.h>

#include "tests/hw/models/dram/jedec_checker.hpp"
#include "tests/hw/models/dram/traffic.hpp"

namespace tessera::dram {
namespace {

using namespace test;

class EveryDevice : public testing::TestWithParam<const char*> {
 protected:
  DramConfig c = config(GetParam());
  const Device& d = c.channel.device;
  const Timings& t = d.t;
  double stream_expected() const {
    return 1.0 - static_cast<double>(t.RTP + t.RP + t.RFC + t.RCD) / static_cast<double>(t.REFI);
  }
  double refresh_share() const { return static_cast<double>(t.RFC) / static_cast<double>(t.REFI); }
};

INSTANTIATE_TEST_SUITE_P(Devices, EveryDevice,
                         testing::Values("DDR4-3200", "LPDDR4-3200", "LPDDR4-4266", "LPDDR5-6400"), [](const auto& p) {
                           return std::string(p.param).replace(std::string(p.param).find('-'), 1, "_");
                         });

TEST_P(EveryDevice, StreamsLoseExactlyTheRefresh) {
  for (const bool write : {false, true}) {
    const ReplayResult r = replay(c, stream(40'000, [write](std::int64_t i) {
                                    return TraceRequest{-1, write, static_cast<std::uint64_t>(i * 64)};
                                  }));
    EXPECT_NEAR(efficiency(r), stream_expected(), 0.02) << (write ? "writes" : "reads");
    const double one_refresh = static_cast<double>(t.RFC) / static_cast<double>(r.clocks);
    EXPECT_LE(efficiency(r), 1.0 - refresh_share() + one_refresh);
    EXPECT_EQ(r.bytes, 40'000 * 64);
  }
}

TEST_P(EveryDevice, WithoutRefreshAStreamFillsTheBus) {
  c.channel.refresh = RefreshPolicy::none;
  EXPECT_GE(efficiency(replay(c, stream(40'000, [](std::int64_t i) { return read(i * 64); }))), 0.99);
  EXPECT_GE(efficiency(replay(c, stream(40'000, [](std::int64_t i) { return write(i * 64); }))), 0.99);
}

TEST_P(EveryDevice, HalfTheRefreshIntervalDoublesTheLoss) {
  const auto loss = [&] {
    return 1.0 - efficiency(replay(c, stream(60'000, [](std::int64_t i) { return read(i * 64); })));
  };
  c.channel.refresh = RefreshPolicy::none;
  const double other = loss();  // row changes
  c.channel.refresh = RefreshPolicy::all_bank;
  const double whole = loss() - other;
  c.channel.device.t.REFI /= 2;
  EXPECT_NEAR((loss() - other) / whole, 2.0, 0.1);
}

TEST_P(EveryDevice, RowMissesInOneBankTakeTRC) {
  const std::int64_t step = row_set(d);
  const ReplayResult r = replay(c, stream(4000, [step](std::int64_t i) { return read(i % 1000 * step); }));
  // A request opens one row in each bank it touches (LPDDR5's map A: two groups), one after the other in its bank.
  const double per_request = static_cast<double>(t.RC);
  const double expected = 4000.0 * per_request / (1.0 - refresh_share());
  EXPECT_NEAR(static_cast<double>(r.clocks) / expected, 1.0, 0.02);
  EXPECT_EQ(r.channels[0].row_hits + r.channels[0].row_misses + r.channels[0].row_conflicts, r.bytes / d.burst_bytes);
}

TEST_P(EveryDevice, TwiceTRasAndTRcHalveRowMisses) {
  const std::int64_t step = row_set(d);
  const auto clocks = [&] { return replay(c, stream(2000, [step](std::int64_t i) { return read(i * step); })).clocks; };
  c.channel.refresh = RefreshPolicy::none;
  const DramClocks before = clocks();
  c.channel.device.t.RAS *= 2;
  c.channel.device.t.RC *= 2;
  EXPECT_NEAR(static_cast<double>(clocks()) / static_cast<double>(before), 2.0, 0.01);
}

TEST_P(EveryDevice, IdleLatencies) {
  c.channel.refresh = RefreshPolicy::none;
  const DramClocks transfer = t.RL + t.BL;  // of the first burst
  const std::int64_t step = row_set(d);
  const auto latency = [&](std::vector<TraceRequest> requests) {  // of the last one, everything else long over
    std::size_t n = requests.size();
    const auto sum = [&](std::size_t count) {
      return replay(c, stream(static_cast<std::int64_t>(count),
                              [&](std::int64_t i) {
                                TraceRequest r = requests[static_cast<std::size_t>(i)];
                                r.clock = i * 10'000;
                                return r;
                              }))
          .read_latency_sum;
    };
    return sum(n) - sum(n - 1);
  };
  EXPECT_EQ(latency({read(0), read(64 * 8)}), transfer + kReadLatencyConstant) << "row open";
  EXPECT_EQ(latency({read(0)}), t.RCD + transfer + kReadLatencyConstant) << "bank closed";
  EXPECT_EQ(latency({read(0), read(step)}), t.RP + t.RCD + transfer + kReadLatencyConstant) << "row conflict";
}

TEST_P(EveryDevice, TwoChannelsDoubleAStream) {
  const auto source = [] { return stream(40'000, [](std::int64_t i) { return read(i * 64); }); };
  const DramClocks one = replay(c, source()).clocks;
  c.channels = 2;
  const ReplayResult two = replay(c, source());
  EXPECT_NEAR(static_cast<double>(one) / static_cast<double>(two.clocks), 2.0, 0.04);
  EXPECT_EQ(two.channels[0].read_bursts + two.channels[1].read_bursts, 40'000 * d.bursts_per_request());
}

// Within a clock or two a row change: where an ACT falls between the bursts. LPDDR5's ACT holds the bus for two clocks
// in a row here (known gap), which costs a burst slot.
TEST_P(EveryDevice, DeeperQueuesNeverSlowAStream) {
  const DramClocks rows = 8000 * d.bursts_per_request() / d.bursts_per_row;
  const DramClocks slack = rows * (d.length.act > d.t.CCD_S - d.length.rd ? 2 : 1);
  DramClocks before = INT64_MAX;
  for (const int depth : {1, 2, 4, 8, 16, 32, 64}) {
    c.channel.queue_depth = depth;
    const DramClocks clocks = replay(c, stream(8000, [](std::int64_t i) { return read(i * 64); })).clocks;
    EXPECT_LE(clocks - slack, before) << "depth " << depth;
    before = std::min(before, clocks);
  }
}

TEST(Bandwidth, TwiceTFawHalvesRowMissesOverAllBanks) {
  DramConfig c = config("DDR4-3200");
  c.channel.refresh = RefreshPolicy::none;
  const auto clocks =
      [&] {  // a new row in each of 16 banks in turn: groups in bits 6..7, banks in 15..16, rows from 17
        return replay(c, stream(4000,
                                [](std::int64_t i) { return read((i % 4 << 6) | (i / 4 % 4 << 15) | (i / 16 << 17)); }))
            .clocks;
      };
  const DramClocks before = clocks();
  EXPECT_NEAR(static_cast<double>(before), 4000.0 * 34 / 4, 0.03 * 4000 * 34 / 4) << "four rows a tFAW";
  c.channel.device.t.FAW *= 2;
  EXPECT_NEAR(static_cast<double>(clocks()) / static_cast<double>(before), 2.0, 0.04);
}

TEST(Bandwidth, MapBEqualsMapAWithoutGroupPenalty) {
  const auto clocks = [](const char* map, bool penalty) {
    DramConfig c = config("DDR4-3200");
    c.channel.address_map = map;
    c.channel.refresh = RefreshPolicy::none;
    if (!penalty) c.channel.device.t.CCD_L = c.channel.device.t.CCD_S;
    return static_cast<double>(replay(c, stream(20'000, [](std::int64_t i) { return read(i * 64); })).clocks);
  };
  const char* a = "off:6,bg:2,co:7,ba:2,ro:16";
  const char* b = "off:6,co:7,bg:2,ba:2,ro:16";
  EXPECT_NEAR(clocks(b, false) / clocks(a, false), 1.0, 0.01);
  EXPECT_GT(clocks(b, true) / clocks(a, true), 1.3);
}

TEST(Bandwidth, WritesAndReadsPayForTurnaround) {
  DramConfig c = config("LPDDR4-4266");
  const auto mixed = [](std::int64_t i) {
    return i % 2 == 0 ? read(i / 2 * 64) : write((1 << 28) + 8192 + i / 2 * 64);
  };
  const ReplayResult r = replay(c, stream(20'000, mixed));
  const ChannelStatistics& s = r.channels[0];
  EXPECT_GT(s.turnaround, 0);
  // Drained from 24 down to 8 writes: at least 16 writes and 16 reads between two pairs of turnarounds.
  const Timings& t = c.channel.device.t;
  const DramClocks both = (t.read_to_write() + t.WL - t.RL - t.BL) + (t.write_to_read_S() + t.RL - t.WL - t.BL);
  const DramClocks transfers = 20'000 * 2 * t.BL;
  EXPECT_LE(s.turnaround, transfers * both / (32 * 2 * t.BL) * 11 / 10);
}

}  // namespace
}  // namespace tessera::dram
