// Seeded random convolutions that the engine of the slice takes: shape, stride, dilation, padding, zero points, tile,
// order, residual. Leaves out: the program around them (random_program.hpp).
#pragma once

#include <cstdint>

#include "hw/common/random.hpp"
#include "isa/chip.hpp"
#include "isa/isa.hpp"

namespace tessera::cosim {

/// Of a random convolution, on either side.
inline constexpr std::int64_t kMostChannels = 36;  // or three tiles of the engine, if that is less

/// Maps and weights lie apart in [begin, begin + size) of the scratchpad, in any order; parameters at its end.
[[nodiscard]] isa::Conv convolution(const isa::ChipConfig& chip, Random& random, std::int64_t begin, std::int64_t size);

}  // namespace tessera::cosim
