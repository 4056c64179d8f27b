// Payloads of the AXI sockets (house style 27): the owner acquires, every holder that keeps a pointer acquires, the
// last release brings the payload back. Each payload carries one AxiExtension for life (it is not an auto extension).
#pragma once

#include <cstdint>
#include <memory>
#include <tlm>
#include <vector>

#include "hw/tlm/axi.hpp"

namespace tessera::tlm_base {

class PayloadPool final : public ::tlm::tlm_mm_interface {
 public:
  PayloadPool() = default;
  ~PayloadPool() override;
  PayloadPool(const PayloadPool&) = delete;
  PayloadPool& operator=(const PayloadPool&) = delete;

  /// One burst of `beats` x `data_bytes`, acquired once. Data are moved functionally (hw/models/dram/storage.hpp), so
  /// the data pointer refers to a dummy line that nobody reads or writes.
  [[nodiscard]] ::tlm::tlm_generic_payload& acquire(::tlm::tlm_command command, std::uint64_t address, Manager manager,
                                                    std::uint8_t core, int beats, int data_bytes);
  void free(::tlm::tlm_generic_payload* payload) override;
  [[nodiscard]] std::size_t in_use() const { return all_.size() - free_.size(); }

 private:
  std::vector<std::unique_ptr<::tlm::tlm_generic_payload>> all_;
  std::vector<::tlm::tlm_generic_payload*> free_;
  std::uint8_t no_data_ = 0;
};

/// The extension of a payload of this protocol; a payload without one is a bug of the initiator.
[[nodiscard]] AxiExtension& axi_extension(const ::tlm::tlm_generic_payload& payload);

}  // namespace tessera::tlm_base
