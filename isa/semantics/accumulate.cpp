#include "isa/semantics/accumulate.hpp"

#include <cstring>

#include "hw/common/error.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#define TESSERA_HAS_AVX2_PATH 1
#include <immintrin.h>
#endif

namespace tessera::semantics {

namespace {

using Kernel = void (*)(const std::int16_t*, std::int64_t, int, const std::vector<std::int64_t>&, std::int64_t,
                        const std::int16_t*, std::int32_t*);

#ifdef TESSERA_HAS_AVX2_PATH

template <int kPixels>
__attribute__((target("avx2"))) void accumulate_avx2(const std::int16_t* x, std::int64_t pixel_stride,
                                                     const std::vector<std::int64_t>& taps, std::int64_t pairs,
                                                     const std::int16_t* w, std::int32_t* acc) {
  __m256i low[kPixels];
  __m256i high[kPixels];
  for (int p = 0; p < kPixels; ++p) low[p] = high[p] = _mm256_setzero_si256();
  for (const std::int64_t tap : taps) {
    const std::int16_t* at = x + tap;
    for (std::int64_t q = 0; q < pairs; ++q, at += 2, w += 2 * kLanes) {
      const __m256i w_low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w));
      const __m256i w_high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w + kLanes));
      for (int p = 0; p < kPixels; ++p) {
        std::int32_t pair = 0;
        std::memcpy(&pair, at + p * pixel_stride, sizeof(pair));
        const __m256i v = _mm256_set1_epi32(pair);
        low[p] = _mm256_add_epi32(low[p], _mm256_madd_epi16(v, w_low));
        high[p] = _mm256_add_epi32(high[p], _mm256_madd_epi16(v, w_high));
      }
    }
  }
  for (int p = 0; p < kPixels; ++p) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(acc + p * kLanes), low[p]);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(acc + p * kLanes + kLanes / 2), high[p]);
  }
}

__attribute__((target("avx2"))) void accumulate_avx2_any(const std::int16_t* x, std::int64_t pixel_stride, int pixels,
                                                         const std::vector<std::int64_t>& taps, std::int64_t pairs,
                                                         const std::int16_t* w, std::int32_t* acc) {
  switch (pixels) {
    case 1:
      return accumulate_avx2<1>(x, pixel_stride, taps, pairs, w, acc);
    case 2:
      return accumulate_avx2<2>(x, pixel_stride, taps, pairs, w, acc);
    case 3:
      return accumulate_avx2<3>(x, pixel_stride, taps, pairs, w, acc);
    case 4:
      return accumulate_avx2<4>(x, pixel_stride, taps, pairs, w, acc);
    case 5:
      return accumulate_avx2<5>(x, pixel_stride, taps, pairs, w, acc);
    default:
      return accumulate_avx2<6>(x, pixel_stride, taps, pairs, w, acc);
  }
}

__attribute__((target("avx2"))) void multiply_add_avx2(const std::int16_t* x, const std::int16_t* w, std::int32_t* sum,
                                                       std::size_t n) {
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m256i a = _mm256_cvtepi16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i)));
    const __m256i b = _mm256_cvtepi16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(w + i)));
    __m256i* s = reinterpret_cast<__m256i*>(sum + i);
    _mm256_storeu_si256(s, _mm256_add_epi32(_mm256_loadu_si256(s), _mm256_mullo_epi32(a, b)));
  }
  for (; i < n; ++i) {
    sum[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(sum[i]) + static_cast<std::uint32_t>(x[i] * w[i]));
  }
}

bool has_avx2() {
  static const bool found = __builtin_cpu_supports("avx2") != 0;
  return found;
}

#endif

Kernel pick_kernel() {
#ifdef TESSERA_HAS_AVX2_PATH
  if (has_avx2()) return accumulate_avx2_any;
#endif
  return accumulate_portable;
}

}  // namespace

void accumulate_portable(const std::int16_t* x, std::int64_t pixel_stride, int pixels,
                         const std::vector<std::int64_t>& taps, std::int64_t pairs, const std::int16_t* w,
                         std::int32_t* acc) {
  std::uint32_t sums[kMaxPixels * kLanes] = {};
  for (const std::int64_t tap : taps) {
    for (std::int64_t q = 0; q < pairs; ++q) {
      for (int p = 0; p < pixels; ++p) {
        const std::int16_t* at = x + tap + p * pixel_stride + 2 * q;
        const std::int32_t x0 = at[0];
        const std::int32_t x1 = at[1];
        std::uint32_t* sum = sums + p * kLanes;
        for (int lane = 0; lane < kLanes; ++lane) {
          sum[lane] += static_cast<std::uint32_t>(x0 * w[2 * lane] + x1 * w[2 * lane + 1]);
        }
      }
      w += 2 * kLanes;
    }
  }
  std::memcpy(acc, sums, sizeof(std::int32_t) * static_cast<std::size_t>(pixels * kLanes));
}

void accumulate(const std::int16_t* x, std::int64_t pixel_stride, int pixels, const std::vector<std::int64_t>& taps,
                std::int64_t pairs, const std::int16_t* w, std::int32_t* acc) {
  static const Kernel kernel = pick_kernel();
  TESSERA_CHECK(pixels >= 1 && pixels <= kMaxPixels, pixels, " pixels");
  kernel(x, pixel_stride, pixels, taps, pairs, w, acc);
}

void multiply_add(const std::int16_t* x, const std::int16_t* w, std::int32_t* sum, std::size_t n) {
#ifdef TESSERA_HAS_AVX2_PATH
  if (has_avx2()) {
    multiply_add_avx2(x, w, sum, n);
    return;
  }
#endif
  for (std::size_t i = 0; i < n; ++i) {
    sum[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(sum[i]) + static_cast<std::uint32_t>(x[i] * w[i]));
  }
}

}  // namespace tessera::semantics
