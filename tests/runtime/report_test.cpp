// Reports of a hand-made run of 100 cycles: two layers, one LOAD each and one CONV0 each.
#include "runtime/report/report.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "hw/common/error.hpp"
#include "isa/isa.hpp"

namespace tessera::runtime {
namespace {

constexpr std::uint8_t kLoad = 0;
constexpr std::uint8_t kConv0 = 2;

struct HandMadeRun {
  isa::Program program;
  isa::ChipConfig chip = isa::load_chip("tiny");
  hw::RunResult result;

  HandMadeRun() {
    isa::Conv conv;
    conv.out_h = 2;
    conv.out_w = 3;
    conv.cout = 4;
    conv.cin = 5;
    conv.groups = 1;
    conv.kh = conv.kw = 1;
    conv.gx = conv.gy = 2;
    conv.in_h = 2;
    conv.in_w = 3;
    isa::Load load;
    load.row_bytes = 64;
    load.group_bytes = 64;
    for (auto& dim : load.dims) dim.count = 1;
    isa::Section section;
    section.name = "npu0";
    for (const auto& [queue, body] : {std::pair<std::uint8_t, isa::Instruction>{kLoad, {{}, load}},
                                      std::pair<std::uint8_t, isa::Instruction>{kConv0, {{}, conv}}}) {
      isa::QueueStream stream{0, queue, {}, {}};
      for (std::uint16_t layer = 0; layer < 2; ++layer) {
        isa::Instruction instruction = body;
        instruction.header.layer = layer;
        for (const isa::Word& word : isa::encode(instruction)) stream.words.push_back(word);
        stream.info.push_back({layer, isa::Traffic::weights, queue == kLoad ? 60 : 0, "rows 0..1"});
      }
      section.streams.push_back(stream);
    }
    program.sections = {section};
    program.model_name = "made by hand";
    program.schedule = "layer";
    program.macs_useful = 240;
    program.layers = {{"first", "Conv", "conv0", 0, 120, {}}, {"second", "Conv", "conv0", 1, 120, {}}};
    program.groups = {{"first", 48}, {"second", 47}};
    program.compulsory_read = 120;

    result.cycles = 100;
    result.fetch_bytes = 256;
    result.load_bytes = 128;
    result.sections = {{"npu0", false, 0, 100}};
    result.instructions = {record(kLoad, 0, 0, 5, 20), record(kLoad, 1, 1, 10, 40), record(kConv0, 0, 0, 22, 50),
                           record(kConv0, 1, 1, 50, 90)};
    for (int i : {0, 1}) result.instructions[static_cast<std::size_t>(i)].dram_read = 64;
    hw::UnitResult load_unit{"load", {}, 0, 0};
    load_unit.account.busy = 35;
    load_unit.account.idle = 65;
    hw::UnitResult conv_unit{"conv0", {}, 0, 0};
    conv_unit.account.busy = 68;
    conv_unit.account.idle = 20;
    conv_unit.account.add(StallCause::semaphore_load, 12);
    result.units = {load_unit, conv_unit};
    result.channels.resize(1);
    result.channels[0].clocks = 50;
    result.channels[0].data = 20;
    result.channels[0].idle = 30;
  }

  static hw::InstructionRecord record(std::uint8_t queue, std::uint32_t index, std::uint16_t layer, Cycles start,
                                      Cycles finish) {
    hw::InstructionRecord r;
    r.queue = queue;
    r.index = index;
    r.layer = layer;
    r.start = start;
    r.finish = finish;
    return r;
  }
  [[nodiscard]] ReportInput input() const { return {program, chip, result, "tlm", 7, 1, 0.5, {}, {}, {}, 1e9}; }
};

TEST(Report, BytesByKindSumToWhatWasMovedAndPaddingIsTheRest) {
  const nlohmann::json report = build_report(HandMadeRun().input());
  const nlohmann::json& kinds = report.at("dram").at("by_kind");
  EXPECT_EQ(kinds.at("weights"), 120);
  EXPECT_EQ(kinds.at("padding"), 8);
  EXPECT_EQ(kinds.at("instructions"), 256);
  EXPECT_EQ(report.at("dram").at("read_bytes"), 384);
}

// Each layer has one 1x1 CONV of 2 x 3 pixels, 5 channels to 4, on 4 x 4 lanes and 2 pixels: two cin tiles of 4 steps
// each (2 rows, 2 groups), 6 pixels in 4 lines of two blocks, 2 x 2 + parameter lines of weights, 4 lines of output.
TEST(Report, ALayerSaysWhatItsConvolutionComesUpAgainst) {
  HandMadeRun run;
  const nlohmann::json layers = build_report(run.input()).at("layers");
  ASSERT_EQ(layers.size(), 2u);
  for (const nlohmann::json& layer : layers) {
    const nlohmann::json& limit = layer.at("limit");
    EXPECT_EQ(limit.at("array"), 2 * 4);
    EXPECT_EQ(limit.at("window"), 2 * 4);
    EXPECT_EQ(limit.at("weights"), 2 * 2 + 4 * 12 / 8);
    EXPECT_EQ(limit.at("drain"), 4);
    EXPECT_EQ(limit.at("by"), "weights");
    EXPECT_GE(limit.at("cycles"), 10);
  }
  for (isa::QueueStream& stream : run.program.sections[0].streams) stream.info.clear();
  EXPECT_FALSE(build_report(run.input()).at("layers")[0].contains("limit")) << "assembled: no layers are known";
}

TEST(Report, GroupsTileTheRunWithoutGap) {
  const nlohmann::json groups = build_report(HandMadeRun().input()).at("groups");
  ASSERT_EQ(groups.size(), 4u);
  EXPECT_EQ(groups[0].at("name"), "start");
  EXPECT_EQ(groups[0].at("end_cycle"), 5);
  EXPECT_EQ(groups[1].at("end_cycle"), 50);
  EXPECT_EQ(groups[2].at("start_cycle"), 50);
  EXPECT_EQ(groups[3].at("end_cycle"), 100);
  EXPECT_EQ(groups[1].at("predicted_cycles"), 48);
  EXPECT_FALSE(groups[2].contains("predicted_cycles")) << "expected to end under the first";
}

TEST(Report, BytesOfTheGroupsAreThoseOfTheRunAlsoWithFrames) {
  for (const int frames : {1, 3}) {
    HandMadeRun run;
    run.result.load_bytes *= frames;
    run.result.fetch_bytes *= frames;
    run.result.host_read_bytes = 40 * frames;
    run.result.host_write_bytes = 24 * frames;
    run.result.frame_ends = {100};
    ReportInput input = run.input();
    input.frames = frames;
    const nlohmann::json report = build_report(input);
    Bytes read = 0, written = 0;
    for (const nlohmann::json& group : report.at("groups")) {
      read += group.at("dram_read_bytes").get<Bytes>();
      written += group.at("dram_write_bytes").get<Bytes>();
    }
    EXPECT_EQ(read, report.at("dram").at("read_bytes")) << frames << " frames";
    EXPECT_EQ(written, report.at("dram").at("write_bytes")) << frames << " frames";
    EXPECT_EQ(report.at("groups")[0].at("dram_read_bytes"), 256) << "the first frame's instructions";
    EXPECT_EQ(report.at("groups")[3].at("dram_write_bytes"), 24) << "the first frame's host steps";
  }
}

TEST(Report, ABrokenSumIsNeverWritten) {
  HandMadeRun run;
  run.result.units[1].account.idle -= 1;
  EXPECT_THROW((void)build_report(run.input()), InternalError);
  HandMadeRun bytes;
  bytes.result.load_bytes += 64;
  EXPECT_THROW((void)build_report(bytes.input()), InternalError);
  HandMadeRun clocks;
  clocks.result.channels[0].refresh += 1;
  EXPECT_THROW((void)build_report(clocks.input()), InternalError);
}

TEST(Report, UtilisationIsUsefulMacsOverLaneCycles) {
  const nlohmann::json report = build_report(HandMadeRun().input());
  EXPECT_DOUBLE_EQ(report.at("utilization").at("conv0").get<double>(), 240.0 / (100.0 * 4 * 4 * 2));
  EXPECT_DOUBLE_EQ(report.at("utilization").at("load").get<double>(), 128.0 / (100.0 * 8));
}

TEST(Report, MacsThatAreMadeAgainAreNotUseful) {
  HandMadeRun run;  // 120 MACs a layer
  run.program.layers[0].macs_useful = 90;
  run.program.layers[1].macs_useful = 120;
  const nlohmann::json report = build_report(run.input());
  EXPECT_DOUBLE_EQ(report.at("utilization").at("conv0").get<double>(), 210.0 / (100.0 * 4 * 4 * 2));
}

TEST(Report, SummaryNamesTheRunItsStallsAndItsFloor) {
  const std::string text = summary_text(build_report(HandMadeRun().input()));
  for (const char* part : {"made by hand on tiny", "semaphore.load 12.0 %", "moved 384, compulsory 120", "second"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
}

TEST(Report, DiffNamesTheLargestChangeOfAGroup) {
  const HandMadeRun a;
  HandMadeRun b;
  b.result.instructions[3].finish = 95;
  b.result.instructions[3].stall[static_cast<std::size_t>(StallCause::sram_bank_conflict)] = 5;
  const nlohmann::json diff = diff_reports(build_report(a.input()), build_report(b.input()));
  EXPECT_EQ(diff.at("groups")[2].at("cause"), "sram_bank_conflict +5");
  EXPECT_EQ(diff.at("groups")[1].at("cause"), "equal");
  EXPECT_NE(diff_text(diff).find("sram_bank_conflict +5"), std::string::npos);
}

TEST(Report, LoadIntoTheTimelineDrawsServiceTime) {
  const traces::Timeline timeline = build_timeline(HandMadeRun().input());
  ASSERT_EQ(timeline.slices.size(), 4u);
  EXPECT_EQ(timeline.slices[1].begin, 20);  // popped at 10 while its predecessor was in flight until 20
  EXPECT_EQ(timeline.slices[1].name, "second");
}

TEST(Report, HtmlEscapesNamesAndHoldsTheSummary) {
  HandMadeRun run;
  run.program.model_name = "<net>";
  const std::string page = html_page({build_report(run.input())});
  EXPECT_EQ(page.find("<net>"), std::string::npos);
  EXPECT_NE(page.find("&lt;net&gt; on tiny"), std::string::npos);
}

}  // namespace
}  // namespace tessera::runtime
