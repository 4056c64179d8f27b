#include "hw/cosim/random_gemm.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "hw/common/units.hpp"
#include "hw/models/gemm/cost.hpp"
#include "isa/semantics/layout.hpp"

namespace tessera::cosim {
namespace {

constexpr Cycles kMostCycles = 2500;

/// Around and beyond multiples of the array's sides, and 1.
std::int64_t extent(Random& random, std::int64_t side, std::int64_t most) {
  if (random.chance(1, 8)) return 1;
  if (random.chance(1, 4))
    return std::clamp<std::int64_t>(side * random.between(1, 3) + random.between(-1, 1), 1, most);
  return random.between(1, random.chance(1, 2) ? std::min(most, 2 * side) : most);
}

/// Pitches of `batch` matrices of `rows` rows of `bytes` bytes; the bytes of all of them, in whole lines. A source may
/// be the same in every batch; batches may lie behind one another or row by row between one another.
std::int64_t pitches(Random& random, std::int64_t line, std::int64_t rows, std::int64_t bytes, std::int64_t batch,
                     bool source, std::uint16_t& pitch, std::uint32_t& batch_pitch) {
  const std::int64_t lines = ceil_div(bytes, line) + (random.chance(1, 3) ? random.between(1, 2) : 0);
  if (random.chance(1, 5)) {
    set(pitch, batch * lines);
    set(batch_pitch, lines);
  } else {
    set(pitch, lines);
    set(batch_pitch, rows * lines + (random.chance(1, 3) ? random.between(1, 9) : 0));
    if (source && random.chance(1, 4)) batch_pitch = 0;
  }
  return ((batch - 1) * batch_pitch + (rows - 1) * pitch + lines) * line;
}

std::optional<isa::Gemm> attempt(const isa::ChipConfig& chip, Random& random, const Window& window) {
  isa::Gemm g;
  g.dataflow = random.chance(1, 2) ? isa::GemmDataflow::weight_stationary : isa::GemmDataflow::output_stationary;
  g.trans_a = random.chance(1, 2);
  g.trans_b = random.chance(1, 2);
  g.per_column = random.chance(2, 3);
  // Beyond the accumulator rows in weight-stationary, now and then.
  set(g.m,
      random.chance(1, 5) ? chip.gemm.accumulator_rows + random.between(-1, 20) : extent(random, chip.gemm.rows, 40));
  set(g.n, extent(random, chip.gemm.cols, kMostColumns));
  set(g.k, extent(random, chip.gemm.rows, 48));
  set(g.batch, random.chance(2, 3) ? 1 : random.between(2, 4));
  set(g.a_zp, any_int8(random));
  set(g.b_zp, random.chance(1, 2) ? 0 : any_int8(random));
  set(g.out_zp, any_int8(random));
  set(g.lo, random.chance(1, 2) ? -128 : random.between(-128, 0));
  set(g.hi, random.chance(1, 2) ? 127 : random.between(0, 127));
  const RandomScale scale = random_scale(random, false);
  set(g.multiplier, scale.multiplier);
  set(g.shift, scale.shift);
  const std::int64_t line = chip.sram.line_bytes;
  const std::int64_t a =
      pitches(random, line, g.trans_a ? g.k : g.m, g.trans_a ? g.m : g.k, g.batch, true, g.a_pitch, g.a_batch_pitch);
  const std::int64_t b =
      pitches(random, line, g.trans_b ? g.n : g.k, g.trans_b ? g.k : g.n, g.batch, true, g.b_pitch, g.b_batch_pitch);
  const std::int64_t o = pitches(random, line, g.m, g.n, g.batch, false, g.o_pitch, g.o_batch_pitch);
  std::array<std::int64_t, 3> at{};
  if (!place<3>(random, line, window, {a, b, o}, at)) return std::nullopt;
  set(g.a_base, at[0]);
  set(g.b_base, at[1]);
  set(g.o_base, at[2]);
  set(g.p_base, place_constants(random, window, semantics::kParamBytes * g.n));
  if (hw::gemm_check(g, chip) || hw::gemm_cycles(g, chip) > kMostCycles) return std::nullopt;
  return g;
}

}  // namespace

isa::Gemm matrix_product(const isa::ChipConfig& chip, Random& random, const Window& window) {
  for (;;) {
    if (const std::optional<isa::Gemm> gemm = attempt(chip, random, window)) return *gemm;
  }
}

}  // namespace tessera::cosim
