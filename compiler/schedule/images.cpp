// Layers without tiles of maps: moves by REORDER inside SRAM, moves between DRAM images, products on the GEMM unit.
#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

#include "compiler/schedule/move_nest.hpp"
#include "compiler/schedule/walk.hpp"
#include "hw/common/error.hpp"
#include "hw/common/units.hpp"
#include "isa/semantics/layout.hpp"

namespace tessera::compiler {
namespace {

constexpr std::int64_t kMoveInstructions = 32;  // of a move in SRAM; it is cut into tiles as long as it has fewer
constexpr std::int64_t kTilesAhead = 4;         // a tile takes at most this part of the SRAM that is free
constexpr std::int64_t kLeastTiles = 4;         // of a batch, so that LOAD, GEMM and STORE overlap
constexpr std::int64_t kFillBytes = 64 * 1024;  // of the constant that padding is stored from

/// What a tile of a product costs depends on; not where its operands lie.
isa::Gemm gemm_shape(const Layer& layer, std::int64_t batches, std::int64_t m, std::int64_t n) {
  isa::Gemm gemm;
  gemm.trans_a = layer.trans_a;
  gemm.trans_b = layer.trans_b;
  gemm.per_column = per_column(*layer.node);
  put(gemm.m, m);
  put(gemm.n, n);
  put(gemm.k, layer.node->k);
  put(gemm.batch, batches);
  return gemm;
}

}  // namespace

void Walk::linear_dma(int id, const Image& image, const std::vector<DmaPiece>& pieces, bool store,
                      const std::string& tile) {
  for (const DmaPiece& piece : pieces) {
    WorkItem& w = item(0, store ? isa::QueueId::store : isa::QueueId::load, id);
    w.kind = image_traffic(image);
    w.useful_bytes = piece.bytes;
    w.tile = tile;
    if (store) {
      w.body = as_store(piece.body);
    } else {
      w.body = piece.body;
    }
  }
}

/// Lines of a tile of `rows` rows of a map.
std::int64_t Walk::tile_lines(const MapShape& shape, std::int64_t rows) const {
  return ceil_div(shape.c, chip_.layout.channel_block) * rows * ceil_div(shape.w, semantics::pixels_per_line(chip_));
}

/// Most moves have another way; without one, other maps have to go.
void Walk::no_place_for_move(int id, const Layer& layer, const std::string& what) {
  if (layer.only_reorder) throw NoRoom{id, what};
  throw MoveThroughDram{layer.node->name};
}

/// How many output rows at a time: few tiles, so that neighbours on other units overlap, and small enough for what
/// does not stay in SRAM. 0: the whole map at once.
std::int64_t Walk::move_rows(int id, const std::vector<MoveBox>& boxes) const {
  const Layer& l = graph_.layers[static_cast<std::size_t>(id)];
  const auto shape_of = [&](int input) -> const MapShape& {
    return graph_.values[static_cast<std::size_t>(l.inputs[static_cast<std::size_t>(input)])].shape;
  };
  const auto stays = [&](int input) {
    return resident(graph_.values[static_cast<std::size_t>(l.inputs[static_cast<std::size_t>(input)])].root);
  };
  bool all_stay = resident(l.output_root);
  std::int64_t granule = 1;
  for (const MoveBox& box : boxes) {
    const std::int64_t own = row_granule(box, l.out);
    granule = own == 0 ? 0 : granule == 0 ? 0 : std::lcm(granule, own);
    all_stay = all_stay && stays(box.input);
  }
  if (granule == 0) {
    if (all_stay) return 0;
    no_place_for_move(id, l, "it moves all rows at once, and not all of its maps stay");
  }
  const auto lines_of = [&](std::int64_t height) {  // of the largest tile
    std::int64_t most = 0;
    for (std::int64_t first = 0; first < l.out.h; first += height) {
      const Rows rows{first, std::min(first + height, l.out.h)};
      std::int64_t lines = resident(l.output_root) ? 0 : tile_lines(l.out, rows.count());
      std::vector<Rows> read(l.inputs.size());
      for (const MoveBox& box : boxes) {
        const auto part = clip(box, l.out, 0, rows);
        if (!part || stays(box.input)) continue;
        const SourceRows source = source_rows(*part, shape_of(box.input));
        if (!source.one_image) no_place_for_move(id, l, "its rows come from several images");
        Rows& all = read[static_cast<std::size_t>(box.input)];
        all = all.count() == 0 ? source.rows
                               : Rows{std::min(all.first, source.rows.first), std::max(all.end, source.rows.end)};
      }
      for (std::size_t i = 0; i < read.size(); ++i) lines += tile_lines(shape_of(static_cast<int>(i)), read[i].count());
      most = std::max(most, lines);
    }
    return most;
  };
  const std::int64_t units = ceil_div(l.out.h, granule);
  std::int64_t tiles = std::clamp<std::int64_t>(kMoveInstructions / static_cast<std::int64_t>(boxes.size()), 1, 4);
  if (all_stay) return ceil_div(units, std::min(tiles, units)) * granule;
  const std::int64_t free = spaces_[0].largest_free();
  for (tiles = 1; tiles <= units; tiles = tiles < 16 ? tiles + 1 : tiles * 5 / 4) {
    const std::int64_t height = ceil_div(units, tiles) * granule;
    if (lines_of(height) * 3 <= free) return height;
  }
  const std::int64_t least = lines_of(granule);
  if (least <= free) return granule;
  no_place_for_move(id, l,
                    "its smallest tile holds " + std::to_string(least * chip_.sram.line_bytes) + " bytes of maps; " +
                        std::to_string(free * chip_.sram.line_bytes) + " are free");
}

/// REORDER between maps, by rows of the output; maps that are in DRAM pass through tiles.
void Walk::move_layer(int id) {
  const Layer& l = graph_.layers[static_cast<std::size_t>(id)];
  const QNode& node = *l.node;
  const std::int64_t line = chip_.sram.line_bytes;
  const std::int64_t cb = chip_.layout.channel_block;
  const auto value_of = [&](int input) -> const Value& {
    return graph_.values[static_cast<std::size_t>(l.inputs[static_cast<std::size_t>(input)])];
  };
  place_output(id);
  std::vector<MoveBox> boxes;
  for (const QMove& piece : node.pieces) {
    const auto box = move_box(piece, value_of(piece.input).shape, l.out, chip_);
    TESSERA_CHECK(box.has_value(), node.name, ": a piece that is not affine on its maps");
    boxes.push_back(*box);
  }
  const std::int64_t height = move_rows(id, boxes);
  import_resident(id);
  LayerNote note;
  note.layer = static_cast<std::uint16_t>(id);
  note.tile_rows = height == 0 ? l.out.h : height;
  note.tile_channels = l.out.c;
  note.row_tiles = ceil_div(l.out.h, note.tile_rows);
  note.channel_tiles = 1;
  note.resident_output = resident(l.output_root);
  note.split = "none";
  if (note.resident_output) note.output_address = resident_view(l.output_root, 0).line * line;
  // Place of a map of which a view holds some rows and blocks of image n.
  const auto place = [&](const SramView& view, const MapShape& shape, std::int64_t first_channel, std::int64_t n,
                         std::int64_t image_lines) {
    MapPlace p;
    p.shape = shape;
    p.first_channel = first_channel;
    p.image_bytes = image_lines * line;
    p.block_bytes = view.block_lines * line;
    p.row_bytes = view.row_lines * line;
    p.base = view.line * line - view.first_block * p.block_bytes - view.first_row * p.row_bytes - n * p.image_bytes;
    return p;
  };
  const auto emit = [&](const std::vector<isa::Reorder>& instructions, const std::string& text) {
    for (const isa::Reorder& r : instructions) {
      note.estimate += cost_.reorder(r);
      WorkItem& w = item(0, isa::QueueId::reorder, id);
      w.tile = text;
      w.body = r;
    }
  };
  const auto run = [&](const std::vector<MoveBox>& parts, std::int64_t n, const Rows& rows, bool whole) {
    const std::string text = detail::concat("rows ", rows.first, "..", rows.end - 1);
    // 1. Operands in place or from DRAM.
    std::vector<Loaded> operands(l.inputs.size());
    std::vector<MapPlace> from(l.inputs.size());
    for (std::size_t i = 0; i < l.inputs.size(); ++i) {
      const Value& value = value_of(static_cast<int>(i));
      Rows read{0, 0};
      std::int64_t image = 0;
      for (const MoveBox& box : parts) {
        if (box.input != static_cast<int>(i)) continue;
        const SourceRows source = source_rows(box, value.shape);
        image = source.n;
        read = read.count() == 0 ? source.rows
                                 : Rows{std::min(read.first, source.rows.first), std::max(read.end, source.rows.end)};
      }
      if (read.count() == 0) continue;
      const bool stays = resident(value.root);
      if (stays) image = 0;
      operands[i] = load_operand(id, 0, i, image, read, {0, value.shape.c}, 0);
      from[i] = place(operands[i].view, value.shape, value.first_channel, image,
                      stays ? roots_[static_cast<std::size_t>(value.root)].image_lines : 0);
    }
    // 2. The result in place or in a tile.
    SramView out = resident_view(l.output_root, whole ? 0 : n);
    LineRange range{-1, 0};
    if (!resident(l.output_root)) {
      out.first_row = rows.first;
      out.first_block = l.output_channel / cb;
      out.row_lines = ceil_div(l.out.w, semantics::pixels_per_line(chip_));
      out.block_lines = out.row_lines * rows.count();
      range = take(id, 0, tile_lines(l.out, rows.count()), Fit::oldest, "a tile of the result");
      out.line = range.first;
    }
    const MapPlace to =
        place(out, l.out, l.output_channel, whole ? 0 : n,
              resident(l.output_root) ? roots_[static_cast<std::size_t>(l.output_root)].image_lines : 0);
    // 3. Copies.
    if (!covers(node, l.out.elements())) {
      for (std::int64_t i = whole ? 0 : n; i < (whole ? l.out.n : n + 1); ++i) {
        emit(reorder_fill(to, i, rows, node.fill, chip_), text + ", fill");
      }
    }
    for (const MoveBox& box : parts) {
      emit(reorder_box(box, from[static_cast<std::size_t>(box.input)], to, cost_), text);
    }
    for (std::int64_t i = whole ? 0 : n; i < (whole ? l.out.n : n + 1); ++i) {
      store_tile(id, 0, {i, rows, {0, l.out.c}}, whole ? resident_view(l.output_root, i) : out);
    }
    for (Loaded& operand : operands) release(0, operand.range);
    release(0, range);
  };
  if (height == 0) {
    run(boxes, 0, {0, l.out.h}, true);
  } else {
    for (std::int64_t n = 0; n < l.out.n; ++n) {
      for (std::int64_t first = 0; first < l.out.h; first += height) {
        const Rows rows{first, std::min(first + height, l.out.h)};
        std::vector<MoveBox> parts;
        for (const MoveBox& box : boxes) {
          if (auto part = clip(box, l.out, n, rows)) parts.push_back(std::move(*part));
        }
        run(parts, n, rows, false);
      }
    }
  }
  notes.push_back(note);
}

/// Boxes of the move, each LOADed into a dense tile in the output's order and STOREd from it.
void Walk::stream_layer(int id) {
  const Layer& l = graph_.layers[static_cast<std::size_t>(id)];
  const QNode& node = *l.node;
  const std::int64_t line = chip_.sram.line_bytes;
  const std::vector<int>& outputs = graph_.values[static_cast<std::size_t>(l.output)].dram;
  const std::int64_t elements = l.out.elements();
  const std::int64_t budget = std::max(line, spaces_[0].largest_free() / kTilesAhead * line);
  const auto image_at = [&](int index) -> const Image& { return graph_.images[static_cast<std::size_t>(index)]; };
  const auto base = [](const Image& image) { return isa::base_register_of(image.kind); };
  if (!covers(node, elements)) {
    const std::int64_t bytes = std::min({elements, kFillBytes, budget});
    LineRange range = take(id, 0, ceil_div(bytes, line), Fit::oldest, "padding");
    isa::Reorder fill;
    fill.fill = true;
    fill.fill_value = static_cast<std::uint8_t>(node.fill);
    put(fill.dst_base, range.first * line);
    put(fill.run_bytes, line);
    for (isa::ReorderDim& dim : fill.dims) dim.count = 1;
    put(fill.dims[5].count, range.lines);
    put(fill.dims[5].dst_stride, line);
    WorkItem& w = item(0, isa::QueueId::reorder, id);
    w.tile = "padding";
    w.body = fill;
    for (const int index : outputs) {
      const Image& image = image_at(index);
      for (std::int64_t at = 0; at < elements; at += bytes) {
        linear_dma(id, image,
                   box_pieces(base(image), static_cast<std::int64_t>(image.offset) + at, range.first * line,
                              {{std::min(bytes, elements - at), 1, 1}}),
                   true, "padding");
      }
    }
    release(0, range);
  }
  for (const QMove& piece : node.pieces) {
    const Image& from = image_at(l.images[static_cast<std::size_t>(piece.input)]);
    // Tiles: one index of the outer loops, a part of the next, all of the inner ones.
    std::size_t cut = 0;
    std::int64_t inner = 1;
    for (std::size_t d = piece.count.size(); d > 0; --d) {
      if (inner * piece.count[d - 1] > budget) {
        cut = d - 1;
        break;
      }
      inner *= piece.count[d - 1];
      cut = d - 1;
    }
    const std::int64_t whole =
        std::accumulate(piece.count.begin(), piece.count.end(), std::int64_t{1}, std::multiplies<>());
    if (inner == whole) inner /= piece.count[cut];
    const std::int64_t most = std::max<std::int64_t>(1, budget / inner);
    const std::int64_t part = ceil_div(piece.count[cut], ceil_div(piece.count[cut], most));
    std::array<std::int64_t, 6> at{};
    for (;;) {
      const std::int64_t count = std::min(part, piece.count[cut] - at[cut]);
      std::int64_t src = piece.src_offset, dst = piece.dst_offset;
      for (std::size_t d = 0; d <= cut; ++d) {
        src += at[d] * piece.src_stride[d];
        dst += at[d] * piece.dst_stride[d];
      }
      std::vector<BoxLoop> load, store;
      std::int64_t dense = count * inner;
      const std::int64_t bytes = dense;
      for (std::size_t d = cut; d < 6; ++d) {
        const std::int64_t n = d == cut ? count : piece.count[d];
        dense /= n;
        load.push_back({n, piece.src_stride[d], dense});
        store.push_back({n, piece.dst_stride[d], dense});
      }
      LineRange range = take(id, 0, ceil_div(bytes, line), Fit::oldest, "a tile of the move");
      const std::string text = detail::concat("elements ", dst, "..");
      linear_dma(id, from,
                 box_pieces(base(from), static_cast<std::int64_t>(from.offset) + src, range.first * line, load), false,
                 text);
      for (const int index : outputs) {
        const Image& to = image_at(index);
        linear_dma(id, to, box_pieces(base(to), static_cast<std::int64_t>(to.offset) + dst, range.first * line, store),
                   true, text);
      }
      release(0, range);
      at[cut] += part;
      std::size_t d = cut;
      while (at[d] >= piece.count[d]) {
        at[d] = 0;
        if (d == 0) break;
        ++at[--d];
      }
      if (std::all_of(at.begin(), at.end(), [](std::int64_t i) { return i == 0; })) break;
    }
  }
}

void Walk::gemm_layer(int id) {
  const Layer& l = graph_.layers[static_cast<std::size_t>(id)];
  const QNode& node = *l.node;
  const std::int64_t line = chip_.sram.line_bytes;
  const auto lines = [&](std::int64_t bytes) { return ceil_div(bytes, line); };
  const auto needed = [&](std::int64_t batches, std::int64_t m, std::int64_t n) {
    const std::int64_t a = l.trans_a ? node.k * lines(m) : m * lines(node.k);
    const std::int64_t b = l.trans_b ? n * lines(node.k) : node.k * lines(n);
    const std::int64_t params = per_column(node) ? lines(semantics::kParamBytes * n) : 0;
    return (node.shared_a ? 1 : batches) * a + (node.shared_b || node.inputs.size() == 1 ? 1 : batches) * b +
           batches * m * lines(n) + params;
  };
  const std::int64_t free = spaces_[0].largest_free();
  std::int64_t batches = ceil_div(node.batch, kLeastTiles), m = node.m, n = node.n;
  while (needed(batches, m, n) > free / 2) {
    if (batches > 1) {
      batches = ceil_div<std::int64_t>(batches, 2);
    } else if (m > 1 && m * node.k >= n * node.k) {
      m = ceil_div<std::int64_t>(m, 2);
    } else if (n > 1) {
      n = ceil_div<std::int64_t>(n, 2);
    } else {
      break;
    }
  }
  // Twice the columns and no second buffer: the unit waits for its operands, but its columns are better filled.
  const auto time = [&](std::int64_t columns, bool alone) {
    isa::Gemm gemm = gemm_shape(l, batches, m, columns);
    const auto work = static_cast<double>(cost_.choose(gemm).value_or(0));
    const double arrives = static_cast<double>(columns * node.k) / cost_.dram_bytes_per_cycle();
    return static_cast<double>(ceil_div(node.n, columns)) * (alone ? work + arrives : std::max(work, arrives));
  };
  if (node.inputs.size() == 1 && n < node.n && needed(batches, m, 2 * n) <= free && time(2 * n, true) < time(n, false))
    n *= 2;
  const std::int64_t least = needed(batches, m, n);
  if (least > free)
    throw NoRoom{id, detail::concat("its smallest tile takes ", least * line, " bytes (operands, result)"), true};
  LayerNote note;
  note.layer = static_cast<std::uint16_t>(id);
  note.tile_rows = m;
  note.tile_channels = n;
  note.row_tiles = ceil_div(node.m, m) * ceil_div(node.batch, batches);
  note.channel_tiles = ceil_div(node.n, n);
  note.split = "none";
  notes.push_back(note);
  for (std::int64_t b = 0; b < node.batch; b += batches) {
    for (std::int64_t n0 = 0; n0 < node.n; n0 += n) {
      for (std::int64_t m0 = 0; m0 < node.m; m0 += m) {
        gemm_tile(id, b, std::min(batches, node.batch - b), {m0, std::min(m0 + m, node.m)},
                  {n0, std::min(n0 + n, node.n)});
      }
    }
  }
}

void Walk::gemm_tile(int id, std::int64_t batch, std::int64_t batches, const Rows& m, const Rows& n) {
  const Layer& l = graph_.layers[static_cast<std::size_t>(id)];
  const QNode& node = *l.node;
  const LayerConstants& c = constants_.layers[static_cast<std::size_t>(id)];
  const std::int64_t line = chip_.sram.line_bytes;
  const auto tensor_of = [&](int t) -> const QTensor& { return graph_.graph->tensors[static_cast<std::size_t>(t)]; };
  const std::string text = detail::concat("batch ", batch, "..", batch + batches - 1, ", rows ", m.first, "..",
                                          m.end - 1, ", columns ", n.first, "..", n.end - 1);
  // Rows [first, ...) of matrices in DRAM <-> rows of lines.
  struct Operand {
    LineRange range{-1, 0};
    std::int64_t pitch = 0, batch_pitch = 0;
    std::int64_t rows = 0, columns = 0, first = 0;  // first: elements from a matrix's first
    ImageMatrix matrix;
  };
  const auto operand = [&](const Rows& rows, const Rows& columns, const ImageMatrix& matrix, const char* what) {
    Operand o;
    o.rows = rows.count();
    o.columns = columns.count();
    o.pitch = ceil_div(o.columns, line);
    o.first = rows.first * matrix.row + columns.first;
    o.matrix = matrix;
    o.batch_pitch = matrix.batch.empty() ? 0 : o.rows * o.pitch;
    o.range = take(id, 0, (matrix.batch.empty() ? 1 : batches) * o.rows * o.pitch, Fit::oldest, what);
    return o;
  };
  const auto move = [&](const Image& image, const Operand& x, bool store) {
    const std::vector<BoxLoop> rows = {{x.rows, x.matrix.row, x.pitch * line}, {x.columns, 1, 1}};
    const auto box = [&](std::int64_t offset, std::int64_t sram, const std::vector<BoxLoop>& loops) {
      linear_dma(id, image,
                 box_pieces(isa::base_register_of(image.kind),
                            static_cast<std::int64_t>(image.offset) + x.matrix.offset + x.first + offset,
                            x.range.first * line + sram, loops),
                 store, text);
    };
    const auto& batch_loops = x.matrix.batch;
    if (batch_loops.size() <= 1) {
      std::vector<BoxLoop> loops = rows;
      const std::int64_t stride = batch_loops.empty() ? 0 : batch_loops[0].second;
      loops.insert(loops.begin(), {batch_loops.empty() ? 1 : batches, stride, x.batch_pitch * line});
      return box(batch * stride, 0, loops);
    }
    for (std::int64_t i = 0; i < batches; ++i) {
      std::int64_t rest = batch + i, offset = 0;
      for (std::size_t d = batch_loops.size(); d > 0; --d) {
        offset += rest % batch_loops[d - 1].first * batch_loops[d - 1].second;
        rest /= batch_loops[d - 1].first;
      }
      box(offset, i * x.batch_pitch * line, rows);
    }
  };
  const bool constant = node.inputs.size() == 1;
  const Rows k{0, node.k};
  ImageMatrix weights{0, l.trans_b ? node.k : node.n, {}};
  const ImageMatrix result{0, node.n, {{node.batch, node.m * node.n}}};
  Operand a = operand(l.trans_a ? k : m, l.trans_a ? m : k, l.matrices[0], "operand A");
  Operand b = operand(l.trans_b ? n : k, l.trans_b ? k : n, constant ? weights : l.matrices[1], "operand B");
  Operand o = operand(m, n, result, "the result");
  move(graph_.images[static_cast<std::size_t>(l.images[0])], a, false);
  if (constant) {
    Image image;
    image.kind = isa::BufferKind::weights;
    image.offset = static_cast<std::uint64_t>(c.weights_offset);
    move(image, b, false);
  } else {
    move(graph_.images[static_cast<std::size_t>(l.images[1])], b, false);
  }
  isa::Gemm gemm = gemm_shape(l, batches, m.count(), n.count());
  put(gemm.a_base, a.range.first * line);
  put(gemm.b_base, b.range.first * line);
  put(gemm.o_base, o.range.first * line);
  put(gemm.a_pitch, a.pitch);
  put(gemm.b_pitch, b.pitch);
  put(gemm.o_pitch, o.pitch);
  put(gemm.a_batch_pitch, a.batch_pitch);
  put(gemm.b_batch_pitch, b.batch_pitch);
  put(gemm.o_batch_pitch, o.batch_pitch);
  put(gemm.a_zp, tensor_of(node.inputs[0]).zero_point);
  put(gemm.b_zp, constant ? node.weight_zero_point : tensor_of(node.inputs[1]).zero_point);
  put(gemm.out_zp, tensor_of(node.output).zero_point);
  put(gemm.lo, node.lo);
  put(gemm.hi, node.hi);
  LineRange params{-1, 0};
  if (per_column(node)) {
    const std::int64_t bytes = semantics::kParamBytes * n.count();
    params = take(id, 0, ceil_div(bytes, line), Fit::oldest, "parameters");
    put(gemm.p_base, params.first * line);
    for (const DmaPiece& piece :
         linear_pieces(isa::base_register_of(isa::BufferKind::weights),
                       c.params_offset + semantics::kParamBytes * n.first, params.first * line, bytes, 0, 0)) {
      WorkItem& w = item(0, isa::QueueId::load, id);
      w.kind = isa::Traffic::params;
      w.useful_bytes = piece.bytes;
      w.tile = "parameters";
      w.body = piece.body;
    }
  } else {
    gemm.multiplier = node.scales.at(0).multiplier;
    put(gemm.shift, static_cast<std::int64_t>(node.scales.at(0).shift));
  }
  const auto cycles = cost_.choose(gemm);
  if (!cycles) user_error(node.name, ": ", node.onnx_op, " does not fit the GEMM unit: ", cost_.why());
  notes.back().estimate += *cycles;
  WorkItem& w = item(0, isa::QueueId::gemm, id);
  w.tile = text;
  w.body = gemm;
  for (const int index : graph_.values[static_cast<std::size_t>(l.output)].dram) {
    move(graph_.images[static_cast<std::size_t>(index)], o, true);
  }
  for (LineRange* range : {&a.range, &b.range, &o.range, &params}) release(0, *range);
}

}  // namespace tessera::compiler
