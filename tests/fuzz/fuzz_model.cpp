// The importer and everything up to the integer graph, as `tessera check` walks it: damaged ONNX files are refused with
// UserError or taken, in bounded time and memory.
#include <string>

#include "compiler/export/export.hpp"
#include "compiler/import/import.hpp"
#include "compiler/interpret/evaluate.hpp"
#include "compiler/ir/builder.hpp"
#include "compiler/passes/canonicalise.hpp"
#include "compiler/passes/fold.hpp"
#include "compiler/quantize/integer_network.hpp"
#include "compiler/quantize/quantize.hpp"
#include "hw/common/error.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace tessera::fuzz {
namespace {

using namespace compiler;

Tensor ramp(const Shape& shape) {
  Tensor tensor = Tensor::make(DType::f32, shape);
  for (std::int64_t i = 0; i < tensor.elements(); ++i) tensor.data<float>()[i] = static_cast<float>(i % 13 - 6);
  return tensor;
}

Input bytes_of(GraphBuilder* builder, const std::string& output, DType type, const Shape& shape,
               const std::string& contrib = "") {
  builder->output(output);
  Graph graph = builder->take();
  graph.values[output] = {type, shape};
  for (Node& node : graph.nodes) {
    if (node.op == contrib) node.domain = "com.microsoft";
  }
  const std::string bytes = export_bytes(graph);
  return {bytes.begin(), bytes.end()};
}

/// Windows and the arithmetic on shapes around them.
Input float_network() {
  GraphBuilder b("float");
  b.input("x", {1, 3, 8, 8});
  const std::string conv =
      b.node("Conv", {"x", b.constant("w", ramp({4, 3, 3, 3}))}, {{"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{2, 2}}});
  const std::string pool = b.node("MaxPool", {b.node("HardSwish", {conv})}, {{"kernel_shape", Ints{2, 2}}});
  const std::string scales = b.constant("scales", float_tensor({4}, {1, 1, 2, 2}));
  const std::string up = b.node("Resize", {pool, "", scales});
  const std::string shape = b.node("Shape", {up});
  const std::string first =
      b.node("Gather", {shape, b.constant("zero", int64_tensor({1}, {0}))}, {{"axis", std::int64_t{0}}});
  const std::string rest = b.constant("rest", int64_tensor({1}, {-1}));
  const std::string target = b.node("Concat", {first, rest}, {{"axis", std::int64_t{0}}});
  const std::string filled = b.node("ConstantOfShape", {b.constant("size", int64_tensor({2}, {144, 5}))});
  const std::string gemm = b.node("Gemm", {b.node("Reshape", {up, target}), filled});
  return bytes_of(&b, b.node("Softmax", {gemm}), DType::f32, {1, 5});
}

Input movers() {
  GraphBuilder b("movers");
  b.input("x", {1, 4, 6, 6});
  const auto ints = [&](const std::string& name, const Ints& values) {
    return b.constant(name, int64_tensor({static_cast<std::int64_t>(values.size())}, values));
  };
  std::string at = b.node("Pad", {"x", ints("pads", {0, 0, 1, 1, 0, 0, 1, 1})});
  at = b.node("Slice",
              {at, ints("starts", {0, -1}), ints("ends", {99, -99}), ints("axes", {2, 3}), ints("steps", {2, -1})});
  at = b.node("Transpose", {at}, {{"perm", Ints{0, 2, 1, 3}}});
  at = b.node("Tile", {at, ints("repeats", {1, 2, 1, 1})});
  at = b.node("Expand", {at, ints("shape", {1, 8, 4, 8})});
  const auto range = b.node("Range", {b.constant("r0", int64_tensor({}, {0})), b.constant("r1", int64_tensor({}, {8})),
                                      b.constant("r2", int64_tensor({}, {2}))});
  at = b.node("Gather", {at, range}, {{"axis", std::int64_t{1}}});
  at = b.node("ConvTranspose", {at, b.constant("v", ramp({4, 2, 2, 2}))}, {{"strides", Ints{2, 2}}});
  return bytes_of(&b,
                  b.node("DepthToSpace", {b.node("Concat", {at, at}, {{"axis", std::int64_t{1}}})},
                         {{"blocksize", std::int64_t{2}}}),
                  DType::f32, {1, 1, 16, 32});
}

Input quantised(bool contrib) {
  GraphBuilder b("quantised");
  b.input("x", {1, 2, 4, 4}, DType::u8);
  const std::string s = b.constant("s", float_tensor({}, {0.1F})), z = b.constant("z", uint8_tensor({}, {7}));
  if (contrib) {
    const std::string sum = b.node("QLinearAdd", {"x", s, z, "x", s, z, s, z});
    return bytes_of(&b, sum, DType::u8, {1, 2, 4, 4}, "QLinearAdd");
  }
  const std::string w = b.constant("w", int8_tensor({3, 2, 1, 1}, {1, -2, 3, -4, 5, -6}));
  const std::string conv = b.node("QLinearConv", {"x", s, z, w, s, b.constant("wz", int8_tensor({}, {0})), s, z,
                                                  b.constant("bias", int32_tensor({3}, {10, 20, 30}))});
  return bytes_of(&b, conv, DType::u8, {1, 3, 4, 4});
}

}  // namespace

std::vector<Input> seeds() { return {float_network(), movers(), quantised(false), quantised(true)}; }

}  // namespace tessera::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tessera;
  using namespace tessera::compiler;
  try {
    Graph graph = import_bytes({reinterpret_cast<const char*>(data), size}, "fuzz.onnx", "/nonexistent");
    prepare(graph, try_evaluate_node);
    spell_out_integers(graph);
    if (!is_quantized(graph)) {
      run_passes(graph);
      graph = quantize_for_timing(graph);
    }
    std::vector<Refusal> refusals;
    (void)lower(graph, &refusals);
  } catch (const UserError&) {  // every other exception is a finding
  }
  return 0;
}
