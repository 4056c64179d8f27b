#include "compiler/quantize/moves.hpp"

#include <algorithm>
#include <tuple>

namespace tessera::compiler {
namespace {

std::size_t size_of(std::int64_t v) { return static_cast<std::size_t>(v); }

struct Loop {
  std::int64_t count, src, dst;
};

/// A run of one axis: nested loops, outermost first.
struct Segment {
  std::int64_t src = 0, dst = 0, length = 1;
  std::vector<Loop> loops;
};

/// f as nested loops when it is that as a whole.
std::optional<Segment> as_nest(const std::int64_t* f, std::int64_t length) {
  Segment segment{f[0], 0, length, {}};
  if (length == 1) return segment;
  std::int64_t run = 1;  // elements with one difference
  const std::int64_t step = f[1] - f[0];
  while (run < length && f[run] - f[run - 1] == step) ++run;
  if (run == length) {
    segment.loops.push_back({length, step, 1});
    return segment;
  }
  // 0 0 1 1 2 2: a period whose repetitions differ by a constant.
  for (std::int64_t period = 2; period * 2 <= length; ++period) {
    if (length % period != 0) continue;
    const std::int64_t shift = f[period] - f[0];
    bool fits = true;
    for (std::int64_t i = 0; fits && i + period < length; ++i) fits = f[i + period] - f[i] == shift;
    if (!fits) continue;
    const std::optional<Segment> inner = as_nest(f, period);
    if (!inner) continue;
    segment.loops.push_back({length / period, shift, period});
    segment.loops.insert(segment.loops.end(), inner->loops.begin(), inner->loops.end());
    return segment;
  }
  return std::nullopt;
}

/// Longest start of f that is one nest: a run, or whole repetitions of a short period.
Segment longest_start(const std::int64_t* f, std::int64_t length) {
  std::int64_t best = std::min<std::int64_t>(length, 2);
  while (best < length && f[best] - f[best - 1] == f[1] - f[0]) ++best;
  constexpr std::int64_t kLongestPeriod = 16;
  for (std::int64_t period = 2; period <= kLongestPeriod && period * 2 <= length; ++period) {
    std::int64_t same = period;
    while (same < length && f[same] - f[same - period] == f[period] - f[0]) ++same;
    same -= same % period;
    if (same > best && as_nest(f, same)) best = same;
  }
  return *as_nest(f, best);
}

std::vector<Segment> segments_of(const std::vector<std::int64_t>& f) {
  const auto length = static_cast<std::int64_t>(f.size());
  if (const std::optional<Segment> whole = as_nest(f.data(), length)) return {*whole};
  std::vector<Segment> list;
  for (std::int64_t at = 0; at < length && list.size() <= kMostPieces;) {
    Segment segment = longest_start(f.data() + at, length - at);
    segment.dst = at;
    at += segment.length;
    list.push_back(std::move(segment));
  }
  return list;
}

}  // namespace

std::vector<std::int64_t> linear_strides(const Shape& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d > 1; --d) strides[d - 2] = strides[d - 1] * shape[d - 1];
  return strides;
}

namespace {

/// Loops of one left out, loops that continue each other merged; outermost first.
std::vector<Loop> merged_loops(const std::vector<std::int64_t>& extent, const std::vector<std::int64_t>& src_stride,
                               const std::vector<std::int64_t>& dst_stride) {
  std::vector<Loop> loops;
  for (std::size_t d = 0; d < extent.size(); ++d) {
    if (extent[d] != 1) loops.push_back({extent[d], src_stride[d], dst_stride[d]});
  }
  std::stable_sort(loops.begin(), loops.end(), [](const Loop& a, const Loop& b) { return a.dst > b.dst; });
  std::vector<Loop> merged;
  for (const Loop& loop : loops) {
    if (!merged.empty() && merged.back().src == loop.src * loop.count && merged.back().dst == loop.dst * loop.count) {
      merged.back() = {merged.back().count * loop.count, loop.src, loop.dst};
    } else {
      merged.push_back(loop);
    }
  }
  return merged;
}

constexpr std::size_t kLoops = std::tuple_size<decltype(QMove::count)>::value;

QMove piece_of(int input, std::int64_t src_offset, std::int64_t dst_offset, const std::vector<Loop>& merged) {
  QMove piece;
  piece.input = input;
  piece.src_offset = src_offset;
  piece.dst_offset = dst_offset;
  const std::size_t first = piece.count.size() - merged.size();  // unused loops are the outer ones
  for (std::size_t i = 0; i < merged.size(); ++i) {
    piece.count[first + i] = merged[i].count;
    piece.src_stride[first + i] = merged[i].src;
    piece.dst_stride[first + i] = merged[i].dst;
  }
  return piece;
}

}  // namespace

std::optional<QMove> make_piece(int input, std::int64_t src_offset, std::int64_t dst_offset,
                                const std::vector<std::int64_t>& extent, const std::vector<std::int64_t>& src_stride,
                                const std::vector<std::int64_t>& dst_stride) {
  const std::vector<Loop> merged = merged_loops(extent, src_stride, dst_stride);
  if (merged.size() > kLoops) return std::nullopt;
  return piece_of(input, src_offset, dst_offset, merged);
}

std::optional<std::vector<QMove>> make_pieces(int input, std::int64_t src_offset, std::int64_t dst_offset,
                                              const std::vector<std::int64_t>& extent,
                                              const std::vector<std::int64_t>& src_stride,
                                              const std::vector<std::int64_t>& dst_stride) {
  std::vector<Loop> inner = merged_loops(extent, src_stride, dst_stride);
  std::vector<QMove> pieces = {QMove{}};
  pieces[0].src_offset = src_offset;
  pieces[0].dst_offset = dst_offset;
  while (inner.size() > kLoops) {
    const auto shortest =
        std::min_element(inner.begin(), inner.end(), [](const Loop& a, const Loop& b) { return a.count < b.count; });
    if (static_cast<std::int64_t>(pieces.size()) * shortest->count > static_cast<std::int64_t>(kMostPieces)) {
      return std::nullopt;
    }
    std::vector<QMove> spelled;
    for (const QMove& at : pieces) {
      for (std::int64_t i = 0; i < shortest->count; ++i) {
        spelled.push_back(at);
        spelled.back().src_offset += i * shortest->src;
        spelled.back().dst_offset += i * shortest->dst;
      }
    }
    pieces = std::move(spelled);
    inner.erase(shortest);
  }
  for (QMove& piece : pieces) piece = piece_of(input, piece.src_offset, piece.dst_offset, inner);
  return pieces;
}

std::optional<std::vector<QMove>> pieces_of(const std::vector<std::int64_t>& source, const Shape& shape) {
  std::vector<QMove> pieces;
  if (source.empty()) return pieces;
  const std::vector<std::int64_t> strides = linear_strides(shape);
  // One function an axis, relative to element 0.
  std::vector<std::vector<std::int64_t>> f(shape.size());
  for (std::size_t d = 0; d < shape.size(); ++d) {
    for (std::int64_t i = 0; i < shape[d]; ++i) f[d].push_back(source[size_of(i * strides[d])] - source[0]);
  }
  std::vector<std::int64_t> at(shape.size(), 0);
  for (const std::int64_t found : source) {
    std::int64_t sum = source[0];
    for (std::size_t d = 0; d < at.size(); ++d) sum += f[d][size_of(at[d])];
    if (sum != found) return std::nullopt;
    for (std::size_t d = at.size(); d > 0 && ++at[d - 1] == shape[d - 1]; --d) at[d - 1] = 0;
  }
  std::vector<std::vector<Segment>> segments;
  std::size_t count = 1;
  for (const std::vector<std::int64_t>& axis : f) {
    segments.push_back(segments_of(axis));
    count *= segments.back().size();
    if (count > kMostPieces) return std::nullopt;
  }
  std::vector<std::size_t> choice(shape.size(), 0);
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t src = source[0];
    std::int64_t dst = 0;
    std::vector<std::int64_t> extent, src_stride, dst_stride;
    for (std::size_t d = 0; d < choice.size(); ++d) {
      const Segment& segment = segments[d][choice[d]];
      src += segment.src;
      dst += segment.dst * strides[d];
      for (const Loop& loop : segment.loops) {
        extent.push_back(loop.count);
        src_stride.push_back(loop.src);
        dst_stride.push_back(loop.dst * strides[d]);
      }
    }
    const std::optional<std::vector<QMove>> boxes = make_pieces(0, src, dst, extent, src_stride, dst_stride);
    if (!boxes || pieces.size() + boxes->size() > kMostPieces) return std::nullopt;
    pieces.insert(pieces.end(), boxes->begin(), boxes->end());
    for (std::size_t d = choice.size(); d > 0 && ++choice[d - 1] == segments[d - 1].size(); --d) choice[d - 1] = 0;
  }
  return pieces;
}

}  // namespace tessera::compiler
