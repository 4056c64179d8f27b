#include "hw/platform/runner.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>
#include <utility>

#include "hw/common/error.hpp"
#include "hw/tlm/clock.hpp"
#include "isa/program/instructions.hpp"
#include "isa/semantics/stuck.hpp"

namespace tessera::platform {

using hw::CpState;
using tlm_base::kDeliver;
using tlm_base::now_cycle;
using tlm_base::Process;

namespace reg = isa::registers;

namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }
std::uint32_t low(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
std::uint32_t high(std::uint64_t value) { return static_cast<std::uint32_t>(value >> 32); }

}  // namespace

Runner::Runner(const sc_core::sc_module_name& name, const isa::Program& program, const isa::ChipConfig& config,
               const DramLayout& layout, hw::DramStorage& dram, const RunOptions& options)
    : sc_module(name),
      program_(program),
      config_(config),
      layout_(layout),
      options_(options),
      dram_(dram, layout),
      next_(Process::of<&Runner::on_event>(kDeliver, *this)),
      watchdog_(Process::of<&Runner::on_watchdog>(kDeliver, *this)),
      reset_(Process::of<&Runner::on_reset>(kDeliver, *this)) {
  for (int i = 0; i < config.cores; ++i) {
    CoreSide& side = cores_.emplace_back();
    side.control_isock = std::make_unique<tlm_utils::simple_initiator_socket<Runner>>(
        ("control" + std::to_string(i) + "_isock").c_str());
    if (!options.timing_only) side.sram.assign(static_cast<std::size_t>(config.sram.banks * config.sram.size_bytes), 0);
  }
  next_.notify(0);
}

Runner::~Runner() = default;

void Runner::connect(Chip& chip) {
  chip_ = &chip;
  for (int i = 0; i < chip.cores(); ++i) {
    cores_[at(i)].control_isock->bind(chip.core(i).cp->control_tsock);
    if (options_.foreign_units != nullptr) options_.foreign_units->connect(i, cores_[at(i)].sram);
    if (options_.ideal_overlap) {
      chip.core(i).cp->replace_semaphores([this, i](int queue) { return lacks_dependence(i, queue); });
    }
  }
}

void Runner::write_register(int core, std::uint32_t offset, std::uint32_t value) {
  tlm::tlm_generic_payload trans;
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  std::array<std::uint8_t, 4> data{};
  std::memcpy(data.data(), &value, data.size());
  trans.set_command(tlm::TLM_WRITE_COMMAND);
  trans.set_address(offset);
  trans.set_data_ptr(data.data());
  trans.set_data_length(4);
  trans.set_streaming_width(4);
  trans.set_byte_enable_ptr(nullptr);
  trans.set_dmi_allowed(false);
  trans.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
  (*cores_[at(core)].control_isock)->b_transport(trans, delay);
  TESSERA_CHECK(trans.is_response_ok(), "register ", offset, " of core ", core, " refused a write");
}

void Runner::next(Cycles n) {
  if (n == 0 && section_ == 0 && frame_ == 0 && result_.sections.empty()) {
    if (options_.max_cycles > 0) watchdog_.notify(options_.max_cycles);
    if (options_.soft_reset > 0) reset_.notify(options_.soft_reset);
    if (options_.begin_frame) options_.begin_frame(0);
    begin_section(0);
    return;
  }
  if (in_host_step_ ? n == host_end_ : all_stopped()) end_section(n);
}

void Runner::on_event() {
  if (finished_ || failure_) return;
  // The kernel would turn what escapes a process into a report without type.
  try {
    next(now_cycle());
  } catch (const std::exception&) {
    failure_ = std::current_exception();
    tlm_base::Agenda::current().stop();
  }
}

void Runner::on_reset() {
  // A section that ends or begins in this very cycle is left alone, in whichever order their events come.
  const bool runs = !finished_ && !failure_ && !in_host_step_ && frame_ == 0 && !all_stopped() &&
                    result_.sections.back().start < now_cycle();
  for (int i = 0; runs && i < chip_->cores(); ++i) write_register(i, reg::kControl, 2);
}

void Runner::on_watchdog() {
  if (finished_ || failure_) return;
  fail(detail::concat("watchdog: section ", program_.sections[section_].name, " of frame ", frame_,
                      " is not finished after ", options_.max_cycles, " cycles"));
}

void Runner::begin_section(Cycles n) {
  while (true) {
    if (section_ == program_.sections.size()) {
      result_.frame_ends.push_back(n);
      if (options_.end_frame) options_.end_frame(frame_);
      section_ = 0;
      if (++frame_ == options_.frames) {
        finished_ = true;
        result_.cycles = n;
        tlm_base::Agenda::current().stop();
        return;
      }
      if (options_.begin_frame) options_.begin_frame(frame_);
      if (program_.sections.empty()) continue;
    }
    break;
  }
  const isa::Section& section = program_.sections[section_];
  if (frame_ == 0) result_.sections.push_back({section.name, section.host_step >= 0, n, 0});
  if (section.host_step >= 0) {
    begin_host_step(section, n);
  } else {
    begin_npu_section(section);
  }
}

void Runner::begin_host_step(const isa::Section& section, Cycles n) {
  HostCost cost = options_.host_step(program_.host_steps.at(at(section.host_step)));
  cost.cycles = std::max<Cycles>(cost.cycles, 1);  // at least the cycle in which it is told apart from its neighbours
  in_host_step_ = true;
  host_.busy += cost.cycles;
  result_.host_read_bytes += cost.read_bytes;
  result_.host_write_bytes += cost.write_bytes;
  for (int i = 0; i < chip_->cores(); ++i) chip_->core(i).cp->account_host(n, n + cost.cycles);
  host_end_ = n + cost.cycles;
  next_.notify(host_end_);
}

void Runner::decode_section(const isa::Section& section) {
  decoded_.clear();
  for (const isa::QueueStream& stream : section.streams) {
    DecodedStream& out = decoded_.emplace_back();
    out.core = stream.core;
    out.queue = stream.queue;
    isa::for_each_instruction(stream, [&](isa::Instruction&& instruction, std::size_t, std::size_t word) {
      out.first_word.push_back(static_cast<std::uint32_t>(word));
      out.instructions.push_back(std::move(instruction));
    });
  }
}

void Runner::route_semaphores(const isa::Section& section) {
  waiter_.fill(-1);
  for (const DecodedStream& stream : decoded_) {
    for (const isa::Instruction& instruction : stream.instructions) {
      for (const isa::Wait& wait : instruction.header.waits) {
        if (wait.count == 0 || wait.semaphore < hw::kLocalSemaphores) continue;
        int& waiter = waiter_[wait.semaphore];
        if (waiter >= 0 && waiter != stream.core) {
          fail(detail::concat("section ", section.name, ": cores ", waiter, " and ", int{stream.core},
                              " both wait for global semaphore ", int{wait.semaphore}));
        }
        waiter = stream.core;
      }
    }
  }
  std::map<std::pair<int, std::uint32_t>, std::uint32_t> expected;  // by core and register index
  for (const DecodedStream& stream : decoded_) {
    for (const isa::Instruction& instruction : stream.instructions) {
      for (const isa::Signal& signal : instruction.header.signals) {
        if (signal.amount == 0) continue;
        const int target = signal.semaphore >= hw::kLocalSemaphores ? waiter_[signal.semaphore] : stream.core;
        if (target < 0) continue;
        const int queue = target == stream.core ? stream.queue : hw::kQueues;
        ++expected[{target, signal.semaphore * 16u + static_cast<std::uint32_t>(queue)}];
      }
    }
  }
  for (const auto& [place, count] : expected) {
    write_register(place.first, reg::kExpectedSignals + place.second * 4, count);
  }
}

void Runner::begin_npu_section(const isa::Section& section) {
  decode_section(section);
  route_semaphores(section);
  if (failure_) return;
  if (options_.ideal_overlap) {
    needs_ = true_dependences(decoded_, config_, layout_);
    finishes_.assign(cores_.size(), {});
  }
  const std::size_t instructions = isa::base_register_of(isa::BufferKind::instructions);
  for (int i = 0; i < chip_->cores(); ++i) {
    for (std::uint32_t b = 0; b < kBaseRegisters; ++b) {
      write_register(i, reg::kBaseLow + b * 16, low(layout_.base[b]));
      write_register(i, reg::kBaseHigh + b * 16, high(layout_.base[b]));
      write_register(i, reg::kLimitLow + b * 16, low(layout_.limit[b]));
      write_register(i, reg::kLimitHigh + b * 16, high(layout_.limit[b]));
    }
    for (std::uint32_t q = 0; q < static_cast<std::uint32_t>(hw::kQueues); ++q) {
      write_register(i, reg::kWritePointer + q * 16, 0);
    }
  }
  for (std::size_t s = 0; s < section.streams.size(); ++s) {
    const isa::QueueStream& stream = section.streams[s];
    const std::uint64_t ring = layout_.base[instructions] + layout_.stream_offset[section_][s];
    const std::uint32_t offset = std::uint32_t{stream.queue} * 16;
    write_register(stream.core, reg::kRingBaseLow + offset, low(ring));
    write_register(stream.core, reg::kRingBaseHigh + offset, high(ring));
    write_register(stream.core, reg::kRingWords + offset, static_cast<std::uint32_t>(config_.cp.ring_words));
    write_register(stream.core, reg::kWritePointer + offset, static_cast<std::uint32_t>(stream.words.size()));
  }
  for (int i = 0; i < chip_->cores(); ++i) {
    cores_[at(i)].state = CpState::running;
    write_register(i, reg::kControl, 1);
  }
}

bool Runner::all_stopped() const {
  for (int i = 0; i < chip_->cores(); ++i) {
    if (cores_[at(i)].state == CpState::running || chip_->core(i).cp->remote_pending()) return false;
  }
  return true;
}

void Runner::on_state(int core, CpState state) {
  cores_[at(core)].state = state;
  // Another core may still move in this cycle: looked at again at the begin of the next.
  if (all_stopped()) next_.notify(now_cycle() + 1);
}

void Runner::end_section(Cycles n) {
  if (!observed_.empty()) tell_observer();
  if (!in_host_step_) {
    for (int i = 0; i < chip_->cores(); ++i) {
      chip_->core(i).cp->account_until(n);
      const hw::CpFault& fault = chip_->core(i).cp->core().fault();
      if (!fault.any) continue;
      if (options_.on_fault) options_.on_fault(fault.queue, fault.index, fault.cause, n);
      return fail(fault_text(i, n));
    }
    const bool stuck =
        std::any_of(cores_.begin(), cores_.end(), [](const CoreSide& side) { return side.state == CpState::stuck; });
    if (stuck && options_.on_stuck) options_.on_stuck(n);
    if (stuck) return fail(stuck_text(n));
    for (int i = 0; i < chip_->cores(); ++i) {
      for (int s = 0; s < hw::kSemaphores; ++s) {
        const int value = chip_->core(i).cp->core().semaphore(s);
        if (value == 0) continue;
        return fail(
            detail::concat("section ", program_.sections[section_].name, ": ",
                           semantics::semaphore_text(static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(s)),
                           " is ", value, " at the section's end: expected 0"));
      }
    }
  }
  in_host_step_ = false;
  if (frame_ == 0) result_.sections.back().end = n;
  ++section_;
  begin_section(n);
}

void Runner::on_finish(int core, const isa::Instruction& instruction, const hw::InstructionRecord& record) {
  const bool foreign = options_.foreign_units != nullptr && options_.foreign_units->has(record.queue);
  if (!options_.timing_only && !foreign && instruction.header.opcode != isa::Opcode::nop) {
    semantics::Memory memory;
    memory.sram = cores_[at(core)].sram.data();
    memory.sram_bytes = cores_[at(core)].sram.size();
    memory.dram = &dram_;
    try {
      semantics::execute_checked(instruction, config_, memory);
    } catch (const std::exception&) {
      if (!failure_) failure_ = std::current_exception();
      tlm_base::Agenda::current().stop();
    }
  }
  if (options_.ideal_overlap) {
    finishes_[at(core)][record.queue].push_back(record.finish);
    for (int i = 0; i < chip_->cores(); ++i) chip_->core(i).cp->step_until(record.finish + 2);
  }
  hw::InstructionRecord complete = record;
  complete.section = static_cast<std::uint16_t>(section_);
  if (options_.observer != nullptr) {
    if (!observed_.empty() && observed_.front().second.finish < complete.finish) tell_observer();
    observed_.emplace_back(instruction, complete);
  }
  if (frame_ == 0) result_.instructions.push_back(complete);
}

bool Runner::lacks_dependence(int core, int queue) const {
  const Cycles n = now_cycle();
  for (std::size_t s = 0; s < decoded_.size(); ++s) {
    if (decoded_[s].core != core || decoded_[s].queue != queue) continue;
    const std::uint32_t head = chip_->core(core).cp->started(queue);
    for (const Dependence& need : needs_[s].at(head)) {
      const std::vector<Cycles>& finishes = finishes_[need.core][need.queue];
      // As with a semaphore: finish to start takes two cycles.
      if (finishes.size() < need.count || finishes[need.count - 1] + 2 > n) return true;
    }
  }
  return false;
}

void Runner::tell_observer() {
  // The cores' processes run in any order within a cycle.
  std::sort(observed_.begin(), observed_.end(), [](const auto& a, const auto& b) {
    return std::tie(a.second.core, a.second.queue) < std::tie(b.second.core, b.second.queue);
  });
  for (const auto& [instruction, record] : observed_) options_.observer->on_instruction(instruction, record);
  observed_.clear();
}

void Runner::on_global_signal(int core, const isa::Signal& signal) {
  if (options_.ideal_overlap) return;
  const int waiter = waiter_[signal.semaphore];
  if (waiter < 0) {
    fail(detail::concat("core ", core, " signals global semaphore ", int{signal.semaphore}, ", nobody waits for it"));
    return;
  }
  // Visible semaphore_hop_cycles later than a local one.
  chip_->core(waiter).cp->remote_signal(now_cycle() + config_.chip.semaphore_hop_cycles, signal);
}

void Runner::fail(const std::string& text) {
  if (failure_) return;
  failure_ = std::make_exception_ptr(ProgramError(text));
  tlm_base::Agenda::current().stop();
}

void Runner::check_outcome() const {
  if (failure_) std::rethrow_exception(failure_);
  TESSERA_CHECK(finished_, "the simulation ended in cycle ", now_cycle(), " without an event left, in section ",
                section_);
}

}  // namespace tessera::platform
