// Which units get their SRAM banks in a cycle (MACHINE.md section 4): rotating order, all or none. The clocked core of
// the scratchpad, no SystemC. Leaves out: data, read latency (the units' own), who is asked (hw/models/unit).
#pragma once

#include <array>
#include <cstdint>

#include "hw/common/units.hpp"

namespace tessera::hw {

/// Port index = isa::QueueId of the unit; absent units never request, which leaves the order of the others unchanged.
inline constexpr int kSramPorts = 10;
using PortMask = std::uint16_t;

struct SramArbiterState {
  int first = 0;  // the port that is considered first
};

struct SramDecision {
  PortMask granted = 0;
  PortMask refused = 0;
};

class SramArbiter {
 public:
  /// One cycle. `banks[p]` = banks port p needs, for the ports of `asking`. `also_requests(p)` tells whether a port
  /// that is fast-forwarded (and whose banks therefore meet nobody else's) requests in this cycle too; it is asked only
  /// after a refusal, where it matters for `first`.
  template <typename AlsoRequests>
  SramDecision decide(const std::array<BankMask, kSramPorts>& banks, PortMask asking, AlsoRequests&& also_requests) {
    SramDecision decision;
    BankMask taken = 0;
    // In the order first, first + 1, .., 9, 0, .., first - 1: only ports that ask are looked at.
    const unsigned from_first = asking >> state_.first << state_.first;
    for (const unsigned part : {from_first, asking ^ from_first}) {
      for (unsigned left = part; left != 0; left &= left - 1) {
        const unsigned bit = left & (~left + 1);
        const BankMask need = banks[static_cast<std::size_t>(__builtin_ctz(left))];
        const bool free = (need & taken) == 0;
        if (free) taken |= need;
        PortMask& answer = free ? decision.granted : decision.refused;
        answer = static_cast<PortMask>(answer | bit);
      }
    }
    if (decision.refused != 0) rotate(decision, also_requests);
    return decision;
  }
  /// The same, asked by every port that needs a bank.
  template <typename AlsoRequests>
  SramDecision decide(const std::array<BankMask, kSramPorts>& banks, AlsoRequests&& also_requests) {
    unsigned asking = 0;
    for (unsigned port = 0; port < kSramPorts; ++port) asking |= banks[port] != 0 ? 1u << port : 0;
    return decide(banks, static_cast<PortMask>(asking), also_requests);
  }
  SramDecision decide(const std::array<BankMask, kSramPorts>& banks) {
    return decide(banks, [](int) { return false; });
  }

  [[nodiscard]] const SramArbiterState& state() const { return state_; }

 private:
  [[nodiscard]] static int wrapped(int port) { return port >= kSramPorts ? port - kSramPorts : port; }

  template <typename AlsoRequests>
  void rotate(const SramDecision& decision, AlsoRequests&& also_requests) {
    for (int i = 0; i < kSramPorts; ++i) {
      const int port = wrapped(state_.first + i);
      if (((decision.granted | decision.refused) >> port & 1) != 0 || also_requests(port)) {
        state_.first = wrapped(port + 1);
        return;
      }
    }
  }

  SramArbiterState state_;
};

}  // namespace tessera::hw
