// The scratchpad's SystemC module: collects the bank requests of a cycle, decides once (phase decide), and compares the
// claims of the units so that those whose banks are private are not stepped. Leaves out: bytes, read latency.
#pragma once

#include <array>
#include <functional>
#include <systemc>

#include "hw/models/sram/arbiter.hpp"
#include "hw/tlm/clock.hpp"

namespace tessera::hw {

/// A unit, as the scratchpad sees it.
class SramClient {
 public:
  virtual ~SramClient() = default;
  /// Phase deliver of cycle n: from n on the unit's claim meets nobody else's (it may be fast-forwarded), or it does.
  /// Called for every unit with a claim whenever any claim has changed.
  virtual void set_private(bool is_private, Cycles n) = 0;
  /// Phase decide: does the unit, being fast-forwarded, request in cycle n?
  [[nodiscard]] virtual bool requests_in(Cycles n) = 0;
};

struct SramOptions {
  bool no_shortcuts = false;                            // nobody is private
  bool ideal = false;                                   // nobody is refused
  std::function<void(int port, Cycles n)> on_conflict;  // see Sram::lost; may be empty
};

class Sram : public sc_core::sc_module {
 public:
  Sram(const sc_core::sc_module_name& name, const SramOptions& options);

  void attach(int port, SramClient& client);
  /// Phase commit: from the next cycle on the unit may touch `banks`. `own_conflicts`: its ports may meet each other,
  /// so that it loses cycles also where its banks are private; told to on_conflict cycle by cycle, it is never private.
  void claim(int port, BankMask banks, bool own_conflicts);
  void release(int port);
  /// Phase evaluate; some bank.
  void request(int port, BankMask banks) {
    requests_[static_cast<std::size_t>(port)] = banks;
    if (asking_ == 0) decide_.notify(tlm_base::now_cycle());
    asking_ = static_cast<PortMask>(asking_ | 1u << port);
  }
  /// Phase commit: answer to the request of this cycle.
  [[nodiscard]] bool granted(int port) const { return (decision_.granted >> port & 1) != 0; }

  /// Phase commit: the unit lost cycle n to a bank conflict, with another unit or between its own ports.
  void lost(int port, Cycles n) const {
    if (options_.on_conflict) options_.on_conflict(port, n);
  }

  [[nodiscard]] Cycles refusals() const { return refusals_; }

 private:
  struct Claim {
    bool active = false;
    bool own_conflicts = false;
    BankMask banks = 0;
  };
  void on_claims();
  void on_requests();

  SramOptions options_;
  SramArbiter arbiter_;
  std::array<SramClient*, kSramPorts> clients_{};
  std::array<Claim, kSramPorts> claims_{};
  std::array<BankMask, kSramPorts> requests_{};
  PortMask asking_ = 0;  // ports with a request in this cycle
  SramDecision decision_;
  Cycles refusals_ = 0;
  tlm_base::Process compare_;
  tlm_base::Process decide_;
};

}  // namespace tessera::hw
