// What export writes, ONNX's checker accepts and import reads back.
#include "compiler/export/export.hpp"

#include <gtest/gtest.h>

#include "../import/shared_models.hpp"
#include "compiler/import/import.hpp"
#include "compiler/interpret/evaluate.hpp"
#include "compiler/ir/builder.hpp"
#include "compiler/ir/marks.hpp"
#include "compiler/passes/canonicalise.hpp"
#include "compiler/passes/fold.hpp"
#include "compiler/passes/shape_inference.hpp"
#include "hw/common/error.hpp"
#include "hw/common/file.hpp"

namespace tessera::compiler {
namespace {

Graph reimport(const std::string& bytes) { return import_bytes(bytes, "again.onnx", ""); }

/// x -> op -> y with shapes inferred.
Graph single(const std::string& op, const Shape& shape, Attributes attributes,
             const std::vector<std::string>& more = {}, std::map<std::string, Tensor> constants = {}) {
  GraphBuilder b("single");
  std::vector<std::string> inputs = {b.input("x", shape)};
  for (const std::string& name : more) inputs.push_back(b.constant(name, constants.at(name)));
  b.output(b.node(op, inputs, std::move(attributes), "y"));
  Graph graph = b.take();
  infer_shapes(graph);
  return graph;
}

TEST(Export, round_trip_keeps_everything_but_marks) {
  GraphBuilder b("net");
  b.input("x", {1, 2, 4, 4});
  const std::string w = b.constant("w", float_tensor({2, 2, 1, 1}, {1, 2, 3, 4}));
  const std::string conv =
      b.node("Conv", {"x", w}, {{"pads", Ints{0, 1, 0, 1}}, {kScaleShiftConv, std::int64_t{1}}}, "conv");
  const std::string limit = b.constant("six", float_tensor({}, {6}));
  b.output(b.node("Clip", {conv, "", limit}, {}, "clip"));
  Graph graph = b.take();
  graph.nodes[0].fused = {"bn 1", "pad/é"};
  infer_shapes(graph);
  const std::string bytes = export_bytes(graph);
  EXPECT_EQ(check_exported(bytes), "");
  const Graph again = reimport(bytes);
  EXPECT_EQ(again.name, "net");
  EXPECT_EQ(again.inputs, graph.inputs);
  EXPECT_EQ(again.outputs, graph.outputs);
  EXPECT_EQ(again.shape_of("x"), (Shape{1, 2, 4, 4}));
  ASSERT_EQ(again.nodes.size(), 2U);
  EXPECT_EQ(again.nodes[0].fused, graph.nodes[0].fused);
  EXPECT_EQ(again.nodes[0].ints_attr("pads", {}), (Ints{0, 1, 0, 1}));
  EXPECT_EQ(again.nodes[0].attributes.count(kScaleShiftConv), 0U);
  EXPECT_EQ(again.nodes[1].inputs, (std::vector<std::string>{"conv", "", "six"}));
  EXPECT_EQ(again.constants.at("w").bytes, graph.constants.at("w").bytes);
  EXPECT_EQ(export_bytes(graph), bytes) << "the same graph gives the same bytes";
}

TEST(Export, writes_every_type_and_attribute_kind) {
  GraphBuilder b("types");
  b.input("x", {1});
  std::vector<DType> types;
  for (int i = static_cast<int>(DType::f32); i <= static_cast<int>(DType::boolean); ++i)
    types.push_back(static_cast<DType>(i));
  for (const DType type : types) {
    Tensor tensor = Tensor::make(type, {2});
    for (std::size_t i = 0; i < tensor.bytes.size(); ++i) tensor.bytes[i] = static_cast<std::uint8_t>(i % 2);
    b.constant(dtype_name(type), tensor);
  }
  b.output(b.node("Odd", {"x"},
                  {{"i", std::int64_t{-1}},
                   {"f", 0.5F},
                   {"s", std::string("text")},
                   {"is", Ints{1, 2}},
                   {"fs", std::vector<float>{1.5F}},
                   {"ss", std::vector<std::string>{"a", "b"}},
                   {"t", int8_tensor({1}, {7})}},
                  "odd"));
  Graph graph = b.take();
  graph.nodes[0].domain = "tessera";
  const Graph again = reimport(export_bytes(graph));
  for (const DType type : types) {
    EXPECT_EQ(again.constants.at(dtype_name(type)).bytes, graph.constants.at(dtype_name(type)).bytes)
        << dtype_name(type);
    EXPECT_EQ(again.constants.at(dtype_name(type)).dtype, type);
  }
  EXPECT_EQ(again.nodes[0].domain, "tessera");
  EXPECT_EQ(again.nodes[0].attributes.size(), 7U);
  EXPECT_EQ(std::get<std::vector<std::string>>(again.nodes[0].attributes.at("ss")),
            (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(std::get<Tensor>(again.nodes[0].attributes.at("t")).as_ints(), (Ints{7}));
}

TEST(Export, takes_the_opset_that_the_operators_need) {
  const auto opset_of = [](const Graph& graph) {
    const std::string bytes = export_bytes(graph);
    EXPECT_EQ(check_exported(bytes), "");
    return reimport(bytes).opset;  // clamped to 17 by import
  };
  EXPECT_EQ(opset_of(single("Relu", {2}, {})), 13);
  EXPECT_EQ(opset_of(single("HardSwish", {2}, {})), 14);
  EXPECT_EQ(opset_of(single("LayerNormalization", {2, 4}, {}, {"s"}, {{"s", float_tensor({4}, {1, 1, 1, 1})}})), 17);
}

TEST(Export, int16_quantisers_need_opset_21_and_the_forms_of_18) {
  GraphBuilder b("wide");
  b.input("x", {2, 6});
  const std::string scale = b.constant("scale", float_tensor({}, {0.5F}));
  Tensor zero = Tensor::make(DType::i16, {});
  const std::string q = b.node("QuantizeLinear", {"x", scale, b.constant("zero", zero)});
  const auto parts = b.node_with_outputs("Split", {b.node("DequantizeLinear", {q, scale, "zero"})}, 2,
                                         {{"axis", std::int64_t{1}}}, "split");
  b.output(b.node("ReduceMean", {parts[0]}, {{"axes", Ints{1}}}, "mean"));
  b.output(parts[1]);
  Graph graph = b.take();
  infer_shapes(graph);
  const Graph again = reimport(export_bytes(graph));
  EXPECT_EQ(again.opset, 17);
  const Node& mean = again.nodes.back();
  EXPECT_EQ(mean.op, "ReduceMean");
  EXPECT_EQ(mean.ints_attr("axes", {}), (Ints{1})) << "an input in the file, an attribute again in memory";
  EXPECT_EQ(mean.inputs.size(), 1U);
}

TEST(Export, dumps_hold_no_large_weights) {
  const auto dir = std::filesystem::path(::testing::TempDir()) / "tessera_dump_ir";
  std::filesystem::remove_all(dir);
  GraphBuilder b("dump");
  b.input("x", {1, 1000});
  const std::string w = b.constant("w", Tensor::make(DType::f32, {1000, 10}));
  b.output(b.node("MatMul", {"x", w}, {}, "y"));
  Graph graph = b.take();
  infer_shapes(graph);
  dump_ir(graph, dir / "ir", "01-imported");
  const auto file = dir / "ir" / "01-imported.onnx";
  EXPECT_LT(std::filesystem::file_size(file), 1000U);
  EXPECT_FALSE(std::filesystem::exists(file.string() + ".part"));
  EXPECT_EQ(check_exported(read_file(file)), "");
  EXPECT_EQ(import_model(file).inputs, (std::vector<std::string>{"x", "w"})) << "the constant is an input";
  dump_ir(graph, dir / "ir", "02-whole", ExportOptions{});
  EXPECT_EQ(import_model(dir / "ir" / "02-whole.onnx").constants.at("w").bytes.size(), 40000U);
  std::filesystem::remove_all(dir);
}

TEST(Export, a_folder_that_cannot_be_written_is_named) {
  const Graph graph = single("Relu", {2}, {});
  try {
    export_model(graph, "/nonexistent/folder/m.onnx");
    FAIL() << "expected an error";
  } catch (const UserError& error) {
    EXPECT_EQ(std::string(error.what()).rfind("/nonexistent/folder/m.onnx: cannot be written", 0), 0U) << error.what();
  }
}

TEST(SharedModels, all_survive_export_and_import) {
  TESSERA_SKIP_WITHOUT(shared_models() / "models");
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(shared_models() / "models")) {
    const std::string name = entry.path().filename();
    const bool dynamic = name == "emmtrix_micro_kws_m_static_qdq";
    Graph graph = import_model(entry.path() / "model.onnx", ImportOptions{dynamic ? std::vector<std::string>{"1x1960"}
                                                                                  : std::vector<std::string>{}});
    prepare(graph, try_evaluate_node);
    run_passes(graph);
    const std::string bytes = export_bytes(graph);
    EXPECT_EQ(check_exported(bytes), "") << name;
    Graph again = reimport(bytes);
    infer_shapes(again);
    EXPECT_EQ(again.nodes.size(), graph.nodes.size()) << name;
    for (const std::string& output : graph.outputs) EXPECT_EQ(again.shape_of(output), graph.shape_of(output)) << name;
    ++count;
  }
  EXPECT_GE(count, 16);
}

}  // namespace
}  // namespace tessera::compiler
