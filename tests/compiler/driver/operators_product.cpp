// Matrix products: Gemm with its transposes and addends, MatMul with constants and of two activations.
#include "operator_model.hpp"

namespace tessera::compiler::testing {
namespace {

struct Sizes {
  std::int64_t m, k, n;
};

Sizes some_sizes(OperatorModel& m) {
  return {m.random.between(1, 21), m.random.between(1, 21), m.random.between(1, 21)};
}

Shape matrix(bool transposed, std::int64_t rows, std::int64_t columns) {
  return transposed ? Shape{columns, rows} : Shape{rows, columns};
}

/// A C of any shape that broadcasts to [m][n].
Shape some_addend(OperatorModel& m, const Sizes& s) {
  const std::vector<Shape> shapes = {{}, {1}, {s.n}, {1, s.n}, {s.m, 1}, {s.m, s.n}, {1, 1}};
  return shapes[m.random.below(shapes.size())];
}

void gemm_of(OperatorModel& m, bool constant_b, bool constant_c) {
  const Sizes s = some_sizes(m);
  const bool trans_a = m.random.chance(1, 2), trans_b = m.random.chance(1, 2);
  const Shape b = matrix(trans_b, s.k, s.n);
  std::vector<std::string> inputs = {m.input(matrix(trans_a, s.m, s.k)), constant_b ? m.floats(b) : m.input(b)};
  Attributes attributes = {{"transA", std::int64_t{trans_a}}, {"transB", std::int64_t{trans_b}}};
  if (m.random.chance(1, 3)) attributes["alpha"] = 0.5F;
  if (m.random.chance(2, 3)) {
    const Shape c = some_addend(m, s);
    inputs.push_back(constant_c ? m.floats(c) : m.input(c));
    if (m.random.chance(1, 3)) attributes["beta"] = -1.5F;
  }
  m.test("Gemm", inputs, std::move(attributes));
}

void gemm(OperatorModel& m) { gemm_of(m, true, true); }
void gemm_with_computed_addend(OperatorModel& m) { gemm_of(m, true, false); }
void gemm_of_activations(OperatorModel& m) { gemm_of(m, false, m.random.chance(1, 2)); }

void matmul_with_constant(OperatorModel& m) {
  const Sizes s = some_sizes(m);
  Shape a = {s.m, s.k};
  while (a.size() < 4 && m.random.chance(1, 2)) a.insert(a.begin(), m.random.between(1, 3));
  m.test("MatMul", {m.activation(a), m.floats({s.k, s.n})});
}

/// [..., m, k] x [..., k, n], batches equal, or one operand without.
void matmul_of_activations(OperatorModel& m) {
  const Sizes s = some_sizes(m);
  Shape batch;
  while (batch.size() < 3 && m.random.chance(2, 3)) batch.push_back(m.random.between(1, 4));
  Shape a = batch, b = batch;
  if (m.random.chance(1, 4)) (m.random.chance(1, 2) ? a : b).clear();
  a.insert(a.end(), {s.m, s.k});
  b.insert(b.end(), {s.k, s.n});
  m.test("MatMul", {m.activation(a), m.activation(b)});
}

/// One constant matrix a batch.
void matmul_with_batched_constant(OperatorModel& m) {
  const Sizes s = some_sizes(m);
  const std::int64_t batch = m.random.between(1, 4);
  m.test("MatMul", {m.input({batch, s.m, s.k}), m.floats({batch, s.k, s.n})});
}

/// Scores of attention: a transposition of one operand, the products, and back.
void attention(OperatorModel& m) {
  const std::int64_t tokens = m.random.between(2, 13), heads = m.random.between(1, 4), depth = m.random.between(1, 9);
  const std::string q = m.input({1, tokens, heads * depth}), k = m.input({1, tokens, heads * depth});
  const std::string shape = m.ints({1, tokens, heads, depth});
  const std::string a = m.step("Transpose", {m.step("Reshape", {q, shape})}, {{"perm", Ints{0, 2, 1, 3}}});
  const std::string b = m.step("Transpose", {m.step("Reshape", {k, shape})}, {{"perm", Ints{0, 2, 3, 1}}});
  const std::string scores = m.node("MatMul", {a, b});
  m.output(m.step("Mul", {scores, m.number(0.25F)}));
}

}  // namespace

std::vector<OperatorFamily> product_families() {
  const std::vector<std::string> product = {"conv", "gemm"};
  return {{"Gemm", "Gemm", product, gemm, 2.01},  // a C that is no bias is a sum of its own
          {"GemmWithComputedAddend", "Gemm", product, gemm_with_computed_addend, 2.01},
          {"GemmOfActivations", "Gemm", product, gemm_of_activations, 2.01},
          {"MatMulWithConstant", "MatMul", product, matmul_with_constant},
          {"MatMulOfActivations", "MatMul", product, matmul_of_activations},
          {"MatMulWithBatchedConstant", "MatMul", product, matmul_with_batched_constant},
          {"Attention", "MatMul", product, attention, 2.01}};
}

}  // namespace tessera::compiler::testing
