// From "which element goes where" to the strided boxes of a `move`. Private to compiler/quantize.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/ir/graph.hpp"
#include "compiler/ir/qgraph.hpp"

namespace tessera::compiler {

/// More boxes than this are no longer a strided copy: the node runs on the host.
inline constexpr std::size_t kMostPieces = 64;

/// C-order element strides.
[[nodiscard]] std::vector<std::int64_t> linear_strides(const Shape& shape);

/// A box over the axes of `extent`: element (i0, i1, ...) goes from src_offset + sum i src_stride to dst_offset + sum i
/// dst_stride. Loops of one are left out, loops that continue each other merged; nullopt: more than six remain.
[[nodiscard]] std::optional<QMove> make_piece(int input, std::int64_t src_offset, std::int64_t dst_offset,
                                              const std::vector<std::int64_t>& extent,
                                              const std::vector<std::int64_t>& src_stride,
                                              const std::vector<std::int64_t>& dst_stride);

/// The same as several boxes where six loops are too few: the shortest loops are spelled out. nullopt: more than
/// kMostPieces.
[[nodiscard]] std::optional<std::vector<QMove>> make_pieces(int input, std::int64_t src_offset, std::int64_t dst_offset,
                                                            const std::vector<std::int64_t>& extent,
                                                            const std::vector<std::int64_t>& src_stride,
                                                            const std::vector<std::int64_t>& dst_stride);

/// The boxes of an operator that only moves elements: source[i] is the linear source of output element i of `shape`.
/// Works where the source is a sum of one function an axis (slices, transposes, repeats, nearest resizing, shuffles);
/// nullopt otherwise, or when more than kMostPieces come out.
[[nodiscard]] std::optional<std::vector<QMove>> pieces_of(const std::vector<std::int64_t>& source, const Shape& shape);

}  // namespace tessera::compiler
