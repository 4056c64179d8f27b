#include "runtime/session/execute.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>

#include "compiler/interpret/qgraph_interpreter.hpp"
#include "hw/common/error.hpp"
#include "hw/common/file.hpp"
#include "hw/cosim/lockstep.hpp"
#include "hw/cosim/rtl_run.hpp"
#include "hw/cosim/rtl_unit.hpp"
#include "hw/cosim/slice.hpp"
#include "hw/cosim/wave.hpp"
#include "hw/platform/platform.hpp"
#include "hw/reference/reference.hpp"
#include "runtime/session/boundary.hpp"
#include "runtime/session/dram_activity.hpp"
#include "runtime/session/progress.hpp"

namespace tessera::runtime {
namespace {

using compiler::Tensor;

void check_weights(const isa::Program& program, const RunOptions& o) {
  if (o.timing_only || !program.weights.empty()) return;
  for (const isa::Buffer& buffer : program.buffers) {
    if (buffer.kind == isa::BufferKind::weights && buffer.size > 0) {
      user_error(
          "the program has no weights (compiled with --timing-only): run it with --timing-only, or compile "
          "again without");
    }
  }
}

platform::RunOptions platform_options(const isa::Program& program, const isa::ChipConfig& chip,
                                      const platform::DramLayout& layout, hw::DramStorage& dram, const RunOptions& o) {
  platform::RunOptions out;
  out.timing_only = o.timing_only;
  out.no_shortcuts = o.no_shortcuts;
  out.process_order_seed = o.process_order_seed;
  out.max_cycles = o.max_cycles;
  out.frames = o.frames;
  out.host_step = [&program, &chip, &layout, &dram, timing_only = o.timing_only](const isa::HostStep& step) {
    if (!timing_only) run_host_step_on(program, layout, step, dram);
    return host_step_cost(chip, step);
  };
  return out;
}

/// On the verilated core: the model's options, the same result.
hw::RunResult run_in_rtl(const isa::Program& program, const isa::ChipConfig& chip, const platform::DramLayout& layout,
                         hw::DramStorage& dram, const platform::RunOptions& options, cosim::Wave* wave) {
  cosim::RtlRun run = cosim::run_on_rtl(program, chip, layout, dram, options, wave);
  if (!run.failure.empty()) throw ProgramError(run.failure);
  if (options.end_run) options.end_run(0, run.sram);
  return std::move(run.result);
}

/// The RTL against the model: memory, start and finish of every instruction, counters.
Comparison compare_rtl(const isa::Program& program, const isa::ChipConfig& chip, const platform::DramLayout& layout,
                       const std::vector<Tensor>& inputs, const RunOptions& o) {
  cosim::LockstepOptions options;
  options.no_shortcuts = o.no_shortcuts;
  options.place_inputs = [&](hw::DramStorage& dram) { place_inputs(program, layout, inputs, dram); };
  options.host_step = [&](const isa::HostStep& step, hw::DramStorage& dram) {
    run_host_step_on(program, layout, step, dram);
    return host_step_cost(chip, step);
  };
  const cosim::LockstepResult result = cosim::run_lockstep(program, chip, chip, options);
  return {result.equal(), result.instructions, result.first};
}

/// Commands of the DRAM for all who want them.
class CommandSplitter : public dram::CommandObserver {
 public:
  void add(dram::CommandObserver& observer) { observers_.push_back(&observer); }
  [[nodiscard]] bool empty() const { return observers_.empty(); }
  void on_command(const dram::Command& command) override {
    for (dram::CommandObserver* observer : observers_) observer->on_command(command);
  }

 private:
  std::vector<dram::CommandObserver*> observers_;
};

void check_wave(const RunOptions& o) {
  if (o.wave.empty()) return;
  cosim::Wave::check_name(o.wave);
  if (o.backend == "reference") user_error("--wave: the reference has no cycles: expected --backend tlm or rtl");
  if (o.frames != 1) user_error("--wave: shows one frame: leave out --frames ", o.frames);
}

using Sram = std::vector<std::vector<std::uint8_t>>;  // bytes of each core

/// Runs the reference executor on its own memory and returns that memory.
hw::DramStorage run_on_reference(const isa::Program& program, const isa::ChipConfig& chip,
                                 const platform::DramLayout& layout, const std::vector<Tensor>& inputs,
                                 hw::RunResult* result, Sram* sram) {
  hw::DramStorage dram;
  platform::load_program(program, layout, dram);
  place_inputs(program, layout, inputs, dram);
  reference::ReferenceOptions options;
  options.host_step = [&](const isa::HostStep& step, hw::DramStorage& at) {
    run_host_step_on(program, layout, step, at);
  };
  auto done = reference::run_reference(program, chip, dram, layout, options);
  if (result != nullptr) result->warnings = done.warnings;
  if (sram != nullptr) *sram = std::move(done.sram);
  return dram;
}

Comparison compare_tensors(const isa::Program& program, const std::vector<Tensor>& ours,
                           const std::vector<Tensor>& theirs) {
  Comparison c;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    TESSERA_CHECK(ours[i].bytes.size() == theirs[i].bytes.size(), "output ", program.outputs[i].name);
    c.elements += ours[i].elements();
    for (std::size_t k = 0; c.equal && k < ours[i].bytes.size(); ++k) {
      if (ours[i].bytes[k] == theirs[i].bytes[k]) continue;
      c.equal = false;
      c.first_difference = program.outputs[i].name + "[" + std::to_string(k) +
                           "]: " + std::to_string(static_cast<std::int8_t>(ours[i].bytes[k])) + ", oracle " +
                           std::to_string(static_cast<std::int8_t>(theirs[i].bytes[k]));
    }
  }
  return c;
}

void compare_bytes(const std::string& what, const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b,
                   Comparison& c) {
  TESSERA_CHECK(a.size() == b.size(), what, ": ", a.size(), " and ", b.size(), " bytes");
  c.elements += static_cast<std::int64_t>(a.size());
  for (std::size_t i = 0; c.equal && i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    c.equal = false;
    c.first_difference =
        what + " byte " + std::to_string(i) + ": " + std::to_string(a[i]) + ", reference " + std::to_string(b[i]);
  }
}

/// Every byte that the program may write: output and scratch buffers, then each core's SRAM at the end.
Comparison compare_memory(const isa::Program& program, const platform::DramLayout& layout, const hw::DramStorage& ours,
                          const hw::DramStorage& theirs, const Sram& our_sram, const Sram& their_sram) {
  Comparison c;
  for (const isa::Buffer& buffer : program.buffers) {
    if (buffer.kind != isa::BufferKind::output && buffer.kind != isa::BufferKind::scratch) continue;
    std::vector<std::uint8_t> a(buffer.size), b(buffer.size);
    ours.read(layout.address(buffer), a.data(), a.size());
    theirs.read(layout.address(buffer), b.data(), b.size());
    compare_bytes(buffer.name, a, b, c);
  }
  for (std::size_t core = 0; core < our_sram.size(); ++core) {
    compare_bytes("SRAM of core " + std::to_string(core), our_sram[core], their_sram.at(core), c);
  }
  return c;
}

std::map<std::string, Cycles> run_ideals(const isa::Program& program, const isa::ChipConfig& chip,
                                         const platform::DramLayout& layout, const RunOptions& o) {
  std::map<std::string, Cycles> out;
  for (const std::string& name : o.ideal) {
    progress("ideal " + name);
    hw::DramStorage dram;
    platform::load_program(program, layout, dram);
    RunOptions timing = o;
    timing.timing_only = true;
    platform::RunOptions options = platform_options(program, chip, layout, dram, timing);
    options.ideal_dram = name == "dram";
    options.ideal_sram = name == "sram";
    options.ideal_overlap = name == "overlap";
    out[name] = platform::run_program(program, chip, layout, dram, options).cycles;
  }
  return out;
}

}  // namespace

void check_run_options(const RunOptions& o) {
  if (!o.rtl_units.empty() && o.backend != "tlm") {
    user_error("--rtl-unit ", o.rtl_units.front(), ": puts a unit in RTL into the model: leave out --backend ",
               o.backend);
  }
  for (const std::string& name : o.compare) {
    if (name != "graph" && name != "reference" && name != "rtl") {
      user_error("--compare ", name, ": expected a list of graph, reference, rtl");
    }
  }
  for (const std::string& name : o.ideal) {
    if (name != "dram" && name != "sram" && name != "overlap") {
      user_error("--ideal ", name, ": expected dram, sram or overlap");
    }
  }
  if (o.timing_only && (!o.compare.empty() || !o.output_dir.empty())) {
    user_error("--timing-only has no values: leave out --compare and --output-dir");
  }
  check_wave(o);
  std::set<std::string> named;
  for (const std::string& file : {o.report, o.trace, o.instruction_trace, o.dram_trace, o.wave}) {
    if (file.empty()) continue;
    expect_writable(file);
    if (!named.insert(file).second) user_error(file, ": named by two options: expected a file for each");
  }
  std::error_code ignored;
  if (std::filesystem::exists(o.output_dir, ignored) && !std::filesystem::is_directory(o.output_dir, ignored)) {
    user_error("--output-dir ", o.output_dir, ": is a file: expected a folder");
  }
}

Outcome execute_program(const isa::Program& program, const isa::ChipConfig& chip, const RunOptions& o,
                        const std::function<compiler::QGraph()>& qgraph) {
  check_run_options(o);
  check_weights(program, o);
  Outcome out;
  const platform::DramLayout layout = platform::place_program(program, chip);
  if (!o.timing_only) out.inputs = make_inputs(program, o);
  hw::DramStorage dram;
  Sram sram;
  progress("run");
  const auto begin = std::chrono::steady_clock::now();
  if (o.backend == "reference") {
    dram = run_on_reference(program, chip, layout, out.inputs, &out.result, nullptr);
  } else {
    platform::load_program(program, layout, dram);
    place_inputs(program, layout, out.inputs, dram);
    platform::RunOptions options = platform_options(program, chip, layout, dram, o);
    DramActivity activity(chip);
    std::optional<cosim::Wave> wave;
    CommandSplitter commands;
    if (!o.trace.empty()) commands.add(activity);
    if (!o.wave.empty()) {
      commands.add(wave.emplace(chip));
      options.on_conflict = [&wave](int core, int queue, Cycles n) { wave->on_conflict(core, queue, n); };
    }
    if (!commands.empty()) options.dram_observer = &commands;
    if (!o.dram_trace.empty()) options.memory_observer = &activity;
    options.end_run = [&sram](int, const std::vector<std::uint8_t>& bytes) { sram.push_back(bytes); };
    cosim::RtlUnits rtl_units(chip, o.rtl_units);
    if (!o.rtl_units.empty()) {
      cosim::check_slice(program, chip, [&](int queue) { return rtl_units.has(queue); });
      options.foreign_units = &rtl_units;
    }
    if (o.backend == "rtl") {
      out.result = run_in_rtl(program, chip, layout, dram, options, wave ? &*wave : nullptr);
    } else {
      out.result = platform::run_program(program, chip, layout, dram, options);
      if (wave) wave->add_records(program, out.result);
    }
    if (wave) wave->write(o.wave);
    out.dram_slices = activity.slices();
    out.dram_trace = activity.request_trace();
  }
  out.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (!o.timing_only) out.outputs = fetch_outputs(program, layout, dram);
  for (const std::string& name : std::set<std::string>(o.compare.begin(), o.compare.end())) {
    progress("compare " + name);
    if (name == "graph") {
      out.compare[name] = compare_tensors(program, out.outputs, compiler::interpret(qgraph(), out.inputs));
    } else if (name == "rtl") {
      out.compare[name] = compare_rtl(program, chip, layout, out.inputs, o);
    } else {
      Sram expected;
      const hw::DramStorage other = run_on_reference(program, chip, layout, out.inputs, nullptr, &expected);
      out.compare[name] = compare_memory(program, layout, dram, other, sram, expected);
    }
  }
  out.ideal = run_ideals(program, chip, layout, o);
  // Without waits for room, LOADs run ahead and take DRAM time from the STOREs and LOADs that the critical path needs,
  // so that the run can take longer than with them. A machine without those waits may still wait: the run's own order
  // is one of its orders.
  if (out.ideal.count("overlap") != 0 && out.result.cycles > 0) {
    out.ideal["overlap"] = std::min(out.ideal["overlap"], out.result.cycles);
  }
  progress("");
  return out;
}

}  // namespace tessera::runtime
