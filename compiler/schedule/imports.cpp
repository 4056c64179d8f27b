// Imports: LOADs and REORDERs that bring rows of an image in DRAM into a map.
#include <algorithm>
#include <cmath>

#include "compiler/schedule/dma_pieces.hpp"
#include "compiler/schedule/import_plan.hpp"
#include "compiler/schedule/walk.hpp"
#include "hw/common/error.hpp"
#include "hw/common/units.hpp"
#include "isa/semantics/layout.hpp"

namespace tessera::compiler {
namespace {

constexpr std::int64_t kFirstParts = 4;    // of the first rows that REORDER places, if they are long enough
constexpr double kFirstPart = 1000;        // cycles
constexpr std::int64_t kImportChunks = 8;  // LOADs of a graph input that stays in SRAM, so that its reader starts early

/// Rows of the channels of one block, in raw lines and in the map.
struct RawPlace {
  RawRows raw;
  std::int64_t from = 0, to = 0;  // bytes, of the first row
  std::int64_t to_row = 0;        // bytes from row to row of the map
  std::int64_t rows = 1;
  std::int64_t groups = 1;  // of channels that share raw lines
};

/// REORDERs that place the rows: `columns` of the image's columns are channels of a pixel. Whole raw lines, then the
/// whole lines of the map in the last raw line of a row, the pixels of its last line, the last columns.
std::vector<isa::Reorder> placed_rows(const RawPlace& place, std::int64_t width, std::int64_t columns,
                                      const isa::ChipConfig& chip) {
  const std::int64_t line = chip.sram.line_bytes, cb = chip.layout.channel_block;
  const std::int64_t pixels = semantics::pixels_per_line(chip);
  const std::int64_t unit = pixels * columns;  // columns of a line of the map
  std::vector<isa::Reorder> out;
  std::int64_t done = 0;  // columns
  const auto add = [&](std::int64_t raw_lines, std::int64_t map_lines, std::int64_t line_pixels, std::int64_t bytes) {
    const std::int64_t count = raw_lines * map_lines * line_pixels * bytes;
    if (count == 0) return;
    isa::Reorder r;
    put(r.src_base, place.from + done / place.raw.columns * line + done % place.raw.columns);
    put(r.dst_base, place.to + done / unit * line + done % unit / columns * cb);
    put(r.run_bytes, bytes);
    const auto loop = [&](std::size_t d, std::int64_t n, std::int64_t src, std::int64_t dst) {
      put(r.dims[d].count, n);
      put(r.dims[d].src_stride, src);
      put(r.dims[d].dst_stride, dst);
    };
    loop(0, place.rows, place.raw.row_lines * line, place.to_row);
    loop(1, raw_lines, line, map_lines * line);
    loop(2, map_lines, unit, line);
    loop(3, place.groups, place.raw.group_lines * line, place.raw.channels * columns);
    loop(4, place.raw.channels, place.raw.columns, columns);
    loop(5, line_pixels, columns, cb);
    out.push_back(r);
    done += count;
  };
  add(width / place.raw.columns, place.raw.columns / unit, pixels, columns);
  add(1, (width - done) / unit, pixels, columns);
  add(1, 1, (width - done) / columns, columns);
  add(1, 1, 1, width - done);
  return out;
}

}  // namespace

/// The image that the map is imported from.
/// Columns are the map's; none: all.
DramMap Walk::source_of(const Root& root, const Rows& columns) const {
  DramMap map = image_map(graph_.images[static_cast<std::size_t>(root.image)], image_shape(root), root.channels_last);
  map.columns = root.columns;
  map.window = {columns.first * root.columns, std::min(columns.end * root.columns, map.shape.w)};
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
      for (const Rows& rows : cut({0, root.shape.h}, kImportChunks, 1))
        import_rows(id, 0, index, n, rows, resident_view(index, n));
    }
  }
}

/// All channels of rows of an imported map, by REORDER or by LOAD alone: where LOAD does as well, or nothing has room
/// for a row as it lies.
void Walk::import_rows(int id, std::uint8_t core, int index, std::int64_t n, const Rows& rows, const SramView& to) {
  const Root& root = graph_.roots[static_cast<std::size_t>(index)];
  const DramMap map = source_of(root, to.columns);
  const ImportPlan plan = import_plan(root, !map.nhwc, chip_, cost_.dram_bytes_per_cycle());
  const std::int64_t row_lines =
      plan.by_reorder() ? map.shape.c / plan.channels * ceil_div(map.moved_columns(), plan.columns) : 0;
  for (Rows part{rows.first, rows.first}; part.end < rows.end; part.first = part.end) {
    // The next rows come while REORDER places these; the first are few, since everybody waits for them.
    const std::int64_t fit = plan.by_reorder() ? spaces_[core].largest_free() / 2 / row_lines : 0;
    const auto few = static_cast<std::int64_t>(std::ceil(kFirstPart / std::max(1.0, plan.reorder)));
    const std::int64_t most = rows.first == 0 && n == 0 ? std::max(few, ceil_div(rows.count(), kFirstParts)) : fit;
    part.end = fit > 0 ? std::min(rows.end, part.first + std::min(fit, most)) : rows.end;
    RootState& state = roots_[static_cast<std::size_t>(index)];
    (fit > 0 ? state.by_reorder : state.by_load) = true;
    if (fit > 0) {
      import_reordered(id, core, root, n, part, plan, to);
    } else {
      load_rows(id, core, index, n, part, {0, root.shape.c}, to, false);
    }
  }
}

/// Rows nearly as they lie, then REORDER puts them in place.
void Walk::import_reordered(int id, std::uint8_t core, const Root& root, std::int64_t n, const Rows& rows,
                            const ImportPlan& plan, const SramView& to) {
  const DramMap map = source_of(root, to.columns);
  const MapShape& image = map.shape;
  const std::int64_t line = chip_.sram.line_bytes;
  const std::int64_t groups = image.c / plan.channels;
  RawRows raw;
  raw.channels = plan.channels;
  raw.columns = plan.columns;
  raw.row_lines = ceil_div(map.moved_columns(), plan.columns);
  raw.group_lines = rows.count() * raw.row_lines;
  // LOAD brings them while REORDER reads those before them.
  LineRange range = take(id, core, groups * raw.group_lines, Fit::oldest, "raw rows", raw_rows_);
  raw_rows_ = range;
  const std::string text = detail::concat(root.name, " rows ", rows.first, "..", rows.end - 1);
  for (const DmaPiece& piece : raw_pieces(map, n, rows, range.first * line, raw, chip_)) {
    WorkItem& load = item(core, isa::QueueId::load, id);
    load.kind = image_traffic(graph_.images[static_cast<std::size_t>(root.image)]);
    load.useful_bytes = piece.bytes;
    load.tile = text;
    load.body = piece.body;
  }
  const std::int64_t block = std::min(image.c, chip_.layout.channel_block / root.columns);  // channels of the image
  for (const Rows& run : to.straight(rows)) {
    for (std::int64_t first = 0; first < image.c; first += block) {
      RawPlace place;
      place.raw = raw;
      place.from =
          (range.first + first / plan.channels * raw.group_lines + (run.first - rows.first) * raw.row_lines) * line;
      place.to = to.line_of(run.first, first / block) * line;
      place.to_row = to.row_lines * line;
      place.rows = run.count();
      place.groups = std::min(block, image.c - first) / plan.channels;
      for (const isa::Reorder& reorder : placed_rows(place, map.moved_columns(), root.columns, chip_)) {
        WorkItem& copy = item(core, isa::QueueId::reorder, id);
        copy.tile = text;
        copy.body = reorder;
      }
    }
  }
  fill_columns(id, core, root, rows, to);
  release(core, range);
}

/// With columns as channels the last pixel of a row may have columns that the image has not: the zero point.
void Walk::fill_columns(int id, std::uint8_t core, const Root& root, const Rows& rows, const SramView& view) {
  const std::int64_t rest = root.columns > 1 ? root.image_width % root.columns : 0;
  if (rest == 0 || (view.columns.count() > 0 && view.columns.end < root.shape.w)) return;
  const std::int64_t cb = chip_.layout.channel_block;
  const std::int64_t line = chip_.sram.line_bytes;
  const Image& image = graph_.images[static_cast<std::size_t>(root.image)];
  const std::int32_t zero = graph_.graph->tensors[static_cast<std::size_t>(image.tensor)].zero_point;
  for (const Rows& run : view.straight(rows)) {
    isa::Reorder fill;
    fill.fill = true;
    fill.fill_value = static_cast<std::uint8_t>(zero);
    put(fill.dst_base,
        view.line_of(run.first, 0) * line + (root.image_width / root.columns - view.columns.first) * cb + rest);
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
