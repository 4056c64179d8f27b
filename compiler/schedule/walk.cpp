#include "compiler/schedule/walk.hpp"

#include <algorithm>
#include <cmath>

#include "compiler/schedule/dma_pieces.hpp"
#include "compiler/schedule/map_order.hpp"
#include "hw/common/error.hpp"
#include "hw/common/units.hpp"
#include "isa/semantics/layout.hpp"

namespace tessera::compiler {
namespace {

std::uint8_t base_of(isa::BufferKind kind) { return isa::base_register_of(kind); }

struct ImageRows {
  std::int64_t n = 0;
  Rows rows;
  std::int64_t part = 0;  // of tile_parts
  bool last = true;       // part
};

/// All images' row tiles, with these channels, in the order in which they are made: image after image, or those that
/// the engines have at a time side by side.
std::vector<ImageRows> image_rows(const Layer& layer, const std::vector<Rows>& row_tiles, const Rows& channels,
                                  EngineSplit split, const isa::ChipConfig& chip) {
  std::vector<ImageRows> order;
  const std::int64_t stride = by_images(split) ? engine_images(layer.out.n, chip) : layer.out.n;
  for (std::int64_t first = 0; first < stride; ++first) {
    for (const Rows& rows : row_tiles) {
      const std::int64_t parts = tile_parts(layer, {first, rows, channels}, split, chip);
      for (std::int64_t part = 0; part < parts; ++part) {
        for (std::int64_t n = first; n < layer.out.n; n += stride) order.push_back({n, rows, part, part + 1 == parts});
      }
    }
  }
  return order;
}

}  // namespace

isa::Traffic image_traffic(const Image& image) {
  if (image.host) return isa::Traffic::host;
  switch (image.kind) {
    case isa::BufferKind::weights:
      return isa::Traffic::weights;
    case isa::BufferKind::input:
      return isa::Traffic::input;
    case isa::BufferKind::output:
      return isa::Traffic::output;
    case isa::BufferKind::scratch:
    case isa::BufferKind::instructions:
      break;
  }
  return isa::Traffic::spill;
}

DramMap Walk::image_map(const Image& image, const MapShape& shape, bool channels_last) const {
  const bool nhwc = channels_last || (nhwc_inputs_ && image.kind == isa::BufferKind::input);
  return {base_of(image.kind), static_cast<std::int64_t>(image.offset), shape, nhwc};
}

std::string tile_text(const Tile& tile, const Layer& layer) {
  std::string text = detail::concat("rows ", tile.rows.first, "..", tile.rows.end - 1);
  if (tile.channels.count() != layer.out.c) {
    text += detail::concat(", channels ", tile.channels.first, "..", tile.channels.end - 1);
  }
  if (layer.out.n > 1) text += detail::concat(", image ", tile.n);
  return text;
}

void Walk::run() {
  const int layers = static_cast<int>(graph_.layers.size());
  auto next_group = choices_.groups.begin();
  for (int id = 0; id < layers;) {
    const int first = id;
    if (graph_.boundaries.count(id) != 0 && !sections.empty()) sections.emplace_back();
    if (next_group != choices_.groups.end() && next_group->first == id) {
      group(*next_group);
      id = next_group->end;
      ++next_group;
    } else {
      run_one(id++);
    }
    for (std::size_t r = 0; r < roots_.size(); ++r) {
      const int last = graph_.roots[r].last_layer;
      if (roots_[r].placed && !roots_[r].lent && last >= first && last < id) release(0, roots_[r].range);
    }
  }
  for (const SramSpace& space : spaces_) sram_peak_lines = std::max(sram_peak_lines, space.peak_lines());
}

Walk::Cost Walk::cost() const {
  std::vector<std::size_t> part(graph_.layers.size());  // by layer: the first of its group
  for (std::size_t i = 0; i < part.size(); ++i) part[i] = i;
  for (const GroupPlan& group : choices_.groups) {
    std::fill(part.begin() + group.first, part.begin() + group.end, static_cast<std::size_t>(group.first));
  }
  std::vector<double> units(part.size(), 0), dram(part.size(), 0);
  for (const LayerNote& note : notes) units[part[note.layer]] += static_cast<double>(note.estimate);
  Cost cost;
  for (const WorkSection& section : sections) {
    for (const WorkItem& w : section.items) {
      cost.bytes += static_cast<std::int64_t>(w.useful_bytes);
      dram[part[w.layer]] += static_cast<double>(w.useful_bytes) / cost_.dram_bytes_per_cycle();
    }
  }
  for (std::size_t i = 0; i < part.size(); ++i) cost.cycles += std::max(units[i], dram[i]);
  return cost;
}

void Walk::run_one(int id) {
  switch (graph_.layers[static_cast<std::size_t>(id)].kind) {
    case LayerKind::conv:
    case LayerKind::edp:
    case LayerKind::copy:
      layer(id);
      break;
    case LayerKind::move:
      move_layer(id);
      break;
    case LayerKind::stream:
      stream_layer(id);
      break;
    case LayerKind::gemm:
      gemm_layer(id);
      break;
    case LayerKind::host:
      host(id);
      break;
  }
}

void Walk::host(int) {
  WorkSection section;
  section.host_step = host_steps_++;
  sections.push_back(std::move(section));
}

WorkItem& Walk::item(std::uint8_t core, isa::QueueId queue, int layer) {
  if (sections.empty() || sections.back().host_step >= 0) sections.emplace_back();
  ++now_;
  WorkItem w;
  w.core = core;
  w.queue = queue;
  w.layer = static_cast<std::uint16_t>(layer);
  sections.back().items.push_back(std::move(w));
  return sections.back().items.back();
}

LineRange Walk::take(int id, std::uint8_t core, std::int64_t lines, Fit fit, const std::string& what,
                     const LineRange& apart_from, std::int64_t half_lines) {
  const bool packed = choices_.fragmentation[static_cast<std::size_t>(id)] >= kPackFrom;
  if (fit == Fit::oldest && graph_.halved) fit = Fit::aside;
  const LineRange range = spaces_[core].take(lines, packed ? Fit::low : fit, apart_from, half_lines);
  if (range.first < 0) throw NoRoom{id, what, false};
  return range;
}

void Walk::release(std::uint8_t core, LineRange& range) {
  if (range.first >= 0) spaces_[core].release(range, now_);
  range = {-1, 0};
}

SramView Walk::resident_view(int root, std::int64_t n) const {
  const RootState& s = roots_[static_cast<std::size_t>(root)];
  return {s.range.first + n / s.images * s.engine_lines + n % s.images * s.image_lines, s.row_lines, s.block_lines, 0,
          0};
}

/// A move reads or writes it, all images with one stride.
bool Walk::moved(int root) const {
  return std::any_of(graph_.layers.begin(), graph_.layers.end(), [&](const Layer& l) {
    return l.kind == LayerKind::move &&
           (l.output_root == root || std::any_of(l.inputs.begin(), l.inputs.end(), [&](int t) {
              return graph_.values[static_cast<std::size_t>(t)].root == root;
            }));
  });
}

/// A layer of a group touches it: engines share chunks of it, not its halves.
bool Walk::grouped(int root) const {
  const auto touches = [&](const Layer& l) {
    return l.output_root == root || std::any_of(l.inputs.begin(), l.inputs.end(), [&](int t) {
             return graph_.values[static_cast<std::size_t>(t)].root == root;
           });
  };
  return std::any_of(choices_.groups.begin(), choices_.groups.end(), [&](const GroupPlan& group) {
    return std::any_of(graph_.layers.begin() + group.first, graph_.layers.begin() + group.end, touches);
  });
}

/// A map gets its SRAM range, or its DRAM range, before its first tile. `leaves`: if it is not in SRAM as a whole,
/// other layers read it from DRAM.
void Walk::place_root(int id, int index, bool leaves) {
  RootState& s = roots_[static_cast<std::size_t>(index)];
  if (s.placed) return;
  const Root& root = graph_.roots[static_cast<std::size_t>(index)];
  s.placed = true;
  if (resident(index)) {
    const bool low = packed(root.first_layer);
    const std::int64_t banks = low ? std::min<std::int64_t>(graph_.placement.map_banks, 1) : graph_.placement.map_banks;
    const MapOrder order = map_order(graph_, index, graph_.halved && !grouped(index), banks, chip_);
    s.row_lines = order.row_lines;
    s.block_lines = order.block_lines;
    s.image_lines = order.lines;
    s.images = engine_images(root.shape.n, chip_);
    s.engine_lines = s.images * s.image_lines;
    const std::int64_t bank_lines = semantics::bank_lines(chip_);
    if (s.images < root.shape.n && !low && !moved(index)) s.engine_lines = std::max(s.engine_lines, bank_lines);
    const std::int64_t last = (root.shape.n - 1) / s.images;  // engine
    const std::int64_t lines = last * s.engine_lines + (root.shape.n - last * s.images) * s.image_lines;
    s.range = take(id, 0, lines, low ? Fit::low : Fit::apart, root.name, {-1, 0}, order.half_lines);
    return;
  }
  if (kept(index).rows > 0) {
    s.row_lines = ceil_div(root.shape.w, semantics::pixels_per_line(chip_));
    s.block_lines = kept(index).rows * s.row_lines;
    s.image_lines = buffer_lines(root, kept(index).rows, chip_);
    s.images = root.shape.n;
    s.range =
        take(id, 0, s.images * s.image_lines, packed(root.first_layer) ? Fit::low : Fit::apart, "rows of " + root.name);
  }
  if (!root.imported && root.read && leaves && kept(index).stored_from < root.shape.h) {
    s.dram_offset = round_up<std::int64_t>(scratch_bytes, 256);
    scratch_bytes = s.dram_offset + blocked_bytes(root.shape, chip_);
  }
}

/// The layer's result takes the SRAM of an operand that dies with it, where both stay as a whole.
void Walk::write_over(int id) {
  const Layer& l = graph_.layers[static_cast<std::size_t>(id)];
  const int operand = overwritten_operand(graph_, id);
  if (!choices_.in_place[static_cast<std::size_t>(id)] || operand < 0) return;
  const int from = graph_.values[static_cast<std::size_t>(l.inputs[static_cast<std::size_t>(operand)])].root;
  RootState& in = roots_[static_cast<std::size_t>(from)];
  RootState& out = roots_[static_cast<std::size_t>(l.output_root)];
  if (!resident(from) || !resident(l.output_root) || out.placed) return;
  out = in;
  in.lent = true;
}

void Walk::place_output(int id) {
  const Layer& l = graph_.layers[static_cast<std::size_t>(id)];
  for (const int t : l.inputs) place_root(id, graph_.values[static_cast<std::size_t>(t)].root, true);
  write_over(id);
  place_root(id, l.output_root, true);
}

void Walk::layer(int id) {
  const Layer& l = graph_.layers[static_cast<std::size_t>(id)];
  place_output(id);
  const std::vector<CoreShare> shares =
      core_shares(l, graph_, constants_.layers[static_cast<std::size_t>(id)], spaces_[0].lines(), cost_);
  for (std::size_t core = 0; core < shares.size(); ++core) {
    share(id, static_cast<std::uint8_t>(core), shares[core].rows, shares[core].channels);
  }
}

LayerPlan Walk::choose_plan(int id, std::uint8_t core, const LayerSite& site) {
  const Layer& l = graph_.layers[static_cast<std::size_t>(id)];
  const int met = choices_.fragmentation[static_cast<std::size_t>(id)];
  const double slack =
      static_cast<double>(spaces_[core].free_lines()) * std::pow(0.8, met < kPackFrom ? met : met - kPackFrom);
  for (const LayerPlan& plan : layer_plans(l, graph_, constants_.layers[static_cast<std::size_t>(id)], site, cost_)) {
    if (static_cast<double>(plan.lines()) > slack) continue;
    SramSpace trial = spaces_[core];
    bool fits = true;
    for (const std::int64_t buffer : plan.buffers) {
      for (int copy = 0; copy < (plan.double_buffered ? 2 : 1); ++copy) {
        fits = fits && trial.take(buffer, met >= kPackFrom ? Fit::low : Fit::oldest).first >= 0;
      }
    }
    if (fits) return plan;
  }
  throw NoRoom{id, smallest_tile(id, site), true};
}

/// What the layer's smallest tile holds, tensor by tensor, and the SRAM in which that fits.
std::string Walk::smallest_tile(int id, LayerSite site) const {
  const Layer& l = graph_.layers[static_cast<std::size_t>(id)];
  const LayerConstants& constants = constants_.layers[static_cast<std::size_t>(id)];
  const std::int64_t line = chip_.sram.line_bytes;
  site.sram_lines = INT64_MAX / line;
  const std::vector<LayerPlan> plans = layer_plans(l, graph_, constants, site, cost_);
  if (plans.empty()) return "it has no tile";
  const LayerPlan& least = *std::min_element(
      plans.begin(), plans.end(), [](const LayerPlan& a, const LayerPlan& b) { return a.lines() < b.lines(); });
  std::vector<std::string> names;  // in the order of the plan's buffers
  for (std::size_t i = 0; i < l.inputs.size(); ++i) {
    const int root = graph_.values[static_cast<std::size_t>(l.inputs[i])].root;
    if (site.input_streamed[i]) names.push_back("rows of " + graph_.roots[static_cast<std::size_t>(root)].name);
  }
  if (constants.layout) {
    names.push_back(detail::concat("weights of ", least.tile_channels, " channels"));
    names.emplace_back("parameters");
  } else {
    if (constants.params_bytes > 0) names.emplace_back("average factors");
    if (constants.table_bytes > 0) names.emplace_back("table");
  }
  if (!site.output_resident) names.emplace_back("rows of the result");
  if (copies_weights(least.split)) names.emplace_back("copies of the weights");
  std::string text = "its smallest tile holds ";
  std::int64_t lines = 0;
  for (std::size_t i = 0; i < least.buffers.size(); ++i) {
    text += detail::concat(i == 0 ? "" : ", ", names.at(i), " (", least.buffers[i] * line, " bytes)");
    lines += least.buffers[i];
  }
  std::int64_t resident = 0;
  for (const RootState& root : roots_) resident += root.placed && !root.lent ? root.range.lines : 0;
  text += detail::concat(", ", lines * line, " bytes in all");
  if (resident > 0) text += detail::concat(", beside maps of ", resident * line, " bytes");
  const std::int64_t bank_lines = ceil_div(lines + resident, chip_.sram.banks);
  return text + detail::concat(" (sram.size_bytes=", bank_lines * line, ")");
}

void Walk::share(int id, std::uint8_t core, const Rows& rows, const Rows& channels) {
  const Layer& l = graph_.layers[static_cast<std::size_t>(id)];
  LayerSite site = layer_site(graph_, id, choices_.spilled, spaces_[core].lines());
  site.rows = rows;
  site.channels = channels;
  site.byte_cycles = choices_.byte_cycles;
  const auto share_of = [&](int root) {
    const std::int64_t all = graph_.roots[static_cast<std::size_t>(root)].shape.h;
    return 1 - static_cast<double>(kept(root).rows) / static_cast<double>(all);
  };
  for (const int t : l.inputs) site.input_share.push_back(share_of(graph_.values[static_cast<std::size_t>(t)].root));
  site.output_share = share_of(l.output_root);
  site.row_cuts = static_cast<std::int64_t>(row_tiles(id, rows, rows.count()).size()) - 1;
  const auto in_group = [&](int t) { return grouped(graph_.values[static_cast<std::size_t>(t)].root); };
  if (site.maps == MapsLie::halved &&
      (grouped(l.output_root) || std::any_of(l.inputs.begin(), l.inputs.end(), in_group))) {
    site.maps = MapsLie::whole;
  }
  const LayerPlan plan = choose_plan(id, core, site);

  const std::vector<Rows> row_tiles = this->row_tiles(id, rows, plan.tile_rows);

  LayerNote note;
  note.layer = static_cast<std::uint16_t>(id);
  note.tile_rows = plan.tile_rows;
  note.tile_channels = plan.tile_channels;
  note.row_tiles = static_cast<std::int64_t>(row_tiles.size());
  note.channel_tiles = ceil_div(channels.count(), plan.tile_channels);
  note.channels_outer = plan.channels_outer;
  note.resident_output = site.output_resident;
  note.kept_rows = kept(l.output_root).rows;
  note.split = split_name(plan.split);
  if (site.output_resident) note.output_address = resident_view(l.output_root, 0).line * chip_.sram.line_bytes;
  note.estimate = static_cast<Cycles>(plan.estimate);
  notes.push_back(note);

  std::vector<Rows> channel_tiles;
  for (std::int64_t c = channels.first; c < channels.end; c += plan.tile_channels) {
    channel_tiles.push_back({c, std::min(c + plan.tile_channels, channels.end)});
  }
  ConstantTile whole = load_whole(id, core, plan, channels);
  stagger_ = choices_.stagger;
  const auto load_operands = [&](std::int64_t n, const Rows& tile_rows, const Rows& tile_channels,
                                 std::int64_t loaded_until) {
    std::vector<Loaded> operands;
    const Rows in_channels = input_channels(l, tile_channels);
    for (std::size_t i = 0; i < l.inputs.size(); ++i) {
      const bool residual = is_residual(l, i), vector = i == 1 && l.b_broadcast;
      operands.push_back(load_operand(id, core, i, n, operand_rows(l, i, tile_rows),
                                      residual ? tile_channels : in_channels, residual || vector ? 0 : loaded_until));
    }
    return operands;
  };
  const auto run_tile = [&](const ImageRows& pass, const Rows& tile_channels, std::vector<Loaded>& operands,
                            const ConstantTile& constants) {
    const Tile tile{pass.n, pass.rows, tile_channels};
    std::vector<SramView> in;
    for (const Loaded& operand_tile : operands) in.push_back(operand_tile.view);
    SramView out;
    LineRange range{-1, 0};
    if (in_sram(l.output_root, tile.rows)) {
      out = resident_view(l.output_root, tile.n);
    } else {
      const std::int64_t cb = chip_.layout.channel_block;
      out.first_row = tile.rows.first;
      out.first_block = (l.output_channel + tile.channels.first) / cb;
      out.row_lines = ceil_div(l.out.w, semantics::pixels_per_line(chip_));
      out.block_lines = out.row_lines * tile.rows.count();
      const std::int64_t blocks = ceil_div(l.output_channel + tile.channels.end, cb) - out.first_block;
      range = take(id, core, blocks * out.block_lines, Fit::oldest, "a tile of the result");
      out.line = range.first;
    }
    body(id, core, plan, tile, pass.part, in, out, constants);
    if (pass.last) store_tile(id, core, tile, out);
    release(core, range);
  };
  const auto drop = [&](std::vector<Loaded>& operands) {
    for (Loaded& operand_tile : operands) release(core, operand_tile.range);
  };
  const auto drop_constants = [&](ConstantTile& tile) {
    for (ConstantTile::Weights& part : tile.weights) release(core, part.range);
    if (!plan.params_whole) release(core, tile.params);
  };
  bool imported = false;
  const auto import_once = [&] {
    if (!imported) import_resident(id);
    imported = true;
  };
  std::vector<std::int64_t> loaded_until;  // by image
  if (plan.channels_outer || channel_tiles.size() == 1) {
    for (const Rows& tile_channels : channel_tiles) {
      ConstantTile constants = load_constants(id, core, plan, tile_channels, &whole);
      import_once();
      loaded_until.assign(static_cast<std::size_t>(l.out.n), 0);
      for (const ImageRows& pass : image_rows(l, row_tiles, tile_channels, plan.split, chip_)) {
        std::int64_t& until = loaded_until[static_cast<std::size_t>(pass.n)];
        std::vector<Loaded> operands = load_operands(pass.n, pass.rows, tile_channels, until);
        until = input_rows(l, pass.rows).end;
        run_tile(pass, tile_channels, operands, constants);
        drop(operands);
      }
      drop_constants(constants);
    }
  } else {
    import_once();
    loaded_until.assign(static_cast<std::size_t>(l.out.n), 0);
    for (const ImageRows& pass : image_rows(l, row_tiles, channels, plan.split, chip_)) {
      std::int64_t& until = loaded_until[static_cast<std::size_t>(pass.n)];
      std::vector<Loaded> operands = load_operands(pass.n, pass.rows, channels, until);
      until = input_rows(l, pass.rows).end;
      for (const Rows& tile_channels : channel_tiles) {
        ConstantTile constants = load_constants(id, core, plan, tile_channels, &whole);
        run_tile(pass, tile_channels, operands, constants);
        drop_constants(constants);
      }
      drop(operands);
    }
  }
  release(core, whole.params);
  release(core, whole.table);
  notes.back().places = places(id, {}, 0);
  if (!constants_.layers[static_cast<std::size_t>(id)].layout) return;
  const bool once = plan.channels_outer || channel_tiles.size() == 1;
  notes.back().places.push_back(once
                                    ? std::string("weights: loaded once, a tile's channels in SRAM")
                                    : detail::concat("weights: loaded for each of ", note.row_tiles, " tiles of rows"));
}

/// Cut where rows that stay end, of the map that the layer makes and of those that it reads.
std::vector<Rows> Walk::row_tiles(int id, const Rows& rows, std::int64_t tile_rows) const {
  const Layer& l = graph_.layers[static_cast<std::size_t>(id)];
  std::vector<std::int64_t> ends = {kept(l.output_root).rows, rows.end};
  for (std::size_t i = 0; i < l.inputs.size(); ++i) {
    const int root = graph_.values[static_cast<std::size_t>(l.inputs[i])].root;
    if (kept(root).rows > 0) ends.push_back(rows_within(l, i, kept(root).rows));
  }
  std::sort(ends.begin(), ends.end());
  std::vector<Rows> tiles;
  std::int64_t at = rows.first;
  for (const std::int64_t end : ends) {
    while (at < std::min(end, rows.end)) {
      tiles.push_back({at, std::min({at + tile_rows, end, rows.end})});
      at = tiles.back().end;
    }
  }
  return tiles;
}

/// View of operand i for rows and channels (of the operand): in place when its map is resident, else a tile from DRAM.
Walk::Loaded Walk::load_operand(int id, std::uint8_t core, std::size_t operand_index, std::int64_t n, const Rows& rows,
                                const Rows& channels, std::int64_t loaded_until) {
  const Layer& l = graph_.layers[static_cast<std::size_t>(id)];
  const Value& value = graph_.values[static_cast<std::size_t>(l.inputs[operand_index])];
  const Root& root = graph_.roots[static_cast<std::size_t>(value.root)];
  if (in_sram(value.root, rows)) return {resident_view(value.root, n), {-1, 0}};
  if (loaded_until <= kept(value.root).rows) loaded_until = 0;  // the tiles before were read where they stay
  const std::int64_t cb = chip_.layout.channel_block;
  const Rows in_root{value.first_channel + channels.first, value.first_channel + channels.end};
  Loaded tile;
  tile.view.first_row = rows.first;
  tile.view.first_block = in_root.first / cb;
  tile.view.row_lines = ceil_div(root.shape.w, semantics::pixels_per_line(chip_));
  tile.view.block_lines = tile.view.row_lines * rows.count();
  const std::int64_t blocks = ceil_div(in_root.end, cb) - tile.view.first_block;
  tile.range = take(id, core, blocks * tile.view.block_lines, Fit::oldest, "a tile of " + root.name);
  tile.view.line = tile.range.first;
  const std::int64_t fresh = std::clamp(loaded_until, rows.first, rows.end);
  load_rows(id, core, value.root, n, {rows.first, fresh}, in_root, tile.view, true);
  if (root.imported && in_root.count() == root.shape.c) {
    import_rows(id, core, value.root, n, {fresh, rows.end}, tile.view);
  } else {
    load_rows(id, core, value.root, n, {fresh, rows.end}, in_root, tile.view, false);
  }
  return tile;
}

/// LOADs of rows and channels of a map that is in DRAM, or of an image that stands for it. halo: not the first time.
void Walk::load_rows(int id, std::uint8_t core, int index, std::int64_t n, const Rows& rows, const Rows& channels,
                     const SramView& view, bool halo) {
  if (rows.count() <= 0) return;
  const Root& root = graph_.roots[static_cast<std::size_t>(index)];
  std::vector<DmaPiece> pieces;
  isa::Traffic kind = isa::Traffic::spill;
  if (root.imported) {
    const Rows read = root.columns > 1 ? Rows{0, channels.count() / root.columns} : channels;
    pieces = image_pieces(source_of(root, view.columns), n, rows, read, view, 0, chip_);
    kind = image_traffic(graph_.images[static_cast<std::size_t>(root.image)]);
    fill_columns(id, core, root, rows, view);
  } else {
    DramMap map{base_of(isa::BufferKind::scratch), roots_[static_cast<std::size_t>(index)].dram_offset, root.shape};
    map.window = view.columns;
    pieces = blocked_pieces(map, n, rows, channels, view, chip_);
  }
  for (const DmaPiece& piece : pieces) {
    WorkItem& w = item(core, isa::QueueId::load, id);
    w.kind = halo ? isa::Traffic::halo : kind;
    w.useful_bytes = piece.bytes;
    w.tile = detail::concat(root.name, " rows ", rows.first, "..", rows.end - 1);
    w.body = piece.body;
  }
}

void Walk::store_tile(int id, std::uint8_t core, const Tile& tile, const SramView& out) {
  const Layer& l = graph_.layers[static_cast<std::size_t>(id)];
  const Root& root = graph_.roots[static_cast<std::size_t>(l.output_root)];
  const RootState& state = roots_[static_cast<std::size_t>(l.output_root)];
  const Rows in_root{l.output_channel + tile.channels.first, l.output_channel + tile.channels.end};
  const auto store = [&](const std::vector<DmaPiece>& pieces, isa::Traffic kind) {
    for (const DmaPiece& piece : pieces) {
      WorkItem& w = item(core, isa::QueueId::store, id);
      w.kind = kind;
      w.useful_bytes = piece.bytes;
      w.tile = tile_text(tile, l);
      w.body = as_store(piece.body);
    }
  };
  if (state.dram_offset >= 0) {
    DramMap map{base_of(isa::BufferKind::scratch), state.dram_offset, root.shape};
    map.window = tile.columns;
    const Rows stored{std::max(tile.rows.first, kept(l.output_root).stored_from), tile.rows.end};
    if (stored.count() > 0) store(blocked_pieces(map, tile.n, stored, in_root, out, chip_), isa::Traffic::spill);
  }
  for (const Value& value : graph_.values) {
    const std::vector<int>& images =
        value.images_of < 0 ? value.dram : graph_.values[static_cast<std::size_t>(value.images_of)].dram;
    if (value.root != l.output_root || images.empty()) continue;
    const Rows part{std::max(in_root.first, value.first_channel),
                    std::min(in_root.end, value.first_channel + value.shape.c)};
    if (part.count() <= 0) continue;
    for (const int index : images) {
      const Image& image = graph_.images[static_cast<std::size_t>(index)];
      DramMap map = image_map(image, value.shape, value.channels_last);
      map.window = tile.columns;
      store(image_pieces(map, tile.n, tile.rows, {part.first - value.first_channel, part.end - value.first_channel},
                         out, value.first_channel, chip_),
            image_traffic(image));
    }
  }
}

}  // namespace tessera::compiler
