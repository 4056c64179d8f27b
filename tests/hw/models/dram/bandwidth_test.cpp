// Bandwidths and latencies against closed forms of the device's timings; both sides are computed.
#include <algorithm>

#include <gtest/gtest.h>

#include "hw/common/error.hpp"
#include "hw/models/dram/energy.hpp"
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
                         testing::Values("DDR4-3200", "LPDDR4-3200", "LPDDR4-4266", "LPDDR5-6400", "LPDDR5-6400-8B"),
                         [](const auto& p) {
                           std::string n = p.param;
                           std::replace(n.begin(), n.end(), '-', '_');
                           return n;
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
  EXPECT_EQ(latency({read(0), read(64 * 8)}), transfer + d.read_latency_constant()) << "row open";
  EXPECT_EQ(latency({read(0)}), t.RCD + transfer + d.read_latency_constant()) << "bank closed";
  EXPECT_EQ(latency({read(0), read(step)}), t.RP + t.RCD + transfer + d.read_latency_constant()) << "row conflict";
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

/// Address of a row in a bank, by the default map: off, [bg,] co, ba, ro.
std::int64_t bank_row(const Device& d, std::int64_t group, std::int64_t bank, std::int64_t row) {
  const std::int64_t row_bytes = d.bursts_per_row * d.burst_bytes;
  return group * d.burst_bytes + bank * row_bytes * d.bank_groups + row * row_set(d);
}

/// A row opened by each request, all banks in turn. Where a request is two bursts in two groups, it opens two rows.
DramClocks all_banks(const DramConfig& c, std::int64_t requests) {
  const Device& d = c.channel.device;
  const std::int64_t groups = d.bank_groups > 1 ? d.bank_groups / d.bursts_per_request() : 1;
  return replay(c, stream(requests,
                          [&](std::int64_t i) {
                            const std::int64_t turn = i % (groups * d.banks_per_group);
                            return read(bank_row(d, turn % groups * d.bursts_per_request(), turn / groups,
                                                 i / (groups * d.banks_per_group)));
                          }))
      .clocks;
}

// The smallest of tFAW, tRRD, banks / tRC and the command bus, within 3 %.
TEST_P(EveryDevice, RowMissesOverAllBanksMeetTheBound) {
  const std::int64_t rows = d.bank_groups > 1 ? d.bursts_per_request() : 1;  // opened by a request
  const std::int64_t bus = d.length.act * (d.split_activate() ? 2 : 1) + d.length.pre;
  const auto bound = [&] {
    const double faw = static_cast<double>(t.FAW) / 4, rrd = static_cast<double>(t.RRD_S);
    const double rc = static_cast<double>(t.RC) / d.banks();
    const double columns = static_cast<double>(d.bursts_per_request()) / static_cast<double>(rows);
    const double command = static_cast<double>(bus) + columns * static_cast<double>(d.length.rd);
    return std::max({faw, rrd, rc, command}) * static_cast<double>(rows);
  };
  c.channel.refresh = RefreshPolicy::none;
  EXPECT_NEAR(static_cast<double>(all_banks(c, 4096)) / (4096 * bound()), 1.0, 0.03);
  c.channel.refresh = RefreshPolicy::all_bank;
  EXPECT_NEAR(static_cast<double>(all_banks(c, 4096)) * (1 - refresh_share()) / (4096 * bound()), 1.0, 0.03);
}

TEST_P(EveryDevice, TwiceTFawHalvesRowMissesOverAllBanks) {
  if (4 * t.RRD_S > t.FAW || 4 * t.RC > d.banks() * t.FAW) GTEST_SKIP() << "tFAW does not bind here";
  c.channel.refresh = RefreshPolicy::none;
  c.channel.device.t.RRD_S = c.channel.device.t.RRD_L = 1;  // else tRRD binds where 4 tRRD = tFAW
  const double before = static_cast<double>(all_banks(c, 4096));
  c.channel.device.t.FAW *= 2;
  const double limit = std::max(static_cast<double>(t.RC) / d.banks(), static_cast<double>(t.FAW) / 8) * 4;
  EXPECT_NEAR(static_cast<double>(all_banks(c, 4096)) / before, static_cast<double>(t.FAW) / limit, 0.06);
}

TEST_P(EveryDevice, OneBankGroupPaysTCcdL) {
  if (d.bank_groups == 1) GTEST_SKIP() << "no bank groups";
  const std::int64_t group_bytes = d.burst_bytes;
  if (d.bursts_per_request() > 1) {  // map B keeps a request within one group
    c.channel.address_map = "off:5,co:6,bg:2,ba:2,ro:15";
  }
  c.channel.refresh = RefreshPolicy::none;
  // Columns of one row after the other in group 0.
  const std::int64_t per_row = d.bursts_per_row / d.bursts_per_request();
  const auto address = [&](std::int64_t i) {
    const std::int64_t bank = i / per_row % d.banks_per_group, row = i / per_row / d.banks_per_group;
    if (d.bursts_per_request() > 1) {
      return i % per_row * 64 + bank * row_set(d) / d.banks_per_group + row * row_set(d);
    }
    return i % per_row * group_bytes * d.bank_groups + bank_row(d, 0, bank, row);
  };
  const ReplayResult r = replay(c, stream(16'384, [&](std::int64_t i) { return read(address(i)); }));
  EXPECT_NEAR(static_cast<double>(r.clocks) / static_cast<double>(16'384 * d.bursts_per_request() * t.CCD_L), 1.0,
              0.01);
}

TEST_P(EveryDevice, APerBankRefreshCostsAStreamLess) {
  if (d.banks_per_refresh == 0) GTEST_SKIP() << "no per-bank refresh";
  const auto share = [&](RefreshPolicy policy) {
    c.channel.refresh = policy;
    return efficiency(replay(c, stream(40'000, [](std::int64_t i) { return read(i * 64); })));
  };
  EXPECT_GT(share(RefreshPolicy::per_bank), share(RefreshPolicy::all_bank));
  EXPECT_LE(share(RefreshPolicy::per_bank), share(RefreshPolicy::none));
}

TEST_P(EveryDevice, CheckLinesCostAStreamANinth) {
  c.channel.refresh = RefreshPolicy::none;
  c.channel.ecc = true;
  const ReplayResult r = replay(c, stream(16'384, [](std::int64_t i) { return read(i * 64); }));
  EXPECT_EQ(r.channels[0].check_bursts, 16'384 / 8 * d.bursts_per_request()) << "64 check bytes for 512 bytes";
  EXPECT_GE(static_cast<double>(r.clocks), 9.0 / 8 * 16'384 * static_cast<double>(d.bursts_per_request() * t.BL));
  // A changed line is fetched and written back: two more requests for eight.
  const ReplayResult w = replay(c, stream(16'384, [](std::int64_t i) { return write(i * 64); }));
  EXPECT_EQ(w.channels[0].check_bursts, (2 * 16'384 / 8 - 16) * d.bursts_per_request()) << "16 lines stay";
}

TEST_P(EveryDevice, TwoRanksHideRowMisses) {
  // Row misses in one bank of each rank: twice as many rows at a time.
  c.channel.refresh = RefreshPolicy::none;
  const std::int64_t step = row_set(d);
  const DramClocks one = replay(c, stream(2000, [&](std::int64_t i) { return read(i * step); })).clocks;
  c.channel.ranks = 2;
  std::string map = d.default_map;
  c.channel.address_map = map.insert(map.find(",ro"), ",ra:1");
  const DramClocks two = replay(c, stream(2000, [&](std::int64_t i) { return read(i * step); })).clocks;
  EXPECT_NEAR(static_cast<double>(one) / static_cast<double>(two), 2.0, 0.02);
}

// Each timing matters: made longer it makes some trace longer.
TEST_P(EveryDevice, EachTimingMatters) {
  for (const std::string& timing : timing_names()) {
    if (get_timing(d, timing) == 0) continue;  // not of this standard
    const bool grouped = d.bank_groups > 1;
    if (!grouped && (timing == "CCD_L" || timing == "RRD_L" || timing == "WTR_L")) continue;
    if (timing == "AAD") continue;  // a most: the checker's self-test shows it
    bool matters = false;
    for (const RefreshPolicy refresh : {RefreshPolicy::all_bank, RefreshPolicy::per_bank}) {
      if (refresh == RefreshPolicy::per_bank && d.banks_per_refresh == 0) continue;
      DramConfig base = c;
      base.channel.refresh = refresh;
      if (timing == "RTRS") {
        base.channel.ranks = 2;
        std::string map = d.default_map;
        base.channel.address_map = map.insert(map.find(",co"), ",ra:1");
      }
      if (timing == "PBR2PBR" && d.banks_per_refresh > 0) {  // so often that they nearly follow each other
        base.channel.device.t.REFI = d.banks() / d.banks_per_refresh * t.PBR2PBR * 6 / 5;
      }
      if (timing == "FAW") base.channel.device.t.RRD_S = base.channel.device.t.RRD_L = 1;
      DramConfig longer = base;
      const DramClocks value = get_timing(d, timing);
      set_timing(longer.channel.device, timing,
                 timing == "REFI"     ? value / 2
                 : timing == "WCKPST" ? 20
                                      : value + (value > 40 ? value / 2 : 4));
      const auto mixed = [](std::int64_t i) {  // rows, groups and directions in all combinations, with pauses
        Random random(static_cast<std::uint64_t>(i));
        const std::uint64_t span = i / 512 % 3 == 0 ? 1 << 14 : 1 << 24;
        TraceRequest r{i / 512 % 2 == 0 ? -1 : i * 60, random.chance(i / 2048 % 2 == 0 ? 1 : 4, 8),
                       random.below(span) / 64 * 64};
        return r;
      };
      const auto clocks = [&](const DramConfig& with) {
        const ReplayResult r = replay(with, stream(8192, mixed));
        return r.clocks + r.read_latency_sum;
      };
      matters = matters || clocks(longer) != clocks(base);
    }
    EXPECT_TRUE(matters) << timing;
  }
}

TEST(Bandwidth, Lpddr5StreamsBeatRandomByTheExpectedFactor) {
  const DramConfig c = config("LPDDR5-6400");
  const Timings& t = c.channel.device.t;
  const auto clocks = [&](auto address) {
    return static_cast<double>(replay(c, stream(16'384, [&](std::int64_t i) { return read(address(i)); })).clocks);
  };
  Random random(3);
  const double ratio = clocks([&](std::int64_t) { return static_cast<std::int64_t>(random.below(1 << 24)) * 64; }) /
                       clocks([](std::int64_t i) { return i * 64; });
  // A random request opens a row in two groups, four a tFAW, and moves two bursts.
  const double expected = static_cast<double>(2 * t.FAW) / 4 / static_cast<double>(2 * t.BL);
  EXPECT_NEAR(ratio / expected, 1.0, 0.1);
}

TEST(Bandwidth, AdaptivePagesTakeTheBetterOfOpenAndClosed) {
  const auto latency = [](PagePolicy page, auto address) {
    DramConfig c = config("LPDDR4-4266");
    c.channel.page = page;
    ReplayOptions one;
    one.outstanding = 1;
    const ReplayResult r = replay(c,
                                  stream(4000,
                                         [&](std::int64_t i) {
                                           TraceRequest request = read(address(i));
                                           request.clock = i * 400;  // long enough for a precharge in between
                                           return request;
                                         }),
                                  one);
    return static_cast<double>(r.read_latency_sum) / static_cast<double>(r.reads);
  };
  const auto same_row = [](std::int64_t i) { return i * 64 % 2048; };
  const auto other_rows = [](std::int64_t i) { return i % 7 * 16384; };
  EXPECT_LT(latency(PagePolicy::open, same_row), latency(PagePolicy::closed, same_row));
  EXPECT_GT(latency(PagePolicy::open, other_rows), latency(PagePolicy::closed, other_rows));
  EXPECT_NEAR(latency(PagePolicy::adaptive, same_row), latency(PagePolicy::open, same_row), 1.0);
  EXPECT_NEAR(latency(PagePolicy::adaptive, other_rows), latency(PagePolicy::closed, other_rows), 1.0);
}

TEST(Bandwidth, PostponedRefreshesLetABurstPass) {
  DramConfig c = config("LPDDR4-4266");
  const auto burst = [&](int debt) {  // 400 requests right across the refresh that is due in clock 8341
    c.channel.refresh_debt = debt;
    const ReplayResult r = replay(c, stream(400, [](std::int64_t i) {
                                    TraceRequest request = read(i * 64);
                                    request.clock = 5000;
                                    return request;
                                  }));
    return r.clocks;
  };
  EXPECT_GE(burst(0) - burst(1), c.channel.device.t.RFC);
}

TEST(Bandwidth, TwiceTheWidthMovesTwiceTheBytes) {
  DramConfig c = config("LPDDR4-4266");
  const auto source = [] { return stream(20'000, [](std::int64_t i) { return read(i * 64); }); };
  const DramClocks narrow = replay(c, source()).clocks;
  c.channel.device = with_channel_bits(c.channel.device, 32);
  c.channel.address_map = "off:6,co:6,ba:3,ro:16";
  EXPECT_NEAR(static_cast<double>(narrow) / static_cast<double>(replay(c, source()).clocks), 2.0, 0.04);
  EXPECT_THROW((void)with_channel_bits(c.channel.device, 64), UserError) << "a burst would hold 128 bytes";
}

// DDR4-3200, eight chips at 1.2 V (currents of the device file), by hand.
TEST(Energy, OfOneCommandByHand) {
  const CommandEnergy e = command_energy(find_device("DDR4-3200"));
  EXPECT_NEAR(e.activate, 8 * 1.2 * (57 * 74 - (52 * 52 + 37 * 22)) * 0.625, 1e-6);  // 4200 pJ
  EXPECT_NEAR(e.read, 8 * 1.2 * (168 - 52) * 4 * 0.625, 1e-6);                       // 2784 pJ
  EXPECT_NEAR(e.write, 8 * 1.2 * (150 - 52) * 4 * 0.625, 1e-6);
  EXPECT_NEAR(e.refresh_all, 8 * 1.2 * (250 - 52) * 560 * 0.625, 1e-3);
  EXPECT_NEAR(e.active_clock, 8 * 1.2 * 52 * 0.625, 1e-6);
  EXPECT_NEAR(e.precharged_clock, 8 * 1.2 * 37 * 0.625, 1e-6);
  EXPECT_EQ(e.refresh_bank, 0.0);
}

TEST(Energy, OfATraceIsTheSumOfItsCommands) {
  const DramConfig c = config("LPDDR4-4266");
  const ReplayResult r =
      replay(c, stream(2000, [](std::int64_t i) { return i % 3 == 0 ? write(i * 64) : read(i * 64); }));
  const ChannelStatistics& s = r.channels[0];
  const CommandEnergy one = command_energy(c.channel.device);
  const Energy e = energy(c.channel.device, s, 1, false);
  EXPECT_DOUBLE_EQ(e.read, one.read * static_cast<double>(s.read_bursts));
  EXPECT_DOUBLE_EQ(e.activate, one.activate * static_cast<double>(s.activates));
  EXPECT_GT(s.active_clocks, s.clocks / 2);
  EXPECT_LE(s.active_clocks, s.clocks);
  EXPECT_DOUBLE_EQ(e.total(), e.activate + e.read + e.write + e.refresh + e.background);
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
