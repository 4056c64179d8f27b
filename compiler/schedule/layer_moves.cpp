// Layers of moves, products and elementwise nodes on maps that lie channels last.
#include <algorithm>

#include "compiler/schedule/layer_builder.hpp"
#include "compiler/schedule/move_nest.hpp"
#include "hw/common/error.hpp"

namespace tessera::compiler {
namespace {

constexpr std::int64_t kRow = 16;      // bytes from which on a row is worth a DRAM access of its own
constexpr std::int64_t kLongRow = 64;  // pixels of a row where a map channels last may choose

}  // namespace

// ---- channels last ---------------------------------------------------------------------------------------------

MapShape LayerBuilder::last_shape(int tensor, std::int64_t k) {
  const MapShape s = value(tensor).shape;
  const std::int64_t pixels = s.elements() / k;
  std::int64_t w = pixels;
  if (s.w == k) {
    w = s.h > 1 ? s.h : s.c;
  } else if (s.w % k == 0) {
    w = s.w / k;
  }
  if (w == pixels && w > kLongRow) {
    for (std::int64_t divisor = kLongRow; divisor > 8; --divisor) {
      if (pixels % divisor == 0) {
        w = divisor;
        break;
      }
    }
  }
  return {1, k, pixels / w, w};
}

int LayerBuilder::add_last(int base, const MapShape& shape, int root) {
  Value v;
  v.tensor = base;
  v.shape = shape;
  v.channels_last = true;
  v.root = root;
  if (!out_.roots[static_cast<std::size_t>(root)].imported) v.images_of = base;
  out_.values.push_back(v);
  last_[base].push_back(static_cast<int>(out_.values.size()) - 1);
  return last_[base].back();
}

int LayerBuilder::made_last(int tensor) {
  for (const int v : last_[base_[index(tensor)]]) {
    if (made(v)) return v;
  }
  return -1;
}

int LayerBuilder::last_of_shape(int tensor, const MapShape& shape) {
  const int base = base_[index(tensor)];
  for (const int v : last_[base]) {
    if (value(v).shape == shape) return v;
  }
  return add_last(base, shape, imported_root(shape, base, true));
}

int LayerBuilder::last_of(int tensor, std::int64_t k) {
  for (const int v : last_[base_[index(tensor)]]) {
    if (value(v).shape.c == k) return v;
  }
  return last_of_shape(tensor, last_shape(tensor, k));
}

std::int64_t LayerBuilder::wanted_channels_last(const QNode& node) {
  if (node.op == QOp::max_pool || node.op == QOp::average_pool) return 0;
  bool maps = false;
  std::int64_t k = 0;
  for (const int t : node.inputs) {
    if (!(value(t).shape == value(node.output).shape)) return 0;  // broadcast over the pixels of an NCHW map
    if (made_map(t) >= 0) maps = true;
    const int last = made_last(t);
    if (last >= 0) k = value(last).shape.c;
  }
  const QTensor& out = graph_.tensors[index(node.output)];
  if (k == 0 && !maps && out.onnx_shape.size() == 3 && out.shape[3] > 1 && out.shape[2] == 1) k = out.shape[3];
  return k;
}

void LayerBuilder::add_edp_last(const QNode& node, std::int64_t k) {
  int first = -1;
  for (const int t : node.inputs) {
    if (first < 0 && made_last(t) >= 0) first = made_last(t);
  }
  if (first < 0) first = last_of(node.inputs[0], k);
  const MapShape shape = value(first).shape;
  std::vector<int> maps;
  for (const int t : node.inputs) maps.push_back(last_of_shape(t, shape));
  const int root = new_root(shape, name(node.output));
  Layer& layer = add_layer(LayerKind::edp, node);
  layer.inputs = maps;
  layer.in = layer.out = shape;
  layer.output_root = root;
  layer.output = add_last(node.output, shape, root);
}

// ---- products ----------------------------------------------------------------------------------------------------

void LayerBuilder::add_matmul(const QNode& node) {
  const bool constant = node.inputs.size() == 1;
  if (constant && !node.shared_a) {
    if (!node.trans_a) return add_linear(node, last_of(node.inputs[0], node.k));
    const MapShape seen = value(node.inputs[0]).shape;
    if (node.batch == 1 && seen.n == 1 && seen.c == node.k) return add_linear(node, blocked(node.inputs[0]));
  }
  add_product(node);
}

void LayerBuilder::add_product(const QNode& node) {
  std::vector<int> images;
  std::vector<ImageMatrix> matrices;
  bool trans_a = node.trans_a, trans_b = node.trans_b;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    bool& trans = i == 0 ? trans_a : trans_b;
    const std::int64_t across = i == 0 ? node.m : node.n;
    const std::int64_t rows = trans == (i == 0) ? node.k : across, columns = trans == (i == 0) ? across : node.k;
    matrices.push_back(
        matrix_of(node.inputs[i], node.batch, rows, columns, i == 0 ? node.shared_a : node.shared_b, trans, images));
  }
  if (value(node.output).dram.empty()) add_image(node.output, node.output, isa::BufferKind::scratch);
  Layer& layer = add_layer(LayerKind::gemm, node);
  layer.images = images;
  layer.matrices = matrices;
  layer.trans_a = trans_a;
  layer.trans_b = trans_b;
  layer.output = node.output;
  layer.out = value(node.output).shape;
}

void LayerBuilder::add_on_gemm(const QNode& node) {
  out_.owned.push_back(node);
  QNode& product = out_.owned.back();
  const MapShape in = value(node.inputs[0]).shape;
  product.op = QOp::matmul;
  product.m = in.n;
  product.k = in.c * in.h * in.w;
  product.n = value(node.output).shape.c;
  product.trans_b = product.shared_b = true;
  add_product(product);
}

ImageMatrix LayerBuilder::matrix_of(int tensor, std::int64_t batch, std::int64_t rows, std::int64_t columns,
                                    bool shared, bool& trans, std::vector<int>& images) {
  int base = base_[index(tensor)];
  LinearNest nest;
  nest.loops = {{{shared ? 1 : batch, rows * columns}}, {{rows, columns}}, {{columns, 1}}};
  const auto stride = [&](std::size_t loop) -> std::int64_t {
    return nest.loops[loop].empty() ? 1 : nest.loops[loop].front().stride;
  };
  while (value(base).dram.empty() && only_seen_.count(base) != 0) {
    const QNode& move = *only_seen_[base];
    if (move.apart) break;
    const auto before = before_move(move, nest, value(base).shape.elements());
    if (!before || before->loops[1].size() > 1 || before->loops[2].size() > 1) break;
    const auto unit = [](const std::vector<LinearLoop>& loops) { return loops.empty() || loops.front().stride == 1; };
    const bool square = chip_.gemm.rows == chip_.gemm.cols;
    if (!unit(before->loops[2]) && !(square && unit(before->loops[1]))) break;
    const auto positive = [](const std::vector<LinearLoop>& loops) {
      return std::all_of(loops.begin(), loops.end(), [](const LinearLoop& l) { return l.stride > 0; });
    };
    if (!positive(before->loops[1]) || !positive(before->loops[2])) break;
    nest = *before;
    base = base_[index(move.inputs[0])];
  }
  if (stride(2) != 1) {
    std::swap(nest.loops[1], nest.loops[2]);
    trans = !trans;
  }
  images.push_back(linear_image_of(base));
  ImageMatrix matrix;
  matrix.offset = nest.offset;
  matrix.row = stride(1);
  for (const LinearLoop& loop : nest.loops[0]) {
    if (loop.count > 1) matrix.batch.emplace_back(loop.count, loop.stride);
  }
  return matrix;
}

bool LayerBuilder::read_by_products(int tensor) const {
  const auto& readers = readers_of_[index(tensor)];
  return !readers.empty() && std::all_of(readers.begin(), readers.end(), [&](const QNode* node) {
    if (node->op == QOp::matmul) return node->inputs.size() == 2;
    return (node->op == QOp::view || node->op == QOp::move) && node->inputs.size() == 1 &&
           read_by_products(node->output);
  });
}

void LayerBuilder::add_linear(const QNode& node, int map) {
  out_.owned.push_back(node);
  QNode& conv = out_.owned.back();
  conv.op = QOp::conv;
  conv.kh = conv.kw = 1;
  conv.groups = 1;
  const auto n = static_cast<std::size_t>(node.n), k = static_cast<std::size_t>(node.k);
  if (!node.trans_b && !node.weights.empty()) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < k; ++j) conv.weights[i * k + j] = node.weights[j * n + i];
    }
  }
  if (conv.bias.empty()) conv.bias.assign(n, 0);
  if (conv.scales.size() == 1) conv.scales.assign(n, node.scales[0]);
  MapShape shape = value(map).shape;
  const MapShape in = shape;
  shape.c = node.n;
  const int root = new_root(shape, name(node.output));
  Layer& layer = add_layer(LayerKind::conv, conv);
  layer.inputs = {map};
  layer.in = in;
  layer.out = shape;
  layer.output_root = root;
  layer.output = add_last(node.output, shape, root);
}

void LayerBuilder::add_constant(const QNode& node) {
  Image image;
  image.tensor = node.output;
  image.kind = isa::BufferKind::weights;
  image.bytes = value(node.output).shape.elements();
  image.constant = &node;
  out_.images.push_back(image);
  value(node.output).dram.insert(value(node.output).dram.begin(), static_cast<int>(out_.images.size()) - 1);
}

// ---- moves -------------------------------------------------------------------------------------------------------

int LayerBuilder::read_as_map(int tensor) const {
  for (const QNode* node : readers_of_[index(tensor)]) {
    switch (node->op) {
      case QOp::view:
        if (const int seen = read_as_map(node->output); seen >= 0) return seen;
        break;
      case QOp::move:
        if (read_as_map(node->output) >= 0) return tensor;
        break;
      case QOp::matmul:
      case QOp::constant:
      case QOp::host:
        break;
      case QOp::conv:
      case QOp::add:
      case QOp::mul:
      case QOp::max_pool:
      case QOp::average_pool:
      case QOp::requantize:
      case QOp::table:
      case QOp::concat:
        return tensor;
    }
  }
  return -1;
}

void LayerBuilder::add_move(const QNode& node) {
  if (value(node.output).dram.empty() && node.pieces.size() == 1 && read_by_products(node.output)) {
    only_seen_[node.output] = &node;
    return;
  }
  if (seen_transposed(node) || seen_as_channels(node) || add_reorder(node)) return;
  if (value(node.output).dram.empty()) add_image(node.output, node.output, isa::BufferKind::scratch);
  add_stream(node);
}

void LayerBuilder::add_stream(const QNode& node) {
  std::vector<int> images;
  for (const int t : node.inputs) images.push_back(linear_image_of(t));
  Layer& layer = add_layer(LayerKind::stream, node);
  layer.images = images;
  layer.output = node.output;
  layer.out = value(node.output).shape;
}

bool LayerBuilder::seen_transposed(const QNode& node) {
  const int in = node.inputs[0], out = node.output;
  const auto t = as_transposition(node, value(in).shape.elements(), value(out).shape.elements());
  if (!t) return false;
  const bool wanted = value(out).dram.empty();  // not a graph output, for which a layer must write
  // 1. Rows are channels of an NCHW map: the output is that map channels last.
  const int map = made_map(in);
  const auto rows_are_channels = [&](const MapShape& s) {
    return s.n == t->batch && s.c == t->rows && s.h * s.w == t->columns;
  };
  if (map >= 0 && rows_are_channels(value(map).shape)) {
    const int v = add_last(out, value(map).shape, value(map).root);
    value(v).first_channel = value(map).first_channel;
    return true;
  }
  // 2. Columns are channels of a map that lies channels last: the output is an NCHW map.
  const int reader = read_as_map(out);
  const auto columns_are_channels = [&](const MapShape& s) {
    return s.n == t->batch && s.c == t->columns && s.h * s.w == t->rows;
  };
  if (reader >= 0 && columns_are_channels(value(reader).shape)) {
    const int last = made_last(in);
    if (last >= 0 && t->batch == 1 && value(last).shape == value(reader).shape) {
      value(reader).root = value(last).root;
      value(reader).first_channel = value(last).first_channel;
      see_as(out, reader);
      return true;
    }
    if (!wanted) return false;
    value(reader).root = imported_root(value(reader).shape, in, true);
    see_as(out, reader);
    only_seen_[out] = &node;
    return true;
  }
  // 3. Nobody wrote it as a map yet: import it channels last from the input's image.
  if (reader >= 0 || !wanted || t->batch != 1 || map >= 0 || made_last(in) >= 0) return false;
  MapShape shape = value(base_[index(in)]).shape;
  if (!rows_are_channels(shape)) shape = {1, t->rows, 1, t->columns};
  add_last(out, shape, imported_root(shape, in, false));
  only_seen_[out] = &node;
  return true;
}

void LayerBuilder::see_as(int out, int reader) {
  if (reader == out) return;
  shaped_[out] = reader;
  value(reader).images_of = out;
}

bool LayerBuilder::seen_as_channels(const QNode& node) {
  const int in = node.inputs[0], out = node.output;
  const int map = made_map(in);
  if (map < 0) return false;
  const MapShape shape = value(map).shape;
  const auto range = as_channel_range(node, shape, value(out).shape.elements());
  if (!range || range->first % chip_.layout.channel_block != 0) return false;
  const int reader = read_as_map(out);
  const int seen = reader >= 0 ? reader : out;
  if (!(value(seen).shape == MapShape{shape.n, range->count, shape.h, shape.w})) return false;
  value(seen).root = value(map).root;
  value(seen).first_channel = value(map).first_channel + range->first;
  see_as(out, seen);
  return true;
}

bool LayerBuilder::add_reorder(const QNode& node) {
  int reader = read_as_map(node.output);
  if (chip_.cores > 1 || detours_.through_dram.count(node.name) != 0) return false;
  if (reader < 0) {  // wanted in DRAM alone: rows that are long enough go there by LOAD and STORE
    const auto rows = [](const QMove& p) { return p.src_stride[5] == 1 && p.dst_stride[5] == 1 && p.count[5] >= kRow; };
    if (std::all_of(node.pieces.begin(), node.pieces.end(), rows)) return false;
    reader = node.output;
  }
  std::vector<MapShape> shapes;
  bool any = false;  // else rows of images in DRAM move as well by LOAD and STORE
  for (const int t : node.inputs) {
    const int map = made_map(t);
    any = any || map >= 0;
    shapes.push_back(value(map >= 0 ? map : t).shape);
  }
  if (!any) return false;
  const MapShape out = value(reader).shape;
  for (const QMove& piece : node.pieces) {
    if (!move_box(piece, shapes[index(piece.input)], out, chip_)) return false;
  }
  std::vector<int> maps;
  for (const int t : node.inputs) {
    const int map = made_map(t);
    maps.push_back(map >= 0 ? map : blocked(t));
  }
  Layer& layer = add_layer(LayerKind::move, node);
  layer.inputs = maps;
  layer.in = value(maps[0]).shape;
  give_root(layer, reader);
  see_as(node.output, reader);
  return true;
}

void LayerBuilder::concat_images(const QNode& node) {
  out_.owned.push_back(node);
  QNode& move = out_.owned.back();
  move.op = QOp::move;
  const MapShape out = value(node.output).shape;
  std::int64_t at = 0;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const std::int64_t image = value(node.inputs[i]).shape.elements() / out.n;
    QMove piece;
    piece.input = static_cast<int>(i);
    piece.dst_offset = at;
    piece.count[4] = out.n;
    piece.src_stride[4] = image;
    piece.dst_stride[4] = out.elements() / out.n;
    piece.count[5] = image;
    piece.src_stride[5] = piece.dst_stride[5] = 1;
    move.pieces.push_back(piece);
    at += image;
  }
  if (value(node.output).dram.empty()) add_image(node.output, node.output, isa::BufferKind::scratch);
  add_stream(move);
}

}  // namespace tessera::compiler
