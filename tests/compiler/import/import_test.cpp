#include "compiler/import/import.hpp"

#include <fstream>

#include <gtest/gtest.h>

#include "compiler/ir/sha256.hpp"
#include "hw/common/error.hpp"
#include "hw/common/file.hpp"
#include "model_maker.hpp"
#include "shared_models.hpp"

namespace tessera::compiler {
namespace {

using Floats = std::vector<double>;

Graph import_of(const ModelMaker& maker, const std::vector<std::string>& shapes = {}) {
  return import_bytes(maker.bytes(), "m.onnx", "", ImportOptions{shapes});
}

TEST(Import, ir3_lists_initialisers_among_the_inputs) {
  ModelMaker maker(9, 3);
  maker.input("x", {"1", "2"});
  maker.input("w", {"2"});
  auto& w = maker.initialiser("w", {2}, onnx::TensorProto::FLOAT);
  w.add_float_data(1.5F);
  w.add_float_data(-2.0F);
  maker.node("Mul", {"x", "w"}, {"y"});
  maker.output("y");
  const Graph graph = import_of(maker);
  EXPECT_EQ(graph.inputs, (std::vector<std::string>{"x"}));
  EXPECT_EQ(graph.constants.at("w").as_doubles(), (Floats{1.5, -2.0}));
  EXPECT_EQ(graph.shape_of("x"), (Shape{1, 2}));
  EXPECT_EQ(graph.nodes.at(0).name, "y") << "a node without name takes that of its first output";
  EXPECT_EQ(graph.model_sha256, sha256_hex(maker.bytes()));
}

TEST(Import, reads_raw_and_typed_data_of_every_type) {
  ModelMaker maker(13);
  maker.input("x", {"1"});
  maker.node("Relu", {"x"}, {"y"});
  maker.output("y");
  const std::vector<int> in_int32 = {onnx::TensorProto::INT8,   onnx::TensorProto::UINT8, onnx::TensorProto::INT16,
                                     onnx::TensorProto::UINT16, onnx::TensorProto::INT32, onnx::TensorProto::BOOL};
  for (const int type : in_int32) maker.initialiser("t" + std::to_string(type), {1}, type).add_int32_data(1);
  maker.initialiser("f16", {1}, onnx::TensorProto::FLOAT16).add_int32_data(0x3c00);
  maker.initialiser("f64", {1}, onnx::TensorProto::DOUBLE).add_double_data(1.0);
  maker.initialiser("u32", {1}, onnx::TensorProto::UINT32).add_uint64_data(1);
  maker.initialiser("u64", {1}, onnx::TensorProto::UINT64).add_uint64_data(1);
  const std::int64_t one = 1;
  maker.initialiser("raw", {1, 1}, onnx::TensorProto::INT64).set_raw_data(&one, sizeof(one));
  maker.initialiser("empty", {0, 4}, onnx::TensorProto::FLOAT);
  const Graph graph = import_of(maker);
  EXPECT_EQ(graph.constants.size(), in_int32.size() + 6);
  for (const auto& [name, tensor] : graph.constants) {
    EXPECT_EQ(tensor.as_doubles(), name == "empty" ? Floats{} : Floats{1.0}) << name;
  }
  EXPECT_EQ(graph.constants.at("empty").elements(), 0);
}

TEST(Import, constant_nodes_become_constants) {
  ModelMaker maker(13);
  maker.input("x", {"2"});
  set_floats(maker.node("Constant", {}, {"a"}), "value_floats", {1, 2});
  set_int(maker.node("Constant", {}, {"b"}), "value_int", 7);
  maker.node("Add", {"x", "a"}, {"y"});
  maker.output("y");
  const Graph graph = import_of(maker);
  EXPECT_EQ(graph.nodes.size(), 1U);
  EXPECT_EQ(graph.constants.at("a").as_doubles(), (Floats{1, 2}));
  EXPECT_EQ(graph.constants.at("b").shape, Shape{});
  EXPECT_EQ(graph.constants.at("b").as_doubles(), (Floats{7}));
}

TEST(Import, names_are_unique_and_nodes_are_sorted) {
  ModelMaker maker(13);
  maker.input("x", {"1"});
  maker.node("Relu", {"h"}, {"y"}, "n");
  maker.node("Relu", {"x"}, {"h"}, "n");
  maker.output("y");
  const Graph graph = import_of(maker);
  EXPECT_EQ(graph.nodes[0].outputs[0], "h");
  EXPECT_EQ(graph.nodes[0].name, "n_1");
  EXPECT_EQ(graph.nodes[1].name, "n");
}

TEST(Import, keeps_custom_operators) {
  ModelMaker maker(13);
  maker.input("x", {"1"});
  maker.node("FancyOp", {"x"}, {"y"}).set_domain("com.example");
  maker.output("y");
  EXPECT_EQ(import_of(maker).nodes[0].domain, "com.example");
}

TEST(Import, binds_symbols_by_name_and_across_inputs) {
  ModelMaker maker(13);
  maker.input("a", {"batch", "3", "h"});
  maker.input("b", {"batch", "h"});
  maker.node("Relu", {"a"}, {"y"});
  maker.output("y");
  const Graph graph = import_of(maker, {"a=4x3x8"});
  EXPECT_EQ(graph.shape_of("a"), (Shape{4, 3, 8}));
  EXPECT_EQ(graph.shape_of("b"), (Shape{4, 8}));
}

TEST(Import, a_bare_shape_is_for_the_sole_input) {
  ModelMaker maker(13);
  maker.input("x:0=odd", {"n", "3"});
  maker.node("Relu", {"x:0=odd"}, {"y"});
  maker.output("y");
  EXPECT_EQ(import_of(maker, {"2x3"}).shape_of("x:0=odd"), (Shape{2, 3}));
  EXPECT_EQ(import_of(maker, {"x:0=odd=5x3"}).shape_of("x:0=odd"), (Shape{5, 3}));
}

class ExternalData : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              (std::string("external_") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_ / "model");
    const std::vector<float> values = {0, 1, 2, 3};
    const std::string bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    write_file(folder_ / "model" / "w.bin", bytes);
    write_file(folder_ / "outside.bin", bytes);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Graph import_with(const std::string& location, const std::string& offset, const std::string& length) const {
    ModelMaker maker(13);
    maker.input("x", {"2"});
    maker.node("Add", {"x", "w"}, {"y"});
    maker.output("y");
    auto& w = maker.initialiser("w", {2}, onnx::TensorProto::FLOAT);
    w.set_data_location(onnx::TensorProto::EXTERNAL);
    const auto entry = [&](const char* key, const std::string& value) {
      auto* made = w.add_external_data();
      made->set_key(key);
      made->set_value(value);
    };
    entry("location", location);
    entry("offset", offset);
    entry("length", length);
    return import_bytes(maker.bytes(), "m.onnx", folder_ / "model");
  }

  std::string message(const std::string& location, const std::string& offset, const std::string& length) const {
    try {
      (void)import_with(location, offset, length);
    } catch (const UserError& error) {
      return error.what();
    }
    return "no error";
  }

  std::filesystem::path folder_;
};

TEST_F(ExternalData, is_read_from_the_models_folder) {
  EXPECT_EQ(import_with("w.bin", "8", "8").constants.at("w").as_doubles(), (Floats{2, 3}));
}

TEST_F(ExternalData, is_refused_outside_of_it) {
  const std::string where = "m.onnx: initialiser 'w': external data ";
  for (const std::string& location :
       {std::string("../outside.bin"), (folder_ / "outside.bin").string(), std::string()}) {
    EXPECT_EQ(message(location, "0", "8"), where + "in '" + location + "': expected a file inside the model's folder");
  }
  std::filesystem::create_symlink(folder_ / "outside.bin", folder_ / "model" / "link.bin");
  EXPECT_EQ(message("link.bin", "0", "8"), where + "in 'link.bin': expected a file inside the model's folder");
  EXPECT_EQ(message("none.bin", "0", "8"), where + "file 'none.bin' cannot be read: expected it beside the model");
  EXPECT_EQ(message("w.bin", "12", "8"), where + "file 'w.bin' has 16 bytes: the model needs 20");
  EXPECT_EQ(message("w.bin", "0", "12"), where + "of 12 bytes: 2 float32 needs 8");
  EXPECT_EQ(message("w.bin", "-1", "8"), where + "has offset '-1': expected a number of bytes");
}

TEST(SharedModels, all_import) {
  TESSERA_SKIP_WITHOUT(shared_models());
  const std::map<std::string, std::vector<std::string>> shapes = {{"emmtrix_micro_kws_m_static_qdq", {"1x1960"}},
                                                                  {"mobilenet_v3_large_dyn_op14", {"1x3x224x224"}}};
  int count = 0;
  for (const char* kind : {"light", "models", "structure", "quirks"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(shared_models() / kind)) {
      if (entry.path().extension() != ".onnx") continue;
      ImportOptions options;
      for (const auto& [name, given] : shapes) {
        if (entry.path().string().find(name) != std::string::npos) options.shapes = given;
      }
      std::vector<std::string> warnings;
      EXPECT_NO_THROW((void)import_model(entry.path(), options, &warnings)) << entry.path();
      for (const std::string& warning : warnings) std::cout << entry.path() << ": " << warning << "\n";
      ++count;
    }
  }
  EXPECT_GE(count, 50);
}

TEST(SharedModels, unbound_batch_names_the_option) {
  const auto file = shared_models() / "models/emmtrix_micro_kws_m_static_qdq/model.onnx";
  TESSERA_SKIP_WITHOUT(file);
  try {
    (void)import_model(file);
    FAIL() << "expected an error";
  } catch (const UserError& error) {
    EXPECT_EQ(
        std::string(error.what()),
        file.string() +
            ": input 'serving_default_input:0' is declared as unk__68x1960: 'unk__68' unbound: give the sizes with "
            "--shape, for example --shape serving_default_input:0=1x1960");
  }
}

}  // namespace
}  // namespace tessera::compiler
