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

/// Where the operands of a program's random instructions lie in the scratchpad.
struct Window {
  std::int64_t begin = 0, size = 0;      // of data
  std::int64_t constants = 0, room = 0;  // parameters, average entries and tables of one instruction
  [[nodiscard]] std::int64_t end() const { return begin + size; }
  [[nodiscard]] std::int64_t constants_end() const { return constants + room; }
};

/// In [low, high], often one of both: the first or last place that there is.
[[nodiscard]] std::int64_t often_an_end(Random& random, std::int64_t low, std::int64_t high);

/// Place of `bytes` bytes of constants: near the first byte of their room, at any alignment, or up to its last one.
[[nodiscard]] std::int64_t place_constants(Random& random, const Window& window, std::int64_t bytes);

struct Map {
  isa::SramTensor tensor;  // at address 0
  std::int64_t bytes = 0;
};

/// With or without gaps between rows and blocks, circular or not.
[[nodiscard]] Map random_map(Random& random, std::int64_t channels, std::int64_t rows, std::int64_t columns,
                             const isa::ChipConfig& chip);

/// Places ranges of the given sizes (whole lines) in the window, in random order with random gaps, often up to its
/// first or last line; false if they do not fit.
template <std::size_t N>
[[nodiscard]] bool place(Random& random, std::int64_t line, const Window& window,
                         const std::array<std::int64_t, N>& bytes, std::array<std::int64_t, N>& at) {
  const std::int64_t first = round_up(window.begin, line);
  std::int64_t slack = window.end() - first;
  for (const std::int64_t b : bytes) slack -= b;
  if (slack < 0) return false;
  std::array<std::size_t, N> order{};
  for (std::size_t i = 0; i < N; ++i) order[i] = i;
  for (std::size_t i = N; i-- > 1;) std::swap(order[i], order[random.below(i + 1)]);
  std::int64_t next = first;
  const bool at_begin = random.chance(1, 4), at_end = random.chance(1, 4);
  for (const std::size_t i : order) {
    std::int64_t gap = random.between(0, slack) / line * line;
    if (at_begin && i == order.front()) gap = 0;
    if (at_end && i == order.back()) gap = slack / line * line;
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
