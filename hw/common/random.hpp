// Our own small generator (xoshiro256**, seeded by splitmix64), so that seeded runs are equal on every machine and with
// every standard library. Not for secrets. Source of the algorithms: D. Blackman, S. Vigna, "Scrambled linear
// pseudorandom number generators", ACM TOMS 2021.
#pragma once

#include <array>
#include <cstdint>

namespace tessera {

/// One step of splitmix64; also good for mixing an index into a seed.
[[nodiscard]] constexpr std::uint64_t splitmix64(std::uint64_t& state) {
  state += 0x9E3779B97F4A7C15ULL;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

class Random {
 public:
  explicit constexpr Random(std::uint64_t seed) {
    for (std::uint64_t& word : state_) {
      word = splitmix64(seed);
    }
  }

  constexpr std::uint64_t next() {
    const std::uint64_t result = rotate(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = rotate(state_[3], 45);
    return result;
  }

  /// Uniform in [0, bound), bound >= 1: the high half of a 64 x 64 product, off by less than bound / 2^64.
  constexpr std::uint64_t below(std::uint64_t bound) {
    __extension__ typedef unsigned __int128 Wide;
    return static_cast<std::uint64_t>((static_cast<Wide>(next()) * bound) >> 64);
  }

  /// Uniform in [low, high].
  constexpr std::int64_t between(std::int64_t low, std::int64_t high) {
    const std::uint64_t span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
    const std::uint64_t step = span == 0 ? next() : below(span);
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + step);
  }

  /// True in `numerator` of `denominator` cases.
  constexpr bool chance(std::uint64_t numerator, std::uint64_t denominator) { return below(denominator) < numerator; }

  /// Uniform in [0, 1), a multiple of 2^-53.
  constexpr double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

  /// Mean 0, variance 1, within (-6, 6): a sum of twelve uniforms, so that no libm can change a value.
  constexpr double normal() {
    double sum = -6.0;
    for (int i = 0; i < 12; ++i) {
      sum += unit();
    }
    return sum;
  }

 private:
  static constexpr std::uint64_t rotate(std::uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
  std::array<std::uint64_t, 4> state_{};
};

}  // namespace tessera
