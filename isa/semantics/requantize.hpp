// The one rounding contract of Tessera (MACHINE.md section 6, isa/README.md): round half to even after an exact
// product, multiplier and shift per channel. The compiler, the graph interpreter, the models, the RTL checker and the
// host steps call these functions and nothing else. Integers only, apart from the derivation of multipliers from real
// scales.
#pragma once

#include <cstdint>
#include <vector>

namespace tessera::semantics {

inline constexpr std::uint32_t kMaxShift = 62;

__extension__ using Int128 = __int128;

/// value / 2^shift, rounded to nearest, ties to even. 5 / 2 -> 2, 7 / 2 -> 4, -3 / 2 -> -2. shift in [0, 62].
[[nodiscard]] constexpr std::int64_t round_half_even_shift(std::int64_t value, std::uint32_t shift) {
  if (shift == 0) return value;
  const std::int64_t floor = value >> shift;
  const std::int64_t rest = value & ((std::int64_t{1} << shift) - 1);
  const std::int64_t half = std::int64_t{1} << (shift - 1);
  return floor + static_cast<std::int64_t>(rest > half || (rest == half && (floor & 1) != 0));
}

/// The same for products that leave 64 bits; results beyond int64 saturate (every caller clamps afterwards).
[[nodiscard]] constexpr std::int64_t round_half_even_shift(Int128 value, std::uint32_t shift) {
  Int128 result = value;
  if (shift != 0) {
    const Int128 floor = value >> shift;
    const Int128 rest = value & ((Int128{1} << shift) - 1);
    const Int128 half = Int128{1} << (shift - 1);
    result = floor + static_cast<Int128>(rest > half || (rest == half && (floor & 1) != 0));
  }
  if (result > INT64_MAX) return INT64_MAX;
  if (result < INT64_MIN) return INT64_MIN;
  return static_cast<std::int64_t>(result);
}

/// zp + value, clamped to [lo, hi], without overflow at the ends of int64.
[[nodiscard]] constexpr std::int32_t add_clamp(std::int64_t value, std::int32_t zp, std::int32_t lo, std::int32_t hi) {
  const std::int64_t low = std::int64_t{lo} - zp;
  const std::int64_t high = std::int64_t{hi} - zp;
  return static_cast<std::int32_t>((value < low ? low : value > high ? high : value) + zp);
}

/// y = clamp(zp + round_half_even(acc * multiplier / 2^shift), lo, hi).
[[nodiscard]] constexpr std::int32_t requantize(std::int64_t acc, std::uint32_t multiplier, std::uint32_t shift,
                                                std::int32_t zp, std::int32_t lo, std::int32_t hi) {
  if (acc >= INT32_MIN && acc <= INT32_MAX && multiplier <= static_cast<std::uint32_t>(INT32_MAX)) {
    return add_clamp(round_half_even_shift(acc * static_cast<std::int64_t>(multiplier), shift), zp, lo, hi);
  }
  return add_clamp(round_half_even_shift(static_cast<Int128>(acc) * multiplier, shift), zp, lo, hi);
}

/// A positive real factor as multiplier / 2^shift.
struct QuantizedScale {
  std::uint32_t multiplier = 0;
  std::uint32_t shift = 0;
  [[nodiscard]] double value() const;
};

/// Nearest multiplier / 2^shift with the multiplier in [2^30, 2^31) (31 bits) and shift in [0, 62]. Below 2^-32 the
/// multiplier has fewer bits (the shift ends at 62), down to 0. UserError if `real` is negative, not finite or >= 2^31.
[[nodiscard]] QuantizedScale quantize_scale(double real);

/// Parameters of a sum of two quantised values: zo + rhe(((a - za) ma + (b - zb) mb) / 2^shift).
struct AddScale {
  std::int32_t ma = 0;
  std::int32_t mb = 0;
  std::uint32_t shift = 0;
};

/// From the real scales of a, b and the sum. The larger of scale_a / scale_o and scale_b / scale_o gets 30 bits, both
/// share one shift. `sign_b` = -1 makes it a - b. UserError as quantize_scale.
[[nodiscard]] AddScale quantize_add(double scale_a, double scale_b, double scale_o, int sign_b = 1);

[[nodiscard]] constexpr std::int32_t two_scale_add(std::int32_t a, std::int32_t b, std::int32_t za, std::int32_t zb,
                                                   const AddScale& scale, std::int32_t zo, std::int32_t lo,
                                                   std::int32_t hi) {
  const std::int64_t sum = std::int64_t{a - za} * scale.ma + std::int64_t{b - zb} * scale.mb;
  return add_clamp(round_half_even_shift(sum, scale.shift), zo, lo, hi);
}

/// zo + rhe((a - za) (b - zb) multiplier / 2^shift), clamped.
[[nodiscard]] constexpr std::int32_t scaled_multiply(std::int32_t a, std::int32_t b, std::int32_t za, std::int32_t zb,
                                                     std::int32_t multiplier, std::uint32_t shift, std::int32_t zo,
                                                     std::int32_t lo, std::int32_t hi) {
  const Int128 product = static_cast<Int128>(std::int64_t{a - za} * std::int64_t{b - zb}) * multiplier;
  return add_clamp(round_half_even_shift(product, shift), zo, lo, hi);
}

/// table[v + 128] of a 256-entry table of int8; v outside int8 takes the entry at its end.
[[nodiscard]] constexpr std::int32_t apply_table(const std::int8_t* table, std::int32_t v) {
  const std::int32_t index = v < -128 ? 0 : v > 127 ? 255 : v + 128;
  return table[index];
}

/// Entry n - 1 = factor for a sum of n elements, so that y = zo + rhe(sum(a - za) * multiplier / 2^shift) is their
/// average at the output's scale; n = 1 .. max_count.
[[nodiscard]] std::vector<QuantizedScale> average_scales(double scale_in, double scale_out, std::int64_t max_count);

}  // namespace tessera::semantics
