#include "hw/cosim/verilated_core.hpp"

#include "hw/cosim/core_library_cache.hpp"

namespace tessera::cosim {

VerilatedCore::VerilatedCore(const isa::ChipConfig& chip)
    : api_(core_library(chip)),
      sram_bytes_(static_cast<std::size_t>(chip.sram.banks * chip.sram.size_bytes)),
      core_(api_.create(), api_.destroy) {}

std::vector<std::uint8_t> VerilatedCore::sram() const {
  std::vector<std::uint8_t> bytes(sram_bytes_);
  api_.read_sram(core_.get(), bytes.data());
  return bytes;
}

std::string VerilatedCore::failure() const {
  const char* text = api_.failure(core_.get());
  return text == nullptr ? "" : text;
}

}  // namespace tessera::cosim
