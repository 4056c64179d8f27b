// What a move or a product becomes: which units work, and whether anything passes through DRAM that need not.
#include <array>

#include <gtest/gtest.h>

#include "compiler/driver/compile.hpp"
#include "hw/common/error.hpp"
#include "random_graph.hpp"

namespace tessera::compiler {
namespace {

using testing::QBuilder;

struct Use {
  std::array<std::int64_t, 10> instructions{};  // by queue
  std::int64_t spill = 0;
  bool scratch = false;
  [[nodiscard]] std::int64_t on(isa::QueueId queue) const { return instructions[static_cast<std::size_t>(queue)]; }
};

Use use_of(const QGraph& graph, const isa::ChipConfig& chip) {
  CompileOptions options;
  options.schedule = ScheduleKind::layer;  // a fused schedule imports in chunks of its own
  const isa::Program program = compile(graph, chip, options).program;
  Use use;
  for (const isa::Section& section : program.sections) {
    for (const isa::QueueStream& stream : section.streams) {
      for (const isa::InstructionInfo& info : stream.info) {
        ++use.instructions[stream.queue];
        if (info.kind == isa::Traffic::spill) use.spill += info.useful_bytes;
      }
    }
  }
  for (const isa::Buffer& buffer : program.buffers) {
    use.scratch = use.scratch || buffer.kind == isa::BufferKind::scratch;
  }
  return use;
}

TEST(Moves, AShuffleBetweenConvolutionsStaysInSram) {
  QBuilder b(1);
  const int x = b.conv(b.input(1, 3, 8, 8), 12, {});
  b.output(b.conv(b.shuffle(x, 3), 5, {}));
  const Use use = use_of(b.graph, isa::load_chip("tiny"));
  EXPECT_GT(use.on(isa::QueueId::reorder), 0);
  EXPECT_FALSE(use.scratch);
}

TEST(Moves, ChannelsFromABlocksStartAreAPartOfTheMap) {
  QBuilder b(2);
  const int x = b.conv(b.input(1, 3, 8, 8), 16, {});
  b.output(b.conv(b.slice(x, 1, 0, 1, 8), 5, {}));
  b.output(b.slice(x, 1, 8, 1, 7));
  const isa::ChipConfig chip = isa::load_chip("tiny", {"dram.device=fixed"});
  const Use use = use_of(b.graph, chip);
  EXPECT_FALSE(use.scratch);
  QBuilder none(2);
  none.output(none.conv(none.input(1, 3, 8, 8), 16, {}));
  EXPECT_EQ(use.on(isa::QueueId::reorder), use_of(none.graph, chip).on(isa::QueueId::reorder));
}

TEST(Moves, ChannelsFromTheMiddleOfABlockAreCopied) {
  QBuilder b(3);
  const int x = b.conv(b.input(1, 3, 8, 8), 16, {});
  b.output(b.conv(b.slice(x, 1, 2, 1, 8), 5, {}));
  const Use use = use_of(b.graph, isa::load_chip("tiny"));
  EXPECT_FALSE(use.scratch);
  EXPECT_GE(use.on(isa::QueueId::reorder), 1);
}

TEST(Moves, ABlockOfProductsBetweenTranspositionsMovesNoByte) {
  QBuilder b(4);
  const int x = b.conv(b.input(1, 3, 6, 6), 12, {});
  const int last = b.transpose(x, {1, 12, 36}, {0, 2, 1}, {1, 36, 1, 12});
  const int wide = b.table(b.matmul(last, -1, {1, 36, 12, 48}, {1, 36, 1, 48}));
  const int back = b.matmul(wide, -1, {1, 36, 48, 12}, {1, 36, 1, 12});
  const int nchw = b.transpose(back, {1, 36, 12}, {0, 2, 1}, {1, 12, 6, 6});
  b.output(b.conv(nchw, 5, {}));
  const Use use = use_of(b.graph, isa::load_chip("a1000"));
  EXPECT_EQ(use.spill, 0);
  EXPECT_FALSE(use.scratch);
  EXPECT_EQ(use.on(isa::QueueId::gemm), 0);
}

TEST(Moves, AProductOfTwoActivationsRunsOnTheGemmUnit) {
  QBuilder b(5);
  const int q = b.input(1, 2, 9, 8), k = b.input(1, 2, 9, 8);
  b.output(b.matmul(q, k, {2, 9, 8, 9, false, true}, {1, 2, 9, 9}));
  const isa::Program program = compile(b.graph, isa::load_chip("a1000"), {}).program;
  EXPECT_EQ(program.macs_useful, 2 * 9 * 8 * 9);
  ASSERT_EQ(program.layers.size(), 1U);
  EXPECT_EQ(program.layers[0].unit, "gemm");
}

TEST(Moves, AProductThatTheUnitCannotDoIsRefusedByName) {
  QBuilder b(6);
  const int q = b.input(1, 2, 9, 8), k = b.input(1, 2, 9, 8);
  b.output(b.matmul(q, k, {2, 9, 8, 9, false, true}, {1, 2, 9, 9}));
  try {
    (void)compile(b.graph, isa::load_chip("tiny", {"gemm.cols=4"}), {});
    FAIL() << "compiled";
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(),
                 "MatMul1: MatMul does not fit the GEMM unit: trans_b needs a square array: the chip has 8 x 4");
  }
}

TEST(Moves, AProductThatFindsNoPlaceNamesItsBytes) {
  QBuilder b(7);
  b.output(b.matmul(b.input(1, 1, 2, 3000), b.input(1, 1, 3000, 2), {1, 2, 3000, 2}, {1, 1, 2, 2}));
  try {
    (void)compile(b.graph, isa::load_chip("tiny", {"sram.size_bytes=1024"}), {});
    FAIL() << "compiled";
  } catch (const UserError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("MatMul1: MatMul does not fit the SRAM of tiny (8192 bytes a core) even tile by tile: its "
                        "smallest tile takes 27008 bytes"),
              std::string::npos)
        << text;
  }
}

}  // namespace
}  // namespace tessera::compiler
