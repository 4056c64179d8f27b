// One self-contained page for one or more reports: a unit bar (busy, stalls, idle), traffic by kind, groups in time.
#include <algorithm>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "runtime/report/report.hpp"

namespace tessera::runtime {
namespace {

using nlohmann::json;

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f%%", 100.0 * share);
  return text;
}

/// A hue per stall family, so that the same cause has the same colour in every bar.
const char* colour(const std::string& cause) {
  if (cause == "busy") return "#2a7f62";
  if (cause == "idle") return "#e4e4e4";
  if (cause.rfind("semaphore", 0) == 0) return "#8aa5c9";
  if (cause.rfind("dram", 0) == 0) return "#d98c3f";
  if (cause.rfind("sram", 0) == 0) return "#c2453d";
  return "#9a86b8";
}

std::string unit_bars(const json& report) {
  const double cycles = std::max(1.0, report.at("cycles").get<double>());
  std::string out = "<table>";
  for (const auto& [name, unit] : report.at("units").items()) {
    std::vector<std::pair<std::string, double>> parts = {{"busy", unit.at("busy").get<double>()}};
    for (const auto& [cause, n] : unit.at("stall").items()) parts.emplace_back(cause, n.get<double>());
    parts.emplace_back("idle", unit.at("idle").get<double>());
    out += "<tr><th>" + escaped(name) + "</th><td class=bar>";
    for (const auto& [cause, n] : parts) {
      if (n <= 0) continue;
      out += "<span style=\"width:" + percent(n / cycles) + ";background:" + colour(cause) + "\" title=\"" +
             escaped(cause) + ": " + std::to_string(static_cast<std::int64_t>(n)) + " cycles, " + percent(n / cycles) +
             "\"></span>";
    }
    out += "</td></tr>";
  }
  return out + "</table>";
}

std::string group_rows(const json& report) {
  const double cycles = std::max(1.0, report.at("cycles").get<double>());
  std::string out = "<table><tr><th>group</th><th>cycles</th><th>share</th><th>DRAM bytes</th><th>when</th></tr>";
  for (const json& g : report.at("groups")) {
    const double begin = g.at("start_cycle").get<double>();
    const double span = g.at("end_cycle").get<double>() - begin;
    out += "<tr><td>" + escaped(g.at("name").get<std::string>()) + "</td><td class=n>" +
           std::to_string(static_cast<std::int64_t>(span)) + "</td><td class=n>" + percent(span / cycles) +
           "</td><td class=n>" +
           std::to_string(g.at("dram_read_bytes").get<std::int64_t>() + g.at("dram_write_bytes").get<std::int64_t>()) +
           "</td><td class=bar><span style=\"width:" + percent(begin / cycles) +
           "\"></span><span style=\"width:" + percent(span / cycles) + ";background:#2a7f62\"></span></td></tr>";
  }
  return out + "</table>";
}

std::string traffic_rows(const json& report) {
  std::string out = "<table><tr><th>kind</th><th>bytes</th></tr>";
  for (const auto& [kind, bytes] : report.at("dram").at("by_kind").items()) {
    out += "<tr><td>" + escaped(kind) + "</td><td class=n>" + std::to_string(bytes.get<std::int64_t>()) + "</td></tr>";
  }
  return out + "</table>";
}

}  // namespace

std::string html_page(const std::vector<json>& reports) {
  std::string out =
      "<!doctype html><html><head><meta charset=utf-8><title>Tessera report</title><style>"
      "body{font:14px/1.45 system-ui,sans-serif;max-width:1100px;margin:2em auto;color:#222}"
      "pre{background:#f6f6f4;padding:1em;overflow:auto}table{border-collapse:collapse;width:100%}"
      "th{text-align:left;font-weight:600;padding:2px 8px 2px 0}td{padding:2px 8px 2px 0}.n{text-align:right}"
      ".bar{width:60%;white-space:nowrap;font-size:0}.bar span{display:inline-block;height:14px}</style></head><body>";
  for (const json& report : reports) {
    out += "<h1>" + escaped(report.at("model").at("name").get<std::string>()) + " on " +
           escaped(report.at("chip").value("name", std::string("?"))) + "</h1><pre>" + escaped(summary_text(report)) +
           "</pre>";
    if (!report.contains("units")) continue;
    out += "<h2>Where each unit's cycles went</h2>" + unit_bars(report) + "<h2>DRAM traffic</h2>" +
           traffic_rows(report) + "<h2>Groups in time</h2>" + group_rows(report);
  }
  return out + "</body></html>\n";
}

}  // namespace tessera::runtime
