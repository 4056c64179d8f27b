#include "compiler/allocate/sram_space.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "hw/common/error.hpp"
#include "hw/common/random.hpp"

namespace tessera::compiler {
namespace {

TEST(SramSpace, LowTakesTheLowestHole) {
  SramSpace space(100, 100);
  const LineRange a = space.take(30, Fit::low);
  const LineRange b = space.take(30, Fit::low);
  EXPECT_EQ(a.first, 0);
  EXPECT_EQ(b.first, 30);
  space.release(a, 1);
  EXPECT_EQ(space.take(20, Fit::low).first, 0);
  EXPECT_EQ(space.take(20, Fit::low).first, 60);
}

TEST(SramSpace, OldestGoesRoundLikeARing) {
  SramSpace space(100, 100);
  std::vector<std::int64_t> places;
  for (int i = 0; i < 6; ++i) {
    const LineRange r = space.take(33, Fit::oldest);
    places.push_back(r.first);
    space.release(r, i);
  }
  // Three places, each reused only when the other two are younger.
  EXPECT_EQ(places[0], places[3]);
  EXPECT_EQ(places[1], places[4]);
  EXPECT_EQ(places[2], places[5]);
  EXPECT_NE(places[0], places[1]);
  EXPECT_NE(places[1], places[2]);
}

TEST(SramSpace, NoRoomIsMinusOneAndTakesNothing) {
  SramSpace space(64, 16);
  const LineRange a = space.take(40, Fit::low);
  EXPECT_EQ(space.take(25, Fit::oldest).first, -1);
  EXPECT_EQ(space.free_lines(), 24);
  space.release(a, 0);
  EXPECT_EQ(space.largest_free(), 64);
}

TEST(SramSpace, LargeRangesStartOnABank) {
  SramSpace space(64, 16);
  const LineRange a = space.take(5, Fit::oldest);
  const LineRange b = space.take(16, Fit::oldest);
  EXPECT_EQ(a.first, 0);
  EXPECT_EQ(b.first % 16, 0);
}

TEST(SramSpace, HalvesBeginBanksWhereThatCostsNone) {
  SramSpace space(64, 16);
  EXPECT_EQ(space.take(8, Fit::apart, {-1, 0}, 4).first, 12);
  EXPECT_EQ(space.take(10, Fit::apart, {-1, 0}, 6).first, 42);
  EXPECT_EQ(space.take(10, Fit::apart, {-1, 0}, 6).first, 0) << "in one bank that something shares, not in two";
}

TEST(SramSpace, AsideLeavesTheBanksOfMapsAlone) {
  SramSpace space(64, 16);
  const LineRange map = space.take(4, Fit::apart);
  EXPECT_EQ(map.first, 0);
  EXPECT_EQ(space.take(4, Fit::oldest).first, 4);
  const LineRange first = space.take(4, Fit::aside);
  EXPECT_EQ(first.first, 16);
  space.release(first, 1);
  // What was never used comes before the banks: LOAD need not wait for it.
  EXPECT_EQ(space.take(4, Fit::aside).first, 20);
  EXPECT_EQ(space.take(24, Fit::oldest).first, 32);
  EXPECT_EQ(space.take(4, Fit::aside).first, 8) << "most is taken: what is oldest, wherever it lies";
}

/// Where three ranges go of which the first is released at once, and three more when all banks hold one.
std::vector<std::int64_t> places(BankChoice choice, Fit fit) {
  SramSpace space(64, 16, choice);
  std::vector<std::int64_t> out;
  const LineRange first = space.take(4, fit);
  space.release(first, 1);
  out.push_back(first.first);
  for (int i = 0; i < 5; ++i) out.push_back(space.take(4, fit).first);
  return out;
}

TEST(SramSpace, OfRangesAsOldTheEmptierBankIsTakenIfWished) {
  for (const Fit fit : {Fit::oldest, Fit::aside}) {
    EXPECT_EQ(places(BankChoice::any, fit), (std::vector<std::int64_t>{0, 4, 8, 12, 16, 20}));
    // Nothing lies in the first bank any more: the second range begins behind what was used. Then bank by bank.
    EXPECT_EQ(places(BankChoice::emptier, fit), (std::vector<std::int64_t>{0, 4, 16, 32, 48, 8}));
    // The first bank was used, the others never.
    EXPECT_EQ(places(BankChoice::rested, fit), (std::vector<std::int64_t>{0, 16, 32, 48, 4, 20}));
  }
}

TEST(SramSpace, AgeComesBeforeTheBank) {
  for (const BankChoice choice : {BankChoice::emptier, BankChoice::rested}) {
    SramSpace space(32, 16, choice);
    const LineRange a = space.take(14, Fit::oldest), b = space.take(14, Fit::oldest);
    EXPECT_EQ(b.first, 16);
    ASSERT_GE(space.take(2, Fit::oldest).first, 0);
    ASSERT_GE(space.take(2, Fit::oldest).first, 0);
    space.release(b, 1);
    space.release(a, 2);
    EXPECT_EQ(space.take(14, Fit::oldest).first, 16) << "LOAD would wait longer for the other";
  }
}

TEST(SramSpace, RandomUseNeverOverlaps) {
  Random random(3);
  for (const BankChoice choice : {BankChoice::any, BankChoice::emptier, BankChoice::rested}) {
    SramSpace space(257, 32, choice);
    std::vector<LineRange> held;
    std::vector<int> owner(257, 0);
    for (int i = 1; i < 3000; ++i) {
      if (!held.empty() && random.chance(1, 2)) {
        const std::size_t k = random.below(held.size());
        for (std::int64_t l = 0; l < held[k].lines; ++l) owner[static_cast<std::size_t>(held[k].first + l)] = 0;
        space.release(held[k], i);
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(k));
        continue;
      }
      const LineRange r = space.take(random.between(1, 60), random.chance(1, 2) ? Fit::low : Fit::oldest);
      if (r.first < 0) continue;
      for (std::int64_t l = 0; l < r.lines; ++l) {
        ASSERT_EQ(owner[static_cast<std::size_t>(r.first + l)], 0);
        owner[static_cast<std::size_t>(r.first + l)] = i;
      }
      held.push_back(r);
    }
  }
}

TEST(SramSpace, ReleasingTwiceIsABug) {
  SramSpace space(10, 10);
  const LineRange r = space.take(4, Fit::low);
  space.release(r, 0);
  EXPECT_THROW(space.release(r, 1), InternalError);
}

TEST(SramSpace, ApartTakesBanksOfItsOwnWhileThereAreAny) {
  SramSpace space(32, 8);
  EXPECT_EQ(space.take(3, Fit::apart).first, 0);
  EXPECT_EQ(space.take(9, Fit::apart).first, 8);   // banks 1 and 2
  EXPECT_EQ(space.take(2, Fit::apart).first, 24);  // bank 3
  EXPECT_EQ(space.take(4, Fit::apart).first, 3);   // one bank is shared wherever it lies: the lowest
  EXPECT_EQ(space.take(7, Fit::apart).first, 17);  // bank 2 alone, rather than two banks
  EXPECT_EQ(space.take(7, Fit::apart).first, -1);
}

}  // namespace
}  // namespace tessera::compiler
