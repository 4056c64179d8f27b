#include "compiler/host/math.hpp"

#include <cmath>
#include <limits>

namespace tessera::compiler::host {
namespace {

// ln 2 as a head with 32 trailing zero bits, so that k * head is exact for |k| < 2^20, and the rest.
constexpr double kLn2Head = 0x1.62e42fee00000p-1;
constexpr double kLn2Tail = 0x1.a39ef35793c76p-33;
constexpr double kInverseLn2 = 0x1.71547652b82fep+0;

}  // namespace

double exp(double x) {
  if (std::isnan(x)) return x;
  if (x < -708.0) return 0.0;
  if (x > 709.0) return std::numeric_limits<double>::infinity();
  // x = k ln 2 + r with |r| <= ln 2 / 2; exp(x) = 2^k exp(r), exp(r) by Taylor: r^14 / 14! < 2^-57.
  const double k = std::nearbyint(x * kInverseLn2);
  const double r = (x - k * kLn2Head) - k * kLn2Tail;
  double sum = 1.0;
  for (int n = 13; n >= 1; --n) sum = 1.0 + r * sum / n;
  return std::ldexp(sum, static_cast<int>(k));
}

double log(double x) {
  if (std::isnan(x) || x < 0.0) return std::numeric_limits<double>::quiet_NaN();
  if (x == 0.0) return -std::numeric_limits<double>::infinity();
  if (std::isinf(x)) return x;
  // x = 2^k m with m in [sqrt(1/2), sqrt(2)); log m = 2 atanh(s), s = (m - 1) / (m + 1), |s| < 0.172.
  int k = 0;
  double m = std::frexp(x, &k);
  if (m < 0x1.6a09e667f3bcdp-1) {
    m *= 2.0;
    --k;
  }
  const double s = (m - 1.0) / (m + 1.0);
  const double square = s * s;
  double sum = 0.0;
  for (int n = 23; n >= 1; n -= 2) sum = sum * square + 1.0 / n;
  return k * kLn2Head + (k * kLn2Tail + 2.0 * s * sum);
}

}  // namespace tessera::compiler::host
