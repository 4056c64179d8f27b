// Cycle rules of hw/models/unit/README.md on hand-written plans.
#include "hw/models/unit/rigid_unit.hpp"

#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "hw/common/random.hpp"

namespace tessera::hw {
namespace {

/// Lines of every engine cycle, written out.
class ListPlan final : public AccessPlan {
 public:
  explicit ListPlan(std::vector<std::vector<std::uint32_t>> cycles) : cycles_(std::move(cycles)) {}
  [[nodiscard]] Cycles length() const override { return static_cast<Cycles>(cycles_.size()); }
  void accesses(Cycles e, AccessSet& out) override {
    for (const std::uint32_t line : cycles_[static_cast<std::size_t>(e)]) out.add(line, false);
  }
  [[nodiscard]] std::unique_ptr<AccessPlan> clone() const override { return std::make_unique<ListPlan>(*this); }
  [[nodiscard]] BankMask banks() const override { return ~BankMask{0}; }
  [[nodiscard]] bool may_self_conflict() const override { return true; }

 private:
  std::vector<std::vector<std::uint32_t>> cycles_;
};

constexpr SramGeometry kGeometry{8, 4, 4};  // 4 banks of 4 lines

/// Steps with grants from the list (then always granted); returns the finish cycle.
Cycles finish_of(RigidUnit& unit, const std::vector<bool>& grants, std::vector<BankMask>* seen = nullptr) {
  std::size_t i = 0;
  while (true) {
    const BankMask request = unit.request();
    if (seen != nullptr) seen->push_back(request);
    const bool granted = i < grants.size() ? grants[i] : true;
    ++i;
    if (unit.commit(granted)) return unit.state().next;
  }
}

TEST(RigidUnit, FinishesOneCycleAfterItsLastEngineCycle) {
  RigidUnit unit(kGeometry);
  unit.start(10, std::make_unique<ListPlan>(std::vector<std::vector<std::uint32_t>>{{0}, {}, {4}}));
  EXPECT_EQ(unit.finish_if_unrefused(), 14);  // s + 1 + length
  std::vector<BankMask> seen;
  EXPECT_EQ(finish_of(unit, {}, &seen), 14);
  EXPECT_EQ(seen, (std::vector<BankMask>{1, 0, 2}));
  EXPECT_EQ(unit.state().conflicts, 0);
}

TEST(RigidUnit, NopTakesItsCycles) {
  for (const Cycles cycles : {1, 2, 5}) {
    RigidUnit unit(kGeometry);
    unit.start_nop(7, cycles);
    EXPECT_EQ(unit.finish_if_unrefused(), 7 + cycles);
    EXPECT_EQ(unit.state().active, cycles > 1);
    if (cycles > 1) {
      EXPECT_EQ(finish_of(unit, {}), 7 + cycles);
    }
  }
}

TEST(RigidUnit, ARefusalFreezesExactlyOneCycle) {
  RigidUnit unit(kGeometry);
  unit.start(0, std::make_unique<ListPlan>(std::vector<std::vector<std::uint32_t>>{{0}, {4}, {8}}));
  EXPECT_EQ(finish_of(unit, {true, false, false, true}), 6);  // 1 + 3 + 2 refusals
  EXPECT_EQ(unit.state().conflicts, 2);
}

TEST(RigidUnit, ARefusalWithoutRequestCostsNothing) {
  RigidUnit unit(kGeometry);
  unit.start(0, std::make_unique<ListPlan>(std::vector<std::vector<std::uint32_t>>{{}, {}}));
  EXPECT_EQ(finish_of(unit, {false, false}), 3);
}

TEST(RigidUnit, PortsThatMeetOnABankTakeSubCycles) {
  RigidUnit unit(kGeometry);
  // Lines 0, 1, 3 lie in bank 0, line 5 in bank 1, so: {0, 1}, {0}, {0}.
  unit.start(0, std::make_unique<ListPlan>(std::vector<std::vector<std::uint32_t>>{{0, 5, 1, 3}}));
  std::vector<BankMask> seen;
  EXPECT_EQ(finish_of(unit, {}, &seen), 4);
  EXPECT_EQ(seen, (std::vector<BankMask>{0b11, 0b01, 0b01}));
  EXPECT_EQ(unit.state().conflicts, 2);
}

TEST(RigidUnit, ARefusedSubCycleIsRepeated) {
  RigidUnit unit(kGeometry);
  unit.start(0, std::make_unique<ListPlan>(std::vector<std::vector<std::uint32_t>>{{0, 1}}));
  EXPECT_EQ(finish_of(unit, {true, false, true}), 4);
  EXPECT_EQ(unit.state().conflicts, 2);
}

TEST(RigidUnit, FastForwardEqualsStepping) {
  std::vector<std::vector<std::uint32_t>> lines;
  for (std::uint32_t i = 0; i < 20; ++i)
    lines.push_back(i % 3 == 0 ? std::vector<std::uint32_t>{} : std::vector<std::uint32_t>{i % 16});
  RigidUnit stepped(kGeometry), forwarded(kGeometry);
  stepped.start(3, std::make_unique<ListPlan>(lines));
  forwarded.start(3, std::make_unique<ListPlan>(lines));
  for (Cycles n = 4; n < 12; ++n) {
    EXPECT_EQ(forwarded.requests_in(n), stepped.request() != 0) << n;
    (void)stepped.commit(true);
  }
  EXPECT_FALSE(forwarded.advance_to(12));
  EXPECT_EQ(forwarded.state().engine, stepped.state().engine);
  EXPECT_EQ(forwarded.request(), stepped.request());
  EXPECT_TRUE(forwarded.advance_to(24));
  EXPECT_FALSE(forwarded.state().active);
}

TEST(RigidUnit, ACloneWalksAheadAsIfStepped) {
  Random random(5);
  std::vector<std::vector<std::uint32_t>> lines(40);
  for (auto& cycle : lines) {
    for (std::uint64_t i = random.below(4); i > 0; --i) cycle.push_back(static_cast<std::uint32_t>(random.below(16)));
  }
  RigidUnit stepped(kGeometry);
  stepped.start(0, std::make_unique<ListPlan>(lines));
  for (Cycles n = 1; stepped.state().active; ++n) {
    // From every state, also inside an engine cycle, to every later one.
    for (Cycles to = n; to < n + 100; to += 7) {
      RigidUnit copy = stepped.clone(), slow = stepped.clone();
      const bool ends = copy.walk_to(to);
      EXPECT_EQ(ends, !copy.state().active);
      while (slow.state().active && slow.state().next < to) (void)slow.commit(true);
      EXPECT_EQ(copy.state().next, slow.state().next);
      EXPECT_EQ(copy.state().engine, slow.state().engine);
      EXPECT_EQ(copy.state().sub, slow.state().sub);
      EXPECT_EQ(copy.state().conflicts, slow.state().conflicts);
      EXPECT_EQ(copy.request(), slow.request());
    }
    EXPECT_EQ(stepped.state().next, n);  // the copies went their own way
    (void)stepped.commit(random.below(4) != 0);
  }
  EXPECT_GT(stepped.state().conflicts, 10);
}

TEST(SramGeometry, BanksAreContiguousRanges) {
  EXPECT_EQ(kGeometry.mask_of_bytes(0, 32), 0b0001u);
  EXPECT_EQ(kGeometry.mask_of_bytes(31, 33), 0b0011u);
  EXPECT_EQ(kGeometry.mask_of_bytes(40, 128), 0b1110u);
  EXPECT_EQ(kGeometry.mask_of_bytes(40, 40), 0u);
}

}  // namespace
}  // namespace tessera::hw
