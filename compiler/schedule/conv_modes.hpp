// How a convolution with few input channels fills the engine's lanes and reads its image: dense, with kernel columns
// folded onto idle lanes, and with columns of the image as channels.
//
// Columns as channels: of s neighbouring pixels of an image in DRAM, channel c of pixel s X + p is channel c s + p of
// pixel X of a map that is s times narrower. No byte moves in DRAM; a line in SRAM then holds s times as many columns,
// so that an import writes s times fewer lines. A convolution of stride s on the image is one of stride 1 on the map,
// whose kernel has zeros where it covers columns that the original does not.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/schedule/layer_graph.hpp"
#include "compiler/schedule/unit_cost.hpp"

namespace tessera::compiler {

/// Dense or folded: whichever the engine does faster on a strip of the layer. False: neither is legal, `cost.why()`.
bool choose_mode(Layer& layer, const LayerGraph& graph, UnitCost& cost);

/// The geometry of the convolution on a map with `columns` columns as channels, a divisor of its stride; dense.
[[nodiscard]] Layer on_columns(const Layer& layer, std::int64_t columns);

/// The numbers of columns that may be channels: none unless the layer alone reads an NCHW image, and they fit one
/// channel block.
[[nodiscard]] std::vector<std::int64_t> legal_columns(const Layer& layer, const LayerGraph& graph,
                                                      const isa::ChipConfig& chip);

/// The convolution in every mode that is legal, its own first, also on columns as channels.
[[nodiscard]] std::vector<Layer> conv_forms(const Layer& layer, const LayerGraph& graph, const isa::ChipConfig& chip);

/// Chooses all convolutions' modes, and columns as channels where import and engines together gain; `nhwc_inputs`:
/// graph inputs are no NCHW images. UserError for one that does not fit the engine.
void choose_modes(LayerGraph& graph, UnitCost& cost, bool nhwc_inputs);

}  // namespace tessera::compiler
