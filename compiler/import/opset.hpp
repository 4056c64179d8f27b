// Settles what differs between opsets 7 and 21: each node leaves in its opset-13 form (operators that came later keep
// the form they were born with). One rule a difference, each with its sentence. Works without shapes: what needs a
// rank (the 2-D Softmax of opset < 13) is marked here and settled by compiler/passes.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph.hpp"

namespace tessera::compiler {

/// What a rule may use beside its node.
struct OpsetContext {
  Graph& graph;  // for constants
  std::int64_t opset;
  std::vector<Node> before;  // nodes that the rule wants ahead of its own

  /// A new constant named after the node; returns its name.
  std::string constant(const Node& node, const std::string& role, Tensor tensor);
  [[noreturn]] void refuse(const Node& node, const std::string& text) const;
};

struct OpsetRule {
  const char* op;
  std::int64_t first;  // opsets at which the rule applies, both included
  std::int64_t last;
  const char* sentence;
  void (*apply)(Node&, OpsetContext&);
};

[[nodiscard]] const std::vector<OpsetRule>& opset_rules();

/// Applies every rule for the node's operator (domain ai.onnx only); result in order of execution, the node last.
[[nodiscard]] std::vector<Node> to_opset13(Node node, Graph& graph, std::int64_t opset);

namespace opset_rules_detail {
// opset_old.cpp
/// Opsets 1 to 6 into the form of 7.
void from_before_7(Node& node, OpsetContext& context);
// opset_nn.cpp
void clip_limits(Node& node, OpsetContext& context);
void upsample(Node& node, OpsetContext& context);
void resize_10(Node& node, OpsetContext& context);
void batch_norm_8(Node& node, OpsetContext& context);
void batch_norm_training(Node& node, OpsetContext& context);
void dropout_attribute(Node& node, OpsetContext& context);
void dropout_training(Node& node, OpsetContext& context);
void softmax_2d(Node& node, OpsetContext& context);
void quantize_21(Node& node, OpsetContext& context);
void sum_to_adds(Node& node, OpsetContext& context);
/// Turns an integer-list attribute into the input at `position`.
void attribute_to_input(Node& node, OpsetContext& context, const std::string& key, std::size_t position);
}  // namespace opset_rules_detail

}  // namespace tessera::compiler
