// Operands of random instructions of the compute units: values, maps, and where they lie. Leaves out: which instruction
// has which operands (random_conv.hpp, random_edp.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "hw/common/random.hpp"
#include "hw/common/units.hpp"
#include "isa/chip.hpp"
#include "isa/isa.hpp"

namespace tessera::cosim {

template <typename T>
void set(T& field, std::int64_t value) {
  field = static_cast<T>(value);
}

/// An int8 value, often one of its ends.
[[nodiscard]] std::int64_t any_int8(Random& random);

struct Map {
  isa::SramTensor tensor;  // at address 0
  std::int64_t bytes = 0;
};

/// With or without gaps between rows and blocks, circular or not.
[[nodiscard]] Map random_map(Random& random, std::int64_t channels, std::int64_t rows, std::int64_t columns,
                             const isa::ChipConfig& chip);

/// Places ranges of the given sizes (whole lines) in [begin, begin + size), in random order with random gaps; false if
/// they do not fit.
template <std::size_t N>
[[nodiscard]] bool place(Random& random, std::int64_t line, std::int64_t begin, std::int64_t size,
                         const std::array<std::int64_t, N>& bytes, std::array<std::int64_t, N>& at) {
  const std::int64_t first = round_up(begin, line);
  std::int64_t slack = begin + size - first;
  for (const std::int64_t b : bytes) slack -= b;
  if (slack < 0) return false;
  std::array<std::size_t, N> order{};
  for (std::size_t i = 0; i < N; ++i) order[i] = i;
  for (std::size_t i = N; i-- > 1;) std::swap(order[i], order[random.below(i + 1)]);
  std::int64_t next = first;
  for (const std::size_t i : order) {
    const std::int64_t gap = random.between(0, slack) / line * line;
    slack -= gap;
    at[i] = next + gap;
    next = at[i] + bytes[i];
  }
  return true;
}

void append_word(std::vector<std::uint8_t>& bytes, std::uint32_t word);

struct RandomScale {
  std::int64_t multiplier = 0;
  std::int64_t shift = 0;
};

/// For sums of some 18 bits. Ordinary: 31 bits of multiplier; small: halves are rounded; now and then an extreme shift.
[[nodiscard]] RandomScale random_scale(Random& random, bool small);

/// Bias, multiplier and shift of `count` channels or columns: ordinary, extreme, and such that halves are rounded.
void append_params(std::int64_t count, bool small, Random& random, std::vector<std::uint8_t>& bytes);

}  // namespace tessera::cosim
