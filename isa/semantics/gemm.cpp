#include <algorithm>

#include "hw/common/units.hpp"
#include "isa/semantics/accumulate.hpp"
#include "isa/semantics/units.hpp"
#include "isa/semantics/values.hpp"

namespace tessera::semantics {

void execute_gemm(const isa::Gemm& gemm, const isa::ChipConfig& chip, Memory& memory) {
  const std::int64_t line = chip.sram.line_bytes;
  const std::int64_t pairs = ceil_div<std::int64_t>(gemm.k, 2);
  std::vector<ChannelParams> columns;
  if (gemm.per_column) {
    columns = read_params("gemm.params", memory.sram + gemm.p_base, gemm.n);
  } else {
    columns.assign(gemm.n, ChannelParams{0, gemm.multiplier, gemm.shift});
  }
  const std::vector<std::int64_t> taps = {0};
  std::vector<std::int16_t> rows(static_cast<std::size_t>(gemm.m * 2 * pairs), 0);  // [m][k], k padded to pairs
  std::vector<std::int16_t> panel(static_cast<std::size_t>(pairs * kLanes * 2));    // [k / 2][kLanes][2]
  std::int32_t acc[kMaxPixels * kLanes];
  for (std::int64_t b = 0; b < gemm.batch; ++b) {
    const std::uint8_t* a_base = memory.sram + gemm.a_base + b * gemm.a_batch_pitch * line;
    const std::uint8_t* b_base = memory.sram + gemm.b_base + b * gemm.b_batch_pitch * line;
    std::uint8_t* o_base = memory.sram + gemm.o_base + b * gemm.o_batch_pitch * line;
    for (std::int64_t m = 0; m < gemm.m; ++m) {
      for (std::int64_t k = 0; k < gemm.k; ++k) {
        const std::int64_t at = gemm.trans_a ? k * gemm.a_pitch * line + m : m * gemm.a_pitch * line + k;
        rows[static_cast<std::size_t>(m * 2 * pairs + k)] = static_cast<std::int16_t>(read_i8(a_base + at) - gemm.a_zp);
      }
    }
    for (std::int64_t n0 = 0; n0 < gemm.n; n0 += kLanes) {
      const std::int64_t count = std::min<std::int64_t>(kLanes, gemm.n - n0);
      std::fill(panel.begin(), panel.end(), std::int16_t{0});
      for (std::int64_t k = 0; k < gemm.k; ++k) {
        for (std::int64_t c = 0; c < count; ++c) {
          const std::int64_t n = n0 + c;
          const std::int64_t at = gemm.trans_b ? n * gemm.b_pitch * line + k : k * gemm.b_pitch * line + n;
          panel[static_cast<std::size_t>((k / 2 * kLanes + c) * 2 + k % 2)] =
              static_cast<std::int16_t>(read_i8(b_base + at) - gemm.b_zp);
        }
      }
      for (std::int64_t m = 0; m < gemm.m; m += kMaxPixels) {
        const auto pixels = static_cast<int>(std::min<std::int64_t>(kMaxPixels, gemm.m - m));
        accumulate(rows.data() + m * 2 * pairs, 2 * pairs, pixels, taps, pairs, panel.data(), acc);
        for (int p = 0; p < pixels; ++p) {
          std::uint8_t* out = o_base + (m + p) * gemm.o_pitch * line + n0;
          for (std::int64_t c = 0; c < count; ++c) {
            const ChannelParams& q = columns[static_cast<std::size_t>(n0 + c)];
            out[c] = static_cast<std::uint8_t>(requantize(wrap_add(acc[p * kLanes + c], q.bias), q.multiplier, q.shift,
                                                          gemm.out_zp, gemm.lo, gemm.hi));
          }
        }
      }
    }
  }
}

}  // namespace tessera::semantics
