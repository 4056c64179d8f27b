// LOAD, STORE, REORDER: hand-made cases and random loops against index arithmetic of this file; footprints and written
// bytes against a byte-for-byte record of what changes.
#include <gtest/gtest.h>

#include "hw/common/error.hpp"
#include "isa/semantics/dma.hpp"
#include "isa/semantics/footprint.hpp"
#include "isa/semantics/written.hpp"
#include "tests/isa/semantics/machine.hpp"

namespace tessera::semantics {
namespace {

using test::Machine;
using test::Map;

TEST(Load, LaysNchwIntoBlocks) {
  // One channel a dims[1] step, one row a dims[2] step; each pixel is a group of one byte, Cb apart.
  Machine m("tiny");
  const std::int64_t cb = m.chip.layout.channel_block;
  Random r(1);
  const Map image = test::random_map(r, 3, 5, 7);
  for (const std::int8_t v : image.v) m.dram.bytes[1].push_back(static_cast<std::uint8_t>(v));
  const isa::SramTensor t = m.room(3, 5, 7);
  isa::Load load{};
  load.base_register = 1;
  load.row_bytes = 7;
  load.group_bytes = 1;
  load.group_stride = static_cast<std::uint32_t>(cb);
  load.sram_base = t.base;
  load.dims[1] = {3, 35, 1};
  load.dims[2] = {5, 7, static_cast<std::int32_t>(t.row_pitch * m.chip.sram.line_bytes)};
  const std::vector<std::uint8_t> before = m.sram;
  m.run(load);
  EXPECT_EQ(m.get(t, 3, 5, 7).v, image.v);
  Machine expected("tiny");
  expected.sram = before;
  expected.put(t, image);
  EXPECT_TRUE(expected.sram == m.sram);  // the fourth lane keeps what it held
}

TEST(Load, FillsGroupsAndRowsOfACircularBuffer) {
  Machine m("micro");
  m.dram.bytes[0] = {1, 2, 3, 4, 5, 6};
  isa::Load load{};
  load.row_bytes = 3;
  load.group_bytes = 2;  // the last group of a row is short
  load.group_stride = 4;
  load.sram_base = 100;
  load.dims[2] = {2, 3, 32};
  load.wrap_rows = 5;
  load.first_row = 3;
  load.fill_value = 9;
  load.fill_groups_before = 1;
  load.fill_groups_after = 1;
  load.fill_rows_before = 1;
  load.fill_rows_after = 1;
  std::vector<std::uint8_t> expected = m.sram;
  const auto row = [&](std::int64_t buffer_row, std::vector<int> bytes) {  // -1: untouched
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      if (bytes[i] >= 0)
        expected[static_cast<std::size_t>(100 + buffer_row * 32) + i] = static_cast<std::uint8_t>(bytes[i]);
    }
  };
  row(3, {9, 9, -1, -1, 9, 9, -1, -1, 9, -1, -1, -1, 9, 9});
  row(4, {9, 9, -1, -1, 1, 2, -1, -1, 3, -1, -1, -1, 9, 9});
  row(0, {9, 9, -1, -1, 4, 5, -1, -1, 6, -1, -1, -1, 9, 9});
  row(1, {9, 9, -1, -1, 9, 9, -1, -1, 9, -1, -1, -1, 9, 9});
  m.run(load);
  EXPECT_TRUE(m.sram == expected);
}

TEST(Load, RefusesWhatDoesNotFit) {
  Machine m("micro");
  m.dram.bytes[2].resize(64);
  isa::Load load{};
  load.base_register = 2;
  load.dram_offset = 60;
  load.row_bytes = load.group_bytes = 8;
  const auto refusal = [&] {
    try {
      m.run(load);
    } catch (const ProgramError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(refusal(),
            "load.dram touches DRAM base 2 + 0x3c..0x43, outside the limit of 64 bytes of that base register");
  load.dram_offset = 0;
  load.sram_base = static_cast<std::uint32_t>(m.sram.size() - 4);
  EXPECT_EQ(refusal(), "load.sram touches SRAM 0xffffc..0x100003, outside the SRAM of 1048576 bytes");
  load.sram_base = 0;
  load.dims[2].count = 3;
  load.wrap_rows = 2;
  EXPECT_EQ(refusal(), "load.wrap_rows = 2: expected at least 3 rows, as many as a run has");
  load.wrap_rows = 0;
  load.group_bytes = 2;
  load.group_stride = 1;
  EXPECT_EQ(refusal(), "load.group_stride = 1: expected at least group_bytes = 2");
}

TEST(Store, IsTheMirrorImageOfLoad) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Random r(seed);
    Machine m("tiny", seed);
    for (int i = 0; i < 4096; ++i) m.dram.bytes[0].push_back(static_cast<std::uint8_t>(r.below(256)));
    m.dram.bytes[1].assign(4096, 0);
    isa::Load load{};
    load.row_bytes = static_cast<std::uint32_t>(r.between(1, 20));
    load.group_bytes = static_cast<std::uint32_t>(r.between(1, 20));
    load.group_stride = static_cast<std::uint32_t>(load.group_bytes + r.below(5));
    load.sram_base = 5000;
    load.dims[0] = {static_cast<std::uint16_t>(r.between(1, 3)), 1000, 100000};
    load.dims[1] = {static_cast<std::uint16_t>(r.between(1, 3)), 300, -1500};
    load.dims[2] = {static_cast<std::uint16_t>(r.between(1, 7)), 40, 200};
    if (r.chance(1, 2)) {
      load.wrap_rows = 7;
      load.first_row = static_cast<std::uint16_t>(r.below(7));
    }
    isa::Store store{};
    store.base_register = 1;
    store.row_bytes = load.row_bytes;
    store.group_bytes = load.group_bytes;
    store.group_stride = load.group_stride;
    store.sram_base = load.sram_base;
    store.dims = load.dims;
    store.wrap_rows = load.wrap_rows;
    store.first_row = load.first_row;
    m.run(load);
    m.run(store);
    std::size_t rows = 0;
    for (std::size_t a = 0; a < load.dims[0].count; ++a) {
      for (std::size_t b = 0; b < load.dims[1].count; ++b) {
        for (std::size_t c = 0; c < load.dims[2].count; ++c, ++rows) {
          for (std::size_t i = 0; i < load.row_bytes; ++i) {
            const std::size_t at = a * 1000 + b * 300 + c * 40 + i;
            ASSERT_EQ(m.dram.bytes[1][at], m.dram.bytes[0][at]) << "seed " << seed;
          }
        }
      }
    }
    ASSERT_GT(rows, 0U);
  }
}

TEST(Reorder, TransposesAndFills) {
  Machine m("micro");
  const std::int64_t src = m.place({1, 2, 3, 4, 5, 6});  // 2 x 3
  const std::int64_t dst = m.allocate(6);
  isa::Reorder r{};
  r.src_base = static_cast<std::uint32_t>(src);
  r.dst_base = static_cast<std::uint32_t>(dst);
  r.run_bytes = 1;
  r.dims[4] = {2, 3, 1};
  r.dims[5] = {3, 1, 2};
  m.run(r);
  const auto at = m.sram.begin() + dst;
  EXPECT_EQ(std::vector<std::uint8_t>(at, at + 6), (std::vector<std::uint8_t>{1, 4, 2, 5, 3, 6}));
  r.fill = true;
  r.fill_value = 0xAB;
  r.dims[5].count = 1;
  m.run(r);
  EXPECT_EQ(std::vector<std::uint8_t>(at, at + 6), (std::vector<std::uint8_t>{0xAB, 0xAB, 2, 5, 3, 6}));
}

TEST(Reorder, RandomSixLoops) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Random r(seed);
    Machine m("tiny", seed);
    isa::Reorder o{};
    o.run_bytes = static_cast<std::uint16_t>(r.between(1, 5));
    o.src_base = 40000;
    o.dst_base = 400000;
    for (isa::ReorderDim& d : o.dims) {
      d.count = static_cast<std::uint16_t>(r.between(1, 3));
      d.src_stride = static_cast<std::int32_t>(r.between(-2000, 2000));
      d.dst_stride = static_cast<std::int32_t>(r.between(-2000, 2000));
    }
    std::vector<std::uint8_t> expected = m.sram;
    std::vector<std::uint8_t> touched(m.sram.size(), 0);
    std::int64_t total = 1;
    for (const isa::ReorderDim& d : o.dims) total *= d.count;
    for (std::int64_t i = 0; i < total; ++i) {
      std::int64_t s = o.src_base;
      std::int64_t t = o.dst_base;
      std::int64_t rest = i;
      for (std::size_t d = 6; d-- > 0;) {
        s += rest % o.dims[d].count * o.dims[d].src_stride;
        t += rest % o.dims[d].count * o.dims[d].dst_stride;
        rest /= o.dims[d].count;
      }
      for (std::int64_t b = 0; b < o.run_bytes; ++b) {
        expected[static_cast<std::size_t>(t + b)] = m.sram[static_cast<std::size_t>(s + b)];
        touched[static_cast<std::size_t>(t + b)] = 1;
      }
    }
    m.run(o);
    ASSERT_TRUE(m.sram == expected) << "seed " << seed;
    // The footprint covers every byte, and claims nothing a line away from one.
    std::vector<std::uint8_t> claimed(m.sram.size(), 0);
    for (const Range& range : footprint({{}, o}, m.chip)) {
      if (!range.write) continue;
      for (std::int64_t at = range.begin; at < range.end; ++at) claimed[static_cast<std::size_t>(at)] = 1;
    }
    WrittenBytes written(static_cast<std::int64_t>(m.sram.size()));
    written.mark({{}, o}, m.chip);
    for (std::size_t at = 300000; at < 500000; ++at) {
      ASSERT_EQ(written[static_cast<std::int64_t>(at)], touched[at] != 0) << "seed " << seed << " byte " << at;
      ASSERT_GE(claimed[at], touched[at]) << "seed " << seed << " byte " << at;
      if (claimed[at] == 0) continue;
      bool near = false;
      for (std::size_t b = at - 8; b <= at + 8 && !near; ++b) near = touched[b] != 0;
      ASSERT_TRUE(near) << "seed " << seed << " byte " << at;
    }
  }
}

std::vector<Range> only(const std::vector<Range>& ranges, const std::string& operand) {
  std::vector<Range> found;
  for (const Range& r : ranges) {
    if (operand == r.operand) found.push_back(r);
  }
  return found;
}

TEST(Footprint, DenseMapsAreOneRange) {
  Machine m("tiny");  // Cb 4, two pixels a line of 8 bytes
  isa::Edp e{};
  e.a = dense_tensor(800, map_layout(9, 5, 3, m.chip));
  e.out = dense_tensor(1600, map_layout(9, 5, 3, m.chip));
  e.h = 5;
  e.w = 3;
  e.c = 9;
  const std::vector<Range> ranges = footprint({{}, e}, m.chip);
  ASSERT_EQ(ranges.size(), 2U);
  EXPECT_EQ(ranges[0].begin, 800);
  EXPECT_EQ(ranges[0].end, 800 + 3 * 5 * 2 * 8);  // padding of row ends and of the last block's lanes included
  EXPECT_FALSE(ranges[0].write);
  EXPECT_EQ(range_text(ranges[1]), "SRAM 0x640..0x72f");
  EXPECT_TRUE(ranges[1].write);
}

TEST(Footprint, CircularRowsAndStridedRows) {
  Machine m("tiny");
  isa::Conv c{};
  c.in = dense_tensor(0, map_layout(4, 9, 2, m.chip), 9);  // one line a row
  c.in.first_row = 6;
  c.out = dense_tensor(800, map_layout(4, 3, 2, m.chip));
  c.in_h = 9;
  c.in_w = 2;
  c.cin = c.cout = 4;
  c.out_h = 3;
  c.out_w = 2;
  c.sy = 4;  // reads rows 0, 4, 8: buffer rows 6, 1, 5
  const std::vector<Range> in = only(footprint({{}, c}, m.chip), "conv.in");
  ASSERT_EQ(in.size(), 2U);
  EXPECT_EQ(in[0].begin, 8);
  EXPECT_EQ(in[0].end, 16);
  EXPECT_EQ(in[1].begin, 40);
  EXPECT_EQ(in[1].end, 56);
  EXPECT_EQ(only(footprint({{}, c}, m.chip), "conv.params")[0].end, 48);
}

TEST(Footprint, DramPiecesStayExact) {
  Machine m("tiny");
  isa::Load load{};
  load.base_register = 3;
  load.row_bytes = load.group_bytes = 6;
  load.dram_offset = 100;
  load.dims[1] = {2, 100, 64};
  load.dims[2] = {3, 6, 8};
  const std::vector<Range> dram = only(footprint({{}, load}, m.chip), "load.dram");
  ASSERT_EQ(dram.size(), 2U);  // three touching rows are one
  EXPECT_EQ(dram[1].begin, 200);
  EXPECT_EQ(dram[1].end, 218);
  EXPECT_EQ(dram[1].base_register, 3);
  const std::vector<Range> sram = only(footprint({{}, load}, m.chip), "load.sram");
  ASSERT_EQ(sram.size(), 2U);  // gaps of two bytes inside a line are closed
  EXPECT_EQ(sram[0].end, 22);
  EXPECT_EQ(sram[1].begin, 64);
}

TEST(Footprint, OverlappingRowsOfAnyOrderCoverWhatTheyTouch) {
  // Rows that overlap, nest and come in falling order: the ranges are the bytes of a record made row by row.
  const isa::ChipConfig chip = isa::load_chip("tiny");
  Random random(11);
  for (int round = 0; round < 2000; ++round) {
    isa::Instruction instruction;
    isa::Load load;
    load.row_bytes = load.group_bytes = static_cast<std::uint32_t>(random.between(1, 60));
    load.dram_offset = 2000;
    for (auto& dim : load.dims) {
      dim.count = static_cast<std::uint16_t>(random.between(1, 4));
      dim.dram_stride = random.between(-90, 90);
    }
    std::vector<bool> touched(4096, false);
    for (int a = 0; a < load.dims[0].count; ++a) {
      for (int b = 0; b < load.dims[1].count; ++b) {
        for (int c = 0; c < load.dims[2].count; ++c) {
          const std::int64_t at =
              2000 + a * load.dims[0].dram_stride + b * load.dims[1].dram_stride + c * load.dims[2].dram_stride;
          for (std::int64_t i = at; i < at + load.row_bytes; ++i) touched[static_cast<std::size_t>(i)] = true;
        }
      }
    }
    instruction.body = load;
    std::vector<bool> covered(4096, false);
    for (const Range& range : footprint(instruction, chip)) {
      if (!range.dram) continue;
      for (std::int64_t i = range.begin; i < range.end; ++i) covered[static_cast<std::size_t>(i)] = true;
    }
    ASSERT_EQ(covered, touched) << "round " << round;
  }
}

TEST(Footprint, ConflictNeedsAWriteAndOneSpace) {
  const Range read{0, 10, false, false, 0, "a"};
  Range write{9, 12, true, false, 0, "b"};
  EXPECT_TRUE(conflict(read, write));
  EXPECT_FALSE(conflict(read, read));
  write.dram = true;
  EXPECT_FALSE(conflict(read, write));
  write.dram = false;
  write.begin = 10;
  EXPECT_FALSE(conflict(read, write));
}

TEST(Written, ReportsReadsOfUnwrittenBytesButNotOfPadding) {
  Machine m("tiny");
  WrittenBytes written(static_cast<std::int64_t>(m.sram.size()));
  isa::Edp e{};
  e.a = dense_tensor(80, map_layout(3, 2, 3, m.chip));
  e.out = dense_tensor(160, map_layout(3, 2, 3, m.chip));
  e.h = 2;
  e.w = 3;
  e.c = 3;
  std::vector<UnwrittenRead> missing = written.missing({{}, e}, m.chip);
  ASSERT_EQ(missing.size(), 1U);
  EXPECT_EQ(std::string(missing[0].operand), "edp.a");
  EXPECT_EQ(missing[0].first, 80);
  EXPECT_EQ(missing[0].bytes, 18);
  written.mark({{}, e}, m.chip);
  isa::Edp next = e;
  next.a = e.out;
  EXPECT_TRUE(written.missing({{}, next}, m.chip).empty());  // lane 3 and pixel 3 were never written nor read
  next.w = 4;
  missing = written.missing({{}, next}, m.chip);
  ASSERT_EQ(missing.size(), 1U);
  EXPECT_EQ(missing[0].bytes, 6);
}

}  // namespace
}  // namespace tessera::semantics
