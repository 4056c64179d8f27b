// What the weights buffer holds and where: per layer the convolution weights, the channel parameters or average
// entries, and the table. One image of the whole network, loaded once; with timing only, the addresses without bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/schedule/layer_graph.hpp"
#include "isa/chip.hpp"
#include "isa/semantics/layout.hpp"

namespace tessera::compiler {

struct LayerConstants {
  std::optional<semantics::WeightLayout> layout;  // convolutions
  std::int64_t cout_lanes = 1;
  std::int64_t weights_offset = 0;       // in the weights buffer
  std::int64_t useful_weight_bytes = 0;  // without padding lanes
  std::int64_t added_weights = 0;        // Layer::added_weights
  std::int64_t matrix_bytes = 0;         // gemm: the constant operand as it lies in the node, at weights_offset
  std::int64_t params_offset = 0, params_bytes = 0;
  std::int64_t table_offset = 0, table_bytes = 0;

  /// SRAM bytes before the weights of output channel c (a multiple of the layer's granule, or all of them).
  [[nodiscard]] std::int64_t weight_offset(std::int64_t c) const;
  /// Real weights of channels [first, end).
  [[nodiscard]] std::int64_t useful_weights(std::int64_t first, std::int64_t end) const;
};

struct Constants {
  std::vector<LayerConstants> layers;
  std::vector<std::int64_t> images;  // offset of each constant image, by its index; -1: not constant
  std::int64_t bytes = 0;
  std::int64_t useful_bytes = 0;  // compulsory: weights, parameters, tables without padding
};

inline constexpr std::int64_t kTableBytes = 256;  // of an int8 table

/// How a convolution's weights lie, in the layer's mode.
[[nodiscard]] semantics::WeightLayout weight_layout(const Layer& layer, const isa::ChipConfig& chip);

/// A product's requantisation takes parameters by column.
[[nodiscard]] bool per_column(const QNode& node);

[[nodiscard]] Constants place_constants(const LayerGraph& graph, const isa::ChipConfig& chip);
/// The image of the weights buffer.
[[nodiscard]] std::vector<std::uint8_t> pack_constants(const LayerGraph& graph, const Constants& constants,
                                                       const isa::ChipConfig& chip);

}  // namespace tessera::compiler
