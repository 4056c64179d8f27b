#include "hw/cosim/bins.hpp"

#include <algorithm>

#include "isa/bits.hpp"
#include "isa/program/instructions.hpp"
#include "isa/semantics/footprint.hpp"
#include "isa/semantics/legal.hpp"

namespace tessera::cosim {
namespace {

constexpr Cycles kShare = 100;  // a stall cause counts from 1 / 100 of a unit's cycles on

/// int16 operands are in the instruction set and refused when used (docs/machine.md).
bool is_refused(const isa::FieldInfo& field) {
  const std::string path = field.path, end = "_int16";
  return path.size() > end.size() && path.compare(path.size() - end.size(), end.size(), end) == 0;
}

bool is_flag(const isa::FieldInfo& field) { return field.choices == nullptr && field.width == 1 && !is_refused(field); }

/// "dims[2].count" is "dims.count": which of several is no bin of its own.
std::string without_index(const std::string& path) {
  std::string out;
  bool inside = false;
  for (const char c : path) {
    if (c == '[') inside = true;
    if (!inside) out += c;
    if (c == ']') inside = false;
  }
  return out;
}

std::string value_name(const isa::FieldInfo& field, std::int64_t value) {
  if (field.choices == nullptr) return std::to_string(value);
  for (std::size_t i = 0; i < field.choices->count; ++i) {
    if (field.choices->values[i].value == value) return field.choices->values[i].name;
  }
  return std::to_string(value);
}

std::string field_bin(const isa::InstructionDescription& about, const isa::FieldInfo& field, std::int64_t value) {
  return std::string(about.name) + " " + without_index(field.path) + "=" + value_name(field, value);
}

/// Opcodes that some unit in RTL takes.
bool in_rtl(const isa::InstructionDescription& about) {
  return std::any_of(kQueueOfUnit.begin(), kQueueOfUnit.end(),
                     [&](std::uint8_t queue) { return (about.queues >> queue & 1) != 0; });
}

const char* queue_name(int queue) { return isa::to_string(static_cast<isa::QueueId>(queue)); }

/// What a core alone with LOAD, STORE and FETCH on the memory can wait for.
bool can_happen(StallCause cause) {
  if (cause >= StallCause::semaphore_load && cause < StallCause::semaphore_remote) {
    return false;  // with its unit
  }
  return cause != StallCause::semaphore_remote && cause != StallCause::dram_contention_core &&
         cause != StallCause::dram_contention_camera && cause != StallCause::dram_contention_cpu &&
         cause != StallCause::host;
}

/// The second convolution engine is not.
bool in_every_chip(std::uint8_t queue) { return queue != static_cast<std::uint8_t>(isa::QueueId::conv1); }

/// A stall that some machines cannot have, by their memory.
struct MemoryRule {
  StallCause cause;
  bool (*possible)(const isa::ChipConfig& chip);
  const char* otherwise;
};
constexpr MemoryRule kMemoryRules[] = {
    {StallCause::dram_row_miss, [](const isa::ChipConfig& chip) { return chip.dram.device != "fixed"; },
     "the fixed memory has no rows"},
    {StallCause::dram_refresh,
     [](const isa::ChipConfig& chip) {
       return chip.dram.device != "fixed" && chip.dram.refresh != isa::DramRefresh::none;
     },
     "the memory is never refreshed"},
};

std::string end_bin(const char* end, int queue) {
  return std::string("operand at the ") + end + " byte of the scratchpad in " + queue_name(queue);
}

}  // namespace

void Bins::add_unit(int queue) {
  bins_[std::string("nop in ") + queue_name(queue)];
  bins_[std::string("full queue ") + queue_name(queue)];
  bins_[end_bin("first", queue)];
  bins_[end_bin("last", queue)];
  const int cause = static_cast<int>(StallCause::semaphore_load) + queue;
  stalls_[stall_name(static_cast<StallCause>(cause))];
}

Bins::Bins() {
  for (const isa::InstructionDescription* about : isa::all_instructions()) {
    if (!in_rtl(*about)) continue;
    for (std::size_t f = about->header_fields; f < about->field_count; ++f) {
      const isa::FieldInfo& field = about->fields[f];
      if (is_flag(field)) {
        bins_[field_bin(*about, field, 0)] = bins_[field_bin(*about, field, 1)] = 0;
      }
      for (std::size_t i = 0; field.choices != nullptr && i < field.choices->count; ++i) {
        bins_[field_bin(*about, field, field.choices->values[i].value)] = 0;
      }
    }
  }
  for (const std::uint8_t queue : kQueueOfUnit) {
    if (in_every_chip(queue)) add_unit(queue);
  }
  for (const char* name :
       {"refused AR of fetch", "refused AR of load", "refused AW of store", "two waits on a semaphore",
        "two units on a bank", "three units on a bank", "stuck", "soft reset"}) {
    bins_[name] = 0;
  }
  for (std::size_t c = 1; c < isa::kFaultCauseValues; ++c) {
    bins_[std::string("fault ") + isa::to_string(static_cast<isa::FaultCause>(c))] = 0;
  }
  for (std::size_t c = 0; c < kStallCauses; ++c) {
    if (can_happen(static_cast<StallCause>(c))) stalls_[stall_name(static_cast<StallCause>(c))] = {};
  }
}

void Bins::count_instruction(int queue, const isa::Instruction& instruction) {
  if (instruction.header.opcode == isa::Opcode::nop) ++bins_[std::string("nop in ") + queue_name(queue)];
  const auto& waits = instruction.header.waits;
  for (std::size_t i = 0; i < waits.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (waits[i].count != 0 && waits[k].count != 0 && waits[i].semaphore == waits[k].semaphore) {
        ++bins_["two waits on a semaphore"];
      }
    }
  }
  const isa::InstructionDescription& about = *isa::describe(instruction.header.opcode);
  const std::vector<isa::Word> words = isa::encode(instruction);
  for (std::size_t f = about.header_fields; f < about.field_count; ++f) {
    const isa::FieldInfo& field = about.fields[f];
    if (field.choices == nullptr && !is_flag(field)) continue;
    const auto value = static_cast<std::int64_t>(isa::get_bits(words.front().data(), field.lsb, field.width));
    ++bins_[field_bin(about, field, value)];
  }
}

void Bins::count_ends(int queue, const isa::Instruction& instruction, const isa::ChipConfig& chip) {
  // Of an instruction that is not legal nothing is asked: its operands need not mean anything.
  if (semantics::find_field_fault(instruction, chip)) return;
  for (const semantics::Range& range : semantics::footprint(instruction, chip)) {
    if (range.dram) continue;
    if (range.begin == 0) ++bins_[end_bin("first", queue)];
    if (range.end == chip.sram.banks * chip.sram.size_bytes) ++bins_[end_bin("last", queue)];
  }
}

void Bins::count_program(const isa::Program& program, const isa::ChipConfig& chip) {
  for (const isa::Section& section : program.sections) {
    for (const isa::QueueStream& stream : section.streams) {
      for (const isa::Instruction& instruction : isa::decode_stream(stream)) {
        count_instruction(stream.queue, instruction);
        count_ends(stream.queue, instruction, chip);
      }
    }
  }
}

void Bins::count_run(const hw::RunResult& run, const isa::ChipConfig& chip, const Coverage& coverage, bool faulted) {
  ++runs_;
  for (const MemoryRule& rule : kMemoryRules) unable_[stall_name(rule.cause)] += rule.possible(chip) ? 0 : 1;
  bins_["refused AR of fetch"] += coverage.refused[0];
  bins_["refused AR of load"] += coverage.refused[1];
  bins_["refused AW of store"] += coverage.refused[2];
  bins_["two units on a bank"] += coverage.pairs_on_a_bank;
  bins_["three units on a bank"] += coverage.triples_on_a_bank;
  for (std::size_t u = 0; u < kUnits; ++u) {
    const std::string name = queue_name(kQueueOfUnit[u]);
    const bool exists =
        std::any_of(run.units.begin(), run.units.end(), [&](const hw::UnitResult& unit) { return unit.name == name; });
    if (exists) add_unit(kQueueOfUnit[u]);
    if (exists) bins_["full queue " + name] += coverage.full_queue[u];
  }
  for (const hw::UnitResult& unit : run.units) {
    for (auto& [cause, shares] : stalls_) {
      if (cause == stall_name(StallCause::fault) && !faulted) continue;
      Share& share = shares[unit.name];
      share.of += unit.account.total();
      for (std::size_t c = 0; c < kStallCauses; ++c) {
        if (cause == stall_name(static_cast<StallCause>(c))) share.stalled += unit.account.stall[c];
      }
    }
  }
}

void Bins::add(const Bins& other) {
  runs_ += other.runs_;
  for (const auto& [cause, runs] : other.unable_) unable_[cause] += runs;
  for (const auto& [name, count] : other.bins_) bins_[name] += count;
  for (const auto& [cause, shares] : other.stalls_) {
    for (const auto& [unit, share] : shares) {
      stalls_[cause][unit].stalled += share.stalled;
      stalls_[cause][unit].of += share.of;
    }
  }
}

std::vector<std::string> Bins::unfilled() const {
  std::vector<std::string> names;
  for (const auto& [name, count] : bins_) {
    if (count == 0) names.push_back(name);
  }
  const std::map<std::string, std::string> impossible = not_applicable();
  for (const auto& [cause, shares] : stalls_) {
    const bool filled = std::any_of(shares.begin(), shares.end(), [](const auto& unit) {
      return unit.second.stalled > 0 && unit.second.stalled * kShare >= unit.second.of;
    });
    if (!filled && impossible.count("stall " + cause) == 0) names.push_back("stall " + cause);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::map<std::string, std::string> Bins::not_applicable() const {
  std::map<std::string, std::string> names;
  for (const MemoryRule& rule : kMemoryRules) {
    const auto unable = unable_.find(stall_name(rule.cause));
    if (runs_ > 0 && unable != unable_.end() && unable->second == runs_) {
      names["stall " + unable->first] = rule.otherwise;
    }
  }
  return names;
}

double Bins::most_percent(const std::string& name) const {
  double most = 0;
  for (const auto& [cause, shares] : stalls_) {
    if ("stall " + cause != name) continue;
    for (const auto& [unit, share] : shares) {
      if (share.of > 0)
        most = std::max(most, 100.0 * static_cast<double>(share.stalled) / static_cast<double>(share.of));
    }
  }
  return most;
}

}  // namespace tessera::cosim
