#include "compiler/driver/choose_schedule.hpp"

#include <optional>

#include "compiler/emit/emit.hpp"
#include "compiler/schedule/unit_cost.hpp"
#include "hw/common/error.hpp"

namespace tessera::compiler {
namespace {

// A fused schedule is worth having when it takes fewer cycles than the layer schedule by more than the prediction may
// err, or moves fewer bytes in as many cycles.
constexpr double kLeastGain = 0.99;
constexpr double kAsMany = 1.001;
constexpr double kLeastSaving = 0.99;

// Searches that assume different times for the rows of images: how far they hide is the whole's to say.
constexpr double kImportWaits[] = {1.2, 3.0};
// Of the time that DRAM traffic takes, what it counts beside the cycles. A batch is run for images a second: there the
// cycles count for themselves, and searches that care less for bytes are tried too.
constexpr double kByteShare = 3.0, kBatchByteShare = 1.0;

/// A search: what DRAM traffic counts, of its own share, what imports wait, whether groups may run in strips, and
/// ScheduleOptions::few_instructions.
struct Search {
  double share = 1.0, wait = 1.2;
  bool strips = false, few_instructions = false;
};
constexpr Search kSearches[] = {{1.0, kImportWaits[0]}, {1.0, kImportWaits[1]}, {1.0, kImportWaits[0], false, true}};
constexpr Search kBatchSearches[] = {{0.1, kImportWaits[0]}, {0.1, kImportWaits[1]}};
// Strips buy bytes with cycles: for different prices of a byte, never more bytes than without them.
constexpr Search kStripSearches[] = {{1.0, kImportWaits[0], true}, {0.3, kImportWaits[0], true}};
constexpr double kFewBytes = 1.05;  // of the compulsory ones, from which strips are tried

/// What emission says of a schedule.
struct Prediction {
  double cycles = 0, bytes = 0, compulsory = 0;
};

std::optional<Prediction> predict(const QGraph& graph, ScheduleOptions options, UnitCost& cost) {
  options.timing_only = true;
  try {
    const isa::Program program = emit(make_schedule(graph, options, cost), cost.chip(), {});
    return Prediction{static_cast<double>(program.predicted.cycles), static_cast<double>(program.predicted.dram_bytes),
                      static_cast<double>(program.compulsory_read + program.compulsory_write)};
  } catch (const UserError&) {
    return std::nullopt;
  }
}

bool better(const Prediction& fused, const Prediction& layer) {
  return fused.cycles < kLeastGain * layer.cycles ||
         (fused.cycles <= kAsMany * layer.cycles && fused.bytes < kLeastSaving * layer.bytes);
}

/// A way to schedule and what it is predicted to take; none: it does not fit.
struct Choice {
  ScheduleOptions options;
  std::optional<Prediction> prediction;
};

class Chooser {
 public:
  Chooser(const QGraph& graph, const isa::ChipConfig& chip, const ScheduleOptions& options)
      : graph_(graph), cost_(chip), options_(options) {
    batch_ = !graph.inputs.empty() && graph.tensors[static_cast<std::size_t>(graph.inputs[0])].shape[0] > 1;
    byte_cycles_ = (batch_ ? kBatchByteShare : kByteShare) / cost_.dram_bytes_per_cycle();
  }

  Schedule choose() {
    const Choice layer = by_layer();
    if (!options_.fused) return make_schedule(graph_, layer.options, cost_);
    Choice best = fused(layer);
    if (!best.prediction) best = layer;
    if (!best.prediction) best.options = options_;  // its objection
    return make_schedule(graph_, best.options, cost_);
  }

 private:
  [[nodiscard]] double worth(const Prediction& p) const { return p.cycles + byte_cycles_ * p.bytes; }

  Choice by_layer() {
    Choice choice{options_, std::nullopt};
    choice.options.fused = false;
    choice.options.rows_stay = RowsStay::never;
    choice.prediction = predict(graph_, choice.options, cost_);
    refine(choice);
    return choice;
  }

  Choice fused(const Choice& layer) {
    const bool forced = options_.fusion.strips > 0;
    Choice best;
    double most_bytes = 0;  // 0: any
    const auto attempt = [&](const Search& search) {
      Choice next{options_, std::nullopt};
      next.options.rows_stay = RowsStay::never;
      next.options.fusion.byte_share = search.share * options_.fusion.byte_share;
      next.options.fusion.import_wait = search.wait;
      next.options.fusion.cut_columns = search.strips;
      next.options.few_instructions = search.few_instructions;
      next.prediction = predict(graph_, next.options, cost_);
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
    refine(best);
    if (!forced && best.prediction && layer.prediction && !better(*best.prediction, *layer.prediction)) return {};
    return best;
  }

  /// Where things lie, one wish after the other, each only where the whole gains by it.
  void refine(Choice& choice) {
    if (!choice.prediction) return;
    // Copies of weights take room that buffers may want more.
    if (choice.options.copies) turn(choice, [](ScheduleOptions& o) { o.copies = false; });
    if (choice.options.halved && !batch_) turn(choice, [](ScheduleOptions& o) { o.halved = false; });
    turn(choice, [](ScheduleOptions& o) { o.short_neighbours = false; });
    // Few instructions where their bytes are worth more than the cycles that finer tiles save.
    turn(choice, [](ScheduleOptions& o) { o.few_instructions = !o.few_instructions; });
    // Rows of maps that stay where there is room save bytes.
    if (options_.rows_stay == RowsStay::never) return;
    turn(choice, [&](ScheduleOptions& o) { o.rows_stay = options_.rows_stay; });
  }

  template <typename Change>
  void turn(Choice& choice, Change change) {
    Choice next = choice;
    change(next.options);
    next.prediction = predict(graph_, next.options, cost_);
    if (next.prediction && worth(*next.prediction) < worth(*choice.prediction) &&
        next.prediction->cycles <= kAsMany * choice.prediction->cycles) {
      choice = next;
    }
  }

  const QGraph& graph_;
  UnitCost cost_;
  const ScheduleOptions& options_;
  bool batch_ = false;
  double byte_cycles_ = 0;
};

}  // namespace

Schedule choose_schedule(const QGraph& graph, const isa::ChipConfig& chip, const ScheduleOptions& options) {
  return Chooser(graph, chip, options).choose();
}

}  // namespace tessera::compiler
