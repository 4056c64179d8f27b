#include "compiler/schedule/group.hpp"

#include <algorithm>
#include <limits>

#include "hw/common/error.hpp"
#include "hw/common/units.hpp"
#include "isa/semantics/layout.hpp"

namespace tessera::compiler {
namespace {

enum class Unit : std::uint8_t { conv, edp };
Unit unit_of(const Layer& layer) { return layer.kind == LayerKind::conv ? Unit::conv : Unit::edp; }

/// Reads the whole map for one row of output: the rows it reads do not follow from how far it is.
bool reads_all(const Layer& layer) { return layer.out.h == 1 && layer.in.h > 1; }

class Tracer {
 public:
  Tracer(const LayerGraph& graph, const GroupPlan& group, const Region& region, const std::vector<bool>& spilled)
      : graph_(graph), group_(group), region_(region), spilled_(spilled) {}

  GroupTrace trace() {
    find_roots();
    write_chunks();
    if (group_.lead > group_.first) take_the_lead();
    find_heights();
    return std::move(out_);
  }

 private:
  struct Reader {
    int layer = -1;
    std::size_t operand = 0;
  };
  struct RootUse {
    int root = -1;
    std::vector<int> writers;  // layers of the group
    std::vector<Reader> readers;
    bool streamed = false;
    std::int64_t loaded = 0;  // rows
  };

  [[nodiscard]] const Layer& layer(int id) const { return graph_.layers[static_cast<std::size_t>(id)]; }
  [[nodiscard]] const Root& root(int id) const { return graph_.roots[static_cast<std::size_t>(id)]; }
  [[nodiscard]] int root_of(const Layer& l, std::size_t operand) const {
    return graph_.values[static_cast<std::size_t>(l.inputs[operand])].root;
  }
  /// Rows that the region has of the layer's output.
  [[nodiscard]] const Rows& rows_of(int id) const { return region_.made_by(id).rows; }
  [[nodiscard]] const Area& there(int r) const { return region_.there[static_cast<std::size_t>(r)]; }
  [[nodiscard]] std::size_t at(int id) const { return static_cast<std::size_t>(id - group_.first); }
  RootUse& use(int index) {
    auto found = std::find_if(uses_.begin(), uses_.end(), [&](const RootUse& u) { return u.root == index; });
    if (found != uses_.end()) return *found;
    uses_.push_back({index, {}, {}, false, 0});
    return uses_.back();
  }

  void find_roots() {
    for (int id = group_.first; id < group_.end; ++id) {
      const Layer& l = layer(id);
      for (std::size_t i = 0; i < l.inputs.size(); ++i) use(root_of(l, i)).readers.push_back({id, i});
      use(l.output_root).writers.push_back(id);
    }
    for (RootUse& u : uses_) {
      u.streamed = spilled_[static_cast<std::size_t>(u.root)] && u.writers.empty();
      u.loaded = there(u.root).rows.first;
      TESSERA_CHECK(u.writers.empty() || !root(u.root).imported, "layers write an imported map");
    }
  }

  /// Rows of the operand's map that must be there when the layer has made rows up to `end`; 0: none yet.
  [[nodiscard]] std::int64_t need(const Reader& r, std::int64_t end) const {
    const Layer& l = layer(r.layer);
    if (end <= rows_of(r.layer).first) return 0;
    if (r.operand == 1 && l.b_broadcast) return 1;
    return is_residual(l, r.operand) ? end : input_rows(l, {end - 1, end}).end;
  }
  /// The first row of the operand's map that the layer still reads when it has made `done` rows.
  [[nodiscard]] std::int64_t still_needed(const Reader& r, std::int64_t done) const {
    const Layer& l = layer(r.layer);
    if (done >= rows_of(r.layer).end) return std::numeric_limits<std::int64_t>::max();
    if (r.operand == 1 && l.b_broadcast) return 0;
    return is_residual(l, r.operand) ? done : input_rows(l, {done, done + 1}).first;
  }

  /// Nobody in the group says how fast: the steps do.
  [[nodiscard]] bool drives(int id) {
    const std::vector<Reader>& readers = use(layer(id).output_root).readers;
    return std::none_of(readers.begin(), readers.end(),
                        [&](const Reader& r) { return r.layer > id && !reads_all(layer(r.layer)); });
  }

  /// By layer: the first row that it makes.
  [[nodiscard]] std::vector<std::int64_t> begins() const {
    std::vector<std::int64_t> rows;
    for (int id = group_.first; id < group_.end; ++id) rows.push_back(rows_of(id).first);
    return rows;
  }

  void write_chunks() {
    done_ = begins();
    std::vector<int> drivers;
    for (int id = group_.first; id < group_.end; ++id) {
      if (drives(id)) drivers.push_back(id);
    }
    for (std::int64_t s = 0; s < group_.steps; ++s) {
      for (const int id : drivers) pull(id, rows_of(id).first + rows_of(id).count() * (s + 1) / group_.steps);
      step_ends_.push_back(out_.chunks.size());
    }
    for (int id = group_.first; id < group_.end; ++id) pull(id, rows_of(id).end);  // rows that nobody here reads
    step_ends_.back() = out_.chunks.size();
  }

  /// Rows that a layer in front of the lead makes, or that it reads, whoever loads them.
  [[nodiscard]] bool in_front(const GroupChunk& chunk) {
    if (!chunk.load) return chunk.layer < group_.lead;
    const std::vector<Reader>& readers = use(chunk.root).readers;
    return std::any_of(readers.begin(), readers.end(), [&](const Reader& r) { return r.layer < group_.lead; });
  }

  /// Layers in front of the lead do the next step's rows among the others' of this one, so that what they wait for each
  /// other is done under the others' work.
  void take_the_lead() {
    std::vector<std::vector<GroupChunk>> front, back;  // by step that has both
    std::size_t at = 0;
    for (const std::size_t end : step_ends_) {
      std::vector<GroupChunk> ahead, behind;
      for (; at < end; ++at) {
        (in_front(out_.chunks[at]) ? ahead : behind).push_back(out_.chunks[at]);
      }
      if (front.empty() || (!ahead.empty() && !back.back().empty())) {
        front.emplace_back();
        back.emplace_back();
      }
      front.back().insert(front.back().end(), ahead.begin(), ahead.end());
      back.back().insert(back.back().end(), behind.begin(), behind.end());
    }
    if (back.back().empty() || front.front().empty()) return;
    const auto cycles = [&](const std::vector<GroupChunk>& chunks) {
      std::vector<double> out;
      for (const GroupChunk& c : chunks) out.push_back(chunk_weight(graph_, group_, c));
      return out;
    };
    out_.chunks = front.front();
    out_.front = out_.chunks.size();
    for (std::size_t s = 0; s + 1 < front.size(); ++s) {
      std::size_t f = 0, b = 0;
      for (const bool ahead : interleaved(cycles(front[s + 1]), cycles(back[s]))) {
        out_.chunks.push_back(ahead ? front[s + 1][f++] : back[s][b++]);
      }
    }
    out_.tail = out_.chunks.size();
    out_.chunks.insert(out_.chunks.end(), back.back().begin(), back.back().end());
  }

  /// Makes the layer's rows at least up to `end`, chunk by chunk, each when what it reads is there.
  void pull(int id, std::int64_t end) {
    const Layer& l = layer(id);
    const std::int64_t most = chunk_rows(group_, l, id);
    while (done_[at(id)] < end) {
      const std::int64_t next = std::min(rows_of(id).end, done_[at(id)] + most);
      const std::int64_t ahead = std::min(next + std::min(group_.ahead, 1) * most, rows_of(id).end);
      for (std::size_t i = 0; i < l.inputs.size(); ++i) {
        RootUse& u = use(root_of(l, i));
        if (u.streamed) load(u, {id, i}, next, most);
        for (const int writer : u.writers) {
          if (writer < id) pull(writer, need({id, i}, unit_of(layer(writer)) == unit_of(l) ? next : ahead));
        }
      }
      out_.chunks.push_back({id, false, l.output_root, {done_[at(id)], next}});
      done_[at(id)] = next;
    }
  }

  /// Loads what the reader needs to have made rows up to `next`, and for the chunks that LOAD is ahead.
  void load(RootUse& u, const Reader& reader, std::int64_t next, std::int64_t most) {
    const std::int64_t last = std::min(next + group_.ahead * most, rows_of(reader.layer).end);
    for (std::int64_t made = next;; made = std::min(made + most, last)) {
      const std::int64_t end = need(reader, made);
      if (u.loaded < end) {
        out_.chunks.push_back({reader.layer, true, u.root, {u.loaded, end}});
        u.loaded = end;
      }
      if (made == last) return;
    }
  }

  /// A layer that may write over its operand does so in this group only if the other readers are done with the rows.
  void note_overwriting(const GroupChunk& c, const std::vector<std::int64_t>& done) {
    const int operand = overwritten_operand(graph_, c.layer);
    if (operand < 0 || !group_.cuts.whole()) return;  // another region may read the operand again
    const auto known = std::find(out_.in_place.begin(), out_.in_place.end(), c.layer);
    if (c.rows.first == 0 && known == out_.in_place.end()) out_.in_place.push_back(c.layer);
    for (const Reader& r : use(root_of(layer(c.layer), static_cast<std::size_t>(operand))).readers) {
      if (r.layer == c.layer || still_needed(r, done[at(r.layer)]) >= c.rows.end) continue;
      out_.in_place.erase(std::remove(out_.in_place.begin(), out_.in_place.end(), c.layer), out_.in_place.end());
    }
  }

  /// Walks the chunks: a buffer holds what was written and somebody still reads.
  void find_heights() {
    std::vector<std::int64_t> done = begins(), written(uses_.size(), 0), height(uses_.size(), 0);
    std::vector<std::int64_t> tallest(uses_.size(), 0);  // chunk
    for (const GroupChunk& c : out_.chunks) {
      std::size_t u = 0;
      while (uses_[u].root != c.root) ++u;
      written[u] = std::max(written[u], c.rows.end);
      std::int64_t low = c.rows.first;
      for (const Reader& r : uses_[u].readers) low = std::min(low, still_needed(r, done[at(r.layer)]));
      height[u] = std::max(height[u], written[u] - low);
      tallest[u] = std::max(tallest[u], c.rows.count());
      if (!c.load) note_overwriting(c, done);
      if (!c.load) done[at(c.layer)] = c.rows.end;
    }
    for (std::size_t u = 0; u < uses_.size(); ++u) {
      if (!spilled_[static_cast<std::size_t>(uses_[u].root)]) continue;
      LineBuffer buffer;
      buffer.root = uses_[u].root;
      buffer.streamed = uses_[u].streamed;
      const Root& r = root(buffer.root);
      buffer.leaves = !r.imported && r.read && (r.first_layer < group_.first || r.last_layer >= group_.end);
      buffer.rows = height[u];
      // A result that only leaves: the next rows are made while STORE takes these.
      if (uses_[u].readers.empty() && group_.ahead > 0) buffer.rows = 2 * tallest[u];
      buffer.map = there(buffer.root);
      buffer.rows = std::min(buffer.rows, buffer.map.rows.count());
      if (buffer.rows > 0) out_.buffers.push_back(buffer);
    }
  }

  const LayerGraph& graph_;
  const GroupPlan& group_;
  const Region& region_;
  const std::vector<bool>& spilled_;
  std::vector<RootUse> uses_;
  std::vector<std::int64_t> done_;      // by layer: rows made
  std::vector<std::size_t> step_ends_;  // chunks
  GroupTrace out_;
};

}  // namespace

const LineBuffer* GroupTrace::buffer_of(int root) const {
  const auto found = std::find_if(buffers.begin(), buffers.end(), [&](const LineBuffer& b) { return b.root == root; });
  return found == buffers.end() ? nullptr : &*found;
}

std::int64_t chunk_rows(const GroupPlan& group, const Layer& layer, int id) {
  if (group.rows.empty()) return ceil_div(layer.out.h, group.steps);
  return group.rows[static_cast<std::size_t>(id - group.first)];
}

int overwritten_operand(const LayerGraph& graph, int id) {
  const Layer& l = graph.layers[static_cast<std::size_t>(id)];
  if (on_images(l.kind) || l.kind == LayerKind::copy || l.kind == LayerKind::move) return -1;
  const Root& out = graph.roots[static_cast<std::size_t>(l.output_root)];
  if (out.first_layer != id) return -1;
  const bool element_by_element =
      l.kind == LayerKind::edp && l.node->op != QOp::max_pool && l.node->op != QOp::average_pool;
  const auto root_of = [&](std::size_t i) { return graph.values[static_cast<std::size_t>(l.inputs[i])].root; };
  for (std::size_t i = 0; i < l.inputs.size(); ++i) {
    if (!is_residual(l, i) && !(element_by_element && !(i == 1 && l.b_broadcast))) continue;
    if (l.inputs.size() == 2 && root_of(0) == root_of(1)) continue;
    const Value& value = graph.values[static_cast<std::size_t>(l.inputs[i])];
    const Root& in = graph.roots[static_cast<std::size_t>(value.root)];
    if (in.last_layer == id && in.shape == out.shape && value.first_channel == l.output_channel) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

namespace {

/// The layer stores (a part of) the image.
bool stores_image(const LayerGraph& graph, const Layer& l, int image) {
  return std::any_of(graph.values.begin(), graph.values.end(), [&](const Value& value) {
    const std::vector<int>& images =
        value.images_of < 0 ? value.dram : graph.values[static_cast<std::size_t>(value.images_of)].dram;
    return value.root == l.output_root && std::find(images.begin(), images.end(), image) != images.end();
  });
}

}  // namespace

bool can_group(const LayerGraph& graph, int first, int end, const isa::ChipConfig& chip) {
  for (int id = first; id < end; ++id) {
    if (id > first && graph.boundaries.count(id) != 0) return false;
    const Layer& l = graph.layers[static_cast<std::size_t>(id)];
    if (!can_fuse(l, chip) || l.out.n != graph.layers[static_cast<std::size_t>(first)].out.n || l.in.n != l.out.n) {
      return false;
    }
    // Rows that layers outside the group made of a map that it writes are not in its line buffer.
    for (const int t : l.inputs) {
      const int root = graph.values[static_cast<std::size_t>(t)].root;
      const Root& map = graph.roots[static_cast<std::size_t>(root)];
      // A map in another order of elements: its reader waits for the whole image.
      for (int writer = first; writer < id && map.imported; ++writer) {
        if (stores_image(graph, graph.layers[static_cast<std::size_t>(writer)], map.image)) return false;
      }
      if (map.first_layer >= first) continue;
      for (int writer = first; writer < end; ++writer) {
        if (graph.layers[static_cast<std::size_t>(writer)].output_root == root) return false;
      }
    }
  }
  return true;
}

bool can_fuse(const Layer& layer, const isa::ChipConfig& chip) {
  if (layer.kind == LayerKind::copy) return layer.output_channel % chip.layout.channel_block == 0;
  return layer.kind == LayerKind::conv || layer.kind == LayerKind::edp;
}

Region group_region(const LayerGraph& graph, const GroupPlan& group, std::int64_t row, std::int64_t column,
                    const isa::ChipConfig& chip) {
  if (!group.cuts.whole()) return region_of(graph, group.first, group.end, group.cuts, row, column, chip);
  Region region;
  region.first_layer = group.first;
  for (const Root& root : graph.roots) region.there.push_back({{0, root.shape.h}, {0, root.shape.w}});
  region.own = region.valid = region.there;
  for (int id = group.first; id < group.end; ++id) {
    const MapShape& out = graph.layers[static_cast<std::size_t>(id)].out;
    region.made.push_back({{0, out.h}, {0, out.w}});
  }
  return region;
}

GroupTrace trace_group(const LayerGraph& graph, const GroupPlan& group, const Region& region,
                       const std::vector<bool>& spilled) {
  return Tracer(graph, group, region, spilled).trace();
}

std::vector<bool> interleaved(const std::vector<double>& front, const std::vector<double>& back) {
  const auto sum = [](const std::vector<double>& cycles) {
    double all = 0;
    for (const double c : cycles) all += c;
    return std::max(all, 1e-9);
  };
  const double all_front = sum(front), all_back = sum(back);
  std::vector<bool> order;
  double front_done = 0, back_done = 0;
  for (std::size_t f = 0, b = 0; f + b < front.size() + back.size();) {
    const bool ahead = b == back.size() || (f < front.size() && front_done / all_front <= back_done / all_back);
    const std::vector<double>& list = ahead ? front : back;
    std::size_t& at = ahead ? f : b;
    (ahead ? front_done : back_done) += list[at];
    do {  // with what other units do before and behind it
      order.push_back(ahead);
      ++at;
    } while (at < list.size() && list[at] == 0);
  }
  return order;
}

double chunk_weight(const LayerGraph& graph, const GroupPlan& plan, const GroupChunk& chunk) {
  if (chunk.load || graph.layers[static_cast<std::size_t>(chunk.layer)].kind != LayerKind::conv) return 0;
  const auto rows = static_cast<double>(chunk.rows.count());
  return plan.row_cycles.empty() ? rows : rows * plan.row_cycles[static_cast<std::size_t>(chunk.layer - plan.first)];
}

std::int64_t buffer_lines(const Root& root, std::int64_t rows, const Rows& columns, const isa::ChipConfig& chip) {
  return ceil_div(root.shape.c, chip.layout.channel_block) * rows *
         ceil_div(columns.count(), semantics::pixels_per_line(chip));
}

std::int64_t buffer_lines(const Root& root, std::int64_t rows, const isa::ChipConfig& chip) {
  return buffer_lines(root, rows, {0, root.shape.w}, chip);
}

}  // namespace tessera::compiler
