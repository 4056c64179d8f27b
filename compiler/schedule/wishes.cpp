#include "compiler/schedule/wishes.hpp"

#include <charconv>

#include "compiler/schedule/group.hpp"
#include "compiler/schedule/sections.hpp"
#include "hw/common/error.hpp"
#include "isa/semantics/layout.hpp"

namespace tessera::compiler {
namespace {

Layer& layer_at(LayerGraph& graph, int id) { return graph.layers[static_cast<std::size_t>(id)]; }

bool tiled(LayerKind kind) { return kind == LayerKind::conv || kind == LayerKind::edp || kind == LayerKind::copy; }

void wish_tile(LayerGraph& graph, const TileWish& wish, const isa::ChipConfig& chip) {
  const std::string option = detail::concat("--tile ", wish.node, "=", wish.rows, "x", wish.columns);
  Layer& layer = layer_at(graph, layer_of(graph, option, wish.node));
  if (!tiled(layer.kind)) {
    user_error(option,
               ": the node runs as a move, a matrix product or a host step, which has no tile of rows; legal are ",
               "convolutions, pools and elementwise nodes");
  }
  const std::int64_t pixels = semantics::pixels_per_line(chip);
  if (wish.rows > layer.out.h || wish.columns > layer.out.w) {
    user_error(option, ": the output has ", layer.out.h, "x", layer.out.w, "; legal are 1x", layer.out.w, " to ",
               layer.out.h, "x", layer.out.w);
  }
  const bool strips = wish.columns < layer.out.w;
  if (strips && wish.columns % pixels != 0) {
    user_error(option, ": strips of columns begin on lines of the SRAM; legal are multiples of ", pixels,
               " columns, or all ", layer.out.w);
  }
  for (std::size_t id = 0; id < graph.layers.size(); ++id) {
    Layer& part = graph.layers[id];
    if (part.node->name != wish.node || !tiled(part.kind)) continue;
    const auto first = static_cast<int>(id);
    if (strips &&
        (!can_group(graph, first, first + 1, chip) || most_cuts(graph, first, first + 1, chip).columns == 1)) {
      user_error(option,
                 ": the node cannot run in strips of columns (batches, global pools, results of one column and ",
                 "parts of a Concat inside a channel block cannot); legal are tiles of all ", layer.out.w, " columns");
    }
    part.wished_rows = wish.rows;
    if (strips) part.wished_columns = wish.columns;
  }
}

void wish_keep(LayerGraph& graph, const std::string& node, const isa::ChipConfig& chip) {
  const std::string option = "--keep " + node;
  const Layer& layer = layer_at(graph, layer_of(graph, option, node));
  if (layer.output_root < 0 || on_images(layer.kind)) {
    user_error(option,
               ": the node's result goes to DRAM by its nature (a host step, a product or a move between images)");
  }
  Root& root = graph.roots[static_cast<std::size_t>(layer.output_root)];
  const std::int64_t bytes = root.shape.n * semantics::map_layout(root.shape.c, root.shape.h, root.shape.w, chip).bytes;
  const std::int64_t sram = chip.sram.banks * chip.sram.size_bytes;
  if (chip.cores > 1) user_error(option, ": on a chip of several cores every map goes through DRAM");
  if (bytes > sram) {
    user_error(option, ": the map takes ", bytes, " bytes, the SRAM has ", sram,
               "; legal is a smaller map or a larger ", "sram.size_bytes");
  }
  if (root.crosses) {
    user_error(option, ": a section boundary lies between the node and its readers, where values pass through DRAM");
  }
  root.keep = true;
}

}  // namespace

TileWish parse_tile_wish(const std::string& text) {
  TileWish wish;
  const std::size_t at = text.rfind('=');
  const std::size_t by = text.find('x', at == std::string::npos ? 0 : at);
  const auto number = [&](std::size_t from, std::size_t to, std::int64_t& out) {
    const auto read = std::from_chars(text.data() + from, text.data() + to, out);
    return read.ec == std::errc() && read.ptr == text.data() + to && out > 0;
  };
  if (at == std::string::npos || at == 0 || by == std::string::npos || !number(at + 1, by, wish.rows) ||
      !number(by + 1, text.size(), wish.columns)) {
    user_error("--tile ", text, ": expected NODE=HxW, e.g. conv1=14x56");
  }
  wish.node = text.substr(0, at);
  return wish;
}

void refuse_strips(const LayerGraph& graph, bool fused) {
  for (std::size_t id = 0; id < graph.layers.size(); ++id) {
    if (graph.layers[id].wished_columns == 0) continue;
    user_error(wishes_at(graph, static_cast<int>(id)),
               fused ? "no fusion group in such strips finds room in the SRAM; legal is a smaller tile or a larger "
                       "sram.size_bytes"
                     : "strips of columns are run by fusion groups; legal is --schedule fused, or tiles of whole rows");
  }
}

void apply_wishes(LayerGraph& graph, const Wishes& wishes, const isa::ChipConfig& chip) {
  mark_boundaries(graph, wishes.boundaries, wishes.alone);
  for (const TileWish& wish : wishes.tiles) wish_tile(graph, wish, chip);
  for (const std::string& node : wishes.keep) wish_keep(graph, node, chip);
}

std::string wishes_at(const LayerGraph& graph, int id) {
  const Layer& layer = graph.layers[static_cast<std::size_t>(id)];
  std::string text;
  if (layer.wished_rows > 0) {
    text += detail::concat("--tile ", layer.node->name, "=", layer.wished_rows, "x",
                           layer.wished_columns > 0 ? layer.wished_columns : layer.out.w, ": ");
  }
  for (const Root& root : graph.roots) {
    if (root.keep && root.first_layer <= id && root.last_layer >= id) text += "--keep " + root.name + ": ";
  }
  return text;
}

}  // namespace tessera::compiler
