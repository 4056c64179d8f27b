// Every operand of an instruction as strided boxes of bytes: the base of footprint (whole lines, merged) and of the
// written-byte map (exact). Not an interface of the room; use footprint.hpp and written.hpp.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "isa/chip.hpp"
#include "isa/isa.hpp"

namespace tessera::semantics {

/// exact: real channels and real pixels only. lines: a row of a map or matrix is its whole lines, padding included.
enum class Granularity : std::uint8_t { exact, lines };

/// Bytes base + sum(index_d * stride_d) + [0, run) for all indices.
struct Box {
  struct Dim {
    std::int64_t count = 1;
    std::int64_t stride = 0;
  };
  const char* operand = "";
  bool write = false;
  bool dram = false;
  std::uint8_t base_register = 0;  // dram
  std::int64_t base = 0;           // sram: byte address; dram: offset from the base register
  std::int64_t run = 0;
  std::array<Dim, 6> dims{};
  int dim_count = 0;

  void add_dim(std::int64_t count, std::int64_t stride) {
    if (count > 1) dims[static_cast<std::size_t>(dim_count++)] = {count, stride};
  }
};

/// Makes strides positive, orders the loops by stride, and swallows those whose pieces lie at most `gap` bytes apart.
/// With more than `max_pieces` pieces left, swallows the loops of smallest stride, gaps and all.
void simplify(Box& box, std::int64_t gap, std::int64_t max_pieces);

/// Calls piece(first byte, bytes) for every index of the box, dims[0] fastest.
template <typename F>
void for_each_piece(const Box& box, F&& piece) {
  std::array<std::int64_t, 6> index{};
  std::int64_t at = box.base;
  const auto loops = static_cast<std::size_t>(box.dim_count);
  for (;;) {
    piece(at, box.run);
    std::size_t d = 0;
    for (; d < loops; ++d) {
      at += box.dims[d].stride;
      if (++index[d] < box.dims[d].count) break;
      at -= box.dims[d].stride * box.dims[d].count;
      index[d] = 0;
    }
    if (d == loops) return;
  }
}

/// Consecutive rows (or table entries).
struct Span {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// Rows in [0, in_rows) that a window of `kernel` taps reads for `out_rows` positions, as runs in ascending order.
[[nodiscard]] std::vector<Span> window_rows(std::int64_t out_rows, std::int64_t kernel, std::int64_t stride,
                                            std::int64_t dilation, std::int64_t pad_before, std::int64_t in_rows);

/// Elements of a pooling window along one axis that count, at output position `out`. Positions in [-pad_before,
/// in + pad_after) count with padding (average, count_include_pad); without it, pass pads of 0 in `low` and `high`.
[[nodiscard]] std::int64_t window_count(std::int64_t out, std::int64_t kernel, std::int64_t stride,
                                        std::int64_t pad_before, std::int64_t low, std::int64_t high);

/// The instruction must be legal (legal.hpp: field checks).
[[nodiscard]] std::vector<Box> operand_boxes(const isa::Instruction& instruction, const isa::ChipConfig& chip,
                                             Granularity granularity);

}  // namespace tessera::semantics
