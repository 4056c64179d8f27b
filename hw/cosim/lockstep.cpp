#include "hw/cosim/lockstep.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "hw/common/error.hpp"
#include "hw/common/random.hpp"
#include "hw/cosim/comparison.hpp"
#include "hw/cosim/random_fault.hpp"
#include "hw/cosim/random_program.hpp"
#include "hw/cosim/rtl_run.hpp"
#include "hw/cosim/shrink.hpp"
#include "hw/cosim/slice.hpp"
#include "hw/cosim/wave.hpp"
#include "hw/platform/platform.hpp"
#include "hw/reference/reference.hpp"
#include "isa/asm/assembler.hpp"

namespace tessera::cosim {
namespace {

constexpr int kInstructionsAtLeast = 12;
constexpr int kInstructionsAtMost = 48;
constexpr std::uint64_t kFaultEvery = 8;
constexpr std::uint64_t kEdgesEvery = 5;
constexpr std::uint64_t kResetEvery = 16;
constexpr Cycles kLatestReset = 4000;
constexpr int kShrinkAttempts = 300;
constexpr int kTimings = 3;  // of the model: the fastest counts

template <typename Run>
double cpu_seconds(const Run& run) {
  const std::clock_t begin = std::clock();
  run();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

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

/// One side's memory and how it ended.
struct Side {
  hw::DramStorage dram;
  std::vector<std::uint8_t> sram;
  hw::RunResult result;
  std::optional<Wave> wave;
  std::string end;  // fault or stuck, with place and cycle; empty: it ran to its end
  Cycles end_cycle = 0;
};

class Lockstep {
 public:
  Lockstep(const isa::Program& program, const isa::ChipConfig& chip, const LockstepOptions& options)
      : program_(program), chip_(chip), options_(options), layout_(platform::place_program(program, chip)) {
    if (options.scratch_outside) {
      layout_.base[isa::base_register_of(isa::BufferKind::scratch)] = static_cast<std::uint64_t>(chip.dram.size_bytes);
    }
  }

  LockstepResult run(const isa::ChipConfig& model_chip) {
    check_slice(program_, chip_);
    LockstepResult result;
    result.programs = 1;
    result.cpu.model = cpu_seconds([&] { run_model(model_chip); });
    RtlRun rtl;
    result.cpu.rtl = cpu_seconds([&] { rtl = run_rtl(); });
    Comparison comparison(program_, chip_, model_.result, rtl_.result);
    comparison.compare_ends(model_.end, rtl_.end);
    if (model_.end.empty()) {
      comparison.compare_runs();
      compare_memory(model_, "model", comparison);
      if (options_.edges) compare_edges(comparison);
      if (options_.check_reference) compare_memory(run_reference(), "reference", comparison);
    }
    if (options_.every_way && model_.end.empty()) time_model(model_chip, comparison, result.cpu);
    result.cycle_differences = comparison.cycle_differences();
    result.value_differences = comparison.value_differences();
    result.first = comparison.first();
    result.instructions = static_cast<std::int64_t>(rtl_.result.instructions.size());
    for (const hw::InstructionRecord& record : rtl_.result.instructions) ++result.instructions_of.at(record.queue);
    result.cycles = rtl_.result.cycles;
    result.coverage = rtl.coverage;
    const auto& refused = rtl.coverage.refused;
    result.programs_refused = std::accumulate(refused.begin(), refused.end(), std::int64_t{0}) > 0 ? 1 : 0;
    if (options_.soft_reset == 0) result.bins.count_program(program_, chip_);
    result.bins.count_run(rtl_.result, chip_, rtl.coverage, fault_.has_value());
    if (fault_) result.bins.count_fault(*fault_);
    if (stuck_) result.bins.count_stuck();
    if (options_.soft_reset > 0 && options_.soft_reset < rtl_.result.cycles) result.bins.count_soft_reset();
    result.ended_early = model_.end.empty() ? 0 : 1;
    return result;
  }

 private:
  [[nodiscard]] hw::DramStorage prepared() const {
    hw::DramStorage dram;
    platform::load_program(program_, layout_, dram);
    if (options_.place_inputs) {
      options_.place_inputs(dram);
    } else {
      fill_buffers(program_, layout_, options_.data_seed, dram);
    }
    return dram;
  }

  /// Options that make a run tell how it ended, in the same words on both sides.
  platform::RunOptions options_of(Side& side) {
    platform::RunOptions run;
    run.soft_reset = options_.soft_reset;
    if (options_.edges) run.dram_observer = &side.wave.emplace(chip_);
    if (options_.host_step) {
      run.host_step = [this, &side](const isa::HostStep& step) { return options_.host_step(step, side.dram); };
    }
    run.on_fault = [this, &side](int queue, std::uint32_t word, isa::FaultCause cause, Cycles n) {
      side.end =
          detail::concat("fault ", isa::to_string(cause), " of ", isa::to_string(static_cast<isa::QueueId>(queue)),
                         " word ", word, ", stopped in cycle ", n);
      side.end_cycle = n;
      fault_ = cause;
    };
    run.on_stuck = [this, &side](Cycles n) {
      side.end = detail::concat("stuck in cycle ", n);
      side.end_cycle = n;
      stuck_ = true;
    };
    return run;
  }

  void run_model(const isa::ChipConfig& model_chip) {
    model_.dram = prepared();
    platform::RunOptions run = options_of(model_);
    run.no_shortcuts = options_.no_shortcuts;
    if (model_.wave) {
      run.on_conflict = [this](int core, int queue, Cycles n) { model_.wave->on_conflict(core, queue, n); };
    }
    run.end_run = [this](int, const std::vector<std::uint8_t>& sram) { model_.sram = sram; };
    try {
      model_.result = platform::run_program(program_, model_chip, layout_, model_.dram, run);
    } catch (const ProgramError&) {
      if (model_.end.empty()) throw;
    }
  }

  /// The model again, in each way that it can run, which must not change a cycle.
  void time_model(const isa::ChipConfig& model_chip, Comparison& comparison, CpuSeconds& seconds) const {
    const auto fastest = [&](bool timing_only, bool no_shortcuts, int times) {
      double best = std::numeric_limits<double>::max();
      for (int i = 0; i < times; ++i) {
        Side side;
        side.dram = prepared();
        platform::RunOptions run;
        run.timing_only = timing_only;
        run.no_shortcuts = no_shortcuts;
        if (options_.host_step) {
          run.host_step = [&](const isa::HostStep& step) { return options_.host_step(step, side.dram); };
        }
        best = std::min(best, cpu_seconds([&] {
                          side.result = platform::run_program(program_, model_chip, layout_, side.dram, run);
                        }));
        comparison.compare_ends(detail::concat(model_.result.cycles, " cycles"),
                                detail::concat(side.result.cycles, " cycles"));
      }
      return best;
    };
    seconds.model = fastest(false, false, kTimings);
    seconds.timing_only = fastest(true, false, kTimings);
    seconds.no_shortcuts = fastest(false, true, 1);
  }

  void compare_edges(Comparison& comparison) {
    model_.wave->add_records(program_, model_.result);
    const auto [model, rtl] = first_different_edge(*model_.wave, *rtl_.wave);
    comparison.compare_ends(model, rtl);
  }

  RtlRun run_rtl() {
    rtl_.dram = prepared();
    platform::RunOptions run = options_of(rtl_);
    // The RTL may lose its way: it gets some more cycles than the model needed.
    run.max_cycles = 2 * std::max(model_.result.cycles, model_.end_cycle) + 1000;
    RtlRun rtl = run_on_rtl(program_, chip_, layout_, rtl_.dram, run, rtl_.wave ? &*rtl_.wave : nullptr);
    if (rtl_.end.empty()) rtl_.end = rtl.failure;
    rtl_.result = std::move(rtl.result);
    rtl_.sram = std::move(rtl.sram);
    return rtl;
  }

  Side run_reference() const {
    Side side;
    side.dram = prepared();
    reference::ReferenceResult done =
        reference::run_reference(program_, chip_, side.dram, {layout_.base, layout_.limit});
    side.sram = std::move(done.sram.at(0));
    return side;
  }

  void compare_memory(const Side& side, const char* whose, Comparison& comparison) const {
    comparison.compare_bytes({"SRAM"}, whose, side.sram, rtl_.sram);
    for (const isa::Buffer& buffer : program_.buffers) {
      comparison.compare_bytes(
          {"DRAM " + buffer.name, true, static_cast<std::uint8_t>(isa::base_register_of(buffer.kind)), buffer.offset},
          whose, bytes_of(buffer, layout_, side.dram), bytes_of(buffer, layout_, rtl_.dram));
    }
  }

  const isa::Program& program_;
  const isa::ChipConfig& chip_;
  const LockstepOptions& options_;
  platform::DramLayout layout_;
  Side model_, rtl_;
  std::optional<isa::FaultCause> fault_;
  bool stuck_ = false;
};

/// A random program with its chip and options, by seed.
struct RandomCase {
  isa::ChipConfig chip;
  isa::Program program;
  LockstepOptions options;
  std::string settings;  // for a person who wants to run it again
};

RandomCase random_case(const std::string& chip, const std::vector<std::string>& sets, std::uint64_t seed) {
  RandomCase one;
  std::vector<std::string> all_sets = random_memory(seed);
  all_sets.insert(all_sets.end(), sets.begin(), sets.end());
  one.chip = isa::load_chip(chip, all_sets);
  one.settings = "--chip " + chip;
  for (const std::string& set : all_sets) one.settings += " --set " + set;
  Random random(seed);
  const int instructions =
      kInstructionsAtLeast + static_cast<int>(random.below(kInstructionsAtMost - kInstructionsAtLeast + 1));
  one.program = random_program(one.chip, seed, instructions);
  one.options.data_seed = seed;
  one.options.no_shortcuts = seed / 3 % 2 == 1;
  one.options.check_reference = seed % kFaultEvery != 0;
  one.options.edges = one.options.check_reference && seed % kEdgesEvery == 1;
  if (one.options.check_reference && seed % kResetEvery == kResetEvery / 2 + 1) {
    one.options.soft_reset = random.between(1, kLatestReset);
    one.options.check_reference = one.options.edges = false;  // only a part of the program runs
  } else if (!one.options.check_reference) {
    const auto cause = static_cast<isa::FaultCause>(seed / kFaultEvery % isa::kFaultCauseValues);
    one.program = with_fault(std::move(one.program), one.chip, cause, random);
    one.options.scratch_outside = cause == isa::FaultCause::bus_error;
  }
  return one;
}

std::string shortest_text(const RandomCase& one) {
  const auto fails = [&](const isa::Program& program) {
    try {
      return !run_lockstep(program, one.chip, one.chip, one.options).equal();
    } catch (const UserError&) {
      return false;
    } catch (const ProgramError&) {  // racy or stuck: not the program that was asked for
      return false;
    }
  };
  const isa::Program shortest = shrink(one.program, fails, kShrinkAttempts);
  return "; " + one.settings + "\n" + isa::disassemble(shortest, isa::DataText::omitted);
}

}  // namespace

void LockstepResult::add(const LockstepResult& other, const std::string& name) {
  programs += other.programs;
  instructions += other.instructions;
  for (std::size_t q = 0; q < instructions_of.size(); ++q) instructions_of[q] += other.instructions_of[q];
  cycles += other.cycles;
  ended_early += other.ended_early;
  cpu.rtl += other.cpu.rtl;
  cpu.model += other.cpu.model;
  cpu.timing_only += other.cpu.timing_only;
  cpu.no_shortcuts += other.cpu.no_shortcuts;
  value_differences += other.value_differences;
  cycle_differences += other.cycle_differences;
  if (first.empty() && !other.first.empty()) first = name + ": " + other.first;
  programs_refused += other.programs_refused;
  coverage.add(other.coverage);
  bins.add(other.bins);
}

LockstepResult run_lockstep(const isa::Program& program, const isa::ChipConfig& chip, const isa::ChipConfig& model_chip,
                            const LockstepOptions& options) {
  return Lockstep(program, chip, options).run(model_chip);
}

LockstepResult run_random_lockstep(const std::string& chip, const std::vector<std::string>& sets, std::uint64_t seed,
                                   int count, const std::function<void(int)>& progress, OnDifference on_difference) {
  LockstepResult all;
  for (int i = 0; i < count && all.equal(); ++i) {
    const std::uint64_t one_seed = seed + static_cast<std::uint64_t>(i);
    const RandomCase one = random_case(chip, sets, one_seed);
    const LockstepResult result = run_lockstep(one.program, one.chip, one.chip, one.options);
    TESSERA_CHECK(!one.options.check_reference || result.ended_early == 0, "seed ", one_seed, " on ", one.settings,
                  ": a program that is meant to be legal ends early");
    all.add(result, "seed " + std::to_string(one_seed));
    if (!all.equal() && on_difference == OnDifference::shrink) all.shortest = shortest_text(one);
    if (progress) progress(i + 1);
  }
  return all;
}

std::string lockstep_text(const LockstepResult& r) {
  const Coverage& c = r.coverage;
  const std::vector<std::string> unfilled = r.bins.unfilled();
  std::string text =
      detail::concat("coverage: ", r.programs_refused, " programs with refused AR or AW (fetch ", c.refused[0],
                     ", load ", c.refused[1], ", store ", c.refused[2], "), ", c.pairs_on_a_bank,
                     " cycles with two units on a bank, ", c.triples_on_a_bank, " with three, of ", c.cycles,
                     "\nbins: ", r.bins.size() - unfilled.size(), " of ", r.bins.size(), " filled\n");
  for (const std::string& name : unfilled) {
    text += "  unfilled: " + name;
    char share[48] = "";
    const double percent = r.bins.most_percent(name);
    if (percent > 0) std::snprintf(share, sizeof share, " (%.2f %% of a unit's cycles)", percent);
    text += share + std::string("\n");
  }
  for (const auto& [name, why] : r.bins.not_applicable()) text += "  not applicable: " + name + ": " + why + "\n";
  text += "instructions:";
  for (const std::uint8_t queue : kQueueOfUnit) {
    text += detail::concat(" ", isa::to_string(static_cast<isa::QueueId>(queue)), " ", r.instructions_of.at(queue));
  }
  text += "\n";
  return text + detail::concat("lockstep: ", r.programs, " programs, ", r.instructions, " instructions, ",
                               r.value_differences, " value and ", r.cycle_differences, " cycle differences\n");
}

std::string cpu_text(const LockstepResult& r) {
  char line[200];
  std::snprintf(line, sizeof line, "cycles: %lld\nseconds: rtl %.4f model %.4f timing_only %.4f no_shortcuts %.4f\n",
                static_cast<long long>(r.cycles), r.cpu.rtl, r.cpu.model, r.cpu.timing_only, r.cpu.no_shortcuts);
  return line;
}

}  // namespace tessera::cosim
