// Seeded random LOAD, STORE and REORDER: rows of any length and alignment, groups, padding, circular rows, copies of
// lines and of bytes, transpositions, fills. Leaves out: the program around them (random_program.hpp).
#pragma once

#include <cstdint>

#include "hw/common/random.hpp"
#include "hw/cosim/random_operands.hpp"
#include "isa/chip.hpp"
#include "isa/isa.hpp"
#include "isa/program/program.hpp"

namespace tessera::cosim {

/// Between the window and a buffer of `buffer_bytes` bytes.
[[nodiscard]] isa::Load random_load(const isa::ChipConfig& chip, Random& random, const Window& window,
                                    isa::BufferKind kind, std::int64_t buffer_bytes);
[[nodiscard]] isa::Store random_store(const isa::ChipConfig& chip, Random& random, const Window& window,
                                      isa::BufferKind kind, std::int64_t buffer_bytes);

/// Source and destination lie apart in the window.
[[nodiscard]] isa::Reorder random_reorder(const isa::ChipConfig& chip, Random& random, const Window& window);

}  // namespace tessera::cosim
