#include "hw/cosim/wave.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "hw/common/error.hpp"
#include "hw/cosim/rtl_core.hpp"
#include "hw/platform/chip.hpp"
#include "isa/isa.hpp"
#include "isa/program/instructions.hpp"

namespace tessera::cosim {
namespace {

constexpr int kHeadBits = 32, kSemaphoreBits = 8, kCommandBits = 4, kBankBits = 8, kRowBits = 32;
constexpr std::int64_t kMillion = 1000000;

using Intervals = std::vector<std::pair<Cycles, Cycles>>;  // [begin, end)

/// In order; those that overlap or touch are one.
Intervals merged(Intervals intervals) {
  std::sort(intervals.begin(), intervals.end());
  Intervals out;
  for (const auto& [begin, end] : intervals) {
    if (!out.empty() && begin <= out.back().second) {
      out.back().second = std::max(out.back().second, end);
    } else {
      out.emplace_back(begin, end);
    }
  }
  return out;
}

/// In order of time, the last one told for a time, and only where the value changes.
std::vector<Wave::Change> in_order(std::vector<Wave::Change> told) {
  std::stable_sort(told.begin(), told.end(),
                   [](const Wave::Change& a, const Wave::Change& b) { return a.time < b.time; });
  std::vector<Wave::Change> out;
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < told.size(); ++i) {
    if (i + 1 < told.size() && told[i + 1].time == told[i].time) continue;
    if (told[i].value != value) out.push_back(told[i]);
    value = told[i].value;
  }
  return out;
}

}  // namespace

Wave::Wave(const isa::ChipConfig& chip) : clock_hz_(chip.clock_hz), tck_fs_(chip.dram.tck_fs) {
  for (int c = 0; c < chip.cores; ++c) {
    const std::string core = detail::concat("core", c, ".");
    CoreSignals& signals = cores_.emplace_back();
    for (int q = 0; q < hw::kQueues; ++q) {
      if (!platform::has_unit(chip, q)) continue;
      const std::string unit = core + isa::to_string(static_cast<isa::QueueId>(q)) + ".";
      signals.units[static_cast<std::size_t>(q)] = {declare(unit + "busy", 1), declare(unit + "bank_conflict", 1),
                                                    declare(unit + "head_valid", 1), declare(unit + "head", kHeadBits)};
    }
    signals.first_semaphore = signals_.size();
    for (int s = 0; s < kRtlSemaphores; ++s) declare(detail::concat(core, "semaphores.s", s), kSemaphoreBits);
  }
  for (int channel = 0; channel < chip.dram.channels; ++channel) {
    const std::string bus = detail::concat("dram.channel", channel, ".");
    buses_.push_back({declare(bus + "command", kCommandBits), declare(bus + "bank_group", kBankBits),
                      declare(bus + "bank", kBankBits), declare(bus + "row", kRowBits)});
  }
}

std::size_t Wave::declare(const std::string& name, int width) {
  signals_.push_back({name, width, {}});
  return signals_.size() - 1;
}

std::int64_t Wave::time_of(Cycles n) const {
  // In parts: a long run times 10^12 leaves 64 bits.
  const std::int64_t scaled = n % clock_hz_ * kMillion;
  return n / clock_hz_ * kMillion * kMillion + scaled / clock_hz_ * kMillion +
         scaled % clock_hz_ * kMillion / clock_hz_;
}

void Wave::on_conflict(int core, int queue, Cycles n) {
  const std::size_t signal =
      cores_.at(static_cast<std::size_t>(core)).units.at(static_cast<std::size_t>(queue)).conflict;
  set(signal, time_of(n), 1);
  set(signal, time_of(n + 1), 0);
}

void Wave::on_command(const dram::Command& command) {
  constexpr std::int64_t kFemtosecondsPerPicosecond = 1000;
  const BusSignals& bus = buses_.at(static_cast<std::size_t>(command.channel));
  const auto time = [this](DramClocks clock) { return clock * tck_fs_ / kFemtosecondsPerPicosecond; };
  set(bus.command, time(command.clock), 1 + static_cast<std::uint64_t>(command.kind));  // 0: none
  set(bus.command, time(command.clock + 1), 0);
  set(bus.bank_group, time(command.clock), static_cast<std::uint64_t>(command.bank_group));
  set(bus.bank, time(command.clock), static_cast<std::uint64_t>(command.bank));
  set(bus.row, time(command.clock), static_cast<std::uint64_t>(command.row));
}

void Wave::sample(Cycles n, const WavePins& pins) {
  const std::int64_t time = time_of(n);
  const auto pin = [&](std::size_t signal, std::uint64_t value) {
    const std::vector<Change>& changes = signals_[signal].changes;
    if (value != (changes.empty() ? 0 : changes.back().value)) set(signal, time, value);
  };
  const CoreSignals& core = cores_.front();
  for (std::size_t u = 0; u < kUnits; ++u) {
    const UnitSignals& unit = core.units[kQueueOfUnit[u]];
    if (unit.busy == kNone) continue;
    pin(unit.busy, pins.busy >> u & 1u);
    pin(unit.conflict, pins.conflict >> u & 1u);
    pin(unit.head_valid, pins.head_valid >> u & 1u);
    pin(unit.head, pins.read_pointer[u]);
  }
  for (std::size_t s = 0; s < pins.semaphores.size(); ++s) pin(core.first_semaphore + s, pins.semaphores[s]);
}

void Wave::set_high(std::size_t signal, Intervals intervals) {
  for (const auto& [begin, end] : merged(std::move(intervals))) {
    set(signal, time_of(begin), 1);
    set(signal, time_of(end), 0);
  }
}

void Wave::add_records(const isa::Program& program, const hw::RunResult& run) {
  using Place = std::tuple<int, int, int>;  // section, core, queue
  std::map<Place, std::vector<isa::Instruction>> streams;
  for (std::size_t s = 0; s < program.sections.size(); ++s) {
    for (const isa::QueueStream& stream : program.sections[s].streams) {
      streams[{static_cast<int>(s), stream.core, stream.queue}] = isa::decode_stream(stream);
    }
  }
  for (const hw::SectionResult& section : run.sections) {
    if (section.host) continue;
    for (const CoreSignals& core : cores_) {
      for (const UnitSignals& unit : core.units) {
        if (unit.head != kNone) set(unit.head, time_of(section.start), 0);
      }
    }
  }
  std::map<Place, std::uint64_t> words;
  std::map<std::size_t, Intervals> high;                             // by signal of one bit
  std::map<std::size_t, std::map<Cycles, std::int64_t>> semaphores;  // what is added to each, by cycle
  for (const hw::InstructionRecord& record : run.instructions) {
    const Place place{record.section, record.core, record.queue};
    const isa::Instruction& instruction = streams.at(place).at(record.index);
    const CoreSignals& core = cores_.at(record.core);
    const UnitSignals& unit = core.units.at(record.queue);
    high[unit.busy].emplace_back(record.start, record.finish);
    high[unit.head_valid].emplace_back(record.ready, record.start + 1);
    words[place] += isa::encode(instruction).size();
    set(unit.head, time_of(record.start + 1), words[place]);
    for (const isa::Wait& wait : instruction.header.waits) {
      if (wait.count == 0 || wait.semaphore >= kRtlSemaphores) continue;  // global ones are no signals
      semaphores[core.first_semaphore + wait.semaphore][record.start + 1] -= wait.count;
    }
    for (const isa::Signal& signal : instruction.header.signals) {
      if (signal.amount == 0 || signal.semaphore >= kRtlSemaphores) continue;
      semaphores[core.first_semaphore + signal.semaphore][record.finish + 1] += signal.amount;
    }
  }
  for (auto& [signal, intervals] : high) set_high(signal, std::move(intervals));
  for (const auto& [signal, steps] : semaphores) {
    std::int64_t value = 0;
    for (const auto& [cycle, step] : steps) {
      value += step;
      set(signal, time_of(cycle), static_cast<std::uint64_t>(value));
    }
  }
}

std::vector<Wave::Signal> Wave::signals() const {
  std::vector<Signal> out;
  for (const Signal& signal : signals_) out.push_back({signal.name, signal.width, in_order(signal.changes)});
  std::sort(out.begin(), out.end(), [](const Signal& a, const Signal& b) { return a.name < b.name; });
  return out;
}

std::pair<std::string, std::string> first_different_edge(const Wave& model, const Wave& rtl) {
  const std::vector<Wave::Signal> a = model.signals(), b = rtl.signals();
  TESSERA_CHECK(a.size() == b.size(), "waves of ", a.size(), " and ", b.size(), " signals");
  const auto text = [](const Wave::Signal& signal, std::size_t k) {
    if (k >= signal.changes.size()) return detail::concat(signal.name, " does not change any more");
    const Wave::Change& change = signal.changes[k];
    return detail::concat(signal.name, " becomes ", change.value, " at ", change.time, " ps");
  };
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::pair<std::string, std::string> edge;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto& x = a[i].changes;
    const auto& y = b[i].changes;
    std::size_t k = 0;
    while (k < x.size() && k < y.size() && x[k] == y[k]) ++k;
    std::int64_t at = first;
    if (k < x.size()) at = std::min(at, x[k].time);
    if (k < y.size()) at = std::min(at, y[k].time);
    if (at >= first) continue;
    first = at;
    edge = {text(a[i], k), text(b[i], k)};
  }
  return edge;
}

}  // namespace tessera::cosim
