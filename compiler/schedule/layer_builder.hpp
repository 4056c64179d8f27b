// Turns the quantised graph into layers node by node (layer_graph.hpp). Internal to the room: layer_graph.cpp holds
// what values are and the layers on maps, layer_moves.cpp moves, products and maps that lie channels last.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/schedule/layer_graph.hpp"

namespace tessera::compiler {

class LayerBuilder {
 public:
  LayerBuilder(const QGraph& graph, const isa::ChipConfig& chip, const LayerDetours& detours);
  LayerGraph build();

 private:
  static std::size_t index(int tensor) { return static_cast<std::size_t>(tensor); }
  Value& value(int tensor) { return out_.values[index(tensor)]; }
  const std::string& name(int tensor) const { return graph_.tensors[index(tensor)].name; }
  int add_image(int base, int tensor, isa::BufferKind kind);

  /// True when no layer writes the tensor: a graph input, a constant or a host step's output.
  bool imported(int base) const;
  void output_image(int tensor);

  /// The tensor's elements in DRAM in ONNX's order, made on demand.
  int image_of(int tensor);
  int linear_image_of(int tensor);
  int new_root(const MapShape& shape, const std::string& root_name);
  int imported_root(const MapShape& shape, int tensor, bool channels_last);

  /// Some layer writes the value's map.
  bool made(int v) { return value(v).root >= 0 && !out_.roots[static_cast<std::size_t>(value(v).root)].imported; }

  /// The value whose blocked map a reader of `tensor` reads: itself, or the one it is a view of.
  int blocked(int tensor);

  /// The map of the tensor, of whatever shape, that some layer writes; -1: none.
  int made_map(int tensor);
  Layer& add_layer(LayerKind kind, const QNode& node);
  void give_root(Layer& layer, int tensor);
  void add(const QNode& node);
  static void set_window(Layer& layer, const QNode& node);

  /// A 1x1 convolution on a flattened map is one with a kernel of the map's size: OIHW weights are the same bytes.
  bool flattened(const QNode& node, const MapShape& map, const MapShape& seen) const;
  void add_conv(const QNode& node);

  /// A kernel whose window is too large for the engine: REORDER lays the taps of each channel side by side as channels
  /// (padding is the fill), and 1x1 convolutions reduce them. By ranges of groups, so that patches stay small.
  void add_patches(const QNode& node, int read);

  /// Readers of a tensor: nodes, graph outputs.
  [[nodiscard]] int readers(int tensor) const;

  /// The layer of the convolution that makes `tensor` for this Add alone and may add `other` in its drain; -1: none.
  int drain_of(int tensor, int other);

  /// An Add behind a convolution that nobody else reads is done in that convolution's drain.
  bool add_in_drain(const QNode& node);
  void add_edp(const QNode& node);
  void add_concat(const QNode& node);

  /// Lets the layers that make `part` write straight into `root` at channel `offset`.
  bool place_in(int part, int root, std::int64_t offset);
  void add_host(const QNode& node);

  /// A graph output that no layer makes: read it and write it out again.
  void copy_through(int tensor, int source);

  /// The map of the tensor with its innermost k elements as channels: the pixels in rows as its axes lie, or in one
  /// row.
  MapShape last_shape(int tensor, std::int64_t k);
  int add_last(int base, const MapShape& shape, int root);

  /// Its channels-last map that some layer writes; -1: none.
  int made_last(int tensor);
  int last_of_shape(int tensor, const MapShape& shape);
  int last_of(int tensor, std::int64_t k);

  /// Channels of the channels-last map on which an elementwise node runs; 0: it runs on NCHW maps. Tokens stay as a
  /// product made them.
  std::int64_t wanted_channels_last(const QNode& node);
  void add_edp_last(const QNode& node, std::int64_t k);
  void add_matmul(const QNode& node);
  void add_product(const QNode& node);

  /// A fully connected layer as a product on the GEMM unit, whose tiles may have few columns.
  void add_on_gemm(const QNode& node);

  /// The operand in the first image that is there, or worth making: moves in front of it become LOAD's addresses, a
  /// transposition the operand's other order. Adds the image.
  ImageMatrix matrix_of(int tensor, std::int64_t batch, std::int64_t rows, std::int64_t columns, bool shared,
                        bool& trans, std::vector<int>& images);

  /// Everybody who reads the tensor is a product of activations, or another move that only those read.
  [[nodiscard]] bool read_by_products(int tensor) const;

  /// A product with constant weights: a 1x1 convolution on a map whose channels are the reduction.
  void add_linear(const QNode& node, int map);
  void add_constant(const QNode& node);

  /// The view of `tensor` (or itself) that a layer on NCHW maps reads; -1: none does.
  int read_as_map(int tensor) const;
  void add_move(const QNode& node);
  void add_stream(const QNode& node);

  /// [rows][columns] -> [columns][rows]: the same map, its pixels and channels in the other order of significance.
  bool seen_transposed(const QNode& node);

  /// `reader` is the view of `out` that has its map.
  void see_as(int out, int reader);

  /// Whole channels from a block's start on are a part of the input's map.
  bool seen_as_channels(const QNode& node);
  bool add_reorder(const QNode& node);

  /// A Concat of tensors that no layer has as NCHW maps.
  void concat_images(const QNode& node);
  void finish();

  const QGraph& graph_;
  const isa::ChipConfig& chip_;
  const LayerDetours& detours_;
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

}  // namespace tessera::compiler
