// GEMM and EDP against whole-tensor loops of this file.
#include <gtest/gtest.h>

#include "hw/common/error.hpp"
#include "tests/isa/semantics/machine.hpp"

namespace tessera::semantics {
namespace {

using test::Machine;
using test::Map;
using test::random_map;

const char* const kChips[] = {"micro", "tiny", "a1000", "j5"};

TEST(Gemm, RandomTransposesAndBatches) {
  for (const char* chip : kChips) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      Random r(seed * 7);
      Machine m(chip, seed);
      const std::int64_t line = m.chip.sram.line_bytes;
      isa::Gemm g{};
      g.m = static_cast<std::uint16_t>(r.between(1, 20));
      g.n = static_cast<std::uint16_t>(r.between(1, 40));
      g.k = static_cast<std::uint16_t>(r.between(1, 40));
      g.batch = static_cast<std::uint16_t>(r.between(1, 3));
      g.trans_a = r.chance(1, 2);
      g.trans_b = r.chance(1, 2);
      g.per_column = r.chance(1, 2);
      g.a_zp = static_cast<std::int16_t>(r.between(-128, 127));
      g.b_zp = static_cast<std::int16_t>(r.between(-128, 127));
      g.out_zp = static_cast<std::int16_t>(r.between(-10, 10));
      g.lo = -120;
      g.hi = 119;
      const QuantizedScale scale = quantize_scale(0.0007);
      g.multiplier = scale.multiplier;
      g.shift = static_cast<std::uint8_t>(scale.shift);
      const std::int64_t a_rows = g.trans_a ? g.k : g.m;
      const std::int64_t b_rows = g.trans_b ? g.n : g.k;
      g.a_pitch = static_cast<std::uint16_t>(ceil_div<std::int64_t>(g.trans_a ? g.m : g.k, line) + r.between(0, 1));
      g.b_pitch = static_cast<std::uint16_t>(ceil_div<std::int64_t>(g.trans_b ? g.k : g.n, line) + r.between(0, 1));
      g.o_pitch = static_cast<std::uint16_t>(ceil_div<std::int64_t>(g.n, line));
      g.a_batch_pitch = static_cast<std::uint32_t>(a_rows * g.a_pitch);
      g.b_batch_pitch = static_cast<std::uint32_t>(b_rows * g.b_pitch + 1);
      g.o_batch_pitch = static_cast<std::uint32_t>(g.m * g.o_pitch);
      g.a_base = static_cast<std::uint32_t>(m.allocate(g.batch * g.a_batch_pitch * line));
      g.b_base = static_cast<std::uint32_t>(m.allocate(g.batch * g.b_batch_pitch * line));
      g.o_base = static_cast<std::uint32_t>(m.allocate(g.batch * g.o_batch_pitch * line));
      std::vector<std::int32_t> bias;
      std::vector<QuantizedScale> scales;
      for (int n = 0; n < g.n; ++n) {
        bias.push_back(static_cast<std::int32_t>(r.between(-9000, 9000)));
        scales.push_back(quantize_scale(0.0002 + r.unit() * 0.001));
      }
      g.p_base = static_cast<std::uint32_t>(m.place(pack_params(bias, scales)));

      std::vector<std::uint8_t> expected = m.sram;  // operands are the junk that fills SRAM
      const auto byte = [&](std::int64_t at) { return static_cast<std::int8_t>(m.sram[static_cast<std::size_t>(at)]); };
      for (std::int64_t b = 0; b < g.batch; ++b) {
        for (std::int64_t i = 0; i < g.m; ++i) {
          for (std::int64_t j = 0; j < g.n; ++j) {
            std::int64_t acc = g.per_column ? bias[static_cast<std::size_t>(j)] : 0;
            for (std::int64_t k = 0; k < g.k; ++k) {
              const std::int64_t ra = g.trans_a ? k : i;
              const std::int64_t ca = g.trans_a ? i : k;
              const std::int64_t rb = g.trans_b ? j : k;
              const std::int64_t cb = g.trans_b ? k : j;
              acc += (byte(g.a_base + (b * g.a_batch_pitch + ra * g.a_pitch) * line + ca) - g.a_zp) *
                     (byte(g.b_base + (b * g.b_batch_pitch + rb * g.b_pitch) * line + cb) - g.b_zp);
            }
            const QuantizedScale s = g.per_column ? scales[static_cast<std::size_t>(j)] : scale;
            expected[static_cast<std::size_t>(g.o_base + (b * g.o_batch_pitch + i * g.o_pitch) * line + j)] =
                static_cast<std::uint8_t>(requantize(acc, s.multiplier, s.shift, g.out_zp, g.lo, g.hi));
          }
        }
      }
      m.run(g);
      ASSERT_TRUE(m.sram == expected) << chip << " seed " << seed;
    }
  }
}

/// A random elementwise or pooling instruction with its operands in place.
struct Job {
  isa::Edp edp{};
  Map a, b;
  std::vector<std::int8_t> table;
  std::vector<QuantizedScale> averages;
};

isa::EdpStage random_stage(Random& r, bool has_b, bool last) {
  isa::EdpStage s{};
  const isa::EdpOp with_b[] = {isa::EdpOp::add, isa::EdpOp::mul, isa::EdpOp::min, isa::EdpOp::max};
  const isa::EdpOp alone[] = {isa::EdpOp::requantize, isa::EdpOp::clip, isa::EdpOp::table};
  s.op = has_b && r.chance(2, 3) ? with_b[r.below(4)] : alone[r.below(3)];
  s.shift = static_cast<std::uint8_t>(r.between(20, 31));
  s.za = static_cast<std::int16_t>(r.between(-128, 127));
  s.zb = static_cast<std::int16_t>(r.between(-128, 127));
  s.zo = static_cast<std::int16_t>(r.between(-20, 20));
  s.ma = static_cast<std::int32_t>(r.between(-(1 << 30), 1 << 30));
  s.mb = static_cast<std::int32_t>(r.between(-(1 << 30), 1 << 30));
  s.lo = static_cast<std::int16_t>(last ? r.between(-128, -50) : r.between(-900, -100));
  s.hi = static_cast<std::int16_t>(last ? r.between(0, 127) : r.between(100, 900));
  return s;
}

std::int64_t rhe(Int128 value, std::uint32_t shift) {  // by division, unlike the shift that is tested
  const Int128 unit = static_cast<Int128>(1) << shift;
  Int128 q = value / unit;
  Int128 rest = value - q * unit;
  if (rest < 0) rest += unit, --q;
  if (2 * rest > unit || (2 * rest == unit && q % 2 != 0)) ++q;
  return static_cast<std::int64_t>(q);
}

std::int64_t clamp(std::int64_t v, std::int64_t lo, std::int64_t hi) { return v < lo ? lo : v > hi ? hi : v; }

std::int64_t chain(const Job& j, std::int64_t v, std::int64_t b) {
  for (const isa::EdpStage& s : j.edp.stages) {
    if (s.op == isa::EdpOp::none) return v;
    switch (s.op) {
      case isa::EdpOp::none:
        break;
      case isa::EdpOp::add:
        v = s.zo + rhe(static_cast<Int128>(v - s.za) * s.ma + static_cast<Int128>(b - s.zb) * s.mb, s.shift);
        break;
      case isa::EdpOp::mul:
        v = s.zo + rhe(static_cast<Int128>((v - s.za) * (b - s.zb)) * s.ma, s.shift);
        break;
      case isa::EdpOp::min:
        v = std::min(v, b);
        break;
      case isa::EdpOp::max:
        v = std::max(v, b);
        break;
      case isa::EdpOp::requantize:
        v = s.zo + rhe(static_cast<Int128>(v - s.za) * s.ma, s.shift);
        break;
      case isa::EdpOp::clip:
        break;
      case isa::EdpOp::table:
        v = j.table[static_cast<std::size_t>(clamp(v, -128, 127) + 128)];
        break;
    }
    v = clamp(v, s.lo, s.hi);
  }
  return v;
}

Map naive(const Job& j) {
  const isa::Edp& e = j.edp;
  Map out(e.c, e.h, e.w);
  for (std::int64_t c = 0; c < e.c; ++c) {
    for (std::int64_t y = 0; y < e.h; ++y) {
      for (std::int64_t x = 0; x < e.w; ++x) {
        std::int64_t v = 0;
        std::int64_t n = 0;
        std::int64_t largest = -1000;
        if (e.mode == isa::EdpMode::elementwise) {
          v = j.a.at(c, y, x);
        } else if (e.mode == isa::EdpMode::global_average) {
          for (std::int64_t iy = 0; iy < e.in_h; ++iy) {
            for (std::int64_t ix = 0; ix < e.in_w; ++ix) v += j.a.at(c, iy, ix) - e.a_zp;
          }
          n = 1;
        } else {
          const bool max = e.mode == isa::EdpMode::max_pool;
          for (std::int64_t ky = 0; ky < e.kh; ++ky) {
            for (std::int64_t kx = 0; kx < e.kw; ++kx) {
              const std::int64_t iy = y * e.sy + ky * (max ? e.dy : 1) - e.pad_top;
              const std::int64_t ix = x * e.sx + kx * (max ? e.dx : 1) - e.pad_left;
              const bool inside = iy >= 0 && iy < e.in_h && ix >= 0 && ix < e.in_w;
              if (inside) {
                v += j.a.at(c, iy, ix) - e.a_zp;
                largest = std::max<std::int64_t>(largest, j.a.at(c, iy, ix));
                ++n;
              } else if (e.count_include_pad && iy < e.in_h + e.pad_bottom && ix < e.in_w + e.pad_right) {
                ++n;
              }
            }
          }
          if (max) v = largest;
        }
        if (e.mode == isa::EdpMode::average_pool || e.mode == isa::EdpMode::global_average) {
          const QuantizedScale& s = j.averages[static_cast<std::size_t>(n - 1)];
          v = clamp(e.out_zp + rhe(static_cast<Int128>(v) * s.multiplier, s.shift), e.lo, e.hi);
        }
        const std::int64_t b = !e.has_b ? 0 : e.b_broadcast == 1 ? j.b.at(c, 0, 0) : j.b.at(c, y, x);
        out.at(c, y, x) = static_cast<std::int8_t>(chain(j, v, b));
      }
    }
  }
  return out;
}

void check(const char* chip, isa::EdpMode mode, std::uint64_t seed) {
  Random r(seed * 11 + static_cast<std::uint64_t>(mode));
  Machine m(chip, seed);
  Job j;
  isa::Edp& e = j.edp;
  e.mode = mode;
  e.c = static_cast<std::uint16_t>(r.between(1, 70));
  e.h = static_cast<std::uint16_t>(r.between(1, 7));
  e.w = static_cast<std::uint16_t>(r.between(1, 19));
  std::int64_t in_h = e.h;
  std::int64_t in_w = e.w;
  if (mode == isa::EdpMode::global_average) {
    in_h = e.h;
    in_w = e.w;
    e.h = e.w = 1;
    j.averages = average_scales(0.05, 0.03, in_h * in_w);
    j.averages = {j.averages.back()};
  } else if (mode != isa::EdpMode::elementwise) {
    e.kh = static_cast<std::uint8_t>(r.between(1, 3));
    e.kw = static_cast<std::uint8_t>(r.between(1, 4));
    e.sy = static_cast<std::uint8_t>(r.between(1, 3));
    e.sx = static_cast<std::uint8_t>(r.between(1, 3));
    const bool max = mode == isa::EdpMode::max_pool;
    e.dy = static_cast<std::uint8_t>(max ? r.between(1, 2) : 1);
    e.dx = static_cast<std::uint8_t>(max ? r.between(1, 2) : 1);
    e.pad_top = static_cast<std::uint8_t>(r.between(0, e.kh - 1));
    e.pad_left = static_cast<std::uint8_t>(r.between(0, e.kw - 1));
    e.pad_bottom = static_cast<std::uint8_t>(r.between(0, e.kh - 1));
    e.pad_right = static_cast<std::uint8_t>(r.between(0, e.kw - 1));
    e.count_include_pad = !max && r.chance(1, 2);
    // Large enough that the last window still holds an element of the map.
    in_h = std::max<std::int64_t>(1, (e.h - 1) * e.sy - e.pad_top + 1 + r.between(0, (e.kh - 1) * e.dy));
    in_w = std::max<std::int64_t>(1, (e.w - 1) * e.sx - e.pad_left + 1 + r.between(0, (e.kw - 1) * e.dx));
    in_h = std::max<std::int64_t>(in_h, (e.kh - 1) * e.dy - e.pad_top + 1);
    in_w = std::max<std::int64_t>(in_w, (e.kw - 1) * e.dx - e.pad_left + 1);
    j.averages = average_scales(0.05, 0.03, std::int64_t{e.kh} * e.kw);
  }
  e.in_h = static_cast<std::uint16_t>(in_h);
  e.in_w = static_cast<std::uint16_t>(in_w);
  e.a_zp = static_cast<std::int16_t>(r.between(-128, 127));
  e.out_zp = static_cast<std::int16_t>(r.between(-20, 20));
  e.lo = -100;
  e.hi = 101;
  j.a = random_map(r, e.c, in_h, in_w);
  e.a = m.room(e.c, in_h, in_w, r.between(0, 2));
  if (r.chance(1, 3)) e.a = m.room(e.c, in_h, in_w, 0, in_h + 2, r.between(0, in_h + 1));
  m.put(e.a, j.a);
  e.has_b = r.chance(1, 2);
  e.b_broadcast = static_cast<std::uint8_t>(r.below(2));
  const std::int64_t bh = e.b_broadcast == 1 ? 1 : e.h;
  const std::int64_t bw = e.b_broadcast == 1 ? 1 : e.w;
  j.b = random_map(r, e.c, bh, bw);
  e.b = m.room(e.c, bh, bw);
  m.put(e.b, j.b);
  j.table.resize(256);
  std::vector<std::uint8_t> table(256);
  for (std::size_t i = 0; i < 256; ++i) {
    j.table[i] = static_cast<std::int8_t>(r.between(-128, 127));
    table[i] = static_cast<std::uint8_t>(j.table[i]);
  }
  const auto table_base = static_cast<std::uint32_t>(m.place(table));
  e.p_base = static_cast<std::uint32_t>(m.place(pack_average_scales(j.averages)));
  const auto stages = static_cast<std::size_t>(r.below(5));
  for (std::size_t s = 0; s < stages; ++s) {
    e.stages[s] = random_stage(r, e.has_b, s + 1 == stages);
    e.stages[s].table_base = table_base;
  }
  e.out = m.room(e.c, e.h, e.w, r.between(0, 1));
  Machine expected(chip, seed);
  expected.sram = m.sram;
  expected.put(e.out, naive(j));
  m.run(e);
  ASSERT_EQ(m.get(e.out, e.c, e.h, e.w).v, naive(j).v) << chip << " seed " << seed;
  ASSERT_TRUE(m.sram == expected.sram) << chip << " seed " << seed << ": a byte outside the result was written";
}

TEST(Edp, RandomElementwiseChains) {
  for (const char* chip : kChips) {
    for (std::uint64_t seed = 1; seed <= 25; ++seed) check(chip, isa::EdpMode::elementwise, seed);
  }
}
TEST(Edp, RandomMaxPool) {
  for (const char* chip : kChips) {
    for (std::uint64_t seed = 1; seed <= 25; ++seed) check(chip, isa::EdpMode::max_pool, seed);
  }
}
TEST(Edp, RandomAveragePool) {
  for (const char* chip : kChips) {
    for (std::uint64_t seed = 1; seed <= 25; ++seed) check(chip, isa::EdpMode::average_pool, seed);
  }
}
TEST(Edp, RandomGlobalAverage) {
  for (const char* chip : kChips) {
    for (std::uint64_t seed = 1; seed <= 15; ++seed) check(chip, isa::EdpMode::global_average, seed);
  }
}

TEST(Edp, AverageCountsPaddingByRule) {
  // 1 x 4 map {8, 8, 8, 8}, kernel 1 x 3, pad 1: borders hold two elements, or three with padding counted.
  Machine m("micro");
  isa::Edp e{};
  e.mode = isa::EdpMode::average_pool;
  e.h = 1;
  e.w = 4;
  e.c = 1;
  e.in_h = 1;
  e.in_w = 4;
  e.kh = 1;
  e.kw = 3;
  e.sy = e.sx = 1;
  e.pad_left = e.pad_right = 1;
  e.lo = -128;
  e.hi = 127;
  e.a = m.room(1, 1, 4);
  e.out = m.room(1, 1, 4);
  Map a(1, 1, 4);
  a.v = {8, 8, 8, 8};
  m.put(e.a, a);
  e.p_base = static_cast<std::uint32_t>(m.place(pack_average_scales(average_scales(1.0, 1.0, 3))));
  m.run(e);
  EXPECT_EQ(m.get(e.out, 1, 1, 4).v, (std::vector<std::int8_t>{8, 8, 8, 8}));
  e.count_include_pad = true;
  m.run(e);
  EXPECT_EQ(m.get(e.out, 1, 1, 4).v, (std::vector<std::int8_t>{5, 8, 8, 5}));  // 16 / 3
}

std::string refusal(Machine& m, const isa::Edp& e) {
  try {
    m.run(e);
  } catch (const ProgramError& error) {
    return error.what();
  }
  return "";
}

TEST(Edp, IllegalFieldsAreNamed) {
  Machine m("tiny");
  isa::Edp e{};
  e.a = m.room(1, 2, 2);
  e.out = m.room(1, 2, 2);
  e.h = e.w = 2;
  e.stages[0].op = isa::EdpOp::add;
  EXPECT_EQ(refusal(m, e), "edp.stages[0].op = 1: expected has_b = 1 for an operation with two operands");
  e.stages[0].op = isa::EdpOp::clip;
  e.stages[0].hi = 200;
  EXPECT_EQ(refusal(m, e), "edp.stages[0].hi = 200: expected an int8 value in [0, 127]");
  e.stages[1] = e.stages[0];
  e.stages[1].hi = 100;
  EXPECT_EQ(refusal(m, e), "");
  e.stages[3] = e.stages[1];
  EXPECT_EQ(refusal(m, e), "edp.stages[3].op = 6: expected none after the end of the chain");
  e = isa::Edp{};
  e.mode = isa::EdpMode::max_pool;
  e.a = m.room(1, 2, 2);
  e.out = m.room(1, 2, 2);
  e.h = 3;
  e.in_h = e.in_w = 2;
  e.kh = e.kw = 1;
  e.sy = e.sx = e.dy = e.dx = 1;
  EXPECT_EQ(refusal(m, e), "edp.h = 3: a pooling window of row extent 1 holds no element");
}

TEST(Dsp, IsRefused) {
  Machine m("tiny");
  EXPECT_THROW(m.run(isa::Dsp{}), ProgramError);
}

}  // namespace
}  // namespace tessera::semantics
