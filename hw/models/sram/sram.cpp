#include "hw/models/sram/sram.hpp"

namespace tessera::hw {

using tlm_base::now_cycle;
using tlm_base::Process;

Sram::Sram(const sc_core::sc_module_name& name, const SramOptions& options)
    : sc_module(name),
      options_(options),
      compare_(Process::of<&Sram::on_claims>(tlm_base::kDeliver, *this)),
      decide_(Process::of<&Sram::on_requests>(tlm_base::kDecide, *this)) {}

void Sram::attach(int port, SramClient& client) { clients_[static_cast<std::size_t>(port)] = &client; }

void Sram::claim(int port, BankMask banks, bool own_conflicts) {
  claims_[static_cast<std::size_t>(port)] = {true, own_conflicts, banks};
  compare_.notify(now_cycle() + 1);
}

void Sram::release(int port) {
  claims_[static_cast<std::size_t>(port)] = Claim{};
  compare_.notify(now_cycle() + 1);
}

void Sram::on_claims() {
  const Cycles n = now_cycle();
  BankMask once = 0, twice = 0;
  for (const Claim& claim : claims_) {
    twice |= once & claim.banks;
    once |= claim.banks;
  }
  for (std::size_t port = 0; port < claims_.size(); ++port) {
    const Claim& claim = claims_[port];
    if (!claim.active) continue;
    const bool stepped = options_.no_shortcuts || (claim.own_conflicts && options_.on_conflict);
    clients_[port]->set_private(!stepped && (claim.banks & twice) == 0, n);
  }
}

void Sram::on_requests() {
  if (options_.ideal) {
    decision_.granted = static_cast<PortMask>((1u << kSramPorts) - 1);
  } else if ((asking_ & (asking_ - 1)) == 0) {
    decision_ = {asking_, 0};  // alone in this cycle
  } else {
    const Cycles n = now_cycle();
    decision_ = arbiter_.decide(requests_, asking_, [&](int port) {
      SramClient* client = clients_[static_cast<std::size_t>(port)];
      return client != nullptr && client->requests_in(n);
    });
    if (decision_.refused != 0) refusals_ += __builtin_popcount(decision_.refused);
  }
  asking_ = 0;
}

}  // namespace tessera::hw
