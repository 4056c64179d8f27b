// Small float models of one operator each, with seeded random sizes that fit no lane count: what operator_test.cpp
// takes through the whole compiler. Every family of docs/operators.md has an entry in operator_families().
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "compiler/ir/builder.hpp"
#include "hw/common/random.hpp"

namespace tessera::compiler::testing {

/// Builds a model whose node `n` is the one under test.
class OperatorModel {
 public:
  explicit OperatorModel(std::uint64_t seed) : random(seed), graph_("operator") {}

  Random random;

  /// An input of the network; some maps pass a 1x1 convolution first, so that the operator meets them in SRAM.
  std::string activation(const Shape& shape);
  std::string input(const Shape& shape);  // always the network's own
  std::string floats(const Shape& shape, double scale = 1.0);
  std::string numbers(const std::vector<float>& values);  // rank 1
  std::string number(float value);                        // rank 0
  std::string ints(const Ints& values);
  /// A node beside the one under test.
  std::string step(const std::string& op, const std::vector<std::string>& inputs, Attributes attributes = {});
  /// The node under test, not yet an output.
  std::string node(const std::string& op, const std::vector<std::string>& inputs, Attributes attributes = {});
  /// The value as an output of the network, in some models behind a Relu.
  void output(const std::string& value);
  /// The node under test as the output.
  void test(const std::string& op, const std::vector<std::string>& inputs, Attributes attributes = {}) {
    output(node(op, inputs, std::move(attributes)));
  }
  std::vector<std::string> parts(const std::string& op, const std::vector<std::string>& inputs, int outputs,
                                 Attributes attributes = {});

  [[nodiscard]] Graph take() { return graph_.take(); }
  /// Whether the operator stands alone: no rounding before or behind it is in the outputs.
  [[nodiscard]] bool direct() const { return direct_; }

  /// [N][C][H][W], N mostly 1.
  Shape map(std::int64_t most_rows = 13);
  std::int64_t batch() { return random.chance(1, 4) ? random.between(2, 3) : 1; }
  std::int64_t channels() { return random.between(1, 19); }
  /// `rank` sizes, few elements in all.
  Shape any(std::size_t rank);

 private:
  std::string name(const char* stem) { return stem + std::to_string(count_++); }
  GraphBuilder graph_;
  int count_ = 0;
  bool direct_ = true;
};

struct OperatorFamily {
  const char* name;  // of the test
  const char* op;    // the operator whose row in docs/operators.md is the promise
  /// Units that may do the work of node `n`, at least one of them must; "-": its elements may also stay where they are.
  std::vector<std::string> units;
  void (*build)(OperatorModel&);
  /// Largest difference from the float run of the same QDQ graph, in steps of the output: one a rounding.
  double steps = 1.01;
};

inline void PrintTo(const OperatorFamily& family, std::ostream* out) { *out << family.name; }

[[nodiscard]] std::vector<OperatorFamily> window_families();
[[nodiscard]] std::vector<OperatorFamily> move_families();
[[nodiscard]] std::vector<OperatorFamily> value_families();
[[nodiscard]] std::vector<OperatorFamily> product_families();
[[nodiscard]] std::vector<OperatorFamily> operator_families();

/// Gives the QuantizeLinear and DequantizeLinear of every activation a scale and a zero point of their own: what
/// another tool's quantiser leaves, where no two operands of an operator agree.
void scatter_scales(Graph* graph, Random& random);

}  // namespace tessera::compiler::testing
