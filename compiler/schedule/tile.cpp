#include "compiler/schedule/tile.hpp"

#include <algorithm>
#include <numeric>

#include "hw/common/error.hpp"
#include "hw/common/units.hpp"
#include "isa/semantics/layout.hpp"

namespace tessera::compiler {
namespace {

const QTensor& tensor_of(const LayerGraph& graph, int value) {
  return graph.graph->tensors[static_cast<std::size_t>(graph.values[static_cast<std::size_t>(value)].tensor)];
}

void stage_clamp(isa::EdpStage& stage, std::int64_t zo, std::int64_t lo, std::int64_t hi) {
  put(stage.zo, zo);
  put(stage.lo, lo);
  put(stage.hi, hi);
}

/// The chain of an elementwise node; the window modes take a clip when the node narrows the range.
void set_stages(isa::Edp& edp, const Layer& layer, const LayerGraph& graph) {
  const QNode& node = *layer.node;
  isa::EdpStage& stage = edp.stages[0];
  if (layer.kind == LayerKind::copy) {
    stage.op = isa::EdpOp::clip;
    stage_clamp(stage, 0, -128, 127);
    return;
  }
  const QTensor& a = tensor_of(graph, layer.inputs[0]);
  const QTensor& out = tensor_of(graph, layer.output);
  put(stage.za, a.zero_point);
  if (layer.inputs.size() == 2) put(stage.zb, tensor_of(graph, layer.inputs[1]).zero_point);
  stage_clamp(stage, out.zero_point, node.lo, node.hi);
  const auto scale = [&] {
    put(stage.ma, static_cast<std::int64_t>(node.scales.at(0).multiplier));
    put(stage.shift, static_cast<std::int64_t>(node.scales.at(0).shift));
  };
  switch (node.op) {
    case QOp::add:
      stage.op = isa::EdpOp::add;
      put(stage.ma, layer.swapped ? node.mb : node.ma);
      put(stage.mb, layer.swapped ? node.ma : node.mb);
      put(stage.shift, static_cast<std::int64_t>(node.shift));
      break;
    case QOp::mul:
      stage.op = isa::EdpOp::mul;
      scale();
      break;
    case QOp::requantize:
      stage.op = isa::EdpOp::requantize;
      scale();
      break;
    case QOp::table:
      stage.op = isa::EdpOp::table;
      break;
    case QOp::max_pool:
      if (node.lo > -128 || node.hi < 127) stage.op = isa::EdpOp::clip;
      break;
    case QOp::average_pool:
      break;
    default:
      TESSERA_CHECK(false, node.name, ": ", qop_name(node.op), " has no EDP stage");
  }
  if (stage.op == isa::EdpOp::none) stage = isa::EdpStage{};
}

bool windowed(const Layer& layer) {
  return layer.kind == LayerKind::conv ||
         (layer.kind == LayerKind::edp && (layer.node->op == QOp::max_pool || layer.node->op == QOp::average_pool));
}

/// Rows of padding above the first input row of `rows`.
std::int64_t rows_above(const Layer& layer, const Rows& output) {
  const std::int64_t start = output.first * layer.sy - layer.pad_top;
  if (start >= layer.in.h) {
    user_error(layer.node->name, ": output row ", output.first, " sees nothing but padding below the map of ",
               layer.in.h, " rows: bottom padding must be smaller than the kernel");
  }
  return std::max<std::int64_t>(0, -start);
}

}  // namespace

bool global_average(const Layer& layer) {
  return layer.kind == LayerKind::edp && layer.node->op == QOp::average_pool && layer.kh == layer.in.h &&
         layer.kw == layer.in.w && layer.out.h == 1 && layer.out.w == 1 &&
         layer.pad_top + layer.pad_left + layer.pad_bottom + layer.pad_right == 0;
}

isa::SramTensor operand(const SramView& view, std::int64_t row, std::int64_t block, std::int64_t column,
                        const isa::ChipConfig& chip) {
  const std::int64_t pixels = semantics::pixels_per_line(chip);
  TESSERA_CHECK(column >= view.columns.first && column % pixels == 0, "column ", column, " begins no line of the view");
  const std::int64_t across = (column - view.columns.first) / pixels;
  isa::SramTensor t;
  put(t.row_pitch, view.row_lines);
  put(t.block_pitch, view.block_lines);
  if (view.wrap_rows == 0) {
    put(t.base, (view.line_of(row, block) + across) * chip.sram.line_bytes);
  } else {
    put(t.base, (view.line_of(view.first_row, block) + across) * chip.sram.line_bytes);
    put(t.wrap_rows, view.wrap_rows);
    put(t.first_row, view.slot(row));
  }
  return t;
}

std::vector<Rows> SramView::straight(const Rows& rows) const {
  if (wrap_rows == 0) return {rows};
  std::vector<Rows> runs;
  for (std::int64_t row = rows.first; row < rows.end;) {
    const std::int64_t end = std::min(rows.end, row + wrap_rows - slot(row));
    runs.push_back({row, end});
    row = end;
  }
  return runs;
}

Rows input_rows(const Layer& layer, const Rows& output) {
  if (!windowed(layer)) return output;
  const std::int64_t start = output.first * layer.sy - layer.pad_top;
  const std::int64_t end = (output.end - 1) * layer.sy - layer.pad_top + (layer.kh - 1) * layer.dy + 1;
  Rows rows;
  rows.first = std::clamp<std::int64_t>(start, 0, layer.in.h - 1);
  rows.end = std::clamp<std::int64_t>(end, rows.first + 1, layer.in.h);
  return rows;
}

Rows operand_rows(const Layer& layer, std::size_t operand, const Rows& output) {
  if (operand == 1 && layer.b_broadcast) return {0, 1};
  return is_residual(layer, operand) ? output : input_rows(layer, output);
}

Rows output_columns(const Layer& layer, const Tile& tile) {
  return tile.columns.count() > 0 ? tile.columns : Rows{0, layer.out.w};
}

Rows input_columns(const Layer& layer, const Rows& output) {
  if (!windowed(layer)) return output;
  if (output.count() == layer.out.w) return {0, layer.in.w};
  const std::int64_t first = output.first * layer.sx;
  const std::int64_t end = (output.end - 1) * layer.sx - layer.pad_left + (layer.kw - 1) * layer.dx + 1;
  return {first, std::clamp<std::int64_t>(end, first + 1, layer.in.w)};
}

std::int64_t wrong_columns(const Layer& layer) { return windowed(layer) ? ceil_div(layer.pad_left, layer.sx) : 0; }

std::int64_t first_column_read(const Layer& layer, std::int64_t column) {
  if (!windowed(layer)) return column;
  return std::clamp<std::int64_t>(column * layer.sx - layer.pad_left, 0, layer.in.w - 1);
}

Rows input_channels(const Layer& layer, const Rows& output) {
  if (layer.kind != LayerKind::conv) return output;
  const std::int64_t groups = layer.node->groups;
  if (groups == 1) return {0, layer.in.c};
  const std::int64_t cin_g = layer.in.c / groups;
  const std::int64_t cout_g = layer.out.c / groups;
  return {output.first / cout_g * cin_g, output.end / cout_g * cin_g};
}

isa::Conv conv_geometry(const Layer& layer, const LayerGraph& graph, const Tile& tile) {
  const QNode& node = *layer.node;
  const QTensor& in = tensor_of(graph, layer.inputs[0]);
  const QTensor& own = tensor_of(graph, node.output);
  const Rows columns = output_columns(layer, tile);
  const Rows in_rows = input_rows(layer, tile.rows);
  const Rows in_channels = input_channels(layer, tile.channels);
  isa::Conv conv;
  conv.mode = layer.mode;
  conv.shift_only = node.shift_only;
  put(conv.in_h, in_rows.count());
  put(conv.in_w, input_columns(layer, columns).count());
  put(conv.cin, in_channels.count());
  put(conv.out_h, tile.rows.count());
  put(conv.out_w, columns.count());
  put(conv.cout, tile.channels.count());
  put(conv.groups, node.groups == 1 ? 1 : tile.channels.count() / (layer.out.c / node.groups));
  put(conv.kh, layer.kh);
  put(conv.kw, layer.kw);
  put(conv.sy, layer.sy);
  put(conv.sx, layer.sx);
  put(conv.dy, layer.dy);
  put(conv.dx, layer.dx);
  put(conv.pad_top, rows_above(layer, tile.rows));
  put(conv.pad_left, layer.pad_left);
  put(conv.in_zp, in.zero_point);
  put(conv.w_zp, node.weight_zero_point);
  put(conv.out_zp, own.zero_point);
  put(conv.lo, node.lo);
  put(conv.hi, node.hi);
  if (layer.residual != nullptr) {
    const QNode& add = *layer.residual;
    conv.has_residual = true;
    put(conv.lo, add.lo);
    put(conv.hi, add.hi);
    put(conv.res_ma, layer.swapped ? add.mb : add.ma);
    put(conv.res_mb, layer.swapped ? add.ma : add.mb);
    put(conv.res_shift, static_cast<std::int64_t>(add.shift));
    put(conv.res_zb, tensor_of(graph, layer.inputs[1]).zero_point);
    put(conv.res_zo, tensor_of(graph, layer.output).zero_point);
  }
  put(conv.fold, layer.mode == isa::ConvMode::fold ? layer.fold : 1);
  return conv;
}

isa::Edp edp_geometry(const Layer& layer, const LayerGraph& graph, const Tile& tile) {
  const QNode& node = *layer.node;
  const Rows columns = output_columns(layer, tile);
  const Rows in_rows = input_rows(layer, tile.rows);
  isa::Edp edp;
  edp.has_b = layer.inputs.size() == 2;
  put(edp.b_broadcast, layer.b_broadcast ? 1 : 0);
  put(edp.h, tile.rows.count());
  put(edp.w, columns.count());
  put(edp.c, tile.channels.count());
  put(edp.in_h, in_rows.count());
  put(edp.in_w, input_columns(layer, columns).count());
  set_stages(edp, layer, graph);
  if (!windowed(layer)) return edp;
  const bool average = node.op == QOp::average_pool;
  if (average) {
    put(edp.a_zp, tensor_of(graph, layer.inputs[0]).zero_point);
    put(edp.out_zp, tensor_of(graph, layer.output).zero_point);
    put(edp.lo, node.lo);
    put(edp.hi, node.hi);
  }
  if (global_average(layer)) {
    edp.mode = isa::EdpMode::global_average;
    return edp;
  }
  edp.mode = average ? isa::EdpMode::average_pool : isa::EdpMode::max_pool;
  put(edp.kh, layer.kh);
  put(edp.kw, layer.kw);
  put(edp.sy, layer.sy);
  put(edp.sx, layer.sx);
  put(edp.dy, layer.dy);
  put(edp.dx, layer.dx);
  put(edp.pad_top, rows_above(layer, tile.rows));
  put(edp.pad_left, layer.pad_left);
  if (average) {
    put(edp.pad_bottom, layer.pad_bottom);
    put(edp.pad_right, layer.pad_right);
    edp.count_include_pad = node.count_include_pad;
  }
  return edp;
}

std::int64_t channel_granule(const Layer& layer, const isa::ChipConfig& chip) {
  const std::int64_t cb = chip.layout.channel_block;
  if (layer.kind == LayerKind::copy) return 0;
  if (layer.kind != LayerKind::conv) return cb;
  const std::int64_t groups = layer.node->groups;
  // Parameters of 12 bytes start on a line.
  const std::int64_t line = chip.sram.line_bytes;
  const std::int64_t params = line / std::gcd(line, semantics::kParamBytes);
  if (groups == 1 || layer.mode == isa::ConvMode::depthwise) {
    return std::lcm(std::lcm(chip.conv.cout_lanes, cb), params);
  }
  // Whole groups, such that both channel offsets start a block.
  const std::int64_t cin_g = layer.in.c / groups;
  const std::int64_t cout_g = layer.out.c / groups;
  const std::int64_t aligned = std::lcm(cb / std::gcd(cb, cin_g), cb / std::gcd(cb, cout_g));
  return std::lcm(aligned * cout_g, params);
}

}  // namespace tessera::compiler
