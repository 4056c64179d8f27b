// Test managers on MemoryCore: each port keeps up to `outstanding` bursts in flight and issues as early as allowed.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "hw/models/interconnect/memory_core.hpp"

namespace tessera::hw::test {

struct Traffic {
  int port = 1;
  bool write = false;
  int outstanding = 1;
  int bursts = 1;  // issued in all
  int beats = 1;
  std::uint64_t base = 0;
  std::uint64_t stride = 64;
  int wrap = 1 << 30;  // bursts after which the addresses begin again
  Cycles begin = 0;
};

class Managers : public MemoryListener {
 public:
  explicit Managers(const MemoryConfig& config) : core(config, *this) {}

  void add(const Traffic& traffic) { states_[traffic.port].traffic = traffic; }

  /// Runs until all bursts have their response; returns the cycle of the last one.
  Cycles run(bool reverse_order = false, Cycles limit = 10'000'000) {
    std::vector<int> order;
    for (const auto& [port, state] : states_) order.push_back(port);
    if (reverse_order) order = {order.rbegin(), order.rend()};
    for (cycle = 0; cycle < limit; ++cycle) {
      if (core.next_event() <= cycle) core.advance(cycle);
      if (ask_every_cycle) {
        for (const int port : order) {
          (void)core.totals(cycle, port);
          (void)core.cause_of(cycle, port);
        }
      }
      if (every_cycle) every_cycle(cycle);
      bool done = true;
      for (const int port : order) {
        State& s = states_[port];
        issue(port, s);
        done = done && s.responses == s.traffic.bursts;
      }
      if (done && core.idle()) return cycle;
    }
    ADD_FAILURE() << "not finished after " << limit << " cycles";
    return -1;
  }

  void on_accept(int port, void*) override {
    states_[port].held = false;
    states_[port].handshakes.push_back(cycle);
  }
  void on_beat(int port, void* user) override { beat(port, user); }
  void on_response(int port, void* user) override {
    beat(port, user);
    State& s = states_[port];
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(user), static_cast<std::uintptr_t>(s.responses + 1))
        << "order of port " << port;
    ++s.responses;
    s.last.push_back(cycle);
  }

  const std::vector<Cycles>& handshakes(int port) { return states_[port].handshakes; }
  const std::vector<Cycles>& last(int port) { return states_[port].last; }
  const std::vector<Cycles>& beats(int port) { return states_[port].beats; }
  int refusals(int port) { return states_[port].refusals; }

  MemoryCore core;
  Cycles cycle = 0;
  bool ask_every_cycle = false;
  std::function<void(Cycles)> every_cycle;

 private:
  struct State {
    Traffic traffic;
    int issued = 0;
    int responses = 0;
    bool held = false;
    std::vector<Cycles> handshakes, last, beats;
    int refusals = 0;
  };
  void beat(int port, void*) { states_[port].beats.push_back(cycle); }
  void issue(int port, State& s) {
    if (s.held || s.issued == s.traffic.bursts || s.issued - s.responses >= s.traffic.outstanding) return;
    if (cycle < s.traffic.begin || (!s.handshakes.empty() && s.handshakes.back() == cycle)) return;
    BurstRequest r;
    r.address = s.traffic.base + static_cast<std::uint64_t>(s.issued % s.traffic.wrap) * s.traffic.stride;
    r.beats = s.traffic.beats;
    r.write = s.traffic.write;
    ++s.issued;
    r.user = reinterpret_cast<void*>(static_cast<std::uintptr_t>(s.issued));
    if (core.request(cycle, port, r)) {
      s.handshakes.push_back(cycle);
    } else {
      s.held = true;
      ++s.refusals;
    }
  }
  std::map<int, State> states_;
};

}  // namespace tessera::hw::test
