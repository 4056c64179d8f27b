#include "hw/cosim/random_conv.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "hw/common/units.hpp"
#include "hw/cosim/slice.hpp"
#include "hw/models/conv/cost.hpp"
#include "isa/semantics/layout.hpp"

namespace tessera::cosim {
namespace {

constexpr Cycles kMostCycles = 2500;

/// Extents and taps along one axis; false if there is no output.
bool axis(Random& random, std::uint16_t& in, std::uint16_t& out, std::uint8_t& kernel, std::uint8_t& stride,
          std::uint8_t& dilation, std::uint8_t& pad) {
  set(in, random.between(1, random.chance(1, 3) ? 20 : 9));
  set(kernel, random.chance(1, 3) ? 1 : random.between(1, 5));
  set(stride, random.chance(1, 2) ? 1 : random.between(1, 4));
  set(dilation, random.chance(2, 3) ? 1 : random.between(1, 3));
  const std::int64_t reach = (kernel - 1) * dilation;
  set(pad, random.chance(1, 2) ? 0 : random.between(0, reach + 1));
  const std::int64_t pad_after = random.chance(1, 2) ? 0 : random.between(0, reach + 1);
  const std::int64_t most = semantics::output_extent(in, kernel, stride, dilation, pad, pad_after);
  if (most < 1) return false;
  set(out, random.chance(1, 3) ? random.between(1, most) : most);
  return true;
}

std::optional<isa::Conv> attempt(const isa::ChipConfig& chip, Random& random, const Window& window) {
  isa::Conv c;
  if (!axis(random, c.in_h, c.out_h, c.kh, c.sy, c.dy, c.pad_top)) return std::nullopt;
  if (!axis(random, c.in_w, c.out_w, c.kw, c.sx, c.dx, c.pad_left)) return std::nullopt;
  // Groups that begin within a channel block, and such that do not.
  set(c.groups, random.chance(2, 3) ? 1 : random.between(2, 4));
  const std::int64_t channels = std::min(kMostChannels, 3 * std::max(chip.conv.cin_lanes, chip.conv.cout_lanes));
  set(c.cin, c.groups * random.between(1, channels / c.groups));
  set(c.cout, c.groups * random.between(1, channels / c.groups));
  c.mode = random.chance(1, 3)   ? isa::ConvMode::depthwise
           : random.chance(1, 3) ? isa::ConvMode::fold
                                 : isa::ConvMode::dense;
  if (c.mode == isa::ConvMode::depthwise) c.groups = c.cout = c.cin;
  if (c.mode == isa::ConvMode::fold) {
    c.groups = 1;
    set(c.cin, random.between(
                   1, random.chance(1, 2) ? std::max<std::int64_t>(chip.conv.cin_lanes / 3, 1) : chip.conv.cin_lanes));
    set(c.fold, random.between(1, chip.conv.cin_lanes / c.cin));
  }
  set(c.pixel_shape, random.below(chip.conv.pixel_shapes.size()));
  c.order = random.chance(1, 2) ? isa::ConvOrder::pixels_outer : isa::ConvOrder::channels_outer;
  set(c.gx, random.between(1, chip.conv.accumulators));
  set(c.gy, random.between(1, std::max<std::int64_t>(1, chip.conv.accumulators / c.gx)));
  set(c.t, random.between(1, std::max<std::int64_t>(1, chip.conv.accumulators / (c.gx * c.gy))));
  set(c.in_zp, any_int8(random));
  set(c.w_zp, random.chance(1, 2) ? 0 : any_int8(random));
  set(c.out_zp, any_int8(random));
  set(c.lo, random.chance(1, 2) ? -128 : random.between(-128, 0));
  set(c.hi, random.chance(1, 2) ? 127 : random.between(0, 127));
  c.shift_only = random.chance(1, 5);
  c.has_residual = random.chance(1, 3);
  if (c.has_residual) {
    set(c.res_shift, random.between(0, random.chance(1, 2) ? 62 : 30));
    const std::int64_t most = std::int64_t{1} << std::min<std::int64_t>(c.res_shift, 30);
    set(c.res_ma, random.between(-most, most));
    set(c.res_mb, random.between(-most, most));
    set(c.res_zb, any_int8(random));
    set(c.res_zo, any_int8(random));
  }
  if (c.mode == isa::ConvMode::depthwise) c.t = 1;
  if (hw::conv_check(c, chip) || !conv_in_slice(c, chip)) return std::nullopt;
  if (hw::conv_cycles(c, chip) > kMostCycles) return std::nullopt;
  const std::int64_t line = chip.sram.line_bytes;
  const Map in = random_map(random, c.cin, c.in_h, c.in_w, chip);
  const Map out = random_map(random, c.cout, c.out_h, c.out_w, chip);
  const Map residual = random_map(random, c.cout, c.out_h, c.out_w, chip);
  const std::int64_t weights = semantics::WeightLayout(semantics::conv_shape(c), chip).sram_bytes();
  std::array<std::int64_t, 4> at{};
  if (!place<4>(random, line, window, {in.bytes, weights, c.has_residual ? residual.bytes : 0, out.bytes}, at)) {
    return std::nullopt;
  }
  c.in = in.tensor;
  c.out = out.tensor;
  set(c.in.base, at[0]);
  set(c.w_base, at[1]);
  if (c.has_residual) {
    c.residual = residual.tensor;
    set(c.residual.base, at[2]);
  }
  set(c.out.base, at[3]);
  set(c.p_base, place_constants(random, window, semantics::kParamBytes * c.cout));
  return c;
}

}  // namespace

isa::Conv convolution(const isa::ChipConfig& chip, Random& random, const Window& window) {
  for (;;) {
    if (const std::optional<isa::Conv> conv = attempt(chip, random, window)) return *conv;
  }
}

}  // namespace tessera::cosim
