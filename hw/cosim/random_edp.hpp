// Seeded random EDP instructions: every mode, every operation and chain, shapes, strides, dilation, padding and its
// counting, broadcast, circular and in-place maps, and the constants they read. Leaves out: the program around them
// (random_program.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "hw/common/random.hpp"
#include "isa/chip.hpp"
#include "isa/isa.hpp"

namespace tessera::cosim {

/// Of the constants of a random EDP: average entries, then a table a stage, from a line of its own on.
[[nodiscard]] std::int64_t most_edp_constants(const isa::ChipConfig& chip);

/// Maps lie apart in [begin, begin + size) of the scratchpad, in any order, or `out` in place of an operand; constants
/// in [constants, constants + most_edp_constants).
[[nodiscard]] isa::Edp vector_operation(const isa::ChipConfig& chip, Random& random, std::int64_t begin,
                                        std::int64_t size, std::int64_t constants);

/// The bytes from `constants` on that the instruction reads: multiplier and shift of each element count, ordinary,
/// extreme, and such that halves are rounded; tables of any values. Empty if it reads none.
[[nodiscard]] std::vector<std::uint8_t> edp_constants(const isa::Edp& edp, const isa::ChipConfig& chip, Random& random,
                                                      std::int64_t constants);

}  // namespace tessera::cosim
