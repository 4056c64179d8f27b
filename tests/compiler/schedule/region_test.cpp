// Regions of fusion groups: what each layer must make of a region, pixel by pixel against the windows themselves.
#include "compiler/schedule/region.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/schedule/group.hpp"
#include "compiler/schedule/layer_graph.hpp"
#include "tests/compiler/driver/random_graph.hpp"

namespace tessera::compiler {
namespace {

using testing::QBuilder;

/// A flag for every pixel of a map.
struct Pixels {
  std::int64_t h = 0, w = 0;
  std::vector<char> flags;
  explicit Pixels(const MapShape& shape)
      : h(shape.h), w(shape.w), flags(static_cast<std::size_t>(shape.h * shape.w), 0) {}
  char& at(std::int64_t y, std::int64_t x) { return flags[static_cast<std::size_t>(y * w + x)]; }
  void fill(const Area& area, char flag) {
    for (std::int64_t y = area.rows.first; y < area.rows.end; ++y) {
      for (std::int64_t x = area.columns.first; x < area.columns.end; ++x) at(y, x) = flag;
    }
  }
  [[nodiscard]] Area hull() {
    Area area{{h, 0}, {w, 0}};
    for (std::int64_t y = 0; y < h; ++y) {
      for (std::int64_t x = 0; x < w; ++x) {
        if (at(y, x) == 0) continue;
        area.rows = {std::min(area.rows.first, y), std::max(area.rows.end, y + 1)};
        area.columns = {std::min(area.columns.first, x), std::max(area.columns.end, x + 1)};
      }
    }
    return area;
  }
};

bool same(const Area& a, const Area& b) {
  return a.rows.first == b.rows.first && a.rows.end == b.rows.end && a.columns.first == b.columns.first &&
         a.columns.end == b.columns.end;
}

bool has_window(const Layer& l) {
  return l.kind == LayerKind::conv ||
         (l.kind == LayerKind::edp && (l.node->op == QOp::max_pool || l.node->op == QOp::average_pool));
}

class Field {
 public:
  Field(const LayerGraph& graph, int first, int end) : graph_(graph), first_(first), end_(end) {}

  /// By root: pixels on which the region's own parts depend.
  std::vector<Pixels> needed(const Region& region) {
    std::vector<Pixels> maps = empty();
    for (std::size_t r = 0; r < maps.size(); ++r) maps[r].fill(region.own[r], 1);
    for (int id = end_; id-- > first_;) {
      const Layer& l = layer(id);
      Pixels& out = maps[static_cast<std::size_t>(l.output_root)];
      for (std::int64_t y = 0; y < l.out.h; ++y) {
        for (std::int64_t x = 0; x < l.out.w; ++x) {
          if (out.at(y, x) == 0) continue;
          each_read(l, y, x, [&](int root, std::int64_t v, std::int64_t u) {
            maps[static_cast<std::size_t>(root)].at(v, u) = 1;
          });
        }
      }
    }
    return maps;
  }

  /// Runs the layers on what the region has, as instructions do: columns that are read from where the map is not there
  /// are padding. False: a pixel of the own parts is wrong, or bytes are read that nobody wrote.
  bool computes(const Region& region) {
    enum : char { absent, wrong, right };
    std::vector<Pixels> maps = empty();
    for (std::size_t r = 0; r < maps.size(); ++r) {
      const bool written = std::any_of(graph_.layers.begin() + first_, graph_.layers.begin() + end_,
                                       [&](const Layer& l) { return l.output_root == static_cast<int>(r); });
      if (!written) maps[r].fill(region.there[r], right);
    }
    for (int id = first_; id < end_; ++id) {
      const Layer& l = layer(id);
      const Area& made = region.made_by(id);
      const Rows read = input_columns(l, made.columns);
      for (std::int64_t y = made.rows.first; y < made.rows.end; ++y) {
        for (std::int64_t x = made.columns.first; x < made.columns.end; ++x) {
          bool all = true, bytes = true;
          each_read(l, y, x, [&](int root, std::int64_t v, std::int64_t u) {
            const bool main = root == root_of(l, 0) && (u < read.first || u >= read.end);
            if (has_window(l) && main) {
              all = false;
              return;
            }
            const char flag = maps[static_cast<std::size_t>(root)].at(v, u);
            all = all && flag == right;
            bytes = bytes && flag != absent;
          });
          if (!bytes) return false;
          maps[static_cast<std::size_t>(l.output_root)].at(y, x) = all ? right : wrong;
        }
      }
    }
    for (std::size_t r = 0; r < maps.size(); ++r) {
      const Area& own = region.own[r];
      for (std::int64_t y = own.rows.first; y < own.rows.end; ++y) {
        for (std::int64_t x = own.columns.first; x < own.columns.end; ++x) {
          if (maps[r].at(y, x) != right) return false;
        }
      }
    }
    return true;
  }

 private:
  [[nodiscard]] const Layer& layer(int id) const { return graph_.layers[static_cast<std::size_t>(id)]; }
  [[nodiscard]] int root_of(const Layer& l, std::size_t i) const {
    return graph_.values[static_cast<std::size_t>(l.inputs[i])].root;
  }
  [[nodiscard]] std::vector<Pixels> empty() const {
    std::vector<Pixels> maps;
    for (const Root& root : graph_.roots) maps.emplace_back(root.shape);
    return maps;
  }
  template <typename Visit>
  void each_read(const Layer& l, std::int64_t y, std::int64_t x, Visit visit) {
    for (std::size_t i = 0; i < l.inputs.size(); ++i) {
      const int root = root_of(l, i);
      if (i == 1 && l.b_broadcast) {
        visit(root, 0, 0);
      } else if (i == 0 && has_window(l)) {
        for (std::int64_t ky = 0; ky < l.kh; ++ky) {
          for (std::int64_t kx = 0; kx < l.kw; ++kx) {
            const std::int64_t v = y * l.sy - l.pad_top + ky * l.dy, u = x * l.sx - l.pad_left + kx * l.dx;
            if (v >= 0 && v < l.in.h && u >= 0 && u < l.in.w) visit(root, v, u);
          }
        }
      } else {
        visit(root, y, x);
      }
    }
  }

  const LayerGraph& graph_;
  int first_, end_;
};

bool holds(const Area& a, const Area& b) {
  return a.rows.first <= b.rows.first && a.rows.end >= b.rows.end && a.columns.first <= b.columns.first &&
         a.columns.end >= b.columns.end;
}

/// counts: pieces, maps of which exactly what is needed is used, lines less, maps of which more is used.
void expect_regions(const LayerGraph& graph, int first, int end, const Cuts& cuts, const isa::ChipConfig& chip,
                    std::array<int, 4>& counts) {
  Field field(graph, first, end);
  std::vector<std::int64_t> owned(graph.roots.size(), 0);
  for (std::int64_t row = 0; row < cuts.rows; ++row) {
    for (std::int64_t column = 0; column < cuts.columns; ++column) {
      const Region region = region_of(graph, first, end, cuts, row, column, chip);
      const auto where = ::testing::Message()
                         << "layers " << first << ".." << end << ", piece " << row << ", " << column;
      ++counts[0];
      EXPECT_TRUE(field.computes(region)) << where;
      std::vector<Pixels> needed = field.needed(region);
      for (std::size_t r = 0; r < graph.roots.size(); ++r) {
        owned[r] += region.own[r].pixels();
        if (region.valid[r].pixels() == 0) continue;
        // All of a map is read where all of the result is made, and a dilated window ends at the edge.
        const Area hull = needed[r].hull(), &valid = region.valid[r];
        EXPECT_TRUE(holds(valid, hull)) << where << ", " << graph.roots[r].name;
        ++counts[valid.pixels() == hull.pixels() ? 1 : 3];
        for (const int side : {0, 1, 2}) {  // a column or a row less: something is wrong or not there
          Region less = region;
          const auto shrink = [&](Area& area) {
            if (side == 0) area.columns.end = hull.columns.end - 1;
            if (side == 1) area.rows.first = hull.rows.first + 1;
            if (side == 2) area.rows.end = hull.rows.end - 1;
          };
          shrink(less.there[r]);
          for (int id = first; id < end; ++id) {
            if (graph.layers[static_cast<std::size_t>(id)].output_root == static_cast<int>(r))
              shrink(less.made[static_cast<std::size_t>(id - first)]);
          }
          EXPECT_FALSE(field.computes(less)) << where << ", " << graph.roots[r].name << ", side " << side;
        }
      }
      // Layers begin as far to the right as is right: a line later something is wrong or not there.
      for (int id = first; id < end; ++id) {
        const Layer& l = graph.layers[static_cast<std::size_t>(id)];
        Region less = region;
        Rows& columns = less.made[static_cast<std::size_t>(id - first)].columns;
        columns.first += chip.sram.line_bytes / chip.layout.channel_block;
        const auto writers = std::count_if(graph.layers.begin() + first, graph.layers.begin() + end,
                                           [&](const Layer& other) { return other.output_root == l.output_root; });
        if (columns.first >= columns.end || writers > 1) continue;  // pixels do not say whose channels are missing
        EXPECT_FALSE(field.computes(less)) << where << ", " << l.node->name << ", a line less";
        ++counts[2];
      }
    }
  }
  for (int id = first; id < end; ++id) {
    const auto r = static_cast<std::size_t>(graph.layers[static_cast<std::size_t>(id)].output_root);
    const MapShape& shape = graph.roots[r].shape;
    EXPECT_EQ(owned[r], owned[r] > 0 ? shape.h * shape.w : 0) << graph.roots[r].name;
  }
}

TEST(Region, RandomGroupsNeedWhatTheirWindowsSay) {
  std::array<int, 4> counts{};
  for (const char* name : {"tiny", "a1000"}) {
    const isa::ChipConfig chip = isa::load_chip(name);
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      const QGraph graph = testing::random_graph(seed, 25);
      const LayerGraph layers = build_layers(graph, chip);
      const int count = static_cast<int>(layers.layers.size());
      for (int first = 0; first < count; ++first) {
        for (int end = first + 1; end <= count && can_group(layers, first, end, chip); ++end) {
          const Cuts most = most_cuts(layers, first, end, chip);
          for (const Cuts cuts : {Cuts{1, 2}, Cuts{1, 4}, Cuts{2, 1}, Cuts{3, 2}}) {
            if (cuts.rows > most.rows || cuts.columns > most.columns) continue;
            expect_regions(layers, first, end, cuts, chip, counts);
          }
        }
      }
    }
  }
  EXPECT_GT(counts[0], 1000);
  EXPECT_GT(counts[1], 5000);
  EXPECT_GT(counts[2], 1000);
  EXPECT_GT(counts[1], 10 * counts[3]);
}

/// Two 3x3 convolutions in two strips of 16 columns on lines of 4 pixels.
TEST(Region, StripsOfAChainByHand) {
  const isa::ChipConfig chip = isa::load_chip("a1000");
  QBuilder b(1);
  const QBuilder::Window window{3, 3, 1, 1, 1, 1, 1, 1, 1, 1};
  b.output(b.conv(b.conv(b.input(1, 4, 8, 32), 4, window), 4, window));
  const LayerGraph graph = build_layers(b.graph, chip);
  ASSERT_EQ(graph.layers.size(), 2U);
  const auto root = [&](int layer) {
    return static_cast<std::size_t>(graph.layers[static_cast<std::size_t>(layer)].output_root);
  };
  const Region left = region_of(graph, 0, 2, {1, 2}, 0, 0, chip);
  EXPECT_TRUE(same(left.own[root(1)], {{0, 8}, {0, 16}}));
  EXPECT_TRUE(same(left.made_by(1), {{0, 8}, {0, 16}}));
  EXPECT_TRUE(same(left.made_by(0), {{0, 8}, {0, 17}}));
  // The right one uses columns 16.. of the second and 15.. of the first; what begins on the line 12 has one wrong
  // column, so that both begin there and read from 12 on; the input is used from 14.
  const Region right = region_of(graph, 0, 2, {1, 2}, 0, 1, chip);
  EXPECT_TRUE(same(right.made_by(1), {{0, 8}, {12, 32}}));
  EXPECT_TRUE(same(right.made_by(0), {{0, 8}, {12, 32}}));
  EXPECT_TRUE(same(right.valid[root(0)], {{0, 8}, {15, 32}}));
  const auto in = static_cast<std::size_t>(graph.values[static_cast<std::size_t>(graph.layers[0].inputs[0])].root);
  EXPECT_TRUE(same(right.valid[in], {{0, 8}, {14, 32}}));
  EXPECT_TRUE(same(right.there[in], {{0, 8}, {12, 32}}));
}

/// A drain reads the other summand from where its convolution begins, wrong columns included.
TEST(Region, SummandsBeginWithTheConvolution) {
  const isa::ChipConfig chip = isa::load_chip("a1000");
  QBuilder b(1);
  const int other = b.conv(b.input(1, 4, 8, 32), 4, {});
  b.output(b.requantize(b.add(b.conv(b.input(1, 4, 8, 32), 4, {3, 3, 1, 1, 1, 1, 1, 1, 1, 1}), other)));
  const LayerGraph graph = build_layers(b.graph, chip);
  ASSERT_EQ(graph.layers[1].inputs.size(), 2U);
  const int end = static_cast<int>(graph.layers.size());
  const Region right = region_of(graph, 0, end, {1, 2}, 0, 1, chip);
  EXPECT_TRUE(same(right.made_by(1), {{0, 8}, {12, 32}}));
  EXPECT_TRUE(same(right.made_by(0), {{0, 8}, {12, 32}}));
  const auto summand = static_cast<std::size_t>(graph.layers[0].output_root);
  EXPECT_TRUE(same(right.valid[summand], {{0, 8}, {16, 32}}));
  EXPECT_TRUE(Field(graph, 0, end).computes(right));
}

}  // namespace
}  // namespace tessera::compiler
