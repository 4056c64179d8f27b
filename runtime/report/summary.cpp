// The terminal table and the difference of two reports; both read report JSON only.
#include <algorithm>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "runtime/report/report.hpp"

namespace tessera::runtime {
namespace {

using nlohmann::json;

template <typename... Args>
std::string line(const char* format, Args... args) {
  char text[512];
  std::snprintf(text, sizeof text, format, args...);
  return std::string(text) + "\n";
}

std::string grouped(std::int64_t value) {
  std::string digits = std::to_string(value);
  for (std::ptrdiff_t i = static_cast<std::ptrdiff_t>(digits.size()) - 3; i > (value < 0 ? 1 : 0); i -= 3) {
    digits.insert(static_cast<std::size_t>(i), ",");
  }
  return digits;
}

std::string clipped(const std::string& text, std::size_t width) {
  return text.size() <= width ? text : text.substr(0, width - 2) + "..";
}

/// The three largest stalls of a unit as "dram.bandwidth 41 %, semaphore.conv0 3 %".
std::string top_stalls(const json& stalls, double cycles) {
  std::vector<std::pair<std::int64_t, std::string>> order;
  for (const auto& [cause, n] : stalls.items()) order.emplace_back(-n.get<std::int64_t>(), cause);
  std::sort(order.begin(), order.end());
  std::string out;
  for (std::size_t i = 0; i < order.size() && i < 3; ++i) {
    char text[96];
    std::snprintf(text, sizeof text, "%s%s %.1f %%", out.empty() ? "" : ", ", order[i].second.c_str(),
                  100.0 * static_cast<double>(-order[i].first) / cycles);
    out += text;
  }
  return out.empty() ? "-" : out;
}

std::string unit_rows(const json& report) {
  const double cycles = std::max(1.0, report.at("cycles").get<double>());
  std::string out = line("%-15s %7s %7s %7s  %s", "unit", "busy", "idle", "useful", "stalls (share of all cycles)");
  for (const auto& [name, unit] : report.at("units").items()) {
    const auto useful = report.at("utilization").find(name);
    char share[16] = "-";
    if (useful != report.at("utilization").end()) {
      std::snprintf(share, sizeof share, "%.1f %%", 100.0 * useful->get<double>());
    }
    out += line("%-15s %5.1f %% %5.1f %% %7s  %s", name.c_str(), 100.0 * unit.at("busy").get<double>() / cycles,
                100.0 * unit.at("idle").get<double>() / cycles, share, top_stalls(unit.at("stall"), cycles).c_str());
  }
  return out;
}

std::string byte_rows(const json& report) {
  const json& dram = report.at("dram");
  const std::int64_t moved = dram.at("read_bytes").get<std::int64_t>() + dram.at("write_bytes").get<std::int64_t>();
  const std::int64_t floor =
      dram.at("compulsory_read_bytes").get<std::int64_t>() + dram.at("compulsory_write_bytes").get<std::int64_t>();
  std::string out =
      line("DRAM bytes      moved %s, compulsory %s (%.3f x); %.2f of %.2f GB/s", grouped(moved).c_str(),
           grouped(floor).c_str(), floor > 0 ? static_cast<double>(moved) / static_cast<double>(floor) : 0.0,
           dram.at("achieved_bytes_per_s").get<double>() / 1e9, dram.at("peak_bytes_per_s").get<double>() / 1e9);
  out += "  by kind      ";
  for (const auto& [kind, bytes] : dram.at("by_kind").items()) {
    if (bytes.get<std::int64_t>() != 0) out += " " + kind + " " + grouped(bytes.get<std::int64_t>()) + " ";
  }
  return out + "\n";
}

std::string dearest_layers(const json& report) {
  std::vector<std::pair<std::int64_t, const json*>> order;
  for (const json& group : report.at("groups")) {
    order.emplace_back(-(group.at("end_cycle").get<std::int64_t>() - group.at("start_cycle").get<std::int64_t>()),
                       &group);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string out = line("%-38s %12s %7s %14s", "dearest groups", "cycles", "share", "DRAM bytes");
  for (std::size_t i = 0; i < order.size() && i < 5; ++i) {
    const json& group = *order[i].second;
    out +=
        line("%-38s %12s %5.1f %% %14s", clipped(group.at("name").get<std::string>(), 38).c_str(),
             grouped(-order[i].first).c_str(),
             100.0 * static_cast<double>(-order[i].first) / std::max(1.0, report.at("cycles").get<double>()),
             grouped(group.at("dram_read_bytes").get<std::int64_t>() + group.at("dram_write_bytes").get<std::int64_t>())
                 .c_str());
  }
  return out;
}

/// The first few boundaries between sections.
std::string boundaries(const json& report) {
  const auto sections = report.find("sections");
  if (sections == report.end() || sections->size() < 2) return "";
  constexpr std::size_t kMost = 6;
  std::string out;
  for (std::size_t i = 1; i < sections->size() && i <= kMost; ++i) {
    const json& section = (*sections)[i];
    out += line("boundary before %s: %s bytes cross; %s", section.at("name").get<std::string>().c_str(),
                grouped(section.at("crossing_bytes").get<std::int64_t>()).c_str(),
                clipped(section.at("why").get<std::string>(), 100).c_str());
  }
  if (sections->size() > kMost + 1) out += line("and %zu boundaries more", sections->size() - kMost - 1);
  return out;
}

}  // namespace

std::string summary_text(const json& report) {
  const json& chip = report.at("chip");
  std::string out = line("%s on %s, %s schedule, %s", report.at("model").at("name").get<std::string>().c_str(),
                         chip.value("name", std::string("?")).c_str(), report.at("schedule").get<std::string>().c_str(),
                         report.at("backend").get<std::string>().c_str());
  const std::string frame_note =
      report.at("frames").get<int>() == 1 ? "1 / latency" : std::to_string(report.at("frames").get<int>()) + " frames";
  out += line("latency         %.3f ms = %s cycles at %.3f GHz; %.1f FPS (%s)",
              1e3 * report.at("latency_s").get<double>(), grouped(report.at("cycles").get<std::int64_t>()).c_str(),
              report.at("clock_hz").get<double>() / 1e9, report.at("fps").get<double>(), frame_note.c_str());
  out += line("MACs            useful %s", grouped(report.at("macs").at("useful").get<std::int64_t>()).c_str());
  if (!report.contains("units")) return out;  // an estimate ends here
  out += line("predicted       %s cycles", grouped(report.at("predicted").at("cycles").get<std::int64_t>()).c_str());
  out += unit_rows(report);
  out += byte_rows(report);
  out += boundaries(report);
  out += dearest_layers(report);
  if (report.contains("compare")) {
    for (const auto& [name, c] : report.at("compare").items()) {
      out +=
          line("compare         %s: %s (%s elements)", name.c_str(), c.at("equal").get<bool>() ? "equal" : "DIFFERENT",
               grouped(c.at("elements").get<std::int64_t>()).c_str());
    }
  }
  return out;
}

namespace {

/// Sum of a layer stall map over the layers of one group.
std::map<std::string, std::int64_t> group_stalls(const json& report, const std::string& group) {
  std::map<std::string, std::int64_t> sum;
  std::vector<std::string> names;
  for (const json& g : report.at("groups")) {
    if (g.at("name") == group) names = g.at("layers").get<std::vector<std::string>>();
  }
  for (const json& layer : report.at("layers")) {
    if (std::find(names.begin(), names.end(), layer.at("name").get<std::string>()) == names.end()) continue;
    for (const auto& [cause, n] : layer.at("stall").items()) sum[cause] += n.get<std::int64_t>();
    for (const auto& [unit, n] : layer.at("busy").items()) sum["busy " + unit] += n.get<std::int64_t>();
  }
  return sum;
}

/// The busy or stall entry that changed most, as the cause of a difference.
std::string cause_of_difference(const json& a, const json& b, const std::string& group) {
  const auto before = group_stalls(a, group);
  auto change = group_stalls(b, group);
  for (const auto& [cause, n] : before) change[cause] -= n;
  std::string cause = "equal";
  std::int64_t most = 0;
  for (const auto& [name, n] : change) {
    if (std::abs(n) > std::abs(most)) {
      most = n;
      cause = name + (n > 0 ? " +" : " ") + std::to_string(n);
    }
  }
  return cause;
}

}  // namespace

json diff_reports(const json& a, const json& b) {
  json out = {{"schema", "tessera.diff/1"},
              {"cycles", {a.at("cycles"), b.at("cycles")}},
              {"latency_s", {a.at("latency_s"), b.at("latency_s")}}};
  json groups = json::array();
  const auto find = [](const json& report, const std::string& name) -> const json* {
    for (const json& g : report.at("groups")) {
      if (g.at("name") == name) return &g;
    }
    return nullptr;
  };
  const auto span = [](const json* g) {
    return g ? g->at("end_cycle").get<std::int64_t>() - g->at("start_cycle").get<std::int64_t>() : 0;
  };
  const auto bytes = [](const json* g) {
    return g ? g->at("dram_read_bytes").get<std::int64_t>() + g->at("dram_write_bytes").get<std::int64_t>() : 0;
  };
  std::vector<std::string> names;
  for (const json* report : {&a, &b}) {
    for (const json& g : report->at("groups")) {
      const auto name = g.at("name").get<std::string>();
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  for (const std::string& name : names) {
    const json* ga = find(a, name);
    const json* gb = find(b, name);
    groups.push_back({{"name", name},
                      {"cycles", {span(ga), span(gb)}},
                      {"dram_bytes", {bytes(ga), bytes(gb)}},
                      {"cause", ga && gb ? cause_of_difference(a, b, name) : (ga ? "only in A" : "only in B")}});
  }
  out["groups"] = groups;
  return out;
}

std::string diff_text(const json& diff) {
  const auto pair = [](const json& p, std::size_t i) { return p.at(i).get<std::int64_t>(); };
  std::string out = line("cycles %s -> %s (%+.2f %%)", grouped(pair(diff.at("cycles"), 0)).c_str(),
                         grouped(pair(diff.at("cycles"), 1)).c_str(),
                         100.0 * (static_cast<double>(pair(diff.at("cycles"), 1)) /
                                      std::max(1.0, static_cast<double>(pair(diff.at("cycles"), 0))) -
                                  1.0));
  out +=
      line("%-38s %12s %12s %12s %14s  %s", "group", "cycles A", "cycles B", "B - A", "DRAM B - A", "largest change");
  for (const json& g : diff.at("groups")) {
    const std::int64_t delta = pair(g.at("cycles"), 1) - pair(g.at("cycles"), 0);
    const std::int64_t moved = pair(g.at("dram_bytes"), 1) - pair(g.at("dram_bytes"), 0);
    out += line("%-38s %12s %12s %12s %14s  %s", clipped(g.at("name").get<std::string>(), 38).c_str(),
                grouped(pair(g.at("cycles"), 0)).c_str(), grouped(pair(g.at("cycles"), 1)).c_str(),
                grouped(delta).c_str(), grouped(moved).c_str(), g.at("cause").get<std::string>().c_str());
  }
  return out;
}

}  // namespace tessera::runtime
