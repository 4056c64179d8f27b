// Fusion groups as instructions: the part of Walk that runs a group's chunks in their order. Line buffers live from the
// group's begin to their last use, weights from their layer's first rows to its last: what is released early makes room
// for the next layers' weights, which LOAD then fetches ahead.
#include <algorithm>

#include "compiler/schedule/walk.hpp"
#include "hw/common/error.hpp"
#include "hw/common/units.hpp"
#include "isa/semantics/layout.hpp"

namespace tessera::compiler {

struct Walk::Group {
  struct Buffer {
    LineRange range{-1, 0};
    SramView view;
    int chunks_left = 0;  // that touch it
  };
  struct Member {
    LayerPlan plan;
    ConstantTile whole, constants;
    bool loaded = false;
    int chunks_left = 0;
    LayerNote note;
  };
  GroupTrace trace;
  std::vector<Buffer> buffers;  // as trace.buffers
  std::vector<Member> members;  // by layer
};

Walk::Walk(const LayerGraph& graph, const Constants& constants, const WalkChoices& choices, UnitCost& cost,
           bool nhwc_inputs)
    : graph_(graph),
      constants_(constants),
      choices_(choices),
      cost_(cost),
      chip_(cost.chip()),
      nhwc_inputs_(nhwc_inputs),
      roots_(graph.roots.size()) {
  const std::int64_t bank_lines = chip_.sram.size_bytes / chip_.sram.line_bytes;
  for (std::int64_t core = 0; core < chip_.cores; ++core)
    spaces_.emplace_back(chip_.sram.banks * bank_lines, bank_lines);
}

Walk::~Walk() = default;

void Walk::group(const GroupPlan& plan) {
  group_ = std::make_unique<Group>();
  open_group(plan);
  const std::int64_t images = graph_.layers[static_cast<std::size_t>(plan.first)].out.n;
  for (std::int64_t n = 0; n < images; ++n) {
    for (const GroupChunk& chunk : group_->trace.chunks) {
      group_chunk(plan, chunk, n);
      finish_chunk(plan, chunk);
    }
  }
  for (Group::Member& member : group_->members) notes.push_back(member.note);
  group_.reset();
}

/// Places the maps and buffers and counts their uses.
void Walk::open_group(const GroupPlan& plan) {
  Group& g = *group_;
  g.trace = trace_group(graph_, plan, choices_.spilled);
  g.members.resize(static_cast<std::size_t>(plan.end - plan.first));
  const auto root_of = [&](int value) { return graph_.values[static_cast<std::size_t>(value)].root; };
  const auto place = [&](int root) {
    const LineBuffer* buffer = g.trace.buffer_of(root);
    place_root(plan.first, root, buffer == nullptr || buffer->leaves);
  };
  for (int id = plan.first; id < plan.end; ++id) {
    const Layer& l = graph_.layers[static_cast<std::size_t>(id)];
    for (const int t : l.inputs) place(root_of(t));
    const std::vector<int>& over = g.trace.in_place;
    if (std::find(over.begin(), over.end(), id) != over.end()) write_over(id);
    place(l.output_root);
  }
  for (const LineBuffer& b : g.trace.buffers) {
    const Root& root = graph_.roots[static_cast<std::size_t>(b.root)];
    Group::Buffer buffer;
    const std::int64_t lines = buffer_lines(root, b.rows, chip_);
    buffer.range = take(plan.first, 0, lines, choices_.packed ? Fit::low : Fit::apart, "rows of " + root.name);
    buffer.view.line = buffer.range.first;
    buffer.view.row_lines = ceil_div(root.shape.w, semantics::pixels_per_line(chip_));
    buffer.view.block_lines = buffer.view.row_lines * b.rows;
    buffer.view.wrap_rows = b.rows < root.shape.h ? b.rows : 0;
    g.buffers.push_back(buffer);
  }
  const std::int64_t images = graph_.layers[static_cast<std::size_t>(plan.first)].out.n;
  for (const GroupChunk& chunk : g.trace.chunks) {
    const auto touch = [&](int root) {
      for (std::size_t i = 0; i < g.buffers.size(); ++i) {
        if (g.trace.buffers[i].root == root) g.buffers[i].chunks_left += static_cast<int>(images);
      }
    };
    touch(chunk.root);
    if (chunk.load) continue;
    Group::Member& member = g.members[static_cast<std::size_t>(chunk.layer - plan.first)];
    member.chunks_left += static_cast<int>(images);
    for (const int t : graph_.layers[static_cast<std::size_t>(chunk.layer)].inputs) touch(root_of(t));
    member.note.row_tiles += images;
    member.note.tile_rows = std::max(member.note.tile_rows, chunk.rows.count());
  }
}

/// How the engines share all chunks of the layer: as is best for one in the middle.
EngineSplit Walk::member_split(const GroupPlan& plan, const Layer& l, int id) {
  if (l.kind != LayerKind::conv) return EngineSplit::none;
  const std::int64_t rows = chunk_rows(plan, l, id);
  const std::int64_t first = (l.out.h - rows) / 2;
  return best_split(l, graph_, {0, {first, first + rows}, {0, l.out.c}}, cost_).split;
}

void Walk::group_chunk(const GroupPlan& plan, const GroupChunk& chunk, std::int64_t n) {
  Group& g = *group_;
  const auto view_of = [&](int root) {
    for (std::size_t i = 0; i < g.buffers.size(); ++i) {
      if (g.trace.buffers[i].root == root) return g.buffers[i].view;
    }
    return resident_view(root, n);
  };
  if (chunk.load) {
    const Root& root = graph_.roots[static_cast<std::size_t>(chunk.root)];
    // REORDER lays the first half of an image's rows, which LOAD brings as they lie, while LOAD lays the second.
    Rows rest = chunk.rows;
    if (root.imported && rest.count() > 1) {
      const Rows half{rest.first, rest.first + rest.count() / 2};
      if (import_reordered(chunk.layer, chunk.root, n, half, view_of(chunk.root))) {
        rest.first = half.end;
      }
    }
    load_rows(chunk.layer, 0, chunk.root, n, rest, {0, root.shape.c}, view_of(chunk.root), false);
    return;
  }
  const int id = chunk.layer;
  const Layer& l = graph_.layers[static_cast<std::size_t>(id)];
  Group::Member& member = g.members[static_cast<std::size_t>(id - plan.first)];
  const Rows channels{0, l.out.c};
  if (!member.loaded) {
    member.loaded = true;
    member.plan.params_whole = true;
    member.plan.split = member_split(plan, l, id);
    member.whole = load_whole(id, 0, member.plan, channels);
    member.constants = load_constants(id, 0, member.plan, channels, &member.whole);
    import_resident(id);
    member.note.layer = static_cast<std::uint16_t>(id);
    member.note.tile_channels = l.out.c;
    member.note.channel_tiles = 1;
    member.note.channels_outer = true;
    member.note.resident_output = resident(l.output_root);
    member.note.output_address = view_of(l.output_root).line * chip_.sram.line_bytes;
  }
  const Tile tile{n, chunk.rows, channels};
  if (l.kind == LayerKind::conv) {
    const EngineSplit split = member.plan.split;
    member.note.estimate += static_cast<Cycles>(split_cycles(l, graph_, tile, split, cost_));
    member.note.split = split == EngineSplit::rows ? "rows" : split == EngineSplit::channels ? "channels" : "none";
  } else {
    member.note.split = "none";
    member.note.estimate += cost_.edp(edp_geometry(l, graph_, tile));
  }
  std::vector<SramView> in;
  in.reserve(l.inputs.size());
  for (const int t : l.inputs) in.push_back(view_of(graph_.values[static_cast<std::size_t>(t)].root));
  const SramView out = view_of(l.output_root);
  stagger_ = choices_.stagger;
  body(id, 0, member.plan, tile, in, out, member.constants);
  store_tile(id, 0, tile, out);
}

/// Releases what the chunk was the last to use.
void Walk::finish_chunk(const GroupPlan& plan, const GroupChunk& chunk) {
  Group& g = *group_;
  const auto drop = [&](int root) {
    for (std::size_t i = 0; i < g.buffers.size(); ++i) {
      if (g.trace.buffers[i].root == root && --g.buffers[i].chunks_left == 0) release(0, g.buffers[i].range);
    }
  };
  drop(chunk.root);
  if (chunk.load) return;
  const Layer& l = graph_.layers[static_cast<std::size_t>(chunk.layer)];
  for (const int t : l.inputs) drop(graph_.values[static_cast<std::size_t>(t)].root);
  Group::Member& member = g.members[static_cast<std::size_t>(chunk.layer - plan.first)];
  if (--member.chunks_left > 0) return;
  for (ConstantTile::Weights& part : member.constants.weights) release(0, part.range);
  release(0, member.whole.params);
  release(0, member.whole.table);
}

}  // namespace tessera::compiler
