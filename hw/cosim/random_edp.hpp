// Seeded random EDP instructions: every mode, every operation and chain, shapes, strides, dilation, padding and its
// counting, broadcast, circular and in-place maps, and the constants they read. Leaves out: the program around them
// (random_program.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "hw/common/random.hpp"
#include "hw/cosim/random_operands.hpp"
#include "isa/chip.hpp"
#include "isa/isa.hpp"

namespace tessera::cosim {

/// Of the constants of a random EDP: average entries, then a table a stage, from a line of its own on.
[[nodiscard]] std::int64_t most_edp_constants(const isa::ChipConfig& chip);

/// Maps lie apart in the window, in any order, or `out` in place of an operand; constants in its room for them, which
/// has at least most_edp_constants.
[[nodiscard]] isa::Edp vector_operation(const isa::ChipConfig& chip, Random& random, const Window& window);

struct EdpConstants {
  std::int64_t at = 0;
  std::vector<std::uint8_t> bytes;  // empty if the instruction reads none
};

/// What the instruction reads: multiplier and shift of each element count, ordinary, extreme, and such that halves are
/// rounded; tables of any values.
[[nodiscard]] EdpConstants edp_constants(const isa::Edp& edp, Random& random, const Window& window);

}  // namespace tessera::cosim
