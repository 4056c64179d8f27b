// Waveforms: the edges of every signal are equal whichever backend ran; files are whole, or not there.
#include "hw/cosim/wave.hpp"

#include <cstdio>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <gtkwave/fstapi.h>
#include <unistd.h>

#include "hw/common/error.hpp"
#include "hw/common/file.hpp"
#include "hw/cosim/random_program.hpp"
#include "hw/cosim/rtl_run.hpp"
#include "hw/platform/platform.hpp"
#include "tests/hw/platform/program_builder.hpp"

namespace tessera::cosim {
namespace {

namespace fs = std::filesystem;
using isa::BufferKind;
using platform::test::load_rows;
using platform::test::ProgramBuilder;
using platform::test::QueueId;
using platform::test::store_rows;

Wave model_wave(const isa::Program& program, const isa::ChipConfig& chip, bool no_shortcuts = false) {
  Wave wave(chip);
  hw::DramStorage dram;
  const platform::DramLayout layout = platform::place_program(program, chip);
  platform::load_program(program, layout, dram);
  platform::RunOptions options;
  options.no_shortcuts = no_shortcuts;
  options.dram_observer = &wave;
  options.on_conflict = [&wave](int core, int queue, Cycles n) { wave.on_conflict(core, queue, n); };
  wave.add_records(program, platform::run_program(program, chip, layout, dram, options));
  return wave;
}

Wave rtl_wave(const isa::Program& program, const isa::ChipConfig& chip) {
  Wave wave(chip);
  hw::DramStorage dram;
  const platform::DramLayout layout = platform::place_program(program, chip);
  platform::load_program(program, layout, dram);
  platform::RunOptions options;
  options.dram_observer = &wave;
  EXPECT_EQ(run_on_rtl(program, chip, layout, dram, options, &wave).failure, "");
  return wave;
}

/// Edges of the signals with this in their names.
std::size_t edges(const Wave& wave, const std::string& part) {
  std::size_t count = 0;
  for (const Wave::Signal& signal : wave.signals()) {
    if ((signal.name + " ").find(part) != std::string::npos) count += signal.changes.size();
  }
  return count;
}

void expect_equal(const Wave& model, const Wave& rtl) {
  const std::vector<Wave::Signal> a = model.signals(), b = rtl.signals();
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].name, b[i].name);
    EXPECT_EQ(a[i].width, b[i].width) << a[i].name;
    for (std::size_t k = 0; k < std::min(a[i].changes.size(), b[i].changes.size()); ++k) {
      ASSERT_EQ(a[i].changes[k].time, b[i].changes[k].time) << a[i].name << ", change " << k;
      ASSERT_EQ(a[i].changes[k].value, b[i].changes[k].value) << a[i].name << ", change " << k;
    }
    EXPECT_EQ(a[i].changes.size(), b[i].changes.size()) << a[i].name;
  }
}

isa::Program two_sections() {
  ProgramBuilder builder;
  builder.buffer(BufferKind::input, 16384).buffer(BufferKind::output, 16384);
  builder.add(QueueId::load, load_rows(BufferKind::input, 5, 300, 4, 0), {{}, {{7, 2}}});
  builder.add(QueueId::store, store_rows(BufferKind::output, 0, 300, 4, 0), {{{7, 2}}, {}});
  builder.begin_section("second").nop(QueueId::reorder, 30, {{}, {{63, 1}}});
  builder.nop(QueueId::edp, 3, {{{63, 1}}, {}});
  return builder.program();
}

TEST(Wave, RandomProgramsHaveTheSameEdges) {
  const isa::ChipConfig chip = isa::load_chip("tiny");
  for (const std::uint64_t seed : {5u, 6u}) {
    SCOPED_TRACE(seed);
    const isa::Program program = random_program(chip, seed, 30);
    const Wave model = model_wave(program, chip), rtl = rtl_wave(program, chip);
    expect_equal(model, rtl);
    expect_equal(model_wave(program, chip, true), rtl);
    EXPECT_EQ(first_different_edge(model, rtl).first + first_different_edge(model, rtl).second, "");
    for (const char* part :
         {".busy ", ".bank_conflict ", ".head_valid ", ".head ", ".semaphores.", ".command ", ".row "}) {
      EXPECT_GE(edges(rtl, part), 4u) << part;
    }
  }
}

TEST(Wave, SectionsBeginWithEmptyQueues) {
  const isa::ChipConfig chip = isa::load_chip("tiny");
  const isa::Program program = two_sections();
  const Wave rtl = rtl_wave(program, chip);
  expect_equal(model_wave(program, chip), rtl);
  EXPECT_EQ(edges(rtl, "load.head "), 2u);  // 1 word, and back to 0
  EXPECT_EQ(edges(rtl, "semaphores.s7 "), 2u);
}

TEST(Wave, ASignalOfAnotherChipDiffers) {
  // Slower memory: the edges that the test above compares do move.
  const isa::Program program = two_sections();
  const isa::ChipConfig chip = isa::load_chip("tiny"), slow = isa::load_chip("tiny", {"interconnect.latency_cycles=9"});
  const std::vector<Wave::Signal> a = model_wave(program, chip).signals(), b = model_wave(program, slow).signals();
  std::size_t equal = 0, changing = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    changing += a[i].changes.empty() ? 0 : 1;
    equal += !a[i].changes.empty() && a[i].changes == b[i].changes ? 1 : 0;
  }
  EXPECT_GT(changing, 10u);
  EXPECT_EQ(equal, 0u);
}

TEST(Wave, TheFirstDifferentEdgeIsToldByBothSides) {
  const isa::ChipConfig chip = isa::load_chip("tiny", {"clock_hz=800000000"});
  const auto conflicts = [&](std::initializer_list<std::pair<QueueId, Cycles>> cycles) {
    Wave wave(chip);
    for (const auto& [queue, n] : cycles) wave.on_conflict(0, static_cast<int>(queue), n);
    return wave;
  };
  const Wave model = conflicts({{QueueId::load, 3}, {QueueId::store, 9}});
  using Edge = std::pair<std::string, std::string>;
  EXPECT_EQ(first_different_edge(model, conflicts({{QueueId::load, 3}, {QueueId::store, 9}})), Edge("", ""));
  // STORE's is earlier than that which LOAD lacks.
  EXPECT_EQ(first_different_edge(model, conflicts({{QueueId::load, 3}, {QueueId::load, 8}, {QueueId::store, 5}})),
            Edge("core0.store.bank_conflict becomes 1 at 11250 ps", "core0.store.bank_conflict becomes 1 at 6250 ps"));
  EXPECT_EQ(
      first_different_edge(model, conflicts({{QueueId::load, 3}})),
      Edge("core0.store.bank_conflict becomes 1 at 11250 ps", "core0.store.bank_conflict does not change any more"));
}

TEST(Wave, TimeIsInPicosecondsOfTheCoreClock) {
  const Wave wave(isa::load_chip("tiny", {"clock_hz=800000000"}));
  EXPECT_EQ(wave.time_of(0), 0);
  EXPECT_EQ(wave.time_of(1), 1250);
  EXPECT_EQ(wave.time_of(8'000'000'000'001), 10'000'000'000'001'250);
}

class WaveFile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("wave_test." + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  [[nodiscard]] std::string file(const char* name) const { return (folder_ / name).string(); }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
};

Wave small_wave() {
  Wave wave(isa::load_chip("tiny"));
  wave.on_conflict(0, static_cast<int>(QueueId::gemm), 3);
  wave.on_conflict(0, static_cast<int>(QueueId::gemm), 4);
  wave.on_conflict(0, static_cast<int>(QueueId::gemm), 9);
  return wave;
}

TEST_F(WaveFile, VcdHoldsScopesAndChanges) {
  small_wave().write(file("a.vcd"));
  const std::string text = read_file(file("a.vcd"));
  EXPECT_EQ(text.rfind("$timescale 1ps $end\n$scope module core0 $end\n$scope module conv0 $end\n$var wire 1 s0 "
                       "bank_conflict $end\n",
                       0),
            0u)
      << text.substr(0, 200);
  const std::size_t scope = text.find("$scope module gemm $end\n$var wire 1 s");
  ASSERT_NE(scope, std::string::npos);
  const std::size_t id = text.find('s', text.find("wire 1 ", scope));
  const std::string name = text.substr(id, text.find(' ', id) - id);
  EXPECT_NE(text.find("#3750\nb1 " + name + "\n#6250\nb0 " + name + "\n#11250\nb1 " + name + "\n#12500\nb0 " + name),
            std::string::npos);
  EXPECT_EQ(files(), 1u);
}

TEST_F(WaveFile, FstHoldsTheSameAndTheSameBytesAgain) {
  const Wave wave = small_wave();
  wave.write(file("a.fst"));
  wave.write(file("b.fst"));
  EXPECT_EQ(files(), 2u);
  EXPECT_TRUE(read_file(file("a.fst")) == read_file(file("b.fst")));
  void* reader = fstReaderOpen(file("a.fst").c_str());
  ASSERT_NE(reader, nullptr);
  EXPECT_EQ(fstReaderGetVarCount(reader), wave.signals().size());
  EXPECT_EQ(fstReaderGetEndTime(reader), 12500u);
  fstReaderSetFacProcessMaskAll(reader);
  std::string changes;
  fstReaderIterBlocks(
      reader,
      [](void* to, uint64_t time, fstHandle, const unsigned char* value) {
        if (time > 0)
          *static_cast<std::string*>(to) += std::to_string(time) + "=" + reinterpret_cast<const char*>(value) + " ";
      },
      &changes, nullptr);
  fstReaderClose(reader);
  EXPECT_EQ(changes, "3750=1 6250=0 11250=1 12500=0 ");
}

std::string refusal(const Wave& wave, const std::string& file) {
  try {
    wave.write(file);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no refusal";
}

TEST_F(WaveFile, BrokenPathsLeaveNothing) {
  const Wave wave = small_wave();
  EXPECT_EQ(refusal(wave, file("a.txt")), "--wave " + file("a.txt") + ": expected a name that ends in .fst or .vcd");
  for (const char* name : {"none/a.fst", "none/a.vcd"}) {
    EXPECT_EQ(refusal(wave, file(name)),
              file(name) + ": cannot be written: expected a writable folder with free space");
  }
  // A name that is a folder already: the finished part cannot take it.
  fs::create_directories(folder_ / "d.fst" / "full");
  EXPECT_EQ(refusal(wave, file("d.fst")),
            file("d.fst") + ": cannot be written: expected a writable folder with free space");
  EXPECT_EQ(files(), 1u);
}

}  // namespace
}  // namespace tessera::cosim
