// What goes in and comes out of a run in the model's own types, through the command; waves of a network from both
// sides.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "compiler/export/export.hpp"
#include "compiler/ir/builder.hpp"
#include "compiler/passes/shape_inference.hpp"
#include "compiler/tensor_io/tensor_io.hpp"
#include "hw/common/file.hpp"
#include "hw/common/random.hpp"
#include "tests/e2e/tessera_command.hpp"

namespace tessera::compiler {
namespace {

namespace fs = std::filesystem;

/// Random bytes of a type.
Tensor bytes_of(DType type, const Shape& shape, std::uint64_t seed) {
  Tensor tensor = Tensor::make(type, shape);
  Random random(seed);
  for (std::uint8_t& byte : tensor.bytes) byte = static_cast<std::uint8_t>(random.below(256));
  return tensor;
}

constexpr std::uint64_t kWeights = 3;  // seed

/// uint8 x [1,3,6,7] -> QLinearConv -> uint8 y, in DIR/net.onnx.
std::string qlinear_model(const fs::path& dir) {
  GraphBuilder b("bytes");
  b.input("x", {1, 3, 6, 7}, DType::u8);
  const auto scale = [&](const char* name, float value) { return b.constant(name, float_tensor({}, {value})); };
  const std::string w = b.constant("w", bytes_of(DType::i8, {5, 3, 3, 3}, kWeights));
  b.output(b.node("QLinearConv",
                  {"x", scale("xs", 0.5F), b.constant("xz", uint8_tensor({}, {117})), w, scale("ws", 1.0F / 256),
                   b.constant("wz", int8_tensor({}, {0})), scale("ys", 4.0F), b.constant("yz", uint8_tensor({}, {90}))},
                  {}, "y"));
  Graph graph = b.take();
  infer_shapes(graph);
  export_model(graph, dir / "net.onnx");
  return (dir / "net.onnx").string();
}

/// y of that model from its definition.
std::vector<std::uint8_t> convolved(const Tensor& x) {
  const Tensor w = bytes_of(DType::i8, {5, 3, 3, 3}, kWeights);
  std::vector<std::uint8_t> y;
  for (std::size_t o = 0; o < 5; ++o) {
    for (std::size_t row = 0; row < 4; ++row) {
      for (std::size_t column = 0; column < 5; ++column) {
        int sum = 0;
        for (std::size_t c = 0; c < 3; ++c) {
          for (std::size_t k = 0; k < 9; ++k) {
            const int value = x.bytes[c * 42 + (row + k / 3) * 7 + column + k % 3];
            sum += (value - 117) * w.data<std::int8_t>()[o * 27 + c * 9 + k];
          }
        }
        y.push_back(static_cast<std::uint8_t>(std::clamp(std::nearbyint(sum * 0.5 / 256 / 4.0) + 90, 0.0, 255.0)));
      }
    }
  }
  return y;
}

TEST(Boundary, BytesGoInAndComeOutAsTheModelHasThem) {
  const fs::path dir = workplace();
  const std::string net = qlinear_model(dir), x = (dir / "x.npy").string();
  write_npy(x, bytes_of(DType::u8, {1, 3, 6, 7}, 7));
  expect_parts(tessera_command("simulate " + net + " --chip tiny --compare graph,reference --input x=" + x +
                               " --output-dir " + (dir / "out").string()),
               0, {"graph: equal", "reference: equal"});
  const Tensor found = read_npy(dir / "out" / "y.npy");
  EXPECT_EQ(found.dtype, DType::u8);
  EXPECT_EQ(found.shape, (Shape{1, 5, 4, 5}));
  EXPECT_EQ(found.bytes, convolved(read_npy(x)));

  write_npy(x, bytes_of(DType::i16, {1, 3, 6, 7}, 7));
  expect_parts(tessera_command("simulate " + net + " --chip tiny --input x=" + x), 2,
               {"type int16: input 'x' expects float32, uint8 as the model has it, or int8"});
  fs::remove_all(dir);
}

TEST(Boundary, ModelsAndRtlDrawTheSameWavesOfANetwork) {
  const fs::path dir = workplace();
  const std::string net = qlinear_model(dir);
  for (const char* backend : {"tlm", "rtl"}) {
    expect_parts(tessera_command("simulate " + net + " --chip tiny --backend " + backend + " --wave " +
                                 (dir / backend).string() + ".vcd"),
                 0, {});
  }
  const std::string tlm = read_file(dir / "tlm.vcd");
  EXPECT_EQ(tlm, read_file(dir / "rtl.vcd"));
  EXPECT_NE(tlm.find("busy"), std::string::npos);
  EXPECT_GT(std::count(tlm.begin(), tlm.end(), '\n'), 200);
  fs::remove_all(dir);
}

}  // namespace
}  // namespace tessera::compiler
