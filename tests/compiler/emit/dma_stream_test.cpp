// Where LOAD and STORE are after so many lines, against the walk that the engines take.
#include "compiler/emit/dma_stream.hpp"

#include <gtest/gtest.h>

#include "hw/models/load/dma_walk.hpp"
#include "isa/chip.hpp"

namespace tessera::compiler {
namespace {

/// Banks in the order in which a walk of whole segments writes its lines.
std::vector<BankMask> walked(const semantics::DmaShape& shape, const isa::ChipConfig& chip) {
  std::vector<BankMask> banks;
  for (hw::SegmentWalk walk(shape, chip.sram.line_bytes); !walk.done();) {
    const hw::Segment segment = walk.next(1 << 30);
    if (segment.closes) banks.push_back(BankMask{1} << segment.line * chip.sram.line_bytes / chip.sram.size_bytes);
  }
  return banks;
}

void expect_walk(const semantics::DmaShape& shape, const isa::ChipConfig& chip) {
  const DmaStream stream(shape, chip);
  const std::vector<BankMask> banks = walked(shape, chip);
  ASSERT_EQ(stream.lines(), static_cast<std::int64_t>(banks.size()));
  BankMask all = 0;
  for (std::size_t i = 0; i < banks.size(); ++i) {
    EXPECT_EQ(stream.bank_of(static_cast<std::int64_t>(i)), banks[i]) << "line " << i;
    all |= banks[i];
  }
  EXPECT_EQ(all & ~stream.banks(), 0u);
}

semantics::DmaShape rows_of(std::int64_t rows, std::int64_t row_bytes, std::int64_t sram_stride) {
  semantics::DmaShape shape;
  shape.row_bytes = shape.group_bytes = row_bytes;
  shape.group_stride = row_bytes;
  shape.count[2] = rows;
  shape.dram_stride[2] = row_bytes;
  shape.sram_stride[2] = sram_stride;
  return shape;
}

TEST(DmaStream, RowsCrossBanksWhereTheirWalkDoes) {
  const isa::ChipConfig chip = isa::load_chip("a1000", {"sram.size_bytes=1024"});
  expect_walk(rows_of(40, 384, 384), chip);
  expect_walk(rows_of(12, 500, 2048), chip);
  semantics::DmaShape outer = rows_of(3, 128, 256);
  outer.count[1] = 4;
  outer.sram_stride[1] = 4096;
  outer.count[0] = 2;
  outer.sram_stride[0] = 20480;
  expect_walk(outer, chip);
}

TEST(DmaStream, CircularRowsComeBack) {
  const isa::ChipConfig chip = isa::load_chip("a1000", {"sram.size_bytes=1024"});
  semantics::DmaShape shape = rows_of(9, 256, 1024);
  shape.wrap_rows = 4;
  shape.first_row = 3;
  expect_walk(shape, chip);
}

TEST(DmaStream, GroupsLineByLine) {
  const isa::ChipConfig chip = isa::load_chip("a1000", {"sram.size_bytes=1024"});
  semantics::DmaShape shape = rows_of(2, 640, 8192);
  shape.group_bytes = 32;  // twenty groups, each in a line of its own
  shape.group_stride = 256;
  expect_walk(shape, chip);
  shape.group_stride = 32;
  expect_walk(shape, chip);
}

TEST(DmaStream, PaddingRowsHaveLinesToo) {
  const isa::ChipConfig chip = isa::load_chip("a1000", {"sram.size_bytes=1024"});
  semantics::DmaShape shape = rows_of(3, 128, 1024);
  shape.rows_before = 2;
  shape.rows_after = 1;
  expect_walk(shape, chip);
}

}  // namespace
}  // namespace tessera::compiler
