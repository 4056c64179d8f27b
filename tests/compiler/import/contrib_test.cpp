// Operators of com.microsoft: spelled out in ONNX's own, and refused by name with their domain where they are not.
#include "compiler/import/contrib.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "compiler/import/import.hpp"
#include "hw/common/error.hpp"
#include "model_maker.hpp"

namespace tessera::compiler {
namespace {

Graph graph_of(const ModelMaker& maker) { return import_bytes(maker.bytes(), "m.onnx", ""); }

ModelMaker maker_with(const std::string& op, const std::vector<std::string>& inputs) {
  ModelMaker maker(13);
  for (const char* name : {"a", "b"}) maker.input(name, {"1", "2", "4", "4"}, onnx::TensorProto::UINT8);
  for (const char* name : {"as", "bs", "ys"})
    maker.initialiser(name, {}, onnx::TensorProto::FLOAT).add_float_data(0.5F);
  for (const char* name : {"az", "bz", "yz"}) maker.initialiser(name, {}, onnx::TensorProto::UINT8).add_int32_data(3);
  maker.initialiser("c", {2}, onnx::TensorProto::INT32).add_int32_data(1);
  maker.model.mutable_graph()->mutable_initializer()->rbegin()->add_int32_data(2);
  maker.node(op, inputs, {"y"}, "n").set_domain("com.microsoft");
  maker.output("y");
  return maker;
}

std::vector<std::string> ops(const Graph& graph) {
  std::vector<std::string> list;
  for (const Node& node : graph.nodes) list.push_back(node.op);
  return list;
}

std::string message(const ModelMaker& maker) {
  try {
    (void)graph_of(maker);
  } catch (const UserError& e) {
    return e.what();
  }
  return "no error";
}

using Names = std::vector<std::string>;
const Names kOne = {"a", "as", "az", "ys", "yz"};
const Names kTwo = {"a", "as", "az", "b", "bs", "bz", "ys", "yz"};
constexpr const char* kDq = "DequantizeLinear";
constexpr const char* kQ = "QuantizeLinear";

TEST(Contrib, operators_become_dequantise_operator_quantise) {
  for (const auto& [op, plain] : {std::pair("QLinearAdd", "Add"), std::pair("QLinearMul", "Mul")}) {
    const Graph graph = graph_of(maker_with(op, kTwo));
    EXPECT_EQ(ops(graph), (Names{kDq, kDq, plain, kQ}));
    EXPECT_EQ(graph.nodes[2].name, "n");
    EXPECT_EQ(graph.nodes[3].outputs, Names{"y"});
    EXPECT_EQ(graph.nodes[1].inputs, (Names{"b", "bs", "bz"}));
    EXPECT_EQ(graph.nodes[3].inputs[1], "ys");
  }
  for (const auto& [op, plain] :
       {std::pair("QLinearSigmoid", "Sigmoid"), std::pair("QLinearLeakyRelu", "LeakyRelu"),
        std::pair("QLinearAveragePool", "AveragePool"), std::pair("QLinearGlobalAveragePool", "GlobalAveragePool")}) {
    EXPECT_EQ(ops(graph_of(maker_with(op, kOne))), (Names{kDq, plain, kQ}));
  }
  const Graph concat = graph_of(maker_with("QLinearConcat", {"ys", "yz", "a", "as", "az", "b", "bs", "bz"}));
  EXPECT_EQ(ops(concat), (Names{kDq, kDq, "Concat", kQ}));
  EXPECT_EQ(concat.nodes[3].inputs[1], "ys");
  const Graph gemm = graph_of(maker_with("QGemm", {"a", "as", "az", "b", "bs", "bz", "c", "ys", "yz"}));
  EXPECT_EQ(ops(gemm), (Names{kDq, kDq, "Mul", kDq, "Gemm", kQ}));
  EXPECT_EQ(gemm.nodes[2].inputs, (Names{"as", "bs"}));
  EXPECT_EQ(ops(graph_of(maker_with("QGemm", {"a", "as", "az", "b", "bs", "bz"}))), (Names{kDq, kDq, "Gemm"}));
  const Graph renamed = graph_of(maker_with("DequantizeLinear", {"a", "as", "az"}));
  EXPECT_EQ(renamed.nodes[0].domain, "");
  EXPECT_EQ(contrib_operators().size(), 10U) << "one more operator, one more case here";
}

TEST(Contrib, what_it_does_not_know_stays_in_its_domain) {
  const Graph graph = graph_of(maker_with("QLinearSoftmax", kOne));
  ASSERT_EQ(graph.nodes.size(), 1U);
  EXPECT_EQ(graph.nodes[0].domain, "com.microsoft");
}

TEST(Contrib, refusals) {
  EXPECT_EQ(message(maker_with("QLinearAdd", {"a", "as", "az"})),
            "node 'n' (com.microsoft.QLinearAdd): has 3 inputs: expected at least 7");
  EXPECT_EQ(message(maker_with("QLinearConcat", {"ys", "yz", "a", "as", "az", "b"})),
            "node 'n' (com.microsoft.QLinearConcat): has 6 inputs: expected scale and zero point, then three for each "
            "tensor");
  ModelMaker silent = maker_with("QLinearSigmoid", kOne);
  silent.model.mutable_graph()->mutable_node(0)->clear_output();
  EXPECT_EQ(message(silent), "node 'n' (com.microsoft.QLinearSigmoid): has no output: expected one");
  ModelMaker last = maker_with("QLinearGlobalAveragePool", kOne);
  set_int(*last.model.mutable_graph()->mutable_node(0), "channels_last", 1);
  EXPECT_EQ(message(last),
            "node 'n' (com.microsoft.QLinearGlobalAveragePool): has channels_last = 1: expected maps of N x C x H x W");
  ModelMaker gemm = maker_with("QGemm", {"a", "as", "az", "b", "bs", "bz", "c", "ys", "yz"});
  set_float(*gemm.model.mutable_graph()->mutable_node(0), "alpha", 0.5F);
  EXPECT_EQ(message(gemm), "node 'n' (com.microsoft.QGemm): has alpha = 0.5 and a bias: expected alpha = 1");
}

TEST(Contrib, quantize_of_opset_21) {
  ModelMaker maker(21);
  maker.input("x", {"1", "2"});
  maker.initialiser("s", {}, onnx::TensorProto::FLOAT).add_float_data(0.5F);
  auto& node = maker.node("QuantizeLinear", {"x", "s"}, {"y"}, "q");
  maker.output("y");
  set_int(node, "output_dtype", onnx::TensorProto::INT8);
  const Graph graph = graph_of(maker);
  ASSERT_EQ(graph.nodes[0].inputs.size(), 3U);
  EXPECT_EQ(graph.constants.at(graph.nodes[0].inputs[2]).dtype, DType::i8);
  node.clear_attribute();
  set_int(node, "output_dtype", onnx::TensorProto::INT16);
  EXPECT_EQ(message(maker),
            "node 'q' (QuantizeLinear, opset 21): output_dtype int16 (5) is not supported: expected int8 or uint8");
  node.clear_attribute();
  set_int(node, "block_size", 16);
  EXPECT_EQ(
      message(maker),
      "node 'q' (QuantizeLinear, opset 21): scales a block of elements (block_size) are not supported: expected one "
      "scale, or one a channel");
  node.clear_attribute();
  node.mutable_input()->RemoveLast();
  set_int(node, "output_dtype", onnx::TensorProto::INT8);
  EXPECT_EQ(message(maker), "node 'q' (QuantizeLinear, opset 21): has no scale: expected it as input 1");
}

}  // namespace
}  // namespace tessera::compiler
