// Closed form 2 (latency-bound DMA): bursts of 64 B, memory `fixed` with 100 cycles and 8 B a cycle. With k bursts
// outstanding the steady state is min(k x 64 B / 100 cycles, 8 B / cycle).
#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "hw/platform/platform.hpp"
#include "tests/hw/platform/program_builder.hpp"

namespace tessera {
namespace {

using platform::test::ProgramBuilder;
using platform::test::QueueId;

constexpr std::int64_t kBurst = 64, kLatency = 100, kBytesPerCycle = 8;

/// Cycles from start to finish of one LOAD of `bursts` bursts.
Cycles load_cycles(int outstanding, std::uint32_t bursts) {
  const isa::ChipConfig chip =
      isa::load_chip("tiny", {"dram.device=\"fixed\"", "dram.fixed_latency_cycles=" + std::to_string(kLatency),
                              "dram.fixed_bytes_per_cycle=" + std::to_string(kBytesPerCycle), "axi.data_bytes=8",
                              "axi.max_burst_beats=8", "axi.read_outstanding=" + std::to_string(outstanding),
                              "interconnect.queue_depth=32", "load.landing_bytes=4096"});
  ProgramBuilder builder;
  const auto bytes = static_cast<std::uint32_t>(bursts * kBurst);
  builder.buffer(isa::BufferKind::input, bytes);
  builder.add(QueueId::load, platform::test::load_rows(isa::BufferKind::input, 0, bytes, 1, 0));
  hw::DramStorage dram;
  const hw::RunResult result = platform::run_program(builder.program(), chip, dram, {});
  return result.instructions.front().finish - result.instructions.front().start;
}

TEST(ClosedForm2, SteadyStateBandwidth) {
  for (const int outstanding : {1, 4, 8, 16}) {
    // Two lengths, so that start and end cancel.
    constexpr std::uint32_t kShort = 160, kLong = 320;
    const Cycles cycles = load_cycles(outstanding, kLong) - load_cycles(outstanding, kShort);
    const double measured = static_cast<double>((kLong - kShort) * kBurst) / static_cast<double>(cycles);
    const double expected = std::min(static_cast<double>(outstanding * kBurst) / kLatency, double{kBytesPerCycle});
    EXPECT_DOUBLE_EQ(measured, expected) << outstanding << " outstanding";
  }
}

}  // namespace
}  // namespace tessera
