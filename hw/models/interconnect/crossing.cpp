#include "hw/models/interconnect/crossing.hpp"

#include <numeric>

#include "hw/common/error.hpp"

namespace tessera::hw {

namespace {
__extension__ using Wide = __int128;
constexpr std::int64_t kFemtosecondsPerSecond = 1'000'000'000'000'000;
constexpr std::int64_t kNarrowLimit = std::int64_t{1} << 22;
}  // namespace

ClockCrossing::ClockCrossing(std::int64_t clock_hz, std::int64_t tck_fs, std::int64_t sync_clocks)
    : sync_(sync_clocks) {
  TESSERA_CHECK(clock_hz > 0 && tck_fs > 0 && sync_clocks >= 0, "clock ", clock_hz, " Hz, tCK ", tck_fs, " fs");
  // DRAM clocks a core cycle = (10^15 / clock_hz) / tck_fs.
  const std::int64_t d = clock_hz * tck_fs;
  const std::int64_t g = std::gcd(kFemtosecondsPerSecond, d);
  n_ = kFemtosecondsPerSecond / g;
  d_ = d / g;
  by_n_ = Divisor(n_);
  by_d_ = Divisor(d_);
  narrow_ = n_ < kNarrowLimit && d_ < kNarrowLimit;
}

std::int64_t ClockCrossing::wide_ceil_scale(std::int64_t value, std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>((static_cast<Wide>(value) * a + b - 1) / b);
}

DramClocks ClockCrossing::wide_clock_in(Cycles n) const {
  return static_cast<DramClocks>(static_cast<Wide>(n) * n_ / d_);
}

}  // namespace tessera::hw
