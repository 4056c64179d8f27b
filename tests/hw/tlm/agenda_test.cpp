// The agenda: order of phases and cycles, what a notification means, far cycles, and events of the kernel in between.
#include "hw/tlm/agenda.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "hw/common/random.hpp"
#include "hw/tlm/clock.hpp"
#include "hw/tlm/kernel.hpp"

namespace tessera::tlm_base {
namespace {

struct Seen {
  Cycles cycle;
  int phase;
  std::string who;
  bool operator==(const Seen& o) const { return std::tie(cycle, phase, who) == std::tie(o.cycle, o.phase, o.who); }
};
std::ostream& operator<<(std::ostream& out, const Seen& s) {
  return out << s.who << " in " << s.cycle << ", phase " << s.phase;
}

/// A process that writes down when it runs, then does `then`.
class Actor {
 public:
  Actor(std::string name, Phase phase, std::vector<Seen>& log)
      : process(Process::of<&Actor::run>(phase, *this)), name_(std::move(name)), log_(log) {}
  Process process;
  std::function<void()> then;

 private:
  void run() {
    log_.push_back({now_cycle(), now_phase(), name_});
    if (then) then();
  }
  std::string name_;
  std::vector<Seen>& log_;
};

/// The same as a process of the SystemC kernel.
class KernelActor : public sc_core::sc_module {
 public:
  SC_HAS_PROCESS(KernelActor);
  KernelActor(const sc_core::sc_module_name& name, std::vector<Seen>& log) : sc_module(name), log_(log) {
    SC_METHOD(run);
    sensitive << event;
    dont_initialize();
  }
  sc_core::sc_event event;
  std::function<void()> then;

 private:
  void run() {
    log_.push_back({now_cycle(), now_phase(), name()});
    if (then) then();
  }
  std::vector<Seen>& log_;
};

TEST(Agenda, PhasesInOrderThenProcessesInOrderOfConstruction) {
  std::vector<Seen> log;
  Simulation simulation;
  Actor commit("commit", kCommit, log), second("b", kEvaluate, log), deliver("deliver", kDeliver, log);
  Actor third("c", kEvaluate, log);
  for (Actor* actor : {&commit, &third, &second, &deliver}) actor->process.notify(4);
  simulation.run();
  EXPECT_EQ(log, (std::vector<Seen>{
                     {4, kDeliver, "deliver"}, {4, kEvaluate, "b"}, {4, kEvaluate, "c"}, {4, kCommit, "commit"}}));
}

TEST(Agenda, OnlyTheEarliestNotificationStands) {
  std::vector<Seen> log;
  Simulation simulation;
  Actor a("a", kEvaluate, log), b("b", kEvaluate, log), far("far", kEvaluate, log);
  a.process.notify(9);
  a.process.notify(7);
  a.process.notify(8);
  b.process.notify(7);
  b.process.cancel();
  b.process.notify(100'000);
  far.process.notify(50'000);
  far.process.cancel();
  simulation.run();
  EXPECT_EQ(log, (std::vector<Seen>{{7, kEvaluate, "a"}, {100'000, kEvaluate, "b"}}));
}

TEST(Agenda, AProcessNotifiesWithinItsCycle) {
  std::vector<Seen> log;
  Simulation simulation;
  Actor commit("commit", kCommit, log), first("first", kEvaluate, log), second("second", kEvaluate, log);
  second.then = [&] {
    if (log.size() == 1) first.process.notify(now_cycle());  // before it in order, and yet in this phase
    commit.process.notify(now_cycle());
    if (now_cycle() < 5) second.process.notify(now_cycle() + 2);
  };
  second.process.notify(3);
  simulation.run();
  EXPECT_EQ(log, (std::vector<Seen>{{3, kEvaluate, "second"},
                                    {3, kEvaluate, "first"},
                                    {3, kCommit, "commit"},
                                    {5, kEvaluate, "second"},
                                    {5, kCommit, "commit"}}));
}

TEST(Agenda, ThePastIsRefused) {
  std::vector<Seen> log;
  Simulation simulation;
  Actor late("late", kDeliver, log), early("early", kDeliver, log);
  late.then = [&] { early.process.notify(now_cycle() - 1); };
  late.process.notify(20);
  EXPECT_THROW(simulation.run(), InternalError);
}

TEST(Agenda, StopEndsTheRunWithThePhase) {
  std::vector<Seen> log;
  Simulation simulation;
  Actor a("a", kDeliver, log), b("b", kDeliver, log), later("later", kEvaluate, log);
  a.then = [] { Agenda::current().stop(); };
  for (Actor* actor : {&a, &b, &later}) actor->process.notify(6);
  simulation.run();
  EXPECT_EQ(log, (std::vector<Seen>{{6, kDeliver, "a"}, {6, kDeliver, "b"}}));
}

// Processes of both kinds wake each other at random distances: time never runs backwards, nobody is early, late or
// lost.
TEST(Agenda, MixesWithEventsOfTheKernel) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::vector<Seen> log;
    std::vector<Seen> expected;
    Random random(seed);
    Simulation simulation;
    std::vector<std::unique_ptr<Actor>> actors;
    std::vector<std::unique_ptr<KernelActor>> kernel;
    for (int i = 0; i < 3; ++i) {
      actors.push_back(std::make_unique<Actor>("agenda" + std::to_string(i), kEvaluate, log));
      kernel.push_back(std::make_unique<KernelActor>(("kernel" + std::to_string(i)).c_str(), log));
    }
    std::vector<bool> waits(6, false);
    int left = 300;
    const auto wake_one = [&] {
      if (left-- <= 0) return;
      const std::size_t i = random.below(6);
      if (waits[i]) return;
      waits[i] = true;
      const bool far = random.below(4) == 0;
      const Cycles at_cycle = now_cycle() + 1 + static_cast<Cycles>(random.below(far ? 500 : 4));
      expected.push_back(
          {at_cycle, i < 3 ? kEvaluate : kCommit, (i < 3 ? "agenda" : "kernel") + std::to_string(i % 3)});
      if (i < 3) {
        actors[i]->process.notify(at_cycle);
      } else {
        notify_at(kernel[i - 3]->event, at_cycle, kCommit);
      }
    };
    const auto act = [&](std::size_t i) {
      return [&, i] {
        waits[i] = false;
        wake_one();
        wake_one();
      };
    };
    for (std::size_t i = 0; i < 3; ++i) {
      actors[i]->then = act(i);
      kernel[i]->then = act(i + 3);
    }
    wake_one();
    simulation.run();
    const auto before = [](const Seen& a, const Seen& b) {
      return std::tie(a.cycle, a.phase) < std::tie(b.cycle, b.phase);
    };
    EXPECT_TRUE(std::is_sorted(log.begin(), log.end(), before)) << "seed " << seed;
    const auto all = [](const Seen& a, const Seen& b) {
      return std::tie(a.cycle, a.phase, a.who) < std::tie(b.cycle, b.phase, b.who);
    };
    std::sort(log.begin(), log.end(), all);
    std::sort(expected.begin(), expected.end(), all);
    EXPECT_EQ(log, expected) << "seed " << seed;
    EXPECT_GT(log.size(), 20u) << "seed " << seed;
  }
}

}  // namespace
}  // namespace tessera::tlm_base
