#include "hw/cosim/comparison.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "hw/common/error.hpp"
#include "isa/isa.hpp"
#include "isa/program/instructions.hpp"
#include "isa/semantics/footprint.hpp"

namespace tessera::cosim {
namespace {

constexpr std::size_t kEventsTold = 6;  // of each side

const char* queue_name(int queue) { return isa::to_string(static_cast<isa::QueueId>(queue)); }

/// The last starts and finishes up to a cycle, a line each.
std::string last_events(const hw::RunResult& run, Cycles until) {
  std::vector<std::pair<Cycles, std::string>> events;
  for (const hw::InstructionRecord& r : run.instructions) {
    const std::string who = detail::concat(queue_name(r.queue), " instruction ", r.index);
    if (r.start <= until) events.emplace_back(r.start, who + " starts");
    if (r.finish > 0 && r.finish <= until) events.emplace_back(r.finish, who + " finishes");
  }
  std::stable_sort(events.begin(), events.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string text;
  for (std::size_t i = events.size() > kEventsTold ? events.size() - kEventsTold : 0; i < events.size(); ++i) {
    text += detail::concat("    cycle ", events[i].first, ": ", events[i].second, "\n");
  }
  return text.empty() ? "    none\n" : text;
}

}  // namespace

template <typename T>
void Comparison::cycles(const T& model, const T& rtl, Cycles when, const std::string& what) {
  if (model == rtl) return;
  ++cycle_differences_;
  note(when, detail::concat(what, ": model ", model, ", RTL ", rtl));
}

void Comparison::note(Cycles when, const std::string& text) {
  if (!first_.empty() && when >= when_) return;
  when_ = when;
  first_ = text;
}

std::string Comparison::first() const {
  if (first_.empty()) return "";
  std::string text = when_ < kNever ? detail::concat("cycle ", when_, ": ", first_) : first_;
  text += "\n  last events of the model:\n" + last_events(model_, when_);
  text += "  last events of the RTL:\n" + last_events(rtl_, when_);
  return text;
}

const isa::Instruction* Comparison::instruction_of(const hw::InstructionRecord& record) const {
  if (decoded_.empty()) {
    for (const isa::Section& section : program_.sections) {
      auto& streams = decoded_.emplace_back();
      for (const isa::QueueStream& stream : section.streams) streams.push_back(isa::decode_stream(stream));
    }
  }
  if (record.section >= decoded_.size()) return nullptr;
  const isa::Section& section = program_.sections[record.section];
  for (std::size_t s = 0; s < section.streams.size(); ++s) {
    const auto& instructions = decoded_[record.section][s];
    if (section.streams[s].queue == record.queue && record.index < instructions.size()) {
      return &instructions[record.index];
    }
  }
  return nullptr;
}

std::string Comparison::name(const hw::InstructionRecord& record) const {
  std::string text =
      detail::concat("section ", record.section, ", ", queue_name(record.queue), " instruction ", record.index);
  const isa::Instruction* instruction = instruction_of(record);
  if (instruction == nullptr) return text;
  text += detail::concat(" (", isa::to_string(instruction->header.opcode), ", layer ", instruction->header.layer);
  if (instruction->header.layer < program_.layers.size()) {
    text += " " + program_.layers[instruction->header.layer].name;
  }
  return text + ")";
}

void Comparison::compare_instructions() {
  std::size_t m = 0, r = 0;
  const auto key = [](const hw::InstructionRecord& i) {
    return std::array<std::uint32_t, 3>{i.section, i.queue, i.index};
  };
  while (m < model_.instructions.size() || r < rtl_.instructions.size()) {
    const bool only_model = r == rtl_.instructions.size() ||
                            (m < model_.instructions.size() && key(model_.instructions[m]) < key(rtl_.instructions[r]));
    const bool only_rtl =
        !only_model && (m == model_.instructions.size() || key(rtl_.instructions[r]) < key(model_.instructions[m]));
    const hw::InstructionRecord& one = only_rtl ? rtl_.instructions[r] : model_.instructions[m];
    if (only_model || only_rtl) {
      cycles(int{only_model}, int{only_rtl}, one.start, name(one) + ", executed");
    } else {
      const hw::InstructionRecord& other = rtl_.instructions[r];
      if (one.start != other.start || one.finish != other.finish) {
        cycles(one.start, other.start, std::min(one.start, other.start), name(one) + ", start");
        cycles(one.finish, other.finish, std::min(one.finish, other.finish), name(one) + ", finish");
      }
    }
    if (!only_rtl) ++m;
    if (!only_model) ++r;
  }
}

void Comparison::compare_units() {
  for (const hw::UnitResult& unit : rtl_.units) {
    const auto same = std::find_if(model_.units.begin(), model_.units.end(),
                                   [&](const hw::UnitResult& u) { return u.name == unit.name; });
    TESSERA_CHECK(same != model_.units.end(), "the model has no unit ", unit.name);
    cycles(same->account.busy, unit.account.busy, rtl_.cycles, unit.name + ", cycles busy");
    cycles(same->account.idle, unit.account.idle, rtl_.cycles, unit.name + ", cycles idle");
    cycles(same->macs_issued, unit.macs_issued, rtl_.cycles, unit.name + ", MACs issued");
    for (std::size_t c = 0; c < kStallCauses; ++c) {
      cycles(same->account.stall[c], unit.account.stall[c], rtl_.cycles,
             unit.name + ", cycles of " + stall_name(static_cast<StallCause>(c)));
    }
  }
}

void Comparison::compare_runs() {
  compare_instructions();
  for (std::size_t s = 0; s < std::min(model_.sections.size(), rtl_.sections.size()); ++s) {
    const Cycles model = model_.sections[s].end, rtl = rtl_.sections[s].end;
    cycles(model, rtl, std::min(model, rtl), "section " + model_.sections[s].name + ", end");
  }
  compare_units();
  cycles(model_.fetch_bytes, rtl_.fetch_bytes, rtl_.cycles, "bytes fetched");
  cycles(model_.load_bytes, rtl_.load_bytes, rtl_.cycles, "bytes of LOAD");
  cycles(model_.store_bytes, rtl_.store_bytes, rtl_.cycles, "bytes of STORE");
}

void Comparison::compare_ends(const std::string& model, const std::string& rtl) {
  cycles(model, rtl, rtl_.cycles, "end");
}

const hw::InstructionRecord* Comparison::last_writer(const Place& place, std::uint64_t byte) {
  const hw::InstructionRecord* last = nullptr;
  const auto at = static_cast<std::int64_t>(place.offset + byte);
  for (const hw::InstructionRecord& record : rtl_.instructions) {
    const isa::Instruction* instruction = instruction_of(record);
    if (instruction == nullptr || (last != nullptr && record.finish <= last->finish)) continue;
    for (const semantics::Range& range : semantics::footprint(*instruction, chip_)) {
      const bool here = range.dram == place.dram && (!range.dram || range.base_register == place.base_register);
      if (range.write && here && range.begin <= at && at < range.end) last = &record;
    }
  }
  return last;
}

void Comparison::compare_bytes(const Place& place, const char* whose, const std::vector<std::uint8_t>& expected,
                               const std::vector<std::uint8_t>& rtl) {
  TESSERA_CHECK(expected.size() == rtl.size(), place.where, ": ", expected.size(), " and ", rtl.size(), " bytes");
  constexpr int kTraced = 16;  // bytes whose writer is looked for: neighbours mostly have the same
  int traced = 0;
  for (std::size_t i = 0; i < rtl.size(); ++i) {
    if (expected[i] == rtl[i]) continue;
    ++value_differences_;
    if (++traced > kTraced) continue;
    const hw::InstructionRecord* writer = last_writer(place, i);
    const std::string by = writer == nullptr ? ", which nobody writes" : ", written by " + name(*writer);
    note(writer == nullptr ? kNever : writer->finish,
         detail::concat(place.where, " byte ", i, by, ": ", whose, " ", int{expected[i]}, ", RTL ", int{rtl[i]}));
  }
}

}  // namespace tessera::cosim
