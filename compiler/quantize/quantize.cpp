#include "compiler/quantize/quantize.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "compiler/ir/builder.hpp"
#include "compiler/ir/topology.hpp"
#include "compiler/passes/shape_inference.hpp"
#include "compiler/quantize/scale_groups.hpp"
#include "hw/common/error.hpp"

namespace tessera::compiler {
namespace {

/// A bias may use at most this much of int32, so that the sum of products has the rest (a weight scale is enlarged
/// where a large bias meets tiny weights).
constexpr double kLargestBias = 536870912.0;  // 2^29

Tensor scalar_float(float value) { return float_tensor({}, {value}); }

struct Axis {
  std::int64_t axis = 0;
  std::int64_t channels = 1;
  std::int64_t inner = 1;  // elements between two channels
};

class Quantizer {
 public:
  Quantizer(const Graph& graph, const std::vector<NamedTensors>* samples) : graph_(with_shapes(graph)), groups_(graph) {
    if (samples != nullptr) {
      measure(*samples);
    } else {
      timing_ = true;
    }
  }

  Graph run() {
    out_.name = graph_.name;
    out_.model_sha256 = graph_.model_sha256;
    out_.opset = std::max<std::int64_t>(graph_.opset, 13);
    out_.inputs = graph_.inputs;
    out_.outputs = graph_.outputs;
    out_.values = graph_.values;
    for (const auto& [name, tensor] : graph_.constants) taken_.insert(name);
    for (const auto& [name, info] : graph_.values) taken_.insert(name);
    for (const std::string& input : graph_.inputs) {
      if (groups_.quantized(input)) add_pair(input, input);
    }
    for (const Node& node : graph_.nodes) add_node(node);
    for (const std::string& output : graph_.outputs) {
      if (graph_.is_constant(output)) keep_constant(output);
    }
    return std::move(out_);
  }

 private:
  static const Graph& with_shapes(const Graph& graph) {
    require_shapes(graph);
    return graph;
  }

  // --- scales ---

  void measure(const std::vector<NamedTensors>& samples) {
    if (samples.empty()) user_error("calibration: no samples: expected at least one");
    const Observer observe = [&](const std::string& value, const Tensor& tensor) {
      if (!groups_.quantized(value)) return;
      float& top = ranges_[groups_.group(value)];
      const float* const x = tensor.data<float>();
      float low = 0;
      float high = 0;
      bool finite = true;
      for (std::int64_t i = 0; i < tensor.elements(); ++i) {
        low = std::min(low, x[i]);
        high = std::max(high, x[i]);
        finite = finite && std::isfinite(x[i]);
      }
      if (!finite) user_error("calibration: value ", value, " is not finite: expected finite samples and weights");
      top = std::max(top, std::max(high, -low));
    };
    for (const NamedTensors& sample : samples) (void)evaluate(graph_, sample, observe);
  }

  [[nodiscard]] Affine8 affine_of(const std::string& value) const {
    if (timing_) return {};
    const std::string& group = groups_.group(value);
    if (groups_.is_probability(group)) return kProbability;
    const auto found = ranges_.find(group);
    const float range = found == ranges_.end() ? 0.0F : found->second;
    return {scale_for(range), 0};
  }

  static float scale_for(float range) {
    // Below the smallest normal float the division by 127 would lose its digits.
    return range < 127.0F * std::numeric_limits<float>::min() ? 1.0F : range / 127.0F;
  }

  // --- building ---

  std::string fresh(const std::string& wanted) {
    std::string name = wanted;
    for (int i = 1; !taken_.insert(name).second; ++i) name = wanted + "_" + std::to_string(i);
    return name;
  }

  std::string constant(const std::string& wanted, Tensor tensor) {
    const std::string name = fresh(wanted);
    out_.constants[name] = std::move(tensor);
    return name;
  }

  void keep_constant(const std::string& name) {
    if (out_.constants.count(name) == 0) out_.constants[name] = graph_.constants.at(name);
  }

  void add(const std::string& op, std::vector<std::string> inputs, const std::string& output, DType dtype,
           const Shape& shape, std::int64_t axis = -1) {
    Node node;
    node.name = fresh(output + "_" + op);
    node.op = op;
    node.inputs = std::move(inputs);
    node.outputs = {output};
    if (axis >= 0) node.attributes["axis"] = axis;
    out_.values[output] = {dtype, shape};
    out_.nodes.push_back(std::move(node));
  }

  /// QuantizeLinear and DequantizeLinear behind the float value `source`; readers of `value` read the result.
  void add_pair(const std::string& value, const std::string& source) {
    const Affine8 affine = affine_of(value);
    const std::string scale = constant(value + "_scale", scalar_float(affine.scale));
    const std::string zero =
        constant(value + "_zero_point", int8_tensor({}, {static_cast<std::int8_t>(affine.zero_point)}));
    const Shape& shape = graph_.shape_of(value);
    const std::string quantized = fresh(value + "_quantized");
    const std::string result =
        is_graph_output(graph_, value) && source != value ? value : fresh(value + "_dequantized");
    add("QuantizeLinear", {source, scale, zero}, quantized, DType::i8, shape);
    add("DequantizeLinear", {quantized, scale, zero}, result, DType::f32, shape);
    renamed_[value] = result;
  }

  [[nodiscard]] std::string current(const std::string& value) const {
    const auto found = renamed_.find(value);
    return found == renamed_.end() ? value : found->second;
  }

  /// Scale of an already quantised input, for the bias.
  [[nodiscard]] float scale_of(const std::string& value) const {
    return groups_.quantized(value) ? affine_of(value).scale : 1.0F;
  }

  void add_node(const Node& original) {
    Node node = original;
    for (std::string& input : node.inputs) input = current(input);
    quantize_constants(original, &node);
    for (const std::string& input : node.inputs) {
      if (graph_.is_constant(input) && out_.constants.count(input) == 0) keep_constant(input);
    }
    std::vector<std::pair<std::string, std::string>> pairs;  // value, name of its float form
    for (std::string& output : node.outputs) {
      if (!groups_.quantized(output)) continue;
      std::string source = output;
      if (is_graph_output(graph_, output)) {
        source = fresh(output + "_float");
        out_.values[source] = graph_.values.at(output);
      }
      pairs.emplace_back(output, source);
      output = source;
    }
    out_.nodes.push_back(std::move(node));
    for (const auto& [value, source] : pairs) add_pair(value, source);
  }

  void quantize_constants(const Node& original, Node* node) {
    const std::string& op = original.op;
    if (!original.domain.empty()) return;
    if (op == "Conv" || op == "ConvTranspose" || op == "Gemm" || op == "MatMul") {
      for (std::size_t i = 0; i < original.inputs.size(); ++i) {
        if (i != 1 && !(i == 0 && op == "MatMul")) continue;
        if (is_float_constant(original.inputs[i])) add_weights(original, i, node);
      }
    } else if (op == "Add" || op == "Sub" || op == "Mul" || op == "Div" || op == "Concat" || op == "Min" ||
               op == "Max") {
      for (std::size_t i = 0; i < original.inputs.size(); ++i) {
        // A single number stays float: an operation with it becomes part of a table.
        if (is_float_constant(original.inputs[i]) &&
            (graph_.constants.at(original.inputs[i]).elements() > 1 || op == "Concat")) {
          node->inputs[i] = add_dequantized(original.name + "_" + original.inputs[i], original.inputs[i], {0, 1, 1},
                                            op == "Concat" ? scale_of(original.outputs[0]) : 0.0F, nullptr);
        }
      }
    }
  }

  [[nodiscard]] bool is_float_constant(const std::string& value) const {
    return graph_.is_constant(value) && graph_.constants.at(value).dtype == DType::f32;
  }

  /// The output channels of a weight; one scale for all where they do not lie along one axis.
  [[nodiscard]] static Axis output_axis(const Node& node, std::size_t input, const Shape& shape) {
    const auto rank = static_cast<std::int64_t>(shape.size());
    std::int64_t axis = -1;
    if (node.op == "Conv") axis = 0;
    if (node.op == "ConvTranspose" && node.int_attr("group", 1) == 1) axis = 1;
    if (node.op == "Gemm") axis = node.int_attr("transB", 0) != 0 ? 0 : 1;
    if (node.op == "MatMul" && input == 1 && rank == 2) axis = 1;
    if (axis < 0) return {0, 1, 1};
    Axis result{axis, shape[static_cast<std::size_t>(axis)], 1};
    for (std::size_t d = static_cast<std::size_t>(axis) + 1; d < shape.size(); ++d) result.inner *= shape[d];
    return result;
  }

  void add_weights(const Node& original, std::size_t input, Node* node) {
    const Tensor& weights = graph_.constants.at(original.inputs[input]);
    const Axis axis = output_axis(original, input, weights.shape);
    const bool has_bias = original.op != "MatMul" && original.inputs.size() > 2 &&
                          is_float_constant(original.inputs[2]) &&
                          graph_.constants.at(original.inputs[2]).elements() == axis.channels;
    const double in_scale = static_cast<double>(scale_of(original.inputs[0]));
    std::vector<float> least(static_cast<std::size_t>(axis.channels), 0.0F);
    if (has_bias && !timing_) {
      const float* const bias = graph_.constants.at(original.inputs[2]).data<float>();
      for (std::size_t c = 0; c < least.size(); ++c) {
        least[c] = static_cast<float>(std::fabs(static_cast<double>(bias[c])) / (in_scale * kLargestBias));
      }
    }
    std::vector<float> scales;
    node->inputs[input] =
        add_dequantized(original.name + "_weight", original.inputs[input], axis, 0.0F, &least, &scales);
    if (!has_bias) return;
    const Tensor& bias = graph_.constants.at(original.inputs[2]);
    std::vector<std::int32_t> values(least.size(), 0);
    std::vector<float> bias_scales(least.size(), 1.0F);
    for (std::size_t c = 0; c < least.size() && !timing_; ++c) {
      bias_scales[c] = static_cast<float>(in_scale * static_cast<double>(scales[c]));
      const double v = std::nearbyint(static_cast<double>(bias.data<float>()[c]) / static_cast<double>(bias_scales[c]));
      values[c] = static_cast<std::int32_t>(std::clamp(v, -2.0 * kLargestBias, 2.0 * kLargestBias));
    }
    const std::string base = original.name + "_bias";
    const std::string result = fresh(base + "_dequantized");
    const std::string scale = constant(base + "_scale", float_tensor({axis.channels}, bias_scales));
    const std::string zero =
        constant(base + "_zero_point", int32_tensor({axis.channels}, std::vector<std::int32_t>(values.size(), 0)));
    const std::string quantized = constant(base + "_quantized", int32_tensor(bias.shape, values));
    add("DequantizeLinear", {quantized, scale, zero}, result, DType::f32, bias.shape,
        static_cast<std::int64_t>(bias.shape.size()) - 1);
    node->inputs[2] = result;
  }

  /// int8 constant and DequantizeLinear for a float constant; one scale a channel of `axis`, at least `least`; `forced`
  /// > 0 sets it.
  std::string add_dequantized(const std::string& base, const std::string& value, const Axis& axis, float forced,
                              const std::vector<float>* least, std::vector<float>* scales_out = nullptr) {
    const Tensor& tensor = graph_.constants.at(value);
    const auto channels = static_cast<std::size_t>(axis.channels);
    std::vector<float> scales(channels, forced);
    Tensor quantized = Tensor::make(DType::i8, tensor.shape);
    if (timing_) {
      scales.assign(channels, 1.0F);
    } else {
      const float* const x = tensor.data<float>();
      const auto inner = static_cast<std::size_t>(axis.inner);
      const auto blocks = static_cast<std::size_t>(tensor.elements()) / inner;  // runs of one channel
      if (forced <= 0.0F) {
        for (std::size_t b = 0; b < blocks; ++b) {
          float top = scales[b % channels];
          for (std::size_t i = b * inner; i < (b + 1) * inner; ++i) top = std::max(top, std::fabs(x[i]));
          scales[b % channels] = top;
        }
        for (std::size_t c = 0; c < channels; ++c) {
          if (!std::isfinite(scales[c])) user_error("constant ", value, " is not finite");
          scales[c] = least == nullptr ? scale_for(scales[c]) : std::max(scale_for(scales[c]), (*least)[c]);
        }
      }
      std::int8_t* const q = quantized.data<std::int8_t>();
      for (std::size_t b = 0; b < blocks; ++b) {
        const float scale = scales[b % channels];
        for (std::size_t i = b * inner; i < (b + 1) * inner; ++i) {
          q[i] = static_cast<std::int8_t>(std::clamp(__builtin_nearbyintf(x[i] / scale), -127.0F, 127.0F));
        }
      }
    }
    const bool single = channels == 1;
    const Shape parameter_shape = single ? Shape{} : Shape{axis.channels};
    const std::string scale = constant(base + "_scale", float_tensor(parameter_shape, scales));
    const std::string zero =
        constant(base + "_zero_point", int8_tensor(parameter_shape, std::vector<std::int8_t>(channels, 0)));
    const std::string name = constant(base + "_quantized", std::move(quantized));
    const std::string result = fresh(base + "_dequantized");
    add("DequantizeLinear", {name, scale, zero}, result, DType::f32, tensor.shape, single ? -1 : axis.axis);
    if (scales_out != nullptr) *scales_out = scales;
    return result;
  }

  const Graph& graph_;
  ScaleGroups groups_;
  bool timing_ = false;
  std::map<std::string, float> ranges_;  // largest magnitude a group
  Graph out_;
  std::set<std::string> taken_;
  std::map<std::string, std::string> renamed_;
};

}  // namespace

bool is_quantized(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    return node.op == "QuantizeLinear" || node.op == "DequantizeLinear" || node.op.rfind("QLinear", 0) == 0;
  });
}

Graph quantize(const Graph& graph, const std::vector<NamedTensors>& samples) {
  return Quantizer(graph, &samples).run();
}

Graph quantize_for_timing(const Graph& graph) { return Quantizer(graph, nullptr).run(); }

}  // namespace tessera::compiler
