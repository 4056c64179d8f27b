#include "random_graph.hpp"

#include <algorithm>

#include "isa/semantics/layout.hpp"
#include "isa/semantics/requantize.hpp"

namespace tessera::compiler::testing {

int QBuilder::tensor(const std::string& name, const Shape& shape) {
  QTensor t;
  t.name = name + std::to_string(graph.tensors.size());
  t.shape = t.onnx_shape = shape;
  t.scale = 0.05;
  t.zero_point = one_zero_point ? 3 : static_cast<std::int32_t>(random.between(-20, 20));
  graph.tensors.push_back(t);
  return static_cast<int>(graph.tensors.size()) - 1;
}

int QBuilder::input(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) {
  const int t = tensor("in", {n, c, h, w});
  graph.inputs.push_back(t);
  return t;
}

QNode& QBuilder::node(QOp op, const std::string& onnx_op, const std::vector<int>& inputs) {
  graph.nodes.emplace_back();
  QNode& n = graph.nodes.back();
  n.op = op;
  n.onnx_op = onnx_op;
  n.name = onnx_op + std::to_string(graph.nodes.size());
  n.inputs = inputs;
  return n;
}

QScale QBuilder::scale(double real) {
  const semantics::QuantizedScale s = semantics::quantize_scale(real);
  return {s.multiplier, s.shift};
}

void QBuilder::clamp(QNode& n) {
  if (!with_weights) return;
  if (random.chance(1, 3)) n.lo = static_cast<std::int32_t>(random.between(-100, -10));
  if (random.chance(1, 3)) n.hi = static_cast<std::int32_t>(random.between(40, 120));
}

void QBuilder::set_window(const Window& k, QNode* n) {
  n->kh = k.kh;
  n->kw = k.kw;
  n->sy = k.sy;
  n->sx = k.sx;
  n->dy = k.dy;
  n->dx = k.dx;
  n->pad_top = k.pad_top;
  n->pad_left = k.pad_left;
  n->pad_bottom = k.pad_bottom;
  n->pad_right = k.pad_right;
}

Shape QBuilder::window_output(const Shape& s, std::int64_t channels, const Window& k) {
  return {s[0], channels, semantics::output_extent(s[2], k.kh, k.sy, k.dy, k.pad_top, k.pad_bottom),
          semantics::output_extent(s[3], k.kw, k.sx, k.dx, k.pad_left, k.pad_right)};
}

int QBuilder::conv(int in, std::int64_t cout, const Window& k, int groups) {
  const Shape s = shape(in);
  QNode& n = node(QOp::conv, "Conv", {in});
  set_window(k, &n);
  n.groups = groups;
  n.weight_zero_point = random.chance(1, 4) ? static_cast<std::int32_t>(random.between(-9, 9)) : 0;
  const std::int64_t cin_g = s[1] / groups;
  for (std::int64_t i = 0; with_weights && i < cout * cin_g * k.kh * k.kw; ++i) {
    n.weights.push_back(static_cast<std::int8_t>(random.between(-128, 127)));
  }
  const double gain = 1.0 / (40.0 * static_cast<double>(cin_g * k.kh * k.kw));
  for (std::int64_t o = 0; o < cout; ++o) {
    n.bias.push_back(static_cast<std::int32_t>(random.between(-3000, 3000)));
    n.scales.push_back(scale(gain * (0.5 + random.unit())));
  }
  clamp(n);
  const Shape out = window_output(s, cout, k);
  n.macs = element_count(out) * cin_g * k.kh * k.kw;
  return result("conv", out);
}

int QBuilder::add(int a, int b) {
  QNode& n = node(QOp::add, "Add", {a, b});
  const semantics::AddScale s = semantics::quantize_add(0.6, 0.3 + random.unit(), 1.0);
  n.ma = s.ma;
  n.mb = s.mb;
  n.shift = s.shift;
  clamp(n);
  const Shape out = shape(a)[2] * shape(a)[3] >= shape(b)[2] * shape(b)[3] ? shape(a) : shape(b);
  return result("add", out);
}

int QBuilder::mul(int a, int b) {
  QNode& n = node(QOp::mul, "Mul", {a, b});
  n.scales = {scale(0.02)};
  clamp(n);
  const Shape out = shape(a)[2] * shape(a)[3] >= shape(b)[2] * shape(b)[3] ? shape(a) : shape(b);
  return result("mul", out);
}

int QBuilder::max_pool(int in, const Window& k) {
  const Shape s = shape(in);
  QNode& n = node(QOp::max_pool, "MaxPool", {in});
  set_window(k, &n);
  return result("pool", window_output(s, s[1], k), in);
}

int QBuilder::average_pool(int in, const Window& k, bool count_include_pad) {
  const int out = max_pool(in, k);
  QNode& n = graph.nodes.back();
  n.op = QOp::average_pool;
  n.onnx_op = "AveragePool";
  n.count_include_pad = count_include_pad;
  for (const semantics::QuantizedScale& s : semantics::average_scales(0.05, 0.04, n.kh * n.kw)) {
    n.scales.push_back({s.multiplier, s.shift});
  }
  return out;
}

int QBuilder::global_average(int in) {
  Window k;
  k.kh = static_cast<int>(shape(in)[2]);
  k.kw = static_cast<int>(shape(in)[3]);
  return average_pool(in, k, false);
}

int QBuilder::requantize(int in) {
  QNode& n = node(QOp::requantize, "Clip", {in});
  n.scales = {scale(0.5 + random.unit())};
  clamp(n);
  return result("requantize", shape(in));
}

int QBuilder::table(int in) {
  QNode& n = node(QOp::table, "Sigmoid", {in});
  for (int i = 0; i < 256; ++i) n.table.push_back(static_cast<std::int8_t>(random.between(-128, 127)));
  return result("table", shape(in));
}

int QBuilder::concat(const std::vector<int>& parts) {
  node(QOp::concat, "Concat", parts);
  const Shape s = shape(parts[0]);
  std::int64_t channels = 0;
  for (const int p : parts) channels += shape(p)[1];
  const int out = result("concat", {s[0], channels, s[2], s[3]});
  // One scale: the makers of the parts take the zero point of the last one.
  const std::int32_t zero_point = graph.tensors[static_cast<std::size_t>(parts.back())].zero_point;
  for (const int p : parts) graph.tensors[static_cast<std::size_t>(p)].zero_point = zero_point;
  graph.tensors.back().zero_point = zero_point;
  return out;
}

int QBuilder::view(int in, std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) {
  node(QOp::view, "Reshape", {in});
  return result("view", {n, c, h, w}, in);
}

int QBuilder::softmax_on_host(int in) {
  QNode& n = node(QOp::host, "Softmax", {in});
  n.attributes["axis"] = {1.0};
  const int out = result("softmax", shape(in));
  graph.tensors.back().scale = 1.0 / 256.0;
  graph.tensors.back().zero_point = -128;
  return out;
}

int QBuilder::result(const std::string& name, const Shape& shape, int same_scale) {
  const int t = tensor(name, shape);
  if (same_scale >= 0) {
    graph.tensors.back().scale = graph.tensors[static_cast<std::size_t>(same_scale)].scale;
    graph.tensors.back().zero_point = graph.tensors[static_cast<std::size_t>(same_scale)].zero_point;
  }
  graph.nodes.back().output = t;
  return t;
}

int QBuilder::move(const std::string& onnx_op, int in, const Shape& seen, const std::vector<Axis>& axes,
                   const Shape& out) {
  QNode& n = node(QOp::move, onnx_op, {in});
  std::vector<std::int64_t> stride(seen.size(), 1), dense(axes.size(), 1);
  for (std::size_t d = seen.size() - 1; d > 0; --d) stride[d - 1] = stride[d] * seen[d];
  for (std::size_t d = axes.size() - 1; d > 0; --d) dense[d - 1] = dense[d] * axes[d].count;
  struct Loop {
    std::int64_t count, src, dst;
  };
  std::vector<Loop> loops;
  QMove piece;
  for (std::size_t d = 0; d < axes.size(); ++d) {
    const std::int64_t s = stride[static_cast<std::size_t>(axes[d].from)];
    piece.src_offset += axes[d].start * s;
    if (axes[d].count == 1) continue;
    const Loop loop{axes[d].count, s * axes[d].step, dense[d]};
    if (!loops.empty() && loops.back().src == loop.count * loop.src && loops.back().dst == loop.count * loop.dst) {
      loops.back() = {loops.back().count * loop.count, loop.src, loop.dst};
    } else {
      loops.push_back(loop);
    }
  }
  for (std::size_t d = 0; d < loops.size(); ++d) {
    const std::size_t at = 6 - loops.size() + d;
    piece.count[at] = loops[d].count;
    piece.src_stride[at] = loops[d].src;
    piece.dst_stride[at] = loops[d].dst;
  }
  n.pieces = {piece};
  return result("move", out, in);
}

int QBuilder::transpose(int in, const Shape& seen, const std::vector<std::int64_t>& order, const Shape& out) {
  std::vector<Axis> axes;
  for (const std::int64_t d : order) axes.push_back({d, 0, 1, seen[static_cast<std::size_t>(d)]});
  return move("Transpose", in, seen, axes, out);
}

int QBuilder::slice(int in, std::int64_t axis, std::int64_t start, std::int64_t step, std::int64_t count) {
  const Shape s = shape(in);
  Shape out = s;
  out[static_cast<std::size_t>(axis)] = count;
  std::vector<Axis> axes;
  for (std::int64_t d = 0; d < 4; ++d) {
    axes.push_back(d == axis ? Axis{d, start, step, count} : Axis{d, 0, 1, s[static_cast<std::size_t>(d)]});
  }
  return move("Slice", in, s, axes, out);
}

int QBuilder::shuffle(int in, std::int64_t groups) {
  const Shape s = shape(in);
  const Shape seen = {s[0], groups, s[1] / groups, s[2], s[3]};
  const int moved = transpose(view(in, s[0], groups, s[1] / groups, s[2] * s[3]), seen, {0, 2, 1, 3, 4},
                              {s[0], s[1] / groups, groups, s[2] * s[3]});
  return view(moved, s[0], s[1], s[2], s[3]);
}

int QBuilder::pad(int in, std::int64_t top, std::int64_t left, std::int64_t bottom, std::int64_t right) {
  const Shape s = shape(in);
  const Shape out = {s[0], s[1], s[2] + top + bottom, s[3] + left + right};
  QNode& n = node(QOp::move, "Pad", {in});
  n.fill = static_cast<std::int8_t>(random.between(-128, 127));
  QMove piece;
  piece.dst_offset = top * out[3] + left;
  piece.count = {1, 1, 1, s[0] * s[1], s[2], s[3]};
  piece.src_stride = {0, 0, 0, s[2] * s[3], s[3], 1};
  piece.dst_stride = {0, 0, 0, out[2] * out[3], out[3], 1};
  n.pieces = {piece};
  return result("pad", out, in);
}

int QBuilder::upsample(int in, std::int64_t factor) {
  const Shape s = shape(in);
  QNode& n = node(QOp::move, "Resize", {in});
  const std::int64_t w = s[3] * factor;
  QMove piece;
  piece.count = {1, 1, s[0] * s[1] * s[2], factor, s[3], factor};
  piece.src_stride = {0, 0, s[3], 0, 1, 0};
  piece.dst_stride = {0, 0, factor * w, w, factor, 1};
  n.pieces = {piece};
  return result("resize", {s[0], s[1], s[2] * factor, w}, in);
}

int QBuilder::join_rows(int a, int b) {
  const Shape s = shape(a), u = shape(b);
  QNode& n = node(QOp::move, "Concat", {a, b});
  const std::int64_t h = s[2] + u[2];
  for (int i = 0; i < 2; ++i) {
    const std::int64_t rows = i == 0 ? s[2] : u[2];
    QMove piece;
    piece.input = i;
    piece.dst_offset = i == 0 ? 0 : s[2] * s[3];
    piece.count = {1, 1, 1, 1, s[0] * s[1], rows * s[3]};
    piece.src_stride = {0, 0, 0, 0, rows * s[3], 1};
    piece.dst_stride = {0, 0, 0, 0, h * s[3], 1};
    n.pieces.push_back(piece);
  }
  const int t = result("joined", {s[0], s[1], h, s[3]}, a);
  graph.tensors[static_cast<std::size_t>(b)].zero_point = graph.tensors.back().zero_point;
  return t;
}

int QBuilder::constant(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) {
  QNode& node_ = node(QOp::constant, "Constant", {});
  for (std::int64_t i = 0; i < n * c * h * w; ++i) {
    node_.weights.push_back(static_cast<std::int8_t>(random.between(-128, 127)));
  }
  return result("constant", {n, c, h, w});
}

int QBuilder::matmul(int a, int b, const Product& p, const Shape& out) {
  QNode& n = node(QOp::matmul, "MatMul", b < 0 ? std::vector<int>{a} : std::vector<int>{a, b});
  n.batch = p.batch;
  n.m = p.m;
  n.k = p.k;
  n.n = p.n;
  n.trans_a = p.trans_a;
  n.trans_b = p.trans_b;
  n.shared_a = p.shared_a;
  n.shared_b = p.shared_b || b < 0;
  n.macs = p.batch * p.m * p.k * p.n;
  const double gain = 1.0 / (40.0 * static_cast<double>(p.k));
  if (b < 0) {
    for (std::int64_t i = 0; i < p.k * p.n; ++i)
      n.weights.push_back(static_cast<std::int8_t>(random.between(-128, 127)));
    if (random.chance(1, 2)) n.weight_zero_point = static_cast<std::int32_t>(random.between(-9, 9));
    if (random.chance(1, 2)) {
      for (std::int64_t i = 0; i < p.n; ++i) n.bias.push_back(static_cast<std::int32_t>(random.between(-3000, 3000)));
    }
    const std::int64_t scales = random.chance(1, 2) ? p.n : 1;
    for (std::int64_t i = 0; i < scales; ++i) n.scales.push_back(scale(gain * (0.5 + random.unit())));
  } else {
    n.scales = {scale(gain)};
  }
  clamp(n);
  return result("product", out);
}

namespace {

QBuilder::Window random_window(Random& random, const Shape& s, int most, bool dilate) {
  QBuilder::Window k;
  k.kh = static_cast<int>(random.between(1, std::min<std::int64_t>(most, s[2])));
  k.kw = static_cast<int>(random.between(1, std::min<std::int64_t>(most, s[3])));
  k.sy = static_cast<int>(random.between(1, 2));
  k.sx = static_cast<int>(random.between(1, 3));
  if (dilate && random.chance(1, 4)) {
    if (2 * (k.kh - 1) + 1 <= s[2]) k.dy = 2;
    if (2 * (k.kw - 1) + 1 <= s[3]) k.dx = 2;
  }
  k.pad_top = static_cast<int>(random.between(0, k.kh / 2));
  k.pad_bottom = static_cast<int>(random.between(0, k.kh / 2));
  k.pad_left = static_cast<int>(random.between(0, k.kw / 2));
  k.pad_right = static_cast<int>(random.between(0, k.kw / 2));
  return k;
}

}  // namespace

QGraph random_graph(std::uint64_t seed, std::int64_t extent, std::int64_t batch) {
  QBuilder b(seed);
  Random& r = b.random;
  std::vector<int> live;
  live.push_back(b.input(batch, r.between(1, 11), r.between(3, extent), r.between(3, extent)));
  const int steps = static_cast<int>(r.between(3, 8));
  for (int i = 0; i < steps; ++i) {
    const int t = live[static_cast<std::size_t>(r.below(live.size()))];
    const Shape s = b.shape(t);
    switch (r.below(12)) {
      case 0:
      case 1:
      case 2:
        live.push_back(b.conv(t, r.between(1, 19), random_window(r, s, 3, true)));
        break;
      case 3:  // depthwise
        live.push_back(b.conv(t, s[1], random_window(r, s, 3, false), static_cast<int>(s[1])));
        break;
      case 4: {  // grouped
        const int groups = s[1] % 2 == 0 ? 2 : 1;
        live.push_back(b.conv(t, groups * r.between(1, 7), random_window(r, s, 3, false), groups));
        break;
      }
      case 5:
        live.push_back(b.max_pool(t, random_window(r, s, 3, false)));
        break;
      case 6:
        live.push_back(b.average_pool(t, random_window(r, s, 3, false), r.chance(1, 2)));
        break;
      case 7: {  // two branches of one shape, added
        const int x = b.conv(t, s[1], {});
        live.push_back(b.add(x, t));
        break;
      }
      case 8:  // a gate, and a pooled vector
        live.push_back(b.mul(t, b.table(t)));
        if (r.chance(1, 2)) live.push_back(b.table(b.conv(b.global_average(t), s[1], {})));
        break;
      case 9: {
        std::vector<int> parts = {b.conv(t, r.between(1, 9), {}), b.conv(t, r.between(1, 9), {})};
        if (r.chance(1, 2)) parts.push_back(t);
        live.push_back(b.concat(parts));
        break;
      }
      case 10:
        live.push_back(b.requantize(t));
        break;
      default:
        if (s[2] % 2 == 0) live.push_back(b.view(t, s[0], s[1] * 2, s[2] / 2, s[3]));
        break;
    }
  }
  const int last = live.back();
  const Shape s = b.shape(last);
  if (r.chance(1, 2)) {
    b.output(b.conv(b.view(last, s[0], s[1] * s[2] * s[3], 1, 1), r.between(1, 13), {}));
    if (live.size() > 2 && r.chance(1, 2)) b.output(live[1]);
  } else {
    b.output(last);
  }
  return b.graph;
}

QGraph random_moves(std::uint64_t seed, std::int64_t extent, std::int64_t batch) {
  QBuilder b(seed);
  b.one_zero_point = true;
  Random& r = b.random;
  std::vector<int> live = {b.input(batch, r.between(1, 11), r.between(3, extent), r.between(3, extent))};
  const int steps = static_cast<int>(r.between(3, 7));
  for (int i = 0; i < steps; ++i) {
    const int t = live[static_cast<std::size_t>(r.below(live.size()))];
    const Shape s = b.shape(t);
    const std::int64_t pixels = s[2] * s[3];
    if (s[1] * pixels > 40000) continue;
    switch (r.below(18)) {
      case 0:
        live.push_back(b.conv(t, r.between(1, 19), random_window(r, s, 3, false)));
        break;
      case 1: {  // a channel shuffle between convolutions
        const std::int64_t groups = r.between(2, 3);
        const int x = b.conv(t, groups * r.between(2, 7), {});
        live.push_back(b.conv(b.shuffle(x, groups), r.between(1, 9), {}));
        break;
      }
      case 2: {  // two halves of the channels, from block borders or not
        const std::int64_t half = r.chance(1, 2) ? 4 : r.between(1, 6);
        const int x = b.conv(t, 2 * half, {});
        const int first = b.slice(x, 1, 0, 1, half), second = b.slice(x, 1, half, 1, half);
        live.push_back(b.concat({first, b.conv(second, r.between(1, 6), {})}));
        if (r.chance(1, 3)) b.output(second);
        break;
      }
      case 3: {
        const std::int64_t axis = r.between(2, 3);
        const std::int64_t extent_in = s[static_cast<std::size_t>(axis)];
        const std::int64_t start = r.between(0, extent_in - 1);
        const std::int64_t step = r.between(1, 3);
        live.push_back(b.requantize(b.slice(t, axis, start, step, (extent_in - start + step - 1) / step)));
        break;
      }
      case 4:
        live.push_back(b.pad(t, r.between(0, 2), r.between(0, 2), r.between(0, 2), r.between(0, 2)));
        break;
      case 5:
        live.push_back(b.table(b.upsample(t, 2)));
        break;
      case 6:
        live.push_back(b.join_rows(b.conv(t, s[1], {}), t));
        break;
      case 7: {  // rows and columns change places
        live.push_back(b.transpose(t, s, {0, 1, 3, 2}, {s[0], s[1], s[3], s[2]}));
        break;
      }
      case 8: {  // channels last and back, a product between: what a block of a transformer does
        const int last = b.transpose(t, {s[0], s[1], pixels}, {0, 2, 1}, {s[0], pixels, 1, s[1]});
        const std::int64_t n = r.between(1, 13);
        const int wide =
            b.table(b.matmul(last, -1, {1, s[0] * pixels, s[1], n, false, r.chance(1, 2)}, {s[0], pixels, 1, n}));
        const int back = b.matmul(wide, -1, {1, s[0] * pixels, n, s[1]}, {s[0], pixels, 1, s[1]});
        const int sum = b.add(back, last);
        const int nchw = b.transpose(sum, {s[0], pixels, s[1]}, {0, 2, 1}, {s[0], s[1], s[2], s[3]});
        if (r.chance(1, 2)) b.output(sum);
        live.push_back(b.add(nchw, t));
        break;
      }
      case 9: {  // a product of two activations, a batch of channels
        const std::int64_t batches = s[0] * s[1];
        const std::int64_t n = r.between(1, 9);
        const bool trans_a = r.chance(1, 2), trans_b = r.chance(1, 2), shared = r.chance(1, 2);
        const std::int64_t m = trans_a ? s[3] : s[2], k = trans_a ? s[2] : s[3];
        const int other = shared ? b.constant(1, 1, trans_b ? n : k, trans_b ? k : n)
                                 : b.matmul(t, -1, {batches, s[2], s[3], n}, {s[0], s[1], s[2], n});
        if (shared) {
          live.push_back(b.matmul(t, other, {batches, m, k, n, trans_a, trans_b, false, true}, {s[0], s[1], m, n}));
        } else {  // A^T A'
          live.push_back(
              b.matmul(t, other, {batches, s[3], s[2], n, true, false, false, false}, {s[0], s[1], s[3], n}));
        }
        break;
      }
      case 10:
        live.push_back(b.add(b.conv(t, s[1], {}), b.constant(s[0], s[1], s[2], s[3])));
        break;
      case 11:  // one value a channel, of either operand
        live.push_back(b.add(b.constant(s[0], s[1], 1, 1), t));
        break;
      case 12: {  // depth to space
        const int x = b.conv(t, 4 * r.between(1, 3), {});
        const std::int64_t c = b.shape(x)[1] / 4;
        live.push_back(b.transpose(x, {s[0], 2, 2, c, s[2], s[3]}, {0, 3, 4, 1, 5, 2}, {s[0], c, 2 * s[2], 2 * s[3]}));
        break;
      }
      case 13: {  // a host step between layers, read channels last
        const int last = b.transpose(b.softmax_on_host(t), {s[0], s[1], pixels}, {0, 2, 1}, {s[0], pixels, 1, s[1]});
        live.push_back(b.matmul(last, -1, {1, s[0] * pixels, s[1], r.between(1, 9)}, {s[0], pixels, 1, 1}));
        b.graph.tensors.back().shape[3] = b.graph.tensors.back().onnx_shape[3] = b.graph.nodes.back().n;
        break;
      }
      case 15:
      case 16: {  // attention: heads cut from one product, each moved in front of the next products
        const std::int64_t heads = r.between(1, 3), depth = r.between(1, 5), all = heads * depth;
        if (pixels > 60) break;
        const int last = b.transpose(t, {s[0], s[1], pixels}, {0, 2, 1}, {s[0], pixels, 1, s[1]});
        const int qkv = b.matmul(last, -1, {1, s[0] * pixels, s[1], 3 * all}, {s[0], pixels, 1, 3 * all});
        const auto part = [&](std::int64_t third, const std::vector<std::int64_t>& order, const Shape& out) {
          return b.transpose(b.slice(qkv, 3, third * all, 1, all), {s[0], pixels, heads, depth}, order, out);
        };
        const int q = part(0, {0, 2, 1, 3}, {s[0], heads, pixels, depth});
        const int k = part(1, {0, 2, 3, 1}, {s[0], heads, depth, pixels});
        const int v = part(2, {0, 2, 1, 3}, {s[0], heads, pixels, depth});
        const int scores = b.matmul(q, k, {s[0] * heads, pixels, depth, pixels}, {s[0], heads, pixels, pixels});
        const int sum = b.matmul(scores, v, {s[0] * heads, pixels, pixels, depth}, {s[0], heads, pixels, depth});
        const int tokens = b.transpose(sum, {s[0], heads, pixels, depth}, {0, 2, 1, 3}, {s[0], pixels, 1, all});
        const int out = b.matmul(tokens, -1, {1, s[0] * pixels, all, s[1]}, {s[0], pixels, 1, s[1]});
        live.push_back(b.transpose(b.add(out, last), {s[0], pixels, s[1]}, {0, 2, 1}, s));
        if (r.chance(1, 3)) b.output(k);
        break;
      }
      case 14: {  // time reversed, and a view of another shape
        const int x = b.conv(t, s[1], {});
        const int reversed =
            b.move("Slice", x, s, {{0, 0, 1, s[0]}, {1, 0, 1, s[1]}, {2, 0, 1, s[2]}, {3, s[3] - 1, -1, s[3]}}, s);
        live.push_back(b.conv(reversed, r.between(1, 9), {}));
        break;
      }
      default:
        live.push_back(b.table(b.concat({t, b.slice(t, 1, 0, 1, s[1])})));
        break;
    }
  }
  b.output(live.back());
  if (live.size() > 2) b.output(live[1]);
  return b.graph;
}

std::vector<Tensor> random_inputs(const QGraph& graph, std::uint64_t seed) {
  Random random(seed);
  std::vector<Tensor> out;
  for (const int t : graph.inputs) {
    Tensor tensor = Tensor::make(DType::i8, graph.tensors[static_cast<std::size_t>(t)].shape);
    for (std::uint8_t& b : tensor.bytes) b = static_cast<std::uint8_t>(random.next());
    out.push_back(std::move(tensor));
  }
  return out;
}

}  // namespace tessera::compiler::testing
