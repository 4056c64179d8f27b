// Every pass switched off by itself on networks that use it: graph == reference == tlm still, and each backend
// pass changes the program when it is off.
#include <filesystem>
#include <map>
#include <set>

#include <gtest/gtest.h>
#include <unistd.h>

#include "compiler/export/export.hpp"
#include "compiler/ir/builder.hpp"
#include "compiler/passes/integer_passes.hpp"
#include "hw/common/random.hpp"
#include "runtime/session/execute.hpp"
#include "runtime/session/front_end.hpp"

namespace tessera::runtime {
namespace {

using compiler::Graph;
using compiler::GraphBuilder;
using compiler::Ints;

compiler::Tensor random_tensor(const compiler::Shape& shape, std::uint64_t seed, double low = -1, double high = 1) {
  Random random(seed);
  std::vector<float> values(static_cast<std::size_t>(compiler::element_count(shape)));
  for (float& value : values) value = static_cast<float>(low + (high - low) * random.unit());
  return compiler::float_tensor(shape, values);
}

/// Pad, Conv, BatchNormalization, factors, sums, a residual, ReduceMean, Flatten, Gemm.
Graph vision() {
  GraphBuilder b("vision");
  b.input("x", {1, 3, 11, 9});
  const auto weight = [&](const char* name, const compiler::Shape& shape, std::uint64_t seed) {
    return b.constant(name, random_tensor(shape, seed));
  };
  const std::string padded =
      b.node("Pad", {"x", b.constant("pads", compiler::int64_tensor({8}, {0, 0, 1, 1, 0, 0, 1, 1}))});
  const std::string conv = b.node("Conv", {padded, weight("w1", {8, 3, 3, 3}, 1)});
  const std::string norm =
      b.node("BatchNormalization", {conv, weight("s", {8}, 2), weight("t", {8}, 3), weight("m", {8}, 4),
                                    b.constant("v", random_tensor({8}, 5, 0.5, 2))});
  const std::string a = b.node("Relu", {norm});
  const std::string second =
      b.node("Conv", {a, weight("w2", {8, 8, 3, 3}, 6)}, {{"auto_pad", std::string("SAME_UPPER")}});
  const std::string scaled = b.node("Mul", {second, weight("f", {1, 8, 1, 1}, 7)});
  const std::string shifted = b.node("Add", {scaled, weight("g", {1, 8, 1, 1}, 8)});
  const std::string sum = b.node("Relu", {b.node("Add", {a, shifted})});
  const std::string flat =
      b.node("Flatten", {b.node("MaxPool", {sum}, {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{3, 3}}})});
  const std::string wide = b.node("Gemm", {flat, weight("w3", {72, 8}, 9)});
  const std::string mean = b.node("ReduceMean", {sum}, {{"axes", Ints{2, 3}}, {"keepdims", std::int64_t{0}}});
  b.output(b.node("Add", {wide, b.node("Identity", {mean})}));
  return b.take();
}

/// Two channels, a stride of 2, an odd width: columns of the input as channels.
Graph stem() {
  GraphBuilder b("stem");
  b.input("x", {1, 2, 9, 13});
  const std::string conv = b.node("Conv", {"x", b.constant("w", random_tensor({8, 2, 3, 5}, 1))},
                                  {{"strides", Ints{2, 2}}, {"pads", Ints{1, 2, 1, 2}}});
  b.output(b.node("Relu", {conv}));
  return b.take();
}

/// Tokens: MatMul with bias, layer normalisation in small operators, attention with Transposes in front of products.
Graph tokens() {
  GraphBuilder b("tokens");
  b.input("x", {1, 10, 16});
  const auto linear = [&](const std::string& in, const std::string& name, std::uint64_t seed) {
    return b.node("Add", {b.node("MatMul", {in, b.constant(name + ".w", random_tensor({16, 16}, seed))}),
                          b.constant(name + ".b", random_tensor({16}, seed + 1))});
  };
  const std::string centre = b.node("Sub", {"x", b.node("ReduceMean", {"x"}, {{"axes", Ints{-1}}})});
  const std::string variance =
      b.node("ReduceMean", {b.node("Pow", {centre, b.constant("two", compiler::float_tensor({}, {2}))})},
             {{"axes", Ints{-1}}});
  const std::string root =
      b.node("Sqrt", {b.node("Add", {variance, b.constant("eps", compiler::float_tensor({}, {1e-5F}))})});
  const std::string normal = b.node(
      "Add", {b.node("Mul", {b.node("Div", {centre, root}), b.constant("ln.s", random_tensor({16}, 20, 0.5, 1.5))}),
              b.constant("ln.t", random_tensor({16}, 21))});
  const std::string q = linear(normal, "q", 1), k = linear(normal, "k", 3), v = linear(normal, "v", 5);
  const std::string turned = b.node("Transpose", {k}, {{"perm", Ints{0, 2, 1}}});
  const std::string scores =
      b.node("Div", {b.node("MatMul", {q, turned}), b.constant("root", compiler::float_tensor({}, {4}))});
  const std::string mixed = b.node("MatMul", {b.node("Softmax", {scores}, {{"axis", std::int64_t{-1}}}), v});
  const std::string there = b.node("Transpose", {mixed}, {{"perm", Ints{0, 2, 1}}});
  const std::string back = b.node("Transpose", {there}, {{"perm", Ints{0, 2, 1}}});
  const std::string shape1 = b.constant("shape1", compiler::int64_tensor({4}, {1, 10, 4, 4}));
  const std::string shape2 = b.constant("shape2", compiler::int64_tensor({2}, {10, 16}));
  b.output(b.node("Reshape", {b.node("Reshape", {back, shape1}), shape2}));
  return b.take();
}

/// Branches of a Concat, functions in a row, a Gemm of transposed activations, an unread Dropout mask.
Graph branches() {
  GraphBuilder b("branches");
  b.input("x", {1, 4, 8, 8});
  const auto conv = [&](const std::string& in, std::int64_t cout, std::int64_t k, std::uint64_t seed) {
    const std::string w = b.constant("w" + std::to_string(seed), random_tensor({cout, 4, k, k}, seed));
    return b.node("Conv", {in, w}, {{"pads", Ints(4, k / 2)}});
  };
  const std::string left = b.node("Sigmoid", {b.node("Tanh", {conv("x", 4, 3, 1)})});
  const std::string right = b.node("Clip", {conv("x", 8, 1, 2), b.constant("lo", compiler::float_tensor({}, {-0.5F})),
                                            b.constant("hi", compiler::float_tensor({}, {0.75F}))});
  const std::string joined = b.node("Concat", {left, right}, {{"axis", std::int64_t{1}}});
  const std::string halved = b.node("Div", {joined, b.constant("d", compiler::float_tensor({}, {3}))});
  const std::string rows = b.node("Reshape", {halved, b.constant("rows", compiler::int64_tensor({2}, {12, 64}))});
  b.output(b.node("Gemm", {rows, b.constant("wg", random_tensor({12, 10}, 3))}, {{"transA", std::int64_t{1}}}));
  return b.take();
}

std::vector<std::string> pass_names() {
  std::vector<std::string> names;
  for (const compiler::Pass& pass : compiler::all_passes()) names.push_back(pass.name);
  for (const compiler::IntegerPass& pass : compiler::integer_passes()) names.push_back(pass.name);
  return names;
}

class PassOff : public testing::TestWithParam<std::string> {};

TEST_P(PassOff, ValuesStayRight) {
  const std::string off = GetParam();
  for (const Graph& graph : {vision(), stem(), tokens(), branches()}) {
    const auto file = std::filesystem::path(testing::TempDir()) /
                      ("tessera_off_" + graph.name + off + std::to_string(getpid()) + ".onnx");
    compiler::export_model(graph, file);
    ModelOptions model;
    model.model = file.string();
    model.no_passes = {off};
    CompileOptions compile;
    compile.chip = "tiny";
    const CompiledModel compiled = compile_model(model, compile);
    std::filesystem::remove(file);
    RunOptions options;
    options.compare = {"graph", "reference"};
    const Outcome outcome = execute_program(compiled.program, compiled.chip, options, [&] { return compiled.qgraph; });
    ASSERT_EQ(outcome.compare.size(), 2u);
    for (const auto& [oracle, c] : outcome.compare) {
      EXPECT_TRUE(c.equal) << graph.name << " without " << off << ", " << oracle << ": " << c.first_difference;
    }
    const std::set<std::uint8_t> distinct(outcome.outputs[0].bytes.begin(), outcome.outputs[0].bytes.end());
    EXPECT_GT(distinct.size(), 2u) << graph.name;
  }
}

INSTANTIATE_TEST_SUITE_P(, PassOff, testing::ValuesIn(pass_names()), [](const auto& made) {
  std::string name = made.param;
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
});

/// Programs of the networks, cut down to what a pass may change.
struct Shown {
  std::size_t layers = 0;
  std::vector<isa::Word> words;  // of all instructions
};
std::map<std::string, Shown> programs_without(const std::string& off) {
  std::map<std::string, Shown> programs;
  for (const Graph& graph : {vision(), stem(), tokens(), branches()}) {
    const auto file = std::filesystem::path(testing::TempDir()) /
                      ("tessera_layers_" + graph.name + std::to_string(getpid()) + ".onnx");
    compiler::export_model(graph, file);
    ModelOptions model;
    model.model = file.string();
    model.timing_only = true;
    if (!off.empty()) model.no_passes = {off};
    CompileOptions compile;
    compile.chip = "tiny";
    const isa::Program program = compile_model(model, compile).program;
    programs[graph.name].layers = program.layers.size();
    for (const isa::Section& section : program.sections) {
      std::vector<isa::Word>& words = programs[graph.name].words;
      for (const isa::QueueStream& queue : section.streams)
        words.insert(words.end(), queue.words.begin(), queue.words.end());
    }
    std::filesystem::remove(file);
  }
  return programs;
}

TEST(PassesOff, BackendPassesShowInTheProgram) {
  const std::map<std::string, Shown> all = programs_without("");
  EXPECT_GT(programs_without("add-in-drain").at("vision").layers, all.at("vision").layers);
  EXPECT_GT(programs_without("concat-in-place").at("branches").layers, all.at("branches").layers);
  EXPECT_GT(programs_without("transpose-into-matmul").at("tokens").layers, all.at("tokens").layers);
  EXPECT_TRUE(programs_without("columns-as-channels").at("stem").words != all.at("stem").words);
  EXPECT_TRUE(programs_without("flatten-as-kernel").at("stem").words == all.at("stem").words);
}

}  // namespace
}  // namespace tessera::runtime
