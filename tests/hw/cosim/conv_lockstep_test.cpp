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

isa::ChipConfig tiny() { return isa::load_chip("tiny", {"dram.device=\"fixed\""}); }

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
void count(const isa::Conv& c, std::map<std::string, int>& bins) {
  const auto bin = [&](const char* name, bool here) { bins[name] += here ? 1 : 0; };
  bin("stride", c.sx > 1 && c.sy > 1);
  bin("stride beyond the kernel", c.sx > c.kw || c.sy > c.kh);
  bin("dilation", c.dx > 1 && c.kw > 1);
  bin("padding", c.pad_left > 0 && c.pad_top > 0);
  bin("residual", c.has_residual);
  bin("shift_only", c.shift_only);
  bin("weight zero point", c.w_zp != 0);
  bin("channels outer", c.order == isa::ConvOrder::channels_outer);
  bin("several cin tiles", c.cin > 4);
  bin("several cout tiles", c.cout > 4 && c.t > 1);
  bin("several cout steps", c.cout > 4 * c.t);
  bin("several pixel tiles", c.out_w > 2 * c.gx && c.out_h > c.gy);
  bin("partial channels", c.cin % 4 != 0 && c.cout % 4 != 0);
  bin("groups within a block", c.groups > 1 && c.cin / c.groups % 4 != 0 && c.cout / c.groups % 4 != 0);
  bin("circular input and output", c.in.wrap_rows != 0 && c.out.wrap_rows != 0);
  const bool depthwise = c.mode == isa::ConvMode::depthwise;
  bin("depthwise", depthwise);
  bin("depthwise, stride and several taps", depthwise && c.sx > 1 && c.kw > 2);
  bin("depthwise, stride 1 and odd kernel", depthwise && c.sx == 1 && c.kw % 2 == 1 && c.kw > 1 && c.kh > 1);
  bin("depthwise, several c tiles", depthwise && c.cout > 4);
  bin("odd width", c.out_w % 2 != 0);
}

TEST(ConvLockstep, RandomConvolutions) {
  const isa::ChipConfig chip = tiny();
  std::map<std::string, int> bins;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    // In one bank every port meets every other; across banks few do.
    const std::int64_t size = seed % 2 == 0 ? chip.sram.size_bytes - 256 : 3 * chip.sram.size_bytes;
    Random random(seed);
    const isa::Conv conv = convolution(chip, random, 0, size);
    count(conv, bins);
    LockstepOptions options;
    options.data_seed = seed;
    options.check_reference = true;
    const LockstepResult result = run_lockstep(one_convolution(conv, 0, size, seed), chip, chip, options);
    EXPECT_EQ(result.first, "");
    EXPECT_EQ(result.value_differences, 0);
    EXPECT_EQ(result.cycle_differences, 0);
    EXPECT_EQ(result.instructions, 3);
  }
  for (const auto& [name, number] : bins) EXPECT_GE(number, 5) << name;
}

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
  const isa::Conv conv = convolution(tiny(), random, 0, 4096);
  const std::string begin = "section 'main', conv0 instruction 0 (conv): ";
  const std::string end = ": not in the RTL slice";
  isa::Conv other = conv;
  other.mode = isa::ConvMode::fold;
  EXPECT_EQ(refusal(other), begin + "mode fold" + end);
  other = conv;
  other.w_base = 65536;
  EXPECT_NE(refusal(other).find("conv.weights touches SRAM 0x10000"), std::string::npos) << refusal(other);
}

}  // namespace
}  // namespace tessera::cosim
