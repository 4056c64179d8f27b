#include "hw/cosim/rtl_run.hpp"

#include <algorithm>
#include <exception>
#include <tuple>

#include "hw/common/error.hpp"
#include "hw/cosim/slice.hpp"
#include "hw/models/interconnect/memory_system.hpp"
#include "hw/tlm/clock.hpp"
#include "hw/tlm/kernel.hpp"
#include "isa/isa.hpp"

namespace tessera::cosim {
namespace {

namespace reg = isa::registers;
using tlm_base::kDeliver;
using tlm_base::Manager;
using tlm_base::notify_at;
using tlm_base::now_cycle;

std::uint32_t low(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
std::uint32_t high(std::uint64_t value) { return static_cast<std::uint32_t>(value >> 32); }

/// The driver: registers, doorbell, interrupt, section after section; collects the records.
class Driver : public sc_core::sc_module, public RtlListener {
 public:
  SC_HAS_PROCESS(Driver);
  Driver(const sc_core::sc_module_name& name, const isa::Program& program, const isa::ChipConfig& chip,
         const platform::DramLayout& layout, Cycles max_cycles)
      : sc_module(name),
        program_(program),
        chip_(chip),
        layout_(layout),
        max_cycles_(max_cycles),
        event_("event"),
        watchdog_("watchdog") {
    SC_METHOD(on_event);
    sensitive << event_;
    SC_METHOD(on_watchdog);
    sensitive << watchdog_;
    dont_initialize();
  }
  void connect(RtlCore& core) { core_ = &core; }
  [[nodiscard]] RtlRun result();

  void on_start(int unit, Cycles n) override;
  void on_finish(int unit, Cycles n) override;
  void on_stop(bool stuck, Cycles n) override;
  void on_assertion(const std::string& text, Cycles n) override {
    fail(detail::concat(text, " failed (in cycle ", n, ")"));
  }

 private:
  void on_event();
  void on_watchdog();
  void fail(const std::string& text);
  void begin_section(Cycles n);
  void end_section(Cycles n);

  const isa::Program& program_;
  const isa::ChipConfig& chip_;
  const platform::DramLayout& layout_;
  Cycles max_cycles_;
  RtlCore* core_ = nullptr;
  std::size_t section_ = 0;
  bool begun_ = false, stuck_ = false, finished_ = false;
  std::array<std::uint32_t, kUnits> started_{};
  std::array<std::deque<hw::InstructionRecord>, kUnits> in_flight_;
  hw::RunResult result_;
  std::exception_ptr failure_;  // ours
  std::string ended_early_;     // the program's
  sc_core::sc_event event_, watchdog_;
};

void Driver::on_start(int unit, Cycles n) {
  const auto u = static_cast<std::size_t>(unit);
  hw::InstructionRecord record;
  record.queue = kQueueOfUnit[u];
  record.section = static_cast<std::uint16_t>(section_);
  record.index = started_[u]++;
  record.start = n;
  in_flight_[u].push_back(record);
}

void Driver::on_finish(int unit, Cycles n) {
  const auto u = static_cast<std::size_t>(unit);
  TESSERA_CHECK(!in_flight_[u].empty(), kUnitNames[u], " finishes in cycle ", n, " what never started");
  in_flight_[u].front().finish = n;
  result_.instructions.push_back(in_flight_[u].front());
  in_flight_[u].pop_front();
}

void Driver::on_stop(bool stuck, Cycles n) {
  stuck_ = stuck;
  notify_at(event_, n + 1, kDeliver);
}

void Driver::on_event() {
  if (finished_ || failure_ || !ended_early_.empty()) return;
  const Cycles n = now_cycle();
  try {
    if (begun_) {
      end_section(n);
      if (!ended_early_.empty()) return;
    } else if (max_cycles_ > 0) {
      notify_at(watchdog_, max_cycles_, kDeliver);
    }
    begin_section(n);
  } catch (const std::exception&) {
    failure_ = std::current_exception();
    sc_core::sc_stop();
  }
}

void Driver::on_watchdog() {
  if (finished_ || failure_ || !ended_early_.empty()) return;
  fail(detail::concat("section ", program_.sections[section_].name, " has not ended after ", now_cycle(), " cycles"));
}

void Driver::fail(const std::string& text) {
  ended_early_ = text;
  result_.cycles = now_cycle();
  sc_core::sc_stop();
}

void Driver::begin_section(Cycles n) {
  begun_ = true;
  if (section_ == program_.sections.size()) {
    finished_ = true;
    result_.cycles = n;
    sc_core::sc_stop();
    return;
  }
  const isa::Section& section = program_.sections[section_];
  result_.sections.push_back({section.name, false, n, n});
  started_.fill(0);
  for (std::uint32_t b = 0; b < platform::kBaseRegisters; ++b) {
    core_->write_register(reg::kBaseLow + b * 16, low(layout_.base[b]));
    core_->write_register(reg::kBaseHigh + b * 16, high(layout_.base[b]));
    core_->write_register(reg::kLimitLow + b * 16, low(layout_.limit[b]));
    core_->write_register(reg::kLimitHigh + b * 16, high(layout_.limit[b]));
  }
  for (const std::uint8_t queue : kQueueOfUnit) core_->write_register(reg::kWritePointer + queue * 16u, 0);
  for (std::size_t s = 0; s < section.streams.size(); ++s) {
    const isa::QueueStream& stream = section.streams[s];
    const std::uint64_t ring =
        layout_.base[isa::base_register_of(isa::BufferKind::instructions)] + layout_.stream_offset[section_][s];
    const std::uint32_t offset = stream.queue * 16u;
    core_->write_register(reg::kRingBaseLow + offset, low(ring));
    core_->write_register(reg::kRingBaseHigh + offset, high(ring));
    core_->write_register(reg::kRingWords + offset, static_cast<std::uint32_t>(chip_.cp.ring_words));
    core_->write_register(reg::kWritePointer + offset, static_cast<std::uint32_t>(stream.words.size()));
  }
  core_->write_register(reg::kControl, 1);
  core_->run();
}

void Driver::end_section(Cycles n) {
  const std::string& name = program_.sections[section_].name;
  const std::uint32_t status = core_->read_register(reg::kStatus);
  if ((status & 4) != 0) {
    return fail(detail::concat(
        "fault ", isa::to_string(static_cast<isa::FaultCause>(core_->read_register(reg::kFaultCause))), ": section ",
        name, ", ", isa::to_string(static_cast<isa::QueueId>(core_->read_register(reg::kFaultQueue))), " word ",
        core_->read_register(reg::kFaultIndex), " (stopped in cycle ", n, ")"));
  }
  if (stuck_) return fail(detail::concat("section ", name, " is stuck (in cycle ", n, ")"));
  for (std::uint32_t s = 0; s < reg::kSemaphoreCount; ++s) {
    const std::uint32_t value = core_->read_register(reg::kSemaphore + s * 4);
    if (value == 0) continue;
    return fail(
        detail::concat("section ", name, ": semaphore ", s, " is ", value, " at the section's end: expected 0"));
  }
  result_.sections.back().end = n;
  ++section_;
}

RtlRun Driver::result() {
  if (failure_) std::rethrow_exception(failure_);
  TESSERA_CHECK(finished_ || !ended_early_.empty(), "the simulation ended in section ", section_,
                " without an event left");
  RtlRun run;
  run.failure = ended_early_;
  for (const auto& unfinished : in_flight_) {
    result_.instructions.insert(result_.instructions.end(), unfinished.begin(), unfinished.end());
  }
  std::sort(result_.instructions.begin(), result_.instructions.end(),
            [](const hw::InstructionRecord& a, const hw::InstructionRecord& b) {
              return std::tie(a.section, a.queue, a.index) < std::tie(b.section, b.queue, b.index);
            });
  for (std::size_t u = 0; u < kUnits && finished_; ++u) {
    hw::UnitResult& unit = result_.units.emplace_back();
    unit.name = kUnitNames[u];
    core_->write_register(reg::kCounterSelect, kQueueOfUnit[u]);
    const auto counter = [&](std::uint32_t index) {
      const std::uint32_t at = reg::kCounter + 8 * index;
      return static_cast<Cycles>(core_->read_register(at) | std::uint64_t{core_->read_register(at + 4)} << 32);
    };
    unit.account.busy = counter(0);
    for (const StallCause cause : {StallCause::fault, StallCause::instruction_fetch, StallCause::semaphore_load,
                                   StallCause::sram_bank_conflict}) {
      unit.account.add(cause, counter(1 + static_cast<std::uint32_t>(cause)));
    }
    unit.account.idle = result_.cycles - unit.account.total();
  }
  result_.fetch_bytes = core_->axi_bytes(Manager::fetch);
  result_.load_bytes = core_->axi_bytes(Manager::load);
  result_.store_bytes = core_->axi_bytes(Manager::store);
  run.result = std::move(result_);
  run.sram = core_->sram();
  run.coverage = core_->coverage();
  return run;
}

}  // namespace

RtlRun run_on_rtl(const isa::Program& program, const isa::ChipConfig& chip, const platform::DramLayout& layout,
                  hw::DramStorage& dram, Cycles max_cycles) {
  check_slice(program, chip);
  tlm_base::Simulation simulation;
  Driver driver("driver", program, chip, layout, max_cycles);
  RtlCore core("core", chip, dram, driver);
  hw::MemorySystem memory("memory", hw::MemoryConfig::from(chip, 1));
  core.fetch_isock.bind(memory.tsock(0, Manager::fetch));
  core.load_isock.bind(memory.tsock(0, Manager::load));
  core.store_isock.bind(memory.tsock(0, Manager::store));
  driver.connect(core);
  simulation.run();
  return driver.result();
}

}  // namespace tessera::cosim
