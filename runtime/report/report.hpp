// Turns one run into the report of schema tessera.run/1 (CLI.md): every cycle and byte with its owner. Conservation is
// asserted while it is built (busy + idle + stalls == cycles a unit, by_kind == total, groups tile the run, channel
// clocks add up); a broken sum is our bug and throws InternalError. Leaves out: running, drawing.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "hw/platform/run_result.hpp"
#include "isa/chip.hpp"
#include "isa/program/program.hpp"
#include "traces/timeline.hpp"

namespace tessera::runtime {

struct Comparison {
  bool equal = true;
  std::int64_t elements = 0;
  std::string first_difference;  // tensor, index, both values; empty when equal
};

/// A stretch in which a DRAM channel moved data ("data") or refreshed ("refresh"), in core cycles.
struct DramSlice {
  int channel = 0;
  std::string name;
  Cycles begin = 0;
  Cycles end = 0;
  Bytes bytes = 0;
};

struct ReportInput {
  const isa::Program& program;
  const isa::ChipConfig& chip;
  const hw::RunResult& result;
  std::string backend = "tlm";
  std::uint64_t seed = 0;
  int frames = 1;
  double wall_s = 0;
  std::map<std::string, std::string> output_sha256{};  // empty with --timing-only
  std::map<std::string, Comparison> compare{};
  std::map<std::string, Cycles> ideal{};
  double dram_peak_bytes_per_s = 0;
  std::vector<DramSlice> dram_slices{};  // for the timeline
};

[[nodiscard]] nlohmann::json build_report(const ReportInput& input);

/// The report of `tessera estimate`: same fields, no simulation, only what the compiler predicts.
[[nodiscard]] nlohmann::json build_estimate(const isa::Program& program, const isa::ChipConfig& chip);

/// The records of the run for write_timeline.
[[nodiscard]] traces::Timeline build_timeline(const ReportInput& input);

/// The short table for a terminal: latency, FPS, utilisation, where the stalls are, bytes by kind against the floor,
/// the five dearest layers. Reads nothing but the report.
[[nodiscard]] std::string summary_text(const nlohmann::json& report);

/// Two reports group by group with the cause of each difference (schema tessera.diff/1), and its text form.
[[nodiscard]] nlohmann::json diff_reports(const nlohmann::json& a, const nlohmann::json& b);
[[nodiscard]] std::string diff_text(const nlohmann::json& diff);

/// Reads a report file; UserError names file and key when it is none of ours.
[[nodiscard]] nlohmann::json load_report(const std::string& path);

/// One self-contained HTML page for one or more reports.
[[nodiscard]] std::string html_page(const std::vector<nlohmann::json>& reports);

}  // namespace tessera::runtime
