// The control port of Cp through its socket: registers, errors, and that debug accesses have no side effects.
#include <cstring>

#include <gtest/gtest.h>
#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

#include "hw/models/cp/cp.hpp"
#include "hw/tlm/kernel.hpp"

namespace tessera::hw {
namespace {

namespace reg = isa::registers;

class Driver : public sc_core::sc_module, public CpListener {
 public:
  explicit Driver(const sc_core::sc_module_name& name)
      : sc_module(name), control_isock("control_isock"), fetch_tsock("fetch_tsock") {}
  tlm_utils::simple_initiator_socket<Driver> control_isock;
  tlm_utils::simple_target_socket<Driver> fetch_tsock;
  void on_finish(int, const isa::Instruction&, const InstructionRecord&) override {}
  void on_global_signal(int, const isa::Signal&) override {}
  void on_state(int, CpState) override {}

  tlm::tlm_response_status access(bool write, std::uint32_t offset, std::uint32_t& value, unsigned length = 4) {
    tlm::tlm_generic_payload trans;
    fill(trans, write, offset, value, length);
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    control_isock->b_transport(trans, delay);
    return trans.get_response_status();
  }
  unsigned debug_read(std::uint32_t offset, std::uint32_t& value) {
    tlm::tlm_generic_payload trans;
    fill(trans, false, offset, value, 4);
    return control_isock->transport_dbg(trans);
  }

 private:
  static void fill(tlm::tlm_generic_payload& trans, bool write, std::uint32_t offset, std::uint32_t& value,
                   unsigned length) {
    trans.set_command(write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
    trans.set_address(offset);
    trans.set_data_ptr(reinterpret_cast<unsigned char*>(&value));
    trans.set_data_length(length);
    trans.set_streaming_width(length);
    trans.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
  }
};

/// A unit that never has work, with an account that the test sets.
class Accountable : public IssueTarget {
 public:
  UnitAccount counts;
  [[nodiscard]] bool ready(bool) const override { return true; }
  [[nodiscard]] bool busy() const override { return false; }
  void start(const isa::Instruction&, Cycles, std::uint64_t) override { FAIL() << "nothing is issued"; }
  [[nodiscard]] const UnitAccount& account() const override { return counts; }
  [[nodiscard]] Cycles stepped_cycles() const override { return 0; }
};

struct Bench {
  tlm_base::Simulation simulation;
  Driver driver{"driver"};
  Cp cp{
      "cp",
      0,
      CpConfig{},
      [](const isa::Instruction&, const std::array<std::uint64_t, 8>&, std::string&) { return isa::FaultCause::none; },
      [](std::uint64_t) { return isa::Word{}; },
      driver};
  Bench() {
    driver.control_isock.bind(cp.control_tsock);
    cp.fetch_isock.bind(driver.fetch_tsock);
    simulation.run();  // elaborates; nothing happens
  }
  std::uint32_t read(std::uint32_t offset) {
    std::uint32_t value = 0;
    EXPECT_EQ(driver.access(false, offset, value), tlm::TLM_OK_RESPONSE) << offset;
    return value;
  }
  tlm::tlm_response_status write(std::uint32_t offset, std::uint32_t value) {
    return driver.access(true, offset, value);
  }
};

TEST(CpControl, ResetValuesAndReadBack) {
  Bench bench;
  EXPECT_EQ(bench.read(reg::kId), reg::kIdReset);
  EXPECT_EQ(bench.read(reg::kIsaVersion), reg::kIsaVersionReset);
  EXPECT_EQ(bench.read(reg::kSemaphore + 4 * 63), 0u);
  EXPECT_EQ(bench.write(reg::kBaseLow + 16 * 3, 0x12345600), tlm::TLM_OK_RESPONSE);
  EXPECT_EQ(bench.write(reg::kBaseHigh + 16 * 3, 0x7), tlm::TLM_OK_RESPONSE);
  EXPECT_EQ(bench.read(reg::kBaseLow + 16 * 3), 0x12345600u);
  EXPECT_EQ(bench.read(reg::kBaseHigh + 16 * 3), 7u);
  EXPECT_EQ(bench.cp.bases()[3], 0x712345600u);
  EXPECT_EQ(bench.write(reg::kRingBaseLow + 16 * 2, 0x4000), tlm::TLM_OK_RESPONSE);
  EXPECT_EQ(bench.write(reg::kRingWords + 16 * 2, 128), tlm::TLM_OK_RESPONSE);
  EXPECT_EQ(bench.write(reg::kWritePointer + 16 * 2, 5), tlm::TLM_OK_RESPONSE);
  EXPECT_EQ(bench.cp.core().queue(2).ring_base, 0x4000u);
  EXPECT_EQ(bench.read(reg::kRingWords + 16 * 2), 128u);
  EXPECT_EQ(bench.read(reg::kWritePointer + 16 * 2), 5u);
}

TEST(CpControl, ErrorResponses) {
  Bench bench;
  std::uint32_t value = 0;
  EXPECT_EQ(bench.write(reg::kId, 1), tlm::TLM_ADDRESS_ERROR_RESPONSE);                          // read-only
  EXPECT_EQ(bench.driver.access(false, reg::kControl, value), tlm::TLM_ADDRESS_ERROR_RESPONSE);  // write-only
  EXPECT_EQ(bench.driver.access(false, 4000, value), tlm::TLM_ADDRESS_ERROR_RESPONSE);
  EXPECT_EQ(bench.driver.access(false, reg::kId + 2, value), tlm::TLM_BURST_ERROR_RESPONSE);
  EXPECT_EQ(bench.driver.access(false, reg::kId, value, 2), tlm::TLM_BURST_ERROR_RESPONSE);
}

TEST(CpControl, DebugReadsHaveNoSideEffects) {
  Bench bench;
  std::uint32_t value = 0;
  EXPECT_EQ(bench.driver.debug_read(reg::kId, value), 4u);
  EXPECT_EQ(value, reg::kIdReset);
  EXPECT_EQ(bench.driver.debug_read(reg::kCycleLow, value), 4u);  // would latch cycle_high
  EXPECT_EQ(bench.driver.debug_read(4000, value), 0u);
  EXPECT_EQ(bench.read(reg::kStatus) & 1u, 0u);
}

// The counters of a unit are of one moment, that of the write of counter_select: 64 bits each, low word first.
TEST(CpControl, CountersAreLatchedWhenAUnitIsSelected) {
  constexpr int kUnit = 4;
  constexpr auto kSelected = static_cast<std::uint32_t>(kUnit);
  Bench bench;
  Accountable unit;
  bench.cp.attach(kUnit, unit);
  const auto set = [&](Cycles step) {
    unit.counts.busy = (Cycles{1} << 40) + step;
    for (std::size_t c = 0; c < kStallCauses; ++c) {
      unit.counts.stall[c] = (static_cast<Cycles>(c + 2) << 33) + step * static_cast<Cycles>(c + 3);
    }
  };
  const auto counter = [&](std::size_t index) {
    const std::uint32_t at = reg::kCounter + 8 * static_cast<std::uint32_t>(index);
    return bench.read(at) + (std::uint64_t{bench.read(at + 4)} << 32);
  };
  const auto expect = [&](Cycles step) {
    EXPECT_EQ(counter(0), (std::uint64_t{1} << 40) + step);
    for (std::size_t c = 0; c < kStallCauses; ++c) {
      EXPECT_EQ(counter(1 + c), (static_cast<std::uint64_t>(c + 2) << 33) + step * (c + 3)) << c;
    }
  };
  set(1);
  EXPECT_EQ(counter(0), 0u);  // nothing was selected yet
  ASSERT_EQ(bench.write(reg::kCounterSelect, kSelected), tlm::TLM_OK_RESPONSE);
  EXPECT_EQ(bench.read(reg::kCounterSelect), kSelected);
  expect(1);
  set(1000);
  expect(1);  // as latched
  ASSERT_EQ(bench.write(reg::kCounterSelect, kSelected), tlm::TLM_OK_RESPONSE);
  expect(1000);
  for (const std::uint32_t nobody : {kSelected + 1, 999u}) {  // a queue without a unit, no queue
    ASSERT_EQ(bench.write(reg::kCounterSelect, kSelected), tlm::TLM_OK_RESPONSE);
    ASSERT_EQ(bench.write(reg::kCounterSelect, nobody), tlm::TLM_OK_RESPONSE);
    for (std::size_t i = 0; i <= kStallCauses; ++i) EXPECT_EQ(counter(i), 0u) << nobody;
  }
}

}  // namespace
}  // namespace tessera::hw
