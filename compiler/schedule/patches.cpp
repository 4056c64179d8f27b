#include "compiler/schedule/patches.hpp"

#include <algorithm>
#include <limits>

#include "compiler/schedule/tile.hpp"
#include "hw/common/units.hpp"
#include "hw/models/conv/cost.hpp"
#include "isa/semantics/layout.hpp"

namespace tessera::compiler {
namespace {

/// Output positions whose tap lies inside the input.
Rows positions(std::int64_t out, std::int64_t in, std::int64_t stride, std::int64_t shift) {
  Rows range;
  range.first = std::max<std::int64_t>(0, shift < 0 ? ceil_div(-shift, stride) : 0);
  range.end = in - shift <= 0 ? 0 : std::min(out, ceil_div(in - shift, stride));
  return range;
}

template <typename T>
std::vector<T> part_of(const std::vector<T>& all, std::int64_t first, std::int64_t count) {
  if (all.empty()) return {};
  return {all.begin() + static_cast<std::ptrdiff_t>(first), all.begin() + static_cast<std::ptrdiff_t>(first + count)};
}

}  // namespace

bool window_fits(const QNode& node, const MapShape& in, const MapShape& out, const isa::ChipConfig& chip) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::uint8_t>::max();
  if (node.kh > kLargest || node.kw > kLargest) return false;
  isa::Conv conv;
  const bool depthwise = node.groups > 1 && in.c == node.groups && out.c == node.groups;
  conv.mode = depthwise ? isa::ConvMode::depthwise : isa::ConvMode::dense;
  put(conv.in_h, in.h);
  put(conv.in_w, in.w);
  put(conv.cin, in.c);
  conv.out_h = 1;
  put(conv.out_w, out.w);
  put(conv.cout, out.c);
  put(conv.groups, std::int64_t{node.groups});
  put(conv.kh, std::int64_t{node.kh});
  put(conv.kw, std::int64_t{node.kw});
  put(conv.sy, std::int64_t{node.sy});
  put(conv.sx, std::int64_t{node.sx});
  put(conv.dy, std::int64_t{node.dy});
  put(conv.dx, std::int64_t{node.dx});
  conv.gx = conv.gy = conv.t = 1;
  conv.fold = 1;
  const auto fits = [&conv, &chip] {
    for (std::size_t shape = 0; shape < chip.conv.pixel_shapes.size(); ++shape) {
      put(conv.pixel_shape, static_cast<std::int64_t>(shape));
      if (hw::conv_window_bytes(conv, chip) <= chip.conv.window_bytes) return true;
    }
    return false;
  };
  if (fits()) return true;
  // Few input channels: a window of folded kernel columns is narrower than one of channels padded to the lanes.
  const std::int64_t fold = node.groups == 1 ? semantics::max_fold(in.c, node.kw, chip) : 0;
  if (fold < 2) return false;
  conv.mode = isa::ConvMode::fold;
  put(conv.fold, fold);
  return fits();
}

QNode patch_move(const QNode& node, const MapShape& in, const MapShape& out, std::int64_t first_channel,
                 std::int64_t channels, std::int32_t zero_point) {
  QNode move;
  move.op = QOp::move;
  move.name = node.name + " patches";
  move.onnx_op = node.onnx_op;
  move.inputs = {node.inputs[0]};
  move.output = node.output;
  move.fill = static_cast<std::int8_t>(zero_point);
  const std::int64_t in_plane = in.h * in.w, out_plane = out.h * out.w;
  const std::int64_t taps = std::int64_t{node.kh} * node.kw;
  for (std::int64_t ky = 0; ky < node.kh; ++ky) {
    for (std::int64_t kx = 0; kx < node.kw; ++kx) {
      const std::int64_t dy = ky * node.dy - node.pad_top, dx = kx * node.dx - node.pad_left;
      const Rows y = positions(out.h, in.h, node.sy, dy), x = positions(out.w, in.w, node.sx, dx);
      if (y.count() <= 0 || x.count() <= 0) continue;
      QMove piece;
      piece.src_offset = first_channel * in_plane + (y.first * node.sy + dy) * in.w + x.first * node.sx + dx;
      piece.dst_offset = (ky * node.kw + kx) * out_plane + y.first * out.w + x.first;
      piece.count = {1, 1, in.n, channels, y.count(), x.count()};
      piece.src_stride = {0, 0, in.c * in_plane, in_plane, node.sy * in.w, node.sx};
      piece.dst_stride = {0, 0, out.c * out_plane, taps * out_plane, out.w, 1};
      move.pieces.push_back(piece);
    }
  }
  return move;
}

QNode reduce_patches(const QNode& node, std::int64_t cin_g, std::int64_t cout_g, std::int64_t first,
                     std::int64_t groups) {
  QNode conv = node;
  const std::int64_t taps = std::int64_t{node.kh} * node.kw;
  conv.kh = conv.kw = conv.sy = conv.sx = conv.dy = conv.dx = 1;
  conv.pad_top = conv.pad_left = conv.pad_bottom = conv.pad_right = 0;
  conv.groups = static_cast<int>(groups);
  // OIHW: the taps of an input channel are neighbours, as the patches' channels are.
  conv.weights = part_of(node.weights, first * cout_g * cin_g * taps, groups * cout_g * cin_g * taps);
  conv.bias = part_of(node.bias, first * cout_g, groups * cout_g);
  conv.scales = part_of(node.scales, first * cout_g, groups * cout_g);
  conv.macs = node.macs * (first + groups) / node.groups - node.macs * first / node.groups;
  return conv;
}

}  // namespace tessera::compiler
