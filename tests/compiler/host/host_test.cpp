#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "compiler/host/host_step.hpp"
#include "compiler/host/math.hpp"
#include "hw/common/error.hpp"
#include "hw/common/random.hpp"
#include "isa/chip.hpp"

namespace tessera::compiler::host {
namespace {

TEST(HostMath, ExpAgainstLongDouble) {
  Random random(1);
  for (int i = 0; i < 200000; ++i) {
    const double x = (random.unit() - 0.5) * (i % 2 == 0 ? 2.0 : 1400.0);
    const long double expected = std::exp(static_cast<long double>(x));
    ASSERT_LE(std::fabs((static_cast<long double>(exp(x)) - expected) / expected), 0x1.0p-51L) << x;
  }
  EXPECT_EQ(exp(0.0), 1.0);
  EXPECT_EQ(exp(-1000.0), 0.0);
  EXPECT_TRUE(std::isinf(exp(1000.0)));
  EXPECT_TRUE(std::isnan(exp(NAN)));
}

TEST(HostMath, LogAgainstLongDouble) {
  Random random(2);
  for (int i = 0; i < 200000; ++i) {
    const double x = i % 2 == 0 ? 0.5 + random.unit()
                                : std::ldexp(1.0 + random.unit(), static_cast<int>(random.between(-1000, 1000)));
    const long double expected = std::log(static_cast<long double>(x));
    const long double error = std::fabs(static_cast<long double>(log(x)) - expected);
    ASSERT_LE(error, 0x1.0p-51L * std::max(1.0L, std::fabs(expected))) << x;
  }
  EXPECT_EQ(log(1.0), 0.0);
  EXPECT_TRUE(std::isinf(log(0.0)));
  EXPECT_TRUE(std::isnan(log(-1.0)));
  EXPECT_TRUE(std::isinf(log(std::numeric_limits<double>::infinity())));
}

std::vector<int> run(const std::string& op, const StepAttributes& attributes, std::vector<std::int64_t> shape,
                     const std::vector<int>& x, double in_scale, double out_scale, int out_zero) {
  std::vector<std::uint8_t> in(x.begin(), x.end());
  std::vector<std::uint8_t> out(x.size());
  run_host_step("n", op, attributes, {{shape, "int8", in_scale, 0, in.data()}},
                {{shape, "int8", out_scale, out_zero, out.data()}});
  std::vector<int> result;
  for (const std::uint8_t v : out) result.push_back(static_cast<std::int8_t>(v));
  return result;
}

TEST(HostStep, SoftmaxOfKnownValues) {
  // exp(ln 3) : exp(0) = 3 : 1 -> 0.75, 0.25 -> 192 and 64 of 256.
  EXPECT_EQ(run("Softmax", {}, {1, 2}, {1, 0}, std::log(3.0), 1.0 / 256, -128), (std::vector<int>{64, -64}));
  // Along axis 0: each column alone.
  EXPECT_EQ(run("Softmax", {{"axis", {0}}}, {2, 2}, {1, 0, 0, 0}, std::log(3.0), 1.0 / 256, -128),
            (std::vector<int>{64, 0, -64, 0}));
  // One certain winner saturates at 255 / 256.
  EXPECT_EQ(run("Softmax", {}, {2}, {127, -128}, 1.0, 1.0 / 256, -128), (std::vector<int>{127, -128}));
  // Coerced to two dimensions: axis 1 of 1x2x2 is one line of four.
  EXPECT_EQ(run("Softmax", {{"axis", {1}}, {"coerced_2d", {1}}}, {1, 2, 2}, {0, 0, 0, 0}, 1.0, 1.0 / 256, -128),
            (std::vector<int>{-64, -64, -64, -64}));
}

TEST(HostStep, LogSoftmaxAndLrn) {
  EXPECT_EQ(run("LogSoftmax", {}, {1, 2}, {0, 0}, 1.0, std::log(2.0), 0), (std::vector<int>{-1, -1}));
  // One channel, size 1: x / (1 + 3 x^2)^0.5 at x = 1 is 1 / 2.
  EXPECT_EQ(
      run("LRN", {{"size", {1}}, {"alpha", {3}}, {"beta", {0.5}}, {"bias", {1}}}, {1, 1, 1, 1}, {1}, 1.0, 0.25, 0),
      (std::vector<int>{2}));
  // Three channels, size 3: the neighbours count, those outside do not.
  EXPECT_EQ(run("LRN", {{"size", {3}}, {"alpha", {3}}, {"beta", {1}}, {"bias", {0}}}, {1, 3, 1, 1}, {1, 1, 1}, 1.0,
                1.0 / 6, 0),
            (std::vector<int>{3, 2, 3}));
}

TEST(HostStep, Refusals) {
  const auto message = [](const std::string& op, const StepAttributes& attributes, const std::string& type) {
    std::uint8_t byte = 0;
    try {
      run_host_step("soft", op, attributes, {{{1}, type, 1.0, 0, &byte}}, {{{1}, "int8", 1.0, 0, &byte}});
    } catch (const UserError& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(message("Softmax", {}, "int8"), "no error");
  EXPECT_EQ(message("Foo", {}, "int8"), "node 'soft' (Foo): is no host step: expected Softmax, LogSoftmax, LRN");
  EXPECT_EQ(message("Softmax", {{"axis", {1}}}, "int8"),
            "node 'soft' (Softmax on the host): axis 1 is outside [-1, 1)");
  EXPECT_EQ(message("Softmax", {}, "float32"),
            "node 'soft' (Softmax on the host): type float32: expected int8, uint8, int16 or int32");
  EXPECT_TRUE(host_supports("LRN"));
  EXPECT_FALSE(host_supports("Conv"));
}

TEST(HostStep, CostIsStartPlusElementsPlusBytes) {
  isa::ChipConfig chip = isa::load_chip("a1000", {});
  chip.clock_hz = 1'000'000'000;
  chip.host.clock_hz = 2'000'000'000;
  chip.host.start_ns = 1000;
  chip.host.milli_cycles_per_element = 3000;  // 3 host clocks = 1.5 core cycles
  chip.host.bytes_per_second = 4'000'000'000;
  EXPECT_EQ(host_step_cycles(chip, 0, 0), 1000);
  EXPECT_EQ(host_step_cycles(chip, 1, 0), 1002);  // 1.5 rounds up
  EXPECT_EQ(host_step_cycles(chip, 2, 0), 1003);
  EXPECT_EQ(host_step_cycles(chip, 2, 5), 1005);  // 5 / 4 rounds up
  chip.clock_hz = 2'000'000'000;                  // twice the core clock: twice the core cycles
  EXPECT_EQ(host_step_cycles(chip, 2, 8), 2000 + 6 + 4);
}

}  // namespace
}  // namespace tessera::compiler::host
