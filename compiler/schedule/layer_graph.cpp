#include "compiler/schedule/layer_graph.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "compiler/schedule/layer_builder.hpp"
#include "compiler/schedule/patches.hpp"
#include "hw/common/error.hpp"
#include "hw/common/units.hpp"

namespace tessera::compiler {
namespace {

constexpr std::int64_t kLargestKernel = 255;
constexpr std::int64_t kPatchShare = 4;  // patches take at most this part of the SRAM

MapShape map_shape(const QTensor& t) {
  TESSERA_CHECK(t.shape.size() == 4, t.name, ": rank ", t.shape.size(), " in the quantised graph");
  return {t.shape[0], t.shape[1], t.shape[2], t.shape[3]};
}

}  // namespace

LayerBuilder::LayerBuilder(const QGraph& graph, const isa::ChipConfig& chip, const LayerDetours& detours)
    : graph_(graph), chip_(chip), detours_(detours) {
  out_.graph = &graph;
  out_.values.resize(graph.tensors.size());
  base_.resize(graph.tensors.size());
  producer_.resize(graph.tensors.size(), -1);
  readers_of_.resize(graph.tensors.size());
  for (std::size_t t = 0; t < graph.tensors.size(); ++t) {
    out_.values[t].tensor = static_cast<int>(t);
    out_.values[t].shape = map_shape(graph.tensors[t]);
    base_[t] = static_cast<int>(t);
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const QNode& node = graph.nodes[i];
    producer_[index(node.output)] = static_cast<int>(i);
    if (node.op == QOp::view) base_[index(node.output)] = base_[index(node.inputs[0])];
    for (const int t : node.inputs) readers_of_[index(t)].push_back(&node);
  }
}

LayerGraph LayerBuilder::build() {
  for (const int t : graph_.inputs) add_image(t, t, isa::BufferKind::input);
  // Host steps write a graph output where it lies; everything else gets its output images from its layer.
  for (const int t : graph_.outputs) output_image(t);
  for (const QNode& node : graph_.nodes) add(node);
  for (const auto& [tensor, source] : late_copies_) copy_through(tensor, source);
  finish();
  return std::move(out_);
}

int LayerBuilder::add_image(int base, int tensor, isa::BufferKind kind) {
  Image image;
  image.tensor = tensor;
  image.kind = kind;
  const auto element = static_cast<std::int64_t>(dtype_size(graph_.tensors[index(tensor)].dtype));
  image.bytes = value(tensor).shape.elements() * element;
  out_.images.push_back(image);
  const int id = static_cast<int>(out_.images.size()) - 1;
  value(base).dram.push_back(id);
  return id;
}

bool LayerBuilder::imported(int base) const {
  const int p = producer_[index(base)];
  if (p < 0) return true;
  const QOp op = graph_.nodes[static_cast<std::size_t>(p)].op;
  return op == QOp::host || op == QOp::constant;
}

void LayerBuilder::output_image(int tensor) {
  const int base = base_[index(tensor)];
  const int producer = producer_[index(base)];
  const bool host = producer >= 0 && graph_.nodes[static_cast<std::size_t>(producer)].op == QOp::host;
  if (imported(base) && (!host || !value(base).dram.empty())) {
    late_copies_.emplace_back(tensor, base);  // input straight to output, or a second output of one host step
  } else {
    add_image(base, tensor, isa::BufferKind::output);
  }
}

int LayerBuilder::image_of(int tensor) {
  const int base = base_[index(tensor)];
  if (value(base).dram.empty()) {
    add_image(base, base, isa::BufferKind::scratch);
    const auto seen = only_seen_.find(base);
    if (seen != only_seen_.end()) add_stream(*seen->second);
  }
  return value(base).dram.front();
}

int LayerBuilder::linear_image_of(int tensor) {
  const int image = image_of(tensor);
  out_.images[static_cast<std::size_t>(image)].linear = true;
  return image;
}

int LayerBuilder::new_root(const MapShape& shape, const std::string& root_name) {
  Root root;
  root.shape = shape;
  root.name = root_name;
  out_.roots.push_back(root);
  return static_cast<int>(out_.roots.size()) - 1;
}

int LayerBuilder::imported_root(const MapShape& shape, int tensor, bool channels_last) {
  const int image = image_of(tensor);
  const int root = new_root(shape, name(tensor));
  out_.roots[static_cast<std::size_t>(root)].imported = true;
  out_.roots[static_cast<std::size_t>(root)].image = image;
  out_.roots[static_cast<std::size_t>(root)].channels_last = channels_last;
  return root;
}

int LayerBuilder::blocked(int tensor) {
  const int base = base_[index(tensor)];
  const MapShape shape = value(tensor).shape;
  for (const int v : {base, tensor}) {
    if (value(v).root >= 0 && value(v).shape == shape) return v;
  }
  const auto other = shaped_.find(base);
  if (other != shaped_.end() && value(other->second).shape == shape) return other->second;
  const int reader = value(base).shape == shape ? base : tensor;
  value(reader).root = imported_root(shape, reader, false);
  return reader;
}

int LayerBuilder::made_map(int tensor) {
  const int base = base_[index(tensor)];
  if (made(base)) return base;
  const auto other = shaped_.find(base);
  return other != shaped_.end() && made(other->second) ? other->second : -1;
}

Layer& LayerBuilder::add_layer(LayerKind kind, const QNode& node) {
  out_.layers.emplace_back();
  Layer& layer = out_.layers.back();
  layer.kind = kind;
  layer.node = &node;
  return layer;
}

void LayerBuilder::give_root(Layer& layer, int tensor) {
  value(tensor).root = new_root(value(tensor).shape, name(tensor));
  layer.output = tensor;
  layer.output_root = value(tensor).root;
  layer.out = value(tensor).shape;
}

void LayerBuilder::add(const QNode& node) {
  switch (node.op) {
    case QOp::conv:
      return add_conv(node);
    case QOp::view:
      return;
    case QOp::concat:
      return add_concat(node);
    case QOp::move:
      return add_move(node);
    case QOp::matmul:
      return add_matmul(node);
    case QOp::constant:
      return add_constant(node);
    case QOp::host:
      return add_host(node);
    case QOp::add:
    case QOp::mul:
    case QOp::max_pool:
    case QOp::average_pool:
    case QOp::requantize:
    case QOp::table:
      return add_edp(node);
  }
}

void LayerBuilder::set_window(Layer& layer, const QNode& node) {
  layer.kh = node.kh;
  layer.kw = node.kw;
  layer.sy = node.sy;
  layer.sx = node.sx;
  layer.dy = node.dy;
  layer.dx = node.dx;
  layer.pad_top = node.pad_top;
  layer.pad_left = node.pad_left;
  layer.pad_bottom = node.pad_bottom;
  layer.pad_right = node.pad_right;
}

bool LayerBuilder::flattened(const QNode& node, const MapShape& map, const MapShape& seen) const {
  const std::int64_t ci = chip_.conv.cin_lanes;
  return node.kh == 1 && node.kw == 1 && node.groups == 1 && seen.h == 1 && seen.w == 1 && node.sy == 1 &&
         node.sx == 1 && node.pad_top == 0 && node.pad_left == 0 && node.pad_bottom == 0 && node.pad_right == 0 &&
         seen.n == map.n && seen.c == map.c * map.h * map.w && map.h <= kLargestKernel && map.w <= kLargestKernel &&
         map.h * round_up(map.w, chip_.sram.line_bytes / chip_.layout.channel_block) * ci <= chip_.conv.window_bytes;
}

void LayerBuilder::add_conv(const QNode& node) {
  const int tensor = node.inputs[0];
  const int base = base_[index(tensor)];
  const MapShape seen = value(tensor).shape;
  const MapShape map = value(base).shape;
  const bool flat = !node.apart && !(map == seen) && flattened(node, map, seen);
  if (detours_.on_gemm.count(node.name) != 0) return add_on_gemm(node);
  const int read = blocked(flat ? base : tensor);
  if (!flat && chip_.cores == 1 && !window_fits(node, value(read).shape, value(node.output).shape, chip_)) {
    return add_patches(node, read);
  }
  Layer& layer = add_layer(LayerKind::conv, node);
  set_window(layer, node);
  if (flat) {
    layer.kh = map.h;
    layer.kw = map.w;
  }
  layer.inputs = {read};
  layer.in = value(read).shape;
  give_root(layer, node.output);
  const bool depthwise = node.groups > 1 && layer.in.c == node.groups && layer.out.c == node.groups;
  layer.mode = depthwise ? isa::ConvMode::depthwise : isa::ConvMode::dense;
}

void LayerBuilder::add_patches(const QNode& node, int read) {
  const MapShape in = value(read).shape, out = value(node.output).shape;
  const std::int64_t taps = std::int64_t{node.kh} * node.kw;
  const std::int64_t cin_g = in.c / node.groups, cout_g = out.c / node.groups;
  const std::int64_t cb = chip_.layout.channel_block;
  // Groups of a part: both channel ranges start on a block.
  const std::int64_t granule = std::lcm(cb / std::gcd(cb, cin_g), cb / std::gcd(cb, cout_g));
  const std::int64_t group_bytes = cin_g * taps * out.h * round_up(out.w, chip_.sram.line_bytes / cb);
  const std::int64_t room = chip_.sram.banks * chip_.sram.size_bytes / kPatchShare;
  const std::int64_t part = std::max<std::int64_t>(granule, room / group_bytes / granule * granule);
  const int root = new_root(out, name(node.output));
  for (std::int64_t first = 0; first < node.groups; first += part) {
    const std::int64_t groups = std::min(part, node.groups - first);
    Value patches;
    patches.tensor = value(read).tensor;
    patches.shape = {out.n, groups * cin_g * taps, out.h, out.w};
    patches.root = new_root(patches.shape, node.name + " patches");
    out_.values.push_back(patches);
    const int map = static_cast<int>(out_.values.size()) - 1;
    out_.owned.push_back(patch_move(node, in, patches.shape, first * cin_g, groups * cin_g,
                                    graph_.tensors[index(patches.tensor)].zero_point));
    Layer& move = add_layer(LayerKind::move, out_.owned.back());
    move.inputs = {read};
    move.in = in;
    move.out = patches.shape;
    move.output = map;
    move.output_root = patches.root;
    move.only_reorder = true;
    out_.owned.push_back(reduce_patches(node, cin_g, cout_g, first, groups));
    Layer& layer = add_layer(LayerKind::conv, out_.owned.back());
    layer.inputs = {map};
    layer.in = patches.shape;
    layer.out = {out.n, groups * cout_g, out.h, out.w};
    layer.output = node.output;
    layer.output_root = root;
    layer.output_channel = first * cout_g;
  }
  value(node.output).root = root;
}

int LayerBuilder::readers(int tensor) const {
  int count = 0;
  for (const QNode& node : graph_.nodes) {
    count += static_cast<int>(std::count(node.inputs.begin(), node.inputs.end(), tensor));
  }
  return count + static_cast<int>(std::count(graph_.outputs.begin(), graph_.outputs.end(), tensor));
}

int LayerBuilder::drain_of(int tensor, int other) {
  if (base_[index(tensor)] != tensor || !(value(tensor).shape == value(other).shape) || readers(tensor) != 1) return -1;
  if (!made(tensor)) return -1;
  const int other_root = value(blocked(other)).root;
  int maker = -1, other_made = -1;
  for (std::size_t i = 0; i < out_.layers.size(); ++i) {
    const Layer& layer = out_.layers[i];
    if (layer.output == tensor) maker = static_cast<int>(i);
    if (!on_images(layer.kind) && layer.output_root == other_root) other_made = static_cast<int>(i);
    if (on_images(layer.kind) && layer.output == base_[index(other)]) other_made = static_cast<int>(i);
  }
  if (maker < 0 || other_made >= maker) return -1;  // the other operand must be there when the convolution drains
  const Layer& layer = out_.layers[static_cast<std::size_t>(maker)];
  const bool free = layer.kind == LayerKind::conv && layer.residual == nullptr && layer.out == value(tensor).shape &&
                    layer.node->lo == -128 && layer.node->hi == 127;
  return free ? maker : -1;
}

bool LayerBuilder::add_in_drain(const QNode& node) {
  if (node.op != QOp::add || node.apart) return false;
  const int first = drain_of(node.inputs[0], node.inputs[1]);
  const int second = drain_of(node.inputs[1], node.inputs[0]);
  const int made = std::max(first, second);
  if (made < 0) return false;
  const int other = made == first ? node.inputs[1] : node.inputs[0];
  const int read = blocked(other);
  Layer& layer = out_.layers[static_cast<std::size_t>(made)];
  layer.residual = &node;
  layer.swapped = made != first;
  layer.inputs.push_back(read);
  layer.output = node.output;
  value(node.output).root = layer.output_root;
  out_.roots[static_cast<std::size_t>(layer.output_root)].name = name(node.output);
  return true;
}

void LayerBuilder::add_edp(const QNode& node) {
  if (const std::int64_t k = wanted_channels_last(node); k > 0) return add_edp_last(node, k);
  if (add_in_drain(node)) return;
  std::vector<int> maps;
  for (const int t : node.inputs) maps.push_back(blocked(t));
  Layer& layer = add_layer(LayerKind::edp, node);
  set_window(layer, node);
  layer.inputs = maps;
  if (layer.inputs.size() == 2) {
    const MapShape a = value(layer.inputs[0]).shape;
    const MapShape b = value(layer.inputs[1]).shape;
    if (!(a == b)) {
      const MapShape out = value(node.output).shape;
      const auto channel_vector = [&](const MapShape& s) {
        return s.n == out.n && s.c == out.c && s.h == 1 && s.w == 1;
      };
      if (a == out && channel_vector(b)) {
        layer.b_broadcast = true;
      } else if (b == out && channel_vector(a)) {
        layer.b_broadcast = layer.swapped = true;
        std::swap(layer.inputs[0], layer.inputs[1]);
      } else {
        user_error(node.name, ": ", node.onnx_op, " of maps ", shape_text(graph_.tensors[index(node.inputs[0])].shape),
                   " and ", shape_text(graph_.tensors[index(node.inputs[1])].shape),
                   " is not supported: legal are equal shapes or one value a channel (N x C x 1 x 1)");
      }
    }
  }
  layer.in = value(layer.inputs[0]).shape;
  give_root(layer, node.output);
}

void LayerBuilder::add_concat(const QNode& node) {
  const int out = node.output;
  if (std::none_of(node.inputs.begin(), node.inputs.end(), [&](int t) { return made_map(t) >= 0; })) {
    return concat_images(node);
  }
  const int root = new_root(value(out).shape, name(out));
  value(out).root = root;
  std::int64_t offset = 0;
  std::vector<int> parts;
  for (const int t : node.inputs) parts.push_back(blocked(t));
  for (const int part : parts) {
    const std::int64_t channels = value(part).shape.c;
    // A map that gives two parts stays apart: a copy may not read the lines that it writes.
    const int source = value(part).root;
    const bool twice =
        std::count_if(parts.begin(), parts.end(), [&](int other) { return value(other).root == source; }) > 1;
    if (twice || node.apart || !place_in(part, root, offset)) {
      Layer& layer = add_layer(LayerKind::copy, node);
      layer.inputs = {part};
      layer.output = out;
      layer.output_root = root;
      layer.output_channel = offset;
      layer.in = layer.out = value(part).shape;
    }
    offset += channels;
  }
}

bool LayerBuilder::place_in(int part, int root, std::int64_t offset) {
  const int old = value(part).root;
  const Root& r = out_.roots[static_cast<std::size_t>(old)];
  const bool whole = value(part).first_channel == 0 && r.shape == value(part).shape;
  if (r.imported || !whole || offset % chip_.layout.channel_block != 0 || old == root || placed_.count(old) != 0)
    return false;
  for (Value& v : out_.values) {
    if (v.root == old) {
      v.root = root;
      v.first_channel += offset;
    }
  }
  for (Layer& layer : out_.layers) {
    if (layer.output_root == old) {
      layer.output_root = root;
      layer.output_channel += offset;
    }
  }
  placed_.emplace(old, root);
  return true;
}

void LayerBuilder::add_host(const QNode& node) {
  for (const int t : node.inputs) out_.images[static_cast<std::size_t>(image_of(t))].host = true;
  Layer& layer = add_layer(LayerKind::host, node);
  for (const int t : node.inputs) layer.inputs.push_back(base_[index(t)]);
  layer.output = node.output;
  layer.out = value(node.output).shape;
  out_.images[static_cast<std::size_t>(image_of(node.output))].host = true;
}

void LayerBuilder::copy_through(int tensor, int source) {
  const int read = blocked(source);
  static const QNode kCopy = [] {
    QNode node;
    node.op = QOp::requantize;
    node.onnx_op = "Identity";
    return node;
  }();
  Layer& layer = add_layer(LayerKind::copy, kCopy);
  layer.inputs = {read};
  layer.in = layer.out = value(read).shape;
  layer.output = tensor;
  layer.output_root = new_root(layer.out, name(tensor));
  // The new map carries the output's image; the tensor itself stays a view of its source for every other reader.
  Value copy;
  copy.tensor = tensor;
  copy.shape = layer.out;
  copy.root = layer.output_root;
  out_.values.push_back(copy);
  Image image;
  image.tensor = tensor;
  image.kind = isa::BufferKind::output;
  image.bytes = layer.out.elements();
  out_.images.push_back(image);
  out_.values.back().dram.push_back(static_cast<int>(out_.images.size()) - 1);
}

void LayerBuilder::finish() {
  for (std::size_t i = 0; i < out_.layers.size(); ++i) {
    const Layer& layer = out_.layers[i];
    const int id = static_cast<int>(i);
    const auto use = [&](int root) {
      Root& r = out_.roots[static_cast<std::size_t>(root)];
      if (r.first_layer < 0) r.first_layer = id;
      r.last_layer = std::max(r.last_layer, id);
    };
    if (on_images(layer.kind)) continue;
    for (const int t : layer.inputs) {
      use(value(t).root);
      out_.roots[static_cast<std::size_t>(value(t).root)].read = true;
    }
    use(layer.output_root);
  }
}

bool fully_connected(const Layer& layer) {
  return layer.kind == LayerKind::conv && layer.mode == isa::ConvMode::dense && layer.node->groups == 1 &&
         layer.residual == nullptr && !layer.node->apart && layer.kh == layer.in.h && layer.kw == layer.in.w &&
         layer.out.h == 1 && layer.out.w == 1 && layer.dy == 1 && layer.dx == 1 && layer.pad_top == 0 &&
         layer.pad_left == 0 && layer.pad_bottom == 0 && layer.pad_right == 0;
}

LayerGraph build_layers(const QGraph& graph, const isa::ChipConfig& chip, const LayerDetours& detours) {
  return LayerBuilder(graph, chip, detours).build();
}

}  // namespace tessera::compiler
