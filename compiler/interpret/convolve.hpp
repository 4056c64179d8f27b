// Convolution of whole NCHW maps: any stride, dilation, padding, group. Used on floats by the float interpreter and on
// integers by the `graph` oracle. Its own loops: no tiles, no blocked layout, nothing of the machine.
#pragma once

#include <cstdint>
#include <vector>

namespace tessera::compiler {

struct ConvGeometry {
  std::int64_t n = 1, cin = 1, h = 1, w = 1, cout = 1;
  std::int64_t kh = 1, kw = 1, sy = 1, sx = 1, dy = 1, dx = 1;
  std::int64_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  std::int64_t groups = 1;
  [[nodiscard]] std::int64_t oh() const { return (h + pad_top + pad_bottom - dy * (kh - 1) - 1) / sy + 1; }
  [[nodiscard]] std::int64_t ow() const { return (w + pad_left + pad_right - dx * (kw - 1) - 1) / sx + 1; }
};

/// y[n][cout][oh][ow] = sum of x * w (OIHW); places outside x count as 0.
void convolve(const ConvGeometry& g, const float* x, const float* w, float* y);
/// The same on integers; x and w already without their zero points, |x|, |w| <= 255; sums wrap as int32.
void convolve(const ConvGeometry& g, const std::int16_t* x, const std::int16_t* w, std::int32_t* y);

/// c[m][n] = sum over k of a[m][k] * b[k][n], row-major.
void multiply(std::int64_t m, std::int64_t k, std::int64_t n, const float* a, const float* b, float* c);

/// c[m][n] = sum over k of a[m][k] * b[n][k]: b transposed.
void multiply_transposed(std::int64_t m, std::int64_t k, std::int64_t n, const float* a, const float* b, float* c);

}  // namespace tessera::compiler
