// The text of every refusal of the importer.
#include <functional>

#include <gtest/gtest.h>

#include "compiler/import/import.hpp"
#include "hw/common/error.hpp"
#include "model_maker.hpp"

namespace tessera::compiler {
namespace {

std::string message(const std::string& bytes, const std::vector<std::string>& shapes = {}) {
  try {
    (void)import_bytes(bytes, "m.onnx", "", ImportOptions{shapes});
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

/// A Relu from x (1x2) to y at opset 13, changed by `change`.
std::string changed(const std::function<void(ModelMaker&)>& change, const std::vector<std::string>& shapes = {}) {
  ModelMaker maker(13);
  maker.input("x", {"1", "2"});
  maker.node("Relu", {"x"}, {"y"}, "relu");
  maker.output("y");
  change(maker);
  return message(maker.bytes(), shapes);
}

TEST(Refusal, the_unchanged_model_is_legal) {
  EXPECT_EQ(changed([](ModelMaker&) {}), "no error");
}

TEST(Refusal, files_that_are_no_model) {
  const std::string hint = ": expected a protobuf ModelProto (is the file truncated, or text, or a Git LFS pointer?)";
  EXPECT_EQ(message(""), "m.onnx: is no whole ONNX model: found 0 bytes" + hint);
  EXPECT_EQ(message("version https://git-lfs"),
            "m.onnx: is no whole ONNX model: found 23 bytes that begin with 76657273696f6e20" + hint);
  EXPECT_EQ(message(std::string("\x08\x08", 2)),
            "m.onnx: is no whole ONNX model: found 2 bytes that begin with 0808 and hold no graph" + hint);
  EXPECT_THROW((void)import_model("/nonexistent/m.onnx"), UserError);
}

TEST(Refusal, opsets_outside_the_range) {
  const auto with_opset = [](std::int64_t opset) {
    return changed([&](ModelMaker& m) { m.model.mutable_opset_import(0)->set_version(opset); });
  };
  EXPECT_EQ(with_opset(0), "m.onnx: names no opset of ai.onnx: expected an opset in [1, 21]: convert the model");
  EXPECT_EQ(with_opset(22), "m.onnx: has opset 22: expected an opset in [1, 21]: convert the model");
  EXPECT_EQ(with_opset(1), "no error");
  EXPECT_EQ(with_opset(7), "no error");
  EXPECT_EQ(with_opset(21), "no error");
  EXPECT_EQ(changed([](ModelMaker& m) { m.model.clear_opset_import(); }),
            "m.onnx: names no opset of ai.onnx: expected an opset in [1, 21]: convert the model");
}

TEST(Refusal, tensors_that_do_not_add_up) {
  const auto with_tensor = [](const std::vector<std::int64_t>& dims, int type, int elements) {
    return changed([&](ModelMaker& m) {
      auto& tensor = m.initialiser("w", dims, type);
      for (int i = 0; i < elements; ++i) tensor.add_float_data(0);
    });
  };
  const std::string where = "m.onnx: initialiser 'w': ";
  EXPECT_EQ(with_tensor({2, 3}, onnx::TensorProto::FLOAT, 5), where + "holds 5 elements: 2x3 float32 needs 6 elements");
  EXPECT_EQ(with_tensor({2, -3}, onnx::TensorProto::FLOAT, 6),
            where + "has a negative size -3: expected sizes of at least 0");
  EXPECT_EQ(with_tensor({1 << 20, 1 << 20}, onnx::TensorProto::FLOAT, 6),
            where + "1048576x1048576 float32 is larger than 16 GiB");
  EXPECT_EQ(
      with_tensor({1}, onnx::TensorProto::BFLOAT16, 0),
      where + "has the type bfloat16 (16): expected float32, float64, float16, bool or an integer of 8 to 64 bits");
  EXPECT_EQ(with_tensor({1}, 22, 0),
            where + "has the type int4 (22): expected float32, float64, float16, bool or an integer of 8 to 64 bits");
  EXPECT_EQ(changed([](ModelMaker& m) { m.initialiser("w", {2}, onnx::TensorProto::FLOAT).set_raw_data("1234567"); }),
            where + "holds 7 bytes: 2 float32 needs 2 elements");
  EXPECT_EQ(changed([](ModelMaker& m) {
              m.int64s("w", {1});
              m.int64s("w", {1});
            }),
            "m.onnx: initialiser 'w' stands there twice");
}

TEST(Refusal, constants_without_a_value) {
  EXPECT_EQ(changed([](ModelMaker& m) { m.node("Constant", {}, {"c"}, "nothing"); }),
            "m.onnx: node 'nothing' (Constant): expected one output and one of the attributes value, value_float, "
            "value_floats, value_int, value_ints");
}

TEST(Refusal, graphs_without_nodes_or_outputs) {
  EXPECT_EQ(changed([](ModelMaker& m) { m.model.mutable_graph()->clear_node(); }),
            "m.onnx: the graph has no nodes: expected at least one");
  EXPECT_EQ(changed([](ModelMaker& m) { m.model.mutable_graph()->clear_output(); }),
            "m.onnx: the graph has no outputs: expected at least one");
  EXPECT_EQ(changed([](ModelMaker& m) { m.output("y"); }), "m.onnx: output 'y' stands there twice");
  EXPECT_EQ(changed([](ModelMaker& m) { m.node("Relu", {"q"}, {"z"}, "lost"); }),
            "node 'lost' (Relu): input 'q' is made by no node and is no graph input or initialiser");
}

TEST(Refusal, subgraphs_and_other_things_that_tensors_are_not) {
  EXPECT_EQ(changed([](ModelMaker& m) {
              auto* attribute = m.node("If", {"x"}, {"z"}, "choose").add_attribute();
              attribute->set_name("then_branch");
              attribute->set_type(onnx::AttributeProto::GRAPH);
            }),
            "m.onnx: node 'choose' (If): attribute 'then_branch' is a subgraph: control flow (If, Loop, Scan) is not "
            "supported: export the model without it");
  EXPECT_EQ(changed([](ModelMaker& m) { m.model.mutable_graph()->add_sparse_initializer(); }),
            "m.onnx: has sparse initialisers: expected dense tensors only");
  EXPECT_EQ(changed([](ModelMaker& m) {
              auto* info = m.model.mutable_graph()->add_input();
              info->set_name("s");
              info->mutable_type()->mutable_sequence_type();
            }),
            "m.onnx: input 's' is no tensor: expected dense tensors only");
}

TEST(Refusal, shapes_that_do_not_fit) {
  const auto shape = [](const std::vector<std::string>& given) {
    ModelMaker maker(13);
    maker.input("x", {"n", "2"});
    maker.node("Relu", {"x"}, {"y"});
    maker.output("y");
    return message(maker.bytes(), given);
  };
  EXPECT_EQ(
      shape({}),
      "m.onnx: input 'x' is declared as nx2: 'n' unbound: give the sizes with --shape, for example --shape x=1x2");
  EXPECT_EQ(shape({"z=1x2"}), "--shape z=1x2: m.onnx has no input 'z': expected one of 'x'");
  EXPECT_EQ(shape({"x=1x0"}), "--shape x=1x0: expected sizes of at least 1 joined by x, for example x=1x3x224x224");
  EXPECT_EQ(shape({"1xtwo"}), "--shape 1xtwo: expected sizes of at least 1 joined by x, for example x=1x3x224x224");
  EXPECT_EQ(shape({"1x3"}), "--shape x=1x3: m.onnx declares input 'x' as nx2: size 1 is fixed to 2");
  EXPECT_EQ(shape({"1x2x1"}), "--shape x=1x2x1: m.onnx declares input 'x' as nx2: expected 2 sizes, not 3");
  EXPECT_EQ(shape({"1x2", "x=1x2"}), "--shape x=1x2: input 'x' is given twice");
  EXPECT_EQ(
      changed([](ModelMaker& m) { m.input("z", {"1"}); }, {"1x2"}),
      "--shape 1x2: names no input, and m.onnx has 2 inputs: expected NAME=1x3x224x224 with NAME one of 'x', 'z'");
}

TEST(Refusal, things_without_names_or_of_odd_kinds) {
  EXPECT_EQ(changed([](ModelMaker& m) { m.initialiser("", {1}, onnx::TensorProto::FLOAT).add_float_data(1); }),
            "m.onnx: has an initialiser without a name");
  EXPECT_EQ(changed([](ModelMaker& m) { m.input("", {"1"}); }), "m.onnx: has an input without a name");
  EXPECT_EQ(changed([](ModelMaker& m) {
              m.input("big", {"1048576", "1048576"});
            }),
            "m.onnx: input 'big' of 1048576x1048576 is larger than 1 GiB");
  EXPECT_EQ(changed([](ModelMaker& m) { m.node("", {"x"}, {"z"}, "n"); }), "m.onnx: node 'n' (): names no operator");
  EXPECT_EQ(
      changed([](ModelMaker& m) {
        auto* attribute = m.model.mutable_graph()->mutable_node(0)->add_attribute();
        attribute->set_name("a");
        attribute->set_type(onnx::AttributeProto::SPARSE_TENSOR);
      }),
      "m.onnx: node 'relu' (Relu): attribute 'a' has the kind 11: expected a number, a string, a dense tensor or a "
      "list of numbers or strings");
  EXPECT_EQ(
      changed([](ModelMaker& m) {
        auto& node = m.node("Constant", {}, {"k"}, "k");
        set_int(node, "value_int", 1);
        set_float(node, "value_float", 1);
      }),
      "m.onnx: node 'k' (Constant): expected one output and one of the attributes value, value_float, value_floats, "
      "value_int, value_ints");
  EXPECT_EQ(changed([](ModelMaker& m) {
              auto& tensor = m.initialiser("w", {1}, onnx::TensorProto::FLOAT);
              tensor.add_float_data(1);
              tensor.mutable_segment()->set_begin(0);
            }),
            "m.onnx: initialiser 'w': is a segment of a tensor: expected whole tensors");
}

TEST(Refusal, old_operators_without_what_they_need) {
  const auto of = [](std::int64_t opset, const char* op, const std::vector<std::string>& inputs) {
    return changed([&](ModelMaker& m) {
      m.model.mutable_opset_import(0)->set_version(opset);
      m.node(op, inputs, {"z"}, "n");
    });
  };
  EXPECT_EQ(of(9, "Slice", {"x"}), "node 'n' (Slice, opset 9): expected the attributes starts and ends");
  EXPECT_EQ(of(9, "Pad", {"x"}), "node 'n' (Pad, opset 9): expected the attribute pads");
  EXPECT_EQ(of(9, "TopK", {"x"}), "node 'n' (TopK, opset 9): expected the attribute k");
  EXPECT_EQ(of(9, "Squeeze", {}), "node 'n' (Squeeze, opset 9): expected at least one input and one output");
  EXPECT_EQ(of(9, "Upsample", {"x"}),
            "node 'n' (Upsample, opset 9): expected scales as input 1 or as a list of numbers in an attribute");
  EXPECT_EQ(of(10, "Resize", {"x"}), "node 'n' (Resize, opset 10): expected two inputs, X and scales");
  EXPECT_EQ(of(9, "BatchNormalization", {"x", "x"}), "node 'n' (BatchNormalization, opset 9): expected five inputs");
}

TEST(Refusal, what_only_older_or_newer_opsets_say) {
  const auto of = [](std::int64_t opset, const char* op, const std::vector<std::string>& inputs, auto edit) {
    return changed([&](ModelMaker& m) {
      m.model.mutable_opset_import(0)->set_version(opset);
      edit(m.node(op, inputs, {"z"}, "n"));
    });
  };
  EXPECT_EQ(
      of(5, "Cast", {"x"},
         [](onnx::NodeProto& node) {
           auto& to = *node.add_attribute();
           to.set_name("to");
           to.set_type(onnx::AttributeProto::STRING);
           to.set_s("FLOAT");
         }),
      "node 'n' (Cast, opset 5): the type stands in words: expected a number as since opset 6; convert the model");
  EXPECT_EQ(of(5, "Upsample", {"x"}, [](onnx::NodeProto&) {}),
            "node 'n' (Upsample, opset 5): scales in two attributes: expected opset 7 or newer; convert the model");
  EXPECT_EQ(
      of(21, "DequantizeLinear", {"x", "x"}, [](onnx::NodeProto& node) { set_int(node, "block_size", 16); }),
      "node 'n' (DequantizeLinear, opset 21): scales a block of elements (block_size) are not supported: expected "
      "one scale, or one a channel");
}

}  // namespace
}  // namespace tessera::compiler
