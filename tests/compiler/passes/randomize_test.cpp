#include "compiler/passes/randomize.hpp"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "compiler/ir/builder.hpp"

namespace tessera::compiler {
namespace {

Tensor zeros(const Shape& shape) { return Tensor::make(DType::f32, shape); }

/// Conv with BatchNormalization, then Flatten, Gemm, MatMul and its bias. `extra` puts another Conv in front.
Graph network(bool extra) {
  GraphBuilder b("g");
  std::string x = b.input("x", {1, 8, 4, 4});
  if (extra) x = b.node("Conv", {x, b.constant("a_first", zeros({8, 8, 1, 1}))});
  x = b.node("Conv", {x, b.constant("w", zeros({64, 8, 3, 3})), b.constant("b", zeros({64}))},
             {{"pads", Ints{1, 1, 1, 1}}});
  std::vector<std::string> inputs = {x};
  for (const char* name : {"scale", "shift", "mean", "var"}) inputs.push_back(b.constant(name, zeros({64})));
  x = b.node("Flatten", {b.node("BatchNormalization", inputs)});
  x = b.node("Gemm", {x, b.constant("g", zeros({50, 1024})), b.constant("gb", zeros({50}))},
             {{"transB", std::int64_t{1}}});
  x = b.node("MatMul", {x, b.constant("m", zeros({50, 200}))});
  b.output(b.node("Mul", {b.node("Add", {x, b.constant("mb", zeros({200}))}), b.constant("kept", zeros({1}))}));
  return b.take();
}

struct Moments {
  double mean, variance, low, high;
};

Moments moments(const Tensor& tensor) {
  const std::vector<double> v = tensor.as_doubles();
  Moments m{0, 0, *std::min_element(v.begin(), v.end()), *std::max_element(v.begin(), v.end())};
  for (const double x : v) m.mean += x / static_cast<double>(v.size());
  for (const double x : v) m.variance += (x - m.mean) * (x - m.mean) / static_cast<double>(v.size());
  return m;
}

TEST(Randomize, weights_keep_the_variance_of_what_passes_through) {
  Graph graph = network(false);
  EXPECT_EQ(randomize_weights(graph, 1), 10U);
  EXPECT_NEAR(moments(graph.constants.at("w")).variance * (8 * 9) / 2, 1, 0.1);
  EXPECT_NEAR(moments(graph.constants.at("g")).variance * 1024 / 2, 1, 0.1);
  EXPECT_NEAR(moments(graph.constants.at("m")).variance * 50 / 2, 1, 0.1);
  EXPECT_NEAR(moments(graph.constants.at("w")).mean, 0, 0.01);
  EXPECT_EQ(moments(graph.constants.at("kept")).high, 0) << "only the named operators' weights";
}

TEST(Randomize, normalisation_stays_near_one_and_positive) {
  Graph graph = network(false);
  randomize_weights(graph, 1);
  for (const char* name : {"scale", "var"}) {
    EXPECT_GE(moments(graph.constants.at(name)).low, 0.8);
    EXPECT_LT(moments(graph.constants.at(name)).high, 1.2);
    EXPECT_NEAR(moments(graph.constants.at(name)).mean, 1, 0.1);
  }
  for (const char* name : {"b", "shift", "mean", "gb", "mb"}) {
    EXPECT_GE(moments(graph.constants.at(name)).low, -0.1);
    EXPECT_LT(moments(graph.constants.at(name)).high, 0.1);
    EXPECT_GT(moments(graph.constants.at(name)).variance, 0.001) << name << " is not constant";
  }
}

TEST(Randomize, values_depend_on_seed_and_name_only) {
  Graph first = network(false);
  Graph again = network(false);
  Graph extended = network(true);
  Graph other = network(false);
  randomize_weights(first, 7);
  randomize_weights(again, 7);
  randomize_weights(extended, 7);
  randomize_weights(other, 8);
  for (const auto& [name, tensor] : first.constants) {
    EXPECT_EQ(tensor.bytes, again.constants.at(name).bytes) << name;
    EXPECT_EQ(tensor.bytes, extended.constants.at(name).bytes) << name;
    if (name != "kept") {
      EXPECT_NE(tensor.bytes, other.constants.at(name).bytes) << name;
    }
  }
  EXPECT_NE(first.constants.at("scale").bytes, first.constants.at("var").bytes);
}

}  // namespace
}  // namespace tessera::compiler
