// The quantised graph as the machine will run it: one layer per instruction-producing node, and for every tensor where
// its values live. Decided here, before any tile or address: views cost nothing where NCHW order allows it (a Flatten
// in front of a fully connected layer becomes a convolution with a kernel of the map's size), Concat parts are written
// in place where they start on a channel block, and which tensors need a copy in DRAM in NCHW order. A matrix
// transposition is the same map seen channels last, a product with constant weights a 1x1 convolution on such a map.
// Leaves out: sizes against SRAM, tiles, addresses (scheduler.hpp).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/qgraph.hpp"
#include "compiler/schedule/placement.hpp"
#include "isa/chip.hpp"
#include "isa/isa.hpp"
#include "isa/program/program.hpp"

namespace tessera::compiler {

struct MapShape {
  std::int64_t n = 1, c = 1, h = 1, w = 1;
  [[nodiscard]] std::int64_t elements() const { return n * c * h * w; }
  [[nodiscard]] bool operator==(const MapShape& o) const { return n == o.n && c == o.c && h == o.h && w == o.w; }
};

/// A tensor of the quantised graph as a map: which blocked map holds it, and which images in DRAM. The first values
/// are the tensors themselves; those behind them are the same elements seen channels last (the innermost elements of
/// the tensor are the map's channels), or a graph output that is a copy.
struct Value {
  int tensor = -1;
  MapShape shape;
  bool channels_last = false;      // the map's linear order is pixel by pixel
  int root = -1;                   // blocked map it lies in
  std::int64_t first_channel = 0;  // of the root, a multiple of Cb
  int images_of = -1;              // the value whose images the root's layers store in this map's order; -1: its own
  std::vector<int> dram;           // indices into LayerGraph::images; [0] is the one that readers load
};

/// A blocked map: one tensor, or all parts of a Concat.
struct Root {
  MapShape shape;
  std::string name;
  bool imported = false;  // its values come from images (graph input, host step, view through DRAM), not from a layer
  int image = -1;         // imported: index into LayerGraph::images
  bool channels_last = false;    // imported: the image holds it pixel by pixel
  std::int64_t columns = 1;      // imported: neighbouring columns of the image that are channels (conv_modes.hpp)
  std::int64_t image_width = 0;  // imported, with columns as channels: the image's
  int first_layer = -1;          // layer that writes it first (imported: reads it first)
  int last_layer = -1;           // layer that touches it last
  bool read = false;             // some layer reads it
  bool crosses = false;          // a wished boundary lies in its life: it goes through DRAM
  bool keep = false;             // wished: it stays in SRAM
};

/// A tensor in DRAM in the order of its ONNX shape (linear), unpadded.
struct Image {
  int tensor = -1;  // whose name, scale and shape it has
  isa::BufferKind kind = isa::BufferKind::scratch;
  std::int64_t bytes = 0;
  bool host = false;                // read or written by a host step
  bool linear = false;              // read element by element in ONNX's order, not as a map
  const QNode* constant = nullptr;  // kind weights: the node whose elements it holds
  std::uint32_t buffer = 0;         // index into Program::buffers, set when DRAM is laid out
  std::uint64_t offset = 0;         // from the base register of the kind
};

enum class LayerKind : std::uint8_t {
  conv,
  edp,     // pooling, elementwise
  copy,    // a Concat part that starts inside a channel block, or a tensor that only moves
  move,    // REORDER from maps to a map, all in SRAM
  stream,  // a move from images in DRAM to images in DRAM
  gemm,    // a product of two images, result in images
  host     // ends the section
};
/// Layers on DRAM images, without maps.
[[nodiscard]] constexpr bool on_images(LayerKind kind) { return kind >= LayerKind::stream; }

/// A matrix operand of a product as it lies in an image, possibly in front of moves that LOAD does on the way.
struct ImageMatrix {
  std::int64_t offset = 0, row = 0;                          // elements: of batch 0; from row to row
  std::vector<std::pair<std::int64_t, std::int64_t>> batch;  // loops (count, elements), outermost first
};

struct Layer {
  LayerKind kind = LayerKind::edp;
  const QNode* node = nullptr;
  const QNode* residual = nullptr;        // conv: the Add that its drain does; then inputs[1] is the other operand
  std::vector<int> inputs;                // values; a copy: the part; none on images
  std::vector<int> images;                // stream, gemm: by the node's inputs
  std::vector<ImageMatrix> matrices;      // gemm: of the images
  bool trans_a = false, trans_b = false;  // gemm: as the matrices lie
  int output = -1;                        // value; copy: the root is that of the Concat
  int output_root = -1;
  std::int64_t output_channel = 0;  // first channel in the root
  // convolution and pooling geometry (after a view was merged)
  std::int64_t kh = 1, kw = 1, sy = 1, sx = 1, dy = 1, dx = 1, pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  MapShape in, out;  // shapes that the instruction sees (in: operand 0)
  bool b_broadcast = false;
  bool only_reorder = false;  // move: nothing but REORDER makes it
  bool swapped = false;       // elementwise: the node's second operand is the instruction's first
  isa::ConvMode mode = isa::ConvMode::dense;
  std::int64_t fold = 1;
  std::int64_t columns = 1;         // conv: neighbouring columns of an image that are channels of operand 0
  std::int64_t added_weights = 0;   // of the kernel of an output channel: zeros that the node's model has not
  std::int64_t wished_rows = 0;     // of a tile, by the user's wish; 0: free
  std::int64_t wished_columns = 0;  // of the strips of its group, at most; 0: free
};

struct LayerGraph {
  const QGraph* graph = nullptr;
  std::vector<Value> values;  // by tensor, then the others
  std::deque<QNode> owned;    // nodes that stand for others: a product as a convolution, a Concat as a move
  std::vector<Root> roots;
  std::vector<Image> images;
  std::vector<Layer> layers;
  bool halved = false;           // maps lie so that two engines meet in few banks (map_order.hpp)
  bool copies = false;           // engines that take rows may have copies of the weights
  bool short_neighbours = true;  // LayerSite::vector_neighbours
  Placement placement;
  std::map<int, std::string> boundaries;  // layers that begin a section by the user's wish, and which (sections.hpp)
};

/// Nodes that the scheduler found no room for as they usually run.
struct LayerDetours {
  std::set<std::string> through_dram;  // moves without REORDER: their maps do not fit the SRAM
  std::set<std::string> on_gemm;       // fully connected layers as products: no tile of a convolution fits
};

/// UserError for what the backend cannot place (named by node).
[[nodiscard]] LayerGraph build_layers(const QGraph& graph, const isa::ChipConfig& chip,
                                      const LayerDetours& detours = {});

/// A convolution whose kernel covers the whole map and that therefore is a product of rows.
[[nodiscard]] bool fully_connected(const Layer& layer);

}  // namespace tessera::compiler
