// The lookahead bound by hand.
#include "compiler/bounds/lookahead.hpp"

#include <gtest/gtest.h>

namespace tessera::compiler {
namespace {

constexpr double kBig = 1e12;

StreamedLayer layer(double bytes, double conv) {
  StreamedLayer l;
  l.bytes = bytes;
  l.cycles[static_cast<std::size_t>(Pool::conv)] = conv;
  return l;
}

hw::StreamRate ten_bytes() {
  hw::StreamRate rate;
  rate.bytes_per_cycle = 10;
  return rate;
}

double bound(const std::vector<StreamedLayer>& layers, double sram) {
  return lookahead_cycles(layers, ten_bytes(), sram, Pool::conv);
}

TEST(Lookahead, AStreamBoundNetworkTakesItsBytes) {
  EXPECT_NEAR(bound({layer(100000, 50), layer(200000, 60)}, kBig), 30000, 1);
}

TEST(Lookahead, WorkWaitsForTheConstantsOfItsLayer) {
  // Layer 1's 10000 cycles of work begin when its first bytes are there, at 10000, and go on behind them.
  EXPECT_NEAR(bound({layer(100000, 0), layer(1000, 10000)}, kBig), 20000, 60);
  // Work of a layer before the wait hides it.
  EXPECT_NEAR(bound({layer(1000, 10000), layer(90000, 0), layer(1000, 100)}, kBig), 10100, 60);
}

TEST(Lookahead, ConstantsArriveOneSramAheadAndNoMore) {
  // Layer 0 uses a byte a cycle, a tenth of the stream; layer 1's bytes are used as they come. When layer 0 is done,
  // one SRAM of layer 1's bytes is there; the rest still comes, 10 a cycle.
  const std::vector<StreamedLayer> layers = {layer(1000000, 1000000), layer(500000, 0)};
  EXPECT_NEAR(bound(layers, kBig), 1000000, 1);
  EXPECT_NEAR(bound(layers, 500000), 1000000, 500);  // the last byte of layer 1 follows the use of byte 1,000,000
  EXPECT_NEAR(bound(layers, 250000), 1025000, 500);  // 250,000 bytes are left when layer 0 is done
  EXPECT_NEAR(bound(layers, 100000), 1040000, 500);
}

TEST(Lookahead, NeverFallsAsTheSramShrinks) {
  const std::vector<StreamedLayer> layers = {layer(30000, 9000), layer(200000, 100), layer(50000, 20000),
                                             layer(400000, 30)};
  double before = 0;
  for (double sram = 1 << 20; sram >= 1 << 10; sram /= 2) {
    const double now = bound(layers, sram);
    EXPECT_GE(now, before - 1e-6) << sram;
    before = now;
  }
}

TEST(Lookahead, HostStepsRunAloneWhileTheStreamGoesOn) {
  StreamedLayer host;
  host.host = 5000;
  EXPECT_NEAR(bound({layer(1000, 300), host, layer(20000, 400)}, kBig), 5800, 110);
}

TEST(Lookahead, EachPoolCountsItsOwnWork) {
  StreamedLayer l = layer(0, 300);
  l.cycles[static_cast<std::size_t>(Pool::edp)] = 700;
  EXPECT_DOUBLE_EQ(lookahead_cycles({l}, ten_bytes(), kBig, Pool::conv), 300);
  EXPECT_DOUBLE_EQ(lookahead_cycles({l}, ten_bytes(), kBig, Pool::edp), 700);
}

}  // namespace
}  // namespace tessera::compiler
