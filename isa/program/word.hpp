// One instruction word as it lies in memory.
#pragma once

#include <array>
#include <cstdint>

namespace tessera::isa {

using Word = std::array<std::uint8_t, 64>;

}  // namespace tessera::isa
