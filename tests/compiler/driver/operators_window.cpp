// Operators with a window: convolutions, pools, resizing.
#include <algorithm>

#include "operator_model.hpp"

namespace tessera::compiler::testing {
namespace {

struct RandomWindow {
  Ints kernel, strides, dilations, pads;
};

/// Every window of it holds an element of the map: the dilated kernel fits the map, pads are at most half a kernel.
RandomWindow random_window(Random& random, const Ints& extent, std::int64_t largest, bool dilate) {
  RandomWindow w;
  Ints ends;
  for (const std::int64_t size : extent) {
    const std::int64_t k = random.between(1, std::min(largest, size));
    const bool dilated = dilate && 2 * (k - 1) + 1 <= size && random.chance(1, 3);
    w.kernel.push_back(k);
    w.strides.push_back(random.between(1, 3));
    w.dilations.push_back(dilated ? 2 : 1);
    w.pads.push_back(random.between(0, k / 2));
    ends.push_back(random.between(0, k / 2));
  }
  w.pads.insert(w.pads.end(), ends.begin(), ends.end());
  return w;
}

Attributes attributes_of(const RandomWindow& w) {
  return {{"kernel_shape", w.kernel}, {"strides", w.strides}, {"dilations", w.dilations}, {"pads", w.pads}};
}

void conv_of(OperatorModel& m, const Shape& in, std::int64_t group, std::int64_t outputs, std::int64_t largest) {
  const RandomWindow w = random_window(m.random, Ints(in.begin() + 2, in.end()), largest, true);
  Shape weights = {outputs, in[1] / group};
  weights.insert(weights.end(), w.kernel.begin(), w.kernel.end());
  Attributes attributes = attributes_of(w);
  attributes["group"] = group;
  if (m.random.chance(1, 6)) {  // windows that see nothing but padding
    Ints pads = w.pads;
    for (std::int64_t& pad : pads) pad += m.random.between(0, 3);
    attributes["pads"] = pads;
  }
  if (m.random.chance(1, 5)) {
    attributes.erase("pads");
    attributes["dilations"] = Ints(w.kernel.size(), 1);
    attributes["auto_pad"] = std::string(m.random.chance(1, 2) ? "SAME_UPPER" : "SAME_LOWER");
  }
  std::vector<std::string> inputs = {m.activation(in), m.floats(weights)};
  if (m.random.chance(1, 2)) inputs.push_back(m.floats({outputs}));
  m.test("Conv", inputs, std::move(attributes));
}

void conv(OperatorModel& m) { conv_of(m, m.map(), 1, m.channels(), 5); }

void conv_1d(OperatorModel& m) { conv_of(m, {m.batch(), m.channels(), m.random.between(1, 40)}, 1, m.channels(), 7); }

void conv_grouped(OperatorModel& m) {
  Shape in = m.map();
  const std::int64_t group = m.random.between(2, 5);
  in[1] = group * m.random.between(1, 6);
  conv_of(m, in, group, group * m.random.between(1, 6), 3);
}

void conv_depthwise(OperatorModel& m) {
  const Shape in = m.map();
  conv_of(m, in, in[1], in[1] * m.random.between(1, 2), 5);
}

void conv_pointwise(OperatorModel& m) { conv_of(m, m.map(), 1, m.channels(), 1); }

void transposed_of(OperatorModel& m, const Shape& map, bool flat) {
  Random& r = m.random;
  const std::int64_t group = r.chance(1, 3) ? r.between(2, 3) : 1;
  Shape in = map;
  in[1] = group * r.between(1, 7);
  const std::int64_t outputs = r.between(1, 7);
  const std::size_t axes = flat ? 1 : 2;
  Ints kernel, strides, dilations, begins, ends, output_padding;
  while (kernel.size() < axes) {
    const std::int64_t k = r.between(1, 5), s = r.between(1, 3), d = r.chance(1, 4) ? 2 : 1;
    const std::int64_t begin = r.between(0, k - 1), end = r.between(0, k - 1), extra = r.between(0, s - 1);
    const std::int64_t size = in[2 + kernel.size()];
    if (s * (size - 1) + extra + (k - 1) * d + 1 - begin - end < 1) continue;
    kernel.push_back(k);
    strides.push_back(s);
    dilations.push_back(d);
    begins.push_back(begin);
    ends.push_back(end);
    output_padding.push_back(extra);
  }
  Ints pads = begins;
  pads.insert(pads.end(), ends.begin(), ends.end());
  Shape weights = {in[1], outputs};
  weights.insert(weights.end(), kernel.begin(), kernel.end());
  std::vector<std::string> inputs = {m.activation(in), m.floats(weights)};
  if (r.chance(1, 2)) inputs.push_back(m.floats({outputs * group}));
  m.test("ConvTranspose", inputs,
         {{"group", group},
          {"strides", strides},
          {"dilations", dilations},
          {"pads", pads},
          {"output_padding", output_padding}});
}

void conv_transpose(OperatorModel& m) { transposed_of(m, m.map(7), false); }
void conv_transpose_1d(OperatorModel& m) { transposed_of(m, {m.batch(), 1, m.random.between(1, 20)}, true); }

Shape flat_or_map(OperatorModel& m) {
  return m.random.chance(1, 4) ? Shape{m.batch(), m.channels(), m.random.between(1, 30)} : m.map();
}

void max_pool(OperatorModel& m) {
  const Shape in = flat_or_map(m);
  Attributes a = attributes_of(random_window(m.random, Ints(in.begin() + 2, in.end()), 4, true));
  a["ceil_mode"] = std::int64_t{m.random.chance(1, 2)};
  m.test("MaxPool", {m.activation(in)}, std::move(a));
}

void average_pool(OperatorModel& m) {
  const Shape in = flat_or_map(m);
  Attributes a = attributes_of(random_window(m.random, Ints(in.begin() + 2, in.end()), 4, false));
  a.erase("dilations");  // since opset 19
  a["ceil_mode"] = std::int64_t{m.random.chance(1, 2)};
  a["count_include_pad"] = std::int64_t{m.random.chance(1, 2)};
  m.test("AveragePool", {m.activation(in)}, std::move(a));
}

void global_average_pool(OperatorModel& m) { m.test("GlobalAveragePool", {m.activation(flat_or_map(m))}); }
void global_max_pool_of_long_rows(OperatorModel& m) {
  m.test("GlobalMaxPool",
         {m.activation({1, m.random.between(1, 9), m.random.between(1, 2), m.random.between(250, 600)})});
}
void global_max_pool(OperatorModel& m) { m.test("GlobalMaxPool", {m.activation(flat_or_map(m))}); }

Attributes nearest(Random& random) {
  static const std::vector<std::string> how = {"half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"};
  static const std::vector<std::string> ties = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
  return {{"mode", std::string("nearest")},
          {"coordinate_transformation_mode", how[random.below(how.size())]},
          {"nearest_mode", ties[random.below(ties.size())]}};
}

void resize_nearest_by_factors(OperatorModel& m) {
  const std::vector<float> factors = {1.0F, 1.0F, static_cast<float>(m.random.between(1, 4)),
                                      static_cast<float>(m.random.between(1, 4))};
  m.test("Resize", {m.activation(m.map(7)), "", m.numbers(factors)},
         {{"coordinate_transformation_mode", std::string("asymmetric")}, {"nearest_mode", std::string("floor")}});
}

/// Any sizes: at most 7 x 7 pieces.
void resize_nearest_to_sizes(OperatorModel& m) {
  const Shape in = m.map();
  m.test("Resize", {m.activation(in), "", "", m.ints({in[0], in[1], m.random.between(1, 7), m.random.between(1, 7)})},
         nearest(m.random));
}

void resize_linear(OperatorModel& m) {
  const std::vector<float> factors = {1.0F, 1.0F, static_cast<float>(m.random.between(1, 5)),
                                      static_cast<float>(m.random.between(1, 5))};
  Attributes a = {{"mode", std::string("linear")}};
  if (m.random.chance(1, 2)) a["coordinate_transformation_mode"] = std::string("pytorch_half_pixel");
  m.test("Resize", {m.activation(m.map(6)), "", m.numbers(factors)}, std::move(a));
}

/// Factors whose weights leave int8: rows and columns are two passes.
void resize_linear_in_two_passes(OperatorModel& m) {
  m.test("Resize",
         {m.activation({1, m.random.between(1, 9), m.random.between(1, 4), m.random.between(1, 4)}), "",
          m.numbers(
              {1.0F, 1.0F, static_cast<float>(m.random.between(7, 11)), static_cast<float>(m.random.between(6, 9))})},
         {{"mode", std::string("linear")}});
}

}  // namespace

std::vector<OperatorFamily> window_families() {
  return {{"Conv", "Conv", {"conv"}, conv},
          {"Conv1d", "Conv", {"conv"}, conv_1d},
          {"ConvGrouped", "Conv", {"conv"}, conv_grouped},
          {"ConvDepthwise", "Conv", {"conv"}, conv_depthwise},
          {"ConvPointwise", "Conv", {"conv"}, conv_pointwise},
          {"ConvTranspose", "ConvTranspose", {"conv"}, conv_transpose},
          {"ConvTranspose1d", "ConvTranspose", {"conv"}, conv_transpose_1d},
          {"MaxPool", "MaxPool", {"edp"}, max_pool},
          {"AveragePool", "AveragePool", {"edp"}, average_pool},
          {"GlobalAveragePool", "GlobalAveragePool", {"edp"}, global_average_pool},
          {"GlobalMaxPool", "GlobalMaxPool", {"edp"}, global_max_pool},
          {"GlobalMaxPoolOfLongRows", "GlobalMaxPool", {"edp"}, global_max_pool_of_long_rows},
          {"ResizeNearestByFactors", "Resize", {"reorder", "load", "edp", "-"}, resize_nearest_by_factors},
          {"ResizeNearestToSizes", "Resize", {"reorder", "load", "edp", "-"}, resize_nearest_to_sizes},
          {"ResizeLinear", "Resize", {"conv", "edp", "-"}, resize_linear},
          {"ResizeLinearInTwoPasses", "Resize", {"conv"}, resize_linear_in_two_passes, 2.01}};
}

}  // namespace tessera::compiler::testing
