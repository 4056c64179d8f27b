// The inner loops of convolution and matrix product, compiled once per vector extension and chosen at run time. Every
// variant adds the same products in the same order without fusing them, so floats are equal bit for bit on all
// machines.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tessera::compiler::kernels {

inline constexpr std::size_t kLanes = 16;   // positions computed together
inline constexpr std::size_t kMaxRows = 6;  // output rows computed together
inline constexpr std::size_t kSlack = 64;   // elements that must be readable behind the last plane

/// out[r][i] = sum over k of weights[k][r] * planes[offsets[k] + i], for r < rows and i < length, k in ascending order.
/// `weights` holds `rows` (1 or kMaxRows) values per k; `out` has a pitch of `pitch` >= length rounded up to kLanes.
template <typename X, typename Sum>
struct Rows {
  const X* planes;
  const std::size_t* offsets;
  std::size_t terms;
  const X* weights;
  Sum* out;
  std::size_t pitch;
  std::size_t length;
};

struct Table {
  const char* name;
  void (*rows6_f32)(const Rows<float, float>&);
  void (*rows1_f32)(const Rows<float, float>&);
  void (*rows6_i16)(const Rows<std::int16_t, std::int32_t>&);
  void (*rows1_i16)(const Rows<std::int16_t, std::int32_t>&);
  float (*dot_f32)(const float* a, const float* b, std::size_t n);
  std::int32_t (*dot_i16)(const std::int16_t* a, const std::int16_t* b, std::size_t n);
};

/// The best variant this processor runs.
[[nodiscard]] const Table& best();
/// Every variant this processor runs, for tests.
[[nodiscard]] std::size_t available(const Table** tables, std::size_t room);

}  // namespace tessera::compiler::kernels
