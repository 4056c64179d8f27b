// ComputeUnit and Sram as SystemC modules with hand-written plans: exact conflict counts, stepped or fast-forwarded.
#include "hw/models/unit/compute_unit.hpp"

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "hw/common/random.hpp"
#include "hw/tlm/clock.hpp"
#include "hw/tlm/kernel.hpp"

namespace tessera::hw {
namespace {

constexpr SramGeometry kGeometry{8, 4, 8};  // 8 banks of 4 lines

/// One access to `line` in every engine cycle of [first, length).
class LinePlan final : public AccessPlan {
 public:
  LinePlan(Cycles length, Cycles first, std::uint32_t line) : length_(length), first_(first), line_(line) {}
  [[nodiscard]] Cycles length() const override { return length_; }
  void accesses(Cycles e, AccessSet& out) override {
    if (e >= first_) out.add(line_, false);
  }
  [[nodiscard]] std::unique_ptr<AccessPlan> clone() const override { return std::make_unique<LinePlan>(*this); }
  [[nodiscard]] BankMask banks() const override { return kGeometry.mask_of_line(line_); }
  [[nodiscard]] bool may_self_conflict() const override { return false; }

 private:
  Cycles length_, first_;
  std::uint32_t line_;
};

/// Up to three accesses a cycle, any lines of some banks; the ports may meet.
class WildPlan final : public AccessPlan {
 public:
  WildPlan(Cycles length, std::uint64_t seed, std::vector<std::uint32_t> banks)
      : length_(length), seed_(seed), banks_(std::move(banks)) {}
  [[nodiscard]] Cycles length() const override { return length_; }
  void accesses(Cycles e, AccessSet& out) override {
    EXPECT_GE(e, reached_);  // calls come in order
    reached_ = e;
    Random random(seed_ + static_cast<std::uint64_t>(e));
    for (std::uint64_t i = random.below(4); i > 0; --i) {
      out.add(banks_[random.below(banks_.size())] * 4 + static_cast<std::uint32_t>(random.below(4)), i == 1);
    }
  }
  [[nodiscard]] std::unique_ptr<AccessPlan> clone() const override { return std::make_unique<WildPlan>(*this); }
  [[nodiscard]] BankMask banks() const override {
    BankMask mask = 0;
    for (const std::uint32_t bank : banks_) mask |= BankMask{1} << bank;
    return mask;
  }
  [[nodiscard]] bool may_self_conflict() const override { return true; }

 private:
  Cycles length_;
  std::uint64_t seed_;
  std::vector<std::uint32_t> banks_;
  Cycles reached_ = 0;
};

struct Job {
  int queue;
  Cycles start;
  Cycles length;
  Cycles first;
  std::uint32_t line;
  std::vector<std::uint32_t> wild;  // banks of a wild plan, seeded by `line`
};

/// Starts jobs at given cycles in place of the command processor.
class Starter : public sc_core::sc_module, public IssueSource {
 public:
  SC_HAS_PROCESS(Starter);
  explicit Starter(const sc_core::sc_module_name& name) : sc_module(name), event_("event") {
    SC_METHOD(on_event);
    sensitive << event_;
    dont_initialize();
  }
  void schedule(const std::vector<Job>& jobs, std::map<int, ComputeUnit*> units) {
    jobs_ = jobs;
    units_ = std::move(units);
    arm(-1);
  }
  void finished(int queue, Cycles finish, const StallCounts& stalls, Bytes) override {
    finishes[queue] = finish;
    conflicts[queue] = stalls[static_cast<std::size_t>(StallCause::sram_bank_conflict)];
  }
  void wake(Cycles) override {}
  void bus_error(int) override {}
  std::map<int, Cycles> finishes, conflicts;

 private:
  void arm(Cycles now) {
    Cycles next = kNever;
    for (const Job& job : jobs_) {
      if (job.start > now) next = std::min(next, job.start);
    }
    if (next < kNever) tlm_base::notify_at(event_, next, tlm_base::kEvaluate);
  }
  void on_event() {
    const Cycles n = tlm_base::now_cycle();
    isa::Instruction instruction;
    instruction.body = isa::Reorder{};
    for (const Job& job : jobs_) {
      if (job.start != n) continue;
      current = &job;
      units_.at(job.queue)->start(instruction, n, 0);
    }
    arm(n);
  }
  std::vector<Job> jobs_;
  std::map<int, ComputeUnit*> units_;
  sc_core::sc_event event_;

 public:
  const Job* current = nullptr;
};

struct Outcome {
  std::map<int, Cycles> finishes, conflicts;
  Cycles stepped = 0;
  Cycles refusals = 0;
};

Outcome run(const std::vector<Job>& jobs, bool no_shortcuts) {
  tlm_base::Simulation simulation;
  Starter starter("starter");
  Sram sram("sram", {no_shortcuts, false, {}});
  std::map<int, std::unique_ptr<ComputeUnit>> units;
  std::map<int, ComputeUnit*> pointers;
  for (const Job& job : jobs) {
    if (units.count(job.queue) != 0) continue;
    units[job.queue] =
        std::make_unique<ComputeUnit>(("unit" + std::to_string(job.queue)).c_str(), job.queue, kGeometry,
                                      [&](const isa::Instruction&) -> std::unique_ptr<AccessPlan> {
                                        const Job& now = *starter.current;
                                        if (!now.wild.empty())
                                          return std::make_unique<WildPlan>(now.length, now.line, now.wild);
                                        return std::make_unique<LinePlan>(now.length, now.first, now.line);
                                      },
                                      sram, starter);
    pointers[job.queue] = units[job.queue].get();
  }
  starter.schedule(jobs, pointers);
  simulation.run();
  Outcome out{starter.finishes, starter.conflicts, 0, sram.refusals()};
  for (const auto& [queue, unit] : units) out.stepped += unit->stepped_cycles();
  return out;
}

TEST(ComputeUnit, PrivateBanksAreNeverStepped) {
  const std::vector<Job> jobs = {{2, 5, 1000, 0, 0, {}}, {5, 9, 500, 0, 4, {}}};
  const Outcome fast = run(jobs, false);
  EXPECT_EQ(fast.finishes, (std::map<int, Cycles>{{2, 5 + 1 + 1000}, {5, 9 + 1 + 500}}));
  EXPECT_EQ(fast.stepped, 0);
  const Outcome full = run(jobs, true);
  EXPECT_EQ(full.finishes, fast.finishes);
  EXPECT_EQ(full.stepped, 1500);
}

TEST(ComputeUnit, TwoUnitsOnOneBankAlternate) {
  // Both want bank 0 from cycle 1 on. Unit 2 is served in 1, 3, .. 19, unit 5 in 2, 4, .. 20.
  const std::vector<Job> jobs = {{2, 0, 10, 0, 0, {}}, {5, 0, 10, 0, 1, {}}};
  for (const bool no_shortcuts : {false, true}) {
    const Outcome out = run(jobs, no_shortcuts);
    EXPECT_EQ(out.finishes, (std::map<int, Cycles>{{2, 20}, {5, 21}}));
    EXPECT_EQ(out.conflicts, (std::map<int, Cycles>{{2, 9}, {5, 10}}));
    EXPECT_EQ(out.refusals, 19);
  }
}

TEST(ComputeUnit, LosesItsPrivacyInTheMiddleAndGetsItBack) {
  // Unit 2 runs alone until unit 5 comes (pop 50, first access 51) with 20 accesses to its bank.
  const std::vector<Job> jobs = {{2, 0, 200, 0, 0, {}}, {5, 50, 20, 0, 1, {}}};
  const Outcome fast = run(jobs, false);
  const Outcome full = run(jobs, true);
  EXPECT_EQ(fast.finishes, full.finishes);
  EXPECT_EQ(fast.conflicts, full.conflicts);
  // 51: unit 2 first (index order), then they take turns: unit 5 is served in 52, 54, .. 90.
  EXPECT_EQ(fast.finishes, (std::map<int, Cycles>{{2, 201 + 20}, {5, 91}}));
  EXPECT_EQ(fast.conflicts, (std::map<int, Cycles>{{2, 20}, {5, 20}}));
  EXPECT_EQ(fast.stepped, 40 + 40);
}

TEST(ComputeUnit, AForwardedUnitCountsForTheRotation) {
  // Unit 2 (private) requests in every cycle, so it is the first requester of each refusal: first := 3 always wins for
  // unit 4.
  const std::vector<Job> jobs = {{2, 0, 100, 0, 0, {}}, {4, 0, 10, 0, 8, {}}, {7, 0, 10, 0, 9, {}}};
  const Outcome fast = run(jobs, false);
  const Outcome full = run(jobs, true);
  EXPECT_EQ(fast.finishes, full.finishes);
  EXPECT_EQ(fast.conflicts, full.conflicts);
  EXPECT_LT(fast.stepped, full.stepped);
}

TEST(ComputeUnit, AloneWithItsOwnConflictsItIsNotStepped) {
  const Outcome fast = run({{2, 5, 3000, 0, 17, {0, 1}}}, false);
  const Outcome full = run({{2, 5, 3000, 0, 17, {0, 1}}}, true);
  EXPECT_EQ(fast.finishes, full.finishes);
  EXPECT_EQ(fast.conflicts, full.conflicts);
  EXPECT_GT(fast.conflicts.at(2), 1000);
  EXPECT_EQ(fast.stepped, 0);
}

// Units come and go, alone and together, with and without conflicts of their own; nothing depends on the shortcuts.
TEST(ComputeUnit, RandomJobsEndInTheSameCyclesWithAndWithoutShortcuts) {
  Cycles stepped = 0, all = 0, refusals = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    std::vector<Job> jobs;
    for (const int queue : {2, 3, 4, 7}) {
      Job job{queue,
              static_cast<Cycles>(random.below(400)),
              1 + static_cast<Cycles>(random.below(1500)),
              static_cast<Cycles>(random.below(50)),
              static_cast<std::uint32_t>(random.below(32)),
              {}};
      for (std::uint64_t i = random.below(4); i > 0; --i) {
        job.wild.push_back(static_cast<std::uint32_t>(random.below(8)));
      }
      jobs.push_back(job);
    }
    const Outcome fast = run(jobs, false);
    const Outcome full = run(jobs, true);
    EXPECT_EQ(fast.finishes, full.finishes) << "seed " << seed;
    EXPECT_EQ(fast.conflicts, full.conflicts) << "seed " << seed;
    EXPECT_EQ(fast.refusals, full.refusals) << "seed " << seed;
    stepped += fast.stepped;
    all += full.stepped;
    refusals += full.refusals;
  }
  EXPECT_LT(stepped, all * 9 / 10);
  EXPECT_GT(refusals, 1000);
}

}  // namespace
}  // namespace tessera::hw
