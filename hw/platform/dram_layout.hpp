// Where a program lies in DRAM: one base register a buffer kind, every section's instruction streams behind the base of
// kind `instructions`. The runtime, the reference executor and the timed platform use the same placement.
#pragma once

#include <cstdint>
#include <vector>

#include "hw/models/dram/based_storage.hpp"
#include "isa/chip.hpp"
#include "isa/program/program.hpp"

namespace tessera::platform {

using hw::kBaseRegisters;

struct DramLayout : hw::BaseRegisters {
  /// Offset of each section's streams behind the base of kind instructions, in the program's order.
  std::vector<std::vector<std::uint64_t>> stream_offset;
  std::uint64_t end = 0;

  [[nodiscard]] std::uint64_t address(const isa::Buffer& buffer) const {
    return base[isa::base_register_of(buffer.kind)] + buffer.offset;
  }
};

/// Kinds in ascending order from address 0, each on a 1 MiB boundary; streams on 4 KiB. UserError if the chip's DRAM is
/// too small.
[[nodiscard]] DramLayout place_program(const isa::Program& program, const isa::ChipConfig& chip);

/// Writes the constants (if the program has them) and all instruction streams to their places.
void load_program(const isa::Program& program, const DramLayout& layout, hw::DramStorage& dram);

}  // namespace tessera::platform
