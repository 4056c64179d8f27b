// Speed of the main job on ResNet-50 (zoo, seed 1), a1000: compile, run with and without values, everything stepped,
// four times the core clock, and a worst case with all streams in one bank. Counters: simulated cycles per second,
// share of unit-cycles that were stepped, DRAM bursts per second.
#include <filesystem>

#include <benchmark/benchmark.h>

#include "compiler/export/export.hpp"
#include "compiler/zoo/zoo.hpp"
#include "isa/isa.hpp"
#include "runtime/session/execute.hpp"
#include "runtime/session/front_end.hpp"

namespace tessera::runtime {
namespace {

std::string model_file() {
  static const std::string path = [] {
    const auto file = std::filesystem::temp_directory_path() / "tessera_benchmark_resnet50.onnx";
    compiler::export_model(compiler::zoo_build("resnet50", 1), file);
    return file.string();
  }();
  return path;
}

CompiledModel compile_resnet(bool timing_only, const std::vector<std::string>& sets = {}) {
  ModelOptions model;
  model.model = model_file();
  model.timing_only = timing_only;
  CompileOptions compile;
  compile.chip = "a1000";
  compile.sets = sets;
  return compile_model(model, compile);
}

void count(benchmark::State& state, const hw::RunResult& result) {
  const auto per_run = static_cast<double>(state.iterations());
  std::int64_t unit_cycles = 0;
  for (const hw::UnitResult& unit : result.units) unit_cycles += unit.account.busy;
  state.counters["cycles"] = static_cast<double>(result.cycles);
  state.counters["cycles/s"] =
      benchmark::Counter(static_cast<double>(result.cycles) * per_run, benchmark::Counter::kIsRate);
  state.counters["DRAM bursts/s"] =
      benchmark::Counter(static_cast<double>(result.dram_bursts) * per_run, benchmark::Counter::kIsRate);
  state.counters["stepped share"] = static_cast<double>(result.stepped_cycles) / static_cast<double>(unit_cycles);
}

void run(benchmark::State& state, const CompiledModel& compiled, const RunOptions& options) {
  hw::RunResult result;
  for (auto _ : state) {
    result = execute_program(compiled.program, compiled.chip, options, [&] { return compiled.qgraph; }).result;
  }
  count(state, result);
}

void QuantizeOneSample(benchmark::State& state) {
  ModelOptions model;
  model.model = model_file();
  for (auto _ : state) benchmark::DoNotOptimize(quantise_model(model));
}

void CompileTimingOnly(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(compile_resnet(true));
}

void RunTimingOnly(benchmark::State& state) {
  RunOptions options;
  options.timing_only = true;
  run(state, compile_resnet(true), options);
}

void RunTimingOnlyNoShortcuts(benchmark::State& state) {
  RunOptions options;
  options.timing_only = options.no_shortcuts = true;
  run(state, compile_resnet(true), options);
}

void RunWithValues(benchmark::State& state) { run(state, compile_resnet(false), {}); }

/// The same DRAM seen by a core of four times the clock: about four times the cycles, hardly more events.
void RunTimingOnlyFourTimesTheClock(benchmark::State& state) {
  RunOptions options;
  options.timing_only = true;
  run(state, compile_resnet(true, {"clock_hz=4000000000"}), options);
}

isa::QueueStream stream(std::uint8_t queue, const isa::Instruction& instruction, int times) {
  isa::QueueStream out{0, queue, {}, {}};
  for (int i = 0; i < times; ++i) {
    for (const isa::Word& word : isa::encode(instruction)) out.words.push_back(word);
  }
  return out;
}

/// LOAD, STORE, EDP and REORDER in disjoint lines of one bank, without any semaphore: every cycle is a fight.
void WorstCaseOneBank(benchmark::State& state) {
  CompiledModel compiled;
  compiled.chip = isa::load_chip("a1000");
  isa::Load load;
  load.base_register = 1;
  load.row_bytes = load.group_bytes = 16384;
  load.sram_base = 0;
  isa::Store store;
  store.base_register = 2;
  store.row_bytes = store.group_bytes = 16384;
  store.sram_base = 16384;
  isa::Reorder reorder;
  reorder.run_bytes = 8192;
  reorder.src_base = 32768;
  reorder.dst_base = 49152;
  isa::Edp edp;
  edp.a.base = 65536;
  edp.out.base = 98304;
  edp.a.row_pitch = edp.out.row_pitch = 16;
  edp.a.block_pitch = edp.out.block_pitch = 256;
  edp.h = 8;
  edp.w = 64;
  edp.c = 32;
  edp.stages[0].op = isa::EdpOp::clip;
  edp.stages[0].lo = -128;
  edp.stages[0].hi = 127;
  isa::Section section{"one bank", -1, {}};
  const int times = static_cast<int>(state.range(0));
  section.streams = {stream(0, {{}, load}, times), stream(1, {{}, store}, times), stream(7, {{}, edp}, 2 * times),
                     stream(8, {{}, reorder}, 2 * times)};
  compiled.program.sections = {section};
  compiled.program.buffers = {{"in", isa::BufferKind::input, 0, 16384, 64},
                              {"out", isa::BufferKind::output, 0, 16384, 64}};
  compiled.program.arch_hash = isa::arch_hash(compiled.chip);
  RunOptions options;
  options.timing_only = true;
  run(state, compiled, options);
}

BENCHMARK(QuantizeOneSample)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK(CompileTimingOnly)->Unit(benchmark::kMillisecond);
BENCHMARK(RunTimingOnly)->Unit(benchmark::kMillisecond);
BENCHMARK(RunTimingOnlyNoShortcuts)->Unit(benchmark::kMillisecond);
BENCHMARK(RunTimingOnlyFourTimesTheClock)->Unit(benchmark::kMillisecond);
BENCHMARK(RunWithValues)->Unit(benchmark::kMillisecond)->Iterations(2);
BENCHMARK(WorstCaseOneBank)->Arg(500)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tessera::runtime

BENCHMARK_MAIN();
