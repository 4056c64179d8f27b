#include "compiler/schedule/conv_modes.hpp"

#include <algorithm>

#include "compiler/schedule/import_plan.hpp"
#include "compiler/schedule/layer_plan.hpp"
#include "compiler/schedule/tile.hpp"
#include "hw/common/error.hpp"
#include "hw/common/units.hpp"
#include "isa/semantics/layout.hpp"

namespace tessera::compiler {
namespace {

constexpr std::int64_t kModeRows = 8;    // of the strip that a mode is chosen on
constexpr std::int64_t kStripRows = 32;  // of the strip that columns are chosen on
constexpr double kNotHidden = 0.05;      // of import and engines, that the other does not hide

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a >= 0 ? a / b : -ceil_div(-a, b); }

/// Where column `kx` of the kernel lands: pixel of the narrow map, from the first output's, and place in the pixel.
struct Landing {
  std::int64_t pixel = 0, place = 0;
};
Landing landing(const Layer& layer, std::int64_t kx, std::int64_t columns) {
  const std::int64_t column = kx * layer.dx - layer.pad_left;
  const std::int64_t pixel = floor_div(column, columns);
  return {pixel, column - pixel * columns};
}

/// The node with the weights of the kernel on columns.
QNode node_on_columns(const Layer& layer, const Layer& narrow) {
  QNode node = *layer.node;
  node.kw = static_cast<int>(narrow.kw);
  node.sx = static_cast<int>(narrow.sx);
  node.dx = 1;
  node.pad_left = static_cast<int>(narrow.pad_left);
  node.pad_right = static_cast<int>(narrow.pad_right);
  if (node.weights.empty()) return node;
  const std::int64_t outs = layer.out.c, ins = layer.in.c;
  node.weights.assign(static_cast<std::size_t>(outs * narrow.in.c * layer.kh * narrow.kw),
                      static_cast<std::int8_t>(node.weight_zero_point));
  for (std::int64_t o = 0; o < outs; ++o) {
    for (std::int64_t i = 0; i < ins; ++i) {
      for (std::int64_t ky = 0; ky < layer.kh; ++ky) {
        for (std::int64_t kx = 0; kx < layer.kw; ++kx) {
          const Landing at = landing(layer, kx, narrow.columns);
          const std::int64_t to = ((o * narrow.in.c + i * narrow.columns + at.place) * layer.kh + ky) * narrow.kw +
                                  at.pixel + narrow.pad_left;
          const std::int64_t from = ((o * ins + i) * layer.kh + ky) * layer.kw + kx;
          node.weights[static_cast<std::size_t>(to)] = layer.node->weights[static_cast<std::size_t>(from)];
        }
      }
    }
  }
  return node;
}

/// Cycles of a strip of the layer: engines and import hide each other but for a part.
double strip_cycles(const Layer& layer, const LayerGraph& graph, std::int64_t image_width, UnitCost& cost) {
  const std::int64_t rows = std::min(layer.out.h, kStripRows);
  const Rows strip{(layer.out.h - rows) / 2, (layer.out.h - rows) / 2 + rows};
  const double engines = best_split(layer, graph, {0, strip, {0, layer.out.c}}, true, cost).cycles;
  Root map;
  map.shape = layer.in;
  map.columns = layer.columns;
  map.image_width = image_width;
  const double import = static_cast<double>(std::min(layer.in.h, rows * layer.sy)) *
                        import_plan(map, true, cost.chip(), cost.dram_bytes_per_cycle()).cycles();
  return std::max(engines, import) + kNotHidden * std::min(engines, import);
}

/// The layer becomes the narrow one.
void set_columns(Layer& layer, LayerGraph& graph, const Layer& narrow) {
  graph.owned.push_back(node_on_columns(layer, narrow));
  Value& value = graph.values[static_cast<std::size_t>(layer.inputs[0])];
  Root& root = graph.roots[static_cast<std::size_t>(value.root)];
  root.columns = narrow.columns;
  root.image_width = root.shape.w;
  value.shape = root.shape = narrow.in;
  const QNode* node = &graph.owned.back();
  layer = narrow;
  layer.node = node;
}

}  // namespace

bool choose_mode(Layer& layer, const LayerGraph& graph, UnitCost& cost) {
  const isa::ChipConfig& chip = cost.chip();
  Tile strip;
  strip.rows = {0, std::min(layer.out.h, kModeRows)};
  strip.channels = {0, layer.out.c};
  if (layer.node->groups == 1 && 2 * layer.in.c <= chip.conv.cin_lanes && layer.kw > 1) {
    isa::Conv dense = conv_geometry(layer, graph, strip);
    const auto dense_cycles = cost.choose(dense);
    layer.mode = isa::ConvMode::fold;
    layer.fold = semantics::max_fold(layer.in.c, layer.kw, chip);
    isa::Conv fold = conv_geometry(layer, graph, strip);
    const auto fold_cycles = cost.choose(fold);
    if (!fold_cycles || (dense_cycles && *dense_cycles <= *fold_cycles)) {
      layer.mode = isa::ConvMode::dense;
      layer.fold = 1;
    }
  }
  strip.rows.end = 1;
  isa::Conv one = conv_geometry(layer, graph, strip);
  return cost.choose(one).has_value();
}

Layer on_columns(const Layer& layer, std::int64_t columns) {
  Layer narrow = layer;
  narrow.mode = isa::ConvMode::dense;
  narrow.fold = 1;
  narrow.columns = columns;
  narrow.in.c = layer.in.c * columns;
  narrow.in.w = ceil_div(layer.in.w, columns);
  narrow.sx = layer.sx / columns;
  narrow.dx = 1;
  narrow.pad_left = -landing(layer, 0, columns).pixel;
  narrow.kw = landing(layer, layer.kw - 1, columns).pixel + narrow.pad_left + 1;
  narrow.pad_right =
      std::max<std::int64_t>(0, (layer.out.w - 1) * narrow.sx + narrow.kw - narrow.pad_left - narrow.in.w);
  narrow.added_weights = narrow.in.c * narrow.kh * narrow.kw - layer.in.c * layer.kh * layer.kw;
  return narrow;
}

std::vector<std::int64_t> legal_columns(const Layer& layer, const LayerGraph& graph, const isa::ChipConfig& chip) {
  if (layer.kind != LayerKind::conv || layer.node->groups != 1 || layer.node->apart) return {};
  const Value& value = graph.values[static_cast<std::size_t>(layer.inputs[0])];
  const Root& root = graph.roots[static_cast<std::size_t>(value.root)];
  const bool alone =
      root.first_layer == root.last_layer &&
      (layer.inputs.size() == 1 || graph.values[static_cast<std::size_t>(layer.inputs[1])].root != value.root);
  if (!root.imported || root.channels_last || !alone || !(value.shape == root.shape)) return {};
  std::vector<std::int64_t> all;
  for (std::int64_t s = 2; s <= layer.sx; ++s) {
    if (layer.sx % s == 0 && layer.in.c * s <= chip.layout.channel_block && layer.in.w >= s) all.push_back(s);
  }
  return all;
}

std::vector<Layer> conv_forms(const Layer& layer, const LayerGraph& graph, const isa::ChipConfig& chip) {
  std::vector<Layer> forms = {layer};
  for (const std::int64_t columns : legal_columns(layer, graph, chip)) forms.push_back(on_columns(layer, columns));
  const std::size_t dense = forms.size();
  for (std::size_t i = 0; i < dense; ++i) {
    Layer folded = forms[i];
    if (folded.node->groups != 1 || folded.in.c > chip.conv.cin_lanes || folded.kw <= 1) continue;
    folded.mode = isa::ConvMode::fold;
    folded.fold = semantics::max_fold(folded.in.c, folded.kw, chip);
    forms.push_back(folded);
  }
  return forms;
}

void choose_modes(LayerGraph& graph, UnitCost& cost, bool nhwc_inputs) {
  for (Layer& layer : graph.layers) {
    if (layer.kind != LayerKind::conv) continue;
    if (!choose_mode(layer, graph, cost)) {
      user_error(layer.node->name, ": ", layer.node->onnx_op, " with kernel ", layer.kh, "x", layer.kw,
                 " does not fit the convolution engine: ", cost.why());
    }
    const int root = graph.values[static_cast<std::size_t>(layer.inputs[0])].root;
    const int image = graph.roots[static_cast<std::size_t>(root)].image;
    if (nhwc_inputs && image >= 0 && graph.images[static_cast<std::size_t>(image)].kind == isa::BufferKind::input)
      continue;
    double least = strip_cycles(layer, graph, layer.in.w, cost);
    Layer best = layer;
    for (const std::int64_t columns : legal_columns(layer, graph, cost.chip())) {
      Layer narrow = on_columns(layer, columns);
      if (!choose_mode(narrow, graph, cost)) continue;
      const double cycles = strip_cycles(narrow, graph, layer.in.w, cost);
      if (cycles >= least) continue;
      least = cycles;
      best = narrow;
    }
    if (best.columns > 1) set_columns(layer, graph, best);
  }
}

}  // namespace tessera::compiler
