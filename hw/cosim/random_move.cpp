#include "hw/cosim/random_move.hpp"

#include <algorithm>
#include <array>
#include <type_traits>

#include "hw/common/units.hpp"
#include "hw/cosim/slice.hpp"
#include "hw/models/load/dma_walk.hpp"
#include "isa/semantics/dma.hpp"

namespace tessera::cosim {
namespace {

std::int64_t sign(Random& random) { return random.chance(1, 6) ? -1 : 1; }

// ---- LOAD and STORE

/// One piece, or groups: a channel, a pixel, a line, or any size.
template <typename Dma>
void group(const isa::ChipConfig& chip, Random& random, Dma& d) {
  d.group_bytes = d.row_bytes + (random.chance(1, 8) ? 5 : 0);
  if (random.chance(1, 2)) {
    const std::int64_t sizes[] = {1, chip.layout.channel_block, chip.sram.line_bytes, random.between(1, 20)};
    d.group_bytes = static_cast<std::uint32_t>(std::min<std::int64_t>(sizes[random.below(4)], d.row_bytes));
  }
  d.group_stride = d.group_bytes + static_cast<std::uint32_t>(random.chance(1, 2) ? 0 : random.below(12));
}

void pad(Random& random, isa::Load& d) {
  d.fill_value = static_cast<std::uint8_t>(random.below(256));
  for (std::uint8_t* groups : {&d.fill_groups_before, &d.fill_groups_after, &d.fill_rows_before, &d.fill_rows_after}) {
    *groups = static_cast<std::uint8_t>(random.chance(3, 4) ? 0 : random.between(1, 3));
  }
}

template <typename Dma>
void wrap(Random& random, Dma& d, std::int64_t run_rows) {
  d.first_row = static_cast<std::uint16_t>(random.below(4));  // without effect unless circular
  if (random.chance(2, 3)) return;
  d.wrap_rows = static_cast<std::uint16_t>(run_rows + random.between(0, 3));
  d.first_row = static_cast<std::uint16_t>(random.below(d.wrap_rows));
}

/// Rows of any length and alignment, whole or in groups, padded or not, circular or not; strides of any sign, within
/// the window and the buffer.
template <typename Dma>
Dma dma(const isa::ChipConfig& chip, Random& random, const Window& window, isa::BufferKind kind,
        std::int64_t buffer_bytes) {
  for (;;) {
    Dma d;
    d.base_register = isa::base_register_of(kind);
    const std::int64_t most = random.chance(1, 3) ? 16 : random.chance(1, 2) ? 90 : 400;
    const std::int64_t row = random.between(1, most);
    d.row_bytes = static_cast<std::uint32_t>(row);
    group(chip, random, d);
    if constexpr (std::is_same_v<Dma, isa::Load>) pad(random, d);
    const std::array<std::int64_t, 3> counts = {random.chance(1, 4) ? 2 : 1, random.between(1, 2),
                                                random.between(1, 6)};
    const semantics::DmaShape one = semantics::dma_shape(d);
    const std::int64_t extent = (one.row_groups() - 1) * one.group_stride + one.group_bytes;
    // Rows beside one another, with gaps, or between one another.
    std::int64_t pitch =
        random.chance(1, 4) ? random.between(1, extent) : extent + (random.chance(1, 2) ? 0 : random.between(0, 24));
    std::int64_t dram_pitch = row + (random.chance(1, 2) ? 0 : random.between(0, 300));
    for (std::size_t k = 3; k-- > 0;) {
      d.dims[k].count = static_cast<std::uint16_t>(counts[k]);
      d.dims[k].sram_stride = static_cast<std::int32_t>(sign(random) * pitch);
      d.dims[k].dram_stride = sign(random) * dram_pitch;
      if (k == 2) wrap(random, d, counts[k] + one.rows_before + one.rows_after);
      pitch *= k == 2 ? std::max<std::int64_t>(counts[k] + one.rows_before + one.rows_after, d.wrap_rows) : counts[k];
      dram_pitch *= counts[k];
    }
    // Sources may be read again and again.
    if (random.chance(1, 8)) {
      if constexpr (std::is_same_v<Dma, isa::Load>) {
        d.dims[2].dram_stride = 0;
      } else {
        d.dims[2].sram_stride = 0;
      }
    }
    const hw::DmaHull hull = hw::dma_hull(semantics::dma_shape(d));  // of bases 0
    if (hull.sram_end - hull.sram_begin > window.size || hull.dram_end - hull.dram_begin > buffer_bytes) continue;
    d.sram_base =
        static_cast<std::uint32_t>(often_an_end(random, window.begin - hull.sram_begin, window.end() - hull.sram_end));
    d.dram_offset = static_cast<std::uint64_t>(random.between(-hull.dram_begin, buffer_bytes - hull.dram_end));
    return d;
  }
}

// ---- REORDER

constexpr std::int64_t kMostLines = 150;  // of data that one copy moves

isa::Reorder runs_of(std::int64_t bytes) {
  isa::Reorder r;
  for (auto& dim : r.dims) dim.count = 1;
  r.run_bytes = static_cast<std::uint16_t>(bytes);
  return r;
}

/// Whole lines, as a map is cut or joined.
isa::Reorder copy_of_lines(const isa::ChipConfig& chip, Random& random) {
  const std::int64_t line = chip.sram.line_bytes;
  const std::int64_t lines = random.between(1, random.chance(1, 2) ? 4 : 40);
  isa::Reorder r = runs_of(lines * line);
  std::int64_t src_pitch = lines + random.between(0, 3), dst_pitch = lines + random.between(0, 3);
  for (std::size_t k = 6; k-- > 0;) {
    if (random.chance(2, 3)) continue;
    r.dims[k] = {static_cast<std::uint16_t>(random.between(2, 4)),
                 static_cast<std::int32_t>(random.chance(1, 6) ? 0 : sign(random) * src_pitch * line),
                 static_cast<std::int32_t>(sign(random) * dst_pitch * line)};
    src_pitch *= r.dims[k].count;
    dst_pitch *= r.dims[k].count;
  }
  return r;
}

/// Runs of any length, beside one another or not: several may share a step.
isa::Reorder copy_of_bytes(Random& random) {
  isa::Reorder r = runs_of(random.between(1, random.chance(1, 2) ? 4 : 60));
  std::int64_t src_pitch = r.run_bytes, dst_pitch = r.run_bytes;
  for (std::size_t k = 6; k-- > 0;) {
    if (random.chance(1, 2)) continue;
    const auto stride = [&](std::int64_t pitch) {
      return static_cast<std::int32_t>(sign(random) * (random.chance(1, 2) ? pitch : random.between(0, 40)));
    };
    r.dims[k] = {static_cast<std::uint16_t>(random.between(2, 5)), stride(src_pitch), stride(dst_pitch)};
    src_pitch = r.dims[k].count * src_pitch + random.between(0, 5);
    dst_pitch = r.dims[k].count * dst_pitch + random.between(0, 5);
  }
  return r;
}

isa::Reorder transposition(Random& random) {
  isa::Reorder r = runs_of(random.between(1, 3));
  const std::int64_t rows = random.between(2, 16), columns = random.between(2, 16);
  r.dims[4] = {static_cast<std::uint16_t>(rows), static_cast<std::int32_t>(columns * r.run_bytes),
               static_cast<std::int32_t>(r.run_bytes)};
  r.dims[5] = {static_cast<std::uint16_t>(columns), static_cast<std::int32_t>(r.run_bytes),
               static_cast<std::int32_t>(rows * r.run_bytes)};
  return r;
}

/// Bytes of one side, from its base.
struct Reach {
  std::int64_t low = 0, high = 0;
  void widen(std::int64_t by) {
    low += std::min<std::int64_t>(by, 0);
    high += std::max<std::int64_t>(by, 0);
  }
};

}  // namespace

isa::Load random_load(const isa::ChipConfig& chip, Random& random, const Window& window, isa::BufferKind kind,
                      std::int64_t buffer_bytes) {
  return dma<isa::Load>(chip, random, window, kind, buffer_bytes);
}

isa::Store random_store(const isa::ChipConfig& chip, Random& random, const Window& window, isa::BufferKind kind,
                        std::int64_t buffer_bytes) {
  return dma<isa::Store>(chip, random, window, kind, buffer_bytes);
}

isa::Reorder random_reorder(const isa::ChipConfig& chip, Random& random, const Window& window) {
  for (;;) {
    isa::Reorder r = random.chance(1, 4)   ? transposition(random)
                     : random.chance(1, 3) ? copy_of_lines(chip, random)
                                           : copy_of_bytes(random);
    Reach src{0, r.run_bytes}, dst{0, r.run_bytes};
    std::int64_t bytes = r.run_bytes;
    for (const isa::ReorderDim& dim : r.dims) {
      src.widen((dim.count - 1) * std::int64_t{dim.src_stride});
      dst.widen((dim.count - 1) * std::int64_t{dim.dst_stride});
      bytes *= dim.count;
    }
    if (bytes > kMostLines * chip.sram.line_bytes) continue;
    if (src.high - src.low > window.size || dst.high - dst.low > window.size) continue;
    const std::int64_t unit = random.chance(1, 2) ? chip.sram.line_bytes : 1;
    const auto place = [&](const Reach& reach) {
      return round_up(often_an_end(random, window.begin - reach.low, window.end() - reach.high), unit);
    };
    const std::int64_t src_base = place(src), dst_base = place(dst);
    const bool inside = src_base + src.high <= window.end() && dst_base + dst.high <= window.end();
    const bool apart = src_base + src.high <= dst_base + dst.low || dst_base + dst.high <= src_base + src.low;
    r.src_base = static_cast<std::uint32_t>(src_base);
    r.dst_base = static_cast<std::uint32_t>(dst_base);
    r.fill = random.chance(1, 6);
    r.fill_value = static_cast<std::uint8_t>(random.below(256));
    if (inside && apart && reorder_in_slice(r, chip)) return r;
  }
}

}  // namespace tessera::cosim
