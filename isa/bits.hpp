// Bits of an instruction: bit i is bit i % 8 of byte i / 8 (little-endian). The generated codec uses the templates with
// constant positions, tables and assembler the functions. Fields are at most 40 bits wide.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "hw/common/error.hpp"

namespace tessera::isa {

[[nodiscard]] inline std::uint64_t get_bits(const std::uint8_t* bytes, std::size_t lsb, unsigned width) {
  std::uint64_t value = 0;
  const std::size_t first = lsb / 8;
  const std::size_t last = (lsb + width - 1) / 8;
  for (std::size_t i = last + 1; i-- > first;) {
    value = (value << 8) | bytes[i];
  }
  return (value >> (lsb % 8)) & ((std::uint64_t{1} << width) - 1);
}

inline void set_bits(std::uint8_t* bytes, std::size_t lsb, unsigned width, std::uint64_t value) {
  const std::uint64_t mask = ((std::uint64_t{1} << width) - 1) << (lsb % 8);
  const std::uint64_t placed = value << (lsb % 8);
  for (std::size_t i = lsb / 8, shift = 0; i <= (lsb + width - 1) / 8; ++i, shift += 8) {
    const auto keep = static_cast<std::uint8_t>(~(mask >> shift));
    const auto set = static_cast<std::uint8_t>((placed & mask) >> shift);
    bytes[i] = static_cast<std::uint8_t>((bytes[i] & keep) | set);
  }
}

/// Bits as the number they mean.
[[nodiscard]] inline std::int64_t extend(std::uint64_t bits, unsigned width, bool is_signed) {
  if (is_signed && ((bits >> (width - 1)) & 1U) != 0) {
    return static_cast<std::int64_t>(bits | ~((std::uint64_t{1} << width) - 1));
  }
  return static_cast<std::int64_t>(bits);
}

/// Whether `width` bits hold the number.
[[nodiscard]] inline bool fits(std::int64_t value, unsigned width, bool is_signed) {
  const std::int64_t high = (std::int64_t{1} << (is_signed ? width - 1 : width)) - 1;
  return value <= high && value >= (is_signed ? -high - 1 : 0);
}

namespace codec {

template <std::size_t Lsb, unsigned Width, bool Signed, typename T>
void put(std::uint8_t* bytes, T value, const char* name) {
  const auto number = static_cast<std::int64_t>(value);
  TESSERA_CHECK(fits(number, Width, Signed), "field ", name, " = ", number, " does not fit ", Width,
                Signed ? " signed bits" : " bits");
  set_bits(bytes, Lsb, Width, static_cast<std::uint64_t>(number));
}

template <std::size_t Lsb, unsigned Width, bool Signed, typename T>
void take(const std::uint8_t* bytes, T& value) {
  const std::int64_t number = extend(get_bits(bytes, Lsb, Width), Width, Signed);
  if constexpr (std::is_same_v<T, bool>) {
    value = number != 0;
  } else {
    value = static_cast<T>(number);
  }
}

}  // namespace codec
}  // namespace tessera::isa
