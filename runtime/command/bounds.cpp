#include "runtime/command/bounds.hpp"

#include <algorithm>
#include <cstdio>

#include <nlohmann/json.hpp>

namespace tessera::runtime {
namespace {

using compiler::LayerBound;
using compiler::NetworkBounds;
using nlohmann::json;

template <typename... Args>
std::string line(const char* format, Args... args) {
  char text[512];
  std::snprintf(text, sizeof text, format, args...);
  return std::string(text) + "\n";
}

json bytes_json(const compiler::CompulsoryBytes& bytes) {
  return {{"weights", bytes.weights},
          {"params", bytes.params},
          {"input", bytes.inputs},
          {"output", bytes.outputs},
          {"total", bytes.total()}};
}

json layer_json(const LayerBound& layer) {
  const compiler::Mapping& m = layer.mapping;
  return {{"name", layer.name},
          {"op", layer.op},
          {"unit", layer.unit},
          {"cycles", layer.unit == "host" ? layer.host_cycles : m.cycles},
          {"engine_cycles", m.engine_cycles},
          {"array_steps", m.steps},
          {"port_cycles", m.port_cycles},
          {"port_bytes",
           {{"activations", m.ports.activations},
            {"weights", m.ports.weights},
            {"residual", m.ports.residual},
            {"output", m.ports.output}}},
          {"limit", m.limit},
          {"mapping", m.text},
          {"compulsory_bytes", layer.bytes.weights + layer.bytes.params},
          {"stream_bytes", layer.stream_bytes}};
}

std::string layer_text(const LayerBound& layer) {
  const compiler::Mapping& m = layer.mapping;
  const Cycles cycles = layer.unit == "host" ? layer.host_cycles : m.cycles;
  return line("%-34.34s %-8s %10lld %10lld %12lld %12lld  %-7s %s", layer.name.c_str(), layer.unit.c_str(),
              static_cast<long long>(cycles), static_cast<long long>(m.port_cycles),
              static_cast<long long>(m.ports.total()), static_cast<long long>(layer.stream_bytes), m.limit.c_str(),
              m.text.c_str());
}

}  // namespace

json bounds_json(const NetworkBounds& bounds) {
  json work = json::object();
  for (std::size_t p = 0; p < compiler::kPools; ++p) {
    work[compiler::pool_name(static_cast<compiler::Pool>(p))] = bounds.work[p];
  }
  json layers = json::array();
  for (const LayerBound& layer : bounds.layers) layers.push_back(layer_json(layer));
  return {{"schema", "tessera.bounds/1"},
          {"batch", bounds.batch},
          {"compulsory_bytes", bytes_json(bounds.bytes)},
          {"stream",
           {{"bytes", bounds.stream_bytes},
            {"bytes_per_cycle", bounds.rate.bytes_per_cycle},
            {"sustained_bytes_per_cycle", bounds.rate.sustained()},
            {"refresh_interval_cycles", bounds.rate.refresh_interval},
            {"refresh_cycles", bounds.rate.refresh_cycles},
            {"cycles", bounds.stream_cycles}}},
          {"work_cycles", work},
          {"host_cycles", bounds.host_cycles},
          {"lookahead",
           {{"cycles", bounds.lookahead_cycles},
            {"limit", bounds.lookahead_limit},
            {"ideal_dram_cycles", bounds.lookahead_ideal_dram_cycles}}},
          {"layers", layers}};
}

std::string bounds_text(const NetworkBounds& b) {
  std::string out = line("bounds, batch %lld", static_cast<long long>(b.batch));
  out += line("compulsory bytes  %lld: weights %lld, params %lld, input %lld, output %lld",
              static_cast<long long>(b.bytes.total()), static_cast<long long>(b.bytes.weights),
              static_cast<long long>(b.bytes.params), static_cast<long long>(b.bytes.inputs),
              static_cast<long long>(b.bytes.outputs));
  out += line(
      "stream            %.3f bytes a cycle, %.3f less refresh (%.0f of %.0f cycles); %lld bytes as they lie: "
      "%lld cycles",
      b.rate.bytes_per_cycle, b.rate.sustained(), b.rate.refresh_cycles, b.rate.refresh_interval,
      static_cast<long long>(b.stream_bytes), static_cast<long long>(b.stream_cycles));
  out += "work              ";
  for (std::size_t p = 0; p < compiler::kPools; ++p) {
    out += std::string(p == 0 ? "" : ", ") + compiler::pool_name(static_cast<compiler::Pool>(p)) + " " +
           std::to_string(b.work[p]);
  }
  out += ", host " + std::to_string(b.host_cycles) + " cycles\n";
  out += line("lookahead bound   %lld cycles (%s); with --ideal dram %lld", static_cast<long long>(b.lookahead_cycles),
              b.lookahead_limit.c_str(), static_cast<long long>(b.lookahead_ideal_dram_cycles));
  out += line("%-34s %-8s %10s %10s %12s %12s  %-7s %s", "layer", "unit", "cycles", "port", "port bytes",
              "stream bytes", "limit", "best mapping");
  for (const LayerBound& layer : b.layers) out += layer_text(layer);
  return out;
}

}  // namespace tessera::runtime
