#include "runtime/report/report.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "hw/common/error.hpp"
#include "isa/isa.hpp"
#include "runtime/report/attribution.hpp"
#include "runtime/report/limits.hpp"
#include "runtime/version.hpp"

namespace tessera::runtime {
namespace {

using nlohmann::json;

json stalls_json(const std::array<Cycles, kStallCauses>& stall) {
  json out = json::object();
  for (std::size_t i = 0; i < kStallCauses; ++i) {
    if (stall[i] != 0) out[stall_name(static_cast<StallCause>(i))] = stall[i];
  }
  return out;
}

json units_json(const ReportInput& in) {
  json out = json::object();
  for (const hw::UnitResult& unit : in.result.units) {
    TESSERA_CHECK(unit.account.total() == in.result.cycles, unit.name,
                  ": busy + idle + stalls = ", unit.account.total(), ", the run has ", in.result.cycles, " cycles");
    out[unit.name] = {
        {"busy", unit.account.busy}, {"idle", unit.account.idle}, {"stall", stalls_json(unit.account.stall)}};
    if (unit.array_cycles != 0) out[unit.name]["array_cycles"] = unit.array_cycles;
  }
  return out;
}

json channels_json(const ReportInput& in) {
  json out = json::array();
  for (const hw::DramChannelResult& c : in.result.channels) {
    TESSERA_CHECK(c.data + c.activate + c.turnaround + c.refresh + c.idle == c.clocks, "channel ", out.size(),
                  ": the parts do not add up to ", c.clocks, " clocks");
    out.push_back({{"clocks", c.clocks},
                   {"data", c.data},
                   {"activate", c.activate},
                   {"turnaround", c.turnaround},
                   {"refresh", c.refresh},
                   {"idle", c.idle},
                   {"row_hits", c.row_hits},
                   {"row_misses", c.row_misses},
                   {"row_conflicts", c.row_conflicts},
                   {"refreshes", c.refreshes},
                   {"energy_pj",
                    {{"activate", c.activate_pj},
                     {"read", c.read_pj},
                     {"write", c.write_pj},
                     {"refresh", c.refresh_pj},
                     {"background", c.background_pj}}}});
  }
  return out;
}

/// Hits of each stream, counted in 64-byte parts.
json cache_json(const hw::CacheResult& cache) {
  json streams = json::object();
  for (const hw::CacheStreamResult& s : cache.streams) {
    streams[s.name] = {{"hits", s.hits}, {"merged", s.merged}, {"misses", s.misses}, {"bypassed", s.bypassed}};
  }
  return {{"streams", streams},
          {"fetched_bytes", cache.fetched_bytes},
          {"written_bytes", cache.written_bytes},
          {"dirty_bytes_left", cache.dirty_bytes_left}};
}

/// Background traffic, with its share of what the DRAM could have moved.
json traffic_json(const ReportInput& in) {
  json out = json::object();
  const double seconds = static_cast<double>(in.result.cycles) / static_cast<double>(in.chip.clock_hz);
  for (const hw::TrafficResult& t : in.result.traffic) {
    const double possible = in.dram_peak_bytes_per_s * seconds;
    out[t.name] = {{"bytes", t.bytes},
                   {"requests", t.requests},
                   {"longest_wait_cycles", t.longest_wait},
                   {"share_of_peak", possible > 0 ? static_cast<double>(t.bytes) / possible : 0.0}};
  }
  return out;
}

json dram_json(const ReportInput& in, const Attribution& attribution) {
  json kinds = json::object();
  Bytes sum = 0;
  for (std::size_t k = 0; k < isa::kTrafficKinds; ++k) {
    kinds[isa::traffic_name(static_cast<isa::Traffic>(k))] = attribution.by_kind[k];
    sum += attribution.by_kind[k];
  }
  const Bytes reads = in.result.load_bytes + in.result.fetch_bytes + in.result.host_read_bytes;
  const Bytes writes = in.result.store_bytes + in.result.host_write_bytes;
  TESSERA_CHECK(sum == reads + writes, "by_kind sums to ", sum, " bytes, moved were ", reads + writes);
  const double seconds = static_cast<double>(in.result.cycles) / static_cast<double>(in.chip.clock_hz);
  return {{"read_bytes", reads},
          {"write_bytes", writes},
          {"compulsory_read_bytes", in.program.compulsory_read},
          {"compulsory_write_bytes", in.program.compulsory_write},
          {"peak_bytes_per_s", in.dram_peak_bytes_per_s},
          {"achieved_bytes_per_s", seconds > 0 ? static_cast<double>(reads + writes) / seconds : 0.0},
          {"by_kind", kinds},
          {"bursts", in.result.dram_bursts},
          {"channels", channels_json(in)}};
}

json layers_json(const ReportInput& in, const Attribution& attribution) {
  json out = json::array();
  const std::vector<LayerLimits> limits = layer_limits(in.program, in.chip);
  for (std::size_t i = 0; i < in.program.layers.size(); ++i) {
    const isa::LayerInfo& layer = in.program.layers[i];
    const LayerTotals& totals = attribution.layers[i];
    json busy = json::object();
    for (const auto& [unit, cycles] : totals.busy) busy[unit] = cycles;
    out.push_back({{"name", layer.name},
                   {"op", layer.op},
                   {"unit", layer.unit},
                   {"fused", layer.fused},
                   {"section", totals.section},
                   {"group", layer.group},
                   {"start_cycle", totals.start},
                   {"end_cycle", totals.end},
                   {"macs_useful", layer.macs_useful},
                   {"dram_read_bytes", totals.dram_read},
                   {"dram_write_bytes", totals.dram_write},
                   {"busy", busy},
                   {"stall", stalls_json(totals.stall)}});
    if (limits[i].cycles > 0) out.back()["limit"] = limit_json(limits[i]);
  }
  return out;
}

json groups_json(const ReportInput& in, const Attribution& attribution) {
  json out = json::array();
  Cycles at = 0;
  for (const GroupSpan& g : attribution.groups) {
    TESSERA_CHECK(g.start == at && g.end >= g.start, "group '", g.name, "' starts at ", g.start, ", expected ", at);
    at = g.end;
    out.push_back({{"name", g.name},
                   {"layers", g.layers},
                   {"start_cycle", g.start},
                   {"end_cycle", g.end},
                   {"dram_read_bytes", g.dram_read},
                   {"dram_write_bytes", g.dram_write}});
    if (g.predicted > 0) out.back()["predicted_cycles"] = g.predicted;
  }
  TESSERA_CHECK(at == in.result.cycles, "groups end at ", at, ", the run at ", in.result.cycles);
  return out;
}

json utilization_json(const ReportInput& in, const Attribution& attribution) {
  json out = json::object();
  for (const hw::UnitResult& unit : in.result.units) {
    const double lanes = unit_lanes(unit.name, in.chip);
    if (lanes <= 0 || in.result.cycles == 0) continue;
    const auto found = attribution.useful_work.find(unit.name);
    const std::int64_t useful = found == attribution.useful_work.end() ? 0 : found->second;
    out[unit.name] = static_cast<double>(useful) / (static_cast<double>(in.result.cycles) * lanes);
  }
  return out;
}

json compare_json(const ReportInput& in) {
  json out = json::object();
  for (const auto& [name, c] : in.compare) {
    out[name] = {{"equal", c.equal}, {"elements", c.elements}, {"first_difference", c.first_difference}};
  }
  return out;
}

/// Images a second: 1 / latency for one frame, steady state (first frame's end to last frame's end) for several.
double frames_per_second(const ReportInput& in, double frame_s) {
  const auto& ends = in.result.frame_ends;
  if (ends.size() > 1) {
    return static_cast<double>(in.program.batch) * static_cast<double>(ends.size() - 1) *
           static_cast<double>(in.chip.clock_hz) / static_cast<double>(ends.back() - ends.front());
  }
  return frame_s > 0 ? static_cast<double>(in.program.batch) / frame_s : 0.0;
}

/// Why each section begins, and what crosses through DRAM there.
json sections_json(const isa::Program& program) {
  json sections = json::array();
  for (const isa::Section& section : program.sections) {
    sections.push_back({{"name", section.name}, {"why", section.why}, {"crossing_bytes", section.crossing_bytes}});
  }
  return sections;
}

json common_fields(const isa::Program& program, const isa::ChipConfig& chip) {
  return {{"schema", "tessera.run/1"},
          {"tool_version", kToolVersion},
          {"seed", program.seed},
          {"schedule", program.schedule},
          {"chip", json::parse(isa::chip_json(chip))},
          {"model", {{"name", program.model_name}, {"sha256", program.model_sha256}}},
          {"clock_hz", chip.clock_hz},
          {"batch", program.batch},
          {"sections", sections_json(program)},
          {"predicted", {{"cycles", program.predicted.cycles}, {"dram_bytes", program.predicted.dram_bytes}}}};
}

}  // namespace

json build_report(const ReportInput& in) {
  const Attribution attribution = attribute(in);
  json out = common_fields(in.program, in.chip);
  const double frame_s = static_cast<double>(attribution.first_frame_cycles) / static_cast<double>(in.chip.clock_hz);
  out["seed"] = in.seed;
  out["backend"] = in.backend;
  out["cycles"] = in.result.cycles;
  out["latency_s"] = frame_s;
  out["fps"] = frames_per_second(in, frame_s);
  out["frames"] = in.frames;
  out["wall_s"] = in.wall_s;
  out["stepped_cycles"] = in.result.stepped_cycles;
  if (!in.compare.empty()) out["compare"] = compare_json(in);
  if (!in.ideal.empty()) out["ideal"] = in.ideal;
  std::int64_t issued = 0;
  for (const hw::UnitResult& unit : in.result.units) {
    if (unit.name.find("edp") == std::string::npos) issued += unit.macs_issued;
  }
  out["macs"] = {{"useful", in.program.macs_useful}, {"issued", issued}, {"host", in.program.macs_host}};
  out["utilization"] = utilization_json(in, attribution);
  out["units"] = units_json(in);
  out["dram"] = dram_json(in, attribution);
  if (!in.result.cache.streams.empty()) out["cache"] = cache_json(in.result.cache);
  if (!in.result.traffic.empty()) out["traffic"] = traffic_json(in);
  out["sram"] = {{"size_bytes", in.chip.sram.size_bytes * in.chip.sram.banks},
                 {"peak_bytes", in.program.sram_peak_bytes},
                 {"bank_conflict_cycles", in.result.sram_conflict_cycles}};
  out["layers"] = layers_json(in, attribution);
  out["groups"] = groups_json(in, attribution);
  if (!in.output_sha256.empty()) out["outputs"] = in.output_sha256;
  if (!in.result.warnings.empty()) out["warnings"] = in.result.warnings;
  return out;
}

json build_estimate(const isa::Program& program, const isa::ChipConfig& chip) {
  json out = common_fields(program, chip);
  const double seconds = static_cast<double>(program.predicted.cycles) / static_cast<double>(chip.clock_hz);
  out["backend"] = "estimate";
  out["cycles"] = program.predicted.cycles;
  out["frames"] = 1;
  out["latency_s"] = seconds;
  out["fps"] = seconds > 0 ? program.batch / seconds : 0.0;
  out["macs"] = {{"useful", program.macs_useful}, {"host", program.macs_host}};
  out["dram"] = {{"compulsory_read_bytes", program.compulsory_read},
                 {"compulsory_write_bytes", program.compulsory_write}};
  out["sram"] = {{"size_bytes", chip.sram.size_bytes * chip.sram.banks}, {"peak_bytes", program.sram_peak_bytes}};
  json layers = json::array();
  for (const isa::LayerInfo& layer : program.layers) {
    layers.push_back({{"name", layer.name},
                      {"op", layer.op},
                      {"unit", layer.unit},
                      {"group", layer.group},
                      {"macs_useful", layer.macs_useful}});
  }
  out["layers"] = layers;
  return out;
}

}  // namespace tessera::runtime
