// Walks with given choices. Maps of which some rows stay in SRAM: exact traffic for every number of rows, the most that
// find room, and that chunks and tiles never need rows from both places. Weights that come again for each chunk of a
// group: exact traffic, and the room that they do not take.
#include "compiler/schedule/walk.hpp"

#include <gtest/gtest.h>

#include "compiler/schedule/conv_modes.hpp"
#include "compiler/schedule/kept_rows.hpp"
#include "compiler/schedule/row_keeper.hpp"
#include "tests/compiler/driver/random_graph.hpp"

namespace tessera::compiler {
namespace {

using testing::QBuilder;

constexpr std::int64_t kRows = 20, kWidth = 8, kChannels = 16;
constexpr std::int64_t kRowBytes = kWidth * kChannels;  // of the map between
constexpr QBuilder::Window kWindow3{3, 3, 1, 1, 1, 1, 1, 1, 1, 1};

/// Two convolutions; the map between them goes through DRAM, and the second runs row by row or as a layer alone.
class TwoLayers {
 public:
  TwoLayers(const QBuilder::Window& second, bool grouped, std::int64_t bank_bytes = 65536)
      : chip(isa::load_chip("tiny", {"sram.size_bytes=" + std::to_string(bank_bytes)})), cost_(chip), builder_(3) {
    const int middle = builder_.conv(builder_.input(1, 4, kRows, kWidth), kChannels, {});
    builder_.output(builder_.conv(middle, kChannels, second));
    graph = build_layers(builder_.graph, chip);
    choose_modes(graph, cost_, false);
    constants = place_constants(graph, chip);
    root = graph.layers[0].output_root;
    const std::size_t layers = graph.layers.size(), roots = graph.roots.size();
    choices.spilled.assign(roots, true);
    choices.kept.assign(roots, {});
    choices.fragmentation.assign(layers, 0);
    choices.packed.assign(layers, true);
    choices.in_place.assign(layers, false);
    choices.byte_cycles = 1000;  // nothing is read twice to save cycles
    if (!grouped) return;
    for (int id = 0; id < 2; ++id) {
      GroupPlan plan;
      plan.first = id;
      plan.end = id + 1;
      plan.steps = kRows;
      choices.groups.push_back(plan);
    }
  }

  [[nodiscard]] RowUses uses() const {
    std::vector<GroupTrace> traces;
    for (const GroupPlan& plan : choices.groups) {
      traces.push_back(trace_group(graph, plan, group_region(graph, plan, 0, 0, chip), choices.spilled));
    }
    return row_uses(graph, choices.groups, traces, root);
  }
  std::optional<Walk::Cost> cost_of(const WalkChoices& tried) {
    Walk walk(graph, constants, tried, cost_, false, 0);
    try {
      walk.run();
    } catch (const NoRoom&) {
      return std::nullopt;
    }
    peak_lines = walk.sram_peak_lines;
    notes = walk.notes;
    return walk.cost();
  }
  /// With this many rows.
  std::optional<std::int64_t> bytes_with(std::int64_t rows) {
    WalkChoices tried = choices;
    const auto kept = keep_rows(graph, uses(), rows);
    if (!kept) return std::nullopt;
    tried.kept[static_cast<std::size_t>(root)] = *kept;
    const auto cost = cost_of(tried);
    return cost ? std::optional<std::int64_t>(cost->bytes) : std::nullopt;
  }
  [[nodiscard]] std::int64_t compulsory() const {
    return constants.useful_bytes + (4 + kChannels) * kRows * kWidth;  // input and output
  }

  isa::ChipConfig chip;
  LayerGraph graph;
  WalkChoices choices;
  Constants constants;
  int root = -1;
  std::int64_t peak_lines = 0;  // of the last walk
  std::vector<LayerNote> notes;

 private:
  UnitCost cost_;
  QBuilder builder_;
};

TEST(KeptRows, TrafficIsWhatDoesNotStayTwiceWithTheHalo) {
  for (std::int64_t rows = 1; rows < kRows; ++rows) {
    // A row of a 3x3 convolution that reads row `rows` begins two rows before it.
    const std::int64_t halo = std::min<std::int64_t>(rows, 2);
    TwoLayers window(kWindow3, true);
    EXPECT_EQ(window.bytes_with(rows), window.compulsory() + 2 * (kRows - rows + halo) * kRowBytes) << rows;
    TwoLayers pointwise({}, true);
    EXPECT_EQ(pointwise.bytes_with(rows), pointwise.compulsory() + 2 * (kRows - rows) * kRowBytes) << rows;
    TwoLayers alone({}, false);
    EXPECT_EQ(alone.bytes_with(rows), alone.compulsory() + 2 * (kRows - rows) * kRowBytes) << rows;
  }
  TwoLayers all(kWindow3, true);
  EXPECT_EQ(all.bytes_with(kRows), all.compulsory());
}

TEST(KeptRows, AsManyAsFindRoom) {
  std::int64_t before = 0;
  for (const std::int64_t bank : {256, 384, 512, 640}) {
    TwoLayers net(kWindow3, true, bank);
    const auto cost_of = [&](WalkChoices& tried) { return net.cost_of(tried); };
    fill_sram(net.graph, net.chip, cost_of, RowsStay::if_fewer_bytes, net.choices);
    const std::int64_t rows = net.choices.kept[static_cast<std::size_t>(net.root)].rows;
    ASSERT_LT(rows, kRows) << bank;
    EXPECT_GE(rows, before) << bank;
    EXPECT_TRUE(rows == 0 || net.bytes_with(rows)) << bank;
    EXPECT_FALSE(net.bytes_with(rows + 1)) << bank;
    before = rows;
  }
  EXPECT_GT(before, 0);
}

TEST(KeptRows, ChunksOfTheWritersGroupAreNotCut) {
  TwoLayers net(kWindow3, true);
  GroupPlan both;
  both.first = 0;
  both.end = 2;
  both.steps = 5;
  net.choices.groups = {both};
  const RowUses uses = net.uses();
  ASSERT_TRUE(uses.possible);
  EXPECT_TRUE(uses.loaded.empty());
  // Each window crosses the chunks' ends: only all rows can stay.
  for (std::int64_t rows = 1; rows < kRows; ++rows) EXPECT_FALSE(keep_rows(net.graph, uses, rows)) << rows;
  EXPECT_TRUE(keep_rows(net.graph, uses, kRows));
}

TEST(KeptRows, TilesAreCutWhereRowsEnd) {
  TwoLayers net(kWindow3, false);
  const Layer& reader = net.graph.layers[1];
  EXPECT_EQ(rows_within(reader, 0, 7), 6);  // row 5 reads row 6, row 6 would read row 7
  EXPECT_EQ(rows_within(reader, 0, 1), 0);
  EXPECT_EQ(rows_within(reader, 0, kRows), kRows);
  const auto kept = keep_rows(net.graph, net.uses(), 7);
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->stored_from, 5);
}

TEST(Places, SayWhatStaysAndWhatMoves) {
  TwoLayers net(kWindow3, true);
  ASSERT_TRUE(net.bytes_with(7));
  const std::string& middle = net.graph.roots[static_cast<std::size_t>(net.root)].name;
  const std::string rows = middle + ": rows 0..6 of 20 in SRAM, rows from 5 in DRAM, a line buffer of ";
  ASSERT_EQ(net.notes.size(), 2U);
  EXPECT_EQ(net.notes[0].places.at(1), "writes " + rows + "1 rows, stored");
  EXPECT_EQ(net.notes[1].places.at(0), "reads " + rows + "3 rows, loaded");
  EXPECT_EQ(net.notes[1].places.at(2), "weights: loaded once, from the first chunk to the last in SRAM");
  net.choices.spilled[static_cast<std::size_t>(net.root)] = false;
  ASSERT_TRUE(net.cost_of(net.choices));
  EXPECT_EQ(net.notes[1].places.at(0), "reads " + middle + ": all of it in SRAM");
  net.choices.groups.clear();
  net.choices.spilled[static_cast<std::size_t>(net.root)] = true;
  ASSERT_TRUE(net.cost_of(net.choices));
  EXPECT_EQ(net.notes[1].places.at(0), "reads " + middle + ": tile by tile through DRAM");
  EXPECT_NE(net.notes[0].places.at(0).find("from an image"), std::string::npos);
}

TEST(Places, SayWhereRowsLieApart) {
  TwoLayers net(kWindow3, true);
  net.choices.packed.assign(net.graph.layers.size(), false);
  net.graph.placement.line_banks = 2;
  net.graph.placement.map_banks = 4;
  ASSERT_TRUE(net.cost_of(net.choices));
  EXPECT_NE(net.notes[1].places.at(0).find("a line buffer of 3 rows, its rows over 2 banks, loaded"),
            std::string::npos);
  net.choices.spilled[static_cast<std::size_t>(net.root)] = false;
  ASSERT_TRUE(net.cost_of(net.choices));
  EXPECT_NE(net.notes[1].places.at(0).find("all of it in SRAM, its rows over 4 banks"), std::string::npos);
}

/// Both layers as one group, the second's weights streamed in `parts` (0: they stay).
std::int64_t streamed_bytes(TwoLayers& net, std::int64_t steps, std::int64_t parts) {
  GroupPlan both;
  both.first = 0;
  both.end = 2;
  both.steps = steps;
  both.streamed = {0, parts};
  net.choices.groups = {both};
  return net.cost_of(net.choices)->bytes;
}

TEST(StreamedWeights, ComeAgainForEachChunk) {
  for (const std::int64_t steps : {1, 2, 5, 20}) {
    for (const std::int64_t parts : {1, 2, 4}) {
      TwoLayers net(kWindow3, false);
      EXPECT_EQ(streamed_bytes(net, steps, 0), net.compulsory());
      const std::int64_t weights = net.constants.layers[1].useful_weight_bytes;
      EXPECT_EQ(weights, kChannels * kChannels * 9);
      EXPECT_EQ(streamed_bytes(net, steps, parts), net.compulsory() + (steps - 1) * weights) << steps;
    }
  }
}

TEST(StreamedWeights, TakeTheRoomOfAPart) {
  TwoLayers net(kWindow3, false);
  streamed_bytes(net, 4, 0);
  const std::int64_t stay = net.peak_lines;
  streamed_bytes(net, 4, 1);
  const std::int64_t whole = net.peak_lines;
  EXPECT_LE(whole, stay);
  streamed_bytes(net, 4, 2);
  const std::int64_t all = net.constants.layers[1].layout->sram_bytes() / net.chip.sram.line_bytes;
  EXPECT_EQ(net.peak_lines, whole - all / 2);
  EXPECT_EQ(net.notes[1].places.back(), "weights: 2 parts, loaded for each of 4 chunks");
}

}  // namespace
}  // namespace tessera::compiler
