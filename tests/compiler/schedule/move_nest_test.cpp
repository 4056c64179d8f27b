// Loops of moves: what REORDER is asked for, and what it costs, by hand.
#include "compiler/schedule/move_nest.hpp"

#include <gtest/gtest.h>

namespace tessera::compiler {
namespace {

MapPlace place(const MapShape& shape, std::int64_t base, const isa::ChipConfig& chip) {
  const std::int64_t cb = chip.layout.channel_block, line = chip.sram.line_bytes;
  MapPlace p;
  p.shape = shape;
  p.base = base;
  p.row_bytes = (shape.w * cb + line - 1) / line * line;
  p.block_bytes = p.row_bytes * shape.h;
  p.image_bytes = p.block_bytes * ((shape.c + cb - 1) / cb);
  return p;
}

/// [2][32][4 x 4] -> [32][2][4 x 4]: every line of the result takes one line of either source block.
QMove shuffle() {
  QMove piece;
  piece.count = {1, 1, 1, 32, 2, 16};
  piece.src_stride = {0, 0, 0, 16, 512, 1};
  piece.dst_stride = {0, 0, 0, 32, 16, 1};
  return piece;
}

TEST(MoveNest, AShuffleTakesTwoStepsALine) {
  const isa::ChipConfig chip = isa::load_chip("a1000");
  const UnitCost cost(chip);
  const MapShape shape{1, 64, 4, 4};
  const auto box = move_box(shuffle(), shape, shape, chip);
  ASSERT_TRUE(box.has_value());
  Cycles steps = 0;
  for (const isa::Reorder& r : reorder_box(*box, place(shape, 0, chip), place(shape, 1 << 20, chip), cost)) {
    steps += cost.reorder(r) - chip.sram.read_latency - chip.reorder.pipeline_cycles;
  }
  EXPECT_EQ(steps, 2 * 8);  // 2 blocks x 4 rows of one line
}

TEST(MoveNest, RowsOfAnUpsampledMapAreCutInPairs) {
  const MapShape in{1, 3, 5, 7}, out{1, 3, 10, 14};
  QMove piece;
  piece.count = {1, 1, 15, 2, 7, 2};
  piece.src_stride = {0, 0, 7, 0, 1, 0};
  piece.dst_stride = {0, 0, 28, 14, 2, 1};
  const auto box = move_box(piece, in, out, isa::load_chip("tiny"));
  ASSERT_TRUE(box.has_value());
  EXPECT_EQ(row_granule(*box, out), 2);
  const auto part = clip(*box, out, 0, {4, 8});
  ASSERT_TRUE(part.has_value());
  const SourceRows source = source_rows(*part, in);
  EXPECT_TRUE(source.one_image);
  EXPECT_EQ(source.rows.first, 2);
  EXPECT_EQ(source.rows.end, 4);
}

TEST(MoveNest, AHeadsTransposedMatrixIsStridesOfTheTokens) {
  // [9 tokens][2 heads][4] -> [2][4][9]; the operand is 2 matrices of 4 rows and 9 columns.
  QNode move;
  move.op = QOp::move;
  move.inputs = {0};
  QMove piece;
  piece.count = {1, 1, 1, 2, 4, 9};
  piece.src_stride = {0, 0, 0, 4, 1, 8};
  piece.dst_stride = {0, 0, 0, 36, 9, 1};
  move.pieces = {piece};
  LinearNest operand;
  operand.loops = {{{2, 36}}, {{4, 9}}, {{9, 1}}};
  const auto before = before_move(move, operand, 72);
  ASSERT_TRUE(before.has_value());
  ASSERT_EQ(before->loops[0].size(), 1U);
  EXPECT_EQ(before->loops[0][0].stride, 4);
  EXPECT_EQ(before->loops[1][0].stride, 1);
  EXPECT_EQ(before->loops[2][0].stride, 8);
  operand.loops = {{{3, 24}}, {{24, 1}}};  // ends inside a row
  EXPECT_FALSE(before_move(move, operand, 72).has_value());
}

}  // namespace
}  // namespace tessera::compiler
