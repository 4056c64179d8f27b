// Closed forms 5 and 6. 5: two 3x3 convolutions on 32x32x32 and the Add of their input, fused at every tile height:
// equal to the graph, the map between them never in DRAM (65,536 bytes less), no row made twice. 6: a 1x1 convolution
// whose traffic falls with the SRAM to input + weights + output.
#include <map>

#include <gtest/gtest.h>

#include "compiler/driver/choose_schedule.hpp"
#include "compiler/emit/emit.hpp"
#include "tests/compiler/driver/random_graph.hpp"
#include "tests/compiler/driver/run_program.hpp"

namespace tessera::compiler {
namespace {

using testing::QBuilder;

std::map<isa::Traffic, Bytes> traffic(const isa::Program& program) {
  std::map<isa::Traffic, Bytes> bytes;
  for (const isa::Section& section : program.sections) {
    for (const isa::QueueStream& stream : section.streams) {
      const auto queue = static_cast<isa::QueueId>(stream.queue);
      if (queue != isa::QueueId::load && queue != isa::QueueId::store) continue;
      for (const isa::InstructionInfo& info : stream.info) bytes[info.kind] += info.useful_bytes;
    }
  }
  return bytes;
}

class Residual : public ::testing::Test {
 protected:
  Residual() : builder_(5), chip_(isa::load_chip("tiny", {"sram.size_bytes=65536"})) {
    const QBuilder::Window window{3, 3, 1, 1, 1, 1, 1, 1, 1, 1};
    const int in = builder_.input(1, 32, 32, 32);
    first_ = builder_.conv(in, 32, window);
    const int second = builder_.conv(first_, 32, window);
    builder_.output(builder_.add(second, in));
    QNode& conv = builder_.graph.nodes[1];  // no clamp of its own: its drain adds
    conv.lo = -128;
    conv.hi = 127;
    options_.fused = true;
    options_.fusion.whole_maps = false;
  }
  [[nodiscard]] isa::Program compiled() const {
    return emit(make_schedule(builder_.graph, chip_, options_), chip_, {});
  }
  [[nodiscard]] const std::string& name_of(int node) const {
    return builder_.graph.nodes[static_cast<std::size_t>(node)].name;
  }

  QBuilder builder_;
  isa::ChipConfig chip_;
  ScheduleOptions options_;
  int first_ = -1;
};

TEST_F(Residual, FusedAtEveryTileHeightEqualsTheGraph) {
  for (std::int64_t height = 1; height <= 32; ++height) {
    options_.wishes.tiles = {{name_of(1), height, 32}};
    const isa::Program program = compiled();
    EXPECT_EQ(program.layers.size(), 2U);
    testing::expect_program_computes(builder_.graph, program, chip_, testing::random_inputs(builder_.graph, 1),
                                     static_cast<std::uint64_t>(height));
    std::map<isa::Traffic, Bytes> bytes = traffic(program);
    EXPECT_EQ(bytes[isa::Traffic::spill] + bytes[isa::Traffic::halo], 0) << height;
    EXPECT_EQ(bytes[isa::Traffic::input], 32 * 32 * 32) << height;
    if (HasFatalFailure()) return;
  }
}

TEST_F(Residual, FusionSavesTheMapBetweenExactly) {
  std::map<isa::Traffic, Bytes> fused = traffic(compiled());
  options_.fusion.deepest = 1;
  std::map<isa::Traffic, Bytes> apart = traffic(compiled());
  EXPECT_EQ(apart[isa::Traffic::spill] - fused[isa::Traffic::spill], 65536);
  EXPECT_EQ(fused[isa::Traffic::output], apart[isa::Traffic::output]);
  EXPECT_EQ(fused[isa::Traffic::weights], apart[isa::Traffic::weights]);
}

TEST_F(Residual, LineBuffersMakeNoRowTwice) {
  options_.wishes.tiles = {{name_of(1), 8, 32}};
  const Schedule schedule = make_schedule(builder_.graph, chip_, options_);
  std::map<int, std::int64_t> channel_rows;  // by layer
  for (const WorkSection& section : schedule.sections) {
    for (const WorkItem& item : section.items) {
      if (const auto* conv = std::get_if<isa::Conv>(&item.body)) {
        channel_rows[item.layer] += std::int64_t{conv->out_h} * conv->cout;
      }
    }
  }
  // With a halo made again, tiles of 8 rows would cost the first one 38 rows.
  ASSERT_EQ(channel_rows.size(), 2U);
  for (const auto& [layer, rows] : channel_rows) EXPECT_EQ(rows, 32 * 32) << layer;
}

TEST(SramSweep, TrafficOfAConvolutionFallsToInputWeightsOutput) {
  QBuilder builder(6);
  builder.output(builder.conv(builder.input(1, 64, 56, 56), 64, {}));
  for (const bool fused : {false, true}) {
    ScheduleOptions options;
    options.fused = fused;
    Bytes before = INT64_MAX;
    for (std::int64_t bank = 256; bank <= 16384; bank *= 2) {
      const isa::ChipConfig chip = isa::load_chip("a1000", {"sram.size_bytes=" + std::to_string(bank)});
      const isa::Program program = emit(choose_schedule(builder.graph, chip, options), chip, {});
      Bytes bytes = 0;
      for (const auto& [kind, moved] : traffic(program)) bytes += kind == isa::Traffic::params ? 0 : moved;
      EXPECT_LE(bytes, before) << bank * 64 << " bytes";
      before = bytes;
    }
    EXPECT_EQ(before, 405504);
  }
}

}  // namespace
}  // namespace tessera::compiler
