// Damaged files beyond import: what imports must fold, take the passes and be counted, or be refused with UserError.
#include <gtest/gtest.h>

#include "../import/model_maker.hpp"
#include "compiler/import/import.hpp"
#include "compiler/passes/canonicalise.hpp"
#include "compiler/passes/fold.hpp"
#include "compiler/passes/macs.hpp"
#include "hw/common/error.hpp"
#include "hw/common/random.hpp"

namespace tessera::compiler {
namespace {

/// Windows, matrices, shape arithmetic and layout operators in one small graph.
std::string small_model() {
  ModelMaker maker(11);
  maker.input("x", {"1", "2", "6", "6"});
  maker.initialiser("w", {2, 1, 3, 3}, onnx::TensorProto::FLOAT).set_raw_data(std::string(18 * sizeof(float), '\1'));
  maker.initialiser("v", {2, 2, 2, 2}, onnx::TensorProto::FLOAT).set_raw_data(std::string(16 * sizeof(float), '\1'));
  maker.initialiser("n", {2}, onnx::TensorProto::FLOAT).set_raw_data(std::string(2 * sizeof(float), '\1'));
  maker.initialiser("m", {8, 3}, onnx::TensorProto::FLOAT).set_raw_data(std::string(24 * sizeof(float), '\1'));
  maker.int64s("pads", {0, 0, 1, 1, 0, 0, 1, 1});
  maker.int64s("starts", {0, -3});
  maker.int64s("ends", {INT64_MAX, INT64_MAX});
  maker.int64s("first", {0});
  maker.int64s("rest", {-1});
  maker.node("Pad", {"x", "pads"}, {"p"});
  auto& conv = maker.node("Conv", {"p", "w"}, {"c"});
  set_int(conv, "group", 2);
  set_ints(conv, "strides", {2, 2});
  maker.node("BatchNormalization", {"c", "n", "n", "n", "n"}, {"b"});
  auto& pool = maker.node("MaxPool", {"b"}, {"q"});
  set_ints(pool, "kernel_shape", {2, 2});
  set_int(pool, "ceil_mode", 1);
  set_ints(maker.node("ConvTranspose", {"q", "v"}, {"t"}), "output_shape", {3, 3});
  maker.node("Slice", {"t", "starts", "ends"}, {"s"});
  maker.node("Shape", {"s"}, {"shape"});
  maker.node("Gather", {"shape", "first"}, {"batch"});
  set_int(maker.node("Concat", {"batch", "rest"}, {"target"}), "axis", 0);
  maker.node("Reshape", {"q", "target"}, {"r"});
  set_floats(maker.node("Constant", {}, {"k"}), "value_floats", {1, 2, 3});
  maker.node("Gemm", {"r", "m", "k"}, {"g"});
  maker.node("Softmax", {"g"}, {"y"});
  maker.output("y");
  maker.output("s");
  return maker.bytes();
}

TEST(PassesFuzz, mutated_models_are_prepared_or_refused) {
  constexpr int kMutations = 3000;
  constexpr std::uint64_t kSeed = 20240602;
  const std::string good = small_model();
  Graph whole = import_bytes(good, "fuzz.onnx", "");
  prepare(whole);
  run_passes(whole);
  EXPECT_GT(macs(whole), 0);
  Random random(kSeed);
  int counted = 0;
  int refused = 0;
  for (int i = 0; i < kMutations; ++i) {
    std::string bytes = good;
    const std::uint64_t edits = 1 + random.below(3);
    for (std::uint64_t edit = 0; edit < edits; ++edit) {
      const std::size_t at = random.below(bytes.size());
      if (random.chance(1, 2)) {
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8)));
      } else {
        bytes[at] = static_cast<char>(random.below(256));
      }
    }
    try {
      Graph graph = import_bytes(bytes, "fuzz.onnx", "/nonexistent");
      prepare(graph);
      run_passes(graph);
      (void)macs(graph);
      ++counted;
    } catch (const UserError&) {
      ++refused;
    } catch (const std::exception& error) {
      ADD_FAILURE() << "mutation " << i << " of seed " << kSeed << ": " << error.what();
    }
  }
  EXPECT_EQ(counted + refused, kMutations);
  EXPECT_GT(counted, kMutations / 20);
  EXPECT_GT(refused, kMutations / 20);
}

}  // namespace
}  // namespace tessera::compiler
