// The inner loop of every matrix product in this room: int16 operands, int32 sums that wrap. Chosen at run time between
// AVX2 and portable code; both give the same sums, since wrap-around addition has no order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera::semantics {

inline constexpr int kLanes = 16;     // output channels of one call
inline constexpr int kMaxPixels = 6;  // pixels of one call

/// acc[p][lane] = sum over taps t, pairs q of x[t][p][2q] w[t][q][lane][0] + x[t][p][2q+1] w[t][q][lane][1].
///   x[t][p] = x + taps[t] + p * pixel_stride      2 * pairs consecutive values
///   w       = [taps][pairs][kLanes][2]
void accumulate(const std::int16_t* x, std::int64_t pixel_stride, int pixels, const std::vector<std::int64_t>& taps,
                std::int64_t pairs, const std::int16_t* w, std::int32_t* acc);

/// The same without vector instructions; what hosts without AVX2 run. Tests compare the two.
void accumulate_portable(const std::int16_t* x, std::int64_t pixel_stride, int pixels,
                         const std::vector<std::int64_t>& taps, std::int64_t pairs, const std::int16_t* w,
                         std::int32_t* acc);

/// sum[i] += x[i] * w[i], wrapping; for depthwise rows.
void multiply_add(const std::int16_t* x, const std::int16_t* w, std::int32_t* sum, std::size_t n);

}  // namespace tessera::semantics
