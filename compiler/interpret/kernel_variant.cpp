// One variant of the kernels: compiled several times, with TESSERA_KERNELS naming the table and the compiler flags
// choosing the vector extension. Includes nothing that has inline functions: their code would be shared with files
// compiled for any processor.
#include "compiler/interpret/kernels.hpp"

namespace tessera::compiler::kernels {
namespace {

typedef float F32x16 __attribute__((vector_size(64), aligned(4), may_alias));
typedef std::int32_t I32x16 __attribute__((vector_size(64), aligned(4), may_alias));
typedef std::int16_t I16x16 __attribute__((vector_size(32), aligned(2), may_alias));

inline F32x16 load(const float* p) { return *reinterpret_cast<const F32x16*>(p); }
inline I32x16 load(const std::int16_t* p) {
  return __builtin_convertvector(*reinterpret_cast<const I16x16*>(p), I32x16);
}
inline F32x16 zero(float) { return F32x16{}; }
inline I32x16 zero(std::int32_t) { return I32x16{}; }
inline void store(float* p, F32x16 v) { *reinterpret_cast<F32x16*>(p) = v; }
inline void store(std::int32_t* p, I32x16 v) { *reinterpret_cast<I32x16*>(p) = v; }

template <typename X, typename Sum>
void rows6(const Rows<X, Sum>& job) {
  for (std::size_t i = 0; i < job.length; i += kLanes) {
    auto s0 = zero(Sum{}), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0;
    const X* w = job.weights;
    const X* const base = job.planes + i;
    for (std::size_t k = 0; k < job.terms; ++k, w += kMaxRows) {
      const auto x = load(base + job.offsets[k]);
      s0 += x * static_cast<Sum>(w[0]);
      s1 += x * static_cast<Sum>(w[1]);
      s2 += x * static_cast<Sum>(w[2]);
      s3 += x * static_cast<Sum>(w[3]);
      s4 += x * static_cast<Sum>(w[4]);
      s5 += x * static_cast<Sum>(w[5]);
    }
    Sum* const out = job.out + i;
    store(out, s0);
    store(out + job.pitch, s1);
    store(out + 2 * job.pitch, s2);
    store(out + 3 * job.pitch, s3);
    store(out + 4 * job.pitch, s4);
    store(out + 5 * job.pitch, s5);
  }
}

template <typename X, typename Sum>
void rows1(const Rows<X, Sum>& job) {
  for (std::size_t i = 0; i < job.length; i += kLanes) {
    auto s = zero(Sum{});
    for (std::size_t k = 0; k < job.terms; ++k) {
      s += load(job.planes + i + job.offsets[k]) * static_cast<Sum>(job.weights[k]);
    }
    store(job.out + i, s);
  }
}

/// Four times 16 running sums, added in one fixed order at the end.
template <typename X, typename Sum>
Sum dot(const X* a, const X* b, std::size_t n) {
  auto s0 = zero(Sum{}), s1 = s0, s2 = s0, s3 = s0;
  std::size_t k = 0;
  for (; k + 4 * kLanes <= n; k += 4 * kLanes) {
    s0 += load(a + k) * load(b + k);
    s1 += load(a + k + 16) * load(b + k + 16);
    s2 += load(a + k + 32) * load(b + k + 32);
    s3 += load(a + k + 48) * load(b + k + 48);
  }
  for (; k + kLanes <= n; k += kLanes) s0 += load(a + k) * load(b + k);
  const auto lanes = (s0 + s1) + (s2 + s3);
  Sum sum{};
  for (std::size_t lane = 0; lane < kLanes; ++lane) sum += lanes[lane];
  for (; k < n; ++k) sum += static_cast<Sum>(a[k]) * static_cast<Sum>(b[k]);
  return sum;
}

}  // namespace

extern const Table TESSERA_KERNELS;
const Table TESSERA_KERNELS = {TESSERA_KERNELS_NAME,
                               rows6<float, float>,
                               rows1<float, float>,
                               rows6<std::int16_t, std::int32_t>,
                               rows1<std::int16_t, std::int32_t>,
                               dot<float, float>,
                               dot<std::int16_t, std::int32_t>};

}  // namespace tessera::compiler::kernels
