// AXI4 on TLM-2.0 nb_transport, the boundary between a core (models or RTL) and the C++ memory system.
// One transaction is one burst. Phases, all at phase offset 0 or 1 of a core cycle (hw/tlm/clock.hpp):
//   fw BEGIN_REQ   the manager raises AR (read) or AW (write) in this cycle. TLM_UPDATED + END_REQ: handshake in this
//                  cycle. TLM_ACCEPTED: refused; the request is held unchanged and END_REQ comes on bw in the cycle of
//                  the handshake.
//   bw AXI_BEAT    one R beat is handed over in this cycle (RREADY is always 1); the last beat comes as BEGIN_RESP.
//   bw BEGIN_RESP  read: last R beat. write: B. Answered with TLM_COMPLETED (BREADY is always 1).
// W beats: the manager owns the W channel; beat i of a burst is on the bus in cycle max(AW handshake, end of previous
// burst's W) + 1 + i; WREADY is always 1, so the interconnect derives them itself.
// Leaves out: data (storage is accessed functionally, hw/models/dram/storage.hpp), IDs (one a manager), byte lanes.
#pragma once

#include <cstdint>
#include <systemc>
#include <tlm>

namespace tessera::tlm_base {

DECLARE_EXTENDED_PHASE(AXI_BEAT);

enum class Manager : std::uint8_t { fetch = 0, load = 1, store = 2 };
inline constexpr int kManagersPerCore = 3;

/// Rides on every payload: who asks, and how many beats of axi.data_bytes.
struct AxiExtension : ::tlm::tlm_extension<AxiExtension> {
  std::uint8_t core = 0;
  Manager manager = Manager::fetch;
  std::uint16_t beats = 1;

  [[nodiscard]] ::tlm::tlm_extension_base* clone() const override { return new AxiExtension(*this); }
  void copy_from(const ::tlm::tlm_extension_base& other) override { *this = static_cast<const AxiExtension&>(other); }
};

}  // namespace tessera::tlm_base
