#include "compiler/schedule/move_nest.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <utility>

#include "hw/common/error.hpp"
#include "hw/common/units.hpp"

namespace tessera::compiler {
namespace {

constexpr std::int64_t kMostPoints = 1 << 16;  // positions of channel loops that are listed one by one
constexpr std::int64_t kMostCount = 65535;     // of a loop field
constexpr std::size_t kReorderLoops = 6;
constexpr Cycles kIssueCycles = 5;               // from an instruction's end to the next one's first line
constexpr std::size_t kMostInstructions = 4096;  // of a piece

std::vector<MoveLoop> loops_of(const QMove& piece) {
  std::vector<MoveLoop> loops;
  for (std::size_t d = 0; d < piece.count.size(); ++d) {
    if (piece.count[d] > 1) loops.push_back({piece.count[d], piece.src_stride[d], piece.dst_stride[d]});
  }
  return loops;
}

using Coordinates = std::array<std::int64_t, 4>;  // n, c, h, w

/// A linear offset as steps along the axes; every part has the offset's sign.
Coordinates coordinates(std::int64_t linear, const MapShape& s) {
  const std::int64_t plane = s.h * s.w;
  Coordinates at{};
  at[0] = linear / (s.c * plane);
  linear -= at[0] * s.c * plane;
  at[1] = linear / plane;
  linear -= at[1] * plane;
  at[2] = linear / s.w;
  at[3] = linear - at[2] * s.w;
  return at;
}

/// Cuts the loop at the first axis end that it would step over; false when it does not divide there.
bool split_at_axes(std::vector<MoveLoop>& loops, std::size_t i, const MapShape& s, std::int64_t MoveLoop::*stride,
                   bool& changed) {
  const MoveLoop loop = loops[i];
  const std::int64_t step = std::abs(loop.*stride);
  if (step == 0) return true;
  for (const std::int64_t end : {s.w, s.h * s.w, s.c * s.h * s.w}) {
    if (step >= end || step * (loop.count - 1) < end) continue;
    if (end % step != 0 || loop.count % (end / step) != 0) return false;
    const std::int64_t inner = end / step;
    loops[i] = {loop.count / inner, loop.src * inner, loop.dst * inner};
    loops.insert(loops.begin() + static_cast<std::ptrdiff_t>(i) + 1, {inner, loop.src, loop.dst});
    changed = true;
    return true;
  }
  return true;
}

/// No index of the nest carries from one axis into the next.
bool stays_inside(const std::vector<MoveLoop>& loops, std::int64_t offset, const MapShape& s,
                  std::int64_t MoveLoop::*stride) {
  const Coordinates extent = {s.n, s.c, s.h, s.w};
  Coordinates low = coordinates(offset, s), high = low;
  for (const MoveLoop& loop : loops) {
    const Coordinates step = coordinates(loop.*stride, s);
    for (std::size_t a = 0; a < 4; ++a) {
      (step[a] < 0 ? low : high)[a] += step[a] * (loop.count - 1);
    }
  }
  for (std::size_t a = 0; a < 4; ++a) {
    if (low[a] < 0 || high[a] >= extent[a]) return false;
  }
  return true;
}

std::optional<std::vector<MoveLoop>> split(const QMove& piece, const MapShape& in, const MapShape& out) {
  std::vector<MoveLoop> loops = loops_of(piece);
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < loops.size() && !changed; ++i) {
      if (!split_at_axes(loops, i, in, &MoveLoop::src, changed)) return std::nullopt;
      if (!changed && !split_at_axes(loops, i, out, &MoveLoop::dst, changed)) return std::nullopt;
    }
  }
  std::int64_t points = 1;
  for (const MoveLoop& loop : loops) {
    if (coordinates(loop.src, in)[1] != 0 || coordinates(loop.dst, out)[1] != 0) points *= loop.count;
    if (loop.count > kMostCount || points > kMostPoints) return std::nullopt;
  }
  if (!stays_inside(loops, piece.src_offset, in, &MoveLoop::src) ||
      !stays_inside(loops, piece.dst_offset, out, &MoveLoop::dst)) {
    return std::nullopt;
  }
  return loops;
}

std::int64_t address(const MapPlace& map, const Coordinates& at, std::int64_t cb) {
  const std::int64_t channel = map.first_channel + at[1];
  return map.base + at[0] * map.image_bytes + channel / cb * map.block_bytes + at[2] * map.row_bytes + at[3] * cb +
         channel % cb;
}

/// Loops around one start, in bytes, outermost first.
struct Nest {
  std::int64_t src = 0, dst = 0;
  std::vector<MoveLoop> loops;
};

bool same_loops(const Nest& a, const Nest& b) {
  return std::equal(a.loops.begin(), a.loops.end(), b.loops.begin(), b.loops.end(), [](const auto& x, const auto& y) {
    return x.count == y.count && x.src == y.src && x.dst == y.dst;
  });
}

/// Joins neighbours a constant step apart into one nest with a loop more.
std::vector<Nest> fold(const std::vector<Nest>& nests) {
  std::vector<Nest> out;
  for (std::size_t i = 0; i < nests.size();) {
    std::size_t end = i + 1;
    std::int64_t src = 0, dst = 0;
    if (end < nests.size()) {
      src = nests[end].src - nests[i].src;
      dst = nests[end].dst - nests[i].dst;
    }
    while (end < nests.size() && same_loops(nests[end], nests[i]) && nests[end].src - nests[end - 1].src == src &&
           nests[end].dst - nests[end - 1].dst == dst) {
      ++end;
    }
    Nest joined = nests[i];
    const auto count = static_cast<std::int64_t>(end - i);
    if (count > 1) joined.loops.insert(joined.loops.begin(), {count, src, dst});
    out.push_back(std::move(joined));
    i = end;
  }
  return out;
}

/// The positions of the loops that step through channels, where the block makes addresses irregular.
std::vector<Nest> channel_nests(const std::vector<MoveLoop>& loops, const MoveBox& box, const MapPlace& in,
                                const MapPlace& out, std::int64_t cb) {
  std::vector<Nest> nests;
  std::vector<std::int64_t> index(loops.size(), 0);
  for (;;) {
    std::int64_t src = box.src_offset, dst = box.dst_offset;
    for (std::size_t d = 0; d < loops.size(); ++d) {
      src += index[d] * loops[d].src;
      dst += index[d] * loops[d].dst;
    }
    nests.push_back({address(in, coordinates(src, in.shape), cb), address(out, coordinates(dst, out.shape), cb), {}});
    std::size_t d = loops.size();
    while (d > 0 && ++index[d - 1] == loops[d - 1].count) index[--d] = 0;
    if (d == 0) break;
  }
  for (int level = 0; level < 3; ++level) nests = fold(nests);
  return nests;
}

/// Loops inside a channel's plane (strides in bytes), and loops that step through channels (in elements).
std::pair<std::vector<MoveLoop>, std::vector<MoveLoop>> by_kind(const MoveBox& box, const MapPlace& in,
                                                                const MapPlace& out, std::int64_t cb) {
  const auto bytes = [cb](const MapPlace& map, const Coordinates& step) {
    return step[0] * map.image_bytes + step[2] * map.row_bytes + step[3] * cb;
  };
  std::vector<MoveLoop> plain, channels;
  for (const MoveLoop& loop : box.loops) {
    const Coordinates src = coordinates(loop.src, in.shape), dst = coordinates(loop.dst, out.shape);
    if (src[1] != 0 || dst[1] != 0) {
      channels.push_back(loop);
    } else {
      plain.push_back({loop.count, bytes(in, src), bytes(out, dst)});
    }
  }
  return {plain, channels};
}

isa::Reorder instruction(std::int64_t src, std::int64_t dst, std::vector<MoveLoop> loops) {
  isa::Reorder r;
  std::int64_t run = 1;
  while (!loops.empty() && loops.back().src == run && loops.back().dst == run &&
         run * loops.back().count <= kMostCount) {
    run *= loops.back().count;
    loops.pop_back();
  }
  put(r.src_base, src);
  put(r.dst_base, dst);
  put(r.run_bytes, run);
  const std::size_t skip = kReorderLoops - loops.size();
  for (std::size_t d = 0; d < loops.size(); ++d) {
    put(r.dims[skip + d].count, loops[d].count);
    put(r.dims[skip + d].src_stride, loops[d].src);
    put(r.dims[skip + d].dst_stride, loops[d].dst);
  }
  for (std::size_t d = 0; d < skip; ++d) r.dims[d].count = 1;
  return r;
}

/// Orders of the loops worth trying; the cheapest by the unit's own cost function.
isa::Reorder cheapest(std::int64_t src, std::int64_t dst, const std::vector<MoveLoop>& plain,
                      const std::vector<MoveLoop>& channels, const UnitCost& cost) {
  // Bytes of one pair of lines should follow each other: the inner channel loops inside the pixels, the outer ones
  // (blocks) outside.
  std::vector<std::vector<MoveLoop>> candidates;
  for (std::size_t outer = 0; outer <= channels.size(); ++outer) {
    const auto cut = channels.begin() + static_cast<std::ptrdiff_t>(outer);
    candidates.emplace_back(channels.begin(), cut);
    candidates.back().insert(candidates.back().end(), plain.begin(), plain.end());
    candidates.back().insert(candidates.back().end(), cut, channels.end());
  }
  candidates.push_back(candidates.front());
  std::stable_sort(candidates.back().begin(), candidates.back().end(),
                   [](const MoveLoop& x, const MoveLoop& y) { return std::abs(x.dst) > std::abs(y.dst); });
  candidates.push_back(candidates.front());
  std::stable_sort(candidates.back().begin(), candidates.back().end(),
                   [](const MoveLoop& x, const MoveLoop& y) { return std::abs(x.src) > std::abs(y.src); });
  std::optional<isa::Reorder> best;
  Cycles least = 0;
  for (const auto& loops : candidates) {
    const isa::Reorder r = instruction(src, dst, loops);
    const Cycles cycles = cost.reorder(r);
    if (!best || cycles < least) {
      best = r;
      least = cycles;
    }
  }
  return *best;
}

/// The box with its channel loops in the order given.
std::vector<isa::Reorder> instructions(const MoveBox& box, const std::vector<MoveLoop>& plain,
                                       const std::vector<MoveLoop>& channels, const MapPlace& in, const MapPlace& out,
                                       const UnitCost& cost) {
  std::vector<isa::Reorder> result;
  for (const Nest& nest : channel_nests(channels, box, in, out, cost.chip().layout.channel_block)) {
    // Loops that do not fit the instruction are written out.
    std::vector<Nest> starts = {nest};
    while (starts.front().loops.size() + plain.size() > kReorderLoops) {
      std::vector<Nest> next;
      for (const Nest& start : starts) {
        const MoveLoop outer = start.loops.front();
        for (std::int64_t i = 0; i < outer.count; ++i) {
          next.push_back(
              {start.src + i * outer.src, start.dst + i * outer.dst, {start.loops.begin() + 1, start.loops.end()}});
        }
      }
      starts = std::move(next);
    }
    for (const Nest& start : starts) result.push_back(cheapest(start.src, start.dst, plain, start.loops, cost));
  }
  return result;
}

}  // namespace

std::optional<Transposition> as_transposition(const QNode& node, std::int64_t in_elements, std::int64_t out_elements) {
  if (node.pieces.size() != 1 || node.inputs.size() != 1 || in_elements != out_elements) return std::nullopt;
  const QMove& piece = node.pieces.front();
  const std::vector<MoveLoop> loops = loops_of(piece);
  if (piece.src_offset != 0 || piece.dst_offset != 0 || loops.size() < 2 || loops.size() > 3) return std::nullopt;
  const MoveLoop& outer = loops[loops.size() - 2];
  const MoveLoop& inner = loops.back();
  Transposition t;
  t.columns = outer.count;
  t.rows = inner.count;
  if (loops.size() == 3) {
    t.batch = loops[0].count;
    if (loops[0].src != t.rows * t.columns || loops[0].dst != t.rows * t.columns) return std::nullopt;
  }
  if (outer.src != 1 || outer.dst != t.rows || inner.src != t.columns || inner.dst != 1 ||
      t.batch * t.rows * t.columns != out_elements) {
    return std::nullopt;
  }
  return t;
}

std::optional<ChannelRange> as_channel_range(const QNode& node, const MapShape& in, std::int64_t out_elements) {
  if (node.pieces.size() != 1 || node.inputs.size() != 1) return std::nullopt;
  const QMove& piece = node.pieces.front();
  const std::vector<MoveLoop> loops = loops_of(piece);
  const std::int64_t plane = in.h * in.w;
  if (piece.dst_offset != 0 || piece.src_offset % plane != 0 || out_elements % (in.n * plane) != 0) return std::nullopt;
  const ChannelRange range{piece.src_offset / plane, out_elements / (in.n * plane)};
  const std::int64_t image = range.count * plane;
  // One run an image; images follow each other when all channels are taken.
  std::size_t d = 0;
  std::int64_t run = out_elements;
  if (in.n > 1 && range.count < in.c) {
    if (loops.empty() || loops[0].count != in.n || loops[0].src != in.c * plane || loops[0].dst != image)
      return std::nullopt;
    d = 1;
    run = image;
  }
  const bool one = run == 1 && loops.size() == d;
  const bool line = loops.size() == d + 1 && loops[d].count == run && loops[d].src == 1 && loops[d].dst == 1;
  if ((!one && !line) || range.first + range.count > in.c) return std::nullopt;
  return range;
}

bool covers(const QNode& node, std::int64_t out_elements) {
  std::int64_t written = 0;  // pieces write disjoint elements
  for (const QMove& piece : node.pieces) {
    written += std::accumulate(piece.count.begin(), piece.count.end(), std::int64_t{1}, std::multiplies<>());
  }
  return written == out_elements;
}

std::optional<LinearNest> before_move(const QNode& move, const LinearNest& nest, std::int64_t out_elements) {
  if (move.op != QOp::move || move.inputs.size() != 1 || move.pieces.size() != 1) return std::nullopt;
  const QMove& piece = move.pieces.front();
  const std::vector<MoveLoop> digits = loops_of(piece);
  // The output index is a number in mixed radix whose digits are the move's loops.
  std::int64_t dense = 1;
  for (std::size_t d = digits.size(); d > 0; --d) {
    if (digits[d - 1].dst != dense) return std::nullopt;
    dense *= digits[d - 1].count;
  }
  if (dense != out_elements || piece.dst_offset != 0) return std::nullopt;
  LinearNest before;
  before.offset = piece.src_offset;
  std::vector<std::int64_t> highest;  // digit that the loops reach
  for (const MoveLoop& digit : digits) {
    const std::int64_t at = nest.offset / digit.dst % digit.count;
    before.offset += at * digit.src;
    highest.push_back(at);
  }
  for (const std::vector<LinearLoop>& group : nest.loops) {
    std::vector<LinearLoop> mapped;
    for (LinearLoop loop : group) {
      std::vector<LinearLoop> parts;
      while (loop.count > 1) {
        std::size_t d = 0;
        while (d < digits.size() && loop.stride < digits[d].dst) ++d;
        if (d == digits.size() || loop.stride % digits[d].dst != 0) return std::nullopt;
        const std::int64_t step = loop.stride / digits[d].dst;
        std::int64_t inner = loop.count;
        if ((loop.count - 1) * step >= digits[d].count) {
          if (digits[d].count % step != 0 || loop.count % (digits[d].count / step) != 0) return std::nullopt;
          inner = digits[d].count / step;
        }
        highest[d] += (inner - 1) * step;
        parts.insert(parts.begin(), {inner, step * digits[d].src});
        loop = {loop.count / inner, loop.stride * inner};
      }
      mapped.insert(mapped.end(), parts.begin(), parts.end());
    }
    before.loops.push_back(mapped);
  }
  for (std::size_t d = 0; d < digits.size(); ++d) {
    if (highest[d] >= digits[d].count) return std::nullopt;
  }
  return before;
}

std::optional<MoveBox> move_box(const QMove& piece, const MapShape& in, const MapShape& out,
                                const isa::ChipConfig& chip) {
  const auto loops = split(piece, in, out);
  if (!loops) return std::nullopt;
  MoveBox box{piece.input, piece.src_offset, piece.dst_offset, *loops};
  // Channels that share no step would make a list of instructions as long as they are many.
  const std::int64_t cb = chip.layout.channel_block;
  const auto place = [&](const MapShape& shape) {
    MapPlace p;
    p.shape = shape;
    p.row_bytes = round_up(shape.w * cb, chip.sram.line_bytes);
    p.block_bytes = p.row_bytes * shape.h;
    p.image_bytes = p.block_bytes * ceil_div(shape.c, cb);
    return p;
  };
  const auto [plain, channels] = by_kind(box, place(in), place(out), cb);
  if (plain.size() > kReorderLoops ||
      channel_nests(channels, box, place(in), place(out), cb).size() > kMostInstructions) {
    return std::nullopt;
  }
  return box;
}

std::int64_t row_granule(const MoveBox& box, const MapShape& out) {
  std::int64_t granule = 1;
  int row_loops = 0, image_loops = 0;
  for (const MoveLoop& loop : box.loops) {
    const Coordinates step = coordinates(loop.dst, out);
    if (step[0] != 0 && step[2] != 0) return 0;
    image_loops += step[0] != 0 ? 1 : 0;
    if (step[2] != 0) {
      ++row_loops;
      granule = std::max(granule, step[2]);
    }
  }
  if (image_loops > 1) return 0;
  return row_loops > 1 ? granule : 1;
}

std::optional<MoveBox> clip(const MoveBox& box, const MapShape& out, std::int64_t n, const Rows& rows) {
  MoveBox part = box;
  const Coordinates base = coordinates(box.dst_offset, out);
  std::int64_t image = base[0];
  std::size_t outer = part.loops.size();
  std::int64_t step_rows = 0, inner_rows = 0;
  for (std::size_t d = 0; d < part.loops.size(); ++d) {
    const Coordinates step = coordinates(part.loops[d].dst, out);
    if (step[0] != 0) {
      const std::int64_t at = (n - image) / step[0];
      if (n < image || at >= part.loops[d].count || image + at * step[0] != n) return std::nullopt;
      image = n;
      part.src_offset += at * part.loops[d].src;
      part.dst_offset += at * part.loops[d].dst;
      part.loops[d].count = 1;
    }
    if (step[2] == 0) continue;
    inner_rows += step[2] * (part.loops[d].count - 1);
    if (step[2] > step_rows) {
      step_rows = step[2];
      outer = d;
    }
  }
  if (image != n) return std::nullopt;
  if (outer == part.loops.size()) {
    if (base[2] < rows.first || base[2] >= rows.end) return std::nullopt;
  } else {
    MoveLoop& loop = part.loops[outer];
    inner_rows -= step_rows * (loop.count - 1);
    // First and end index whose rows [base + i step, + inner_rows] lie inside.
    const std::int64_t first =
        std::max<std::int64_t>(0, ceil_div(std::max<std::int64_t>(0, rows.first - base[2]), step_rows));
    std::int64_t end = first;
    while (end < loop.count && base[2] + end * step_rows + inner_rows < rows.end) ++end;
    const auto straddles = [&](std::int64_t i) {
      if (i < 0 || i >= loop.count) return false;
      const std::int64_t low = base[2] + i * step_rows, high = low + inner_rows;
      return (low < rows.first && high >= rows.first) || (low < rows.end && high >= rows.end);
    };
    TESSERA_CHECK(!straddles(first - 1) && !straddles(end), "rows ", rows.first, "..", rows.end, " cut a piece");
    if (end == first) return std::nullopt;
    part.src_offset += first * loop.src;
    part.dst_offset += first * loop.dst;
    loop.count = end - first;
  }
  part.loops.erase(
      std::remove_if(part.loops.begin(), part.loops.end(), [](const MoveLoop& loop) { return loop.count == 1; }),
      part.loops.end());
  return part;
}

SourceRows source_rows(const MoveBox& box, const MapShape& in) {
  const Coordinates base = coordinates(box.src_offset, in);
  SourceRows source;
  source.n = base[0];
  std::int64_t low = base[2], high = base[2];
  for (const MoveLoop& loop : box.loops) {
    const Coordinates step = coordinates(loop.src, in);
    source.one_image = source.one_image && step[0] == 0;
    (step[2] < 0 ? low : high) += step[2] * (loop.count - 1);
  }
  source.rows = {low, high + 1};
  return source;
}

std::vector<isa::Reorder> reorder_box(const MoveBox& box, const MapPlace& in, const MapPlace& out,
                                      const UnitCost& cost) {
  const std::int64_t cb = cost.chip().layout.channel_block;
  auto [plain, channels] = by_kind(box, in, out, cb);
  std::vector<isa::Reorder> best = instructions(box, plain, channels, in, out, cost);
  if (channels.size() > 1) {  // runs of channels that are neighbours in the input, not in the output
    std::reverse(channels.begin(), channels.end());
    std::vector<isa::Reorder> other = instructions(box, plain, channels, in, out, cost);
    const auto total = [&](const std::vector<isa::Reorder>& list) {
      Cycles cycles = kIssueCycles * static_cast<Cycles>(list.size());
      for (const isa::Reorder& r : list) cycles += cost.reorder(r);
      return cycles;
    };
    if (total(other) < total(best)) best = std::move(other);
  }
  return best;
}

std::vector<isa::Reorder> reorder_fill(const MapPlace& out, std::int64_t n, const Rows& rows, std::int8_t value,
                                       const isa::ChipConfig& chip) {
  const std::int64_t cb = chip.layout.channel_block;
  const MapShape& s = out.shape;
  std::vector<isa::Reorder> result;
  const auto add = [&](std::int64_t first_channel, std::int64_t blocks, std::int64_t lanes) {
    if (blocks == 0) return;
    std::vector<MoveLoop> loops = {{blocks, 0, out.block_bytes}, {rows.count(), 0, out.row_bytes}, {s.w, 0, cb}};
    std::int64_t run = lanes;
    if (lanes == cb && s.w * cb <= kMostCount) {
      run = s.w * cb;
      loops.pop_back();
    }
    isa::Reorder r = instruction(0, address(out, {n, first_channel, rows.first, 0}, cb), loops);
    put(r.run_bytes, run);
    r.fill = true;
    r.fill_value = static_cast<std::uint8_t>(value);
    result.push_back(r);
  };
  add(0, s.c / cb, cb);
  add(s.c / cb * cb, s.c % cb != 0 ? 1 : 0, s.c % cb);
  return result;
}

std::vector<DmaPiece> box_pieces(std::uint8_t base_register, std::int64_t dram_offset, std::int64_t sram_address,
                                 std::vector<BoxLoop> loops) {
  // 1. Loops that follow each other on both sides are one.
  loops.erase(std::remove_if(loops.begin(), loops.end(), [](const BoxLoop& l) { return l.count == 1; }), loops.end());
  for (std::size_t i = 1; i < loops.size();) {
    BoxLoop& outer = loops[i - 1];
    const BoxLoop& inner = loops[i];
    if (outer.dram == inner.count * inner.dram && outer.sram == inner.count * inner.sram) {
      outer = {outer.count * inner.count, inner.dram, inner.sram};
      loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  // 2. A row of neighbours in DRAM, in SRAM one piece or groups.
  constexpr std::int64_t kLongest = (std::int64_t{1} << 24) - 1;
  std::int64_t row = 1, group = 1, group_stride = 1;
  const auto take = [&](std::int64_t stride) -> std::optional<BoxLoop> {
    for (auto it = loops.begin(); it != loops.end(); ++it) {
      if (it->dram != stride || it->count * row > kLongest || it->sram > kLongest) continue;
      const BoxLoop loop = *it;
      loops.erase(it);
      return loop;
    }
    return std::nullopt;
  };
  if (const auto inner = take(1)) {
    row = inner->count;
    group = inner->sram == 1 ? row : 1;
    group_stride = inner->sram == 1 ? row : inner->sram;
    if (group == row) {
      if (const auto next = take(row)) {
        row *= next->count;
        group_stride = next->sram;
      }
    }
  }
  // 3. Three loops in the instruction, the others written out.
  std::vector<DmaPiece> pieces;
  const std::function<void(std::int64_t, std::int64_t, std::vector<BoxLoop>)> emit =
      [&](std::int64_t dram, std::int64_t sram, std::vector<BoxLoop> rest) {
        for (std::size_t i = 0; i < rest.size(); ++i) {
          if (rest[i].count <= kMostCount) continue;
          const BoxLoop loop = rest[i];
          for (std::int64_t at = 0; at < loop.count; at += kMostCount) {
            rest[i].count = std::min(kMostCount, loop.count - at);
            emit(dram + at * loop.dram, sram + at * loop.sram, rest);
          }
          return;
        }
        if (rest.size() > 3) {
          const BoxLoop outer = rest.front();
          rest.erase(rest.begin());
          for (std::int64_t i = 0; i < outer.count; ++i) emit(dram + i * outer.dram, sram + i * outer.sram, rest);
          return;
        }
        DmaPiece p;
        put(p.body.base_register, std::int64_t{base_register});
        put(p.body.dram_offset, dram);
        put(p.body.sram_base, sram);
        put(p.body.row_bytes, row);
        put(p.body.group_bytes, group);
        put(p.body.group_stride, group_stride);
        p.bytes = row;
        for (std::size_t d = 0; d < 3; ++d) {
          const bool used = d + rest.size() >= 3;
          const BoxLoop loop = used ? rest[d + rest.size() - 3] : BoxLoop{};
          put(p.body.dims[d].count, loop.count);
          put(p.body.dims[d].dram_stride, loop.count > 1 ? loop.dram : 0);
          put(p.body.dims[d].sram_stride, loop.count > 1 ? loop.sram : 0);
          p.bytes *= loop.count;
        }
        pieces.push_back(p);
      };
  emit(dram_offset, sram_address, loops);
  return pieces;
}

}  // namespace tessera::compiler
