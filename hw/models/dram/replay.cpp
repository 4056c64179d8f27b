#include "hw/models/dram/replay.hpp"

#include <algorithm>
#include <deque>
#include <memory>

#include "hw/common/error.hpp"

namespace tessera::dram {

namespace {

// From the clock after the data to the arrival of the request that waited for them: one register.
constexpr DramClocks kAnswerClocks = 1;

class Replay final : public ChannelListener {
 public:
  Replay(const DramConfig& config, const ReplayOptions& options) : options_(options), dram_(config, *this) {
    dram_.set_observer(options.observer);
  }

  ReplayResult run(const std::function<bool(TraceRequest&)>& next) {
    DramClocks now = 0;
    TraceRequest trace;
    while (next(trace)) {
      now = std::max(now, trace.clock);
      const int channel = dram_.channel_of(trace.address);
      while (dram_.space(channel, trace.write) == 0) now = std::max(now, step() + 1);
      DramClocks asked = now;  // the channel may have run ahead while its last burst waited for a refresh
      while (options_.outstanding > 0 && !trace.write && in_flight_ >= options_.outstanding) {
        if (!ends_.empty()) {
          asked = std::max(asked, ends_.front() + 1 + kAnswerClocks);
          now = std::max(now, asked);
          ends_.pop_front();
          --in_flight_;
        } else {
          now = std::max(now, step() + 1);
        }
      }
      Slot& slot = take();
      Request& request = slot.request;
      request.address = trace.address;
      request.write = trace.write;
      slot.asked = asked;
      dram_.push(request, now);
      ++result_.requests;
      if (!trace.write) ++in_flight_;
    }
    result_.channels = dram_.finish(0);
    for (const ChannelStatistics& channel : result_.channels) result_.clocks = std::max(result_.clocks, channel.clocks);
    result_.bytes = result_.requests * kRequestBytes;
    TESSERA_CHECK(free_.size() == pool_.size(), "requests without an answer: ", pool_.size() - free_.size());
    return result_;
  }

 private:
  struct Slot {
    Request request;
    DramClocks asked = 0;  // clock from which the latency counts
  };

  DramClocks step() {
    const DramClocks clock = dram_.next_event();
    TESSERA_CHECK(clock < kNever, "the memory is idle and full");
    dram_.run_until(clock);
    return clock;
  }
  Slot& take() {
    if (free_.empty()) {
      pool_.push_back(std::make_unique<Slot>());
      pool_.back()->request.user = pool_.back().get();
      free_.push_back(pool_.back().get());
    }
    Slot& slot = *free_.back();
    free_.pop_back();
    return slot;
  }
  void on_issued(Request& request) override {
    Slot& slot = *static_cast<Slot*>(request.user);
    if (!request.write) {
      ++result_.reads;
      result_.read_latency_sum += request.first_burst + 1 - slot.asked;
      if (options_.outstanding > 0) ends_.push_back(request.first_burst);
    }
    free_.push_back(&slot);
  }
  void on_column(int, int, DramClocks) override {}
  void on_refresh_begin(int, DramClocks) override {}
  void on_refresh_end(int, DramClocks) override {}

  const ReplayOptions options_;
  DramSystem dram_;
  ReplayResult result_;
  std::vector<std::unique_ptr<Slot>> pool_;
  std::vector<Slot*> free_;
  std::deque<DramClocks> ends_;  // first bursts of reads under way, in order
  int in_flight_ = 0;
};

}  // namespace

ReplayResult replay(const DramConfig& config, const std::function<bool(TraceRequest&)>& next,
                    const ReplayOptions& options) {
  return Replay(config, options).run(next);
}

}  // namespace tessera::dram
