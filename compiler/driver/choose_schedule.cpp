#include "compiler/driver/choose_schedule.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "compiler/driver/predictor.hpp"

namespace tessera::compiler {
namespace {

// A fused schedule is worth having when it takes fewer cycles than the layer schedule by more than the prediction may
// err, or moves fewer bytes in no more cycles. The prediction errs most where instructions are much of what is moved:
// many short ones wait for each other there, and for their words (micro).
constexpr double kLeastGain = 0.99, kLeastGainFetched = 0.95;
constexpr double kMuchFetched = 0.25;  // of the bytes
constexpr double kLeastSaving = 0.99;
constexpr double kAsMany = 1.001;

// Searches that assume different times for the rows of images: how far they hide is the whole's to say.
constexpr double kImportWaits[] = {1.2, 3.0};
// Of the time that DRAM traffic takes, what it counts beside the cycles. A batch is run for images a second: there the
// cycles count for themselves, and searches that care less for bytes are tried too.
constexpr double kByteShare = 3.0, kBatchByteShare = 1.0;
// Of the cycles that a memory several times as fast would leave: of schedules that DRAM makes equal, the one that
// keeps the units busier. For it at most so many cycles more; schedules that differ by less there, and in what they
// move, are told apart without it.
constexpr double kWideShare = 0.15;
constexpr double kMostForWide = 1.005;
constexpr double kClearlyWider = 0.02;

/// A search: what DRAM traffic counts, of its own share, what imports wait, whether groups may run in strips.
struct Search {
  double share = 1.0, wait = 1.2;
  bool strips = false;
};
constexpr Search kSearches[] = {{1.0, kImportWaits[0]}, {1.0, kImportWaits[1]}};
constexpr Search kBatchSearches[] = {{0.1, kImportWaits[0]}, {0.1, kImportWaits[1]}};
// Strips buy bytes with cycles: for different prices of a byte, never more bytes than without them.
constexpr Search kStripSearches[] = {{1.0, kImportWaits[0], true}, {0.3, kImportWaits[0], true}};
constexpr double kFewBytes = 1.05;  // of the compulsory ones, from which strips are tried

// Placements that are tried. Searches begin with each of the maps'; those of a batch, where the SRAM is full, with
// none, because they cost room.
constexpr BankChoice kBankChoices[] = {BankChoice::any, BankChoice::emptier, BankChoice::rested};
constexpr std::int64_t kLineBanks[] = {0, 1, 4}, kMapBanks[] = {0, 1, 4, 8};
constexpr std::int64_t kFirstLineBanks = 4;

constexpr int kMostApart = 3;            // times that groups are taken apart
constexpr std::size_t kMostRefined = 2;  // of what the searches find

// Instructions that are written down before refinement ends: seconds, where maps find no room again and again. Of the
// layer schedule it ends with a third of them, searches begin anew until a half.
constexpr std::int64_t kMostWritten = 12'000'000;

bool better(const Prediction& fused, const Prediction& layer) {
  if (fused.instruction_bytes > kMuchFetched * fused.bytes) return fused.cycles < kLeastGainFetched * layer.cycles;
  return fused.cycles < kLeastGain * layer.cycles ||
         (fused.cycles <= layer.cycles && fused.bytes < kLeastSaving * layer.bytes);
}

/// A way to schedule and what it is predicted to take; none: it does not fit.
struct Choice {
  ScheduleOptions options;
  std::optional<Prediction> prediction;
  std::optional<double> wide_cycles;  // when somebody asked
};

class Chooser {
 public:
  Chooser(const QGraph& graph, const isa::ChipConfig& chip, const ScheduleOptions& options)
      : predictor_(graph, chip), options_(options) {
    batch_ = !graph.inputs.empty() && graph.tensors[static_cast<std::size_t>(graph.inputs[0])].shape[0] > 1;
    byte_cycles_ = (batch_ ? kBatchByteShare : kByteShare) / predictor_.dram_bytes_per_cycle();
  }

  Schedule choose() {
    const Choice layer = by_layer();
    if (!options_.fused) return predictor_.make(layer.options);
    Choice best = fused(layer);
    if (!best.prediction) best = layer;
    if (!best.prediction) best.options = options_;  // its objection
    return predictor_.make(best.options);
  }

 private:
  [[nodiscard]] double worth(const Prediction& p) const { return p.cycles + byte_cycles_ * p.bytes; }

  /// Of the first schedules.
  [[nodiscard]] ScheduleOptions first_options() const {
    ScheduleOptions options = options_;
    options.rows_stay = RowsStay::never;
    if (batch_) return options;
    options.placement.banks = BankChoice::emptier;
    options.placement.line_banks = kFirstLineBanks;
    return options;
  }

  Choice by_layer() {
    Choice choice{first_options(), std::nullopt, std::nullopt};
    choice.options.fused = false;
    choice.options.placement.line_banks = 0;
    choice.prediction = predictor_.predict(choice.options);
    count_bytes_or_not(choice);
    refine(choice);
    return choice;
  }

  Choice fused(const Choice& layer) {
    const bool forced = options_.fusion.strips > 0;
    Choice best;
    for (Choice& start : starts(layer, forced)) {
      refine(start);
      if (!best.prediction || worth(*start.prediction) < worth(*best.prediction)) best = start;
    }
    if (!forced && best.prediction && layer.prediction && !better(*best.prediction, *layer.prediction)) return {};
    return best;
  }

  /// Where refinement begins: the two best of what the searches find for each way that rows of maps may lie, and of the
  /// same with groups taken apart.
  std::vector<Choice> starts(const Choice& layer, bool forced) {
    std::vector<Choice> found;
    for (const std::int64_t banks : kMapBanks) {
      if (banks > kMapBanks[0] && (batch_ || predictor_.written() > kMostWritten / 2)) break;
      const Choice whole = searched(layer, banks);
      if (!whole.prediction) continue;
      found.push_back(whole);
      Choice apart = whole;
      for (int i = 0; !forced && i < kMostApart && take_apart(apart, layer); ++i) continue;
      if (!apart.options.fusion.alone.empty()) found.push_back(apart);
    }
    std::stable_sort(found.begin(), found.end(),
                     [&](const Choice& a, const Choice& b) { return worth(*a.prediction) < worth(*b.prediction); });
    if (found.size() > kMostRefined) found.resize(kMostRefined);
    return found;
  }

  /// The best of the searches with rows of maps over so many banks.
  Choice searched(const Choice& layer, std::int64_t map_banks) {
    Choice best;
    double most_bytes = 0;  // 0: any
    const auto attempt = [&](const Search& search) {
      Choice next{first_options(), std::nullopt, std::nullopt};
      next.options.placement.map_banks = map_banks;
      next.options.fusion.byte_share = search.share * options_.fusion.byte_share;
      next.options.fusion.import_wait = search.wait;
      next.options.fusion.cut_columns = search.strips;
      next.prediction = predictor_.predict(next.options);
      if (!next.prediction || (most_bytes > 0 && next.prediction->bytes > most_bytes)) return;
      if (!best.prediction || worth(*next.prediction) < worth(*best.prediction)) best = next;
    };
    for (const Search& search : kSearches) attempt(search);
    const Prediction so_far = best.prediction.value_or(layer.prediction.value_or(Prediction{}));
    if (batch_) {
      for (const Search& search : kBatchSearches) attempt(search);
    } else if (so_far.bytes == 0 || so_far.bytes > kFewBytes * so_far.compulsory) {
      most_bytes = so_far.bytes;
      for (const Search& search : kStripSearches) attempt(search);
    }
    return best;
  }

  /// Groups that take longer than their layers do one by one: those run alone, and the search makes the best of the
  /// others. False: there is none, or the whole does not gain by it.
  bool take_apart(Choice& choice, const Choice& layer) {
    if (!choice.prediction || !layer.prediction) return false;
    const Prediction& fused = *choice.prediction;
    if (fused.groups.size() != layer.prediction->groups.size()) return false;
    std::vector<int> alone = choice.options.fusion.alone;
    for (std::size_t first = 0, end = 0; first < fused.groups.size(); first = end) {
      while (end < fused.groups.size() && fused.groups[end] == fused.groups[first]) ++end;
      if (layer.prediction->span(first, end) >= fused.span(first, end)) continue;
      for (std::size_t id = first; id < end; ++id) alone.push_back(static_cast<int>(id));
    }
    std::sort(alone.begin(), alone.end());
    alone.erase(std::unique(alone.begin(), alone.end()), alone.end());
    return turn(choice, [&](ScheduleOptions& o) { o.fusion.alone = alone; });
  }

  /// Where things lie, one wish after the other, each only where the whole gains by it.
  void refine(Choice& choice) {
    if (!choice.prediction) return;
    // Copies of weights take room that buffers may want more.
    if (choice.options.copies) turn(choice, [](ScheduleOptions& o) { o.copies = false; });
    if (choice.options.halved && !batch_) turn(choice, [](ScheduleOptions& o) { o.halved = false; });
    turn(choice, [](ScheduleOptions& o) { o.short_neighbours = false; });
    place(choice);
    // In other places copies may pay.
    turn(choice, [](ScheduleOptions& o) { o.copies = !o.copies; });
    // Rows of maps that stay where there is room save bytes.
    if (options_.rows_stay == RowsStay::never) return;
    turn(choice, [&](ScheduleOptions& o) { o.rows_stay = options_.rows_stay; });
  }

  /// Layer by layer bytes cost cycles: they do not count where that is clearly faster, or fits at all.
  void count_bytes_or_not(Choice& choice) {
    Choice next{choice.options, std::nullopt, std::nullopt};
    next.options.count_bytes = false;
    next.prediction = predictor_.predict(next.options);
    if (!next.prediction) return;
    if (!choice.prediction || next.prediction->cycles < kLeastGain * choice.prediction->cycles) choice = next;
  }

  void place(Choice& choice) {
    for (const BankChoice banks : kBankChoices) {
      turn(choice, [&](ScheduleOptions& o) { o.placement.banks = banks; });
    }
    if (choice.options.fused) {
      for (const std::int64_t banks : kLineBanks) {
        turn(choice, [&](ScheduleOptions& o) { o.placement.line_banks = banks; });
      }
    }
    for (const std::int64_t banks : kMapBanks) {
      turn(choice, [&](ScheduleOptions& o) { o.placement.map_banks = banks; });
    }
  }

  /// Takes the change if the whole gains by it.
  template <typename Change>
  bool turn(Choice& choice, Change change) {
    if (predictor_.written() > (choice.options.fused ? kMostWritten : kMostWritten / 3)) return false;
    Choice next{choice.options, std::nullopt, std::nullopt};
    change(next.options);
    if (!predictor_.is_new(next.options)) return false;
    next.prediction = predictor_.predict(next.options);
    if (!next.prediction || !gains(choice, next)) return false;
    choice = next;
    return true;
  }

  bool gains(Choice& from, Choice& to) {
    const double cycles = to.prediction->cycles / from.prediction->cycles;
    const double gain = worth(*from.prediction) - worth(*to.prediction);
    if (batch_) return gain > 0 && cycles <= kAsMany;
    if (gain == 0 || cycles > kMostForWide) return false;
    const auto wide = [&](Choice& choice) {
      if (!choice.wide_cycles) choice.wide_cycles = predictor_.wide_cycles(choice.options);
      return *choice.wide_cycles;
    };
    const double won = wide(from) - wide(to);
    const bool alike = std::abs(won) < kClearlyWider * wide(from);
    return gain + (alike && to.prediction->bytes != from.prediction->bytes ? 0 : kWideShare * won) > 0;
  }

  Predictor predictor_;
  const ScheduleOptions& options_;
  bool batch_ = false;
  double byte_cycles_ = 0;
};

}  // namespace

Schedule choose_schedule(const QGraph& graph, const isa::ChipConfig& chip, const ScheduleOptions& options) {
  return Chooser(graph, chip, options).choose();
}

}  // namespace tessera::compiler
