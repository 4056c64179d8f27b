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

/// Where a blocked map lies in SRAM; channel `first_channel` of it is the tensor's channel 0 (a multiple of Cb).
struct MapPlace {
  MapShape shape;  // of the tensor
  std::int64_t first_channel = 0;
  std::int64_t base = 0;  // byte address of image 0, block 0, row 0
  std::int64_t image_bytes = 0, block_bytes = 0, row_bytes = 0;
};

/// The piece's elements as loops that are affine on both maps; nothing when they are not (then the move goes through
/// DRAM images).
[[nodiscard]] bool reorder_possible(const QMove& piece, const MapShape& in, const MapShape& out,
                                    const isa::ChipConfig& chip);
[[nodiscard]] std::vector<isa::Reorder> reorder_piece(const QMove& piece, const MapPlace& in, const MapPlace& out,
                                                      const UnitCost& cost);
/// Writes `value` to every real element of the map.
[[nodiscard]] std::vector<isa::Reorder> reorder_fill(const MapPlace& out, std::int8_t value,
                                                     const isa::ChipConfig& chip);

/// One loop of a box between DRAM and SRAM, in bytes.
struct BoxLoop {
  std::int64_t count = 1, dram = 0, sram = 0;
};
/// The box as LOAD instructions (as_store turns them round), outermost loop first. SRAM strides are positive.
[[nodiscard]] std::vector<DmaPiece> box_pieces(std::uint8_t base_register, std::int64_t dram_offset,
                                               std::int64_t sram_address, std::vector<BoxLoop> loops);

}  // namespace tessera::compiler
