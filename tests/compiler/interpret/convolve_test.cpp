// The fast convolution against seven plain loops, and every kernel variant against the portable one, bit for bit.
#include "compiler/interpret/convolve.hpp"

#include <array>

#include <gtest/gtest.h>

#include "compiler/interpret/kernels.hpp"
#include "hw/common/random.hpp"

namespace tessera::compiler {
namespace {

template <typename X, typename Sum>
std::vector<Sum> plain(const ConvGeometry& g, const std::vector<X>& x, const std::vector<X>& w) {
  std::vector<Sum> y;
  const auto cin = g.cin / g.groups;
  const auto cout = g.cout / g.groups;
  for (std::int64_t n = 0; n < g.n; ++n) {
    for (std::int64_t o = 0; o < g.cout; ++o) {
      for (std::int64_t oy = 0; oy < g.oh(); ++oy) {
        for (std::int64_t ox = 0; ox < g.ow(); ++ox) {
          Sum sum{};
          for (std::int64_t c = 0; c < cin; ++c) {
            for (std::int64_t ky = 0; ky < g.kh; ++ky) {
              for (std::int64_t kx = 0; kx < g.kw; ++kx) {
                const std::int64_t iy = oy * g.sy + ky * g.dy - g.pad_top;
                const std::int64_t ix = ox * g.sx + kx * g.dx - g.pad_left;
                if (iy < 0 || iy >= g.h || ix < 0 || ix >= g.w) continue;
                const auto xi = ((n * g.cin + o / cout * cin + c) * g.h + iy) * g.w + ix;
                const auto wi = ((o * cin + c) * g.kh + ky) * g.kw + kx;
                sum += static_cast<Sum>(x[static_cast<std::size_t>(xi)]) *
                       static_cast<Sum>(w[static_cast<std::size_t>(wi)]);
              }
            }
          }
          y.push_back(sum);
        }
      }
    }
  }
  return y;
}

ConvGeometry random_geometry(Random& random) {
  ConvGeometry g;
  const auto draw = [&](std::int64_t low, std::int64_t high) { return random.between(low, high); };
  g.groups = draw(1, 3);
  g.n = draw(1, 2);
  g.cin = g.groups * draw(1, 4);
  g.cout = g.groups * draw(1, 9);
  g.kh = draw(1, 4);
  g.kw = draw(1, 4);
  g.sy = draw(1, 3);
  g.sx = draw(1, 3);
  g.dy = draw(1, 3);
  g.dx = draw(1, 3);
  g.pad_top = draw(0, 3);
  g.pad_left = draw(0, 3);
  g.pad_bottom = draw(0, 3);
  g.pad_right = draw(0, 3);
  g.h = draw(1, 6) + g.dy * (g.kh - 1);
  g.w = draw(1, 24) + g.dx * (g.kw - 1);
  return g;
}

template <typename X, typename Sum>
void compare(Random& random, int round) {
  const ConvGeometry g = random_geometry(random);
  std::vector<X> x(static_cast<std::size_t>(g.n * g.cin * g.h * g.w));
  std::vector<X> w(static_cast<std::size_t>(g.cout * (g.cin / g.groups) * g.kh * g.kw));
  for (X& v : x) v = static_cast<X>(random.between(-255, 255));  // small integers: float sums are exact in any order
  for (X& v : w) v = static_cast<X>(random.between(-255, 255));
  std::vector<Sum> y(static_cast<std::size_t>(g.n * g.cout * g.oh() * g.ow()));
  convolve(g, x.data(), w.data(), y.data());
  EXPECT_EQ(y, (plain<X, Sum>(g, x, w))) << "round " << round << ": " << g.cin << "x" << g.h << "x" << g.w << " k "
                                         << g.kh << "x" << g.kw << " s " << g.sy << "," << g.sx << " groups "
                                         << g.groups;
}

TEST(Convolve, RandomShapesEqualPlainLoops) {
  Random random(3);
  for (int round = 0; round < 150; ++round) {
    compare<float, float>(random, round);
    compare<std::int16_t, std::int32_t>(random, round);
  }
}

TEST(Convolve, EveryVariantGivesTheSameBits) {
  const kernels::Table* tables[4] = {};
  const std::size_t count = kernels::available(tables, 4);
  ASSERT_GE(count, 1u);
  Random random(5);
  constexpr std::size_t kTerms = 37;
  constexpr std::size_t kLength = 50;
  std::vector<float> planes(kTerms * kLength + kernels::kSlack);
  std::vector<float> weights(kTerms * kernels::kMaxRows);
  for (float& v : planes) v = static_cast<float>(random.normal());
  for (float& v : weights) v = static_cast<float>(random.normal());
  std::vector<std::size_t> offsets;
  for (std::size_t k = 0; k < kTerms; ++k) offsets.push_back(k * kLength);
  std::vector<std::vector<float>> results;
  std::vector<float> dots;
  for (std::size_t t = 0; t < count; ++t) {
    std::vector<float> out(kernels::kMaxRows * 64);
    tables[t]->rows6_f32({planes.data(), offsets.data(), kTerms, weights.data(), out.data(), 64, kLength});
    results.push_back(out);
    dots.push_back(tables[t]->dot_f32(planes.data(), planes.data() + 7, 999));
  }
  for (std::size_t t = 1; t < count; ++t) {
    EXPECT_EQ(results[t], results[0]) << tables[t]->name << " against " << tables[0]->name;
    EXPECT_EQ(dots[t], dots[0]) << tables[t]->name << " against " << tables[0]->name;
  }
}

TEST(Convolve, ProductsOfMatrices) {
  Random random(9);
  for (const auto& [m, k, n] : {std::array<std::int64_t, 3>{1, 5, 7}, {3, 4, 2}, {7, 9, 33}, {13, 1, 16}, {2, 40, 8}}) {
    std::vector<float> a(static_cast<std::size_t>(m * k));
    std::vector<float> b(static_cast<std::size_t>(k * n));
    for (float& v : a) v = static_cast<float>(random.between(-50, 50));
    for (float& v : b) v = static_cast<float>(random.between(-50, 50));
    std::vector<float> expected(static_cast<std::size_t>(m * n), 0.0F);
    std::vector<float> b_rows(b.size());
    for (std::int64_t i = 0; i < m * n; ++i) {
      for (std::int64_t j = 0; j < k; ++j) {
        expected[static_cast<std::size_t>(i)] +=
            a[static_cast<std::size_t>(i / n * k + j)] * b[static_cast<std::size_t>(j * n + i % n)];
      }
    }
    for (std::int64_t i = 0; i < k * n; ++i) {
      b_rows[static_cast<std::size_t>(i % n * k + i / n)] = b[static_cast<std::size_t>(i)];
    }
    std::vector<float> c(expected.size());
    multiply(m, k, n, a.data(), b.data(), c.data());
    EXPECT_EQ(c, expected) << m << " " << k << " " << n;
    multiply_transposed(m, k, n, a.data(), b_rows.data(), c.data());
    EXPECT_EQ(c, expected) << m << " " << k << " " << n;
  }
}

}  // namespace
}  // namespace tessera::compiler
