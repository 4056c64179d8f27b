#include "hw/cosim/rtl_run.hpp"

#include <algorithm>
#include <exception>
#include <map>
#include <tuple>
#include <utility>

#include "hw/common/error.hpp"
#include "hw/cosim/slice.hpp"
#include "hw/models/cp/cp_core.hpp"
#include "hw/models/interconnect/memory_system.hpp"
#include "hw/models/load/dma_walk.hpp"
#include "hw/platform/chip.hpp"
#include "hw/tlm/clock.hpp"
#include "hw/tlm/kernel.hpp"
#include "isa/isa.hpp"
#include "isa/program/instructions.hpp"
#include "isa/semantics/dma.hpp"

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
         const platform::DramLayout& layout, const platform::RunOptions& options)
      : sc_module(name),
        program_(program),
        chip_(chip),
        layout_(layout),
        options_(options),
        event_("event"),
        watchdog_("watchdog"),
        reset_("reset") {
    SC_METHOD(on_event);
    sensitive << event_;
    SC_METHOD(on_watchdog);
    sensitive << watchdog_;
    dont_initialize();
    SC_METHOD(on_reset);
    sensitive << reset_;
    dont_initialize();
  }
  void connect(RtlCore& core, hw::MemorySystem& memory) {
    core_ = &core;
    memory_ = &memory;
    core.connect(memory);
  }
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
  void on_reset();
  void fail(const std::string& text);
  void begin_section(Cycles n);
  void begin_npu_section(const isa::Section& section);
  void decode_section(const isa::Section& section);
  [[nodiscard]] Bytes moved_bytes(const semantics::DmaShape& shape, std::size_t base_register,
                                  Bytes buffer_bytes) const;
  void begin_host_step(const isa::Section& section, Cycles n);
  /// True if the frame is over, and with it the run.
  bool end_frame(Cycles n);
  void end_section(Cycles n);
  [[nodiscard]] std::string wrong_register(const isa::Section& section);
  [[nodiscard]] hw::UnitResult unit_result(std::size_t unit);
  void add_platform_units();

  const isa::Program& program_;
  const isa::ChipConfig& chip_;
  const platform::DramLayout& layout_;
  const platform::RunOptions& options_;
  RtlCore* core_ = nullptr;
  hw::MemorySystem* memory_ = nullptr;
  int frame_ = 0;
  std::size_t section_ = 0;
  bool begun_ = false, finished_ = false, in_host_step_ = false;
  bool stopped_ = false, stuck_ = false;  // the section that ran: is over, as it should not be
  Cycles host_cycles_ = 0;
  std::array<std::vector<isa::Instruction>, kUnits> decoded_;  // of the section that runs
  std::array<std::int64_t, kUnits> macs_issued_{};
  std::array<std::uint32_t, kUnits> started_{};
  std::array<std::deque<hw::InstructionRecord>, kUnits> in_flight_;
  hw::RunResult result_;
  std::exception_ptr failure_;  // ours
  std::string ended_early_;     // the program's
  sc_core::sc_event event_, watchdog_, reset_;
};

/// AXI bytes of the bursts of a DMA instruction.
Bytes Driver::moved_bytes(const semantics::DmaShape& shape, std::size_t base_register, Bytes buffer_bytes) const {
  hw::DmaConfig config;
  config.data_bytes = chip_.axi.data_bytes;
  config.max_burst_beats = chip_.axi.max_burst_beats;
  config.buffer_beats = buffer_bytes / chip_.axi.data_bytes;
  Bytes bytes = 0;
  for (hw::BurstWalk bursts(shape, layout_.base[base_register], config); !bursts.done(); bursts.advance()) {
    bytes += bursts.beats() * config.data_bytes;
  }
  return bytes;
}

void Driver::on_start(int unit, Cycles n) {
  const auto u = static_cast<std::size_t>(unit);
  hw::InstructionRecord record;
  record.queue = kQueueOfUnit[u];
  record.section = static_cast<std::uint16_t>(section_);
  record.index = started_[u]++;
  const isa::Instruction& instruction = decoded_[u].at(record.index);
  record.layer = instruction.header.layer;
  if (const auto* load = std::get_if<isa::Load>(&instruction.body)) {
    record.dram_read = moved_bytes(semantics::dma_shape(*load), load->base_register, chip_.load.landing_bytes);
  } else if (const auto* store = std::get_if<isa::Store>(&instruction.body)) {
    record.dram_write = moved_bytes(semantics::dma_shape(*store), store->base_register, chip_.store.buffer_bytes);
  }
  if (instruction.header.opcode != isa::Opcode::nop && record.queue >= static_cast<int>(isa::QueueId::conv0)) {
    macs_issued_[u] += platform::make_plan(instruction, chip_)->macs_issued();
  }
  record.start = n;
  in_flight_[u].push_back(record);
}

void Driver::on_finish(int unit, Cycles n) {
  const auto u = static_cast<std::size_t>(unit);
  TESSERA_CHECK(!in_flight_[u].empty(), kUnitNames[u], " finishes in cycle ", n, " what never started");
  in_flight_[u].front().finish = n;
  if (frame_ == 0) result_.instructions.push_back(in_flight_[u].front());
  in_flight_[u].pop_front();
}

void Driver::on_stop(bool stuck, Cycles n) {
  stopped_ = true;
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
    } else {
      begun_ = true;
      if (options_.max_cycles > 0) notify_at(watchdog_, options_.max_cycles, kDeliver);
      if (options_.soft_reset > 0) notify_at(reset_, options_.soft_reset, kDeliver);
      if (options_.begin_frame) options_.begin_frame(0);
    }
    begin_section(n);
  } catch (const std::exception&) {
    failure_ = std::current_exception();
    sc_core::sc_stop();
  }
}

void Driver::on_reset() {
  const bool begins = frame_ > 0 || result_.sections.back().start == now_cycle();
  if (core_->running() && !begins) core_->write_register_in_cycle(reg::kControl, 2);
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

bool Driver::end_frame(Cycles n) {
  result_.frame_ends.push_back(n);
  if (options_.end_frame) options_.end_frame(frame_);
  section_ = 0;
  if (++frame_ == options_.frames) {
    finished_ = true;
    result_.cycles = n;
    sc_core::sc_stop();
    return true;
  }
  if (options_.begin_frame) options_.begin_frame(frame_);
  return false;
}

void Driver::begin_section(Cycles n) {
  while (section_ == program_.sections.size()) {
    if (end_frame(n)) return;
  }
  const isa::Section& section = program_.sections[section_];
  in_host_step_ = section.host_step >= 0;
  if (frame_ == 0) result_.sections.push_back({section.name, in_host_step_, n, n});
  if (in_host_step_) {
    begin_host_step(section, n);
  } else {
    begin_npu_section(section);
  }
}

void Driver::begin_host_step(const isa::Section& section, Cycles n) {
  const platform::HostCost cost =
      options_.host_step(program_.host_steps.at(static_cast<std::size_t>(section.host_step)));
  const Cycles cycles = std::max<Cycles>(cost.cycles, 1);
  host_cycles_ += cycles;
  result_.host_read_bytes += cost.read_bytes;
  result_.host_write_bytes += cost.write_bytes;
  notify_at(event_, n + cycles, kDeliver);
}

/// Its instructions, and from them the signals that each semaphore gets.
void Driver::decode_section(const isa::Section& section) {
  std::map<std::uint32_t, std::uint32_t> expected;  // by register index
  for (std::size_t u = 0; u < kUnits; ++u) {
    decoded_[u].clear();
    for (const isa::QueueStream& stream : section.streams) {
      if (stream.queue == kQueueOfUnit[u]) decoded_[u] = isa::decode_stream(stream);
    }
    for (const isa::Instruction& instruction : decoded_[u]) {
      for (const isa::Signal& signal : instruction.header.signals) {
        if (signal.amount != 0) ++expected[signal.semaphore * 16u + kQueueOfUnit[u]];
      }
    }
  }
  for (const auto& [index, count] : expected) core_->write_register(reg::kExpectedSignals + index * 4, count);
}

void Driver::begin_npu_section(const isa::Section& section) {
  started_.fill(0);
  stopped_ = false;
  decode_section(section);
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
  if (frame_ == 0) result_.sections.back().end = n;
  const isa::Section& section = program_.sections[section_++];
  const std::string& name = section.name;
  if (in_host_step_) return;
  const std::uint32_t status = core_->read_register(reg::kStatus);
  if ((status & 4) != 0) {
    const auto cause = static_cast<isa::FaultCause>(core_->read_register(reg::kFaultCause));
    const auto queue = static_cast<int>(core_->read_register(reg::kFaultQueue));
    const std::uint32_t word = core_->read_register(reg::kFaultIndex);
    if (options_.on_fault) options_.on_fault(queue, word, cause, n);
    return fail(detail::concat("fault ", isa::to_string(cause), ": section ", name, ", ",
                               isa::to_string(static_cast<isa::QueueId>(queue)), " word ", word, " (stopped in cycle ",
                               n, ")"));
  }
  if (stuck_) {
    if (options_.on_stuck) options_.on_stuck(n);
    return fail(detail::concat("section ", name, " is stuck (in cycle ", n, ")"));
  }
  const std::string wrong = wrong_register(section);
  if (!wrong.empty()) fail(detail::concat("section ", name, ": ", wrong));
}

/// What a driver may rely on behind a section that ran to its end; empty if it holds.
std::string Driver::wrong_register(const isa::Section& section) {
  const auto expect = [&](const char* what, std::uint32_t index, std::uint32_t offset, std::uint32_t expected) {
    const std::uint32_t value = core_->read_register(offset);
    if (value == expected) return std::string();
    return detail::concat(what, " ", index, " is ", value, " at the section's end: expected ", expected);
  };
  std::string wrong = expect("isa_version", 0, reg::kIsaVersion, isa::kIsaVersion);
  for (const isa::QueueStream& stream : section.streams) {
    if (!wrong.empty() || options_.soft_reset > 0) break;  // which may have come in mid-section
    wrong = expect("read_pointer", stream.queue, reg::kReadPointer + stream.queue * 4u,
                   static_cast<std::uint32_t>(stream.words.size()));
  }
  for (std::uint32_t s = 0; s < reg::kSemaphoreCount && wrong.empty(); ++s) {
    wrong = expect("semaphore", s, reg::kSemaphore + s * 4, 0);
  }
  return wrong;
}

hw::UnitResult Driver::unit_result(std::size_t unit) {
  hw::UnitResult out;
  out.name = kUnitNames[unit];
  out.macs_issued = macs_issued_[unit];
  core_->write_register(reg::kCounterSelect, kQueueOfUnit[unit]);
  const auto counter = [&](std::uint32_t index) {
    const std::uint32_t at = reg::kCounter + 8 * index;
    return static_cast<Cycles>(core_->read_register(at) | std::uint64_t{core_->read_register(at + 4)} << 32);
  };
  out.account.busy = counter(0);
  for (std::uint32_t c = 0; c < static_cast<std::uint32_t>(StallCause::host); ++c) {
    out.account.add(static_cast<StallCause>(c), counter(1 + c));
  }
  out.account.add(StallCause::host, host_cycles_);
  out.account.idle = result_.cycles - out.account.total();
  return out;
}

/// The command processor, the host, and every unit of the chip that the RTL lacks: idle, it had no instructions.
void Driver::add_platform_units() {
  std::vector<hw::UnitResult> rtl = std::move(result_.units);
  result_.units.clear();
  for (int q = 0; q < hw::kQueues; ++q) {
    if (!platform::has_unit(chip_, q)) continue;
    const char* name = isa::to_string(static_cast<isa::QueueId>(q));
    const auto same = std::find_if(rtl.begin(), rtl.end(), [&](const hw::UnitResult& u) { return u.name == name; });
    hw::UnitResult& out = result_.units.emplace_back(same == rtl.end() ? hw::UnitResult{} : *same);
    if (same != rtl.end()) continue;
    out.name = name;
    out.account.add(StallCause::host, host_cycles_);
    out.account.idle = result_.cycles - host_cycles_;
  }
  hw::UnitResult& cp = result_.units.emplace_back();
  cp.name = "cp";
  cp.account.busy = core_->fetch_busy();
  cp.account.add(StallCause::host, host_cycles_);
  cp.account.idle = result_.cycles - cp.account.total();
  hw::UnitResult& host = result_.units.emplace_back();
  host.name = "host";
  host.account.busy = host_cycles_;
  host.account.idle = result_.cycles - host_cycles_;
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
  if (finished_ || stopped_) {
    for (std::size_t u = 0; u < kUnits; ++u) result_.units.push_back(unit_result(u));
    add_platform_units();
    const hw::MemoryResult memory = memory_->results(result_.cycles);
    result_.channels = memory.channels;
    result_.dram_bursts = memory.dram_bursts;
    result_.cache = memory.cache;
    result_.traffic = memory.traffic;
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
                  hw::DramStorage& dram, const platform::RunOptions& options, Wave* wave) {
  check_slice(program, chip);
  platform::check_program(program, chip, options);
  tlm_base::Simulation simulation;
  Driver driver("driver", program, chip, layout, options);
  RtlCore core("core", chip, dram, driver);
  hw::MemorySystem memory("memory", hw::MemoryConfig::from(chip, 1));
  if (options.memory_observer != nullptr) memory.set_observer(options.memory_observer);
  if (options.dram_observer != nullptr) memory.set_command_observer(options.dram_observer);
  core.fetch_isock.bind(memory.tsock(0, Manager::fetch));
  core.load_isock.bind(memory.tsock(0, Manager::load));
  core.store_isock.bind(memory.tsock(0, Manager::store));
  driver.connect(core, memory);
  if (wave != nullptr) core.observe([wave](Cycles n, const WavePins& pins) { wave->sample(n, pins); });
  simulation.run();
  return driver.result();
}

}  // namespace tessera::cosim
