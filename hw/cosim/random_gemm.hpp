// Seeded random matrix products that the matrix unit of the slice takes: shape, dataflow, transposes, batch, pitches,
// zero points, scale. Leaves out: the program around them (random_program.hpp).
#pragma once

#include <cstdint>

#include "hw/common/random.hpp"
#include "hw/cosim/random_operands.hpp"
#include "isa/chip.hpp"
#include "isa/isa.hpp"

namespace tessera::cosim {

/// Of the result of a random product.
inline constexpr std::int64_t kMostColumns = 40;

/// Matrices lie apart in the window, in any order; parameters (per_column) in its constants.
[[nodiscard]] isa::Gemm matrix_product(const isa::ChipConfig& chip, Random& random, const Window& window);

}  // namespace tessera::cosim
