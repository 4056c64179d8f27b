// Convolution against whole-tensor loops of this file: no layouts, no tiles, products taken one by one.
#include <cmath>

#include <gtest/gtest.h>

#include "hw/common/error.hpp"
#include "isa/semantics/accumulate.hpp"
#include "tests/isa/semantics/machine.hpp"

namespace tessera::semantics {
namespace {

using test::Machine;
using test::Map;
using test::random_map;

struct Case {
  std::int64_t cin = 1, cout = 1, groups = 1, kh = 1, kw = 1, sy = 1, sx = 1, dy = 1, dx = 1;
  std::int64_t h = 1, w = 1, top = 0, left = 0, bottom = 0, right = 0;
  isa::ConvMode mode = isa::ConvMode::dense;
  std::int64_t fold = 1;
  std::int32_t in_zp = 0, w_zp = 0, out_zp = 0, lo = -128, hi = 127;
  bool residual = false, shift_only = false;
  [[nodiscard]] std::int64_t out_h() const { return output_extent(h, kh, sy, dy, top, bottom); }
  [[nodiscard]] std::int64_t out_w() const { return output_extent(w, kw, sx, dx, left, right); }
};

struct Tensors {
  Map x, residual;
  std::vector<std::int8_t> weights;
  std::vector<std::int32_t> bias;
  std::vector<QuantizedScale> scales;
  AddScale add;
  std::int32_t res_zb = 0, res_zo = 0;
};

Tensors make_tensors(const Case& c, Random& random) {
  Tensors t;
  t.x = random_map(random, c.cin, c.h, c.w);
  t.residual = random_map(random, c.cout, c.out_h(), c.out_w());
  const std::int64_t taps = c.cin / c.groups * c.kh * c.kw;
  t.weights.resize(static_cast<std::size_t>(c.cout * taps));
  for (std::int8_t& w : t.weights) w = static_cast<std::int8_t>(random.between(-128, 127));
  for (std::int64_t o = 0; o < c.cout; ++o) {
    t.bias.push_back(static_cast<std::int32_t>(random.between(-5000, 5000)));
    if (c.shift_only) {
      t.scales.push_back({1, static_cast<std::uint32_t>(random.between(4, 10))});
    } else {
      t.scales.push_back(quantize_scale((0.3 + random.unit()) / (40.0 * std::sqrt(static_cast<double>(taps)) * 40.0)));
    }
  }
  t.add = quantize_add(0.02 + random.unit() * 0.1, 0.02 + random.unit() * 0.1, 0.1);
  t.res_zb = static_cast<std::int32_t>(random.between(-128, 127));
  t.res_zo = static_cast<std::int32_t>(random.between(-20, 20));
  return t;
}

Map naive(const Case& c, const Tensors& t) {
  const std::int64_t cin_g = c.cin / c.groups;
  const std::int64_t cout_g = c.cout / c.groups;
  Map out(c.cout, c.out_h(), c.out_w());
  for (std::int64_t o = 0; o < c.cout; ++o) {
    for (std::int64_t y = 0; y < out.h; ++y) {
      for (std::int64_t x = 0; x < out.w; ++x) {
        std::int64_t acc = t.bias[static_cast<std::size_t>(o)];
        for (std::int64_t i = 0; i < cin_g; ++i) {
          for (std::int64_t ky = 0; ky < c.kh; ++ky) {
            for (std::int64_t kx = 0; kx < c.kw; ++kx) {
              const std::int64_t iy = y * c.sy + ky * c.dy - c.top;
              const std::int64_t ix = x * c.sx + kx * c.dx - c.left;
              if (iy < 0 || iy >= c.h || ix < 0 || ix >= c.w) continue;  // padding is the zero point: no product
              const std::int64_t w = t.weights[static_cast<std::size_t>(((o * cin_g + i) * c.kh + ky) * c.kw + kx)];
              acc += (t.x.at(o / cout_g * cin_g + i, iy, ix) - c.in_zp) * (w - c.w_zp);
            }
          }
        }
        const QuantizedScale& s = t.scales[static_cast<std::size_t>(o)];
        std::int32_t v = requantize(acc, c.shift_only ? 1 : s.multiplier, s.shift, c.out_zp, c.residual ? -128 : c.lo,
                                    c.residual ? 127 : c.hi);
        if (c.residual) v = two_scale_add(v, t.residual.at(o, y, x), c.out_zp, t.res_zb, t.add, t.res_zo, c.lo, c.hi);
        out.at(o, y, x) = static_cast<std::int8_t>(v);
      }
    }
  }
  return out;
}

isa::Conv make_conv(Machine& m, const Case& c, const Tensors& t, Random& random) {
  isa::Conv conv{};
  conv.mode = c.mode;
  conv.shift_only = c.shift_only;
  conv.has_residual = c.residual;
  conv.in = m.room(c.cin, c.h, c.w, random.between(0, 2));
  if (random.chance(1, 3)) conv.in = m.room(c.cin, c.h, c.w, random.between(0, 2), c.h + 3, random.between(0, c.h + 2));
  conv.out = m.room(c.cout, c.out_h(), c.out_w(), random.between(0, 1));
  if (c.residual) conv.residual = m.room(c.cout, c.out_h(), c.out_w());
  const ConvShape shape{c.cin, c.cout, c.groups, c.kh, c.kw, c.fold, c.mode};
  conv.w_base = static_cast<std::uint32_t>(m.place(pack_weights(t.weights, shape, c.w_zp, m.chip)));
  conv.p_base = static_cast<std::uint32_t>(m.place(pack_params(t.bias, t.scales)));
  conv.in_h = static_cast<std::uint16_t>(c.h);
  conv.in_w = static_cast<std::uint16_t>(c.w);
  conv.cin = static_cast<std::uint16_t>(c.cin);
  conv.out_h = static_cast<std::uint16_t>(c.out_h());
  conv.out_w = static_cast<std::uint16_t>(c.out_w());
  conv.cout = static_cast<std::uint16_t>(c.cout);
  conv.groups = static_cast<std::uint16_t>(c.groups);
  conv.kh = static_cast<std::uint8_t>(c.kh);
  conv.kw = static_cast<std::uint8_t>(c.kw);
  conv.sy = static_cast<std::uint8_t>(c.sy);
  conv.sx = static_cast<std::uint8_t>(c.sx);
  conv.dy = static_cast<std::uint8_t>(c.dy);
  conv.dx = static_cast<std::uint8_t>(c.dx);
  conv.pad_top = static_cast<std::uint8_t>(c.top);
  conv.pad_left = static_cast<std::uint8_t>(c.left);
  conv.in_zp = static_cast<std::int16_t>(c.in_zp);
  conv.w_zp = static_cast<std::int16_t>(c.w_zp);
  conv.out_zp = static_cast<std::int16_t>(c.out_zp);
  conv.lo = static_cast<std::int16_t>(c.lo);
  conv.hi = static_cast<std::int16_t>(c.hi);
  conv.gx = conv.gy = conv.t = 1;
  conv.fold = static_cast<std::uint8_t>(c.fold);
  conv.res_ma = t.add.ma;
  conv.res_mb = t.add.mb;
  conv.res_shift = static_cast<std::uint8_t>(t.add.shift);
  conv.res_zb = static_cast<std::int16_t>(t.res_zb);
  conv.res_zo = static_cast<std::int16_t>(t.res_zo);
  m.put(conv.in, t.x);
  if (c.residual) m.put(conv.residual, t.residual);
  return conv;
}

/// Runs the case and compares; returns the instruction.
isa::Conv check(const std::string& chip, const Case& c, std::uint64_t seed, std::int64_t sram_bytes = 1 << 20) {
  Random random(seed);
  Machine m(chip, seed, sram_bytes);
  const Tensors t = make_tensors(c, random);
  const isa::Conv conv = make_conv(m, c, t, random);
  const std::vector<std::uint8_t> before = m.sram;
  m.run(conv);
  EXPECT_EQ(m.get(conv.out, c.cout, c.out_h(), c.out_w()).v, naive(c, t).v) << chip << " seed " << seed;
  // Nothing else changed: put the results into the old bytes and compare all of SRAM.
  Machine expected(chip, seed, sram_bytes);
  expected.sram = before;
  expected.put(conv.out, naive(c, t));
  EXPECT_EQ(expected.sram == m.sram, true) << chip << " seed " << seed << ": a byte outside the result was written";
  return conv;
}

TEST(Conv, OneByOneByHand) {
  Machine m("micro");
  isa::Conv conv{};
  conv.in = m.room(2, 1, 1);
  conv.out = m.room(1, 1, 1);
  m.sram[conv.in.base] = 10;
  m.sram[conv.in.base + 1] = static_cast<std::uint8_t>(-7);
  conv.w_base =
      static_cast<std::uint32_t>(m.place(pack_weights({3, 5}, {2, 1, 1, 1, 1, 1, isa::ConvMode::dense}, 0, m.chip)));
  conv.p_base = static_cast<std::uint32_t>(m.place(pack_params({4}, {{1, 1}})));
  conv.cin = 2;
  conv.lo = -128;
  conv.hi = 127;
  conv.in_zp = 1;
  conv.out_zp = -2;
  m.run(conv);
  // ((10 - 1) 3 + (-7 - 1) 5 + 4) / 2 = -4.5 -> -4, - 2.
  EXPECT_EQ(static_cast<std::int8_t>(m.sram[conv.out.base]), -6);
}

TEST(Conv, RandomDenseAndGrouped) {
  for (const char* chip : {"micro", "tiny", "a1000", "j5"}) {
    for (std::uint64_t seed = 1; seed <= 25; ++seed) {
      Random r(seed * 31);
      Case c;
      c.groups = r.chance(1, 3) ? r.between(2, 4) : 1;
      c.cin = c.groups * r.between(1, r.chance(1, 5) ? 70 : 9);
      c.cout = c.groups * r.between(1, r.chance(1, 5) ? 70 : 9);
      c.kh = r.between(1, 4);
      c.kw = r.between(1, 4);
      c.sy = r.between(1, 3);
      c.sx = r.between(1, 3);
      c.dy = r.between(1, 2);
      c.dx = r.between(1, 3);
      c.top = r.between(0, 3);
      c.left = r.between(0, 3);
      c.bottom = r.between(0, 3);
      c.right = r.between(0, 3);
      c.h = r.between((c.kh - 1) * c.dy + 1, (c.kh - 1) * c.dy + 8);
      c.w = r.between((c.kw - 1) * c.dx + 1, (c.kw - 1) * c.dx + 17);
      c.in_zp = static_cast<std::int32_t>(r.between(-128, 127));
      c.w_zp = r.chance(1, 2) ? static_cast<std::int32_t>(r.between(-128, 127)) : 0;
      c.out_zp = static_cast<std::int32_t>(r.between(-50, 50));
      c.lo = static_cast<std::int32_t>(r.between(-128, 0));
      c.hi = static_cast<std::int32_t>(r.between(1, 127));
      c.residual = r.chance(1, 3);
      c.shift_only = r.chance(1, 4);
      check(chip, c, seed);
    }
  }
}

TEST(Conv, RandomDepthwise) {
  for (const char* chip : {"micro", "tiny", "a1000", "j5"}) {
    for (std::uint64_t seed = 1; seed <= 15; ++seed) {
      Random r(seed * 37);
      Case c;
      c.mode = isa::ConvMode::depthwise;
      c.cin = c.cout = c.groups = r.between(1, 70);
      c.kh = r.between(1, 5);
      c.kw = r.between(1, 5);
      c.sy = r.between(1, 2);
      c.sx = r.between(1, 3);
      c.dx = r.between(1, 2);
      c.top = r.between(0, 2);
      c.left = r.between(0, 2);
      c.bottom = r.between(0, 2);
      c.right = r.between(0, 2);
      c.h = r.between(c.kh, c.kh + 5);
      c.w = r.between((c.kw - 1) * c.dx + 1, 15);
      c.in_zp = static_cast<std::int32_t>(r.between(-128, 127));
      c.w_zp = static_cast<std::int32_t>(r.between(-3, 3));
      c.residual = r.chance(1, 3);
      check(chip, c, seed);
    }
  }
}

TEST(Conv, RandomFold) {
  for (const char* chip : {"micro", "tiny", "a1000", "j5"}) {
    for (std::uint64_t seed = 1; seed <= 15; ++seed) {
      Random r(seed * 41);
      const isa::ChipConfig config = isa::load_chip(chip);
      Case c;
      c.mode = isa::ConvMode::fold;
      c.cin = r.between(1, std::min<std::int64_t>(3, config.conv.cin_lanes));
      c.cout = r.between(1, 70);
      c.kh = r.between(1, 4);
      c.kw = r.between(1, 7);
      c.fold = r.between(1, max_fold(c.cin, c.kw, config));
      c.sx = r.between(1, 2);
      c.sy = r.between(1, 2);
      c.left = r.between(0, 3);
      c.top = r.between(0, 1);
      c.right = r.between(0, 3);
      c.h = r.between(c.kh, 9);
      c.w = r.between(c.kw, 20);
      c.in_zp = static_cast<std::int32_t>(r.between(-128, 127));
      c.w_zp = static_cast<std::int32_t>(r.between(-3, 3));
      check(chip, c, seed);
    }
  }
}

// Closed form 7: 72 channels, 136 x 136, 3 x 3, stride 2, dilation 3.
TEST(Conv, StridedDilatedDepthwise) {
  Case c;
  c.mode = isa::ConvMode::depthwise;
  c.cin = c.cout = c.groups = 72;
  c.h = c.w = 136;
  c.kh = c.kw = 3;
  c.sy = c.sx = 2;
  c.dy = c.dx = 3;
  const isa::Conv conv = check("a1000", c, 7, 4 << 20);
  EXPECT_EQ(conv.out_h, 65);
  EXPECT_EQ(conv.out_w, 65);
  EXPECT_EQ(useful_macs({{}, conv}), 2737800);
}

// Closed form 8: 6 -> 9 channels, 3 groups, 3 x 3, pad 1, 9 x 9.
TEST(Conv, Grouped) {
  Case c;
  c.cin = 6;
  c.cout = 9;
  c.groups = 3;
  c.h = c.w = 9;
  c.kh = c.kw = 3;
  c.top = c.left = c.bottom = c.right = 1;
  for (const char* chip : {"micro", "tiny", "a1000", "j5"}) {
    EXPECT_EQ(useful_macs({{}, check(chip, c, 8)}), 13122) << chip;
  }
  EXPECT_EQ(c.cout * c.cin / c.groups * 9, 162);
}

// Closed form 9: asymmetric padding with a zero point.
TEST(Conv, AsymmetricPaddingWithZeroPoint) {
  Case c;
  c.cin = 8;
  c.cout = 16;
  c.h = 7;
  c.w = 9;
  c.kh = c.kw = 3;
  c.sy = c.sx = 2;
  c.left = 1;
  c.bottom = 1;
  c.in_zp = -5;
  for (const char* chip : {"micro", "tiny", "a1000", "j5"}) {
    const isa::Conv conv = check(chip, c, 9);
    EXPECT_EQ(conv.out_h, 3);
    EXPECT_EQ(conv.out_w, 4);
    EXPECT_EQ(useful_macs({{}, conv}), 13824);
  }
}

TEST(Conv, ResidualEqualsConvThenAdd) {
  Random random(3);
  Machine m("tiny", 3);
  Case c;
  c.cin = 5;
  c.cout = 7;
  c.h = c.w = 6;
  c.kh = c.kw = 3;
  c.top = c.left = c.bottom = c.right = 1;
  c.residual = true;
  c.lo = 0;
  c.out_zp = 4;
  const Tensors t = make_tensors(c, random);
  isa::Conv conv = make_conv(m, c, t, random);
  m.run(conv);
  const Map fused = m.get(conv.out, 7, 6, 6);

  isa::Conv plain = conv;
  plain.has_residual = false;
  plain.lo = -128;
  plain.out = m.room(7, 6, 6);
  m.run(plain);
  isa::Edp add{};
  add.has_b = true;
  add.a = plain.out;
  add.b = conv.residual;
  add.out = m.room(7, 6, 6);
  add.h = add.w = 6;
  add.c = 7;
  add.stages[0].op = isa::EdpOp::add;
  add.stages[0].za = conv.out_zp;
  add.stages[0].zb = conv.res_zb;
  add.stages[0].zo = conv.res_zo;
  add.stages[0].ma = conv.res_ma;
  add.stages[0].mb = conv.res_mb;
  add.stages[0].shift = conv.res_shift;
  add.stages[0].lo = conv.lo;
  add.stages[0].hi = conv.hi;
  m.run(add);
  EXPECT_EQ(m.get(add.out, 7, 6, 6).v, fused.v);
}

// 9-bit zero points reach the ends of the 9 x 9 multiplier; 2^17 products of 2^17 wrap int32.
TEST(Accumulate, WrapsLikeTwosComplement) {
  const std::int64_t pairs = 40000;
  std::vector<std::int16_t> x(static_cast<std::size_t>(2 * pairs), 383);
  std::vector<std::int16_t> w(static_cast<std::size_t>(pairs * kLanes * 2), -383);
  std::int32_t acc[kLanes];
  accumulate(x.data(), 0, 1, {0}, pairs, w.data(), acc);
  const std::int64_t exact = -383LL * 383LL * 2 * pairs;
  ASSERT_LT(exact, INT32_MIN);
  for (const std::int32_t a : acc) EXPECT_EQ(a, static_cast<std::int32_t>(static_cast<std::uint32_t>(exact)));
}

TEST(Accumulate, VectorAndPortableCodeAgree) {
  Random r(17);
  for (int pixels = 1; pixels <= kMaxPixels; ++pixels) {
    const std::int64_t pairs = r.between(1, 9);
    const std::vector<std::int64_t> taps = {0, 3, 40};
    std::vector<std::int16_t> x(200);
    std::vector<std::int16_t> w(static_cast<std::size_t>(3 * pairs * kLanes * 2));
    for (std::int16_t& v : x) v = static_cast<std::int16_t>(r.between(-383, 383));
    for (std::int16_t& v : w) v = static_cast<std::int16_t>(r.between(-383, 383));
    std::vector<std::int32_t> fast(static_cast<std::size_t>(pixels * kLanes));
    std::vector<std::int32_t> plain(fast.size());
    accumulate(x.data(), 11, pixels, taps, pairs, w.data(), fast.data());
    accumulate_portable(x.data(), 11, pixels, taps, pairs, w.data(), plain.data());
    EXPECT_EQ(fast, plain) << pixels << " pixels";
  }
}

std::string refusal(Machine& m, const isa::Conv& conv) {
  try {
    m.run(conv);
  } catch (const ProgramError& e) {
    return e.what();
  }
  return "";
}

TEST(Conv, IllegalFieldsAreNamed) {
  Machine m("tiny");
  Random random(1);
  Case c;
  c.cin = 4;
  c.cout = 4;
  c.h = c.w = 4;
  c.kh = c.kw = 3;
  const Tensors t = make_tensors(c, random);
  const isa::Conv good = make_conv(m, c, t, random);
  isa::Conv bad = good;
  bad.a_int16 = true;
  EXPECT_EQ(refusal(m, bad), "conv.a_int16 = 1: expected 0; int16 activations are not supported yet");
  bad = good;
  bad.groups = 3;
  EXPECT_EQ(refusal(m, bad), "conv.groups = 3: expected a divisor of cin = 4 and cout = 4");
  bad = good;
  bad.mode = isa::ConvMode::fold;
  bad.fold = 2;
  EXPECT_EQ(refusal(m, bad), "conv.fold = 2: expected at least 1 and fold x cin (4) at most conv.cin_lanes = 4");
  bad = good;
  bad.gx = 9;
  EXPECT_EQ(refusal(m, bad), "conv.gx*gy*t = 9: expected at most conv.accumulators = 8");
  bad = good;
  bad.in.wrap_rows = 2;
  EXPECT_EQ(refusal(m, bad),
            "conv.in.wrap_rows = 2: expected at least 4 rows, as many as the instruction touches at once");
  bad = good;
  bad.out.base = static_cast<std::uint32_t>(m.sram.size());
  EXPECT_NE(refusal(m, bad).find("conv.out touches SRAM 0x100000..0x"), std::string::npos) << refusal(m, bad);
  bad = good;
  m.sram[bad.p_base + 8] = 63;
  EXPECT_NE(refusal(m, bad).find("conv.params entry 0 holds multiplier "), std::string::npos) << refusal(m, bad);
}

}  // namespace
}  // namespace tessera::semantics
