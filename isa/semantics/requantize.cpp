#include "isa/semantics/requantize.hpp"

#include <algorithm>
#include <cmath>

#include "hw/common/error.hpp"

namespace tessera::semantics {

namespace {

/// Real as mantissa x 2^-shift with `bits` bits of mantissa, shift clamped to [0, 62]. std::frexp and std::ldexp are
/// exact, std::nearbyint rounds half to even in the default rounding mode.
struct Fixed {
  std::int64_t mantissa = 0;
  int shift = 0;
};

int shift_for(double magnitude, int bits) {
  int exponent = 0;
  (void)std::frexp(magnitude, &exponent);  // magnitude = f * 2^exponent, f in [0.5, 1)
  return std::clamp(bits - exponent, 0, static_cast<int>(kMaxShift));
}

std::int64_t mantissa_for(double real, int shift) {
  return static_cast<std::int64_t>(std::nearbyint(std::ldexp(real, shift)));
}

Fixed fixed(double real, int bits) {
  int shift = shift_for(real, bits);
  std::int64_t mantissa = mantissa_for(real, shift);
  if (mantissa == (std::int64_t{1} << bits) && shift > 0) {  // rounded up to the next power of two
    --shift;
    mantissa = mantissa_for(real, shift);
  }
  return {mantissa, shift};
}

}  // namespace

double QuantizedScale::value() const { return std::ldexp(static_cast<double>(multiplier), -static_cast<int>(shift)); }

QuantizedScale quantize_scale(double real) {
  if (!std::isfinite(real) || real < 0.0 || real >= 2147483647.5) {
    user_error("scale factor ", real, ": expected a finite value in [0, 2^31)");
  }
  if (real == 0.0) return {};
  const Fixed f = fixed(real, 31);
  return {static_cast<std::uint32_t>(f.mantissa), static_cast<std::uint32_t>(f.shift)};
}

AddScale quantize_add(double scale_a, double scale_b, double scale_o, int sign_b) {
  const double ra = scale_a / scale_o;
  const double rb = scale_b / scale_o;
  for (const double r : {ra, rb}) {
    if (!std::isfinite(r) || r < 0.0 || r >= 1073741824.0) {
      user_error("ratio of an addend's scale to the sum's scale is ", r, ": expected a finite value in [0, 2^30)");
    }
  }
  const double larger = std::max(ra, rb);
  if (larger == 0.0) return {};
  const int shift = fixed(larger, 30).shift;
  AddScale s;
  s.shift = static_cast<std::uint32_t>(shift);
  s.ma = static_cast<std::int32_t>(mantissa_for(ra, shift));
  s.mb = static_cast<std::int32_t>(mantissa_for(rb, shift)) * (sign_b < 0 ? -1 : 1);
  return s;
}

std::vector<QuantizedScale> average_scales(double scale_in, double scale_out, std::int64_t max_count) {
  std::vector<QuantizedScale> scales;
  scales.reserve(static_cast<std::size_t>(max_count));
  for (std::int64_t n = 1; n <= max_count; ++n) {
    scales.push_back(quantize_scale(scale_in / (scale_out * static_cast<double>(n))));
  }
  return scales;
}

}  // namespace tessera::semantics
