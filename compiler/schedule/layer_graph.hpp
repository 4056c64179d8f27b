// The quantised graph as the machine will run it: one layer per instruction-producing node, and for every tensor where
// its values live. Decided here, before any tile or address: views cost nothing where NCHW order allows it (a Flatten
// in front of a fully connected layer becomes a convolution with a kernel of the map's size), Concat parts are written
// in place where they start on a channel block, and which tensors need a copy in DRAM in NCHW order.
// Leaves out: sizes against SRAM, tiles, addresses (scheduler.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/qgraph.hpp"
#include "isa/chip.hpp"
#include "isa/isa.hpp"
#include "isa/program/program.hpp"

namespace tessera::compiler {

struct MapShape {
  std::int64_t n = 1, c = 1, h = 1, w = 1;
  [[nodiscard]] std::int64_t elements() const { return n * c * h * w; }
  [[nodiscard]] bool operator==(const MapShape& o) const { return n == o.n && c == o.c && h == o.h && w == o.w; }
};

/// A tensor of the quantised graph: which blocked map holds it, and which NCHW images in DRAM.
struct Value {
  MapShape shape;
  int root = -1;                   // blocked map it lies in
  std::int64_t first_channel = 0;  // of the root, a multiple of Cb
  std::vector<int> dram;           // indices into LayerGraph::images; [0] is the one that readers load
};

/// A blocked map: one tensor, or all parts of a Concat.
struct Root {
  MapShape shape;
  std::string name;
  bool imported = false;  // its values come from images (graph input, host step, view through DRAM), not from a layer
  int image = -1;         // imported: index into LayerGraph::images
  int first_layer = -1;   // layer that writes it first (imported: reads it first)
  int last_layer = -1;    // layer that touches it last
  bool read = false;      // some layer reads it
};

/// A tensor in DRAM in the order of its ONNX shape, unpadded.
struct Image {
  int tensor = -1;  // whose name, scale and shape it has
  isa::BufferKind kind = isa::BufferKind::scratch;
  std::int64_t bytes = 0;
  bool host = false;         // read or written by a host step
  std::uint32_t buffer = 0;  // index into Program::buffers, set when DRAM is laid out
  std::uint64_t offset = 0;  // from the base register of the kind
};

enum class LayerKind : std::uint8_t {
  conv,
  edp,   // pooling, elementwise
  copy,  // a Concat part that starts inside a channel block, or a tensor that only moves
  host   // ends the section
};

struct Layer {
  LayerKind kind = LayerKind::edp;
  const QNode* node = nullptr;
  const QNode* residual = nullptr;  // conv: the Add that its drain does; then inputs[1] is the other operand
  std::vector<int> inputs;          // tensors; a copy: the part
  int output = -1;                  // copy: the root is that of the Concat
  int output_root = -1;
  std::int64_t output_channel = 0;  // first channel in the root
  // convolution and pooling geometry (after a view was merged)
  std::int64_t kh = 1, kw = 1, sy = 1, sx = 1, dy = 1, dx = 1, pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  MapShape in, out;  // shapes that the instruction sees (in: operand 0)
  bool b_broadcast = false;
  bool swapped = false;  // elementwise: the node's second operand is the instruction's first
  isa::ConvMode mode = isa::ConvMode::dense;
  std::int64_t fold = 1;
};

struct LayerGraph {
  const QGraph* graph = nullptr;
  std::vector<Value> values;  // by tensor
  std::vector<Root> roots;
  std::vector<Image> images;
  std::vector<Layer> layers;
};

/// UserError for what the backend cannot place (named by node).
[[nodiscard]] LayerGraph build_layers(const QGraph& graph, const isa::ChipConfig& chip);

}  // namespace tessera::compiler
