// Fusion groups as instructions: the part of Walk that runs a group's chunks in their order. Line buffers live from the
// group's begin to their last use, weights from their layer's first rows to its last: what is released early makes room
// for the next layers' weights, which LOAD then fetches ahead.
#include <algorithm>

#include "compiler/schedule/group_buffers.hpp"
#include "compiler/schedule/walk.hpp"
#include "hw/common/error.hpp"
#include "hw/common/units.hpp"
#include "isa/semantics/layout.hpp"

namespace tessera::compiler {

struct Walk::Group {
  struct Member {
    LayerPlan plan;
    ConstantTile whole, constants;
    bool loaded = false;
    int chunks_left = 0;
    LayerNote note;
  };
  GroupTrace trace;
  std::int64_t images = 1, turns = 1;
  std::vector<Member> members;  // by layer
  // Of one image: a range for each buffer of the trace, until its last chunk. Of several: one for each image of a turn.
  std::vector<LineRange> ranges;
  std::vector<int> chunks_left;  // by buffer: of one image
  BufferLayout layout;           // of several images
  [[nodiscard]] std::size_t buffer_of(int root) const {
    std::size_t i = 0;
    while (i < trace.buffers.size() && trace.buffers[i].root != root) ++i;
    return i;
  }
};

Walk::Walk(const LayerGraph& graph, const Constants& constants, const WalkChoices& choices, UnitCost& cost,
           bool nhwc_inputs, std::int64_t scratch)
    : scratch_bytes(scratch),
      graph_(graph),
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
  const Group& g = *group_;
  const std::vector<GroupChunk>& chunks = g.trace.chunks;
  const std::size_t front = g.trace.front, tail = front == 0 ? chunks.size() : g.trace.tail;
  for (std::size_t i = 0; i < front; ++i) group_images(plan, chunks[i], 0);
  if (front == tail) {  // weights in front of the next images' rows
    for (int id = plan.first; id < plan.end; ++id) open_member(plan, id);
  }
  const auto cycles = [&](std::size_t first, std::size_t end) {
    std::vector<double> out;
    for (std::size_t i = first; i < end; ++i) out.push_back(chunk_weight(graph_, plan, chunks[i]));
    return out;
  };
  for (std::int64_t turn = 0; turn < g.turns; ++turn) {
    for (std::size_t i = front; i < tail; ++i) group_images(plan, chunks[i], turn);
    std::size_t next = 0, rest = tail;
    for (const bool ahead : interleaved(cycles(0, turn + 1 < g.turns ? front : 0), cycles(tail, chunks.size()))) {
      group_images(plan, chunks[ahead ? next++ : rest++], ahead ? turn + 1 : turn);
    }
  }
  for (LineRange& range : group_->ranges) release(0, range);
  for (Group::Member& member : group_->members) notes.push_back(member.note);
  group_.reset();
}

/// The chunk of all images of a turn: together, an image of each engine.
void Walk::group_images(const GroupPlan& plan, const GroupChunk& chunk, std::int64_t turn) {
  const Layer& l = graph_.layers[static_cast<std::size_t>(chunk.layer)];
  // Weights in front of rows, which may have to be made yet; but an input's rows are there.
  const Root& root = graph_.roots[static_cast<std::size_t>(chunk.root)];
  const bool input =
      chunk.load && root.imported && graph_.images[static_cast<std::size_t>(root.image)].kind == isa::BufferKind::input;
  if (!input) open_member(plan, chunk.layer);
  const EngineSplit split = group_->members[static_cast<std::size_t>(chunk.layer - plan.first)].plan.split;
  const std::int64_t parts = chunk.load ? 1 : tile_parts(l, {turn, chunk.rows, {0, l.out.c}}, split, chip_);
  const std::int64_t stride = plan.together == 1 ? group_->images : group_->turns;
  for (std::int64_t part = 0; part < parts; ++part) {
    for (std::int64_t n = turn; n < group_->images; n += stride) {
      group_chunk(plan, chunk, n, part);
      if (part + 1 == parts) finish_chunk(plan, chunk);
    }
  }
}

/// Places the maps and buffers and counts their uses.
void Walk::open_group(const GroupPlan& plan) {
  Group& g = *group_;
  g.trace = trace_group(graph_, plan, choices_.spilled);
  g.members.resize(static_cast<std::size_t>(plan.end - plan.first));
  g.images = graph_.layers[static_cast<std::size_t>(plan.first)].out.n;
  g.turns = ceil_div(g.images, plan.together);
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
  g.chunks_left.assign(g.trace.buffers.size(), 0);
  for (const GroupChunk& chunk : g.trace.chunks) {
    const auto touch = [&](int root) {
      const std::size_t buffer = g.buffer_of(root);
      if (buffer < g.chunks_left.size()) ++g.chunks_left[buffer];
    };
    touch(chunk.root);
    if (chunk.load) continue;
    Group::Member& member = g.members[static_cast<std::size_t>(chunk.layer - plan.first)];
    member.chunks_left += static_cast<int>(g.images);
    for (const int t : graph_.layers[static_cast<std::size_t>(chunk.layer)].inputs) touch(root_of(t));
    member.note.row_tiles += g.images;
    member.note.tile_rows = std::max(member.note.tile_rows, chunk.rows.count());
  }
  place_buffers(plan);
}

/// Each buffer by itself, or, of several images, a range of them for each image of a turn.
void Walk::place_buffers(const GroupPlan& plan) {
  Group& g = *group_;
  const bool low = packed(plan.first);
  std::vector<BufferUse> uses = buffer_uses(graph_, g.trace);
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const LineBuffer& b = g.trace.buffers[i];
    const Root& root = graph_.roots[static_cast<std::size_t>(b.root)];
    uses[i].lines = buffer_lines(root, b.rows, chip_);
    if (g.images > 1) continue;
    g.ranges.push_back(take(plan.first, 0, uses[i].lines, low ? Fit::low : Fit::apart, "rows of " + root.name));
  }
  if (g.images == 1 || uses.empty()) return;
  const std::int64_t bank_lines = chip_.sram.size_bytes / chip_.sram.line_bytes;
  g.layout = lay_buffers(uses, g.trace.front, g.trace.tail, low ? INT64_MAX : bank_lines);
  for (std::int64_t i = 0; i < std::min(plan.together, g.images); ++i) {
    const LineRange other = g.ranges.empty() ? LineRange{-1, 0} : g.ranges.back();
    g.ranges.push_back(take(plan.first, 0, g.layout.lines, low ? Fit::low : Fit::apart, "rows of an image", other));
  }
}

SramView Walk::group_view(int index, std::int64_t n, const Rows& rows) const {
  if (in_sram(index, rows)) return resident_view(index, n);
  const Group& g = *group_;
  const std::size_t i = g.buffer_of(index);
  TESSERA_CHECK(i < g.trace.buffers.size(), "rows of a map that has no buffer");
  const LineBuffer& b = g.trace.buffers[i];
  const Root& root = graph_.roots[static_cast<std::size_t>(b.root)];
  SramView view;
  if (g.images == 1) {
    view.line = g.ranges[i].first;
  } else {
    const bool second = g.layout.twice[i] && n % g.turns % 2 == 1;
    view.line = g.ranges[static_cast<std::size_t>(n / g.turns)].first + g.layout.offset[i] +
                (second ? buffer_lines(root, b.rows, chip_) : 0);
  }
  view.row_lines = ceil_div(root.shape.w, semantics::pixels_per_line(chip_));
  view.block_lines = view.row_lines * b.rows;
  view.wrap_rows = b.rows < root.shape.h ? b.rows : 0;
  return view;
}

/// The layer's constants, once.
void Walk::open_member(const GroupPlan& plan, int id) {
  Group::Member& member = group_->members[static_cast<std::size_t>(id - plan.first)];
  if (member.loaded) return;
  const Layer& l = graph_.layers[static_cast<std::size_t>(id)];
  const Rows channels{0, l.out.c};
  member.loaded = true;
  member.plan.params_whole = true;
  member.plan.split = member_split(plan, l, graph_, id, cost_);
  member.whole = load_whole(id, 0, member.plan, channels);
  member.constants = load_constants(id, 0, member.plan, channels, &member.whole);
  import_resident(id);
  member.note.layer = static_cast<std::uint16_t>(id);
  member.note.tile_channels = l.out.c;
  member.note.channel_tiles = 1;
  member.note.channels_outer = true;
  member.note.resident_output = resident(l.output_root);
  member.note.kept_rows = kept(l.output_root).rows;
  member.note.split = split_name(member.plan.split);
}

void Walk::group_chunk(const GroupPlan& plan, const GroupChunk& chunk, std::int64_t n, std::int64_t part) {
  Group& g = *group_;
  if (chunk.load) {
    const Root& root = graph_.roots[static_cast<std::size_t>(chunk.root)];
    const Rows rows{std::max(chunk.rows.first, kept(chunk.root).stored_from), chunk.rows.end};
    if (rows.count() <= 0) return;
    const SramView to = group_view(chunk.root, n, {0, root.shape.h});
    if (root.imported) {
      import_rows(chunk.layer, 0, chunk.root, n, rows, to);
    } else {
      load_rows(chunk.layer, 0, chunk.root, n, rows, {0, root.shape.c}, to, false);
    }
    return;
  }
  const int id = chunk.layer;
  const Layer& l = graph_.layers[static_cast<std::size_t>(id)];
  Group::Member& member = g.members[static_cast<std::size_t>(id - plan.first)];
  const Rows channels{0, l.out.c};
  const bool begins = chunk.rows.first == 0 && part == 0 && n % engine_images(l.out.n, chip_) == 0;
  if (member.note.output_address < 0) {
    member.note.output_address = group_view(l.output_root, n, chunk.rows).line * chip_.sram.line_bytes;
  }
  const Tile tile{n, chunk.rows, channels};
  if (part > 0) {
    // counted with the first
  } else if (l.kind == LayerKind::conv) {
    member.note.estimate += static_cast<Cycles>(split_cycles(l, graph_, tile, member.plan.split, cost_));
  } else {
    member.note.estimate += cost_.edp(edp_geometry(l, graph_, tile));
  }
  std::vector<SramView> in;
  in.reserve(l.inputs.size());
  for (std::size_t i = 0; i < l.inputs.size(); ++i) {
    const int root = graph_.values[static_cast<std::size_t>(l.inputs[i])].root;
    in.push_back(group_view(root, n, operand_rows(l, i, chunk.rows)));
  }
  const SramView out = group_view(l.output_root, n, chunk.rows);
  // Engines with images of their own meet where both wait for the layer's weights, then go on by themselves.
  stagger_ = choices_.stagger && (!by_images(member.plan.split) || begins);
  body(id, 0, member.plan, tile, part, in, out, member.constants);
  if (part + 1 == tile_parts(l, tile, member.plan.split, chip_)) store_tile(id, 0, tile, out);
}

/// Releases what the chunk was the last to use.
void Walk::finish_chunk(const GroupPlan& plan, const GroupChunk& chunk) {
  Group& g = *group_;
  const auto drop = [&](int root) {
    const std::size_t index = g.buffer_of(root);
    if (g.images > 1 || index == g.ranges.size() || --g.chunks_left[index] > 0) return;
    release(0, g.ranges[index]);
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
