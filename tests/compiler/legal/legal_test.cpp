// The rules one by one, and docs/operators.md against them.
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "compiler/ir/builder.hpp"
#include "compiler/legal/rules.hpp"
#include "compiler/passes/shape_inference.hpp"

namespace tessera::compiler::legal {
namespace {

/// Name of the rule that the last node of the graph breaks, "" when it is legal.
std::string broken(GraphBuilder* builder) {
  Graph graph = builder->take();
  infer_shapes(graph);
  const std::map<std::string, const Node*> makers;
  const Rule* rule = first_broken(Subject(graph, makers, graph.nodes.back()));
  return rule == nullptr ? "" : rule->name;
}

std::string broken_unary(const std::string& op, const Shape& shape, Attributes attributes,
                         const std::vector<Tensor>& constants = {}) {
  GraphBuilder builder("g");
  std::vector<std::string> inputs = {builder.input("x", shape)};
  for (std::size_t i = 0; i < constants.size(); ++i) {
    inputs.push_back(constants[i].bytes.empty() ? "" : builder.constant("c" + std::to_string(i), constants[i]));
  }
  builder.output(builder.node(op, inputs, std::move(attributes), "n"));
  return broken(&builder);
}

Tensor zeros(Shape shape) { return Tensor::make(DType::f32, std::move(shape)); }

TEST(Legal, Windows) {
  EXPECT_EQ(broken_unary("Conv", {1, 2, 300, 8}, {}, {zeros({3, 2, 255, 3})}), "");
  EXPECT_EQ(broken_unary("Conv", {1, 2, 300, 8}, {}, {zeros({3, 2, 256, 3})}), "window");
  EXPECT_EQ(broken_unary("Conv", {1, 2, 4, 4, 4}, {}, {zeros({3, 2, 1, 1, 1})}), "rank");
  EXPECT_EQ(broken_unary("ConvTranspose", {1, 2, 8, 8}, {}, {zeros({2, 3, 2, 2})}), "");
  EXPECT_EQ(broken_unary("ConvTranspose", {1, 2, 8, 8}, {{"dilations", Ints{2, 1}}}, {zeros({2, 3, 2, 2})}), "");
  EXPECT_EQ(broken_unary("ConvTranspose", {1, 2, 8, 8}, {{"dilations", Ints{127, 1}}}, {zeros({2, 3, 3, 2})}), "");
  EXPECT_EQ(broken_unary("ConvTranspose", {1, 2, 8, 8}, {{"dilations", Ints{128, 1}}}, {zeros({2, 3, 3, 2})}),
            "window");
  EXPECT_EQ(broken_unary("Conv", {1, 2, 9, 8}, {{"pads", Ints{127, 0, 128, 0}}}, {zeros({3, 2, 1, 1})}), "");
  EXPECT_EQ(broken_unary("Conv", {1, 2, 9, 8}, {{"pads", Ints{128, 0, 128, 0}}}, {zeros({3, 2, 1, 1})}), "window");
  EXPECT_EQ(broken_unary("MaxPool", {1, 2, 300, 8}, {{"kernel_shape", Ints{256, 1}}}), "window");
  const auto padded = [](std::int64_t pad) {
    return broken_unary("AveragePool", {1, 2, 9, 8}, {{"kernel_shape", Ints{3, 1}}, {"pads", Ints{0, 0, pad, 0}}});
  };
  EXPECT_EQ(padded(2), "");
  EXPECT_EQ(padded(3), "window");
}

TEST(Legal, Constants) {
  GraphBuilder conv("g");
  const std::string x = conv.input("x", {1, 2, 4, 4});
  conv.output(conv.node("Conv", {x, conv.input("w", {3, 2, 1, 1})}, {}, "n"));
  EXPECT_EQ(broken(&conv), "weights");
  GraphBuilder div("g");
  div.output(div.node("Div", {div.input("a", {4}), div.input("b", {4})}, {}, "n"));
  EXPECT_EQ(broken(&div), "divisor");
  EXPECT_EQ(broken_unary("PRelu", {1, 3, 4, 4}, {}, {zeros({3, 1, 1})}), "");
  EXPECT_EQ(broken_unary("PRelu", {1, 3, 4, 4}, {}, {zeros({4})}), "slope");
}

TEST(Legal, Reductions) {
  EXPECT_EQ(broken_unary("ReduceMean", {1, 3, 4, 5}, {{"axes", Ints{1, 2}}}), "");
  EXPECT_EQ(broken_unary("ReduceMean", {1, 3, 4, 5}, {{"axes", Ints{1, 3}}}), "axes");
  EXPECT_EQ(broken_unary("ReduceMax", {1, 255, 4, 5}, {{"axes", Ints{1}}}), "");
  EXPECT_EQ(broken_unary("ReduceMax", {1, 256, 4, 5}, {{"axes", Ints{1}}}), "length");
  EXPECT_EQ(broken_unary("ReduceMax", {1, 3, 4, 500}, {{"axes", Ints{3}}}), "");
}

TEST(Legal, LinearResizeByWholeFactors) {
  const auto resize = [](const std::vector<float>& scales, const std::string& how) {
    return broken_unary("Resize", {1, 2, 4, 4},
                        {{"mode", std::string("linear")}, {"coordinate_transformation_mode", how}},
                        {{}, float_tensor({4}, scales)});
  };
  EXPECT_EQ(resize({1, 1, 16, 2}, "half_pixel"), "");
  EXPECT_EQ(resize({1, 1, 17, 2}, "half_pixel"), "mode");
  EXPECT_EQ(resize({1, 1, 1.5F, 2}, "half_pixel"), "mode");
  EXPECT_EQ(resize({1, 1, 2, 2}, "align_corners"), "mode");
  EXPECT_EQ(resize({1, 2, 2, 2}, "half_pixel"), "mode");
}

TEST(Legal, MatrixBatches) {
  const auto product = [](const Shape& a, const Shape& b) {
    GraphBuilder builder("g");
    builder.output(builder.node("MatMul", {builder.input("a", a), builder.input("b", b)}, {}, "n"));
    return broken(&builder);
  };
  EXPECT_EQ(product({2, 3, 4, 5}, {2, 3, 5, 6}), "");
  EXPECT_EQ(product({2, 3, 4, 5}, {5, 6}), "");
  EXPECT_EQ(product({4, 5}, {2, 5, 6}), "");
  EXPECT_EQ(product({2, 3, 4, 5}, {3, 5, 6}), "batch");
  EXPECT_EQ(product({5}, {5, 6}), "rank");
}

TEST(Legal, ThePageIsWhatTheRulesSay) {
  std::ifstream file(TESSERA_SOURCE "/docs/operators.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), operators_page()) << "regenerate: tessera check --operators > docs/operators.md";
}

}  // namespace
}  // namespace tessera::compiler::legal
