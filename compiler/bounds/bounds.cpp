#include "compiler/bounds/bounds.hpp"

#include <algorithm>
#include <cmath>

#include "compiler/host/host_step.hpp"
#include "compiler/schedule/constants.hpp"
#include "compiler/schedule/conv_modes.hpp"
#include "compiler/schedule/tile.hpp"
#include "hw/common/units.hpp"
#include "isa/semantics/layout.hpp"

namespace tessera::compiler {
namespace {

/// Weights and parameters of a layer, useful and as they lie: of the modes that are legal, the smaller.
void constants_of(const Layer& layer, const LayerGraph& graph, const isa::ChipConfig& chip, LayerBound& out) {
  const QNode& node = *layer.node;
  Bytes padded = 0;
  if (layer.kind == LayerKind::conv) {
    out.bytes.weights = layer.out.c * (layer.in.c / node.groups) * layer.kh * layer.kw;
    out.bytes.params = semantics::kParamBytes * layer.out.c;
    padded = weight_layout(layer, chip).dram_bytes();
    for (const Layer& form : conv_forms(layer, graph, chip))
      padded = std::min(padded, weight_layout(form, chip).dram_bytes());
  } else if (layer.kind == LayerKind::gemm) {
    if (node.inputs.size() == 1) padded = out.bytes.weights = node.k * node.n;
    if (per_column(node)) out.bytes.params = semantics::kParamBytes * node.n;
  } else if (layer.kind == LayerKind::edp && node.op == QOp::average_pool) {
    out.bytes.params = semantics::kAverageEntryBytes * (global_average(layer) ? 1 : layer.kh * layer.kw);
  } else if (layer.kind == LayerKind::edp && node.op == QOp::table) {
    out.bytes.params = kTableBytes;
  }
  out.stream_bytes = padded + out.bytes.params;
}

Cycles host_cycles_of(const QNode& node, const QGraph& graph, const isa::ChipConfig& chip) {
  const auto tensor = [&](int t) -> const QTensor& { return graph.tensors[static_cast<std::size_t>(t)]; };
  const auto bytes_of = [&](int t) {
    return element_count(tensor(t).shape) * static_cast<Bytes>(dtype_size(tensor(t).dtype));
  };
  Bytes bytes = bytes_of(node.output);
  for (const int t : node.inputs) bytes += bytes_of(t);
  return host::host_step_cycles(chip, element_count(tensor(node.output).shape), bytes);
}

const char* unit_of(const Layer& layer) {
  switch (layer.kind) {
    case LayerKind::conv:
      return "conv";
    case LayerKind::edp:
    case LayerKind::copy:
      return "edp";
    case LayerKind::move:
      return "reorder";
    case LayerKind::stream:
      return "load";
    case LayerKind::gemm:
      return "gemm";
    case LayerKind::host:
      return "host";
  }
  return "";
}

/// Work that no schedule is rid of; a copy may be, where its maker writes in place.
void add_work(const Layer& layer, const Mapping& mapping, const isa::ChipConfig& chip, StreamedLayer& out) {
  const auto share = [&](Pool pool, std::int64_t engines) {
    out.cycles[static_cast<std::size_t>(pool)] = mapping.engine_cycles / static_cast<double>(engines);
  };
  if (layer.kind == LayerKind::conv) share(Pool::conv, chip.conv.engines * chip.cores);
  if (layer.kind == LayerKind::edp) share(Pool::edp, chip.cores);
  if (layer.kind == LayerKind::gemm) share(Pool::gemm, chip.cores);
}

Cycles floor_of(double cycles) { return static_cast<Cycles>(std::floor(cycles)); }

class Bounder {
 public:
  Bounder(const QGraph& graph, const isa::ChipConfig& chip)
      : graph_(graph), chip_(chip), layers_(build_layers(graph, chip)), search_(chip) {}

  NetworkBounds bounds() {
    if (!graph_.inputs.empty())
      out_.batch = graph_.tensors[static_cast<std::size_t>(graph_.inputs.front())].shape.front();
    for (const Layer& layer : layers_.layers) add(layer);
    for (std::size_t i = 0; i < layers_.images.size(); ++i) {
      const Image& image = layers_.images[i];
      if (image.kind == isa::BufferKind::input) out_.bytes.inputs += image.bytes;
      if (image.kind == isa::BufferKind::output) out_.bytes.outputs += image.bytes;
      if (image.constant != nullptr) out_.bytes.weights += image.bytes;
      const bool streamed = (image.kind == isa::BufferKind::input && !image.host) || image.constant != nullptr;
      if (streamed && !stream_.empty()) stream_[first_reader(i)].bytes += static_cast<double>(image.bytes);
    }
    for (const StreamedLayer& layer : stream_) out_.stream_bytes += static_cast<Bytes>(layer.bytes);
    look_ahead();
    return std::move(out_);
  }

 private:
  void add(const Layer& layer) {
    LayerBound bound;
    bound.name = layer.node->name;
    bound.op = layer.node->onnx_op;
    bound.unit = unit_of(layer);
    bound.mapping = search_.best(layer, layers_);
    StreamedLayer streamed;
    if (layer.kind == LayerKind::host) {
      bound.host_cycles = host_cycles_of(*layer.node, graph_, chip_);
      out_.host_cycles += bound.host_cycles;
      streamed.host = static_cast<double>(bound.host_cycles);
    }
    constants_of(layer, layers_, chip_, bound);
    streamed.bytes = static_cast<double>(bound.stream_bytes);
    add_work(layer, bound.mapping, chip_, streamed);
    out_.bytes.weights += bound.bytes.weights;
    out_.bytes.params += bound.bytes.params;
    out_.layers.push_back(std::move(bound));
    stream_.push_back(streamed);
  }

  /// The layer that an image must have arrived for; the last one if none reads it as a map or matrix.
  [[nodiscard]] std::size_t first_reader(std::size_t image) const {
    std::size_t first = layers_.layers.size() - 1;
    for (const Root& root : layers_.roots) {
      if (root.imported && root.image == static_cast<int>(image) && root.first_layer >= 0)
        first = std::min(first, static_cast<std::size_t>(root.first_layer));
    }
    for (std::size_t i = 0; i < layers_.layers.size(); ++i) {
      const std::vector<int>& read = layers_.layers[i].images;
      if (std::find(read.begin(), read.end(), static_cast<int>(image)) != read.end()) return std::min(first, i);
    }
    return first;
  }

  void look_ahead() {
    out_.rate = hw::StreamRate::from(chip_, 1);
    const auto sram = static_cast<double>(chip_.sram.banks * chip_.sram.size_bytes * chip_.cores);
    const double all =
        hw::StreamRate::from(chip_, 2).finish(0, static_cast<double>(out_.stream_bytes + out_.bytes.outputs));
    double bound = std::max(all, out_.rate.finish(0, static_cast<double>(out_.stream_bytes)));
    out_.stream_cycles = floor_of(bound);
    out_.lookahead_limit = "stream";
    double ideal = 0;
    for (std::size_t p = 0; p < kPools; ++p) {
      const auto pool = static_cast<Pool>(p);
      double work = 0;
      for (const StreamedLayer& layer : stream_) work += layer.cycles[p];
      out_.work[p] = floor_of(work);
      const double cycles = lookahead_cycles(stream_, out_.rate, sram, pool);
      if (work > 0 && cycles > bound) {
        bound = cycles;
        out_.lookahead_limit = pool_name(pool);
      }
      ideal = std::max(ideal, lookahead_cycles(stream_, hw::StreamRate::of_ports(chip_, 1), sram, pool));
    }
    out_.lookahead_cycles = floor_of(bound);
    out_.lookahead_ideal_dram_cycles = floor_of(ideal);
  }

  const QGraph& graph_;
  const isa::ChipConfig& chip_;
  LayerGraph layers_;
  MappingSearch search_;
  std::vector<StreamedLayer> stream_;
  NetworkBounds out_;
};

}  // namespace

NetworkBounds network_bounds(const QGraph& graph, const isa::ChipConfig& chip) { return Bounder(graph, chip).bounds(); }

}  // namespace tessera::compiler
