// From the request FIFOs through the clock crossing to the DRAM channels and back: splits bursts into 64-byte requests,
// arbitrates per channel, counts credits, returns data in order; with a system cache the requests pass its banks first
// (cache_stage.cpp), and background traffic competes for the channels. Cycle rules: README.md of this folder.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "hw/models/cache/cache_core.hpp"
#include "hw/models/dram/dram_system.hpp"
#include "hw/models/interconnect/background.hpp"
#include "hw/models/interconnect/crossing.hpp"
#include "hw/models/interconnect/memory_core.hpp"

namespace tessera::hw {

class DramPath final : private dram::ChannelListener {
 public:
  explicit DramPath(MemoryCore& core);

  /// Arbitration of cycle `now` and everything the channels do that can be seen in it.
  void advance(Cycles now);
  /// Lets the channels run as far as is certain in cycle `now`. Changes no outcome.
  void catch_up(Cycles now);
  [[nodiscard]] Cycles next_event() const;
  [[nodiscard]] Cycles next_delivery(int port) const;
  void delivered(Cycles now, int port);
  /// Another part stands at the head of the port's FIFO.
  void look_at_head(MemoryCore::Port& port) const;
  /// charge(begin, end, cause) for the pieces of [begin, end), owned by the oldest burst of the port.
  template <typename F>
  void causes(int port, Cycles begin, Cycles end, F&& charge) const;
  /// Ends the run: serves posted writes that are still queued, then closes the accounts.
  void results(Cycles end, MemoryResult& result);
  [[nodiscard]] dram::DramSystem& dram() { return dram_; }
  [[nodiscard]] const ClockCrossing& crossing() const { return crossing_; }

 private:
  static constexpr int kNobody = -1;
  static constexpr int kRefreshing = -2;

  struct Fetch;
  /// The share of a burst in one 64-byte request.
  struct Part {
    dram::Request request;    // with a cache: the one that brought its data, once that is known
    Cycles dispatched = 0;    // left the FIFO: to its channel, or into the cache
    Cycles sent = 0;          // its request left for the channel
    Cycles visible = kNever;  // its data stand at the core side
    Fetch* fetch = nullptr;   // cache: what it waits for
    Cycles earliest = 0;      // cache: its data are not visible before
    bool cached = false;      // cache: a hit
    int beats = 0;            // R beats whose last byte it holds
    int beats_done = 0;
  };
  struct PortState {
    Ring<Part> parts;      // of reads, dispatched, oldest first
    Cycles carry = 0;      // a beat wider than a request waits for all of them
    Cycles response = 0;   // B of the burst being dispatched
    bool blocked = false;  // cache: its bank could not take what it offered
  };
  /// A 64-byte read on behalf of the cache.
  struct Fetch {
    dram::Request request;
    bool fills = true;                           // false: bypass
    Cycles sent = kNever;                        // left for its channel
    Cycles visible = kNever;                     // its data stand at the core side
    std::vector<std::pair<int, Part*>> waiting;  // port, part
  };
  /// What the cache sends to a channel, in order.
  struct Outgoing {
    std::uint64_t address;
    int port;      // on whose behalf
    Fetch* fetch;  // nullptr: a write
    Cycles ready;  // first cycle in which it may go
  };
  struct CacheBank {
    int first = 0;  // round robin
    int candidate = kNobody;
  };
  struct ChannelState {
    std::array<int, 2> credits{};
    std::array<std::deque<Cycles>, 2> returns;  // credits on their way back, by the cycle in which they count
    StateHistory history{kNobody};              // in DRAM clocks: port served last, or refresh
    int server = kNobody;                       // port served last
    int first = 0;                              // round robin
    int candidate = kNobody;                    // in this cycle, while ports and sources offer
    std::deque<Outgoing> outgoing;              // with a cache
  };

  [[nodiscard]] Bytes head_part_bytes(const Burst& burst) const;
  void take_credits(Cycles now);
  void offer(ChannelState& channel, int index, bool write) const;
  void dispatch(Cycles now, int port_index, ChannelState& channel);
  void dispatch_background(Cycles now, BackgroundSource& source, int index, ChannelState& channel);
  void begin_part(Cycles now, MemoryCore::Port& port, int port_index);
  void end_part(Cycles now, MemoryCore::Port& port, PortState& state, int channel, Bytes bytes);
  [[nodiscard]] dram::Request* take_write();
  [[nodiscard]] StallCause contention(int port, int by) const;
  // cache_stage.cpp
  void release_fetches(Cycles now);
  void dispatch_outgoing(Cycles now, ChannelState& channel);
  void offer_to_banks(Cycles now);
  [[nodiscard]] bool accept(Cycles now, int port_index);
  void send(Cycles now, std::uint64_t address, int port, Fetch* fetch);
  [[nodiscard]] Fetch* take_fetch(int port, std::uint64_t address, bool fills);
  void fetch_issued(Fetch& fetch);
  void cache_results(MemoryResult& result) const;
  void settle(PortState& state);
  void forget();
  template <typename F>
  void queued_causes(int port, int channel, Cycles begin, Cycles end, F&& charge) const;

  void on_issued(dram::Request& request) override;
  void on_column(int channel, int source, DramClocks clock) override;
  void on_refresh_begin(int channel, DramClocks begin) override;
  void on_refresh_end(int channel, DramClocks end) override;

  MemoryCore& core_;
  const ClockCrossing crossing_;
  dram::DramSystem dram_;
  std::vector<PortState> ports_;
  std::vector<ChannelState> channels_;
  Cycles next_return_ = kNever;                        // no credit comes back before
  std::deque<std::unique_ptr<dram::Request>> writes_;  // posted: outlive their burst
  std::vector<dram::Request*> free_writes_;
  std::vector<BackgroundSource> sources_;
  std::unique_ptr<CacheCore> cache_;  // null: none
  std::vector<CacheBank> cache_banks_;
  std::vector<std::unique_ptr<Fetch>> fetches_;
  std::vector<Fetch*> free_fetches_;
  std::map<std::uint64_t, Fetch*> filling_;      // by sector
  std::multimap<Cycles, Fetch*> releases_;       // fills, by the cycle in which their data are there
  std::vector<CacheStreamResult> stream_stats_;  // by manager
  Bytes cache_fetched_ = 0, cache_written_ = 0;
  Cycles now_ = -1;
};

// Cycles in which a request waits to be served: by what its channel did in the DRAM clock that runs at their begin.
template <typename F>
void DramPath::queued_causes(int port, int channel, Cycles begin, Cycles end, F&& charge) const {
  if (begin >= end) return;
  const StateHistory& history = channels_[static_cast<std::size_t>(channel)].history;
  history.for_pieces(crossing_.clock_in(begin), crossing_.clocks_at(end),
                     [&](DramClocks from, DramClocks to, int state) {
                       const Cycles a = std::max(begin, crossing_.cycle_at(from));
                       const Cycles b = std::min(end, crossing_.cycle_at(to));
                       if (a >= b) return;
                       const StallCause cause = state == kRefreshing ? StallCause::dram_refresh
                                                : state == kNobody   ? StallCause::dram_latency
                                                                     : contention(port, state);
                       charge(a, b, cause);
                     });
}

template <typename F>
void DramPath::causes(int port_index, Cycles begin, Cycles end, F&& charge) const {
  const MemoryCore::Port& port = core_.ports_[static_cast<std::size_t>(port_index)];
  const PortState& state = ports_[static_cast<std::size_t>(port_index)];
  const Burst& burst = port.bursts.front();
  const bool whole = static_cast<std::size_t>(port.fifo_count) < port.bursts.size();  // all its requests are dispatched
  const auto piece = [&](Cycles from, Cycles to, StallCause cause) {
    from = std::max(from, begin);
    to = std::min(to, end);
    if (from < to) charge(from, to, cause);
  };
  const auto queued = [&](int channel, Cycles from, Cycles to) {
    queued_causes(port_index, channel, std::max(from, begin), std::min(to, end), charge);
  };
  piece(burst.handshake, burst.handshake + 1, StallCause::dram_latency);
  const Cycles first = burst.handshake + 1;
  if (burst.write) {
    piece(first, burst.w_end + 1, StallCause::dram_bandwidth);
    queued(whole ? burst.channel : port.head_channel, burst.w_end + 1, whole ? burst.granted : end);
    if (whole) piece(std::max(burst.granted, burst.w_end + 1), end, StallCause::dram_latency);
    return;
  }
  if (state.parts.empty()) {
    queued(port.head_channel, first, end);
    return;
  }
  const Part& part = state.parts.front();
  const dram::Request& request = part.fetch != nullptr ? part.fetch->request : part.request;
  const Cycles sent = part.fetch != nullptr ? part.fetch->sent : part.sent;
  queued(part.request.channel, first, part.dispatched);
  begin = std::max(begin, part.dispatched);
  if (part.cached) {
    piece(first, part.visible, StallCause::dram_latency);
    piece(part.visible, end, StallCause::dram_bandwidth);
    return;
  }
  queued(request.channel, first, sent);
  if (sent >= kNever) return;
  const Cycles arrival = crossing_.cycle_at(request.arrival);
  piece(std::max(first, sent), arrival, StallCause::dram_latency);
  // The channel's own record of the request.
  dram::WaitState wait = dram::WaitState::queued;
  Cycles from = arrival;
  for (int i = 0; i <= request.log_size; ++i) {
    const bool more = i < request.log_size;
    const auto& change = request.log[static_cast<std::size_t>(more ? i : 0)];
    const Cycles to = std::min(more ? crossing_.cycle_at(change.clock) : kNever, part.visible);
    switch (wait) {
      case dram::WaitState::queued:
        queued(request.channel, from, to);
        break;
      case dram::WaitState::opening: {
        const auto opening = [&](Cycles a, Cycles b, StallCause cause) {
          charge(a, b, cause == StallCause::dram_refresh ? cause : StallCause::dram_row_miss);
        };
        queued_causes(port_index, request.channel, std::max(from, begin), std::min(to, end), opening);
        break;
      }
      case dram::WaitState::refresh:
        piece(from, to, StallCause::dram_refresh);
        break;
      case dram::WaitState::flight:
        piece(from, to, StallCause::dram_latency);
        break;
    }
    from = std::max(from, to);
    if (more) wait = change.state;
  }
  piece(part.visible, end, StallCause::dram_bandwidth);
}

}  // namespace tessera::hw
