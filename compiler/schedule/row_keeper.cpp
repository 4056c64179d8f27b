#include "compiler/schedule/row_keeper.hpp"

#include <algorithm>

#include "isa/semantics/layout.hpp"

namespace tessera::compiler {
namespace {

constexpr int kMostWalks = 120;
constexpr std::size_t kParts = 4;  // of the most rows that find room

class RowKeeper {
 public:
  RowKeeper(const LayerGraph& graph, const isa::ChipConfig& chip, const WalkCost& cost_of, RowsStay when,
            WalkChoices& choices)
      : graph_(graph), chip_(chip), cost_of_(cost_of), when_(when), choices_(choices) {
    for (const GroupPlan& group : choices.groups) {  // strips have the same rows
      traces_.push_back(trace_group(graph, group, group_region(graph, group, 0, 0, chip), choices.spilled));
    }
  }

  void run() {
    const auto now = cost_of_(choices_);
    if (!now) return;
    least_ = *now;
    for (const Map& map : maps()) keep(map);
  }

 private:
  struct Map {
    int root = -1;
    std::int64_t bytes = 0;  // that it moves
    RowUses uses;
  };

  /// Those that move bytes, most first.
  [[nodiscard]] std::vector<Map> maps() const {
    std::vector<Map> out;
    for (std::size_t r = 0; r < graph_.roots.size(); ++r) {
      if (!choices_.spilled[r]) continue;
      Map map{static_cast<int>(r), 0, row_uses(graph_, choices_.groups, traces_, static_cast<int>(r))};
      const std::size_t reads = map.uses.readers.size() + (map.uses.loaded.empty() ? 0 : 1);
      if (!map.uses.possible || reads == 0) continue;
      map.bytes = graph_.roots[r].shape.elements() * static_cast<std::int64_t>(1 + reads);
      out.push_back(std::move(map));
    }
    std::stable_sort(out.begin(), out.end(), [](const Map& a, const Map& b) { return a.bytes > b.bytes; });
    return out;
  }

  /// The most rows that find room.
  void keep(const Map& map) {
    const Root& root = graph_.roots[static_cast<std::size_t>(map.root)];
    const std::int64_t sram_lines = semantics::sram_lines(chip_);
    std::vector<KeptRows> legal;
    for (std::int64_t rows = 1; rows <= root.shape.h; ++rows) {
      if (root.shape.n * buffer_lines(root, rows, chip_) > sram_lines) break;
      const auto kept = keep_rows(graph_, map.uses, rows);
      if (kept) legal.push_back(*kept);
    }
    KeptRows best;
    const auto fit = [&](std::size_t index) {
      choices_.kept[static_cast<std::size_t>(map.root)] = legal[index];
      ++walks_;
      const std::vector<int> fragmentation = choices_.fragmentation;
      const auto cost = cost_of_(choices_);
      const bool slower = when_ == RowsStay::if_cheaper && cost && cost->cycles > least_.cycles;
      if (cost && cost->bytes < least_.bytes && !slower) {
        least_ = *cost;
        best = legal[index];
      } else {
        choices_.fragmentation = fragmentation;
      }
      return cost.has_value();
    };
    // Fewer rows need less room: the first that fails, by halves.
    std::size_t fits = 0, fails = legal.size() + 1;  // of `legal`, counted from one
    while (fits + 1 < fails && walks_ < kMostWalks) {
      const std::size_t middle = (fits + fails) / 2;
      (fit(middle - 1) ? fits : fails) = middle;
    }
    // What stays takes room from tiles, whose halos and weights then move more often: fewer rows may move less.
    for (std::size_t part = 1; part < kParts && fits >= kParts && walks_ < kMostWalks; ++part) {
      fit(fits * part / kParts - 1);
    }
    choices_.kept[static_cast<std::size_t>(map.root)] = best;
  }

  const LayerGraph& graph_;
  const isa::ChipConfig& chip_;
  const WalkCost& cost_of_;
  RowsStay when_;
  WalkChoices& choices_;
  std::vector<GroupTrace> traces_;
  Walk::Cost least_;
  int walks_ = 0;
};

}  // namespace

void fill_sram(const LayerGraph& graph, const isa::ChipConfig& chip, const WalkCost& cost_of, RowsStay when,
               WalkChoices& choices) {
  RowKeeper(graph, chip, cost_of, when, choices).run();
}

}  // namespace tessera::compiler
