#include "hw/reference/order.hpp"

#include "hw/common/error.hpp"

namespace tessera::reference {

namespace {

constexpr std::int32_t kSemaphoreMax = 255;

/// Runs whatever can run, up to a limit of instructions a queue.
class Runner {
 public:
  explicit Runner(const Section& section)
      : section_(section), state_(section), limit_(section.queues().size(), UINT32_MAX) {
    for (std::uint32_t q = 0; q < limit_.size(); ++q) pending_.push_back(q);
  }
  [[nodiscard]] SectionState& state() { return state_; }
  [[nodiscard]] std::uint32_t limit(std::uint32_t queue) const { return limit_[queue]; }
  void set_limit(std::uint32_t queue, std::uint32_t instructions) {
    limit_[queue] = instructions;
    pending_.push_back(queue);
  }
  void run() {
    while (!pending_.empty()) {
      const std::uint32_t q = pending_.back();
      pending_.pop_back();
      while (state_.head(q) < limit_[q] && state_.can_start(q)) step(q);
    }
  }
  void step(std::uint32_t q) {
    const InstructionId id{q, state_.head(q)};
    state_.run_head(q);
    for (const SemaphoreUse& signal : section_.signals(id)) {
      const std::uint32_t waiter = section_.waiter(signal.semaphore);
      if (waiter != Section::kNoQueue && waiter != q) pending_.push_back(waiter);
    }
  }

 private:
  const Section& section_;
  SectionState state_;
  std::vector<std::uint32_t> limit_;
  std::vector<std::uint32_t> pending_;
};

}  // namespace

HappensBefore::HappensBefore(const Section& section) : queues_(section.queues().size()), need_(queues_) {
  for (std::uint32_t c = 0; c < queues_; ++c) {
    const auto length = static_cast<std::uint32_t>(section.queues()[c].stream.size());
    need_[c].assign(length * queues_, 0);
    for (std::uint32_t a = 0; a < queues_; ++a) {
      if (a == c) continue;
      Runner runner(section);
      runner.set_limit(a, 0);
      for (std::uint32_t i = 0; i < length; ++i) {
        runner.set_limit(c, i);
        runner.run();
        while (!runner.state().can_start(c)) {
          TESSERA_CHECK(!runner.state().done(a) && runner.state().head(a) == runner.limit(a), "section ",
                        section.name(), " does not complete");
          runner.set_limit(a, runner.limit(a) + 1);
          runner.run();
        }
        need_[c][i * queues_ + a] = runner.limit(a);
        runner.step(c);
      }
    }
  }
}

void check_semaphore_overflow(const Section& section) {
  // With its waiting queue held at an instruction and everything else run, a semaphore is as high as it can be there.
  const auto queues = static_cast<std::uint32_t>(section.queues().size());
  for (std::uint32_t c = 0; c < queues; ++c) {
    std::vector<std::uint32_t> own;
    for (std::uint32_t s = 0; s < section.semaphores(); ++s) {
      if (section.waiter(s) == c) own.push_back(s);
    }
    if (own.empty()) continue;
    Runner runner(section);
    const auto length = static_cast<std::uint32_t>(section.queues()[c].stream.size());
    for (std::uint32_t i = 0; i < length; ++i) {
      runner.set_limit(c, i);
      runner.run();
      for (const std::uint32_t s : own) {
        if (runner.state().value(s) <= kSemaphoreMax) continue;
        throw ProgramError(detail::concat("fault semaphore_overflow: section ", section.name(), ": ",
                                          section.semaphore_text(s), " can reach ", runner.state().value(s), " before ",
                                          section.text({c, i}), " takes from it: expected at most ", kSemaphoreMax));
      }
      if (!runner.state().can_start(c)) return;  // stuck; the executor says why
      runner.step(c);
    }
  }
}

}  // namespace tessera::reference
