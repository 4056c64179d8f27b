// Little pieces that the instruction implementations of this room share: SRAM bytes as values, channel parameters.
#pragma once

#include <cstdint>
#include <vector>

#include "hw/common/error.hpp"
#include "isa/semantics/requantize.hpp"

namespace tessera::semantics {

[[nodiscard]] inline std::uint32_t read_u32(const std::uint8_t* at) {
  return static_cast<std::uint32_t>(at[0]) | static_cast<std::uint32_t>(at[1]) << 8 |
         static_cast<std::uint32_t>(at[2]) << 16 | static_cast<std::uint32_t>(at[3]) << 24;
}

[[nodiscard]] inline std::int32_t read_i8(const std::uint8_t* at) { return static_cast<std::int8_t>(*at); }

struct ChannelParams {
  std::int32_t bias = 0;
  std::uint32_t multiplier = 1;
  std::uint32_t shift = 0;
};

/// Refuses a factor that the requantiser does not have: the bytes behind p_base are no parameters.
inline void check_scale(const char* what, std::int64_t index, std::uint32_t multiplier, std::uint32_t shift) {
  if (shift > kMaxShift || multiplier > static_cast<std::uint32_t>(INT32_MAX)) {
    throw ProgramError(detail::concat(what, " entry ", index, " holds multiplier ", multiplier, " and shift ", shift,
                                      ": expected a multiplier below 2^31 and a shift of at most 62"));
  }
}

/// `count` entries of 12 bytes.
[[nodiscard]] inline std::vector<ChannelParams> read_params(const char* what, const std::uint8_t* at,
                                                            std::int64_t count) {
  std::vector<ChannelParams> params(static_cast<std::size_t>(count));
  for (std::int64_t c = 0; c < count; ++c) {
    ChannelParams& p = params[static_cast<std::size_t>(c)];
    const std::uint8_t* entry = at + 12 * c;
    p.bias = static_cast<std::int32_t>(read_u32(entry));
    p.multiplier = read_u32(entry + 4);
    p.shift = read_u32(entry + 8);
    check_scale(what, c, p.multiplier, p.shift);
  }
  return params;
}

[[nodiscard]] inline std::int32_t wrap_add(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
}

}  // namespace tessera::semantics
