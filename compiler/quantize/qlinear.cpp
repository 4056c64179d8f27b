#include "compiler/quantize/qlinear.hpp"

#include <set>
#include <utility>

#include "compiler/ir/builder.hpp"
#include "hw/common/error.hpp"

namespace tessera::compiler {
namespace {

class Expander {
 public:
  explicit Expander(Graph graph) : graph_(std::move(graph)) {
    for (const auto& [name, tensor] : graph_.constants) taken_.insert(name);
    for (const auto& [name, info] : graph_.values) taken_.insert(name);
  }

  Graph run() {
    std::vector<Node> nodes;
    std::swap(nodes, graph_.nodes);
    for (Node& node : nodes) {
      const bool conv = node.domain.empty() && node.op == "QLinearConv";
      if (conv || (node.domain.empty() && node.op == "QLinearMatMul")) {
        expand(node, conv);
      } else {
        graph_.nodes.push_back(std::move(node));
      }
    }
    return std::move(graph_);
  }

 private:
  std::string fresh(const std::string& wanted) {
    std::string name = wanted;
    for (int i = 1; !taken_.insert(name).second; ++i) name = wanted + "_" + std::to_string(i);
    return name;
  }

  std::string dequantize(const Node& node, std::size_t at, const char* role) {
    Node dq;
    dq.name = fresh(node.name + "_" + role + "_DequantizeLinear");
    dq.op = "DequantizeLinear";
    dq.inputs = {node.inputs[at], node.inputs[at + 1], node.inputs[at + 2]};
    dq.outputs = {fresh(node.name + "_" + role)};
    if (std::string(role) == "w") dq.attributes["axis"] = std::int64_t{node.op == "QLinearConv" ? 0 : 1};
    graph_.values[dq.outputs[0]] = {DType::f32, graph_.shape_of(node.inputs[at])};
    graph_.nodes.push_back(dq);
    return dq.outputs[0];
  }

  /// Inputs x, xs, xz, w, ws, wz, ys, yz and, for Conv, a bias with scale xs * ws.
  void expand(const Node& node, bool conv) {
    if (node.inputs.size() < 8)
      user_error("node '", node.name, "' (", node.op, "): ", node.inputs.size(), " inputs: expected at least 8");
    Node plain;
    plain.name = node.name;
    plain.op = conv ? "Conv" : "MatMul";
    plain.attributes = node.attributes;
    plain.fused = node.fused;
    plain.inputs = {dequantize(node, 0, "x"), dequantize(node, 3, "w")};
    if (conv && node.inputs.size() > 8 && !node.inputs[8].empty()) plain.inputs.push_back(bias(node));
    plain.outputs = {fresh(node.name + "_float")};
    graph_.values[plain.outputs[0]] = {DType::f32, graph_.shape_of(node.outputs[0])};
    Node q;
    q.name = fresh(node.name + "_QuantizeLinear");
    q.op = "QuantizeLinear";
    q.inputs = {plain.outputs[0], node.inputs[6], node.inputs[7]};
    q.outputs = node.outputs;
    graph_.nodes.push_back(std::move(plain));
    graph_.nodes.push_back(std::move(q));
  }

  /// A constant operand of the given type with `elements` elements, or one.
  const Tensor& constant(const Node& node, std::size_t input, DType type, std::int64_t elements) {
    const auto found = graph_.constants.find(node.inputs[input]);
    if (found == graph_.constants.end()) {
      user_error("node '", node.name, "' (", node.op, "): input ", input, " is computed: expected a constant");
    }
    const Tensor& tensor = found->second;
    if (tensor.dtype != type || (tensor.elements() != 1 && tensor.elements() != elements)) {
      user_error("node '", node.name, "' (", node.op, "): input ", input, " is ", dtype_name(tensor.dtype), " with ",
                 tensor.elements(), " elements: expected ", dtype_name(type), " with 1",
                 elements == 1 ? "" : detail::concat(" or ", elements));
    }
    return tensor;
  }

  std::string bias(const Node& node) {
    const Shape& kernel = graph_.shape_of(node.inputs[3]);
    const std::int64_t channels = kernel.empty() ? 1 : kernel[0];
    const Tensor& values = constant(node, 8, DType::i32, channels);
    const float x_scale = *constant(node, 1, DType::f32, 1).data<float>();
    const Tensor& w_scale = constant(node, 4, DType::f32, values.elements());
    Tensor scale = Tensor::make(DType::f32, {values.elements()});
    for (std::int64_t i = 0; i < values.elements(); ++i) {
      scale.data<float>()[i] = x_scale * w_scale.data<float>()[w_scale.elements() == 1 ? 0 : i];
    }
    Node dq;
    dq.name = fresh(node.name + "_b_DequantizeLinear");
    dq.op = "DequantizeLinear";
    const std::string scale_name = fresh(node.name + "_b_scale");
    graph_.constants[scale_name] = std::move(scale);
    dq.inputs = {node.inputs[8], scale_name};
    dq.attributes["axis"] = std::int64_t{0};
    dq.outputs = {fresh(node.name + "_b")};
    graph_.values[dq.outputs[0]] = {DType::f32, values.shape};
    graph_.nodes.push_back(dq);
    return dq.outputs[0];
  }

  Graph graph_;
  std::set<std::string> taken_;
};

}  // namespace

Graph expand_qlinear(Graph graph) { return Expander(std::move(graph)).run(); }

}  // namespace tessera::compiler
