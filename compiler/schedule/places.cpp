// Where a layer's operands, result and weights lay while it ran, in words: the part of Walk that explains it.
#include <algorithm>

#include "compiler/schedule/map_order.hpp"
#include "compiler/schedule/walk.hpp"
#include "hw/common/error.hpp"
#include "hw/common/units.hpp"
#include "isa/semantics/layout.hpp"

namespace tessera::compiler {

/// "image by REORDER, ...": how rows of an imported map came from DRAM.
std::string Walk::import_text(int index) const {
  const Root& root = graph_.roots[static_cast<std::size_t>(index)];
  const RootState& state = roots_[static_cast<std::size_t>(index)];
  const DramMap map = source_of(root, {});
  const ImportPlan plan = import_plan(root, !map.nhwc, chip_, cost_.dram_bytes_per_cycle());
  std::string text = "from an image";
  if (state.by_reorder) {
    text += detail::concat(", raw rows of ", plan.channels, " channels x ", plan.columns,
                           " columns a line that REORDER lays");
  }
  if (state.by_load) text += detail::concat(state.by_reorder ? ", some" : ", laid", " by LOAD pixel by pixel");
  if (root.columns > 1) text += detail::concat(", ", root.columns, " columns as channels of a pixel");
  return text;
}

/// ", its rows over 4 banks" where they lie apart (Placement).
std::string Walk::spread_text(const Root& root, std::int64_t rows, const Rows& columns, std::int64_t pitch) const {
  if (pitch <= line_order(root, rows, columns, 1, chip_).row_lines) return "";
  const std::int64_t bank_lines = semantics::bank_lines(chip_);
  return detail::concat(", its rows over ", ceil_div(rows, bank_lines / pitch), " banks");
}

/// `buffers`: of the layer's group, their rows over `line_banks` banks.
std::string Walk::place_text(int index, const std::vector<LineBuffer>& buffers, std::int64_t line_banks) const {
  const Root& root = graph_.roots[static_cast<std::size_t>(index)];
  if (resident(index)) {
    const std::int64_t pitch = roots_[static_cast<std::size_t>(index)].row_lines;
    return "all of it in SRAM" + spread_text(root, root.shape.h, {0, root.shape.w}, pitch);
  }
  const KeptRows& rows = kept(index);
  std::string text;
  if (rows.rows > 0) {
    text = detail::concat("rows 0..", rows.rows - 1, " of ", root.shape.h, " in SRAM, ");
    if (rows.stored_from < root.shape.h) text += detail::concat("rows from ", rows.stored_from, " in DRAM, ");
  }
  const auto buffer =
      std::find_if(buffers.begin(), buffers.end(), [&](const LineBuffer& b) { return b.root == index; });
  if (buffer == buffers.end()) return text + "tile by tile through DRAM";
  text += detail::concat("a line buffer of ", buffer->rows, " rows");
  if (buffer->map.columns.count() < root.shape.w) {
    text += detail::concat(" x ", buffer->map.columns.count(), " columns");
  }
  const MapOrder order = line_order(root, buffer->rows, buffer->map.columns, line_banks, chip_);
  text += spread_text(root, buffer->rows, buffer->map.columns, order.row_lines);
  if (buffer->streamed) text += ", loaded";
  if (buffer->leaves && !buffer->streamed) text += ", stored";
  return text;
}

std::vector<std::string> Walk::places(int id, const std::vector<LineBuffer>& buffers, std::int64_t line_banks) const {
  const Layer& l = graph_.layers[static_cast<std::size_t>(id)];
  std::vector<std::string> out;
  for (const int t : l.inputs) {
    const int index = graph_.values[static_cast<std::size_t>(t)].root;
    const Root& root = graph_.roots[static_cast<std::size_t>(index)];
    const std::string from = root.imported ? import_text(index) + "; " : "";
    out.push_back("reads " + root.name + ": " + from + place_text(index, buffers, line_banks));
  }
  out.push_back("writes " + graph_.roots[static_cast<std::size_t>(l.output_root)].name + ": " +
                place_text(l.output_root, buffers, line_banks));
  return out;
}

}  // namespace tessera::compiler
