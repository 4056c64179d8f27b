#include "compiler/passes/batch_norm.hpp"

#include <cmath>

#include "compiler/ir/builder.hpp"
#include "compiler/ir/marks.hpp"
#include "compiler/passes/rewrite.hpp"

namespace tessera::compiler {
namespace {

/// Empty when a parameter is no float32 constant of one value a channel.
ScaleShift scale_and_shift(const Graph& graph, const Node& norm) {
  std::vector<std::vector<double>> parameters;
  for (std::size_t i = 1; i < 5; ++i) {
    const Tensor* tensor = float_constant(graph, input_or_empty(norm, i));
    if (tensor == nullptr) return {};
    parameters.push_back(tensor->as_doubles());
    if (parameters.back().size() != parameters.front().size()) return {};
  }
  const double epsilon = norm.float_attr("epsilon", 1e-5F);
  ScaleShift result;
  for (std::size_t c = 0; c < parameters[0].size(); ++c) {
    const double scale = parameters[0][c] / std::sqrt(parameters[3][c] + epsilon);
    result.scale.push_back(scale);
    result.shift.push_back(parameters[1][c] - parameters[2][c] * scale);
  }
  return result;
}

std::vector<float> to_floats(const std::vector<double>& values) { return {values.begin(), values.end()}; }

}  // namespace

/// y = (w x + b) s + t = (w s) x + (b s + t). Conv weights have the output channel first; those of ConvTranspose have
/// it second, counted within a group.
void fold_into(Graph& graph, Node& conv, const ScaleShift& norm) {
  Tensor weight = *float_constant(graph, conv.inputs[1]);
  const bool transpose = conv.op == "ConvTranspose";
  const auto outputs = static_cast<std::int64_t>(norm.scale.size());
  const std::int64_t rows = weight.shape[0];
  const std::int64_t columns = weight.shape[1];
  const std::int64_t inner = weight.elements() / (rows * columns);
  const std::int64_t group = conv.int_attr("group", 1);
  for (std::int64_t i = 0; i < weight.elements(); ++i) {
    const std::int64_t row = i / (columns * inner);
    const std::int64_t column = i / inner % columns;
    const std::int64_t channel = transpose ? row / (rows / group) * columns + column : row;
    float& value = weight.data<float>()[i];
    value = static_cast<float>(value * norm.scale[static_cast<std::size_t>(channel)]);
  }
  std::vector<double> bias(norm.scale.size(), 0.0);
  if (const Tensor* old_bias = float_constant(graph, input_or_empty(conv, 2))) bias = old_bias->as_doubles();
  for (std::size_t c = 0; c < bias.size(); ++c) bias[c] = bias[c] * norm.scale[c] + norm.shift[c];
  conv.inputs.resize(3);
  conv.inputs[1] = add_constant(graph, conv, "weight", std::move(weight));
  conv.inputs[2] = add_constant(graph, conv, "bias", float_tensor({outputs}, to_floats(bias)));
}

bool takes_scale(const Graph& graph, const Node& conv, std::size_t channels) {
  const bool is_conv = is_op(conv, "Conv") || is_op(conv, "ConvTranspose");
  if (!is_conv) return false;
  const Tensor* weight = float_constant(graph, conv.inputs[1]);
  const std::string bias_name = input_or_empty(conv, 2);
  const Tensor* bias = float_constant(graph, bias_name);
  if (weight == nullptr || weight->elements() == 0 || (!bias_name.empty() && bias == nullptr)) return false;
  const bool transpose = conv.op == "ConvTranspose";
  const std::int64_t outputs = transpose ? weight->shape[1] * conv.int_attr("group", 1) : weight->shape[0];
  return outputs == static_cast<std::int64_t>(channels);
}

namespace {

/// The node as a depthwise 1x1 convolution.
void become_conv(Graph& graph, Node& node, const ScaleShift& norm, std::size_t rank) {
  const auto channels = static_cast<std::int64_t>(norm.scale.size());
  Shape shape(rank, 1);
  shape[0] = channels;
  const std::string weight = add_constant(graph, node, "weight", float_tensor(shape, to_floats(norm.scale)));
  const std::string bias = add_constant(graph, node, "bias", float_tensor({channels}, to_floats(norm.shift)));
  const std::size_t spatial = rank - 2;
  node.op = "Conv";
  node.inputs = {node.inputs[0], weight, bias};
  node.attributes = {{"group", channels},
                     {"kernel_shape", Ints(spatial, 1)},
                     {"strides", Ints(spatial, 1)},
                     {"dilations", Ints(spatial, 1)},
                     {"pads", Ints(2 * spatial, 0)},
                     {kScaleShiftConv, std::int64_t{1}}};
}

}  // namespace

std::size_t fold_batch_norm(Graph& graph) {
  Wiring wiring(graph);
  std::size_t folded = 0;
  for (Node& node : graph.nodes) {
    if (!is_op(node, "BatchNormalization") || !has_shape(graph, node.inputs[0])) continue;
    const ScaleShift norm = scale_and_shift(graph, node);
    if (norm.scale.empty()) continue;
    Node* conv = wiring.maker(node.inputs[0]);
    if (conv != nullptr && wiring.sole_reader(node.inputs[0]) == &node &&
        takes_scale(graph, *conv, norm.scale.size())) {
      fold_into(graph, *conv, norm);
      wiring.absorb(*conv, node);
      ++folded;
      continue;
    }
    const std::size_t rank = graph.shape_of(node.inputs[0]).size();
    if (rank < 3 || rank > 5) continue;
    become_conv(graph, node, norm, rank);
    ++folded;
  }
  wiring.finish();
  return folded;
}

}  // namespace tessera::compiler
