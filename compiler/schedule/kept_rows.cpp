#include "compiler/schedule/kept_rows.hpp"

#include <algorithm>

namespace tessera::compiler {
namespace {

bool tiled(LayerKind kind) { return kind == LayerKind::conv || kind == LayerKind::edp || kind == LayerKind::copy; }

bool reads(const LayerGraph& graph, const Layer& layer, int root) {
  return std::any_of(layer.inputs.begin(), layer.inputs.end(),
                     [&](int t) { return graph.values[static_cast<std::size_t>(t)].root == root; });
}

/// Only layers of tiles touch it, and no section begins while it lives.
bool can_keep(const LayerGraph& graph, int index) {
  const Root& root = graph.roots[static_cast<std::size_t>(index)];
  if (root.imported || !root.read || root.crosses || root.first_layer < 0) return false;
  for (int id = root.first_layer; id <= root.last_layer; ++id) {
    const Layer& l = graph.layers[static_cast<std::size_t>(id)];
    if (l.kind == LayerKind::host) return false;
    if ((l.output_root == index || reads(graph, l, index)) && !tiled(l.kind)) return false;
  }
  return true;
}

}  // namespace

RowUses row_uses(const LayerGraph& graph, const std::vector<GroupPlan>& groups, const std::vector<GroupTrace>& traces,
                 int root) {
  RowUses uses;
  uses.possible = can_keep(graph, root);
  if (!uses.possible) return uses;
  std::vector<bool> grouped(graph.layers.size(), false);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const LineBuffer* buffer = traces[g].buffer_of(root);
    for (int id = groups[g].first; id < groups[g].end; ++id) grouped[static_cast<std::size_t>(id)] = true;
    for (const GroupChunk& chunk : traces[g].chunks) {
      if (chunk.load) continue;
      const Layer& l = graph.layers[static_cast<std::size_t>(chunk.layer)];
      if (l.output_root == root) uses.within.push_back(chunk.rows);
      for (std::size_t i = 0; i < l.inputs.size(); ++i) {
        if (graph.values[static_cast<std::size_t>(l.inputs[i])].root != root) continue;
        (buffer != nullptr && buffer->streamed ? uses.loaded : uses.within).push_back(operand_rows(l, i, chunk.rows));
      }
    }
  }
  const Root& map = graph.roots[static_cast<std::size_t>(root)];
  for (int id = map.first_layer; id <= map.last_layer; ++id) {
    const Layer& l = graph.layers[static_cast<std::size_t>(id)];
    for (std::size_t i = 0; i < l.inputs.size() && !grouped[static_cast<std::size_t>(id)]; ++i) {
      if (graph.values[static_cast<std::size_t>(l.inputs[i])].root == root) uses.readers.emplace_back(id, i);
    }
  }
  return uses;
}

std::optional<KeptRows> keep_rows(const LayerGraph& graph, const RowUses& uses, std::int64_t rows) {
  const auto cut_by = [&](const Rows& r) { return r.first < rows && rows < r.end; };
  if (std::any_of(uses.within.begin(), uses.within.end(), cut_by)) return std::nullopt;
  KeptRows kept{rows, rows};
  for (const Rows& r : uses.loaded) {
    if (r.end > rows) kept.stored_from = std::min(kept.stored_from, r.first);
  }
  for (const auto& [id, operand] : uses.readers) {
    const Layer& l = graph.layers[static_cast<std::size_t>(id)];
    const std::int64_t made = rows_within(l, operand, rows);
    if (made == l.out.h) continue;
    kept.stored_from = std::min(kept.stored_from, operand_rows(l, operand, {made, made + 1}).first);
  }
  return kept;
}

std::int64_t rows_within(const Layer& layer, std::size_t operand, std::int64_t kept) {
  std::int64_t made = 0;
  while (made < layer.out.h && operand_rows(layer, operand, {made, made + 1}).end <= kept) ++made;
  return made;
}

}  // namespace tessera::compiler
