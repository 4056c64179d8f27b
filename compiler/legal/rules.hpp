// What the NPU runs, and under which conditions: one function a rule, each with its sentence. The lowering asks these
// rules and docs/operators.md is generated from them, so page and compiler cannot differ. A node that breaks a rule
// runs on the host, where the float interpreter has its operator; else it is refused with the sentence. Leaves out:
// whether operands are quantised, ranges of sums (compiler/quantize); chip limits (compiler/schedule).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/ir/graph.hpp"

namespace tessera::compiler::legal {

/// A node with its graph. The graph may be float or QDQ: a constant behind DequantizeLinear is a constant.
class Subject {
 public:
  Subject(const Graph& graph, const std::map<std::string, const Node*>& makers, const Node& node)
      : graph_(graph), makers_(makers), node_(node) {}
  [[nodiscard]] const Node& node() const { return node_; }
  [[nodiscard]] bool has(std::size_t i) const { return i < node_.inputs.size() && !node_.inputs[i].empty(); }
  [[nodiscard]] const Shape& shape(std::size_t i) const { return graph_.shape_of(node_.inputs.at(i)); }
  [[nodiscard]] const Shape& output() const { return graph_.shape_of(node_.outputs.at(0)); }
  [[nodiscard]] bool constant(std::size_t i) const { return constant_tensor(i) != nullptr; }
  /// The constant, still quantised when it stands behind DequantizeLinear; nullptr: it is none.
  [[nodiscard]] const Tensor* constant_tensor(std::size_t i) const;
  /// Axes of a reduction, not negative, ascending; all when none are given.
  [[nodiscard]] std::vector<std::int64_t> axes() const;

 private:
  const Graph& graph_;
  const std::map<std::string, const Node*>& makers_;
  const Node& node_;
};

struct Rule {
  const char* name;
  const char* sentence;  // what is legal
  bool (*holds)(const Subject&);
};

/// An operator of the NPU: where it runs, in what form, and its rules.
struct Operator {
  const char* op;
  const char* unit;  // conv, gemm, edp, reorder, load, - (no work)
  const char* form;
  std::vector<const Rule*> rules;
};

[[nodiscard]] const std::vector<Operator>& operators();
/// nullptr: no operator of the NPU.
[[nodiscard]] const Operator* find_operator(const Node& node);
/// The first rule that the node breaks, nullptr when it is legal. The node's operator must be one of the NPU's.
[[nodiscard]] const Rule* first_broken(const Subject& subject);

/// Whether its results are elements of its first input, moved or seen in another shape.
[[nodiscard]] bool only_moves(const Operator& entry);

/// Element-wise functions of one value, which become a table; with constants of one element where they take several.
[[nodiscard]] const std::vector<std::string>& table_functions();

/// Output columns (rows) per input column of a Resize with whole factors; empty: the factors are not whole.
[[nodiscard]] std::vector<std::int64_t> whole_factors(const Shape& in, const Shape& out);

/// docs/operators.md.
[[nodiscard]] std::string operators_page();

}  // namespace tessera::compiler::legal
