#include "hw/tlm/payload_pool.hpp"

#include "hw/common/error.hpp"

namespace tessera::tlm_base {

PayloadPool::~PayloadPool() {
  // tlm_generic_payload deletes the extensions it still holds.
}

::tlm::tlm_generic_payload& PayloadPool::acquire(::tlm::tlm_command command, std::uint64_t address, Manager manager,
                                                 std::uint8_t core, int beats, int data_bytes) {
  if (free_.empty()) {
    all_.push_back(std::make_unique<::tlm::tlm_generic_payload>(this));
    all_.back()->set_extension(new AxiExtension);  // owned by the payload
    free_.push_back(all_.back().get());
  }
  ::tlm::tlm_generic_payload& payload = *free_.back();
  free_.pop_back();
  payload.acquire();
  payload.set_command(command);
  payload.set_address(address);
  payload.set_data_ptr(&no_data_);
  payload.set_data_length(static_cast<unsigned>(beats * data_bytes));
  payload.set_streaming_width(static_cast<unsigned>(beats * data_bytes));
  payload.set_byte_enable_ptr(nullptr);
  payload.set_byte_enable_length(0);
  payload.set_dmi_allowed(false);
  payload.set_response_status(::tlm::TLM_INCOMPLETE_RESPONSE);
  AxiExtension& extension = axi_extension(payload);
  extension.core = core;
  extension.manager = manager;
  extension.beats = static_cast<std::uint16_t>(beats);
  return payload;
}

void PayloadPool::free(::tlm::tlm_generic_payload* payload) {
  payload->reset();
  free_.push_back(payload);
}

AxiExtension& axi_extension(const ::tlm::tlm_generic_payload& payload) {
  AxiExtension* extension = payload.get_extension<AxiExtension>();
  TESSERA_CHECK(extension != nullptr, "payload without AxiExtension at address ", payload.get_address());
  return *extension;
}

}  // namespace tessera::tlm_base
