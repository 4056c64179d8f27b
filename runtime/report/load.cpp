// Reads a report and checks what the table, the page and the difference take from it, so that they need no checks.
#include <nlohmann/json.hpp>

#include "hw/common/error.hpp"
#include "hw/common/file.hpp"
#include "runtime/report/report.hpp"

namespace tessera::runtime {
namespace {

using nlohmann::json;

/// One value of the report with its place in it.
class Place {
 public:
  Place(const std::string& file, std::string pointer, const json& value)
      : file_(file), pointer_(std::move(pointer)), value_(value) {}

  [[nodiscard]] Place at(const std::string& key) const {
    if (!value_.is_object()) fail("expected an object");
    const auto found = value_.find(key);
    if (found == value_.end()) user_error(file_, ": ", pointer_, "/", key, " is missing: not a whole run report");
    return {file_, pointer_ + "/" + key, *found};
  }
  void number() const {
    if (!value_.is_number()) fail("expected a number");
  }
  void integer() const {
    if (!value_.is_number_integer()) fail("expected an integer");
  }
  void text() const {
    if (!value_.is_string()) fail("expected a text");
  }
  void truth() const {
    if (!value_.is_boolean()) fail("expected true or false");
  }
  [[nodiscard]] std::vector<Place> entries() const {
    if (!value_.is_array()) fail("expected a list");
    std::vector<Place> out;
    for (std::size_t i = 0; i < value_.size(); ++i) {
      out.emplace_back(file_, pointer_ + "/" + std::to_string(i), value_.at(i));
    }
    return out;
  }
  [[nodiscard]] std::vector<Place> members() const {
    if (!value_.is_object()) fail("expected an object");
    std::vector<Place> out;
    for (const auto& [key, value] : value_.items()) out.emplace_back(file_, pointer_ + "/" + key, value);
    return out;
  }
  void counts() const {
    for (const Place& count : members()) count.integer();
  }

 private:
  [[noreturn]] void fail(const char* expected) const {
    std::string found = value_.dump(-1, ' ', false, json::error_handler_t::replace);
    if (found.size() > 40) found = found.substr(0, 40) + "...";
    user_error(file_, ": ", pointer_, " = ", found, ": ", expected);
  }

  const std::string& file_;
  std::string pointer_;
  const json& value_;
};

void check_head(const Place& report) {
  for (const char* key : {"clock_hz", "latency_s", "fps"}) report.at(key).number();
  for (const char* key : {"cycles", "frames"}) report.at(key).integer();
  for (const char* key : {"schedule", "backend"}) report.at(key).text();
  report.at("model").at("name").text();
  report.at("chip").at("name").text();
  report.at("macs").at("useful").integer();
}

void check_run(const Place& report) {
  report.at("predicted").at("cycles").integer();
  for (const Place& unit : report.at("units").members()) {
    unit.at("busy").integer();
    unit.at("idle").integer();
    unit.at("stall").counts();
  }
  for (const Place& share : report.at("utilization").members()) share.number();
  const Place dram = report.at("dram");
  for (const char* key : {"read_bytes", "write_bytes", "compulsory_read_bytes", "compulsory_write_bytes"}) {
    dram.at(key).integer();
  }
  for (const char* key : {"peak_bytes_per_s", "achieved_bytes_per_s"}) dram.at(key).number();
  dram.at("by_kind").counts();
  for (const Place& layer : report.at("layers").entries()) {
    layer.at("name").text();
    layer.at("stall").counts();
    layer.at("busy").counts();
  }
  for (const Place& group : report.at("groups").entries()) {
    group.at("name").text();
    for (const char* key : {"start_cycle", "end_cycle", "dram_read_bytes", "dram_write_bytes"}) group.at(key).integer();
    for (const Place& layer : group.at("layers").entries()) layer.text();
  }
}

}  // namespace

json load_report(const std::string& path) {
  json report;
  try {
    report = json::parse(read_file(path));
  } catch (const json::parse_error& error) {
    user_error(path, ": not JSON (byte ", error.byte, "): expected a run report of schema tessera.run/1");
  }
  const auto schema = report.is_object() ? report.find("schema") : report.end();
  if (schema == report.end() || *schema != "tessera.run/1") {
    user_error(path, ": /schema: expected \"tessera.run/1\", the report of `tessera run --report`");
  }
  const Place root(path, "", report);
  check_head(root);
  if (report.at("backend") != "estimate") check_run(root);
  if (report.contains("compare")) {
    for (const Place& oracle : root.at("compare").members()) {
      oracle.at("equal").truth();
      oracle.at("elements").integer();
    }
  }
  return report;
}

}  // namespace tessera::runtime
