// A bare memory for tests of the instructions' meaning: SRAM with a bump allocator, DRAM as one vector a base register,
// maps in and out as plain NCHW vectors. Padding lanes are filled with junk, so that a reader that lets one through
// is found out.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "hw/common/random.hpp"
#include "hw/common/units.hpp"
#include "isa/chip.hpp"
#include "isa/semantics/execute.hpp"
#include "isa/semantics/footprint.hpp"
#include "isa/semantics/layout.hpp"
#include "isa/semantics/written.hpp"

namespace tessera::semantics::test {

/// A whole tensor, CHW, int8.
struct Map {
  std::int64_t c = 0, h = 0, w = 0;
  std::vector<std::int8_t> v;
  Map() = default;
  Map(std::int64_t channels, std::int64_t rows, std::int64_t columns)
      : c(channels), h(rows), w(columns), v(static_cast<std::size_t>(channels * rows * columns)) {}
  std::int8_t& at(std::int64_t ch, std::int64_t y, std::int64_t x) {
    return v[static_cast<std::size_t>((ch * h + y) * w + x)];
  }
  [[nodiscard]] std::int8_t at(std::int64_t ch, std::int64_t y, std::int64_t x) const {
    return v[static_cast<std::size_t>((ch * h + y) * w + x)];
  }
};

inline Map random_map(Random& random, std::int64_t c, std::int64_t h, std::int64_t w) {
  Map m(c, h, w);
  for (std::int8_t& v : m.v) v = static_cast<std::int8_t>(random.between(-128, 127));
  return m;
}

class VectorDram : public DramAccess {
 public:
  std::array<std::vector<std::uint8_t>, 8> bytes;
  void read(std::uint8_t base, std::uint64_t offset, std::uint8_t* out, std::size_t n) override {
    std::memcpy(out, bytes[base].data() + offset, n);
  }
  void write(std::uint8_t base, std::uint64_t offset, const std::uint8_t* in, std::size_t n) override {
    std::memcpy(bytes[base].data() + offset, in, n);
  }
  [[nodiscard]] DramLimits limits() const override {
    DramLimits limits{};
    for (std::size_t i = 0; i < limits.size(); ++i) limits[i] = bytes[i].size();
    return limits;
  }
};

class Machine {
 public:
  explicit Machine(const std::string& chip_name, std::uint64_t seed = 1, std::int64_t sram_bytes = 1 << 20)
      : chip(resized(chip_name, sram_bytes)), sram(static_cast<std::size_t>(chip.sram.banks * chip.sram.size_bytes)) {
    Random junk(seed + 77);
    for (std::uint8_t& b : sram) b = static_cast<std::uint8_t>(junk.below(256));
  }

  [[nodiscard]] std::int64_t allocate(std::int64_t bytes) {
    const std::int64_t at = next_;
    next_ = round_up(next_ + bytes, chip.sram.line_bytes);
    return at;
  }
  [[nodiscard]] std::int64_t place(const std::vector<std::uint8_t>& bytes) {
    const std::int64_t at = allocate(static_cast<std::int64_t>(bytes.size()));
    std::copy(bytes.begin(), bytes.end(), sram.begin() + static_cast<std::ptrdiff_t>(at));
    return at;
  }
  /// Room for a map with `extra` spare lines after each row and block; `wrap` > 0: circular, starting at row `first`.
  [[nodiscard]] isa::SramTensor room(std::int64_t c, std::int64_t h, std::int64_t w, std::int64_t extra = 0,
                                     std::int64_t wrap = 0, std::int64_t first = 0) {
    const MapLayout m = map_layout(c, h, w, chip);
    const std::int64_t rows = wrap > 0 ? wrap : h;
    isa::SramTensor t{};
    t.row_pitch = static_cast<std::uint16_t>(m.row_lines + extra);
    t.block_pitch = static_cast<std::uint32_t>(rows * t.row_pitch + extra);
    t.wrap_rows = static_cast<std::uint16_t>(wrap);
    t.first_row = static_cast<std::uint16_t>(first);
    t.base = static_cast<std::uint32_t>(allocate(m.blocks * t.block_pitch * chip.sram.line_bytes));
    return t;
  }
  void put(const isa::SramTensor& t, const Map& m) {
    for (std::int64_t c = 0; c < m.c; ++c) {
      for (std::int64_t y = 0; y < m.h; ++y) {
        for (std::int64_t x = 0; x < m.w; ++x) {
          sram[static_cast<std::size_t>(value_address(t, chip, c, y, x))] = static_cast<std::uint8_t>(m.at(c, y, x));
        }
      }
    }
  }
  [[nodiscard]] Map get(const isa::SramTensor& t, std::int64_t c, std::int64_t h, std::int64_t w) const {
    Map m(c, h, w);
    for (std::int64_t ch = 0; ch < c; ++ch) {
      for (std::int64_t y = 0; y < h; ++y) {
        for (std::int64_t x = 0; x < w; ++x) {
          m.at(ch, y, x) = static_cast<std::int8_t>(sram[static_cast<std::size_t>(value_address(t, chip, ch, y, x))]);
        }
      }
    }
    return m;
  }
  /// Executes, and holds footprint and written bytes to what happens: only marked bytes change, all of them lie in the
  /// footprint's writes, and bytes outside the footprint's reads have no influence on them.
  template <typename Body>
  void run(const Body& body) {
    const isa::Instruction instruction{{}, body};
    std::vector<std::uint8_t> before = sram;
    Memory memory{sram.data(), sram.size(), &dram};
    execute(instruction, chip, memory);

    std::vector<std::uint8_t> reads(sram.size(), 0);
    std::vector<std::uint8_t> writes(sram.size(), 0);
    for (const Range& range : footprint(instruction, chip)) {
      if (range.dram) continue;
      std::vector<std::uint8_t>& flags = range.write ? writes : reads;
      std::fill(flags.begin() + range.begin, flags.begin() + range.end, std::uint8_t{1});
    }
    WrittenBytes marked(static_cast<std::int64_t>(sram.size()));
    marked.mark(instruction, chip);
    Random noise(99);
    std::vector<std::uint8_t> scrambled = before;
    for (std::size_t i = 0; i < scrambled.size(); ++i) {
      if (reads[i] == 0) scrambled[i] = static_cast<std::uint8_t>(noise.next());
    }
    Memory other{scrambled.data(), scrambled.size(), &dram};
    execute(instruction, chip, other);
    for (std::size_t i = 0; i < sram.size(); ++i) {
      const bool is_marked = marked[static_cast<std::int64_t>(i)];
      ASSERT_TRUE(is_marked || sram[i] == before[i]) << "byte " << i << " changed, but is not marked as written";
      if (!is_marked) continue;
      ASSERT_EQ(writes[i], 1) << "byte " << i << " is written outside the footprint";
      ASSERT_EQ(sram[i], scrambled[i]) << "byte " << i << " depends on a byte outside the footprint's reads";
    }
  }

  isa::ChipConfig chip;
  std::vector<std::uint8_t> sram;
  VectorDram dram;

 private:
  static isa::ChipConfig resized(const std::string& name, std::int64_t sram_bytes) {
    const std::int64_t bank = sram_bytes / isa::load_chip(name).sram.banks;
    return isa::load_chip(name, {"sram.size_bytes=" + std::to_string(bank)});
  }
  std::int64_t next_ = 0;
};

}  // namespace tessera::semantics::test
