// Fusion groups as instructions: the part of Walk that runs a group's chunks in their order. Line buffers live from the
// group's begin to their last use, weights from their layer's first rows to its last: what is released early makes room
// for the next layers' weights, which LOAD then fetches ahead.
#include <algorithm>

#include "compiler/schedule/group_buffers.hpp"
#include "compiler/schedule/map_order.hpp"
#include "compiler/schedule/walk.hpp"
#include "hw/common/error.hpp"
#include "hw/common/units.hpp"
#include "isa/semantics/layout.hpp"

namespace tessera::compiler {

struct Walk::GroupPiece {
  Region region;
  GroupTrace trace;
};

/// What a core does of the group: its pieces one behind the other in the same buffers.
struct Walk::GroupPart {
  struct Member {
    LayerPlan plan;
    ConstantTile whole, constants;
    bool loaded = false;
    int chunks_left = 0;
    bool streamed = false;           // weights
    std::vector<Rows> weight_parts;  // output channels whose weights are there at a time
    LayerNote note;
  };
  std::uint8_t core = 0;
  std::vector<GroupPiece> pieces;
  std::vector<Member> members;  // by layer
  // Of one image: a range for each buffer of the trace, until its last chunk. Of several: one for each image of a turn.
  std::vector<LineRange> ranges;
  std::vector<int> chunks_left;  // by buffer: of one image
  std::int64_t line_banks = 0;   // Placement
  BufferLayout layout;           // of several images
  [[nodiscard]] std::size_t buffer_of(int root) const {
    const std::vector<LineBuffer>& buffers = pieces.front().trace.buffers;
    std::size_t i = 0;
    while (i < buffers.size() && buffers[i].root != root) ++i;
    return i;
  }
};

/// A chunk of a piece, of the images of a turn.
struct Walk::GroupStep {
  std::size_t piece = 0, chunk = 0;
  std::int64_t turn = 0;
};

struct Walk::Group {
  std::int64_t images = 1, turns = 1;
  std::vector<GroupPart> parts;  // by core
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
  const std::int64_t bank_lines = semantics::bank_lines(chip_);
  for (std::int64_t core = 0; core < chip_.cores; ++core)
    spaces_.emplace_back(chip_.sram.banks * bank_lines, bank_lines, graph.placement.banks);
}

Walk::~Walk() = default;

void Walk::group(const GroupPlan& plan) {
  group_ = std::make_unique<Group>();
  open_group(plan);
  std::vector<GroupPart>& parts = group_->parts;
  std::vector<std::vector<GroupStep>> steps;
  for (const GroupPart& part : parts) steps.push_back(group_steps(plan, part));
  std::vector<std::size_t> at(parts.size(), 0);
  const auto done = [&](std::size_t p) { return static_cast<double>(at[p]) / static_cast<double>(steps[p].size()); };
  for (;;) {  // cores side by side
    std::size_t next = 0;
    for (std::size_t p = 1; p < parts.size(); ++p) next = done(p) < done(next) ? p : next;
    if (at[next] == steps[next].size()) break;
    const GroupTrace& trace = parts[next].pieces.front().trace;
    if (at[next] == trace.front && trace.front > 0 && trace.front == trace.tail) {  // weights in front of others' rows
      for (int id = plan.first; id < plan.end; ++id) open_member(plan, parts[next], id);
    }
    group_images(plan, parts[next], steps[next][at[next]]);
    ++at[next];
  }
  for (GroupPart& part : parts) {
    for (LineRange& range : part.ranges) release(part.core, range);
    for (int id = plan.first; id < plan.end; ++id) {
      LayerNote& note = part.members[static_cast<std::size_t>(id - plan.first)].note;
      note.places = places(id, part.pieces.front().trace.buffers, part.line_banks);
      if (note.weights_streamed) {
        note.places.push_back(
            detail::concat("weights: ", note.channel_tiles, " parts, loaded for each of ", note.row_tiles, " chunks"));
      } else if (constants_.layers[note.layer].layout) {
        note.places.emplace_back("weights: loaded once, from the first chunk to the last in SRAM");
      }
      notes.push_back(note);
    }
  }
  group_.reset();
}

/// Images turn by turn, with a lead the next one's front beside this one's tail; pieces one by one.
std::vector<Walk::GroupStep> Walk::group_steps(const GroupPlan& plan, const GroupPart& part) const {
  std::vector<GroupStep> steps;
  if (part.pieces.size() > 1) {
    for (std::size_t p = 0; p < part.pieces.size(); ++p) {
      for (std::size_t i = 0; i < part.pieces[p].trace.chunks.size(); ++i) steps.push_back({p, i, 0});
    }
    return steps;
  }
  const GroupTrace& trace = part.pieces.front().trace;
  const std::vector<GroupChunk>& chunks = trace.chunks;
  const std::size_t front = trace.front, tail = front == 0 ? chunks.size() : trace.tail;
  for (std::size_t i = 0; i < front; ++i) steps.push_back({0, i, 0});
  const auto cycles = [&](std::size_t first, std::size_t end) {
    std::vector<double> out;
    for (std::size_t i = first; i < end; ++i) out.push_back(chunk_weight(graph_, plan, chunks[i]));
    return out;
  };
  for (std::int64_t turn = 0; turn < group_->turns; ++turn) {
    for (std::size_t i = front; i < tail; ++i) steps.push_back({0, i, turn});
    std::size_t next = 0, rest = tail;
    for (const bool ahead : interleaved(cycles(0, turn + 1 < group_->turns ? front : 0), cycles(tail, chunks.size()))) {
      steps.push_back({0, ahead ? next++ : rest++, ahead ? turn + 1 : turn});
    }
  }
  return steps;
}

/// The chunk of all images of a turn: together, an image of each engine.
void Walk::group_images(const GroupPlan& plan, GroupPart& part, const GroupStep& step) {
  const GroupPiece& piece = part.pieces[step.piece];
  const GroupChunk& chunk = piece.trace.chunks[step.chunk];
  const Layer& l = graph_.layers[static_cast<std::size_t>(chunk.layer)];
  // Weights in front of rows, which may have to be made yet; but an input's rows are there.
  const Root& root = graph_.roots[static_cast<std::size_t>(chunk.root)];
  const bool input =
      chunk.load && root.imported && graph_.images[static_cast<std::size_t>(root.image)].kind == isa::BufferKind::input;
  if (!input) open_member(plan, part, chunk.layer);
  const EngineSplit split = part.members[static_cast<std::size_t>(chunk.layer - plan.first)].plan.split;
  const std::int64_t stride = plan.together == 1 ? group_->images : group_->turns;
  GroupPart::Member& member = part.members[static_cast<std::size_t>(chunk.layer - plan.first)];
  const bool streams = !chunk.load && member.streamed;
  const std::vector<Rows> channel_parts = chunk.load ? std::vector<Rows>{{0, l.out.c}} : member.weight_parts;
  for (const Rows& channels : channel_parts) {
    const std::int64_t tile_count = chunk.load ? 1 : tile_parts(l, {step.turn, chunk.rows, channels}, split, chip_);
    if (streams) member.constants = load_constants(chunk.layer, part.core, member.plan, channels, &member.whole);
    for (std::int64_t tile = 0; tile < tile_count; ++tile) {
      for (std::int64_t n = step.turn; n < group_->images; n += stride) {
        group_chunk(plan, part, piece, chunk, n, channels, tile);
        if (tile + 1 == tile_count && channels.end == l.out.c) finish_chunk(plan, part, chunk);
      }
    }
    if (!streams) continue;
    for (ConstantTile::Weights& weights : member.constants.weights) release(part.core, weights.range);
  }
}

/// Places the maps and buffers and counts their uses.
void Walk::open_group(const GroupPlan& plan) {
  Group& g = *group_;
  g.images = graph_.layers[static_cast<std::size_t>(plan.first)].out.n;
  g.turns = ceil_div(g.images, plan.together);
  for (std::int64_t row = 0; row < plan.cuts.rows; ++row) {
    GroupPart& part = g.parts.emplace_back();
    part.core = static_cast<std::uint8_t>(row);
    part.members.resize(static_cast<std::size_t>(plan.end - plan.first));
    // From the right, so that columns that a strip makes wrong are made right by the next, where a map stays in SRAM.
    for (std::int64_t column = plan.cuts.columns; column-- > 0;) {
      GroupPiece& piece = part.pieces.emplace_back();
      piece.region = group_region(graph_, plan, row, column, chip_);
      piece.trace = trace_group(graph_, plan, piece.region, choices_.spilled);
    }
  }
  const GroupTrace& trace = g.parts.front().pieces.front().trace;
  const auto root_of = [&](int value) { return graph_.values[static_cast<std::size_t>(value)].root; };
  const auto place = [&](int root) {
    const LineBuffer* buffer = trace.buffer_of(root);
    place_root(plan.first, root, buffer == nullptr || buffer->leaves);
  };
  for (int id = plan.first; id < plan.end; ++id) {
    const Layer& l = graph_.layers[static_cast<std::size_t>(id)];
    for (const int t : l.inputs) place(root_of(t));
    const std::vector<int>& over = trace.in_place;
    if (std::find(over.begin(), over.end(), id) != over.end()) write_over(id);
    place(l.output_root);
  }
  for (GroupPart& part : g.parts) {
    count_uses(plan, part);
    place_buffers(plan, part);
  }
}

void Walk::count_uses(const GroupPlan& plan, GroupPart& part) const {
  part.chunks_left.assign(part.pieces.front().trace.buffers.size(), 0);
  const auto touch = [&](int root) {
    const std::size_t buffer = part.buffer_of(root);
    if (buffer < part.chunks_left.size()) ++part.chunks_left[buffer];
  };
  for (const GroupPiece& piece : part.pieces) {
    for (int id = plan.first; id < plan.end; ++id) {
      LayerNote& note = part.members[static_cast<std::size_t>(id - plan.first)].note;
      note.strips = plan.cuts.columns;
      note.made_pixels += piece.region.made_by(id).pixels() * group_->images;
    }
    for (const GroupChunk& chunk : piece.trace.chunks) {
      touch(chunk.root);
      if (chunk.load) continue;
      GroupPart::Member& member = part.members[static_cast<std::size_t>(chunk.layer - plan.first)];
      member.chunks_left += static_cast<int>(group_->images);
      for (const int t : graph_.layers[static_cast<std::size_t>(chunk.layer)].inputs) {
        touch(graph_.values[static_cast<std::size_t>(t)].root);
      }
      member.note.row_tiles += group_->images;
      member.note.tile_rows = std::max(member.note.tile_rows, chunk.rows.count());
    }
  }
}

/// Each buffer by itself, or, of several images, a range of them for each image of a turn.
void Walk::place_buffers(const GroupPlan& plan, GroupPart& part) {
  const bool low = packed(plan.first);
  part.line_banks = low ? std::min<std::int64_t>(graph_.placement.line_banks, 1) : graph_.placement.line_banks;
  const GroupTrace& trace = part.pieces.front().trace;
  std::vector<BufferUse> uses = buffer_uses(graph_, trace);
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const Root& root = graph_.roots[static_cast<std::size_t>(trace.buffers[i].root)];
    for (const GroupPiece& piece : part.pieces) {
      const LineBuffer& b = piece.trace.buffers.at(i);
      uses[i].lines = std::max(uses[i].lines, line_order(root, b.rows, b.map.columns, part.line_banks, chip_).lines);
    }
    if (group_->images > 1) continue;
    part.ranges.push_back(
        take(plan.first, part.core, uses[i].lines, low ? Fit::low : Fit::apart, "rows of " + root.name));
  }
  if (group_->images == 1 || uses.empty()) return;
  const std::int64_t bank_lines = semantics::bank_lines(chip_);
  part.layout = lay_buffers(uses, trace.front, trace.tail, low ? INT64_MAX : bank_lines);
  for (std::int64_t i = 0; i < std::min(plan.together, group_->images); ++i) {
    const LineRange other = part.ranges.empty() ? LineRange{-1, 0} : part.ranges.back();
    part.ranges.push_back(
        take(plan.first, part.core, part.layout.lines, low ? Fit::low : Fit::apart, "rows of an image", other));
  }
}

SramView Walk::group_view(const GroupPart& part, const GroupPiece& piece, int index, std::int64_t n,
                          const Rows& rows) const {
  if (in_sram(index, rows)) return resident_view(index, n);
  const std::size_t i = part.buffer_of(index);
  TESSERA_CHECK(i < piece.trace.buffers.size(), "rows of a map that has no buffer");
  const LineBuffer& b = piece.trace.buffers[i];
  const Root& root = graph_.roots[static_cast<std::size_t>(b.root)];
  const MapOrder order = line_order(root, b.rows, b.map.columns, part.line_banks, chip_);
  SramView view;
  if (group_->images == 1) {
    view.line = part.ranges[i].first;
  } else {
    const bool second = part.layout.twice[i] && n % group_->turns % 2 == 1;
    view.line = part.ranges[static_cast<std::size_t>(n / group_->turns)].first + part.layout.offset[i] +
                (second ? order.lines : 0);
  }
  view.row_lines = order.row_lines;
  view.block_lines = order.block_lines;
  view.first_row = b.map.rows.first;
  if (b.map.columns.count() < root.shape.w) view.columns = b.map.columns;
  view.wrap_rows = b.rows < b.map.rows.count() ? b.rows : 0;
  return view;
}

/// The layer's constants, once.
void Walk::open_member(const GroupPlan& plan, GroupPart& part, int id) {
  GroupPart::Member& member = part.members[static_cast<std::size_t>(id - plan.first)];
  if (member.loaded) return;
  const Layer& l = graph_.layers[static_cast<std::size_t>(id)];
  const Rows channels{0, l.out.c};
  member.loaded = true;
  member.plan.params_whole = true;
  member.plan.split = member_split(plan, l, graph_, id, cost_);
  member.whole = load_whole(id, part.core, member.plan, channels);
  member.weight_parts = weight_parts(plan, l, id, chip_);
  member.streamed = plan.streams(id);
  if (!member.streamed) member.constants = load_constants(id, part.core, member.plan, channels, &member.whole);
  import_resident(id);
  member.note.layer = static_cast<std::uint16_t>(id);
  member.note.tile_channels = member.weight_parts.front().count();
  member.note.channel_tiles = static_cast<std::int64_t>(member.weight_parts.size());
  member.note.channels_outer = true;
  member.note.resident_output = resident(l.output_root);
  member.note.weights_streamed = member.streamed;
  member.note.kept_rows = kept(l.output_root).rows;
  member.note.split = split_name(member.plan.split);
}

/// Of a map, by the group's layers: the others may not be made yet, as parts of a Concat.
Rows Walk::channels_read(const GroupPlan& plan, int root) const {
  Rows channels{INT64_MAX, 0};
  for (int id = plan.first; id < plan.end; ++id) {
    for (const int t : graph_.layers[static_cast<std::size_t>(id)].inputs) {
      const Value& value = graph_.values[static_cast<std::size_t>(t)];
      if (value.root != root) continue;
      channels = {std::min(channels.first, value.first_channel),
                  std::max(channels.end, value.first_channel + value.shape.c)};
    }
  }
  return channels;
}

/// `tile_part`: of tile_parts.
void Walk::group_chunk(const GroupPlan& plan, GroupPart& part, const GroupPiece& piece, const GroupChunk& chunk,
                       std::int64_t n, const Rows& channels, std::int64_t tile_part) {
  const auto view_of = [&](int root, const Rows& rows) { return group_view(part, piece, root, n, rows); };
  if (chunk.load) {
    const Root& root = graph_.roots[static_cast<std::size_t>(chunk.root)];
    const Rows rows{std::max(chunk.rows.first, kept(chunk.root).stored_from), chunk.rows.end};
    if (rows.count() <= 0) return;
    const SramView to = view_of(chunk.root, {0, root.shape.h});
    if (root.imported) {
      import_rows(chunk.layer, part.core, chunk.root, n, rows, to);
    } else {
      load_rows(chunk.layer, part.core, chunk.root, n, rows, channels_read(plan, chunk.root), to, false);
    }
    return;
  }
  const int id = chunk.layer;
  const Layer& l = graph_.layers[static_cast<std::size_t>(id)];
  GroupPart::Member& member = part.members[static_cast<std::size_t>(id - plan.first)];
  const bool begins =
      chunk.rows.first == 0 && channels.first == 0 && tile_part == 0 && n % engine_images(l.out.n, chip_) == 0;
  if (member.note.output_address < 0) {
    member.note.output_address = view_of(l.output_root, chunk.rows).line * chip_.sram.line_bytes;
  }
  const Area& made = piece.region.made_by(id);
  Tile tile{n, chunk.rows, channels};
  if (made.columns.count() < l.out.w) tile.columns = made.columns;
  if (tile_part > 0) {
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
    in.push_back(view_of(root, operand_rows(l, i, chunk.rows)));
  }
  const SramView out = view_of(l.output_root, chunk.rows);
  // Engines with images of their own meet where both wait for the layer's weights, then go on by themselves.
  stagger_ = choices_.stagger && (!by_images(member.plan.split) || begins);
  body(id, part.core, member.plan, tile, tile_part, in, out, member.constants);
  if (tile_part + 1 < tile_parts(l, tile, member.plan.split, chip_)) return;
  const Area& own = piece.region.own[static_cast<std::size_t>(l.output_root)];
  tile.rows = {std::max(tile.rows.first, own.rows.first), std::min(tile.rows.end, own.rows.end)};
  if (own.columns.count() < l.out.w) tile.columns = own.columns;
  if (tile.rows.count() > 0 && own.columns.count() > 0) store_tile(id, part.core, tile, out);
}

/// Releases what the chunk was the last to use.
void Walk::finish_chunk(const GroupPlan& plan, GroupPart& part, const GroupChunk& chunk) {
  const auto drop = [&](int root) {
    const std::size_t index = part.buffer_of(root);
    if (group_->images > 1 || index == part.ranges.size() || --part.chunks_left[index] > 0) return;
    release(part.core, part.ranges[index]);
  };
  drop(chunk.root);
  if (chunk.load) return;
  const Layer& l = graph_.layers[static_cast<std::size_t>(chunk.layer)];
  for (const int t : l.inputs) drop(graph_.values[static_cast<std::size_t>(t)].root);
  GroupPart::Member& member = part.members[static_cast<std::size_t>(chunk.layer - plan.first)];
  if (--member.chunks_left > 0) return;
  for (ConstantTile::Weights& weights : member.constants.weights) release(part.core, weights.range);
  release(part.core, member.whole.params);
  release(part.core, member.whole.table);
}

}  // namespace tessera::compiler
