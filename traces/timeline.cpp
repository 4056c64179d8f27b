#include "traces/timeline.hpp"

#include <algorithm>
#include <cstdio>
#include <map>

#include <nlohmann/json.hpp>

#include "hw/common/error.hpp"
#include "hw/common/file.hpp"

namespace tessera::traces {
namespace {

/// Chrome's unit is the microsecond; six decimals keep picoseconds, so a cycle of any clock stays distinct.
std::string microseconds(Cycles cycles, std::int64_t clock_hz) {
  char text[64];
  std::snprintf(text, sizeof text, "%.6f", static_cast<double>(cycles) * 1e6 / static_cast<double>(clock_hz));
  return text;
}

std::string quoted(const std::string& text) { return nlohmann::json(text).dump(); }

void check_no_overlap(const std::vector<Slice>& slices) {
  std::map<std::pair<int, int>, std::vector<const Slice*>> threads;
  for (const Slice& slice : slices) {
    threads[{slice.process, slice.thread}].push_back(&slice);
  }
  for (auto& [id, list] : threads) {
    std::stable_sort(list.begin(), list.end(), [](const Slice* a, const Slice* b) { return a->begin < b->begin; });
    for (std::size_t i = 1; i < list.size(); ++i) {
      TESSERA_CHECK(list[i]->begin >= list[i - 1]->end, "slice '", list[i]->name, "' begins at ", list[i]->begin,
                    " before '", list[i - 1]->name, "' ends at ", list[i - 1]->end);
    }
  }
}

}  // namespace

void write_timeline(const Timeline& timeline, const std::filesystem::path& path) {
  check_no_overlap(timeline.slices);
  std::string out = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
  const char* separator = "";
  const auto event = [&](const std::string& text) {
    out += separator;
    out += text;
    separator = ",\n";
  };
  for (const auto& [id, name] : timeline.processes) {
    event("{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":" + std::to_string(id) +
          ",\"args\":{\"name\":" + quoted(name) + "}}");
  }
  for (const auto& [id, name] : timeline.threads) {
    const std::string place = "\"pid\":" + std::to_string(id.first) + ",\"tid\":" + std::to_string(id.second);
    event("{\"ph\":\"M\",\"name\":\"thread_name\"," + place + ",\"args\":{\"name\":" + quoted(name) + "}}");
    event("{\"ph\":\"M\",\"name\":\"thread_sort_index\"," + place +
          ",\"args\":{\"sort_index\":" + std::to_string(id.second) + "}}");
  }
  for (const Slice& s : timeline.slices) {
    std::string args;
    for (const auto& [key, value] : s.args) {
      args += (args.empty() ? "" : ",") + quoted(key) + ":" + quoted(value);
    }
    event("{\"ph\":\"X\",\"name\":" + quoted(s.name) + ",\"pid\":" + std::to_string(s.process) +
          ",\"tid\":" + std::to_string(s.thread) + ",\"ts\":" + microseconds(s.begin, timeline.clock_hz) +
          ",\"dur\":" + microseconds(s.end - s.begin, timeline.clock_hz) + ",\"args\":{" + args + "}}");
  }
  for (const CounterSample& c : timeline.counters) {
    char value[64];
    std::snprintf(value, sizeof value, "%.6g", c.value);
    event("{\"ph\":\"C\",\"name\":" + quoted(c.name) + ",\"pid\":" + std::to_string(c.process) +
          ",\"ts\":" + microseconds(c.time, timeline.clock_hz) + ",\"args\":{\"value\":" + value + "}}");
  }
  out += "\n]}\n";
  write_file(path, out);
}

}  // namespace tessera::traces
