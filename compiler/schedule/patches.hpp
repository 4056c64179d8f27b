// A convolution as patches and a 1x1 convolution, for kernels that no window of the engine holds: which kernels those
// are, the move that lays the taps side by side, the node that reduces them. Exact: padding has the input's zero point.
#pragma once

#include <cstdint>

#include "compiler/ir/qgraph.hpp"
#include "compiler/schedule/layer_graph.hpp"
#include "isa/chip.hpp"

namespace tessera::compiler {

/// One pixel group of the convolution has a place in the engine's window, in some mode.
[[nodiscard]] bool window_fits(const QNode& node, const MapShape& in, const MapShape& out, const isa::ChipConfig& chip);

/// out[(c * kh + ky) * kw + kx][oy][ox] = in[first_channel + c][oy sy - pad_top + ky dy][ox sx - pad_left + kx dx].
[[nodiscard]] QNode patch_move(const QNode& node, const MapShape& in, const MapShape& out, std::int64_t first_channel,
                               std::int64_t channels, std::int32_t zero_point);

/// The convolution of groups [first, first + groups) on their patches.
[[nodiscard]] QNode reduce_patches(const QNode& node, std::int64_t cin_g, std::int64_t cout_g, std::int64_t first,
                                   std::int64_t groups);

}  // namespace tessera::compiler
