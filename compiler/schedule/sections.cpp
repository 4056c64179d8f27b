#include "compiler/schedule/sections.hpp"

#include <algorithm>

#include "compiler/schedule/dma_pieces.hpp"
#include "hw/common/error.hpp"

namespace tessera::compiler {
namespace {

constexpr std::size_t kMostNames = 5;

/// Nodes whose names hold the wanted one or are held by it, else the first ones: what the user may have meant.
std::string legal_names(const LayerGraph& graph, const std::string& wanted) {
  std::vector<std::string> near, all;
  for (const Layer& layer : graph.layers) {
    const std::string& name = layer.node->name;
    if (name.empty() || (!all.empty() && all.back() == name)) continue;
    all.push_back(name);
    if (name.find(wanted) != std::string::npos || wanted.find(name) != std::string::npos) near.push_back(name);
  }
  const std::vector<std::string>& shown = near.empty() ? all : near;
  std::string text;
  for (std::size_t i = 0; i < std::min(kMostNames, shown.size()); ++i) text += (i == 0 ? "" : ", ") + shown[i];
  return text + (shown.size() > kMostNames ? ", ..." : "");
}

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Node that runs inside this layer although the layer has another's name.
bool runs_inside(const Layer& layer, const std::string& node) {
  if (holds(layer.node->fused, node)) return true;
  return layer.residual != nullptr && (layer.residual->name == node || holds(layer.residual->fused, node));
}

/// First and last layer that touch an image; none: {-1, -1}.
struct Life {
  int first = -1, last = -1;
  void touch(int layer) {
    if (first < 0) first = layer;
    last = std::max(last, layer);
  }
};

std::vector<Life> image_lives(const LayerGraph& graph) {
  std::vector<Life> lives(graph.images.size());
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    const Layer& layer = graph.layers[i];
    const int id = static_cast<int>(i);
    for (const int image : layer.images) lives[static_cast<std::size_t>(image)].touch(id);
    if (layer.output >= 0) {
      for (const int image : graph.values[static_cast<std::size_t>(layer.output)].dram) {
        lives[static_cast<std::size_t>(image)].touch(id);
      }
    }
    if (layer.kind == LayerKind::host) {
      for (const int t : layer.inputs) {
        for (const int image : graph.values[static_cast<std::size_t>(t)].dram) {
          lives[static_cast<std::size_t>(image)].touch(id);
        }
      }
    }
  }
  for (const Root& root : graph.roots) {
    if (!root.imported || root.first_layer < 0) continue;
    lives[static_cast<std::size_t>(root.image)].touch(root.first_layer);
    lives[static_cast<std::size_t>(root.image)].touch(root.last_layer);
  }
  return lives;
}

/// Bytes in DRAM that layers before `layer` made and layers from it on read.
Bytes crossing_bytes(const LayerGraph& graph, const std::vector<Life>& lives, const std::vector<bool>& spilled,
                     const isa::ChipConfig& chip, int layer) {
  Bytes bytes = 0;
  for (std::size_t i = 0; i < graph.images.size(); ++i) {
    const Image& image = graph.images[i];
    const bool made = image.kind == isa::BufferKind::scratch || image.kind == isa::BufferKind::output;
    if (made && lives[i].first >= 0 && lives[i].first < layer && lives[i].last >= layer) bytes += image.bytes;
  }
  for (std::size_t r = 0; r < graph.roots.size(); ++r) {
    const Root& root = graph.roots[r];
    const bool across = root.first_layer >= 0 && root.first_layer < layer && root.last_layer >= layer;
    if (across && !root.imported && spilled[r]) bytes += blocked_bytes(root.shape, chip);
  }
  return bytes;
}

}  // namespace

int layer_of(const LayerGraph& graph, const std::string& option, const std::string& node) {
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    if (graph.layers[i].node->name == node) return static_cast<int>(i);
  }
  for (const Layer& layer : graph.layers) {
    if (runs_inside(layer, node)) {
      user_error(option, ": the node runs inside ", layer.node->name, ": name that one");
    }
  }
  for (const QNode& q : graph.graph->nodes) {
    if (q.name == node || holds(q.fused, node)) {
      user_error(option, ": the node needs no instruction on this chip (it only renames or views elements); legal are ",
                 "nodes that run, e.g. ", legal_names(graph, node));
    }
  }
  user_error(option, ": no such node; legal are nodes that run, e.g. ", legal_names(graph, node));
}

void mark_boundaries(LayerGraph& graph, const std::vector<std::string>& boundaries,
                     const std::vector<std::string>& alone) {
  graph.boundaries.clear();
  const auto mark = [&](int layer, const std::string& why) {
    if (layer > 0 && layer < static_cast<int>(graph.layers.size())) graph.boundaries.emplace(layer, why);
  };
  for (const std::string& node : boundaries) {
    const std::string option = "--boundary " + node;
    mark(layer_of(graph, option, node), option);
  }
  for (const std::string& node : alone) {
    const std::string option = "--alone " + node;
    const int first = layer_of(graph, option, node);
    int end = first;
    for (std::size_t i = 0; i < graph.layers.size(); ++i) {
      if (graph.layers[i].node->name == node) end = static_cast<int>(i) + 1;
    }
    mark(first, option);
    mark(end, "behind " + option);
  }
  for (Root& root : graph.roots) {
    const auto next = graph.boundaries.upper_bound(root.first_layer);
    root.crosses = root.first_layer >= 0 && next != graph.boundaries.end() && next->first <= root.last_layer;
  }
}

void describe_sections(const LayerGraph& graph, const std::vector<bool>& spilled, const isa::ChipConfig& chip,
                       std::vector<WorkSection>& sections) {
  const std::vector<Life> lives = image_lives(graph);
  std::vector<int> hosts;
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    if (graph.layers[i].kind == LayerKind::host) hosts.push_back(static_cast<int>(i));
  }
  const std::string* host_before = nullptr;
  for (WorkSection& section : sections) {
    int first = 0;
    if (section.host_step >= 0) {
      first = hosts.at(static_cast<std::size_t>(section.host_step));
      const QNode& node = *graph.layers[static_cast<std::size_t>(first)].node;
      section.why = node.onnx_op + " runs on the host" + (node.why.empty() ? "" : ": " + node.why);
      host_before = &node.name;
    } else {
      if (section.items.empty()) continue;
      first = section.items.front().layer;
      const auto wish = graph.boundaries.find(first);
      if (host_before != nullptr) {
        section.why = "behind the host step " + *host_before;
      } else if (wish != graph.boundaries.end()) {
        section.why = wish->second;
      } else {
        section.why = "the network begins";
      }
      host_before = nullptr;
    }
    section.crossing_bytes = first == 0 ? 0 : crossing_bytes(graph, lives, spilled, chip, first);
  }
}

}  // namespace tessera::compiler
