// Passes that turn what exporters spell out into what the NPU or one host step has: same values, fewer nodes.
#include <cmath>

#include <gtest/gtest.h>

#include "compiler/interpret/evaluate.hpp"
#include "compiler/ir/builder.hpp"
#include "compiler/passes/canonicalise.hpp"
#include "compiler/passes/macs.hpp"
#include "compiler/passes/shape_inference.hpp"
#include "hw/common/random.hpp"

namespace tessera::compiler {
namespace {

Tensor random_floats(Shape shape, std::uint64_t seed) {
  Tensor t = Tensor::make(DType::f32, std::move(shape));
  Random random(seed);
  for (std::int64_t i = 0; i < t.elements(); ++i) t.data<float>()[i] = static_cast<float>(random.normal());
  return t;
}

/// Operators after the passes; the outputs must stay within `tolerance`.
std::vector<std::string> ops_after(GraphBuilder* builder, double tolerance) {
  Graph graph = builder->take();
  infer_shapes(graph);
  const NamedTensors inputs = {{"x", random_floats(graph.shape_of("x"), 9)}};
  const NamedTensors before = evaluate(graph, inputs);
  const std::int64_t work = macs(graph);
  (void)run_passes(graph);
  infer_shapes(graph);
  EXPECT_EQ(macs(graph), work);
  const NamedTensors after = evaluate(graph, inputs);
  for (const auto& [name, tensor] : before) {
    EXPECT_EQ(after.at(name).shape, tensor.shape);
    const std::vector<double> a = tensor.as_doubles();
    const std::vector<double> b = after.at(name).as_doubles();
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], tolerance);
  }
  std::vector<std::string> ops;
  for (const Node& node : graph.nodes) ops.push_back(node.op);
  return ops;
}

/// Layer normalisation as exporters spell it out; `square` is Pow or Mul.
std::string layer_norm(GraphBuilder& b, const std::string& x, const std::string& square, const Ints& axes,
                       const Shape& scale) {
  const Attributes over = {{"axes", axes}};
  const std::string centred = b.node("Sub", {x, b.node("ReduceMean", {x}, over)});
  const std::string two = b.constant("two", float_tensor({}, {2.0F}));
  const std::string squared = square == "Pow" ? b.node("Pow", {centred, two}) : b.node("Mul", {centred, centred});
  const std::string epsilon = b.constant("epsilon", float_tensor({}, {1e-5F}));
  const std::string root = b.node("Sqrt", {b.node("Add", {b.node("ReduceMean", {squared}, over), epsilon})});
  const std::string plain = b.node("Div", {centred, root});
  if (scale.empty()) return plain;
  return b.node("Add", {b.node("Mul", {plain, b.constant("w", random_floats(scale, 1))}),
                        b.constant("b", random_floats(scale, 2))});
}

TEST(Fuse, LayerNormSpelledOut) {
  for (const char* square : {"Pow", "Mul"}) {
    for (const bool scaled : {false, true}) {
      GraphBuilder builder("g");
      builder.output(layer_norm(builder, builder.input("x", {2, 5, 7}), square, {-1}, scaled ? Shape{7} : Shape{}));
      EXPECT_EQ(ops_after(&builder, 1e-5), std::vector<std::string>{"LayerNormalization"});
    }
  }
  GraphBuilder two("g");
  two.output(layer_norm(two, two.input("x", {2, 5, 7}), "Pow", {1, 2}, {5, 7}));
  EXPECT_EQ(ops_after(&two, 1e-5), std::vector<std::string>{"LayerNormalization"});
  GraphBuilder inner("g");  // over an axis that others follow: no layer norm
  inner.output(layer_norm(inner, inner.input("x", {2, 5, 7}), "Pow", {1}, {}));
  EXPECT_EQ(ops_after(&inner, 0.0).size(), 7u);
}

TEST(Fuse, LayerNormWhoseInsideIsReadStays) {
  GraphBuilder b("g");
  b.output(layer_norm(b, b.input("x", {2, 5}), "Pow", {-1}, {}));
  Graph graph = b.take();
  infer_shapes(graph);
  for (const Node& node : graph.nodes) {
    if (node.op == "Sub") graph.outputs.push_back(node.outputs[0]);
  }
  (void)run_passes(graph);
  EXPECT_EQ(graph.nodes.size(), 7u);
}

TEST(Fuse, TokensAndTheirBiasBecomeOneGemm) {
  GraphBuilder b("g");
  const std::string product = b.node("MatMul", {b.input("x", {2, 5, 7}), b.constant("w", random_floats({7, 3}, 1))});
  b.output(b.node("Add", {b.constant("b", random_floats({3}, 2)), product}, {}, "out"));
  EXPECT_EQ(ops_after(&b, 1e-5), (std::vector<std::string>{"Reshape", "Gemm", "Reshape"}));
}

TEST(Fuse, DivisionByConstantsMultiplies) {
  GraphBuilder b("g");
  b.output(b.node("Div", {b.input("x", {2, 3}), b.constant("c", float_tensor({3}, {2.0F, -4.0F, 0.5F}))}));
  EXPECT_EQ(ops_after(&b, 0.0), std::vector<std::string>{"Mul"});
  GraphBuilder zero("g");
  zero.output(zero.node("Div", {zero.input("x", {2, 3}), zero.constant("c", float_tensor({3}, {2.0F, 0.0F, 1.0F}))}));
  Graph graph = zero.take();
  infer_shapes(graph);
  (void)run_passes(graph);
  EXPECT_EQ(graph.nodes[0].op, "Div");
}

}  // namespace
}  // namespace tessera::compiler
