// Seeded random convolutions that the engine of the slice takes: shape, stride, dilation, padding, zero points, tile,
// order, residual. Leaves out: the program around them (random_program.hpp).
#pragma once

#include <cstdint>

#include "hw/common/random.hpp"
#include "hw/cosim/random_operands.hpp"
#include "isa/chip.hpp"
#include "isa/isa.hpp"

namespace tessera::cosim {

/// Of a random convolution, on either side.
inline constexpr std::int64_t kMostChannels = 36;  // or three tiles of the engine, if that is less

/// Maps and weights lie apart in the window, in any order; parameters in its constants.
[[nodiscard]] isa::Conv convolution(const isa::ChipConfig& chip, Random& random, const Window& window);

}  // namespace tessera::cosim
