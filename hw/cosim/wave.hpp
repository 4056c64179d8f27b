// A waveform of a run, with the same signal names and edges whichever backend ran: of each unit busy, bank conflict and
// the head of its queue; semaphores; DRAM command buses. The RTL's are sampled from its pins in every cycle; the
// models' follow from the records of the instructions and from the conflicts as they happen, so that fast-forwarding
// stays. Leaves out: frames but the first, inner signals of the RTL.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "hw/cosim/core_api.hpp"
#include "hw/models/cp/cp_core.hpp"
#include "hw/models/dram/command.hpp"
#include "hw/platform/run_result.hpp"
#include "isa/chip.hpp"
#include "isa/program/program.hpp"

namespace tessera::cosim {

class Wave : public dram::CommandObserver {
 public:
  explicit Wave(const isa::ChipConfig& chip);

  // ---- while the run goes on
  /// The model's unit lost cycle n to a bank conflict.
  void on_conflict(int core, int queue, Cycles n);
  void on_command(const dram::Command& command) override;
  /// Pins of the RTL in cycle n.
  void sample(Cycles n, const WavePins& pins);
  /// After a run of the models.
  void add_records(const isa::Program& program, const hw::RunResult& run);

  struct Change {
    std::int64_t time = 0;    // ps
    std::uint64_t value = 0;  // from then on
    bool operator==(const Change& other) const { return time == other.time && value == other.value; }
  };
  struct Signal {
    std::string name;  // "core0.conv0.busy"
    int width = 1;
    std::vector<Change> changes;
  };
  /// All signals by name, each with the changes of its value in order of time; it is 0 before the first.
  [[nodiscard]] std::vector<Signal> signals() const;
  [[nodiscard]] std::int64_t time_of(Cycles n) const;

  /// To FILE.vcd or FILE.fst, whole or not at all.
  void write(const std::string& file) const;
  /// UserError unless the name ends in .vcd or .fst.
  static void check_name(const std::string& file);

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  struct UnitSignals {  // places in signals_
    std::size_t busy = kNone, conflict = kNone, head_valid = kNone, head = kNone;
  };
  struct CoreSignals {
    std::array<UnitSignals, hw::kQueues> units;  // by queue
    std::size_t first_semaphore = 0;
  };
  struct BusSignals {
    std::size_t command = 0, bank_group = 0, bank = 0, row = 0;
  };
  std::size_t declare(const std::string& name, int width);
  /// Later calls for one time override earlier ones.
  void set(std::size_t signal, std::int64_t time, std::uint64_t value) {
    signals_[signal].changes.push_back({time, value});
  }
  void set_high(std::size_t signal, std::vector<std::pair<Cycles, Cycles>> intervals);

  std::int64_t clock_hz_, tck_fs_;
  std::vector<Signal> signals_;  // changes as they were told, in any order
  std::vector<CoreSignals> cores_;
  std::vector<BusSignals> buses_;  // by DRAM channel
};

/// Of two waves with the same signals, the edge that comes first in time and only one of them has, as each side says
/// it; two empty texts if there is none.
[[nodiscard]] std::pair<std::string, std::string> first_different_edge(const Wave& model, const Wave& rtl);

}  // namespace tessera::cosim
