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
  /// One cycle. `banks[p]` = banks port p needs (0: none). `also_requests(p)` tells whether a port that is
  /// fast-forwarded (and whose banks therefore meet nobody else's) requests in this cycle too; it is asked only after a
  /// refusal, where it matters for `first`.
  template <typename AlsoRequests>
  SramDecision decide(const std::array<BankMask, kSramPorts>& banks, AlsoRequests&& also_requests) {
    SramDecision decision;
    BankMask taken = 0;
    for (int i = 0; i < kSramPorts; ++i) {
      const int port = wrapped(state_.first + i);
      const BankMask need = banks[static_cast<std::size_t>(port)];
      if (need == 0) continue;
      if ((need & taken) == 0) {
        taken |= need;
        decision.granted = static_cast<PortMask>(decision.granted | (1u << port));
      } else {
        decision.refused = static_cast<PortMask>(decision.refused | (1u << port));
      }
    }
    if (decision.refused != 0) rotate(decision, also_requests);
    return decision;
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
