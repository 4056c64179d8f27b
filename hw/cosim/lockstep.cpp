#include "hw/cosim/lockstep.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "hw/common/error.hpp"
#include "hw/common/random.hpp"
#include "hw/cosim/random_program.hpp"
#include "hw/cosim/rtl_run.hpp"
#include "hw/cosim/slice.hpp"
#include "hw/platform/platform.hpp"
#include "hw/reference/reference.hpp"

namespace tessera::cosim {
namespace {

constexpr int kInstructionsAtLeast = 12;
constexpr int kInstructionsAtMost = 48;

const char* queue_name(int queue) { return isa::to_string(static_cast<isa::QueueId>(queue)); }

/// Collects differences; the first one in time is the one that is told.
class Findings {
 public:
  explicit Findings(LockstepResult& result) : result_(result) {}
  template <typename T>
  void cycles(const T& model, const T& rtl, Cycles when, const std::string& what) {
    if (model == rtl) return;
    ++result_.cycle_differences;
    note(when, detail::concat(what, ": model ", model, ", RTL ", rtl));
  }
  void values(const std::vector<std::uint8_t>& other, const std::vector<std::uint8_t>& rtl, const std::string& what,
              const char* whose) {
    TESSERA_CHECK(other.size() == rtl.size(), what, ": ", other.size(), " and ", rtl.size(), " bytes");
    for (std::size_t i = 0; i < rtl.size(); ++i) {
      if (other[i] == rtl[i]) continue;
      ++result_.value_differences;
      note(kNever, detail::concat(what, " byte ", i, ": ", whose, " ", int{other[i]}, ", RTL ", int{rtl[i]}));
    }
  }

 private:
  void note(Cycles when, const std::string& text) {
    if (!result_.first.empty() && when >= when_) return;
    when_ = when;
    result_.first = when < kNever ? detail::concat("cycle ", when, ": ", text) : text;
  }
  LockstepResult& result_;
  Cycles when_ = kNever;
};

void fill_buffers(const isa::Program& program, const platform::DramLayout& layout, std::uint64_t seed,
                  hw::DramStorage& dram) {
  Random random(seed);
  for (const isa::Buffer& buffer : program.buffers) {
    if (buffer.kind != isa::BufferKind::input && buffer.kind != isa::BufferKind::scratch) continue;
    std::vector<std::uint8_t> bytes(buffer.size);
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random.below(256));
    dram.write(layout.address(buffer), bytes.data(), bytes.size());
  }
}

std::vector<std::uint8_t> bytes_of(const isa::Buffer& buffer, const platform::DramLayout& layout,
                                   const hw::DramStorage& dram) {
  std::vector<std::uint8_t> bytes(buffer.size);
  dram.read(layout.address(buffer), bytes.data(), bytes.size());
  return bytes;
}

void compare_instructions(const hw::RunResult& model, const hw::RunResult& rtl, Findings& findings) {
  std::size_t m = 0, r = 0;
  const auto key = [](const hw::InstructionRecord& i) {
    return std::array<std::uint32_t, 3>{i.section, i.queue, i.index};
  };
  while (m < model.instructions.size() || r < rtl.instructions.size()) {
    const bool only_model = r == rtl.instructions.size() ||
                            (m < model.instructions.size() && key(model.instructions[m]) < key(rtl.instructions[r]));
    const bool only_rtl =
        !only_model && (m == model.instructions.size() || key(rtl.instructions[r]) < key(model.instructions[m]));
    const hw::InstructionRecord& one = only_rtl ? rtl.instructions[r] : model.instructions[m];
    const std::string name =
        detail::concat("section ", one.section, ", ", queue_name(one.queue), " instruction ", one.index);
    if (only_model || only_rtl) {
      findings.cycles(int{only_model}, int{only_rtl}, one.start, name + ", executed");
    } else {
      const hw::InstructionRecord& other = rtl.instructions[r];
      findings.cycles(one.start, other.start, std::min(one.start, other.start), name + ", start");
      findings.cycles(one.finish, other.finish, std::min(one.finish, other.finish), name + ", finish");
    }
    if (!only_rtl) ++m;
    if (!only_model) ++r;
  }
}

/// A unit's account as the RTL keeps it: it does not know who would signal a semaphore, nor what DRAM is busy with.
hw::UnitResult rtl_account(const hw::UnitResult& model) {
  hw::UnitResult unit = model;
  for (std::size_t c = 0; c < kStallCauses; ++c) {
    const auto cause = static_cast<StallCause>(c);
    if (cause == StallCause::fault || cause == StallCause::instruction_fetch ||
        cause == StallCause::sram_bank_conflict || cause == StallCause::semaphore_load) {
      continue;
    }
    const bool semaphore = cause > StallCause::semaphore_load && cause <= StallCause::semaphore_remote;
    if (semaphore) unit.account.add(StallCause::semaphore_load, unit.account.stall[c]);
    if (!semaphore) unit.account.busy += unit.account.stall[c];
    unit.account.stall[c] = 0;
  }
  return unit;
}

void compare_totals(const hw::RunResult& model, const hw::RunResult& rtl, Findings& findings) {
  for (std::size_t s = 0; s < std::min(model.sections.size(), rtl.sections.size()); ++s) {
    findings.cycles(model.sections[s].end, rtl.sections[s].end, std::min(model.sections[s].end, rtl.sections[s].end),
                    "section " + model.sections[s].name + ", end");
  }
  for (const hw::UnitResult& unit : rtl.units) {
    const auto same = std::find_if(model.units.begin(), model.units.end(),
                                   [&](const hw::UnitResult& u) { return u.name == unit.name; });
    TESSERA_CHECK(same != model.units.end(), "the model has no unit ", unit.name);
    const hw::UnitResult expected = rtl_account(*same);
    findings.cycles(expected.account.busy, unit.account.busy, rtl.cycles, unit.name + ", cycles busy");
    findings.cycles(expected.account.idle, unit.account.idle, rtl.cycles, unit.name + ", cycles idle");
    for (std::size_t c = 0; c < kStallCauses; ++c) {
      const std::string name = stall_name(static_cast<StallCause>(c));
      findings.cycles(expected.account.stall[c], unit.account.stall[c], rtl.cycles,
                      unit.name + ", cycles of " + name.substr(0, name.find(".load")));
    }
  }
  findings.cycles(model.fetch_bytes, rtl.fetch_bytes, rtl.cycles, "bytes fetched");
  findings.cycles(model.load_bytes, rtl.load_bytes, rtl.cycles, "bytes of LOAD");
  findings.cycles(model.store_bytes, rtl.store_bytes, rtl.cycles, "bytes of STORE");
}

}  // namespace

void LockstepResult::add(const LockstepResult& other, const std::string& name) {
  programs += other.programs;
  instructions += other.instructions;
  value_differences += other.value_differences;
  cycle_differences += other.cycle_differences;
  if (first.empty() && !other.first.empty()) first = name + ": " + other.first;
  programs_refused += other.programs_refused;
  for (std::size_t m = 0; m < coverage.refused.size(); ++m) coverage.refused[m] += other.coverage.refused[m];
  coverage.pairs_on_a_bank += other.coverage.pairs_on_a_bank;
  coverage.triples_on_a_bank += other.coverage.triples_on_a_bank;
  coverage.cycles += other.coverage.cycles;
}

LockstepResult run_lockstep(const isa::Program& program, const isa::ChipConfig& chip, const isa::ChipConfig& model_chip,
                            const LockstepOptions& options) {
  check_slice(program, chip);
  const platform::DramLayout layout = platform::place_program(program, chip);
  const auto prepared = [&] {
    hw::DramStorage dram;
    fill_buffers(program, layout, options.data_seed, dram);
    platform::load_program(program, layout, dram);
    return dram;
  };
  LockstepResult result;
  result.programs = 1;
  Findings findings(result);

  hw::DramStorage model_dram = prepared();
  std::vector<std::uint8_t> model_sram;
  platform::RunOptions run;
  run.no_shortcuts = options.no_shortcuts;
  run.end_run = [&](int, const std::vector<std::uint8_t>& sram) { model_sram = sram; };
  const hw::RunResult model = platform::run_program(program, model_chip, layout, model_dram, run);

  // The RTL may lose its way: it gets some more cycles than the model needed.
  hw::DramStorage rtl_dram = prepared();
  const RtlRun rtl = run_on_rtl(program, chip, layout, rtl_dram, 2 * model.cycles + 1000);

  findings.cycles(std::string(), rtl.failure, rtl.result.cycles, "end");
  compare_instructions(model, rtl.result, findings);
  compare_totals(model, rtl.result, findings);
  findings.values(model_sram, rtl.sram, "SRAM", "model");
  for (const isa::Buffer& buffer : program.buffers) {
    findings.values(bytes_of(buffer, layout, model_dram), bytes_of(buffer, layout, rtl_dram), "DRAM " + buffer.name,
                    "model");
  }
  if (options.check_reference) {
    hw::DramStorage dram = prepared();
    const reference::ReferenceResult reference =
        reference::run_reference(program, chip, dram, {layout.base, layout.limit});
    findings.values(reference.sram.at(0), rtl.sram, "SRAM", "reference");
    for (const isa::Buffer& buffer : program.buffers) {
      findings.values(bytes_of(buffer, layout, dram), bytes_of(buffer, layout, rtl_dram), "DRAM " + buffer.name,
                      "reference");
    }
  }
  result.instructions = static_cast<std::int64_t>(rtl.result.instructions.size());
  result.coverage = rtl.coverage;
  const auto& refused = rtl.coverage.refused;
  result.programs_refused = std::accumulate(refused.begin(), refused.end(), std::int64_t{0}) > 0 ? 1 : 0;
  return result;
}

LockstepResult run_random_lockstep(const std::string& chip, const std::vector<std::string>& sets, std::uint64_t seed,
                                   int count, const std::function<void(int)>& progress) {
  LockstepResult all;
  for (int i = 0; i < count; ++i) {
    const std::uint64_t one = seed + static_cast<std::uint64_t>(i);
    std::vector<std::string> all_sets = random_memory(one);
    all_sets.insert(all_sets.end(), sets.begin(), sets.end());
    const isa::ChipConfig config = isa::load_chip(chip, all_sets);
    const int instructions =
        kInstructionsAtLeast + static_cast<int>(Random(one).below(kInstructionsAtMost - kInstructionsAtLeast + 1));
    LockstepOptions options;
    options.data_seed = one;
    options.check_reference = true;
    options.no_shortcuts = i % 2 == 1;
    all.add(run_lockstep(random_program(config, one, instructions), config, config, options),
            "seed " + std::to_string(one));
    if (progress) progress(i + 1);
  }
  return all;
}

std::string lockstep_text(const LockstepResult& r) {
  const Coverage& c = r.coverage;
  return detail::concat("coverage: ", r.programs_refused, " programs with refused AR or AW (fetch ", c.refused[0],
                        ", load ", c.refused[1], ", store ", c.refused[2], "), ", c.pairs_on_a_bank,
                        " cycles with two units on a bank, ", c.triples_on_a_bank, " with three, of ", c.cycles,
                        "\nlockstep: ", r.programs, " programs, ", r.instructions, " instructions, ",
                        r.value_differences, " value and ", r.cycle_differences, " cycle differences\n");
}

}  // namespace tessera::cosim
