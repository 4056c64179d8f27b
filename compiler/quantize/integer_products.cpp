#include "compiler/quantize/integer_products.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "compiler/ir/topology.hpp"
#include "compiler/quantize/lowering.hpp"

namespace tessera::compiler {
namespace {

class Absorber {
 public:
  explicit Absorber(Graph graph) : graph_(std::move(graph)), makers_(producers(graph_)), readers_(consumers(graph_)) {}

  Graph run() {
    for (const Node& node : graph_.nodes) {
      if (is_op(node, "ConvInteger") || is_op(node, "MatMulInteger")) absorb(node);
    }
    if (made_.empty()) return std::move(graph_);
    std::vector<Node> nodes;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const auto made = made_.find(i);
      if (made != made_.end()) {
        std::move(made->second.begin(), made->second.end(), std::back_inserter(nodes));
      } else if (gone_.count(i) == 0) {
        nodes.push_back(std::move(graph_.nodes[i]));
      }
    }
    graph_.nodes = std::move(nodes);
    return std::move(graph_);
  }

 private:
  struct Stored {  // how an int8 or uint8 value is to be read
    double scale = 1.0;
    std::int64_t zero_point = 0;
  };

  /// The one reader of a value that is no graph output.
  [[nodiscard]] std::optional<std::size_t> sole_reader(const std::string& value) const {
    const auto found = readers_.find(value);
    if (found == readers_.end() || found->second.size() != 1 || is_graph_output(graph_, value)) return std::nullopt;
    return found->second[0];
  }

  [[nodiscard]] const Tensor* constant(const Node& node, std::size_t input) const {
    if (input >= node.inputs.size() || node.inputs[input].empty()) return nullptr;
    const auto found = graph_.constants.find(node.inputs[input]);
    return found == graph_.constants.end() ? nullptr : &found->second;
  }

  /// The zero point at `input`: 0 when absent, nullopt when computed or one a channel.
  [[nodiscard]] std::optional<std::int64_t> zero_point(const Node& node, std::size_t input) const {
    if (input >= node.inputs.size() || node.inputs[input].empty()) return 0;
    const Tensor* tensor = constant(node, input);
    if (tensor == nullptr || tensor->elements() != 1) return std::nullopt;
    return tensor->as_ints()[0];
  }

  [[nodiscard]] std::optional<Stored> quantisation_of(const Node& node) const {
    const Tensor* scale = constant(node, 1);
    const std::optional<std::int64_t> zero = zero_point(node, 2);
    if (scale == nullptr || scale->elements() != 1 || !zero) return std::nullopt;
    return Stored{scale->as_doubles()[0], *zero};
  }

  /// What QuantizeLinear says of the value, or the DequantizeLinear beside us that reads the graph's input.
  [[nodiscard]] std::optional<Stored> stored(const std::string& value, std::int64_t zero) const {
    const auto maker = makers_.find(value);
    if (maker != makers_.end()) {
      const Node& node = graph_.nodes[maker->second];
      return is_op(node, "QuantizeLinear") ? quantisation_of(node) : std::nullopt;
    }
    if (graph_.is_constant(value)) return std::nullopt;
    Stored as{1.0, zero};
    for (const std::size_t at : readers_.at(value)) {
      const Node& reader = graph_.nodes[at];
      if (is_op(reader, "DequantizeLinear")) {
        const std::optional<Stored> given = quantisation_of(reader);
        if (!given) return std::nullopt;
        as = *given;
      } else if (!is_op(reader, "ConvInteger") && !is_op(reader, "MatMulInteger")) {
        return std::nullopt;  // reads the integers themselves
      }
    }
    return as;
  }

  /// Whether the value ends in a QuantizeLinear, with nothing but clamps before it.
  [[nodiscard]] bool is_requantised(std::string value) const {
    for (;;) {
      const std::optional<std::size_t> reader = sole_reader(value);
      if (!reader) return false;
      const Node& node = graph_.nodes[*reader];
      if (is_op(node, "QuantizeLinear")) return node.inputs[0] == value;
      if (!is_op(node, "Relu") && !is_op(node, "Clip")) return false;
      value = node.outputs[0];
    }
  }

  /// The constant of a Mul or Add with `value`, one number or one a channel of the result.
  [[nodiscard]] const Tensor* per_channel(const Node& node, const std::string& value, std::int64_t channels,
                                          std::size_t behind) const {
    if (node.inputs.size() != 2 || node.inputs[0] == node.inputs[1]) return nullptr;
    const Tensor* tensor = constant(node, node.inputs[0] == value ? 1 : 0);
    if (tensor == nullptr || tensor->dtype != DType::f32) return nullptr;
    if (graph_.shape_of(node.outputs[0]) != graph_.shape_of(value)) return nullptr;
    if (tensor->elements() == 1) return tensor;
    const std::size_t rank = tensor->shape.size();
    if (tensor->elements() != channels || rank <= behind || tensor->shape[rank - 1 - behind] != channels)
      return nullptr;
    return tensor;
  }

  void absorb(const Node& product) {
    const bool conv = product.op == "ConvInteger";
    const Tensor* weights = constant(product, 1);
    const std::optional<std::int64_t> x_zero = zero_point(product, 2), w_zero = zero_point(product, 3);
    if (weights == nullptr || !x_zero || !w_zero) return;
    const std::optional<Stored> x = stored(product.inputs[0], *x_zero);
    if (!x || x->zero_point != *x_zero || !(x->scale > 0.0)) return;
    const Shape& out = graph_.shape_of(product.outputs[0]);
    if (!conv && (weights->shape.size() != 2 || out.size() != 2)) return;
    const std::int64_t channels = weights->shape[conv ? 0 : 1];
    const std::size_t behind = conv ? out.size() - 2 : 0;  // axes behind the channels
    // Cast, Mul by the scales.
    std::vector<std::size_t> steps;
    const auto follow = [&](const std::string& value, const char* op) -> const Node* {
      const std::optional<std::size_t> reader = sole_reader(value);
      if (!reader || !is_op(graph_.nodes[*reader], op)) return nullptr;
      steps.push_back(*reader);
      return &graph_.nodes[*reader];
    };
    const Node* cast = follow(product.outputs[0], "Cast");
    if (cast == nullptr || graph_.dtype_of(cast->outputs[0]) != DType::f32) return;
    const Node* mul = follow(cast->outputs[0], "Mul");
    if (mul == nullptr) return;
    const Tensor* scales = per_channel(*mul, cast->outputs[0], channels, behind);
    if (scales == nullptr) return;
    std::string result = mul->outputs[0];
    const Tensor* bias = nullptr;
    if (const Node* add = follow(result, "Add"); add != nullptr) {
      bias = per_channel(*add, result, channels, behind);
      if (bias == nullptr) return;
      result = add->outputs[0];
    }
    if (!is_requantised(result)) return;
    write(product, conv, *x, *w_zero, *weights, *scales, bias, result, steps);
  }

  void write(const Node& product, bool conv, const Stored& x, std::int64_t w_zero, const Tensor& weights,
             const Tensor& scales, const Tensor* bias, const std::string& result,
             const std::vector<std::size_t>& steps) {
    std::vector<Node> nodes;
    const std::vector<double> factors = scales.as_doubles();
    const Shape w_shape = scales.elements() == 1 ? Shape{} : Shape{scales.elements()};
    Tensor w_scale = Tensor::make(DType::f64, w_shape);
    for (std::size_t i = 0; i < factors.size(); ++i) w_scale.data<double>()[i] = factors[i] / x.scale;
    Tensor x_scale = Tensor::make(DType::f64, {});
    *x_scale.data<double>() = x.scale;
    const auto zero = [](DType dtype, std::int64_t value, const Shape& shape) {
      Tensor tensor = Tensor::make(dtype, shape);
      std::fill(tensor.bytes.begin(), tensor.bytes.end(), static_cast<std::uint8_t>(value));
      return tensor;
    };
    const DType x_type = graph_.dtype_of(product.inputs[0]);
    const std::string a = dequantize(product, 0, "x", std::move(x_scale), zero(x_type, x.zero_point, {}), &nodes);
    const std::string b = dequantize(product, 1, "w", std::move(w_scale), zero(weights.dtype, w_zero, w_shape), &nodes);
    nodes.back().attributes["axis"] = std::int64_t{conv ? 0 : 1};
    Node plain;
    plain.name = product.name;
    plain.op = conv ? "Conv" : "Gemm";
    plain.attributes = product.attributes;
    plain.inputs = {a, b};
    plain.outputs = {result};
    plain.fused = product.fused;
    for (const std::size_t step : steps) plain.fused.push_back(graph_.nodes[step].name);
    if (bias != nullptr) {
      Tensor flat = *bias;
      flat.shape = {bias->elements()};
      plain.inputs.push_back(add_constant(product, "bias", std::move(flat)));
    }
    nodes.push_back(std::move(plain));
    for (const std::size_t step : steps) gone_.insert(step);
    gone_.insert(makers_.at(product.outputs[0]));
    made_[steps.back()] = std::move(nodes);
  }

  std::string add_constant(const Node& product, const std::string& role, Tensor tensor) {
    const std::string name = unique_name(graph_, product.name + "_" + role);
    graph_.constants[name] = std::move(tensor);
    return name;
  }

  std::string dequantize(const Node& product, std::size_t input, const std::string& role, Tensor scale, Tensor zero,
                         std::vector<Node>* nodes) {
    Node node;
    node.op = "DequantizeLinear";
    node.inputs = {product.inputs[input], add_constant(product, role + "_scale", std::move(scale)),
                   add_constant(product, role + "_zero_point", std::move(zero))};
    const std::string output = unique_name(graph_, product.name + "_" + role);
    graph_.values[output] = {DType::f32, graph_.shape_of(product.inputs[input])};
    node.name = output;
    node.outputs = {output};
    nodes->push_back(std::move(node));
    return output;
  }

  Graph graph_;
  std::map<std::string, std::size_t> makers_;
  std::map<std::string, std::vector<std::size_t>> readers_;
  std::set<std::size_t> gone_;
  std::map<std::size_t, std::vector<Node>> made_;  // at the place of the last node that vanishes
};

}  // namespace

Graph absorb_integer_products(Graph graph) { return Absorber(std::move(graph)).run(); }

}  // namespace tessera::compiler
