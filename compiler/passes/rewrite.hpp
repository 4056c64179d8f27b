// Small steps that several passes take. Private to compiler/passes.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "compiler/ir/graph.hpp"

namespace tessera::compiler {

/// Makers, readers and outputs of a graph at one moment. Valid while nodes are edited but not added or removed, as long
/// as the pass calls the functions below for each change.
class Wiring {
 public:
  explicit Wiring(Graph& graph);

  /// The node that makes `value`, nullptr for graph inputs and constants.
  [[nodiscard]] Node* maker(const std::string& value);
  /// The only node that reads `value`, nullptr when it has several readers (one node twice counts as two), none, or is
  /// a graph output.
  [[nodiscard]] Node* sole_reader(const std::string& value);
  /// Whether anything reads `value`: a node or the graph's user.
  [[nodiscard]] bool is_read(const std::string& value) const;
  [[nodiscard]] bool is_output(const std::string& value) const { return outputs_.count(value) != 0; }

  /// Takes `node` out so that its readers read `input` instead of its first output; if that is a graph output, the
  /// maker of `input` makes it under the output's name. False and no change when neither is possible.
  bool bypass(Node& node, const std::string& input);

  /// `into` takes over the first output of `node`, which reads into's output and vanishes; its name is recorded.
  void absorb(Node& into, Node& node);

  /// Erases the nodes that were taken out.
  void finish();

 private:
  Graph& graph_;
  std::map<std::string, std::size_t> makers_;
  std::map<std::string, std::vector<std::size_t>> readers_;
  std::map<std::string, bool> outputs_;
};

/// A new constant with a free name made of the node's and `role`; returns the name.
std::string add_constant(Graph& graph, const Node& node, const std::string& role, Tensor tensor);

/// The float32 constant of that name, nullptr when it is none.
[[nodiscard]] const Tensor* float_constant(const Graph& graph, const std::string& value);

/// Input i of the node or "" when absent.
[[nodiscard]] std::string input_or_empty(const Node& node, std::size_t i);

/// Whether the shape of a value is known.
[[nodiscard]] bool has_shape(const Graph& graph, const std::string& value);

/// Whether the operator is ONNX's own.
[[nodiscard]] inline bool is_op(const Node& node, const char* op) { return node.domain.empty() && node.op == op; }

}  // namespace tessera::compiler
