// Integer types that must not mix, shared by every room. No SystemC.
// Times are counts of one clock domain (MACHINE.md section 1), never picoseconds.
#pragma once

#include <cstdint>

namespace tessera {

using Cycles = std::int64_t;      // a duration or a time in core cycles; cycle 0 follows the doorbell
using DramClocks = std::int64_t;  // the same in DRAM command clocks
using Bytes = std::int64_t;
using BankMask = std::uint64_t;  // bit i = SRAM bank i (at most 64 banks)

inline constexpr Cycles kNever = INT64_MAX / 4;  // "no event is scheduled"

template <typename T>
[[nodiscard]] constexpr T ceil_div(T a, T b) {
  return (a + b - 1) / b;
}
template <typename T>
[[nodiscard]] constexpr T round_up(T a, T b) {
  return ceil_div(a, b) * b;
}

}  // namespace tessera
