// Fusion groups: which rows are made when, and that a line buffer is exactly as high as that needs.
#include "compiler/schedule/group.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <utility>

#include <gtest/gtest.h>

#include "compiler/schedule/group_buffers.hpp"
#include "compiler/schedule/layer_graph.hpp"
#include "tests/compiler/driver/random_graph.hpp"

namespace tessera::compiler {
namespace {

using testing::QBuilder;

/// `fine`: a row of each layer at a time.
GroupPlan plan(int first, int end, std::int64_t steps, int ahead, bool fine) {
  GroupPlan plan;
  plan.first = first;
  plan.end = end;
  plan.steps = steps;
  plan.ahead = ahead;
  if (fine) plan.rows.assign(static_cast<std::size_t>(end - first), 1);
  return plan;
}

/// The group in one piece, no map in SRAM as a whole.
GroupTrace trace_all(const LayerGraph& graph, const GroupPlan& group, const isa::ChipConfig& chip) {
  return trace_group(graph, group, group_region(graph, group, 0, 0, chip), std::vector<bool>(graph.roots.size(), true));
}

struct Made {
  QBuilder builder;
  isa::ChipConfig chip = isa::load_chip("tiny");
  LayerGraph graph;
  explicit Made(std::uint64_t seed) : builder(seed) {}
  void build() { graph = build_layers(builder.graph, chip); }
  [[nodiscard]] GroupTrace trace(std::int64_t steps, int ahead = 0, bool fine = false) const {
    return trace_all(graph, plan(0, static_cast<int>(graph.layers.size()), steps, ahead, fine), chip);
  }
};

/// Two 3x3 convolutions and the Add of the input: the form of closed form 5.
Made residual_block(std::int64_t rows) {
  Made made(1);
  QBuilder& b = made.builder;
  const QBuilder::Window window{3, 3, 1, 1, 1, 1, 1, 1, 1, 1};
  const int in = b.requantize(b.input(1, 4, rows, 6));
  b.output(b.requantize(b.add(b.conv(b.conv(in, 4, window), 4, window), in)));
  made.build();
  return made;
}

/// Rows of operand i that the chunk's instruction reads.
Rows rows_read(const Layer& l, std::size_t i, const Rows& rows) {
  if (i == 1 && l.b_broadcast) return {0, 1};
  return is_residual(l, i) ? rows : input_rows(l, rows);
}

/// Runs the chunks on buffers of the given heights: whether every row that is read is the one that was written. Parts
/// of a Concat are channels of one map: each writer has its own lanes of the buffer.
bool holds(const LayerGraph& graph, const GroupTrace& trace, const std::map<int, std::int64_t>& heights) {
  std::map<std::pair<int, int>, std::vector<std::int64_t>> slots;  // root, writer (-1: LOAD)
  for (const GroupChunk& chunk : trace.chunks) {
    slots[{chunk.root, chunk.load ? -1 : chunk.layer}].assign(static_cast<std::size_t>(heights.at(chunk.root)), -1);
  }
  for (const GroupChunk& chunk : trace.chunks) {
    const Layer& l = graph.layers[static_cast<std::size_t>(chunk.layer)];
    for (std::size_t i = 0; i < l.inputs.size() && !chunk.load; ++i) {
      const Value& value = graph.values[static_cast<std::size_t>(l.inputs[i])];
      const Rows rows = rows_read(l, i, chunk.rows);
      for (const auto& [key, slot] : slots) {
        if (key.first != value.root || key.second >= chunk.layer) continue;
        if (key.second >= 0) {
          const Layer& writer = graph.layers[static_cast<std::size_t>(key.second)];
          if (writer.output_channel + writer.out.c <= value.first_channel ||
              value.first_channel + value.shape.c <= writer.output_channel) {
            continue;
          }
        }
        for (std::int64_t r = rows.first; r < rows.end; ++r) {
          if (slot[static_cast<std::size_t>(r) % slot.size()] != r) return false;
        }
      }
    }
    std::vector<std::int64_t>& slot = slots.at({chunk.root, chunk.load ? -1 : chunk.layer});
    for (std::int64_t r = chunk.rows.first; r < chunk.rows.end; ++r) {
      slot[static_cast<std::size_t>(r) % slot.size()] = r;
    }
  }
  return true;
}

std::map<int, std::int64_t> heights_of(const GroupTrace& trace) {
  std::map<int, std::int64_t> heights;
  for (const LineBuffer& b : trace.buffers) heights[b.root] = b.rows;
  return heights;
}

TEST(Group, EveryRowIsMadeOnceAtEveryStripeHeight) {
  const Made made = residual_block(16);
  for (std::int64_t steps = 1; steps <= 16; ++steps) {
    for (const int ahead : {0, 1, 2}) {
      std::map<std::pair<int, int>, std::int64_t> done;
      for (const GroupChunk& chunk : made.trace(steps, ahead, steps % 3 == 0).chunks) {
        std::int64_t& at = done[{chunk.load ? -1 : chunk.layer, chunk.root}];
        EXPECT_EQ(chunk.rows.first, at);
        EXPECT_GT(chunk.rows.end, at);
        at = chunk.rows.end;
      }
      for (const auto& [key, rows] : done) EXPECT_EQ(rows, 16) << key.first;
      EXPECT_EQ(done.size(), made.graph.layers.size() + 1);
    }
  }
}

TEST(Group, LineBuffersAreExactlyHighEnough) {
  const Made made = residual_block(32);
  for (std::int64_t steps = 1; steps <= 32; ++steps) {
    const GroupTrace trace = made.trace(steps);
    const std::map<int, std::int64_t> heights = heights_of(trace);
    EXPECT_TRUE(holds(made.graph, trace, heights)) << steps << " steps";
    for (const auto& [root, height] : heights) {
      std::map<int, std::int64_t> lower = heights;
      if (height == 1 || --lower[root] == 0) continue;
      const bool read = std::any_of(made.graph.layers.begin(), made.graph.layers.end(), [&, r = root](const Layer& l) {
        return std::any_of(l.inputs.begin(), l.inputs.end(),
                           [&](int t) { return made.graph.values[static_cast<std::size_t>(t)].root == r; });
      });
      if (read) {
        EXPECT_FALSE(holds(made.graph, trace, lower)) << steps << " steps, a row less than " << height;
      }
    }
  }
}

TEST(Group, TheSkipTensorLivesUntilItsAdd) {
  const Made made = residual_block(32);
  // The map that an Add (or a convolution's drain) reads beside its first operand: 2 rows of halo behind the input.
  int skip = -1;
  for (const Layer& l : made.graph.layers) {
    if (l.inputs.size() == 2) skip = made.graph.values[static_cast<std::size_t>(l.inputs[1])].root;
  }
  ASSERT_GE(skip, 0);
  for (std::int64_t steps = 2; steps <= 32; ++steps) {
    const GroupTrace trace = made.trace(steps);
    const LineBuffer* buffer = trace.buffer_of(skip);
    ASSERT_NE(buffer, nullptr);
    EXPECT_GE(buffer->rows, std::min<std::int64_t>(32, 32 / steps + 2)) << steps;
    EXPECT_TRUE(holds(made.graph, trace, heights_of(trace)));
  }
}

TEST(Group, RandomGraphsFindEveryRowTheyRead) {
  const isa::ChipConfig chip = isa::load_chip("tiny");
  int groups = 0, leads = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const QGraph graph = testing::random_graph(seed, 17);
    const LayerGraph layers = build_layers(graph, chip);
    const int count = static_cast<int>(layers.layers.size());
    for (int first = 0; first < count; ++first) {
      for (int end = first + 1; end <= count && can_group(layers, first, end, chip); ++end) {
        for (const std::int64_t steps : {1, 2, 5}) {
          GroupPlan group = plan(first, end, steps, static_cast<int>(seed % 3), seed % 2 == 0);
          for (const int lead : {-1, first + 1, first + 3}) {
            group.lead = lead;
            const GroupTrace trace = trace_all(layers, group, chip);
            EXPECT_TRUE(holds(layers, trace, heights_of(trace))) << "seed " << seed << " " << first << ".." << end;
            leads += trace.front > 0 ? 1 : 0;
            ++groups;
          }
        }
      }
    }
  }
  EXPECT_GT(groups, 500);
  EXPECT_GT(leads, 200);
}

TEST(Group, ChunksOfTwoListsGoOnEvenly) {
  // A convolution in front, its vector work with it, for two behind.
  const std::vector<bool> order = interleaved({10, 0, 10, 0}, {5, 5, 5, 5});
  EXPECT_EQ(order, (std::vector<bool>{true, true, false, false, true, true, false, false}));
}

TEST(GroupBuffers, BuffersOfDifferentTimesLieOverEachOther) {
  const BufferLayout layout = lay_buffers({{4, 0, 2}, {8, 1, 3}, {4, 2, 4}}, 0, 4, 64);
  EXPECT_EQ(layout.lines, 12);
  EXPECT_EQ(layout.offset[0], layout.offset[2]);
}

TEST(GroupBuffers, WhatTheNextImageMakesAheadLiesBesideThis) {
  // Chunks 0 and 1 are the front, 3 the tail; the second buffer is handed over, the first and the third meet.
  const BufferLayout layout = lay_buffers({{4, 0, 2}, {2, 1, 4}, {4, 2, 4}}, 2, 2, 64);
  EXPECT_EQ(layout.twice, (std::vector<bool>{false, true, false}));
  EXPECT_EQ(layout.lines, 12);
}

TEST(GroupBuffers, RandomBuffersShareNoLineWhileTheyAreHeld) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const std::size_t chunks = 6, front = random() % 3, tail = front == 0 ? chunks : front + random() % 3;
    std::vector<BufferUse> uses;
    for (int i = 0; i < 8; ++i) {
      const std::size_t from = random() % chunks;
      uses.push_back({1 + static_cast<std::int64_t>(random() % 9), from, from + 1 + random() % (chunks - from)});
    }
    const BufferLayout layout = lay_buffers(uses, front, tail, 4);
    // Three images in the order of the walk: who wrote a line last.
    std::vector<std::pair<std::size_t, int>> order;  // chunk, image
    const auto run = [&](std::size_t first, std::size_t end, int image) {
      for (std::size_t c = first; c < end; ++c) order.emplace_back(c, image);
    };
    run(0, front, 0);
    for (int image = 0; image < 3; ++image) {
      run(front, tail, image);
      for (std::size_t c = 0; c < std::max(front, chunks - tail); ++c) {  // side by side
        if (c < front && image < 2) order.emplace_back(c, image + 1);
        if (tail + c < chunks) order.emplace_back(tail + c, image);
      }
    }
    std::map<std::int64_t, std::pair<std::size_t, int>> owner;
    for (const auto& [chunk, image] : order) {
      for (std::size_t i = 0; i < uses.size(); ++i) {
        if (chunk < uses[i].from || chunk >= uses[i].until) continue;
        for (std::int64_t l = 0; l < uses[i].lines; ++l) {
          const std::int64_t at = layout.offset[i] + (layout.twice[i] && image % 2 == 1 ? uses[i].lines : 0) + l;
          EXPECT_LT(at, layout.lines);
          if (chunk == uses[i].from) owner[at] = {i, image};
          EXPECT_EQ(owner[at], std::make_pair(i, image)) << "round " << round;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tessera::compiler
