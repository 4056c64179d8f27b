// The walk from a QDQ graph to the integer graph. A QuantizeLinear is what drives it: it says how the value before it
// is stored, and that value's makers back to the last DequantizeLinear are one integer operator (plus Relu / Clip as a
// clamp). Private to compiler/quantize.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph.hpp"
#include "compiler/ir/qgraph.hpp"
#include "compiler/legal/rules.hpp"
#include "compiler/quantize/moves.hpp"
#include "compiler/quantize/quantize.hpp"
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
  /// With `refusals`, a refused node is noted there and the walk goes on.
  explicit Lowering(const Graph& graph, std::vector<Refusal>* refusals = nullptr);
  QGraph run();

 private:
  // lower.cpp: the walk
  void visit(const Node& node);
  void visit_node(const Node& node);
  void visit_quantize(const Node& node);
  void visit_dequantize(const Node& node);
  void visit_integer(const Node& node);
  void finish_output(const std::string& name);
  /// The integer operator for the float value, stored as `storage`; returns its tensor.
  int emit(const std::string& value, const Storage& storage, const std::string& tensor_name);
  int emit_node(const Node& node, const Storage& storage, const std::string& tensor_name, const std::string& value);
  void emit_into(int output, const Node& last, const Storage& storage, const std::string& value);
  void note_refusal(const Node& node, const std::string& text, int output);
  /// Emits the node on the NPU; false: an operand has no int8 form. `why` names the rule that the node breaks.
  bool emit_on_npu(const Node& node, const QNode& q, int output, const std::string& value, std::string* why);

  // lower_edp.cpp
  void emit_sum(const Node& node, QNode q, int output);
  void emit_product(const Node& node, QNode q, int output);
  void emit_pool(const Node& node, QNode q, int output);
  void emit_average(const Node& node, QNode q, int output);
  void emit_reduce(const Node& node, QNode q, int output);
  /// The maxima of a map under kernels as large as their fields: what remains fits one kernel.
  int narrowed_by_maxima(const Node& node, int input);
  void emit_clamp(const Node& node, QNode q, int output);
  void emit_prelu(const Node& node, QNode q, int output);
  void emit_requantize(const Node& node, int input, QNode q, int output);
  int requantized(const Node& node, int input, const Storage& storage);

  // lower_move.cpp
  void emit_concat(const Node& node, QNode q, int output);
  void emit_view(const Node& node, QNode q, int output);
  void emit_pad(const Node& node, QNode q, int output);
  void emit_resize(const Node& node, QNode q, int output);
  void emit_linear_resize(const Node& node, QNode q, int input, int output);
  /// The mover's boxes, from running it on element numbers; nullopt: not a few strided copies.
  [[nodiscard]] std::optional<std::vector<QMove>> moves_of(const Node& node, const std::string& value) const;
  bool emit_mover(const Node& node, QNode q, int output, const std::string& value);
  /// Moves elements only: output at the input's scale, then a requantisation when `output` has another.
  void emit_moved(const Node& node, QNode q, int input, int output);
  /// The tensor as an operand of a result of `shape`: of that shape, or one value a channel.
  int fitted(const Node& node, int tensor, const Shape& shape);
  /// The same elements under another shape.
  int viewed(const Node& node, int tensor, const Shape& shape);
  int expanded(const Node& node, int tensor, const Shape& shape);

  // lower_conv.cpp
  void emit_conv(const Node& node, QNode q, int output);
  void emit_linear(const Node& node, QNode q, int output);
  void emit_matmul(const Node& node, QNode q, int output);
  /// x op constant per channel as a depthwise 1x1 convolution; false when that is not what the node is.
  bool emit_channel_constant(const Node& node, double sign, const QNode& q, int output);
  void set_conv_numbers(const Node& node, const QuantizedConstant& weights, const std::vector<double>& bias, QNode* q,
                        int input, int output) const;
  [[nodiscard]] std::vector<double> bias_sums(const Node& node, std::size_t input, const QuantizedConstant& weights,
                                              double in_scale, std::int64_t channels) const;

  // lower_phases.cpp
  void emit_transposed_conv(const Node& node, QNode q, int output);
  /// Maps of [N, C, rows, columns], phase (py, px) at rows py, py + sy, ..., as one map.
  void interleave(const Node& node, const std::vector<int>& phases, std::int64_t sy, std::int64_t sx, int output);

  // lower_table.cpp
  /// Element-wise functions of one quantised value; false when the value is not made so.
  bool emit_table(const std::string& value, const Storage& storage, int output_tensor);

  // lower_host.cpp
  void emit_host(const Node& node, QNode q, const std::string& value, int output, const std::string& why);
  /// The value as a tensor for the host: quantised, or of its own type.
  int host_operand(const Node& reader, const std::string& value);
  int new_raw_tensor(const std::string& value);

  // --- shared ---
  [[nodiscard]] const Node* maker(const std::string& value) const;
  /// int8 tensor of a float value: dequantised, a constant, or moved elements of such; -1: it has none.
  int find_operand(const std::string& value);
  /// A view or strided copy of one operand that keeps the rules.
  [[nodiscard]] bool moves_elements(const Node& node) const;
  /// The same for an input; UserError when it has none.
  int operand(const Node& node, std::size_t input);
  [[nodiscard]] const QuantizedConstant* constant(const std::string& value) const;
  /// Real numbers of a constant, float or behind DequantizeLinear.
  [[nodiscard]] std::vector<double> real_constant(const Node& node, std::size_t input) const;
  [[nodiscard]] legal::Subject subject(const Node& node) const { return {graph_, makers_, node}; }
  int new_tensor(const std::string& name, const Shape& onnx_shape, const Storage& storage);
  [[nodiscard]] Storage storage_of(int tensor) const;
  [[nodiscard]] QuantizedConstant constant_of(const Node& node) const;
  [[nodiscard]] Storage storage_from(const Node& node) const;
  /// Scales of QuantizeLinear and DequantizeLinear (input 1).
  static void require_positive(const Node& node, const std::vector<double>& scales);
  [[nodiscard]] bool is_input(const std::string& value) const;
  [[nodiscard]] const QTensor& tensor(int index) const { return result_.tensors[static_cast<std::size_t>(index)]; }
  [[nodiscard]] const Shape& shape_of(int index) const { return tensor(index).shape; }
  void push(QNode node, int output);
  /// q with the node's name and a role, and no absorbed nodes: for the steps of one node.
  static QNode step_of(const Node& node, QOp op, const std::string& role);

  template <typename... Parts>
  [[noreturn]] static void refuse(const Node& node, const Parts&... parts) {
    user_error("node '", node.name, "' (", node.op, "): ", parts...);
  }

  const Graph& graph_;
  std::vector<Refusal>* refusals_;
  QGraph result_;
  std::map<std::string, const Node*> makers_;
  std::map<std::string, int> quantized_;                // int8 value -> tensor
  std::map<std::string, int> dequantized_;              // float value behind DequantizeLinear -> tensor
  std::map<std::string, int> raw_;                      // value of the host's own type -> tensor
  std::map<std::string, QuantizedConstant> constants_;  // constant behind DequantizeLinear
  std::map<std::string, int> constant_tensors_;         // the same as an operand
  std::map<std::string, const Node*> pending_;          // value -> its maker, not yet emitted
};

[[nodiscard]] QNode node_for(const Node& node, QOp op);
[[nodiscard]] QScale to_scale(double real);
[[nodiscard]] bool is_op(const Node& node, const char* op);

/// [N,C] -> [N,C,1,1], [N,C,L] -> [N,C,1,L], [C] -> [1,C,1,1]; more than four dimensions: the last ones merge.
[[nodiscard]] Shape promote(const Shape& shape);

/// Views that keep the 4-D shape vanish; a convolution that reads a flattened map becomes one whose kernel is the map.
/// Then tensors that nobody names go.
void simplify_views(QGraph* graph);

}  // namespace tessera::compiler
