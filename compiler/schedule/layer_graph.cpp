#include "compiler/schedule/layer_graph.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "compiler/schedule/move_nest.hpp"
#include "compiler/schedule/patches.hpp"
#include "hw/common/error.hpp"
#include "hw/common/units.hpp"

namespace tessera::compiler {
namespace {

constexpr std::int64_t kLargestKernel = 255;
constexpr std::int64_t kRow = 16;        // bytes from which on a row is worth a DRAM access of its own
constexpr std::int64_t kPatchShare = 4;  // patches take at most this part of the SRAM
constexpr std::int64_t kLongRow = 64;    // pixels of a row where a map channels last may choose

MapShape map_shape(const QTensor& t) {
  TESSERA_CHECK(t.shape.size() == 4, t.name, ": rank ", t.shape.size(), " in the quantised graph");
  return {t.shape[0], t.shape[1], t.shape[2], t.shape[3]};
}

class Builder {
 public:
  Builder(const QGraph& graph, const isa::ChipConfig& chip, const std::set<std::string>& through_dram)
      : graph_(graph), chip_(chip), through_dram_(through_dram) {
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

  LayerGraph build() {
    for (const int t : graph_.inputs) add_image(t, t, isa::BufferKind::input);
    // Host steps write a graph output where it lies; everything else gets its output images from its layer.
    for (const int t : graph_.outputs) output_image(t);
    for (const QNode& node : graph_.nodes) add(node);
    for (const auto& [tensor, source] : late_copies_) copy_through(tensor, source);
    finish();
    return std::move(out_);
  }

 private:
  static std::size_t index(int tensor) { return static_cast<std::size_t>(tensor); }
  Value& value(int tensor) { return out_.values[index(tensor)]; }
  const std::string& name(int tensor) const { return graph_.tensors[index(tensor)].name; }

  int add_image(int base, int tensor, isa::BufferKind kind) {
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

  /// True when no layer writes the tensor: a graph input, a constant or a host step's output.
  bool imported(int base) const {
    const int p = producer_[index(base)];
    if (p < 0) return true;
    const QOp op = graph_.nodes[static_cast<std::size_t>(p)].op;
    return op == QOp::host || op == QOp::constant;
  }

  void output_image(int tensor) {
    const int base = base_[index(tensor)];
    const int producer = producer_[index(base)];
    const bool host = producer >= 0 && graph_.nodes[static_cast<std::size_t>(producer)].op == QOp::host;
    if (imported(base) && (!host || !value(base).dram.empty())) {
      late_copies_.emplace_back(tensor, base);  // input straight to output, or a second output of one host step
    } else {
      add_image(base, tensor, isa::BufferKind::output);
    }
  }

  /// The tensor's elements in DRAM in ONNX's order, made on demand.
  int image_of(int tensor) {
    const int base = base_[index(tensor)];
    if (value(base).dram.empty()) {
      add_image(base, base, isa::BufferKind::scratch);
      const auto seen = only_seen_.find(base);
      if (seen != only_seen_.end()) add_stream(*seen->second);
    }
    return value(base).dram.front();
  }
  int linear_image_of(int tensor) {
    const int image = image_of(tensor);
    out_.images[static_cast<std::size_t>(image)].linear = true;
    return image;
  }

  int new_root(const MapShape& shape, const std::string& root_name) {
    Root root;
    root.shape = shape;
    root.name = root_name;
    out_.roots.push_back(root);
    return static_cast<int>(out_.roots.size()) - 1;
  }
  int imported_root(const MapShape& shape, int tensor, bool channels_last) {
    const int image = image_of(tensor);
    const int root = new_root(shape, name(tensor));
    out_.roots[static_cast<std::size_t>(root)].imported = true;
    out_.roots[static_cast<std::size_t>(root)].image = image;
    out_.roots[static_cast<std::size_t>(root)].channels_last = channels_last;
    return root;
  }
  /// Some layer writes the value's map.
  bool made(int v) { return value(v).root >= 0 && !out_.roots[static_cast<std::size_t>(value(v).root)].imported; }

  /// The value whose blocked map a reader of `tensor` reads: itself, or the one it is a view of.
  int blocked(int tensor) {
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

  /// The map of the tensor, of whatever shape, that some layer writes; -1: none.
  int made_map(int tensor) {
    const int base = base_[index(tensor)];
    if (made(base)) return base;
    const auto other = shaped_.find(base);
    return other != shaped_.end() && made(other->second) ? other->second : -1;
  }

  Layer& add_layer(LayerKind kind, const QNode& node) {
    out_.layers.emplace_back();
    Layer& layer = out_.layers.back();
    layer.kind = kind;
    layer.node = &node;
    return layer;
  }

  void give_root(Layer& layer, int tensor) {
    value(tensor).root = new_root(value(tensor).shape, name(tensor));
    layer.output = tensor;
    layer.output_root = value(tensor).root;
    layer.out = value(tensor).shape;
  }

  void add(const QNode& node) {
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

  static void set_window(Layer& layer, const QNode& node) {
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

  /// A 1x1 convolution on a flattened map is one with a kernel of the map's size: OIHW weights are the same bytes.
  bool flattened(const QNode& node, const MapShape& map, const MapShape& seen) const {
    const std::int64_t ci = chip_.conv.cin_lanes;
    return node.kh == 1 && node.kw == 1 && node.groups == 1 && seen.h == 1 && seen.w == 1 && node.sy == 1 &&
           node.sx == 1 && node.pad_top == 0 && node.pad_left == 0 && node.pad_bottom == 0 && node.pad_right == 0 &&
           seen.n == map.n && seen.c == map.c * map.h * map.w && map.h <= kLargestKernel && map.w <= kLargestKernel &&
           map.h * round_up(map.w, chip_.sram.line_bytes / chip_.layout.channel_block) * ci <= chip_.conv.window_bytes;
  }

  void add_conv(const QNode& node) {
    const int tensor = node.inputs[0];
    const int base = base_[index(tensor)];
    const MapShape seen = value(tensor).shape;
    const MapShape map = value(base).shape;
    const bool flat = !(map == seen) && flattened(node, map, seen);
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

  /// A kernel whose window is too large for the engine: REORDER lays the taps of each channel side by side as channels
  /// (padding is the fill), and 1x1 convolutions reduce them. By ranges of groups, so that patches stay small.
  void add_patches(const QNode& node, int read) {
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

  /// Readers of a tensor: nodes, graph outputs.
  [[nodiscard]] int readers(int tensor) const {
    int count = 0;
    for (const QNode& node : graph_.nodes) {
      count += static_cast<int>(std::count(node.inputs.begin(), node.inputs.end(), tensor));
    }
    return count + static_cast<int>(std::count(graph_.outputs.begin(), graph_.outputs.end(), tensor));
  }

  /// The layer of the convolution that makes `tensor` for this Add alone and may add `other` in its drain; -1: none.
  int drain_of(int tensor, int other) {
    if (base_[index(tensor)] != tensor || !(value(tensor).shape == value(other).shape) || readers(tensor) != 1)
      return -1;
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

  /// An Add behind a convolution that nobody else reads is done in that convolution's drain.
  bool add_in_drain(const QNode& node) {
    if (node.op != QOp::add) return false;
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

  void add_edp(const QNode& node) {
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
          user_error(node.name, ": ", node.onnx_op, " of maps ",
                     shape_text(graph_.tensors[index(node.inputs[0])].shape), " and ",
                     shape_text(graph_.tensors[index(node.inputs[1])].shape),
                     " is not supported: legal are equal shapes or one value a channel (N x C x 1 x 1)");
        }
      }
    }
    layer.in = value(layer.inputs[0]).shape;
    give_root(layer, node.output);
  }

  void add_concat(const QNode& node) {
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
      if (twice || !place_in(part, root, offset)) {
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

  /// Lets the layers that make `part` write straight into `root` at channel `offset`.
  bool place_in(int part, int root, std::int64_t offset) {
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

  void add_host(const QNode& node) {
    for (const int t : node.inputs) out_.images[static_cast<std::size_t>(image_of(t))].host = true;
    Layer& layer = add_layer(LayerKind::host, node);
    for (const int t : node.inputs) layer.inputs.push_back(base_[index(t)]);
    layer.output = node.output;
    layer.out = value(node.output).shape;
    out_.images[static_cast<std::size_t>(image_of(node.output))].host = true;
  }

  /// A graph output that no layer makes: read it and write it out again.
  void copy_through(int tensor, int source) {
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

  // ---- channels last ---------------------------------------------------------------------------------------------

  /// The map of the tensor with its innermost k elements as channels: the pixels in rows as its axes lie, or in one
  /// row.
  MapShape last_shape(int tensor, std::int64_t k) {
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

  int add_last(int base, const MapShape& shape, int root) {
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

  /// Its channels-last map that some layer writes; -1: none.
  int made_last(int tensor) {
    for (const int v : last_[base_[index(tensor)]]) {
      if (made(v)) return v;
    }
    return -1;
  }

  int last_of_shape(int tensor, const MapShape& shape) {
    const int base = base_[index(tensor)];
    for (const int v : last_[base]) {
      if (value(v).shape == shape) return v;
    }
    return add_last(base, shape, imported_root(shape, base, true));
  }
  int last_of(int tensor, std::int64_t k) {
    for (const int v : last_[base_[index(tensor)]]) {
      if (value(v).shape.c == k) return v;
    }
    return last_of_shape(tensor, last_shape(tensor, k));
  }

  /// Channels of the channels-last map on which an elementwise node runs; 0: it runs on NCHW maps. Tokens stay as a
  /// product made them.
  std::int64_t wanted_channels_last(const QNode& node) {
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

  void add_edp_last(const QNode& node, std::int64_t k) {
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

  void add_matmul(const QNode& node) {
    const bool constant = node.inputs.size() == 1;
    if (constant && !node.shared_a) {
      if (!node.trans_a) return add_linear(node, last_of(node.inputs[0], node.k));
      const MapShape seen = value(node.inputs[0]).shape;
      if (node.batch == 1 && seen.n == 1 && seen.c == node.k) return add_linear(node, blocked(node.inputs[0]));
    }
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

  /// The operand in the first image that is there, or worth making: moves in front of it become LOAD's addresses, a
  /// transposition the operand's other order. Adds the image.
  ImageMatrix matrix_of(int tensor, std::int64_t batch, std::int64_t rows, std::int64_t columns, bool shared,
                        bool& trans, std::vector<int>& images) {
    int base = base_[index(tensor)];
    LinearNest nest;
    nest.loops = {{{shared ? 1 : batch, rows * columns}}, {{rows, columns}}, {{columns, 1}}};
    const auto stride = [&](std::size_t loop) -> std::int64_t {
      return nest.loops[loop].empty() ? 1 : nest.loops[loop].front().stride;
    };
    while (value(base).dram.empty() && only_seen_.count(base) != 0) {
      const QNode& move = *only_seen_[base];
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

  /// Everybody who reads the tensor is a product of activations, or another move that only those read.
  [[nodiscard]] bool read_by_products(int tensor) const {
    const auto& readers = readers_of_[index(tensor)];
    return !readers.empty() && std::all_of(readers.begin(), readers.end(), [&](const QNode* node) {
      if (node->op == QOp::matmul) return node->inputs.size() == 2;
      return (node->op == QOp::view || node->op == QOp::move) && node->inputs.size() == 1 &&
             read_by_products(node->output);
    });
  }

  /// A product with constant weights: a 1x1 convolution on a map whose channels are the reduction.
  void add_linear(const QNode& node, int map) {
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

  void add_constant(const QNode& node) {
    Image image;
    image.tensor = node.output;
    image.kind = isa::BufferKind::weights;
    image.bytes = value(node.output).shape.elements();
    image.constant = &node;
    out_.images.push_back(image);
    value(node.output).dram.insert(value(node.output).dram.begin(), static_cast<int>(out_.images.size()) - 1);
  }

  // ---- moves -------------------------------------------------------------------------------------------------------

  /// The view of `tensor` (or itself) that a layer on NCHW maps reads; -1: none does.
  int read_as_map(int tensor) const {
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

  void add_move(const QNode& node) {
    if (value(node.output).dram.empty() && node.pieces.size() == 1 && read_by_products(node.output)) {
      only_seen_[node.output] = &node;
      return;
    }
    if (seen_transposed(node) || seen_as_channels(node) || add_reorder(node)) return;
    if (value(node.output).dram.empty()) add_image(node.output, node.output, isa::BufferKind::scratch);
    add_stream(node);
  }

  void add_stream(const QNode& node) {
    std::vector<int> images;
    for (const int t : node.inputs) images.push_back(linear_image_of(t));
    Layer& layer = add_layer(LayerKind::stream, node);
    layer.images = images;
    layer.output = node.output;
    layer.out = value(node.output).shape;
  }

  /// [rows][columns] -> [columns][rows]: the same map, its pixels and channels in the other order of significance.
  bool seen_transposed(const QNode& node) {
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

  /// `reader` is the view of `out` that has its map.
  void see_as(int out, int reader) {
    if (reader == out) return;
    shaped_[out] = reader;
    value(reader).images_of = out;
  }

  /// Whole channels from a block's start on are a part of the input's map.
  bool seen_as_channels(const QNode& node) {
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

  bool add_reorder(const QNode& node) {
    int reader = read_as_map(node.output);
    if (chip_.cores > 1 || through_dram_.count(node.name) != 0) return false;
    if (reader < 0) {  // wanted in DRAM alone: rows that are long enough go there by LOAD and STORE
      const auto rows = [](const QMove& p) {
        return p.src_stride[5] == 1 && p.dst_stride[5] == 1 && p.count[5] >= kRow;
      };
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

  /// A Concat of tensors that no layer has as NCHW maps.
  void concat_images(const QNode& node) {
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

  void finish() {
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

  const QGraph& graph_;
  const isa::ChipConfig& chip_;
  const std::set<std::string>& through_dram_;
  LayerGraph out_;
  std::vector<int> base_;      // of a view: the tensor whose NCHW bytes it shows; else itself
  std::vector<int> producer_;  // node, -1: graph input
  std::vector<std::vector<const QNode*>> readers_of_;
  std::vector<std::pair<int, int>> late_copies_;
  std::map<int, int> placed_;             // roots that became part of another
  std::map<int, int> shaped_;             // tensor -> the view of it that has its map
  std::map<int, std::vector<int>> last_;  // tensor -> its maps channels last
  // Moves whose output is another way to read their input; an image of it needs a layer when somebody wants one.
  std::map<int, const QNode*> only_seen_;
};

}  // namespace

LayerGraph build_layers(const QGraph& graph, const isa::ChipConfig& chip, const std::set<std::string>& through_dram) {
  return Builder(graph, chip, through_dram).build();
}

}  // namespace tessera::compiler
