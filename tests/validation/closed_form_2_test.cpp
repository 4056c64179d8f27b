// Closed form 2 (latency-bound DMA): bursts of 64 B, memory `fixed` with 100 cycles and 8 B a cycle. With k bursts
// outstanding the steady state is min(k x 64 B / 100 cycles, 8 B / cycle).
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "hw/platform/platform.hpp"
#include "tests/hw/platform/program_builder.hpp"

namespace tessera {
namespace {

using platform::test::ProgramBuilder;
using platform::test::QueueId;

constexpr std::int64_t kBurst = 64, kLatency = 100, kBytesPerCycle = 8;

const std::vector<std::string> kFixed = {"dram.device=\"fixed\"",
                                         "dram.fixed_latency_cycles=" + std::to_string(kLatency),
                                         "dram.fixed_bytes_per_cycle=" + std::to_string(kBytesPerCycle)};

/// Cycles from start to finish of one LOAD of `bursts` bursts.
Cycles load_cycles(std::vector<std::string> memory, int outstanding, std::uint32_t bursts) {
  for (const std::string& set : {"axi.read_outstanding=" + std::to_string(outstanding), std::string("axi.data_bytes=8"),
                                 std::string("axi.max_burst_beats=8"), std::string("interconnect.queue_depth=32"),
                                 std::string("load.landing_bytes=4096")}) {
    memory.push_back(set);
  }
  const isa::ChipConfig chip = isa::load_chip("tiny", memory);
  ProgramBuilder builder;
  const auto bytes = static_cast<std::uint32_t>(bursts * kBurst);
  builder.buffer(isa::BufferKind::input, bytes);
  builder.add(QueueId::load, platform::test::load_rows(isa::BufferKind::input, 0, bytes, 1, 0));
  hw::DramStorage dram;
  const hw::RunResult result = platform::run_program(builder.program(), chip, dram, {});
  return result.instructions.front().finish - result.instructions.front().start;
}

/// Bytes a cycle in steady state: from two lengths, so that start and end cancel.
double bytes_per_cycle(const std::vector<std::string>& memory, int outstanding) {
  constexpr std::uint32_t kShort = 160, kLong = 320;
  const Cycles cycles = load_cycles(memory, outstanding, kLong) - load_cycles(memory, outstanding, kShort);
  return static_cast<double>((kLong - kShort) * kBurst) / static_cast<double>(cycles);
}

TEST(ClosedForm2, SteadyStateBandwidth) {
  for (const int outstanding : {1, 4, 8, 16}) {
    const double expected = std::min(static_cast<double>(outstanding * kBurst) / kLatency, double{kBytesPerCycle});
    EXPECT_DOUBLE_EQ(bytes_per_cycle(kFixed, outstanding), expected) << outstanding << " outstanding";
  }
}

// The same through crossing and DRAM. By hand for LPDDR4-3200 at 800 MHz, two DRAM clocks a core cycle: a request of
// cycle 0 leaves the interconnect in i = interconnect.latency_cycles, is seen at clock 2 (i + 1) + 2; the second of its
// two bursts is read 8 clocks later and its data end RL + BL = 36 clocks after that; seen 2 cycles after (clock + 1) /
// 2; the request then goes to LOAD in eight beats of 8 B, seven more cycles. Once in 32 requests a row is opened: tRP +
// tRCD = 58.
TEST(ClosedForm2, RealDramLatencyBoundsAsTheFixedOneDoes) {
  const std::vector<std::string> lpddr4 = {"dram.refresh=\"none\""};
  const auto interconnect = static_cast<double>(isa::load_chip("tiny").interconnect.latency_cycles);
  const double by_hand = (2 * (interconnect + 1) + 2 + 8 + 36) / 2 + 2 + 7 + 58.0 / 2 / 32;
  const double latency = kBurst / bytes_per_cycle(lpddr4, 1);
  EXPECT_NEAR(latency, by_hand, 1.0);  // alignment of the two clocks
  EXPECT_NEAR(bytes_per_cycle(lpddr4, 2), 2 * kBurst / latency, 0.05 * 2 * kBurst / latency);
  const double peak = 8.0;
  EXPECT_LE(bytes_per_cycle(lpddr4, 16), peak);
  EXPECT_GT(bytes_per_cycle(lpddr4, 16), 0.97 * peak);
}

}  // namespace
}  // namespace tessera
