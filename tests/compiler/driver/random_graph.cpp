#include "random_graph.hpp"

#include <algorithm>

#include "isa/semantics/layout.hpp"
#include "isa/semantics/requantize.hpp"

namespace tessera::compiler::testing {

int QBuilder::tensor(const std::string& name, std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) {
  QTensor t;
  t.name = name + std::to_string(graph.tensors.size());
  t.shape = t.onnx_shape = {n, c, h, w};
  t.scale = 0.05;
  t.zero_point = static_cast<std::int32_t>(random.between(-20, 20));
  graph.tensors.push_back(t);
  return static_cast<int>(graph.tensors.size()) - 1;
}

int QBuilder::input(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) {
  const int t = tensor("in", n, c, h, w);
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

int QBuilder::conv(int in, std::int64_t cout, const Window& k, int groups) {
  const Shape s = shape(in);
  QNode& n = node(QOp::conv, "Conv", {in});
  n.kh = k.kh;
  n.kw = k.kw;
  n.sy = k.sy;
  n.sx = k.sx;
  n.dy = k.dy;
  n.dx = k.dx;
  n.pad_top = k.pad_top;
  n.pad_left = k.pad_left;
  n.pad_bottom = k.pad_bottom;
  n.pad_right = k.pad_right;
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
  const std::int64_t h = semantics::output_extent(s[2], k.kh, k.sy, k.dy, k.pad_top, k.pad_bottom);
  const std::int64_t w = semantics::output_extent(s[3], k.kw, k.sx, k.dx, k.pad_left, k.pad_right);
  n.macs = s[0] * cout * h * w * cin_g * k.kh * k.kw;
  const int out = tensor("conv", s[0], cout, h, w);
  graph.nodes.back().output = out;
  return out;
}

int QBuilder::add(int a, int b) {
  QNode& n = node(QOp::add, "Add", {a, b});
  const semantics::AddScale s = semantics::quantize_add(0.6, 0.3 + random.unit(), 1.0);
  n.ma = s.ma;
  n.mb = s.mb;
  n.shift = s.shift;
  clamp(n);
  const Shape out = shape(a)[2] * shape(a)[3] >= shape(b)[2] * shape(b)[3] ? shape(a) : shape(b);
  graph.nodes.back().output = tensor("add", out[0], out[1], out[2], out[3]);
  return graph.nodes.back().output;
}

int QBuilder::mul(int a, int b) {
  QNode& n = node(QOp::mul, "Mul", {a, b});
  n.scales = {scale(0.02)};
  clamp(n);
  const Shape out = shape(a)[2] * shape(a)[3] >= shape(b)[2] * shape(b)[3] ? shape(a) : shape(b);
  graph.nodes.back().output = tensor("mul", out[0], out[1], out[2], out[3]);
  return graph.nodes.back().output;
}

int QBuilder::max_pool(int in, const Window& k) {
  const Shape s = shape(in);
  QNode& n = node(QOp::max_pool, "MaxPool", {in});
  n.kh = k.kh;
  n.kw = k.kw;
  n.sy = k.sy;
  n.sx = k.sx;
  n.dy = k.dy;
  n.dx = k.dx;
  n.pad_top = k.pad_top;
  n.pad_left = k.pad_left;
  n.pad_bottom = k.pad_bottom;
  n.pad_right = k.pad_right;
  const int out = tensor("pool", s[0], s[1], semantics::output_extent(s[2], k.kh, k.sy, k.dy, k.pad_top, k.pad_bottom),
                         semantics::output_extent(s[3], k.kw, k.sx, k.dx, k.pad_left, k.pad_right));
  graph.tensors.back().zero_point = graph.tensors[static_cast<std::size_t>(in)].zero_point;
  graph.nodes.back().output = out;
  return out;
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
  const Shape s = shape(in);
  graph.nodes.back().output = tensor("requantize", s[0], s[1], s[2], s[3]);
  return graph.nodes.back().output;
}

int QBuilder::table(int in) {
  QNode& n = node(QOp::table, "Sigmoid", {in});
  for (int i = 0; i < 256; ++i) n.table.push_back(static_cast<std::int8_t>(random.between(-128, 127)));
  const Shape s = shape(in);
  graph.nodes.back().output = tensor("table", s[0], s[1], s[2], s[3]);
  return graph.nodes.back().output;
}

int QBuilder::concat(const std::vector<int>& parts) {
  node(QOp::concat, "Concat", parts);
  const Shape s = shape(parts[0]);
  std::int64_t channels = 0;
  for (const int p : parts) channels += shape(p)[1];
  graph.nodes.back().output = tensor("concat", s[0], channels, s[2], s[3]);
  // One scale: the makers of the parts take the zero point of the last one.
  const std::int32_t zero_point = graph.tensors[static_cast<std::size_t>(parts.back())].zero_point;
  for (const int p : parts) graph.tensors[static_cast<std::size_t>(p)].zero_point = zero_point;
  graph.tensors.back().zero_point = zero_point;
  return graph.nodes.back().output;
}

int QBuilder::view(int in, std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) {
  node(QOp::view, "Reshape", {in});
  const int out = tensor("view", n, c, h, w);
  graph.tensors.back().zero_point = graph.tensors[static_cast<std::size_t>(in)].zero_point;
  graph.nodes.back().output = out;
  return out;
}

int QBuilder::softmax_on_host(int in) {
  QNode& n = node(QOp::host, "Softmax", {in});
  n.attributes["axis"] = {1.0};
  const Shape s = shape(in);
  const int out = tensor("softmax", s[0], s[1], s[2], s[3]);
  graph.tensors.back().scale = 1.0 / 256.0;
  graph.tensors.back().zero_point = -128;
  graph.nodes.back().output = out;
  return out;
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
