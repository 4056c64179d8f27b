// The controller's own rules: JEDEC legality of every trace, conservation, order of one address, laziness, determinism.
#include "hw/models/dram/channel.hpp"

#include <map>
#include <sstream>

#include <gtest/gtest.h>

#include "hw/common/error.hpp"
#include "tests/hw/models/dram/jedec_checker.hpp"
#include "tests/hw/models/dram/traffic.hpp"

namespace tessera::dram {
namespace {

using namespace test;

constexpr const char* kDevices[] = {"DDR4-3200", "LPDDR4-3200", "LPDDR4-4266", "LPDDR5-6400", "LPDDR5-6400-8B"};

/// Streams, random addresses over a few or all rows, both directions, pauses.
Source mixture(std::uint64_t seed, std::int64_t count) {
  return stream(count, [random = Random(seed), seed, clock = DramClocks{0}](std::int64_t i) mutable {
    TraceRequest r;
    const int phase = static_cast<int>(i / 256 + static_cast<std::int64_t>(seed)) % 4;
    const std::uint64_t span = phase == 0 ? 1 << 16 : phase == 1 ? 1 << 20 : 1 << 29;
    r.address = phase == 2 ? static_cast<std::uint64_t>(i) * 64 : random.below(span) / 64 * 64;
    r.write = random.chance(seed % 3 == 0 ? 1 : 4, 8);
    if (random.chance(1, 500)) clock += random.between(0, 30'000);
    clock += random.chance(1, 4) ? random.between(0, 40) : 0;
    r.clock = clock;
    return r;
  });
}

struct Variant {
  PagePolicy page;
  RefreshPolicy refresh;
  int depth;
  int ranks = 1;
  int debt = 0;
  bool ecc = false;
};
constexpr Variant kVariants[] = {{PagePolicy::open, RefreshPolicy::all_bank, 32},
                                 {PagePolicy::closed, RefreshPolicy::all_bank, 32},
                                 {PagePolicy::adaptive, RefreshPolicy::all_bank, 32},
                                 {PagePolicy::open, RefreshPolicy::none, 8},
                                 {PagePolicy::closed, RefreshPolicy::all_bank, 1},
                                 {PagePolicy::open, RefreshPolicy::all_bank, 3},
                                 {PagePolicy::open, RefreshPolicy::per_bank, 32},
                                 {PagePolicy::closed, RefreshPolicy::per_bank, 32},
                                 {PagePolicy::adaptive, RefreshPolicy::per_bank, 2, 1, 4},
                                 {PagePolicy::open, RefreshPolicy::all_bank, 16, 1, 8},
                                 {PagePolicy::open, RefreshPolicy::all_bank, 32, 2},
                                 {PagePolicy::adaptive, RefreshPolicy::per_bank, 16, 2, 2},
                                 {PagePolicy::open, RefreshPolicy::all_bank, 32, 1, 0, true},
                                 {PagePolicy::closed, RefreshPolicy::per_bank, 8, 2, 1, true}};

/// False where the device cannot do it (DDR4 has no per-bank refresh).
bool apply(const Variant& v, DramConfig& c) {
  if (v.refresh == RefreshPolicy::per_bank && c.channel.device.banks_per_refresh == 0) return false;
  c.channel.page = v.page;
  c.channel.refresh = v.refresh;
  c.channel.queue_depth = v.depth;
  c.channel.ranks = v.ranks;
  c.channel.refresh_debt = v.debt;
  c.channel.ecc = v.ecc;
  // The rank in a low bit, so that they alternate.
  std::string map = c.channel.device.default_map;
  if (v.ranks > 1)
    c.channel.address_map = map.insert(map.find(",ba") != std::string::npos ? map.find(",ba") : 5, ",ra:1");
  return true;
}

RefreshKind kind(RefreshPolicy policy) {
  return policy == RefreshPolicy::none       ? RefreshKind::none
         : policy == RefreshPolicy::all_bank ? RefreshKind::all_bank
                                             : RefreshKind::per_bank;
}

TEST(Channel, NoTraceBreaksARuleOfJedec) {
  for (const char* name : kDevices) {
    for (const Variant& v : kVariants) {
      for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        DramConfig c = config(name);
        if (!apply(v, c)) continue;
        JedecChecker checker(c.channel.device, kind(v.refresh), v.ranks);
        ReplayOptions options;
        options.observer = &checker;
        const ReplayResult r = replay(c, mixture(seed, 3000), options);
        checker.finish(r.clocks);
        EXPECT_TRUE(checker.violations().empty()) << name << " variant " << &v - kVariants << " seed " << seed << "\n"
                                                  << checker.text();
        EXPECT_EQ((checker.bursts() - r.channels[0].check_bursts) * c.channel.device.burst_bytes, r.bytes);
        EXPECT_EQ(r.channels[0].check_bursts > 0, v.ecc);
      }
    }
  }
}

// A checker that never flags anything proves nothing: each timing raised by one clock in the checker must be missed
// (AAD, which is a most: lowered there; WCKPST, up to which WCK runs: raised in the controller).
TEST(Channel, EachTimingIsMetToTheClock) {
  for (const char* name : kDevices) {
    for (const std::string& timing : timing_names()) {
      Device strict = find_device(name);
      const bool grouped = strict.bank_groups > 1;
      if (timing == "REFI" || timing == "RL" || timing == "WL" || timing == "BL") continue;  // the next test
      if (strict.t.PPD == 0 && timing == "PPD") continue;
      // With one group the rule of the group is the rule of the rank.
      if (!grouped && (timing == "CCD_L" || timing == "RRD_L" || timing == "WTR_L")) continue;
      if (get_timing(strict, timing) == 0) continue;  // not of this standard
      if (timing != "WCKPST") set_timing(strict, timing, timing == "AAD" ? 1 : get_timing(strict, timing) + 1);
      const bool bank_refresh = timing == "RFCpb" || timing == "PBR2PBR" || timing == "PBR2ACT";
      const std::string rule = timing == "WCKPST" ? "WCK off" : timing;
      bool flagged = false;
      for (std::uint64_t seed = 1; seed <= 4 && !flagged; ++seed) {
        for (const PagePolicy page : {PagePolicy::open, PagePolicy::closed}) {
          DramConfig c = config(name);
          // A deep debt makes refreshes that were put off follow each other closely.
          const Variant v{page, bank_refresh ? RefreshPolicy::per_bank : RefreshPolicy::all_bank, 32,
                          timing == "RTRS" ? 2 : 1, timing == "PBR2PBR" ? 8 : 0};
          ASSERT_TRUE(apply(v, c));
          if (timing == "WCKPST") ++c.channel.device.t.WCKPST;
          JedecChecker checker(strict, kind(v.refresh), v.ranks);
          ReplayOptions options;
          options.observer = &checker;
          (void)replay(c, mixture(seed, 3000), options);
          flagged = flagged || checker.violations().count(rule) != 0;
        }
      }
      EXPECT_TRUE(flagged) << name << ": no command came exactly at its limit of " << timing;
    }
  }
}

// Latencies and burst length are no distances of their own: raised in the checker, the distances and data windows built
// from them are missed. tREFI likewise: refreshes then come before their time.
TEST(Channel, LatenciesBurstAndRefreshIntervalAreMetToTheClock) {
  for (const char* name : kDevices) {
    for (const char* timing : {"RL", "WL", "BL", "REFI"}) {
      Device strict = find_device(name);
      set_timing(strict, timing, get_timing(strict, timing) + 1);
      std::size_t flagged = 0;
      for (std::uint64_t seed = 1; seed <= 4 && flagged == 0; ++seed) {
        DramConfig c = config(name);
        ASSERT_TRUE(apply(kVariants[0], c));
        JedecChecker checker(strict, kind(kVariants[0].refresh), kVariants[0].ranks);
        ReplayOptions options;
        options.observer = &checker;
        (void)replay(c, mixture(seed, 3000), options);
        flagged = checker.violations().size();
      }
      EXPECT_GT(flagged, 0U) << name << ": nothing came exactly at a limit that " << timing << " is part of";
    }
  }
}

TEST(Channel, ClocksOfAChannelAddUp) {
  for (const char* name : kDevices) {
    for (const Variant& v : kVariants) {
      DramConfig c = config(name);
      if (!apply(v, c)) continue;
      c.channels = 2;
      const ReplayResult r = replay(c, mixture(5, 4000));
      for (const ChannelStatistics& s : r.channels) {
        EXPECT_EQ(s.data + s.activate + s.turnaround + s.refresh + s.idle, s.clocks);
        for (const DramClocks part : {s.data, s.activate, s.turnaround, s.refresh, s.idle}) EXPECT_GE(part, 0);
        EXPECT_EQ(s.data, (s.read_bursts + s.write_bursts) * c.channel.device.t.BL);
        EXPECT_EQ(s.row_hits + s.row_misses + s.row_conflicts, s.read_bursts + s.write_bursts);
        EXPECT_EQ(s.clocks, r.clocks);
      }
    }
  }
}

class Recorder : public ChannelListener, public CommandObserver {
 public:
  void on_issued(Request& r) override { done.push_back(&r); }
  void on_column(int, int, DramClocks) override {}
  void on_refresh_begin(int, DramClocks) override { ++refreshes; }
  void on_refresh_end(int, DramClocks) override {}
  void on_command(const Command& c) override { commands.push_back(c); }
  std::vector<Request*> done;
  int refreshes = 0;
  std::vector<Command> commands;
};

ChannelConfig channel_config(const char* device) { return config(device).channel; }

TEST(Channel, OneAddressKeepsItsOrder) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Recorder recorder;
    ChannelConfig c = channel_config(kDevices[seed % 4]);
    c.queue_depth = 64;
    Channel channel(c, 0, recorder);
    Random random(seed);
    std::vector<Request> requests(64);
    for (Request& r : requests) {
      r.address = random.below(4) * 64 + random.below(2) * static_cast<std::uint64_t>(row_set(c.device));
      r.write = random.chance(1, 2);
    }
    DramClocks clock = 0;
    for (Request& r : requests) channel.push(r, r.address, clock += random.between(0, 30));
    channel.run_until(1'000'000);
    ASSERT_EQ(recorder.done.size(), requests.size());
    std::map<std::uint64_t, std::vector<const Request*>> order;
    for (const Request* r : recorder.done) order[r->address].push_back(r);
    for (const auto& [address, list] : order) {
      for (std::size_t i = 1; i < list.size(); ++i) {
        if (list[i - 1]->write || list[i]->write) {
          EXPECT_LT(list[i - 1], list[i])
              << "seed " << seed << " address " << address;  // pushed in order of the vector
        }
      }
    }
  }
}

TEST(Channel, HowOftenItIsRunChangesNothing) {
  const auto commands = [](DramClocks step) {
    Recorder recorder;
    Channel channel(channel_config("LPDDR4-4266"), 0, recorder);
    channel.set_observer(&recorder);
    Random random(9);
    std::deque<Request> requests;
    DramClocks clock = 0;
    for (int i = 0; i < 1500; ++i) {
      clock += random.chance(1, 100) ? random.between(0, 50'000) : random.between(0, 40);
      requests.emplace_back();
      Request& r = requests.back();
      r.address = random.below(1 << 24) / 64 * 64;
      r.write = random.chance(1, 3);
      if (step > 0) {
        for (DramClocks at = channel.next_event(); at < clock && channel.next_event() < clock; at += step) {
          channel.run_until(std::min(at, clock - 1));
        }
      }
      channel.run_until(clock - 1);
      while (channel.space(r.write) == 0) {
        clock = std::max(clock, channel.next_event() + 1);
        channel.run_until(clock - 1);
      }
      channel.push(r, r.address, clock);
    }
    channel.run_until(100'000'000);
    std::ostringstream text;
    for (const Command& c : recorder.commands)
      text << c.clock << command_name(c.kind) << c.bank << ' ' << c.row << '\n';
    return text.str();
  };
  const std::string lazy = commands(0);
  EXPECT_EQ(lazy, commands(1));
  EXPECT_EQ(lazy, commands(7));
}

TEST(Channel, IdleTimeCostsNothingAndRefreshesAreCounted) {
  Recorder recorder;
  ChannelConfig c = channel_config("LPDDR4-4266");
  Channel channel(c, 0, recorder);
  Request first;
  channel.push(first, 0, 10);
  channel.run_until(1000);
  EXPECT_EQ(channel.next_event(), kNever);
  const DramClocks hour = 7'680'000'000'000;  // an hour of 2133 MHz
  Request second;
  second.address = 64;
  channel.push(second, 64, hour);
  channel.run_until(hour + 10'000);
  EXPECT_EQ(recorder.done.size(), 2U);
  const ChannelStatistics s = channel.result(hour + 10'000);
  const DramClocks end = s.clocks;
  EXPECT_NEAR(static_cast<double>(s.refreshes), static_cast<double>(end / c.device.t.REFI), 1.0);
  EXPECT_EQ(s.data + s.activate + s.turnaround + s.refresh + s.idle, s.clocks);
  // Every refresh takes tRFC, the first also the precharge of the open row: none is forgotten, none counted twice.
  const DramClocks beyond = s.refresh - s.refreshes * c.device.t.RFC;
  EXPECT_GE(beyond, 0);
  EXPECT_LE(beyond, c.device.t.RPab + c.device.t.RAS);
  EXPECT_LT(recorder.refreshes, 10) << "idle refreshes are counted, not stepped";
}

TEST(Channel, IdleRefreshesLookTheSameCountedOrStepped) {
  // A second request after k intervals: its latency depends only on where in the interval it arrives.
  for (const DramClocks offset : {0, 5, 300, 598, 599, 600, 5000}) {
    std::vector<DramClocks> latency;
    for (const std::int64_t k : {1, 2, 3, 4, 5, 1000}) {
      Recorder recorder;
      Channel channel(channel_config("LPDDR4-4266"), 0, recorder);
      JedecChecker checker(find_device("LPDDR4-4266"), RefreshKind::all_bank);
      channel.set_observer(&checker);
      Request a, b;
      b.address = 64;
      channel.push(a, 0, 10);
      channel.run_until(500);
      const DramClocks at = k * 8341 + 8341 + offset;
      channel.push(b, 64, at);
      channel.run_until(at + 20'000);
      latency.push_back(b.last_beat - at);
      EXPECT_TRUE(checker.violations().empty()) << checker.text();
      EXPECT_EQ(channel.result(at + 1).refreshes, (at + 1) / 8341);
    }
    for (const DramClocks l : latency) EXPECT_EQ(l, latency.back()) << "offset " << offset;
  }
}

TEST(Channel, IdleRefreshesOfEveryRankAreCounted) {
  for (const int ranks : {1, 2}) {
    Recorder recorder;
    ChannelConfig c = channel_config("LPDDR4-4266");
    c.ranks = ranks;
    if (ranks == 2) c.address_map = c.device.default_map + ",ra:1";
    Channel channel(c, 0, recorder);
    Request request;
    channel.push(request, 0, 10);
    channel.run_until(500);
    Request late;
    late.address = 64;
    channel.push(late, 64, 50 * c.device.t.REFI + 4000);
    channel.run_until(50 * c.device.t.REFI + 5000);
    EXPECT_EQ(channel.result(50 * c.device.t.REFI + 5000).refreshes, 50 * ranks) << ranks << " ranks";
  }
}

TEST(Channel, NoRequestStarves) {
  // One read of another row of the same bank against an endless stream of hits.
  Recorder recorder;
  ChannelConfig c = channel_config("LPDDR4-4266");
  c.device.bursts_per_row = 1 << 12;  // a very long row
  c.device.rows = 1 << 10;
  c.address_map = "off:5,co:12,ba:3,ro:10";
  Channel channel(c, 0, recorder);
  std::deque<Request> requests(2000);
  DramClocks clock = 0;
  Request other;
  other.address = 1U << 20;
  int pushed = 0;
  std::uint64_t next = 0;
  while (other.issued < 0 && clock < 200'000) {
    if (pushed == 10) channel.push(other, other.address, clock);
    if (channel.space(false) > 0 && pushed < 2000) {
      Request& r = requests[static_cast<std::size_t>(pushed)];
      r.address = next % (1 << 17);
      next += 64;
      channel.push(r, r.address, clock);
      ++pushed;
    }
    channel.run_until(clock);
    clock += 8;
  }
  const DramClocks limit = starvation_clocks(c.device, c.queue_depth);
  EXPECT_GT(other.issued, other.arrival + limit / 2) << "the stream should hold it back for a while";
  EXPECT_LE(other.issued, other.arrival + limit + c.device.t.RP + c.device.t.RCD + c.device.t.RFC + 200);
}

TEST(AddressMap, PiecesAndErrors) {
  const Device& d = find_device("LPDDR5-6400");
  const AddressMap c("off:5,co:1,bg:2,co:5,ba:2,ro:15", d);
  const Location at = c.decode(0b101'10'10011'01'1'00000);
  EXPECT_EQ(at.column, 0b100111);
  EXPECT_EQ(at.bank_group, 1);
  EXPECT_EQ(at.bank, 1 * 4 + 2);
  EXPECT_EQ(at.row, 5);
  const auto message = [&](const char* fields) {
    try {
      const AddressMap map(fields, d);
    } catch (const UserError& e) {
      return std::string(e.what());
    }
    return std::string("none");
  };
  EXPECT_EQ(
      message("off:5,xx:2"),
      "dram.address_map = \"off:5,xx:2\": found \"xx:2\", expected NAME:BITS with NAME one of off, bg, co, ba, ro, ra");
  EXPECT_EQ(message("off:5,co:6,ba:3,ro:16"),
            "dram.address_map = \"off:5,co:6,ba:3,ro:16\": field bg has 0 bits, LPDDR5-6400 needs 2 (e.g. "
            "\"off:5,bg:2,co:6,ba:2,ro:15\")");
  EXPECT_EQ(message("bg:2,off:5,co:6,ba:2,ro:15"),
            "dram.address_map = \"bg:2,off:5,co:6,ba:2,ro:15\": the first field must be off, the byte within a burst");
}

TEST(Device, NamesAndTimings) {
  try {
    (void)find_device("LPDDR9");
    FAIL();
  } catch (const UserError& e) {
    EXPECT_STREQ(
        e.what(),
        "dram.device = \"LPDDR9\": expected one of DDR4-3200, LPDDR4-3200, LPDDR4-4266, LPDDR5-6400-8B, LPDDR5-6400");
  }
  Device d = find_device("LPDDR4-3200");
  set_timing(d, "FAW", 128);
  EXPECT_EQ(d.t.FAW, 128);
  EXPECT_THROW(set_timing(d, "tFAW", 1), UserError);
  EXPECT_EQ(d.t.read_to_write(), 24);    // RL 28 + BL 8 + 2 - WL 14
  EXPECT_EQ(d.t.write_to_read_S(), 38);  // WL 14 + BL 8 + WTR 16
  EXPECT_EQ(d.bursts_per_request(), 2);
}

TEST(TraceReader, LinesAndMessages) {
  std::istringstream good("# comment\n- R 0x40\n\n12 W 0X1000 \n");
  TraceReader reader(good, "t.txt");
  TraceRequest r;
  ASSERT_TRUE(reader.next(r));
  EXPECT_EQ(r.clock, -1);
  EXPECT_FALSE(r.write);
  EXPECT_EQ(r.address, 64U);
  ASSERT_TRUE(reader.next(r));
  EXPECT_EQ(r.clock, 12);
  EXPECT_TRUE(r.write);
  EXPECT_FALSE(reader.next(r));
  const auto message = [](const char* text) {
    std::istringstream in(text);
    TraceReader bad(in, "t.txt");
    TraceRequest request;
    try {
      while (bad.next(request)) {
      }
    } catch (const UserError& e) {
      return std::string(e.what());
    }
    return std::string("none");
  };
  EXPECT_EQ(message("- R 0x40\n- X 0x40\n"), "t.txt:2: kind \"X\": expected R or W");
  EXPECT_EQ(message("- R 64\n"), "t.txt:1: address \"64\": expected 0x and hexadecimal digits");
  EXPECT_EQ(message("- R 0x41\n"), "t.txt:1: address \"0x41\": expected a multiple of 64");
  EXPECT_EQ(message("x R 0x40\n"), "t.txt:1: clock \"x\": expected a DRAM clock (a number, at least 0) or -");
  EXPECT_EQ(message("5 R 0x40\n4 R 0x40\n"),
            "t.txt:2: clock \"4\": expected one that is not below that of an earlier line");
  EXPECT_EQ(message("- R 0x40 1\n"), "t.txt:1: text after the address \"1\": expected the end of the line");
  EXPECT_EQ(message("- R\n"), "t.txt:1: address \"\": expected 0x and hexadecimal digits");
}

}  // namespace
}  // namespace tessera::dram
