// Imports: LOADs and REORDERs that bring rows of an image in DRAM into a map.
#include "compiler/schedule/dma_pieces.hpp"
#include "compiler/schedule/walk.hpp"
#include "hw/common/error.hpp"
#include "hw/common/units.hpp"

namespace tessera::compiler {
namespace {

constexpr std::int64_t kImportChunks = 8;  // LOADs of a graph input that stays in SRAM, so that its reader starts early

constexpr double kReorderGain = 2.0;  // line writes per DRAM cycle from which REORDER takes an import over
constexpr std::int64_t kLongestRawRow = 1 << 23;

}  // namespace

/// The image that the map is imported from.
DramMap Walk::source_of(const Root& root) const {
  MapShape shape = root.shape;
  if (root.columns > 1) {
    shape.c /= root.columns;
    shape.w = root.image_width;
  }
  DramMap map = image_map(graph_.images[static_cast<std::size_t>(root.image)], shape, root.channels_last);
  map.columns = root.columns;
  return map;
}

/// LOADs of imported maps that stay in SRAM and that this layer reads first.
void Walk::import_resident(int id) {
  const Layer& l = graph_.layers[static_cast<std::size_t>(id)];
  for (const int t : l.inputs) {
    const int index = graph_.values[static_cast<std::size_t>(t)].root;
    const Root& root = graph_.roots[static_cast<std::size_t>(index)];
    RootState& s = roots_[static_cast<std::size_t>(index)];
    if (!root.imported || !resident(index) || s.filled) continue;
    s.filled = true;
    for (std::int64_t n = 0; n < root.shape.n; ++n) {
      bool mine = false;  // LOAD's chunk
      for (const Rows& rows : cut({0, root.shape.h}, kImportChunks, 1)) {
        if (!mine && import_reordered(id, index, n, rows, resident_view(index, n))) {
          mine = choices_.share_imports;
          continue;
        }
        mine = false;
        load_rows(id, 0, index, n, rows, {0, root.shape.c}, resident_view(index, n), false);
      }
    }
  }
}

/// LOAD writes an NCHW image pixel by pixel, a line for each channel of its few pixels. Where that takes longer than
/// the bytes need on the DRAM, the rows come as they lie and REORDER puts them in place, so that LOAD is free for
/// weights.
bool Walk::import_reordered(int id, int index, std::int64_t n, const Rows& rows, const SramView& to) {
  const Root& root = graph_.roots[static_cast<std::size_t>(index)];
  const DramMap map = source_of(root);
  const MapShape& s = map.shape;
  const std::int64_t cb = chip_.layout.channel_block;
  const std::int64_t line = chip_.sram.line_bytes;
  const double line_writes = static_cast<double>(rows.count() * s.c * to.row_lines);
  const double beats = static_cast<double>(rows.count() * s.c * s.w) / cost_.dram_bytes_per_cycle();
  const std::int64_t plane_lines = ceil_div(rows.count() * s.w, line);
  if (map.nhwc || line_writes < kReorderGain * beats || root.shape.c > cb || rows.count() * s.w >= kLongestRawRow ||
      spaces_[0].largest_free() < 2 * plane_lines * s.c) {
    return false;
  }
  LineRange raw = take(id, 0, plane_lines * s.c, Fit::oldest, "raw rows");
  const std::string text = detail::concat(root.name, " rows ", rows.first, "..", rows.end - 1);
  for (const DmaPiece& piece : raw_pieces(map, n, rows, raw.first * line, plane_lines * line)) {
    WorkItem& load = item(0, isa::QueueId::load, id);
    load.kind = image_traffic(graph_.images[static_cast<std::size_t>(root.image)]);
    load.useful_bytes = piece.bytes;
    load.tile = text;
    load.body = piece.body;
  }
  // Pixels of the map from `first` on, each `columns` bytes of a row of a channel.
  const auto place = [&](const Rows& run, std::int64_t first, std::int64_t pixels, std::int64_t columns) {
    if (pixels == 0 || columns == 0) return;
    isa::Reorder reorder;
    put(reorder.src_base, raw.first * line + (run.first - rows.first) * s.w + first * map.columns);
    put(reorder.dst_base, to.line_of(run.first, 0) * line + first * cb);
    put(reorder.run_bytes, columns);
    const auto loop = [&](std::size_t d, std::int64_t count, std::int64_t src, std::int64_t dst) {
      put(reorder.dims[d].count, count);
      put(reorder.dims[d].src_stride, src);
      put(reorder.dims[d].dst_stride, dst);
    };
    loop(3, s.c, plane_lines * line, map.columns);
    loop(4, run.count(), s.w, to.row_lines * line);
    loop(5, pixels, map.columns, cb);
    WorkItem& copy = item(0, isa::QueueId::reorder, id);
    copy.tile = text;
    copy.body = reorder;
  };
  for (const Rows& run : to.straight(rows)) {
    place(run, 0, s.w / map.columns, map.columns);
    place(run, s.w / map.columns, 1, s.w % map.columns);
  }
  fill_columns(id, 0, root, rows, to);
  release(0, raw);
  return true;
}

/// With columns as channels the last pixel of a row may have columns that the image has not: the zero point.
void Walk::fill_columns(int id, std::uint8_t core, const Root& root, const Rows& rows, const SramView& view) {
  const std::int64_t rest = root.columns > 1 ? root.image_width % root.columns : 0;
  if (rest == 0) return;
  const std::int64_t cb = chip_.layout.channel_block;
  const std::int64_t line = chip_.sram.line_bytes;
  const Image& image = graph_.images[static_cast<std::size_t>(root.image)];
  const std::int32_t zero = graph_.graph->tensors[static_cast<std::size_t>(image.tensor)].zero_point;
  for (const Rows& run : view.straight(rows)) {
    isa::Reorder fill;
    fill.fill = true;
    fill.fill_value = static_cast<std::uint8_t>(zero);
    put(fill.dst_base, view.line_of(run.first, 0) * line + root.image_width / root.columns * cb + rest);
    put(fill.run_bytes, root.columns - rest);
    for (isa::ReorderDim& dim : fill.dims) dim.count = 1;
    put(fill.dims[4].count, run.count());
    put(fill.dims[4].dst_stride, view.row_lines * line);
    put(fill.dims[5].count, root.shape.c / root.columns);
    put(fill.dims[5].dst_stride, root.columns);
    WorkItem& w = item(core, isa::QueueId::reorder, id);
    w.tile = detail::concat(root.name, " rows ", run.first, "..", run.end - 1, ", padding");
    w.body = fill;
  }
}

}  // namespace tessera::compiler
