#include "compiler/schedule/group_buffers.hpp"

#include <algorithm>
#include <numeric>

#include "hw/common/units.hpp"

namespace tessera::compiler {

std::vector<BufferUse> buffer_uses(const LayerGraph& graph, const GroupTrace& trace) {
  std::vector<BufferUse> uses(trace.buffers.size());
  for (std::size_t at = 0; at < trace.chunks.size(); ++at) {
    const GroupChunk& chunk = trace.chunks[at];
    const auto touch = [&](int root) {
      const LineBuffer* buffer = trace.buffer_of(root);
      if (buffer == nullptr) return;
      BufferUse& use = uses[static_cast<std::size_t>(buffer - trace.buffers.data())];
      if (use.until == 0) use.from = at;
      use.until = at + 1;
    };
    touch(chunk.root);
    if (chunk.load) continue;
    for (const int t : graph.layers[static_cast<std::size_t>(chunk.layer)].inputs) {
      touch(graph.values[static_cast<std::size_t>(t)].root);
    }
  }
  return uses;
}

BufferLayout lay_buffers(const std::vector<BufferUse>& uses, std::size_t front, std::size_t tail,
                         std::int64_t granule) {
  const std::size_t count = uses.size();
  const auto in_front = [&](std::size_t i) { return uses[i].from < front; };
  const auto in_tail = [&](std::size_t i) { return front > 0 && uses[i].until > tail; };
  BufferLayout layout;
  layout.offset.assign(count, 0);
  for (std::size_t i = 0; i < count; ++i) layout.twice.push_back(in_front(i) && in_tail(i));
  const auto size = [&](std::size_t i) { return uses[i].lines * (layout.twice[i] ? 2 : 1); };
  const auto meet = [&](std::size_t i, std::size_t k) {
    return (uses[i].from < uses[k].until && uses[k].from < uses[i].until) || (in_front(i) && in_tail(k)) ||
           (in_front(k) && in_tail(i));
  };
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return size(a) > size(b); });
  // Largest first, each at the lowest place that is free while it is held.
  std::vector<std::pair<std::int64_t, std::int64_t>> taken;
  for (std::size_t placed = 0; placed < count; ++placed) {
    const std::size_t i = order[placed];
    taken.clear();
    for (std::size_t k = 0; k < placed; ++k) {
      if (meet(i, order[k])) taken.emplace_back(layout.offset[order[k]], layout.offset[order[k]] + size(order[k]));
    }
    std::sort(taken.begin(), taken.end());
    std::int64_t at = 0;
    for (const auto& [first, end] : taken) {
      if (first >= at + size(i)) break;
      at = std::max(at, end);
      if (size(i) >= granule) at = round_up(at, granule);
    }
    layout.offset[i] = at;
    layout.lines = std::max(layout.lines, at + size(i));
  }
  return layout;
}

}  // namespace tessera::compiler
