// What schedules of one graph are predicted to take: each is made and emitted, and emission runs its instructions
// (compiler/emit). Leaves out: which schedules are asked for (choose_schedule).
#pragma once

#include <array>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "compiler/ir/qgraph.hpp"
#include "compiler/schedule/scheduler.hpp"
#include "isa/chip.hpp"

namespace tessera::compiler {

/// Cycles and DRAM bytes of a whole program.
struct Prediction {
  double cycles = 0, bytes = 0, compulsory = 0;
  double instruction_bytes = 0;  // of the bytes
  std::vector<double> ends;      // by layer: when the last instruction of its group ends
  std::vector<int> groups;       // by layer
  /// Cycles of layers [first, end), which are groups.
  [[nodiscard]] double span(std::size_t first, std::size_t end) const {
    return ends[end - 1] - (first == 0 ? 0 : ends[first - 1]);
  }
};

class Predictor {
 public:
  Predictor(const QGraph& graph, const isa::ChipConfig& chip);

  /// Nothing: it does not fit.
  [[nodiscard]] std::optional<Prediction> predict(ScheduleOptions options);
  /// Cycles where DRAM gives kWider times as much.
  [[nodiscard]] double wide_cycles(ScheduleOptions options);
  [[nodiscard]] Schedule make(const ScheduleOptions& options) { return make_schedule(graph_, options, memory_); }
  /// Nobody has asked for a prediction of these options.
  [[nodiscard]] bool is_new(const ScheduleOptions& options) const { return asked_.count(key_of(options)) == 0; }

  /// Instructions that all schedules so far have written down, with those that found no room.
  [[nodiscard]] std::int64_t written() const { return memory_.written; }
  [[nodiscard]] double dram_bytes_per_cycle() const { return memory_.cost.dram_bytes_per_cycle(); }

 private:
  using Key = std::tuple<bool, decltype(FusionOptions().key()), std::array<int, 8>>;
  [[nodiscard]] static Key key_of(const ScheduleOptions& options);

  const QGraph& graph_;
  ScheduleMemory memory_;
  isa::ChipConfig wide_;
  std::set<Key> asked_;
};

}  // namespace tessera::compiler
