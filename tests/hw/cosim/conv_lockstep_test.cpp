// CONV on the RTL against the model and the reference executor: random convolutions alone, with all operands in one
// bank and in several; what the engine of the slice refuses.
#include <algorithm>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "hw/common/error.hpp"
#include "hw/cosim/lockstep.hpp"
#include "hw/cosim/random_conv.hpp"
#include "hw/cosim/random_operands.hpp"
#include "tests/hw/platform/program_builder.hpp"

namespace tessera::cosim {
namespace {

using isa::BufferKind;
using platform::test::load_rows;
using platform::test::ProgramBuilder;
using platform::test::QueueId;

constexpr std::int64_t kRoom = 448;  // for parameters of kMostChannels

isa::ChipConfig tiny() { return isa::load_chip("tiny", {"dram.device=\"fixed\""}); }

/// Lanes that are several channel blocks, and no powers of two; a choice of pixel shapes.
isa::ChipConfig other_lanes() {
  return isa::load_chip("tiny", {"dram.device=\"fixed\"", "conv.cin_lanes=12", "conv.cout_lanes=8",
                                 "conv.pixel_lanes=6", "conv.pixel_shapes=[\"6x1\",\"2x3\"]", "conv.window_bytes=1152",
                                 "conv.depthwise_taps=3", "conv.accumulators=7"});
}

/// Fills [begin, begin + size + room for parameters), loads the parameters, convolves.
isa::Program one_convolution(const isa::Conv& conv, std::int64_t begin, std::int64_t size, std::uint64_t seed) {
  ProgramBuilder builder;
  std::vector<std::uint8_t> params;
  Random random(seed);
  append_params(conv.cout, conv.shift_only, random, params);
  builder.buffer(BufferKind::input, 65536).buffer(BufferKind::weights, params.size());
  builder.add(QueueId::load,
              load_rows(BufferKind::input, 0, static_cast<std::uint32_t>(size), 1, static_cast<std::uint32_t>(begin)));
  builder.add(QueueId::load,
              load_rows(BufferKind::weights, 0, static_cast<std::uint32_t>(params.size()), 1, conv.p_base),
              {{}, {{0, 1}}});
  builder.add(QueueId::conv0, conv, {{{0, 1}}, {}});
  isa::Program program = builder.program();
  program.weights = params;
  return program;
}

/// What a test of convolutions wants to have seen.
void count(const isa::Conv& c, const isa::ChipConfig& chip, std::map<std::string, int>& bins) {
  const std::int64_t cin_lanes = chip.conv.cin_lanes, cout_lanes = chip.conv.cout_lanes;
  const isa::PixelShape& shape = chip.conv.pixel_shapes.at(c.pixel_shape);
  const auto bin = [&](const char* name, bool here) { bins[name] += here ? 1 : 0; };
  bin("stride", c.sx > 1 && c.sy > 1);
  bin("stride beyond the kernel", c.sx > c.kw || c.sy > c.kh);
  bin("dilation", c.dx > 1 && c.kw > 1);
  bin("padding", c.pad_left > 0 && c.pad_top > 0);
  bin("residual", c.has_residual);
  bin("shift_only", c.shift_only);
  bin("weight zero point", c.w_zp != 0);
  bin("channels outer", c.order == isa::ConvOrder::channels_outer);
  bin("several cin tiles", c.cin > cin_lanes);
  bin("several cout tiles", c.cout > cout_lanes && c.t > 1);
  bin("several cout steps", c.cout > cout_lanes * c.t);
  bin("several pixel tiles", c.out_w > shape.px * c.gx && c.out_h > shape.py * c.gy);
  bin("partial channels", c.cin % 4 != 0 && c.cout % 4 != 0);
  bin("groups within a block", c.groups > 1 && c.cin / c.groups % 4 != 0 && c.cout / c.groups % 4 != 0);
  bin("circular input and output", c.in.wrap_rows != 0 && c.out.wrap_rows != 0);
  const bool depthwise = c.mode == isa::ConvMode::depthwise;
  bin("depthwise", depthwise);
  bin("depthwise, stride and several taps", depthwise && c.sx > 1 && c.kw > 2);
  bin("depthwise, stride 1 and odd kernel", depthwise && c.sx == 1 && c.kw % 2 == 1 && c.kw > 1 && c.kh > 1);
  bin("depthwise, several c tiles", depthwise && c.cout > cout_lanes);
  bin("odd width", c.out_w % 2 != 0);
  const bool fold = c.mode == isa::ConvMode::fold;
  const int passes = fold ? (c.kw + c.fold - 1) / c.fold : 0;
  bin("fold", fold);
  bin("fold, padded columns", fold && c.fold > 1 && c.pad_left > 0);
  bin("fold, several passes, the last partial", passes > 1 && c.fold > 1 && c.kw % c.fold != 0);
  bin("fold, several channels on fewer lanes than there are", fold && c.cin > 1 && c.cin * c.fold % cin_lanes != 0);
  bin("fold, strided, several cout tiles", fold && c.sx > 1 && c.cout > cout_lanes);
  bin("the last pixel shape", c.pixel_shape + 1u == chip.conv.pixel_shapes.size());
}

void random_convolutions(const isa::ChipConfig& chip) {
  std::map<std::string, int> bins;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    // In one bank every port meets every other; across banks few do.
    const std::int64_t size = seed % 2 == 0 ? chip.sram.size_bytes - kRoom : 3 * chip.sram.size_bytes;
    Random random(seed);
    const isa::Conv conv = convolution(chip, random, {0, size, size, kRoom});
    count(conv, chip, bins);
    LockstepOptions options;
    options.data_seed = seed;
    options.check_reference = true;
    const LockstepResult result = run_lockstep(one_convolution(conv, 0, size, seed), chip, chip, options);
    EXPECT_EQ(result.first, "");
    EXPECT_EQ(result.value_differences, 0);
    EXPECT_EQ(result.cycle_differences, 0);
    EXPECT_EQ(result.instructions, 3);
  }
  for (const auto& [name, number] : bins) EXPECT_GE(number, 3) << name;
}

TEST(ConvLockstep, RandomConvolutions) { random_convolutions(tiny()); }
TEST(ConvLockstep, RandomConvolutionsOnOtherLanes) { random_convolutions(other_lanes()); }

std::string refusal(const isa::Conv& conv) {
  try {
    (void)run_lockstep(one_convolution(conv, 0, 4096, 1), tiny(), tiny(), {});
  } catch (const UserError& error) {
    return error.what();
  }
  return "no refusal";
}

TEST(ConvLockstep, RefusesByName) {
  Random random(1);
  const isa::Conv conv = convolution(tiny(), random, {0, 4096, 4096, kRoom});
  const std::string begin = "section 'main', conv0 instruction 0 (conv): ";
  const std::string end = ": not in the RTL slice";
  // One output, three taps 255 columns apart: three columns of the map make its patches, 511 fill the window.
  isa::Conv other = conv;
  other.mode = isa::ConvMode::fold;
  other.cin = other.out_h = other.out_w = other.groups = other.in_h = 1;
  other.fold = other.gx = other.gy = other.t = other.kh = other.sy = other.dy = other.sx = 1;
  other.pad_left = other.pad_top = 0;
  other.kw = 3;
  other.dx = 255;
  other.in_w = 511;
  EXPECT_EQ(refusal(other), begin + "fold whose columns exceed conv.window_bytes" + end);
  other = conv;
  other.w_base = 65536;
  EXPECT_NE(refusal(other).find("conv.weights touches SRAM 0x10000"), std::string::npos) << refusal(other);
}

}  // namespace
}  // namespace tessera::cosim
