#include "compiler/driver/choose_schedule.hpp"

#include <optional>

#include "compiler/emit/emit.hpp"
#include "compiler/schedule/unit_cost.hpp"
#include "hw/common/error.hpp"

namespace tessera::compiler {
namespace {

// Below these parts of the layer schedule's cycles or bytes a fused schedule is worth having: the prediction knows no
// bank conflicts and may err by less.
constexpr double kLeastGain = 0.97;
constexpr double kLeastSaving = 0.99;

// Searches that assume different times for the rows of images: how far they hide is the whole's to say.
constexpr double kImportWaits[] = {1.2, 3.0};
// Of the time that DRAM traffic takes, what it counts beside the cycles. A batch is run for images a second: there the
// cycles count for themselves, and searches that care less for bytes are tried too.
constexpr double kByteShare = 3.0, kBatchByteShare = 1.0;

/// A search: what DRAM traffic counts, of its own share, what imports wait, and whether groups may run in strips.
struct Search {
  double share = 1.0, wait = 1.2;
  bool strips = false;
};
constexpr Search kSearches[] = {{1.0, kImportWaits[0], false}, {1.0, kImportWaits[1], false}};
constexpr Search kBatchSearches[] = {{0.1, kImportWaits[0], false}, {0.1, kImportWaits[1], false}};
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

/// Rows of maps that stay where there is room save bytes; where they cost cycles they do not stay.
void keep_rows_if_better(const QGraph& graph, RowsStay wanted, ScheduleOptions& options,
                         std::optional<Prediction>& prediction, UnitCost& cost) {
  ScheduleOptions other = options;
  other.rows_stay = wanted;
  const auto kept = predict(graph, other, cost);
  if (!kept || !prediction || kept->cycles > prediction->cycles || kept->bytes >= prediction->bytes) return;
  prediction = kept;
  options = other;
}

bool better(const Prediction& fused, const Prediction& layer) {
  return fused.cycles <= layer.cycles &&
         (fused.cycles < kLeastGain * layer.cycles || fused.bytes < kLeastSaving * layer.bytes);
}

}  // namespace

Schedule choose_schedule(const QGraph& graph, const isa::ChipConfig& chip, const ScheduleOptions& options) {
  UnitCost cost(chip);
  ScheduleOptions layer = options;
  layer.fused = false;
  layer.rows_stay = RowsStay::never;
  auto by_layer = predict(graph, layer, cost);
  keep_rows_if_better(graph, options.rows_stay, layer, by_layer, cost);
  if (!options.fused) return make_schedule(graph, layer, cost);
  const bool forced = options.fusion.strips > 0;
  const bool batch = !graph.inputs.empty() && graph.tensors[static_cast<std::size_t>(graph.inputs[0])].shape[0] > 1;
  const double byte_cycles = (batch ? kBatchByteShare : kByteShare) / cost.dram_bytes_per_cycle();
  const auto worth = [&](const Prediction& p) { return p.cycles + byte_cycles * p.bytes; };
  std::optional<Prediction> best;
  ScheduleOptions chosen = layer;
  ScheduleOptions candidate = options;
  candidate.rows_stay = RowsStay::never;
  double most_bytes = 0;  // 0: any
  const auto attempt = [&](const Search& search) {
    candidate.fusion.byte_share = search.share * options.fusion.byte_share;
    candidate.fusion.import_wait = search.wait;
    candidate.fusion.cut_columns = search.strips;
    const auto p = predict(graph, candidate, cost);
    if (!p || (most_bytes > 0 && p->bytes > most_bytes)) return;
    if ((!forced && by_layer && !better(*p, *by_layer)) || (best && worth(*best) <= worth(*p))) return;
    best = p;
    chosen = candidate;
  };
  for (const Search& search : kSearches) attempt(search);
  const Prediction so_far = best.value_or(by_layer.value_or(Prediction{}));
  if (batch) {
    for (const Search& search : kBatchSearches) attempt(search);
  } else if (so_far.bytes == 0 || so_far.bytes > kFewBytes * so_far.compulsory) {
    most_bytes = so_far.bytes;
    for (const Search& search : kStripSearches) attempt(search);
  }
  // Copies of weights take room that a group's buffers may want more.
  if (best && candidate.copies) {
    candidate = chosen;
    candidate.copies = false;
    const auto p = predict(graph, candidate, cost);
    if (p && worth(*p) < worth(*best)) {
      best = p;
      chosen = candidate;
    }
  }
  if (!best && !by_layer) chosen = options;  // its objection
  if (best) keep_rows_if_better(graph, options.rows_stay, chosen, best, cost);
  return make_schedule(graph, chosen, cost);
}

}  // namespace tessera::compiler
