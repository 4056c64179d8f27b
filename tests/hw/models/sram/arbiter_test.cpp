// Hand-computed sequences for the rules of hw/models/sram/README.md.
#include "hw/models/sram/arbiter.hpp"

#include <gtest/gtest.h>

namespace tessera::hw {
namespace {

std::array<BankMask, kSramPorts> requests(std::initializer_list<std::pair<int, BankMask>> list) {
  std::array<BankMask, kSramPorts> out{};
  for (const auto& [port, banks] : list) out[static_cast<std::size_t>(port)] = banks;
  return out;
}

TEST(SramArbiter, DisjointBanksAreAllGrantedAndKeepTheOrder) {
  SramArbiter arbiter;
  const SramDecision d = arbiter.decide(requests({{0, 0b0001}, {2, 0b0110}, {9, 0b1000}}));
  EXPECT_EQ(d.granted, 0b10'0000'0101);
  EXPECT_EQ(d.refused, 0);
  EXPECT_EQ(arbiter.state().first, 0);
}

TEST(SramArbiter, AllOrNoneAndTheRefusedPortLeavesItsFreeBanksToOthers) {
  SramArbiter arbiter;
  // Port 2 meets port 0 in bank 0, so bank 1 stays free for port 3.
  const SramDecision d = arbiter.decide(requests({{0, 0b01}, {2, 0b11}, {3, 0b10}}));
  EXPECT_EQ(d.granted, 0b1001);
  EXPECT_EQ(d.refused, 0b0100);
  EXPECT_EQ(arbiter.state().first, 1);  // port 0 was the first that requested
}

TEST(SramArbiter, TwoPortsOnOneBankAlternate) {
  SramArbiter arbiter;
  const auto both = requests({{2, 1}, {5, 1}});
  EXPECT_EQ(arbiter.decide(both).granted, 1 << 2);  // order 0..9: 2 first; first := 3
  EXPECT_EQ(arbiter.state().first, 3);
  EXPECT_EQ(arbiter.decide(both).granted, 1 << 5);  // order 3..2: 5 first; first := 6
  EXPECT_EQ(arbiter.state().first, 6);
  EXPECT_EQ(arbiter.decide(both).granted, 1 << 2);  // order 6..5: 2 first
  EXPECT_EQ(arbiter.state().first, 3);
}

TEST(SramArbiter, RotationCountsTheFirstRequesterEvenIfItMetNobody) {
  SramArbiter arbiter;
  const SramDecision d = arbiter.decide(requests({{1, 0b100}, {2, 1}, {5, 1}}));
  EXPECT_EQ(d.granted, (1 << 1) | (1 << 2));
  EXPECT_EQ(d.refused, 1 << 5);
  EXPECT_EQ(arbiter.state().first, 2);  // port 1, although not in conflict
}

TEST(SramArbiter, AFastForwardedPortCountsForTheRotationOnlyAfterARefusal) {
  SramArbiter stepped, forwarded;
  int asked = 0;
  const auto port1 = [&](int port) {
    ++asked;
    return port == 1;
  };
  (void)forwarded.decide(requests({{2, 1}}), port1);
  EXPECT_EQ(asked, 0);
  (void)forwarded.decide(requests({{2, 1}, {5, 1}}), port1);
  (void)stepped.decide(requests({{1, 0b100}, {2, 1}, {5, 1}}));
  EXPECT_EQ(forwarded.state().first, stepped.state().first);
}

TEST(SramArbiter, RotationWrapsAround) {
  SramArbiter arbiter;
  (void)arbiter.decide(requests({{8, 1}, {9, 1}}));  // first := 9
  const SramDecision d = arbiter.decide(requests({{0, 1}, {9, 1}}));
  EXPECT_EQ(d.granted, 1 << 9);
  EXPECT_EQ(arbiter.state().first, 0);
}

TEST(SramArbiter, ThreePortsAreServedWithinThreeCycles) {
  SramArbiter arbiter;
  PortMask waiting = 0b111;
  for (int cycle = 0; cycle < 3; ++cycle) {
    std::array<BankMask, kSramPorts> all{};
    for (std::size_t p = 0; p < 3; ++p) all[p] = (waiting >> p & 1) != 0 ? 1 : 0;
    waiting = static_cast<PortMask>(waiting & ~arbiter.decide(all).granted);
  }
  EXPECT_EQ(waiting, 0);
}

}  // namespace
}  // namespace tessera::hw
