// What every instruction does to memory: the one meaning that the reference executor, the timed models (once, at
// finish) and the RTL checker call. No clock, no queues. Legal programs are race-free, so applying values a whole
// instruction at a time equals the machine. Leaves out: DSP kernels, int16 convolution (ProgramError).
#pragma once

#include <cstddef>
#include <cstdint>

#include "isa/chip.hpp"
#include "isa/isa.hpp"
#include "isa/semantics/legal.hpp"

namespace tessera::semantics {

/// DRAM behind the base registers; adapted by the caller to hw/models/dram/storage.hpp or anything else.
class DramAccess {
 public:
  virtual ~DramAccess() = default;
  virtual void read(std::uint8_t base_register, std::uint64_t offset, std::uint8_t* out, std::size_t bytes) = 0;
  virtual void write(std::uint8_t base_register, std::uint64_t offset, const std::uint8_t* in, std::size_t bytes) = 0;
  /// Legal bytes behind each base register.
  [[nodiscard]] virtual DramLimits limits() const = 0;
};

/// The memory of one core.
struct Memory {
  std::uint8_t* sram = nullptr;  // sram.banks * sram.size_bytes bytes
  std::size_t sram_bytes = 0;
  DramAccess* dram = nullptr;  // needed by LOAD and STORE only
};

/// Checks the instruction (ProgramError that names field and instruction), then applies it.
void execute(const isa::Instruction& instruction, const isa::ChipConfig& chip, Memory& memory);

/// Applies an instruction that find_fault() passed.
void execute_checked(const isa::Instruction& instruction, const isa::ChipConfig& chip, Memory& memory);

/// MACs that the instruction stands for, without padding lanes; taps on padding count (closed forms 7 to 9 of the
/// validation page count them too).
[[nodiscard]] std::int64_t useful_macs(const isa::Instruction& instruction);

}  // namespace tessera::semantics
