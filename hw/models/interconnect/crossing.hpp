// Clock crossing between the core and the DRAM command clock, in integers (MACHINE.md section 1). The ratio of DRAM to
// core clock is the reduced fraction N/D of clock_hz and dram.tck_fs: 32/15 for LPDDR4-4266 at 1 GHz. Both domains are
// in phase at reset. Leaves out: metastability; the synchroniser is a fixed number of clocks each way.
#pragma once

#include <cstdint>

#include "hw/common/units.hpp"

namespace tessera::hw {

/// Quotients of numbers in [0, 2^63) by one divisor, exact, by a multiplication.
class Divisor {
 public:
  explicit Divisor(std::int64_t by) : shift_(by > 1 ? 64 - __builtin_clzll(static_cast<std::uint64_t>(by - 1)) : 0) {
    // ceil(2^(63 + shift) / by) lies less than by <= 2^shift / 2^(63 + shift) above the reciprocal.
    const Wide power = Wide{1} << (63 + shift_);
    factor_ = static_cast<std::uint64_t>((power + static_cast<std::uint64_t>(by) - 1) / static_cast<std::uint64_t>(by));
  }
  [[nodiscard]] std::int64_t floor(std::int64_t value) const {
    return static_cast<std::int64_t>(static_cast<Wide>(static_cast<std::uint64_t>(value)) * factor_ >> (63 + shift_));
  }

 private:
  __extension__ using Wide = unsigned __int128;
  int shift_;  // by <= 2^shift
  std::uint64_t factor_ = 0;
};

class ClockCrossing {
 public:
  ClockCrossing(std::int64_t clock_hz, std::int64_t tck_fs, std::int64_t sync_clocks);

  /// DRAM clock at which a request of core cycle n is seen: ceil((n + 1) N / D) + sync.
  [[nodiscard]] DramClocks request_arrival(Cycles n) const { return ceil_scale(n + 1, n_, d_, by_d_) + sync_; }
  /// Core cycle in which something that happened in DRAM clock k is seen: ceil((k + 1) D / N) + sync.
  [[nodiscard]] Cycles response_arrival(DramClocks k) const { return ceil_scale(k + 1, d_, n_, by_n_) + sync_; }
  /// First core cycle that begins at or after the beginning of DRAM clock k (no synchroniser): ceil(k D / N).
  [[nodiscard]] Cycles cycle_at(DramClocks k) const { return ceil_scale(k, d_, n_, by_n_); }
  /// DRAM clocks begun before core cycle n begins: ceil(n N / D).
  [[nodiscard]] DramClocks clocks_at(Cycles n) const { return ceil_scale(n, n_, d_, by_d_); }

  /// DRAM clock that runs when core cycle n begins: floor(n N / D).
  [[nodiscard]] DramClocks clock_in(Cycles n) const { return narrow_ ? by_d_.floor(n * n_) : wide_clock_in(n); }

  [[nodiscard]] std::int64_t numerator() const { return n_; }
  [[nodiscard]] std::int64_t denominator() const { return d_; }

 private:
  /// ceil(value * a / b) for value >= 0.
  [[nodiscard]] std::int64_t ceil_scale(std::int64_t value, std::int64_t a, std::int64_t b, const Divisor& by_b) const {
    return narrow_ ? by_b.floor(value * a + b - 1) : wide_ceil_scale(value, a, b);
  }
  [[nodiscard]] static std::int64_t wide_ceil_scale(std::int64_t value, std::int64_t a, std::int64_t b);
  [[nodiscard]] DramClocks wide_clock_in(Cycles n) const;

  std::int64_t n_ = 1;
  std::int64_t d_ = 1;
  Divisor by_n_{1}, by_d_{1};
  std::int64_t sync_ = 0;
  bool narrow_ = true;  // products fit 64 bits for any time below 2^40
};

}  // namespace tessera::hw
