// The verilated core of a chip as a C++ object: pins in, pins out, a clock edge. Leaves out: time, memory, programs
// (rtl_core.hpp); where its library comes from (core_library_cache.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hw/cosim/core_api.hpp"
#include "isa/chip.hpp"

namespace tessera::cosim {

class VerilatedCore {
 public:
  explicit VerilatedCore(const isa::ChipConfig& chip);  // reset

  /// Combinational outputs of the current state and these inputs, which stay until the next call.
  [[nodiscard]] const CoreOutputs& eval(const CoreInputs& in) {
    api_.eval(core_.get(), in, out_);
    return out_;
  }
  void edge() { api_.edge(core_.get()); }
  /// After eval, in the same cycle.
  [[nodiscard]] const WavePins& observe() {
    api_.observe(core_.get(), pins_);
    return pins_;
  }
  /// Control port: a write takes one edge, a read none.
  void write_register(std::uint32_t offset, std::uint32_t value) { api_.write_register(core_.get(), offset, value); }
  [[nodiscard]] std::uint32_t read_register(std::uint32_t offset) { return api_.read_register(core_.get(), offset); }
  [[nodiscard]] std::vector<std::uint8_t> sram() const;
  /// The first assertion that failed; empty if none did.
  [[nodiscard]] std::string failure() const;

 private:
  const CoreApi& api_;
  std::size_t sram_bytes_;
  std::unique_ptr<void, void (*)(void*)> core_;
  CoreOutputs out_;
  WavePins pins_;
};

}  // namespace tessera::cosim
