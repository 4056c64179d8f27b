// The walk from a QDQ graph to the integer graph. A QuantizeLinear is what drives it: it says how the value before it
// is stored, and that value's makers back to the last DequantizeLinear are one integer operator (plus Relu / Clip as a
// clamp). Private to compiler/quantize.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/ir/graph.hpp"
#include "compiler/ir/qgraph.hpp"
#include "hw/common/error.hpp"

namespace tessera::compiler {

/// How a value is stored in int8: real = (q - zero_point) * scale.
struct Storage {
  double scale = 1.0;
  std::int32_t zero_point = 0;
  [[nodiscard]] bool operator==(const Storage& other) const {
    return scale == other.scale && zero_point == other.zero_point;
  }
};

/// A constant behind DequantizeLinear, moved to int8 when it was uint8.
struct QuantizedConstant {
  Tensor values;  // int8 or int32
  std::vector<double> scales;
  std::vector<std::int32_t> zero_points;  // as many as scales
  std::int64_t axis = 0;
  [[nodiscard]] double real(std::int64_t index, std::size_t channel) const;
};

class Lowering {
 public:
  explicit Lowering(const Graph& graph) : graph_(graph) {}
  QGraph run();

 private:
  // lower.cpp
  void visit(const Node& node);
  void visit_quantize(const Node& node);
  void visit_dequantize(const Node& node);
  void visit_integer(const Node& node);
  void finish_output(const std::string& name);
  /// The integer operator for the float value, stored as `storage`; returns its tensor.
  int emit(const std::string& value, const Storage& storage, const std::string& tensor_name);
  int emit_node(const Node& node, const Storage& storage, const std::string& tensor_name, const std::string& value);
  void emit_add(const Node& node, double sign, QNode q, int output);
  void emit_mul(const Node& node, QNode q, int output);
  void emit_pool(const Node& node, QNode q, int output);
  void emit_average(const Node& node, QNode q, int output);
  void emit_concat(const Node& node, QNode q, int output);
  void emit_host(const Node& node, QNode q, int output);
  /// Moves elements only: output at the input's scale, then a requantisation when `output` has another.
  void emit_moved(const Node& node, QNode q, int input, int output);
  void emit_requantize(const Node& node, int input, QNode q, int output);
  int requantized(const Node& node, int input, const Storage& storage);

  // lower_conv.cpp
  void emit_conv(const Node& node, QNode q, int output);
  void emit_linear(const Node& node, QNode q, int output);
  /// x op constant per channel as a depthwise 1x1 convolution; false when that is not what the node is.
  bool emit_channel_constant(const Node& node, double sign, const QNode& q, int output);
  void set_conv_numbers(const Node& node, const QuantizedConstant& weights, const std::vector<double>& bias, QNode* q,
                        int input, int output) const;
  [[nodiscard]] std::vector<double> bias_sums(const Node& node, std::size_t input, const QuantizedConstant& weights,
                                              double in_scale, std::int64_t channels) const;

  // lower_table.cpp
  /// A chain of element-wise functions of one quantised value; false when the value is not made so.
  bool emit_table(const std::string& value, const Storage& storage, int output_tensor);

  // --- shared ---
  [[nodiscard]] const Node* maker(const std::string& value) const;
  /// Tensor of a dequantised value; UserError when the value is not dequantised.
  [[nodiscard]] int operand(const Node& node, std::size_t input) const;
  [[nodiscard]] const QuantizedConstant* constant(const std::string& value) const;
  int new_tensor(const std::string& name, const Shape& onnx_shape, const Storage& storage);
  [[nodiscard]] Storage storage_of(int tensor) const;
  [[nodiscard]] QuantizedConstant constant_of(const Node& node) const;
  [[nodiscard]] Storage storage_from(const Node& node) const;
  [[nodiscard]] const Shape& shape_of(int tensor) const {
    return result_.tensors[static_cast<std::size_t>(tensor)].shape;
  }
  void push(QNode node, int output);

  template <typename... Parts>
  [[noreturn]] static void refuse(const Node& node, const Parts&... parts) {
    user_error("node '", node.name, "' (", node.op, "): ", parts...);
  }

  const Graph& graph_;
  QGraph result_;
  std::map<std::string, int> quantized_;                // int8 value -> tensor
  std::map<std::string, int> dequantized_;              // float value behind DequantizeLinear -> tensor
  std::map<std::string, QuantizedConstant> constants_;  // float constant behind DequantizeLinear
  std::map<std::string, const Node*> pending_;          // float value -> its maker, not yet emitted
};

/// [N,C] -> [N,C,1,1], [N,C,L] -> [N,C,1,L], [C] -> [1,C,1,1]; more than four dimensions: the last ones merge.
[[nodiscard]] Shape promote(const Shape& shape);

/// Views that keep the 4-D shape vanish; a convolution that reads a flattened map becomes one whose kernel is the map.
/// Then tensors that nobody names go.
void simplify_views(QGraph* graph);

}  // namespace tessera::compiler
