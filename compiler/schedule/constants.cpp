#include "compiler/schedule/constants.hpp"

#include <algorithm>

#include "compiler/schedule/tile.hpp"
#include "hw/common/error.hpp"
#include "hw/common/units.hpp"

namespace tessera::compiler {
namespace {

constexpr std::int64_t kAlign = 256;  // a DRAM interleave granule; at least a line of every chip

std::vector<semantics::QuantizedScale> scales_of(const std::vector<QScale>& scales) {
  std::vector<semantics::QuantizedScale> out;
  out.reserve(scales.size());
  for (const QScale& s : scales) out.push_back({s.multiplier, s.shift});
  return out;
}

std::vector<std::uint8_t> bytes_of(const std::vector<std::int8_t>& values) {
  std::vector<std::uint8_t> bytes;
  bytes.reserve(values.size());
  for (const std::int8_t v : values) bytes.push_back(static_cast<std::uint8_t>(v));
  return bytes;
}

/// Entries of an average pooling as the machine indexes them.
std::vector<QScale> average_entries(const Layer& layer) {
  const std::vector<QScale>& all = layer.node->scales;
  const auto window = static_cast<std::size_t>(layer.kh * layer.kw);
  TESSERA_CHECK(all.size() >= window, layer.node->name, ": ", all.size(), " average factors for a window of ", window);
  if (global_average(layer)) return {all[window - 1]};
  return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(window)};
}

}  // namespace

semantics::WeightLayout weight_layout(const Layer& layer, const isa::ChipConfig& chip) {
  semantics::ConvShape s;
  s.cin = layer.in.c;
  s.cout = layer.out.c;
  s.groups = layer.node->groups;
  s.kh = layer.kh;
  s.kw = layer.kw;
  s.fold = layer.mode == isa::ConvMode::fold ? layer.fold : 1;
  s.mode = layer.mode;
  return {s, chip};
}

bool per_column(const QNode& node) { return !node.bias.empty() || node.scales.size() > 1; }

std::int64_t LayerConstants::weight_offset(std::int64_t c) const {
  const semantics::ConvShape& s = layout->shape();
  if (c >= s.cout) return layout->sram_bytes();
  if (s.mode != isa::ConvMode::dense || s.groups == 1) return layout->tile_offset(0, c / cout_lanes, 0, 0, 0);
  return layout->tile_offset(c / (s.cout / s.groups), 0, 0, 0, 0);
}

std::int64_t LayerConstants::useful_weights(std::int64_t first, std::int64_t end) const {
  const semantics::ConvShape& s = layout->shape();
  return (end - first) * ((s.cin / s.groups) * s.kh * s.kw - added_weights);
}

Constants place_constants(const LayerGraph& graph, const isa::ChipConfig& chip) {
  Constants out;
  out.layers.resize(graph.layers.size());
  const auto place = [&](std::int64_t bytes) {
    const std::int64_t offset = round_up(out.bytes, kAlign);
    out.bytes = offset + bytes;
    return offset;
  };
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    const Layer& layer = graph.layers[i];
    LayerConstants& c = out.layers[i];
    if (layer.kind == LayerKind::conv) {
      c.layout.emplace(weight_layout(layer, chip));
      c.cout_lanes = chip.conv.cout_lanes;
      c.added_weights = layer.added_weights;
      c.weights_offset = place(c.layout->dram_bytes());
      c.useful_weight_bytes = c.useful_weights(0, layer.out.c);
      c.params_bytes = semantics::kParamBytes * layer.out.c;
    } else if (layer.kind == LayerKind::gemm) {
      const QNode& node = *layer.node;
      if (node.inputs.size() == 1) {
        c.matrix_bytes = c.useful_weight_bytes = node.k * node.n;
        c.weights_offset = place(c.matrix_bytes);
      }
      if (per_column(node)) c.params_bytes = semantics::kParamBytes * node.n;
    } else if (layer.kind == LayerKind::edp && layer.node->op == QOp::average_pool) {
      c.params_bytes = semantics::kAverageEntryBytes * static_cast<std::int64_t>(average_entries(layer).size());
    } else if (layer.kind == LayerKind::edp && layer.node->op == QOp::table) {
      c.table_bytes = kTableBytes;
      c.table_offset = place(kTableBytes);
    }
    if (c.params_bytes > 0) c.params_offset = place(c.params_bytes);
    out.useful_bytes += c.useful_weight_bytes + c.params_bytes + c.table_bytes;
  }
  for (const Image& image : graph.images) {
    out.images.push_back(image.constant != nullptr ? place(image.bytes) : -1);
    if (image.constant != nullptr) out.useful_bytes += image.bytes;
  }
  return out;
}

std::vector<std::uint8_t> pack_constants(const LayerGraph& graph, const Constants& constants,
                                         const isa::ChipConfig& chip) {
  std::vector<std::uint8_t> image(static_cast<std::size_t>(constants.bytes), 0);
  const auto write = [&](std::int64_t offset, const std::vector<std::uint8_t>& bytes, std::int64_t expected) {
    TESSERA_CHECK(static_cast<std::int64_t>(bytes.size()) == expected, bytes.size(), " bytes packed for ", expected);
    std::copy(bytes.begin(), bytes.end(), image.begin() + static_cast<std::ptrdiff_t>(offset));
  };
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    const Layer& layer = graph.layers[i];
    const LayerConstants& c = constants.layers[i];
    const QNode& node = *layer.node;
    if (c.layout) {
      write(c.weights_offset,
            semantics::pack_weights_dram(node.weights, c.layout->shape(), node.weight_zero_point, chip),
            c.layout->dram_bytes());
      write(c.params_offset, semantics::pack_params(node.bias, scales_of(node.scales)), c.params_bytes);
    } else if (layer.kind == LayerKind::gemm) {
      if (c.matrix_bytes > 0) write(c.weights_offset, bytes_of(node.weights), c.matrix_bytes);
      if (c.params_bytes > 0) {
        std::vector<std::int32_t> bias = node.bias;
        bias.resize(static_cast<std::size_t>(node.n), 0);
        std::vector<QScale> scales = node.scales;
        scales.resize(static_cast<std::size_t>(node.n), node.scales.at(0));
        write(c.params_offset, semantics::pack_params(bias, scales_of(scales)), c.params_bytes);
      }
    } else if (c.params_bytes > 0) {
      write(c.params_offset, semantics::pack_average_scales(scales_of(average_entries(layer))), c.params_bytes);
    }
    if (c.table_bytes > 0) write(c.table_offset, bytes_of(node.table), kTableBytes);
  }
  for (std::size_t i = 0; i < graph.images.size(); ++i) {
    const Image& constant = graph.images[i];
    if (constant.constant != nullptr) write(constants.images[i], bytes_of(constant.constant->weights), constant.bytes);
  }
  return image;
}

}  // namespace tessera::compiler
