#include "compiler/schedule/layer_graph.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "hw/common/error.hpp"
#include "hw/common/units.hpp"

namespace tessera::compiler {
namespace {

constexpr std::int64_t kLargestKernel = 255;

MapShape map_shape(const QTensor& t) {
  TESSERA_CHECK(t.shape.size() == 4, t.name, ": rank ", t.shape.size(), " in the quantised graph");
  return {t.shape[0], t.shape[1], t.shape[2], t.shape[3]};
}

class Builder {
 public:
  Builder(const QGraph& graph, const isa::ChipConfig& chip) : graph_(graph), chip_(chip) {
    out_.graph = &graph;
    out_.values.resize(graph.tensors.size());
    base_.resize(graph.tensors.size());
    producer_.resize(graph.tensors.size(), -1);
    for (std::size_t t = 0; t < graph.tensors.size(); ++t) {
      out_.values[t].shape = map_shape(graph.tensors[t]);
      base_[t] = static_cast<int>(t);
    }
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const QNode& node = graph.nodes[i];
      producer_[index(node.output)] = static_cast<int>(i);
      if (node.op == QOp::view) base_[index(node.output)] = base_[index(node.inputs[0])];
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
    image.bytes = value(tensor).shape.elements();
    out_.images.push_back(image);
    const int id = static_cast<int>(out_.images.size()) - 1;
    value(base).dram.push_back(id);
    return id;
  }

  /// True when no layer writes the tensor: a graph input or a host step's output.
  bool imported(int base) const {
    const int p = producer_[index(base)];
    return p < 0 || graph_.nodes[static_cast<std::size_t>(p)].op == QOp::host;
  }

  void output_image(int tensor) {
    const int base = base_[index(tensor)];
    if (imported(base) && (producer_[index(base)] < 0 || !value(base).dram.empty())) {
      late_copies_.emplace_back(tensor, base);  // input straight to output, or a second output of one host step
    } else {
      add_image(base, tensor, isa::BufferKind::output);
    }
  }

  /// The tensor's values in DRAM in NCHW order, made on demand.
  int image_of(int tensor) {
    const int base = base_[index(tensor)];
    if (value(base).dram.empty()) add_image(base, base, isa::BufferKind::scratch);
    return value(base).dram.front();
  }

  int new_root(const MapShape& shape, const std::string& root_name) {
    Root root;
    root.shape = shape;
    root.name = root_name;
    out_.roots.push_back(root);
    return static_cast<int>(out_.roots.size()) - 1;
  }

  /// The tensor whose blocked map a reader of `tensor` reads: itself, or the one it is a view of.
  int blocked(int tensor) {
    const int base = base_[index(tensor)];
    if (!imported(base) && value(base).shape == value(tensor).shape) return base;
    const int reader = value(base).shape == value(tensor).shape ? base : tensor;
    if (value(reader).root < 0) {
      const int image = image_of(reader);
      const int root = new_root(value(reader).shape, name(reader));
      out_.roots[static_cast<std::size_t>(root)].imported = true;
      out_.roots[static_cast<std::size_t>(root)].image = image;
      value(reader).root = root;
    }
    return reader;
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
      case QOp::host:
        return add_host(node);
      default:
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
    Layer& layer = add_layer(LayerKind::conv, node);
    set_window(layer, node);
    int read = tensor;
    if (!(map == seen) && flattened(node, map, seen)) {
      layer.kh = map.h;
      layer.kw = map.w;
      read = base;
    }
    read = blocked(read);
    layer.inputs = {read};
    layer.in = value(read).shape;
    give_root(layer, node.output);
    const bool depthwise = node.groups > 1 && layer.in.c == node.groups && layer.out.c == node.groups;
    layer.mode = depthwise ? isa::ConvMode::depthwise : isa::ConvMode::dense;
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
    int made = -1, other_made = -1;
    for (std::size_t i = 0; i < out_.layers.size(); ++i) {
      const Layer& layer = out_.layers[i];
      if (layer.output == tensor) made = static_cast<int>(i);
      if (layer.kind != LayerKind::host && layer.output_root == value(blocked(other)).root)
        other_made = static_cast<int>(i);
      if (layer.kind == LayerKind::host && layer.output == base_[index(other)]) other_made = static_cast<int>(i);
    }
    if (made < 0 || other_made >= made) return -1;  // the other operand must be there when the convolution drains
    const Layer& layer = out_.layers[static_cast<std::size_t>(made)];
    const bool free =
        layer.kind == LayerKind::conv && layer.residual == nullptr && layer.node->lo == -128 && layer.node->hi == 127;
    return free ? made : -1;
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
    if (add_in_drain(node)) return;
    Layer& layer = add_layer(LayerKind::edp, node);
    set_window(layer, node);
    for (const int t : node.inputs) layer.inputs.push_back(blocked(t));
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
    const int root = new_root(value(out).shape, name(out));
    value(out).root = root;
    std::int64_t offset = 0;
    for (const int t : node.inputs) {
      const int part = blocked(t);
      const std::int64_t channels = value(part).shape.c;
      if (!place_in(part, root, offset)) {
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
    Layer& layer = add_layer(LayerKind::host, node);
    for (const int t : node.inputs) {
      out_.images[static_cast<std::size_t>(image_of(t))].host = true;
      layer.inputs.push_back(base_[index(t)]);
    }
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

  void finish() {
    for (std::size_t i = 0; i < out_.layers.size(); ++i) {
      const Layer& layer = out_.layers[i];
      const int id = static_cast<int>(i);
      const auto use = [&](int root) {
        Root& r = out_.roots[static_cast<std::size_t>(root)];
        if (r.first_layer < 0) r.first_layer = id;
        r.last_layer = std::max(r.last_layer, id);
      };
      if (layer.kind == LayerKind::host) continue;
      for (const int t : layer.inputs) {
        use(value(t).root);
        out_.roots[static_cast<std::size_t>(value(t).root)].read = true;
      }
      use(layer.output_root);
    }
  }

  const QGraph& graph_;
  const isa::ChipConfig& chip_;
  LayerGraph out_;
  std::vector<int> base_;      // of a view: the tensor whose NCHW bytes it shows; else itself
  std::vector<int> producer_;  // node, -1: graph input
  std::vector<std::pair<int, int>> late_copies_;
  std::map<int, int> placed_;  // roots that became part of another
};

}  // namespace

LayerGraph build_layers(const QGraph& graph, const isa::ChipConfig& chip) { return Builder(graph, chip).build(); }

}  // namespace tessera::compiler
