#include "hw/models/interconnect/memory_system.hpp"

#include <string>

#include "hw/common/error.hpp"
#include "hw/tlm/clock.hpp"
#include "hw/tlm/payload_pool.hpp"

namespace tessera::hw {

using tlm_base::Manager;

MemorySystem::MemorySystem(const sc_core::sc_module_name& name, const MemoryConfig& config)
    : sc_module(name),
      core_(config, *this),
      advance_(tlm_base::Process::of<&MemorySystem::on_event>(tlm_base::kDeliver, *this)) {
  static constexpr const char* kManagers[] = {"fetch", "load", "store"};
  for (int i = 0; i < core_.ports(); ++i) {
    const std::string socket =
        "core" + std::to_string(i / kPortsPerCore) + "_" + kManagers[i % kPortsPerCore] + "_tsock";
    sockets_.push_back(std::make_unique<Socket>(socket.c_str()));
    sockets_.back()->register_nb_transport_fw(this, &MemorySystem::nb_fw, i);
  }
}

MemorySystem::MemorySystem(const sc_core::sc_module_name& name, const isa::ChipConfig& chip, int cores)
    : MemorySystem(name, MemoryConfig::from(chip, cores)) {}

MemorySystem::Socket& MemorySystem::tsock(int core, Manager manager) {
  return *sockets_.at(static_cast<std::size_t>(core * kPortsPerCore + static_cast<int>(manager)));
}

std::optional<StallCause> MemorySystem::cause_of(int core, Manager manager) {
  return core_.cause_of(tlm_base::now_cycle(), core * kPortsPerCore + static_cast<int>(manager));
}

CauseTotals MemorySystem::totals(int core, Manager manager) {
  return core_.totals(tlm_base::now_cycle(), core * kPortsPerCore + static_cast<int>(manager));
}

void MemorySystem::wake() {
  if (advancing_) return;
  const Cycles next = core_.next_event();
  if (next == scheduled_) return;
  TESSERA_CHECK(next >= kNever || next > tlm_base::now_cycle() || tlm_base::now_phase() == tlm_base::kDeliver,
                "memory event in the past: cycle ", next);
  advance_.cancel();
  scheduled_ = next;
  if (next < kNever) advance_.notify(next);
}

void MemorySystem::on_event() {
  scheduled_ = kNever;
  advancing_ = true;  // managers may answer with requests from inside
  core_.advance(tlm_base::now_cycle());
  advancing_ = false;
  wake();
}

void MemorySystem::check(int port, const tlm::tlm_generic_payload& trans, const tlm_base::AxiExtension& axi) const {
  const auto bytes = static_cast<std::uint64_t>(core_.config().data_bytes);
  const std::uint64_t address = trans.get_address();
  const std::uint64_t length = trans.get_data_length();
  TESSERA_CHECK(trans.has_mm(), "port ", port, ": payload without memory manager");
  TESSERA_CHECK(trans.get_command() != tlm::TLM_IGNORE_COMMAND, "port ", port, ": command is neither read nor write");
  TESSERA_CHECK((trans.get_command() == tlm::TLM_WRITE_COMMAND) == (axi.manager == Manager::store), "port ", port,
                ": fetch and load read, store writes");
  TESSERA_CHECK(axi.core * kPortsPerCore + static_cast<int>(axi.manager) == port, "port ", port, ": burst of core ",
                int{axi.core}, " manager ", static_cast<int>(axi.manager));
  TESSERA_CHECK(trans.get_response_status() == tlm::TLM_INCOMPLETE_RESPONSE, "port ", port, ": response already set");
  TESSERA_CHECK(axi.beats > 0 && length == axi.beats * bytes, "port ", port, ": ", length, " bytes are not ", axi.beats,
                " beats of ", bytes);
  TESSERA_CHECK(address % bytes == 0, "port ", port, ": address ", address, " is not a multiple of ", bytes);
  TESSERA_CHECK(address / 4096 == (address + length - 1) / 4096, "port ", port, ": burst at ", address, " of ", length,
                " bytes crosses 4 KiB");
}

tlm::tlm_sync_enum MemorySystem::nb_fw(int port, tlm::tlm_generic_payload& trans, tlm::tlm_phase& phase,
                                       sc_core::sc_time& delay) {
  TESSERA_CHECK(phase == tlm::BEGIN_REQ, "port ", port, ": phase ", phase, " on the forward path");
  TESSERA_CHECK(delay == sc_core::SC_ZERO_TIME, "port ", port, ": annotated delay ", delay);
  const tlm_base::AxiExtension& axi = tlm_base::axi_extension(trans);
  check(port, trans, axi);
  trans.acquire();
  BurstRequest request;
  request.address = trans.get_address();
  request.beats = axi.beats;
  request.write = trans.get_command() == tlm::TLM_WRITE_COMMAND;
  request.user = &trans;
  const bool accepted = core_.request(tlm_base::now_cycle(), port, request);
  wake();
  if (!accepted) return tlm::TLM_ACCEPTED;
  phase = tlm::END_REQ;
  return tlm::TLM_UPDATED;
}

void MemorySystem::on_accept(int port, void* user) {
  tlm::tlm_phase phase = tlm::END_REQ;
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  (*sockets_[static_cast<std::size_t>(port)])
      ->nb_transport_bw(*static_cast<tlm::tlm_generic_payload*>(user), phase, delay);
}

void MemorySystem::on_beat(int port, void* user) {
  tlm::tlm_phase phase = tlm_base::AXI_BEAT;
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  (*sockets_[static_cast<std::size_t>(port)])
      ->nb_transport_bw(*static_cast<tlm::tlm_generic_payload*>(user), phase, delay);
}

void MemorySystem::on_response(int port, void* user) {
  auto& trans = *static_cast<tlm::tlm_generic_payload*>(user);
  const bool inside =
      trans.get_address() + trans.get_data_length() <= static_cast<std::uint64_t>(core_.config().size_bytes);
  trans.set_response_status(inside ? tlm::TLM_OK_RESPONSE : tlm::TLM_ADDRESS_ERROR_RESPONSE);
  tlm::tlm_phase phase = tlm::BEGIN_RESP;
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  const tlm::tlm_sync_enum answer = (*sockets_[static_cast<std::size_t>(port)])->nb_transport_bw(trans, phase, delay);
  TESSERA_CHECK(answer == tlm::TLM_COMPLETED, "port ", port, ": a response is answered with TLM_COMPLETED");
  trans.release();
}

}  // namespace tessera::hw
