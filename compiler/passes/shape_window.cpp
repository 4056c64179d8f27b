// Shapes of Conv, ConvTranspose, the pools and the resampling operators.
#include <algorithm>
#include <cmath>

#include "compiler/passes/shape_context.hpp"
#include "compiler/passes/window.hpp"

namespace tessera::compiler {
namespace {

Shape with_spatial(std::int64_t batch, std::int64_t channels, const std::vector<std::int64_t>& spatial) {
  Shape shape = {batch, channels};
  shape.insert(shape.end(), spatial.begin(), spatial.end());
  return shape;
}

std::int64_t positive_group(const ShapeContext& c) {
  const std::int64_t group = c.node().int_attr("group", 1);
  if (group < 1) c.refuse("group is " + std::to_string(group) + ": expected at least 1");
  return group;
}

/// Convolution with data at input x and weights at input w.
Infos convolve(const ShapeContext& c, std::size_t x, std::size_t w, DType dtype) {
  c.need(w + 1);
  if (c.shape(x) == nullptr || c.shape(w) == nullptr) return unknown(dtype);
  const Shape& in = *c.shape(x);
  const Shape& weight = *c.shape(w);
  if (in.size() < 3 || weight.size() != in.size()) {
    c.refuse("input of " + shape_text(in) + " and weights of " + shape_text(weight) +
             ": expected equal ranks of at least 3");
  }
  const std::int64_t group = positive_group(c);
  if (weight[1] * group != in[1] || weight[0] % group != 0) {
    c.refuse("weights of " + shape_text(weight) + " in " + std::to_string(group) + " groups do not fit " +
             std::to_string(in[1]) + " input channels: expected output channels a multiple of the groups, times " +
             "input channels / groups");
  }
  const Window window = resolve_window(c.node(), in, {weight.begin() + 2, weight.end()});
  return known(dtype, with_spatial(in[0], weight[0], window.output));
}

Infos conv(const ShapeContext& c) {
  Infos infos = convolve(c, 0, 1, c.dtype(0));
  if (infos[0].shape && c.shape(2) != nullptr && *c.shape(2) != Shape{(*infos[0].shape)[1]}) {
    c.refuse("bias is " + shape_text(*c.shape(2)) + ": expected one value for each of " +
             std::to_string((*infos[0].shape)[1]) + " output channels");
  }
  return infos;
}

Infos conv_integer(const ShapeContext& c) { return convolve(c, 0, 1, DType::i32); }

// Inputs: x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, bias.
Infos qlinear_conv(const ShapeContext& c) {
  c.need(8);
  return convolve(c, 0, 3, c.dtype(7));
}

Infos conv_transpose(const ShapeContext& c) {
  c.need(2);
  if (c.shape(0) == nullptr || c.shape(1) == nullptr) return unknown(c.dtype(0));
  const Shape& in = *c.shape(0);
  const Shape& weight = *c.shape(1);  // input channels, output channels / group, kernel
  const std::int64_t group = positive_group(c);
  if (in.size() < 3 || weight.size() != in.size() || weight[0] != in[1] || in[1] % group != 0) {
    c.refuse("input of " + shape_text(in) + " and weights of " + shape_text(weight) + " in " + std::to_string(group) +
             " groups do not fit: expected equal ranks and input channels first in the weights");
  }
  const Window window = resolve_transpose_window(c.node(), in, {weight.begin() + 2, weight.end()});
  return known(c.dtype(0), with_spatial(in[0], weight[1] * group, window.output));
}

Infos pool(const ShapeContext& c) {
  c.need(1);
  Infos infos = unknown(c.dtype(0));
  if (c.shape(0) != nullptr) {
    const Shape& in = *c.shape(0);
    const Window window = resolve_window(c.node(), in, {});
    infos[0].shape = with_spatial(in[0], in[1], window.output);
  }
  infos.push_back(ValueInfo{DType::i64, infos[0].shape});  // MaxPool: indices
  return infos;
}

Infos global_pool(const ShapeContext& c) {
  c.need(1);
  if (c.shape(0) == nullptr) return unknown(c.dtype(0));
  const Shape& in = *c.shape(0);
  if (in.size() < 3) c.refuse("input is " + shape_text(in) + ": expected batch, channels and spatial sizes");
  return known(c.dtype(0), with_spatial(in[0], in[1], std::vector<std::int64_t>(in.size() - 2, 1)));
}

// Inputs: X, roi, scales, sizes. Opset 18 lets `axes` name the resized ones.
Infos resize(const ShapeContext& c) {
  c.need(1);
  if (c.shape(0) == nullptr) return unknown(c.dtype(0));
  Shape out = *c.shape(0);
  std::vector<std::size_t> axes;
  for (const std::int64_t axis : c.node().ints_attr("axes", {})) axes.push_back(c.axis(axis, out.size()));
  if (axes.empty()) {
    for (std::size_t i = 0; i < out.size(); ++i) axes.push_back(i);
  }
  if (c.node().string_attr("keep_aspect_ratio_policy", "stretch") != "stretch") {
    c.refuse("keep_aspect_ratio_policy is not supported: expected stretch");
  }
  const auto check_count = [&](std::size_t count) {
    if (count != axes.size()) {
      c.refuse("gives " + std::to_string(count) + " sizes or scales for " + std::to_string(axes.size()) + " axes");
    }
  };
  const Tensor* scales = c.constant(2);
  const bool has_scales = c.has(2) && !(scales != nullptr && scales->elements() == 0);
  if (has_scales) {
    if (scales == nullptr) return unknown(c.dtype(0));
    const std::vector<double> factors = scales->as_doubles();
    check_count(factors.size());
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (!(factors[i] > 0) || factors[i] > 65536) {
        c.refuse("has a scale of " + std::to_string(factors[i]) + ": expected scales in (0, 65536]");
      }
      out[axes[i]] = static_cast<std::int64_t>(std::floor(static_cast<double>(out[axes[i]]) * factors[i]));
    }
    return known(c.dtype(0), out);
  }
  if (!c.has(3)) c.refuse("expected scales or sizes");
  const auto sizes = c.ints(3);
  if (!sizes) return unknown(c.dtype(0));
  check_count(sizes->size());
  for (std::size_t i = 0; i < axes.size(); ++i) out[axes[i]] = (*sizes)[i];
  return known(c.dtype(0), out);
}

/// The blocksize of DepthToSpace and SpaceToDepth, with a rank-4 input.
std::int64_t block_size(const ShapeContext& c, const Shape& in) {
  const std::int64_t block = c.node().int_attr("blocksize", 0);
  if (in.size() != 4 || block < 1 || block > 65536) {
    c.refuse("input of " + shape_text(in) + " with blocksize " + std::to_string(block) +
             ": expected rank 4 and a blocksize of at least 1");
  }
  return block;
}

Infos depth_to_space(const ShapeContext& c) {
  c.need(1);
  if (c.shape(0) == nullptr) return unknown(c.dtype(0));
  const Shape& in = *c.shape(0);
  const std::int64_t block = block_size(c, in);
  if (in[1] % (block * block) != 0) {
    c.refuse(std::to_string(in[1]) + " channels: expected a multiple of blocksize squared");
  }
  return known(c.dtype(0), {in[0], in[1] / (block * block), in[2] * block, in[3] * block});
}

Infos space_to_depth(const ShapeContext& c) {
  c.need(1);
  if (c.shape(0) == nullptr) return unknown(c.dtype(0));
  const Shape& in = *c.shape(0);
  const std::int64_t block = block_size(c, in);
  if (in[2] % block != 0 || in[3] % block != 0) {
    c.refuse("a map of " + shape_text(in) + ": expected height and width multiples of the blocksize");
  }
  return known(c.dtype(0), {in[0], in[1] * block * block, in[2] / block, in[3] / block});
}

}  // namespace

void add_window_shapes(ShapeTable& table) {
  table["Conv"] = conv;
  table["ConvInteger"] = conv_integer;
  table["QLinearConv"] = qlinear_conv;
  table["ConvTranspose"] = conv_transpose;
  for (const char* op : {"AveragePool", "LpPool", "MaxPool"}) table[op] = pool;
  for (const char* op : {"GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool"}) table[op] = global_pool;
  table["Resize"] = resize;
  table["DepthToSpace"] = depth_to_space;
  table["SpaceToDepth"] = space_to_depth;
}

}  // namespace tessera::compiler
