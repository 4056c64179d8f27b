// `dram`: drives the DRAM subsystem of a chip alone with a trace of requests.
#include <cstdio>
#include <fstream>
#include <iostream>

#include <nlohmann/json.hpp>

#include "hw/common/error.hpp"
#include "hw/common/file.hpp"
#include "hw/models/dram/energy.hpp"
#include "hw/models/dram/replay.hpp"
#include "hw/models/interconnect/memory_config.hpp"
#include "isa/chip.hpp"
#include "runtime/command/command.hpp"
#include "runtime/version.hpp"

namespace tessera::runtime {
namespace {

using nlohmann::json;

/// Writes each command as it is issued, so that a trace of any length needs no memory; the file appears when the run is
/// over, half a file never stays.
class CommandFile final : public dram::CommandObserver {
 public:
  explicit CommandFile(const std::string& path) : path_(path), part_(part_of(path)), out_(part_, std::ios::trunc) {
    if (!out_) cannot_write(path_);
    out_ << "clock,command,channel,rank,bank_group,bank,row,column\n";
  }
  CommandFile(const CommandFile&) = delete;
  CommandFile& operator=(const CommandFile&) = delete;
  ~CommandFile() override {
    std::error_code ignored;
    if (part_ != path_) std::filesystem::remove(part_, ignored);
  }

  void on_command(const dram::Command& c) override {
    out_ << c.clock << ',' << dram::command_name(c.kind) << ',' << c.channel << ',' << c.rank << ',' << c.bank_group
         << ',' << c.bank << ',' << c.row << ',' << c.column << '\n';
  }

  void finish() {
    out_.close();
    std::error_code failed;
    if (out_ && part_ != path_) std::filesystem::rename(part_, path_, failed);
    if (!out_ || failed) cannot_write(path_);
  }

 private:
  std::filesystem::path path_;
  std::filesystem::path part_;
  std::ofstream out_;
};

json channel_json(const dram::ChannelStatistics& s) {
  TESSERA_CHECK(s.data + s.activate + s.turnaround + s.refresh + s.idle == s.clocks, "the parts do not add up to ",
                s.clocks, " clocks");
  return {{"clocks", s.clocks},
          {"data", s.data},
          {"activate", s.activate},
          {"turnaround", s.turnaround},
          {"refresh", s.refresh},
          {"idle", s.idle},
          {"row_hits", s.row_hits},
          {"row_misses", s.row_misses},
          {"row_conflicts", s.row_conflicts},
          {"refreshes", s.refreshes},
          {"activates", s.activates},
          {"check_bursts", s.check_bursts}};
}

json report_json(const isa::ChipConfig& chip, const dram::DramConfig& config, const dram::ReplayResult& r) {
  dram::ChannelStatistics sum;
  dram::Energy energy;
  json channels = json::array();
  for (const dram::ChannelStatistics& s : r.channels) {
    channels.push_back(channel_json(s));
    sum.row_hits += s.row_hits;
    sum.row_misses += s.row_misses;
    sum.row_conflicts += s.row_conflicts;
    sum.refreshes += s.refreshes;
    const dram::Energy e = dram::energy(config.channel.device, s, config.channel.ranks,
                                        config.channel.refresh == dram::RefreshPolicy::per_bank);
    energy.activate += e.activate;
    energy.read += e.read;
    energy.write += e.write;
    energy.refresh += e.refresh;
    energy.background += e.background;
  }
  const double seconds = static_cast<double>(r.clocks) * static_cast<double>(config.channel.device.tck_fs) * 1e-15;
  const double latency = r.reads > 0 ? static_cast<double>(r.read_latency_sum) / static_cast<double>(r.reads) : 0.0;
  return {{"schema", "tessera.dram/1"},
          {"tool_version", kToolVersion},
          {"chip", json::parse(isa::chip_json(chip))},
          {"requests", r.requests},
          {"reads", r.reads},
          {"cycles", r.clocks},
          {"bytes", r.bytes},
          {"bandwidth_bytes_per_s", seconds > 0 ? static_cast<double>(r.bytes) / seconds : 0.0},
          {"peak_bytes_per_s", dram::peak_bytes_per_second(config)},
          {"row_hits", sum.row_hits},
          {"row_misses", sum.row_misses},
          {"row_conflicts", sum.row_conflicts},
          {"refreshes", sum.refreshes},
          {"read_latency_mean_cycles", latency},
          {"read_latency_constant_cycles", config.channel.device.read_latency_constant()},
          {"energy_pj",
           {{"activate", energy.activate},
            {"read", energy.read},
            {"write", energy.write},
            {"refresh", energy.refresh},
            {"background", energy.background},
            {"total", energy.total()}}},
          {"channels", channels}};
}

void print_summary(const json& r) {
  const double bandwidth = r.at("bandwidth_bytes_per_s").get<double>();
  const double peak = r.at("peak_bytes_per_s").get<double>();
  std::printf("%lld requests, %lld bytes in %lld DRAM clocks: %.3f GB/s, %.1f %% of the peak of %.3f GB/s\n",
              r.at("requests").get<long long>(), r.at("bytes").get<long long>(), r.at("cycles").get<long long>(),
              bandwidth * 1e-9, 100.0 * bandwidth / peak, peak * 1e-9);
  std::printf("bursts: %lld row hits, %lld row misses, %lld row conflicts; %lld refreshes\n",
              r.at("row_hits").get<long long>(), r.at("row_misses").get<long long>(),
              r.at("row_conflicts").get<long long>(), r.at("refreshes").get<long long>());
  std::printf("read latency %.3f DRAM clocks on average, %lld of them the controller's own\n",
              r.at("read_latency_mean_cycles").get<double>(), r.at("read_latency_constant_cycles").get<long long>());
  std::printf("energy %.3f uJ, %.1f pJ a byte\n", r.at("energy_pj").at("total").get<double>() * 1e-6,
              r.at("energy_pj").at("total").get<double>() / std::max(1.0, r.at("bytes").get<double>()));
}

}  // namespace

void add_dram_command(CLI::App& app) {
  struct Options {
    std::string trace, chip, report, commands;
    std::vector<std::string> sets;
    int outstanding = 0;
  };
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("dram", "Drives the DRAM of a chip alone with a trace of requests");
  command->footer(
      "A line of the trace is CYCLE|- R|W 0xADDRESS: 64 bytes, at that DRAM clock or as soon as accepted.\n"
      "Example: tessera dram trace.txt --chip a1000 --set dram.channels=2 --report r.json");
  command->add_option("trace", o->trace, "Trace of requests")->required();
  command->add_option("--chip", o->chip, "Name (tessera chip list) or JSON file")->required();
  command->add_option("--set", o->sets, "Overrides one chip value, e.g. --set dram.timings.FAW=128 (repeatable)");
  command->add_option("--outstanding", o->outstanding, "Reads under way at most; default: what the queues take")
      ->check(CLI::Range(1, 1 << 20));
  command->add_option("--report", o->report, "Writes the report (JSON)");
  command->add_option("--commands", o->commands, "Writes every DRAM command (CSV)");
  command->callback([o] {
    const isa::ChipConfig chip = isa::load_chip(o->chip, o->sets);
    if (chip.dram.device == "fixed") {
      user_error("chip '", o->chip,
                 "': dram.device = \"fixed\" has no channels to drive; choose a device, e.g. --set "
                 "dram.device=LPDDR4-4266");
    }
    const dram::DramConfig config = hw::MemoryConfig::from(chip, 1).dram();
    if (std::filesystem::is_directory(o->trace)) user_error(o->trace, ": is a directory: expected a trace");
    std::ifstream in(o->trace);
    if (!in) user_error(o->trace, ": cannot be read: expected an existing, readable trace");
    dram::TraceReader reader(in, o->trace);
    dram::ReplayOptions options;
    options.outstanding = o->outstanding;
    std::unique_ptr<CommandFile> commands;
    if (!o->report.empty()) expect_writable(o->report);
    if (!o->commands.empty()) {
      commands = std::make_unique<CommandFile>(o->commands);
      options.observer = commands.get();
    }
    const dram::ReplayResult result = dram::replay(
        config, [&](dram::TraceRequest& request) { return reader.next(request); }, options);
    const json report = report_json(chip, config, result);
    if (commands) commands->finish();
    if (!o->report.empty()) write_file(o->report, report.dump(1) + "\n");
    print_summary(report);
  });
}

}  // namespace tessera::runtime
