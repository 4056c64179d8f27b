// exp and log from additions, multiplications and divisions alone (IEEE 754 double, round to nearest, nothing fused),
// so that host steps give equal bytes on every machine whatever its libm. Relative error below 2^-51 (exp), absolute
// or relative error below 2^-51 (log), measured against long double in tests/compiler/host.
#pragma once

namespace tessera::compiler::host {

/// exp(x); 0 below -708, +infinity above 709.
[[nodiscard]] double exp(double x);
/// Natural logarithm; -infinity at 0, NaN below.
[[nodiscard]] double log(double x);

}  // namespace tessera::compiler::host
