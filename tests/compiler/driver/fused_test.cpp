// The fused schedule: values on random graphs at small SRAM sizes, where groups, line buffers and spilled maps occur;
// traffic and predicted cycles beside the layer schedule.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/driver/compile.hpp"
#include "compiler/emit/emit.hpp"
#include "compiler/schedule/scheduler.hpp"
#include "hw/common/error.hpp"
#include "isa/program/instructions.hpp"
#include "isa/semantics/layout.hpp"
#include "random_graph.hpp"
#include "run_program.hpp"

namespace tessera::compiler {
namespace {

using testing::QBuilder;

isa::ChipConfig chip_with(const std::string& name, std::int64_t bank_bytes, int engines = 1) {
  return isa::load_chip(name,
                        {"sram.size_bytes=" + std::to_string(bank_bytes), "conv.engines=" + std::to_string(engines)});
}

isa::Program compiled(const QGraph& graph, const isa::ChipConfig& chip, ScheduleKind kind, bool timing_only = false) {
  CompileOptions options;
  options.schedule = kind;
  options.timing_only = timing_only;
  return compile(graph, chip, options).program;
}

/// Smallest to largest: maps of a few KiB against all of the SRAM.
constexpr std::int64_t kBankBytes[] = {512, 1024, 2048, 8192};

/// How many random graphs: a share here, 500 by scripts/fused_seeds.sh.
std::uint64_t seeds() {
  const char* text = std::getenv("TESSERA_FUSED_SEEDS");
  return text == nullptr ? 40 : std::stoull(text);
}

TEST(Fused, RandomGraphsComputeTheGraphOnEverySchedule) {
  std::uint64_t ran = 0, with_groups = 0;
  for (std::uint64_t seed = 401; seed <= 400 + seeds(); ++seed) {
    const isa::ChipConfig chip = chip_with("tiny", kBankBytes[seed % 4]);
    const QGraph graph = testing::random_graph(seed, 17, seed % 5 == 0 ? 2 : 1);
    bool layer_fits = true;
    for (const ScheduleKind kind : {ScheduleKind::layer, ScheduleKind::naive, ScheduleKind::fused}) {
      try {
        const isa::Program program = compiled(graph, chip, kind);
        testing::expect_program_computes(graph, program, chip, testing::random_inputs(graph, seed + 1000), seed);
        ran += kind == ScheduleKind::fused ? 1 : 0;
        with_groups += program.groups.size() < program.layers.size() ? 1 : 0;
      } catch (const UserError& error) {  // what this SRAM cannot hold; what it can layer by layer, it can fused
        if (kind == ScheduleKind::layer) layer_fits = false;
        EXPECT_FALSE(layer_fits) << error.what();
      }
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(ran, seeds() / 2);
  EXPECT_GT(with_groups, seeds() / 4);
}

/// The layer schedule is refined by what is predicted: what is chosen never takes more cycles and bytes than a way that
/// was tried, and now and then less than the plain way.
TEST(Fused, ARefinedLayerScheduleIsNoWorseThanWhatWasTried) {
  const auto plain = [](const QGraph& graph, const isa::ChipConfig& chip, const ScheduleOptions& options) {
    return emit(make_schedule(graph, chip, options), chip, {}).predicted;
  };
  int gains = 0, faster = 0;
  for (std::uint64_t seed = 501; seed <= 530; ++seed) {
    const isa::ChipConfig chip = chip_with("tiny", 4096, 2);
    const QGraph graph = testing::random_graph(seed, 25);
    const auto chosen = compiled(graph, chip, ScheduleKind::layer, true).predicted;
    ScheduleOptions options;
    options.timing_only = true;
    options.rows_stay = RowsStay::never;
    options.placement.banks = BankChoice::emptier;
    const auto first = plain(graph, chip, options);
    // Each change may take half a per cent more for what it saves elsewhere.
    EXPECT_LE(static_cast<double>(chosen.cycles), 1.01 * static_cast<double>(first.cycles)) << seed;
    EXPECT_FALSE(chosen.cycles >= first.cycles && chosen.dram_bytes > first.dram_bytes) << seed;
    options.copies = false;
    const auto without = plain(graph, chip, options);
    EXPECT_FALSE(chosen.cycles > without.cycles && chosen.dram_bytes >= without.dram_bytes)
        << seed << ": " << chosen.cycles << " and " << without.cycles << " cycles";
    gains += chosen.cycles < first.cycles ? 1 : 0;
    options.copies = true;
    options.count_bytes = false;
    const auto fast = plain(graph, chip, options);
    EXPECT_LE(static_cast<double>(chosen.cycles), 1.02 * static_cast<double>(fast.cycles)) << seed;
    faster += static_cast<double>(fast.cycles) < 0.98 * static_cast<double>(first.cycles) ? 1 : 0;
  }
  EXPECT_GT(gains, 0);
  EXPECT_GT(faster, 0) << "where bytes do not count";
}

/// What finds room with tiles of fewer cycles or with tiles of fewer bytes is not refused.
TEST(Fused, ALayerScheduleFitsIfOneThatWasTriedDoes) {
  const auto fits = [](const QGraph& graph, const isa::ChipConfig& chip, bool count_bytes) {
    ScheduleOptions options;
    options.timing_only = true;
    options.rows_stay = RowsStay::never;
    options.placement.banks = BankChoice::emptier;
    options.count_bytes = count_bytes;
    try {
      return !make_schedule(graph, chip, options).notes.empty();
    } catch (const UserError&) {
      return false;
    }
  };
  int narrow = 0;
  for (std::uint64_t seed = 2201; seed <= 2400; ++seed) {
    const isa::ChipConfig chip = chip_with("micro", 128 + 32 * static_cast<std::int64_t>(seed % 29), 1);
    const QGraph graph = testing::random_graph(seed, 17);
    const bool fast = fits(graph, chip, false);
    if (fits(graph, chip, true) || !fast) continue;
    EXPECT_NO_THROW(static_cast<void>(compiled(graph, chip, ScheduleKind::layer, true))) << seed;
    ++narrow;
  }
  EXPECT_GT(narrow, 0);
}

/// Rows of maps stay wherever they find room, whether or not the driver would want it.
TEST(Fused, RandomGraphsWithRowsThatStayComputeTheGraph) {
  std::uint64_t ran = 0, with_rows = 0;
  for (std::uint64_t seed = 801; seed <= 800 + seeds(); ++seed) {
    const isa::ChipConfig chip = chip_with("tiny", 128 << seed % 4, seed % 3 == 0 ? 2 : 1);
    const QGraph graph = testing::random_graph(seed, 17, seed % 5 == 0 ? 2 : 1);
    for (const bool fused : {false, true}) {
      ScheduleOptions options;
      options.fused = fused;
      options.rows_stay = RowsStay::if_fewer_bytes;
      if (seed % 4 == 1) options.fusion.strips = 3;
      try {
        const Schedule schedule = make_schedule(graph, chip, options);
        with_rows += std::any_of(schedule.notes.begin(), schedule.notes.end(),
                                 [](const LayerNote& note) { return note.kept_rows > 0; })
                         ? 1
                         : 0;
        testing::expect_program_computes(graph, emit(schedule, chip, {}), chip,
                                         testing::random_inputs(graph, seed + 1000), seed);
        ++ran;
      } catch (const UserError&) {  // what this SRAM cannot hold
      }
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(ran, seeds() / 2);
  EXPECT_GT(with_rows, seeds() / 20);
}

std::vector<std::vector<isa::Word>> words_of(const isa::Program& program) {
  std::vector<std::vector<isa::Word>> words;
  for (const isa::Section& section : program.sections) {
    for (const isa::QueueStream& stream : section.streams) words.push_back(stream.words);
  }
  return words;
}

/// Rows of maps and line buffers spread over banks, buffers in emptier banks: whether or not the driver would want it.
TEST(Fused, RandomGraphsInOtherPlacesComputeTheGraph) {
  constexpr std::int64_t kBanks[] = {0, 1, 2, 5};
  std::uint64_t ran = 0, elsewhere = 0;
  for (std::uint64_t seed = 1001; seed <= 1000 + seeds(); ++seed) {
    const isa::ChipConfig chip = chip_with("tiny", kBankBytes[seed % 4], 1 + static_cast<int>(seed % 2));
    const QGraph graph = testing::random_graph(seed, 17, 1 + static_cast<std::int64_t>(seed % 5));
    for (const bool fused : {false, true}) {
      ScheduleOptions options;
      options.fused = fused;
      options.rows_stay = RowsStay::never;
      if (seed % 4 == 1) options.fusion.strips = 3;
      try {
        const isa::Program plain = emit(make_schedule(graph, chip, options), chip, {});
        options.placement.banks = static_cast<BankChoice>(seed % 3);
        options.placement.line_banks = kBanks[seed / 2 % 4];
        options.placement.map_banks = kBanks[seed / 3 % 4];
        const isa::Program program = emit(make_schedule(graph, chip, options), chip, {});
        elsewhere += words_of(program) != words_of(plain) ? 1 : 0;
        testing::expect_program_computes(graph, program, chip, testing::random_inputs(graph, seed + 1000), seed);
        ++ran;
      } catch (const UserError&) {  // what this SRAM cannot hold
      }
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(ran, seeds());
  EXPECT_GT(elsewhere, seeds());
}

/// The head of ResNet-18 on an image of 720p.
QGraph head_of_resnet18() {
  QBuilder b(3);
  int value = b.conv(b.input(1, 3, 720, 1280), 64, {7, 7, 2, 2, 1, 1, 3, 3, 3, 3});
  value = b.max_pool(value, {3, 3, 2, 2, 1, 1, 1, 1, 1, 1});
  for (int i = 0; i < 2; ++i) value = b.conv(value, 64, {3, 3, 1, 1, 1, 1, 1, 1, 1, 1});
  b.output(value);
  return b.graph;
}

/// Chunks of more rows than the engines' pixel lanes take at once fill them: two engines of up to 3 rows.
TEST(Fused, ChunksFillThePixelLanes) {
  const isa::ChipConfig chip = isa::load_chip("a1000");
  ScheduleOptions options;
  options.fused = true;
  options.timing_only = true;
  int high = 0;
  const Schedule schedule = make_schedule(head_of_resnet18(), chip, options);
  for (const LayerNote& note : schedule.notes) {
    if (note.split == "none" || note.tile_rows <= 6) continue;
    EXPECT_EQ(note.tile_rows % 6, 0) << note.tile_rows;
    ++high;
  }
  EXPECT_GT(high, 0);
}

void expect_alike_in_one_memory(const QGraph& graph, const isa::ChipConfig& chip, std::uint64_t seed) {
  ScheduleMemory memory(chip);
  for (const int way : {0, 1, 2, 3, 4, 5, 0}) {
    ScheduleOptions options;
    options.fused = true;
    options.timing_only = true;
    options.copies = way != 1;
    options.halved = way != 2;
    options.short_neighbours = way != 3;
    if (way == 4) options.fusion.alone = {0, 1};
    if (way == 5) options.placement.map_banks = 4;
    const isa::Program alone = emit(make_schedule(graph, chip, options), chip, {});
    EXPECT_EQ(words_of(emit(make_schedule(graph, options, memory), chip, {})), words_of(alone)) << seed << " " << way;
  }
}

/// Schedules of a graph that share a memory are those that each makes by itself.
TEST(Fused, AScheduleDoesNotDependOnThoseMadeBefore) {
  for (std::uint64_t seed = 501; seed <= 530; ++seed) {
    expect_alike_in_one_memory(testing::random_graph(seed, 25), chip_with("tiny", 4096, 2), seed);
  }
  for (const std::int64_t bank : {8192, 32768}) {  // engines by rows with copies of weights, and without
    expect_alike_in_one_memory(head_of_resnet18(), chip_with("a1000", bank, 2), 0);
  }
}

TEST(Fused, LayersThatAreWishedAloneAreInNoGroup) {
  QBuilder builder(11);
  const int first = builder.conv(builder.input(1, 64, 16, 16), 64, {});
  const int second = builder.conv(builder.conv(first, 64, {}), 64, {});
  builder.output(second);
  const isa::ChipConfig chip = chip_with("tiny", 2048);
  ScheduleOptions options;
  options.fused = true;
  EXPECT_LT(make_schedule(builder.graph, chip, options).program.groups.size(), 3U);
  options.fusion.alone = {1};
  EXPECT_EQ(make_schedule(builder.graph, chip, options).program.groups.size(), 3U);
}

/// Groups whose weights come again for each chunk, of one image and of several.
TEST(Fused, RandomGraphsWithStreamedWeightsComputeTheGraph) {
  std::uint64_t ran = 0, streamed = 0;
  for (std::uint64_t seed = 901; seed <= 900 + seeds(); ++seed) {
    const isa::ChipConfig chip = chip_with("tiny", kBankBytes[seed % 4], seed % 3 == 0 ? 2 : 1);
    const QGraph graph = testing::random_graph(seed, 17, 1 + static_cast<std::int64_t>(seed % 3));
    ScheduleOptions options;
    options.fused = true;
    options.fusion.weights_stay = false;
    try {
      const Schedule schedule = make_schedule(graph, chip, options);
      streamed += std::any_of(schedule.notes.begin(), schedule.notes.end(),
                              [](const LayerNote& note) { return note.weights_streamed; })
                      ? 1
                      : 0;
      testing::expect_program_computes(graph, emit(schedule, chip, {}), chip,
                                       testing::random_inputs(graph, seed + 1000), seed);
      ++ran;
    } catch (const UserError&) {  // what this SRAM cannot hold
    }
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(ran, seeds() / 2);
  EXPECT_GT(streamed, seeds() / 4);
}

/// Rows are so wide that three of them and both layers' weights find no room, and the map between would move more bytes
/// than weights that come again for each row.
TEST(Fused, WeightsComeAgainWhereTheMapBetweenIsLarger) {
  QBuilder builder(11);
  const int middle = builder.conv(builder.input(1, 64, 8, 64), 64, {});
  builder.output(builder.conv(middle, 64, {}));
  const Bytes weights = Bytes{64} * 64;  // of a layer
  const std::map<std::int64_t, Bytes> streamed_layers = {{2048, 2}, {2560, 1}, {2816, 0}};
  for (const auto& [bank, layers] : streamed_layers) {
    const isa::ChipConfig chip = chip_with("tiny", bank);
    ScheduleOptions options;
    options.fused = true;
    options.fusion.cut_columns = false;  // which costs nothing here
    const Schedule schedule = make_schedule(builder.graph, chip, options);
    std::map<isa::Traffic, Bytes> bytes;
    for (const WorkSection& section : schedule.sections) {
      for (const WorkItem& item : section.items) bytes[item.kind] += item.useful_bytes;
    }
    EXPECT_EQ(schedule.program.groups.size(), 1U) << bank;
    EXPECT_EQ(bytes[isa::Traffic::spill], 0) << bank;
    EXPECT_EQ(bytes[isa::Traffic::weights], (2 + (8 - 1) * layers) * weights) << bank;
    testing::expect_program_computes(builder.graph, emit(schedule, chip, {}), chip,
                                     testing::random_inputs(builder.graph, 1), 1);
  }
}

TEST(Fused, ImagesOfABatchComputeTheGraphOnTwoEngines) {
  std::uint64_t ran = 0, with_groups = 0;
  for (std::uint64_t seed = 701; seed <= 700 + seeds(); ++seed) {
    const isa::ChipConfig chip = chip_with("tiny", kBankBytes[seed % 4], 2);
    const QGraph graph = testing::random_graph(seed, 13, 2 + static_cast<std::int64_t>(seed % 3));
    for (const ScheduleKind kind : {ScheduleKind::layer, ScheduleKind::fused}) {
      try {
        const isa::Program program = compiled(graph, chip, kind);
        testing::expect_program_computes(graph, program, chip, testing::random_inputs(graph, seed + 1000), seed);
        ++ran;
        with_groups += program.groups.size() < program.layers.size() ? 1 : 0;
      } catch (const UserError&) {  // what this SRAM cannot hold
      }
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(ran, seeds());
  EXPECT_GT(with_groups, seeds() / 4);
}

TEST(Fused, RowsOfTwoCoresComputeTheGraph) {
  std::uint64_t ran = 0, with_groups = 0;
  for (std::uint64_t seed = 901; seed <= 900 + seeds(); ++seed) {
    const isa::ChipConfig chip =
        seed % 3 == 0 ? isa::load_chip("j5")
                      : isa::load_chip("tiny", {"cores=2", "sram.size_bytes=" + std::to_string(kBankBytes[seed % 4])});
    const QGraph graph = testing::random_graph(seed, 23, seed % 7 == 0 ? 2 : 1);
    CompileOptions options;
    if (seed % 4 == 1) options.fusion.strips = 2;
    if (seed % 5 == 2) options.fusion.weights_stay = false;
    try {
      const isa::Program program = compile(graph, chip, options).program;
      testing::expect_program_computes(graph, program, chip, testing::random_inputs(graph, seed + 1000), seed);
      ++ran;
      with_groups += program.groups.size() < program.layers.size() ? 1 : 0;
    } catch (const UserError&) {  // what this SRAM cannot hold
    }
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(ran, seeds() / 2);
  EXPECT_GT(with_groups, seeds() / 4);
}

TEST(Fused, ForcedStripsComputeTheGraph) {
  std::uint64_t ran = 0, in_strips = 0;
  for (std::uint64_t seed = 801; seed <= 800 + seeds(); ++seed) {
    const char* names[] = {"tiny", "micro", "a1000"};
    const std::string name = names[seed % 3];
    const isa::ChipConfig chip = name == "tiny" ? chip_with(name, kBankBytes[seed / 3 % 4]) : isa::load_chip(name);
    const QGraph graph = testing::random_graph(seed, 23);
    CompileOptions options;
    options.fusion.strips = 2 + static_cast<std::int64_t>(seed % 5);
    options.fusion.weights_stay = seed % 6 != 0;
    try {
      const Compiled made = compile(graph, chip, options);
      testing::expect_program_computes(graph, made.program, chip, testing::random_inputs(graph, seed + 1000), seed);
      ++ran;
      in_strips += std::any_of(made.schedule_view.nodes.begin(), made.schedule_view.nodes.end(), [](const Node& node) {
        const std::vector<std::int64_t> strips = node.ints_attr("strips", {});
        return !strips.empty() && strips.front() > 1;
      });
    } catch (const UserError&) {  // what this SRAM cannot hold
    }
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(ran, seeds() / 2);
  EXPECT_GT(in_strips, seeds() / 4);
}

/// The convolutions that an engine runs, in order.
std::vector<isa::Conv> convolutions(const isa::Program& program, std::uint8_t engine) {
  std::vector<isa::Conv> found;
  for (const isa::Section& section : program.sections) {
    for (const isa::QueueStream& stream : section.streams) {
      if (stream.queue != static_cast<std::uint8_t>(isa::QueueId::conv0) + engine) continue;
      for (const isa::Instruction& instruction : isa::decode_stream(stream)) {
        if (const auto* conv = std::get_if<isa::Conv>(&instruction.body)) found.push_back(*conv);
      }
    }
  }
  return found;
}

TEST(Fused, MapsInHalvesComputeTheGraphOnTwoEngines) {
  const isa::ChipConfig chip = chip_with("tiny", kBankBytes[3], 2);
  std::uint64_t rows_outside = 0;
  for (std::uint64_t seed = 801; seed <= 800 + seeds(); ++seed) {
    const QGraph graph = testing::random_graph(seed, 17);
    for (const ScheduleKind kind : {ScheduleKind::layer, ScheduleKind::fused}) {
      const isa::Program program = compiled(graph, chip, kind);
      testing::expect_program_computes(graph, program, chip, testing::random_inputs(graph, seed + 1000), seed);
      if (HasFatalFailure()) return;
      const std::vector<isa::Conv> all = convolutions(program, 0);
      rows_outside += std::any_of(all.begin(), all.end(), [](const isa::Conv& conv) {
        return conv.in.row_pitch > conv.in.block_pitch && conv.in.block_pitch > 0;
      });
    }
  }
  EXPECT_GT(rows_outside, seeds() / 4);
}

/// Both engines read a map of less than a bank and write another: at the same time, but never one bank.
TEST(Fused, EnginesHaveHalvesOfSmallMapsInOtherBanks) {
  const isa::ChipConfig chip = isa::load_chip("a1000");
  QBuilder b(11);
  const int wide = b.conv(b.input(1, 32, 14, 14), 384, {});
  b.output(b.conv(b.conv(wide, 384, {3, 3, 1, 1, 1, 1, 1, 1, 1, 1}, 384), 64, {}));
  const isa::Program program = compiled(b.graph, chip, ScheduleKind::fused, true);
  const auto depthwise = [&](std::uint8_t engine) {
    std::vector<isa::Conv> all = convolutions(program, engine);
    const auto other = [](const isa::Conv& conv) { return conv.mode != isa::ConvMode::depthwise; };
    all.erase(std::remove_if(all.begin(), all.end(), other), all.end());
    return all;
  };
  const std::vector<isa::Conv> first = depthwise(0), second = depthwise(1);
  ASSERT_EQ(first.size(), 1u) << "one instruction an engine: a prologue and a drain";
  ASSERT_EQ(second.size(), 1u);
  const auto banks = [&](const isa::SramTensor& map, std::int64_t rows, std::int64_t channels) {
    std::set<std::int64_t> out;
    for (std::int64_t block = 0; block < channels / chip.layout.channel_block; ++block) {
      for (std::int64_t row = 0; row < rows; ++row)
        out.insert(semantics::row_address(map, chip, block, row) / chip.sram.size_bytes);
    }
    return out;
  };
  EXPECT_EQ(first[0].out_h, 7) << "by rows";
  for (const bool out : {false, true}) {
    const auto of = [&](const isa::Conv& conv) { return banks(out ? conv.out : conv.in, 7, conv.cout); };
    std::set<std::int64_t> one = of(first[0]);
    const std::set<std::int64_t> two = of(second[0]);
    EXPECT_EQ(one.size(), 1u);
    one.insert(two.begin(), two.end());
    EXPECT_EQ(one.size(), 2u) << (out ? "written" : "read, but for a row beyond the half");
  }
}

TEST(Fused, MovesAndProductsComputeTheGraph) {
  for (std::uint64_t seed = 501; seed <= 520; ++seed) {
    isa::ChipConfig chip = chip_with("tiny", kBankBytes[2 + seed % 2]);
    if (seed % 3 == 0) chip.cores = 2;
    const QGraph graph = testing::random_moves(seed, 13, seed % 4 == 0 ? 2 : 1);
    testing::expect_program_computes(graph, compiled(graph, chip, ScheduleKind::fused), chip,
                                     testing::random_inputs(graph, seed + 1000), seed);
    if (HasFatalFailure()) return;
  }
}

TEST(Fused, IsTheSameTwice) {
  const isa::ChipConfig chip = chip_with("tiny", 1024);
  const QGraph graph = testing::random_graph(7, 17);
  const isa::Program one = compiled(graph, chip, ScheduleKind::fused);
  const isa::Program two = compiled(graph, chip, ScheduleKind::fused);
  ASSERT_EQ(one.sections.size(), two.sections.size());
  for (std::size_t s = 0; s < one.sections.size(); ++s) {
    ASSERT_EQ(one.sections[s].streams.size(), two.sections[s].streams.size());
    for (std::size_t q = 0; q < one.sections[s].streams.size(); ++q) {
      EXPECT_EQ(one.sections[s].streams[q].words, two.sections[s].streams[q].words);
    }
  }
}

TEST(Fused, IsNeverPredictedSlowerThanLayer) {
  for (std::uint64_t seed = 601; seed <= 630; ++seed) {
    const isa::ChipConfig chip = chip_with("tiny", kBankBytes[seed % 4]);
    const QGraph graph = testing::random_graph(seed, 17);
    try {
      const isa::Program layer = compiled(graph, chip, ScheduleKind::layer, true);
      EXPECT_LE(compiled(graph, chip, ScheduleKind::fused, true).predicted.cycles, layer.predicted.cycles) << seed;
    } catch (const UserError&) {  // no layer schedule to compare with
    }
  }
}

}  // namespace
}  // namespace tessera::compiler
