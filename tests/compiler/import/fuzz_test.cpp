// Damaged files: a few thousand seeded mutations of a small model must import or be refused, never crash or throw
// anything but UserError.
#include <gtest/gtest.h>

#include "compiler/import/import.hpp"
#include "hw/common/error.hpp"
#include "hw/common/random.hpp"
#include "model_maker.hpp"

namespace tessera::compiler {
namespace {

std::string small_model() {
  ModelMaker maker(11);
  maker.input("x", {"1", "2", "4", "4"});
  auto& weights = maker.initialiser("w", {2, 2, 3, 3}, onnx::TensorProto::FLOAT);
  weights.set_raw_data(std::string(36 * sizeof(float), '\1'));
  auto& external = maker.initialiser("e", {4}, onnx::TensorProto::FLOAT);
  for (int i = 0; i < 4; ++i) external.add_float_data(1);
  auto& conv = maker.node("Conv", {"x", "w"}, {"c"});
  set_ints(conv, "pads", {1, 1, 1, 1});
  set_ints(maker.node("Squeeze", {"c"}, {"s"}), "axes", {0});
  auto& clip = maker.node("Clip", {"s"}, {"k"});
  (void)clip;
  set_int(maker.node("Softmax", {"k"}, {"y"}), "axis", 1);
  set_int(maker.node("Constant", {}, {"seven"}), "value_int", 7);
  maker.output("y");
  return maker.bytes();
}

TEST(ImportFuzz, mutated_files_are_imported_or_refused) {
  constexpr int kMutations = 4000;
  constexpr std::uint64_t kSeed = 20240601;
  const std::string good = small_model();
  Random random(kSeed);
  int imported = 0;
  int refused = 0;
  for (int i = 0; i < kMutations; ++i) {
    std::string bytes = good;
    const std::uint64_t edits = 1 + random.below(4);
    for (std::uint64_t edit = 0; edit < edits && !bytes.empty(); ++edit) {
      const std::size_t at = random.below(bytes.size());
      switch (random.below(4)) {
        case 0:
          bytes[at] = static_cast<char>(random.below(256));
          break;
        case 1:
          bytes.insert(at, 1, static_cast<char>(random.below(256)));
          break;
        case 2:
          bytes.erase(at, 1 + random.below(4));
          break;
        default:
          bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8)));
          break;
      }
    }
    try {
      (void)import_bytes(bytes, "fuzz.onnx", "/nonexistent");
      ++imported;
    } catch (const UserError&) {
      ++refused;
    }
  }
  EXPECT_EQ(imported + refused, kMutations) << "seed " << kSeed;
  EXPECT_GT(imported, kMutations / 20);
  EXPECT_GT(refused, kMutations / 20);
}

TEST(ImportFuzz, every_truncation_is_refused_or_imported) {
  const std::string good = small_model();
  for (std::size_t size = 0; size < good.size(); ++size) {
    try {
      (void)import_bytes(good.substr(0, size), "cut.onnx", "/nonexistent");
      ADD_FAILURE() << "a model cut to " << size << " of " << good.size() << " bytes was imported";
    } catch (const UserError& error) {
      EXPECT_EQ(std::string(error.what()).rfind("cut.onnx: ", 0) == 0 ||
                    std::string(error.what()).rfind("node ", 0) == 0 ||
                    std::string(error.what()).rfind("graph output ", 0) == 0,
                true)
          << error.what();
    }
  }
}

}  // namespace
}  // namespace tessera::compiler
