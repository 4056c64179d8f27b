// A `move` of the quantised graph (linear elements) as the machine does it: REORDER instructions between two blocked
// maps in SRAM, or boxes of LOAD and STORE between DRAM images and a dense tile. Also the two patterns that need no
// copy: a matrix transposition (the same map seen channels last) and a range of whole channels. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/ir/qgraph.hpp"
#include "compiler/schedule/dma_pieces.hpp"
#include "compiler/schedule/layer_graph.hpp"
#include "compiler/schedule/unit_cost.hpp"

namespace tessera::compiler {

/// [batch][rows][columns] -> [batch][columns][rows], whole tensor to whole tensor.
struct Transposition {
  std::int64_t batch = 1, rows = 1, columns = 1;
};
[[nodiscard]] std::optional<Transposition> as_transposition(const QNode& node, std::int64_t in_elements,
                                                            std::int64_t out_elements);

/// The output is channels [first, first + count) of every image of the input map, as they lie.
struct ChannelRange {
  std::int64_t first = 0, count = 0;
};
[[nodiscard]] std::optional<ChannelRange> as_channel_range(const QNode& node, const MapShape& in,
                                                           std::int64_t out_elements);

/// Whether the pieces write every element of the output.
[[nodiscard]] bool covers(const QNode& node, std::int64_t out_elements);

/// A piece as loops of which none carries from one axis of either map into the next.
struct MoveLoop {
  std::int64_t count = 1, src = 0, dst = 0;  // strides in linear elements
};
struct MoveBox {
  int input = 0;
  std::int64_t src_offset = 0, dst_offset = 0;
  std::vector<MoveLoop> loops;
};
/// Nothing when the piece has no such loops on these maps, or too many irregular channels for REORDER: then the move
/// goes through DRAM images.
[[nodiscard]] std::optional<MoveBox> move_box(const QMove& piece, const MapShape& in, const MapShape& out,
                                              const isa::ChipConfig& chip);

/// Output rows may be cut at multiples of this; 0: the box cannot be cut.
[[nodiscard]] std::int64_t row_granule(const MoveBox& box, const MapShape& out);
/// The part of the box that writes rows of image n; no box when there is none. Rows begin and end at the granule.
[[nodiscard]] std::optional<MoveBox> clip(const MoveBox& box, const MapShape& out, std::int64_t n, const Rows& rows);
/// Rows of the input that the box reads, all in one image of it.
struct SourceRows {
  std::int64_t n = 0;
  Rows rows;
  bool one_image = true;
};
[[nodiscard]] SourceRows source_rows(const MoveBox& box, const MapShape& in);

/// Loops over the elements of a move's output, seen as loops over those of its input.
struct LinearLoop {
  std::int64_t count = 1, stride = 0;
};
struct LinearNest {
  std::int64_t offset = 0;
  std::vector<std::vector<LinearLoop>> loops;  // each given loop becomes one or several, outermost first
};
/// Nothing when the move is not one box that writes the whole output, or a loop ends inside one of its runs.
[[nodiscard]] std::optional<LinearNest> before_move(const QNode& move, const LinearNest& nest,
                                                    std::int64_t out_elements);

/// Where a blocked map lies in SRAM; channel `first_channel` of it is the tensor's channel 0 (a multiple of Cb).
struct MapPlace {
  MapShape shape;  // of the tensor
  std::int64_t first_channel = 0;
  std::int64_t base = 0;  // byte address of image 0, block 0, row 0 (also of a tile that does not hold them)
  std::int64_t image_bytes = 0, block_bytes = 0, row_bytes = 0;
};

[[nodiscard]] std::vector<isa::Reorder> reorder_box(const MoveBox& box, const MapPlace& in, const MapPlace& out,
                                                    const UnitCost& cost);
/// Writes `value` to the rows of image n.
[[nodiscard]] std::vector<isa::Reorder> reorder_fill(const MapPlace& out, std::int64_t n, const Rows& rows,
                                                     std::int8_t value, const isa::ChipConfig& chip);

/// One loop of a box between DRAM and SRAM, in bytes.
struct BoxLoop {
  std::int64_t count = 1, dram = 0, sram = 0;
};
/// The box as LOAD instructions (as_store turns them round), outermost loop first. SRAM strides are positive.
[[nodiscard]] std::vector<DmaPiece> box_pieces(std::uint8_t base_register, std::int64_t dram_offset,
                                               std::int64_t sram_address, std::vector<BoxLoop> loops);

}  // namespace tessera::compiler
