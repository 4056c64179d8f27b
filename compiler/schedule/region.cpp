#include "compiler/schedule/region.hpp"

#include <algorithm>

#include "hw/common/error.hpp"
#include "hw/common/units.hpp"
#include "isa/semantics/layout.hpp"

namespace tessera::compiler {
namespace {

Rows hull(const Rows& a, const Rows& b) {
  if (a.count() <= 0) return b;
  return {std::min(a.first, b.first), std::max(a.end, b.end)};
}

class Cutter {
 public:
  Cutter(const LayerGraph& graph, int first, int end, const isa::ChipConfig& chip)
      : graph_(graph), first_(first), end_(end), pixels_(semantics::pixels_per_line(chip)) {}

  [[nodiscard]] Cuts most() const {
    Cuts most{INT64_MAX, INT64_MAX};
    for (int id = first_; id < end_; ++id) {
      const Layer& l = layer(id);
      if (l.out.n > 1 || (l.out.h == 1 && l.in.h > 1) || (l.out.w == 1 && l.in.w > 1)) return {};
      // A value for every channel that is made inside is there when its map is whole.
      if (l.b_broadcast && written(root_of(l, 1))) return {};
      if (!leaves(l.output_root)) continue;
      const MapShape& shape = root(l.output_root).shape;
      most.rows = std::min(most.rows, shape.h);
      most.columns = std::min(most.columns, ceil_div(shape.w, pixels_));
    }
    return most;
  }

  Region piece(const Cuts& cuts, std::int64_t row, std::int64_t column) {
    Region out;
    out.first_layer = first_;
    out.made.resize(static_cast<std::size_t>(end_ - first_));
    for (std::vector<Area>* areas : {&out.there, &out.own, &out.valid}) areas->resize(graph_.roots.size());
    for (int id = first_; id < end_; ++id) {
      const int r = layer(id).output_root;
      if (!leaves(r)) continue;
      const MapShape& shape = root(r).shape;
      const std::int64_t lines = ceil_div(shape.w, pixels_);
      Area& own = out.own[static_cast<std::size_t>(r)];
      own.rows = {shape.h * row / cuts.rows, shape.h * (row + 1) / cuts.rows};
      own.columns = {lines * column / cuts.columns * pixels_,
                     std::min(lines * (column + 1) / cuts.columns * pixels_, shape.w)};
      need(out, r, own, own.columns.first);
    }
    for (int id = end_; id-- > first_;) make(out, id);
    return out;
  }

 private:
  [[nodiscard]] const Layer& layer(int id) const { return graph_.layers[static_cast<std::size_t>(id)]; }
  [[nodiscard]] const Root& root(int id) const { return graph_.roots[static_cast<std::size_t>(id)]; }
  [[nodiscard]] int root_of(const Layer& l, std::size_t operand) const {
    return graph_.values[static_cast<std::size_t>(l.inputs[operand])].root;
  }
  [[nodiscard]] bool written(int r) const {
    for (int id = first_; id < end_; ++id) {
      if (layer(id).output_root == r) return true;
    }
    return false;
  }
  /// Somebody outside the group has a part in it, or nobody inside reads it when the last of its parts is written.
  [[nodiscard]] bool leaves(int r) const {
    if (root(r).first_layer < first_ || root(r).last_layer >= end_) return true;
    if (layer(root(r).last_layer).output_root == r) return true;
    return std::any_of(graph_.values.begin(), graph_.values.end(), [&](const Value& value) {
      const Value& shown = value.images_of < 0 ? value : graph_.values[static_cast<std::size_t>(value.images_of)];
      return value.root == r && !shown.dram.empty();
    });
  }

  /// Readers use the area; columns are read from `from` on, which begins a line.
  static void need(Region& region, int r, const Area& area, std::int64_t from) {
    Area& valid = region.valid[static_cast<std::size_t>(r)];
    Area& there = region.there[static_cast<std::size_t>(r)];
    valid = {hull(valid.rows, area.rows), hull(valid.columns, area.columns)};
    there = {valid.rows, hull(there.columns, {from, area.columns.end})};
  }

  /// What the layer makes so that its map is right where it is used, and what it reads for that.
  void make(Region& region, int id) const {
    const Layer& l = layer(id);
    const Area used = region.valid[static_cast<std::size_t>(l.output_root)];
    Area& there = region.there[static_cast<std::size_t>(l.output_root)];
    Area& made = region.made[static_cast<std::size_t>(id - first_)];
    TESSERA_CHECK(used.pixels() > 0, l.node->name, ": nobody uses what the layer makes");
    made = {used.rows, {strip_begin(l, used.columns.first, there.columns.first), used.columns.end}};
    there.columns.first = std::min(there.columns.first, made.columns.first);
    const Rows read = input_columns(l, made.columns);
    for (std::size_t i = 0; i < l.inputs.size(); ++i) {
      const int r = root_of(l, i);
      if (i == 1 && l.b_broadcast) {
        need(region, r, {{0, 1}, {0, 1}}, 0);
      } else if (is_residual(l, i)) {
        need(region, r, {used.rows, used.columns}, made.columns.first);
      } else {
        const Rows exact{std::max(read.first, first_column_read(l, used.columns.first)), read.end};
        need(region, r, {input_rows(l, used.rows), exact}, read.first);
      }
    }
  }

  /// The column from which a layer works whose columns are used from `used` on and read from `from` on.
  [[nodiscard]] std::int64_t strip_begin(const Layer& l, std::int64_t used, std::int64_t from) const {
    const std::int64_t begin = std::min(from, (used - wrong_columns(l)) / pixels_ * pixels_);
    return std::max<std::int64_t>(begin, 0);
  }

  const LayerGraph& graph_;
  int first_, end_;
  std::int64_t pixels_;
};

}  // namespace

Cuts most_cuts(const LayerGraph& graph, int first, int end, const isa::ChipConfig& chip) {
  return Cutter(graph, first, end, chip).most();
}

std::int64_t strip_width(const Layer& layer, std::int64_t strips, const isa::ChipConfig& chip) {
  const std::int64_t width = ceil_div(layer.out.w, strips);
  return std::min(layer.out.w, round_up(width, semantics::pixels_per_line(chip)));
}

Region region_of(const LayerGraph& graph, int first, int end, const Cuts& cuts, std::int64_t row, std::int64_t column,
                 const isa::ChipConfig& chip) {
  return Cutter(graph, first, end, chip).piece(cuts, row, column);
}

}  // namespace tessera::compiler
