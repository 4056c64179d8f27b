#include "hw/cosim/random_operands.hpp"

#include <algorithm>

#include "isa/semantics/layout.hpp"

namespace tessera::cosim {

std::int64_t any_int8(Random& random) {
  if (random.chance(1, 4)) return random.chance(1, 2) ? -128 : 127;
  return random.chance(1, 4) ? 0 : random.between(-128, 127);
}

std::int64_t often_an_end(Random& random, std::int64_t low, std::int64_t high) {
  if (random.chance(1, 4)) return random.chance(1, 2) ? low : high;
  return random.between(low, high);
}

std::int64_t place_constants(Random& random, const Window& window, std::int64_t bytes) {
  if (random.chance(1, 4)) return window.constants_end() - bytes;
  return window.constants + random.between(0, std::min<std::int64_t>(window.room - bytes, 8));
}

Map random_map(Random& random, std::int64_t channels, std::int64_t rows, std::int64_t columns,
               const isa::ChipConfig& chip) {
  const semantics::MapLayout layout = semantics::map_layout(channels, rows, columns, chip);
  Map map;
  map.tensor = semantics::dense_tensor(0, layout);
  set(map.tensor.row_pitch, layout.row_lines + (random.chance(1, 3) ? random.between(1, 2) : 0));
  if (random.chance(1, 4)) {  // circular, with or without rows to spare
    rows += random.between(0, 3);
    set(map.tensor.wrap_rows, rows);
    set(map.tensor.first_row, random.between(0, rows - 1));
  }
  set(map.tensor.block_pitch, rows * map.tensor.row_pitch + (random.chance(1, 3) ? random.between(1, 9) : 0));
  map.bytes = layout.blocks * map.tensor.block_pitch * chip.sram.line_bytes;
  return map;
}

void append_word(std::vector<std::uint8_t>& bytes, std::uint32_t word) {
  for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<std::uint8_t>(word >> (8 * i)));
}

RandomScale random_scale(Random& random, bool small) {
  RandomScale scale;
  scale.multiplier = random.between(std::int64_t{1} << 30, INT32_MAX);
  scale.shift = random.between(36, 46);
  if (small || random.chance(1, 4)) {
    scale.multiplier = random.between(1, 3);
    scale.shift = random.between(1, 12);
  }
  if (random.chance(1, 16)) scale.shift = random.chance(1, 2) ? 0 : 62;
  return scale;
}

void append_params(std::int64_t count, bool small, Random& random, std::vector<std::uint8_t>& bytes) {
  for (std::int64_t c = 0; c < count; ++c) {
    std::int64_t bias = random.between(-60000, 60000);
    if (random.chance(1, 16)) bias = random.chance(1, 2) ? INT32_MAX : INT32_MIN;
    const RandomScale scale = random_scale(random, small);
    append_word(bytes, static_cast<std::uint32_t>(bias));
    append_word(bytes, static_cast<std::uint32_t>(scale.multiplier));
    append_word(bytes, static_cast<std::uint32_t>(scale.shift));
  }
}

}  // namespace tessera::cosim
