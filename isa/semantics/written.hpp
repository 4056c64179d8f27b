// Which SRAM bytes hold something: a map of written bytes, for reports of reads before any write. Exact: padding lanes
// are neither read nor written.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isa/chip.hpp"
#include "isa/isa.hpp"

namespace tessera::semantics {

struct UnwrittenRead {
  const char* operand = "";
  std::int64_t first = 0;  // lowest SRAM address
  std::int64_t bytes = 0;  // how many
};

/// One flag a byte of the core's SRAM.
class WrittenBytes {
 public:
  explicit WrittenBytes(std::int64_t sram_bytes) : written_(static_cast<std::size_t>(sram_bytes), 0) {}
  /// The bytes that the instruction reads and nobody wrote, one entry an operand. The instruction passed find_fault().
  [[nodiscard]] std::vector<UnwrittenRead> missing(const isa::Instruction& instruction,
                                                   const isa::ChipConfig& chip) const;
  void mark(const isa::Instruction& instruction, const isa::ChipConfig& chip);
  [[nodiscard]] bool operator[](std::int64_t address) const { return written_[static_cast<std::size_t>(address)] != 0; }

 private:
  std::vector<std::uint8_t> written_;
};

}  // namespace tessera::semantics
