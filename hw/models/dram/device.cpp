#include "hw/models/dram/device.hpp"

#include "hw/common/error.hpp"

namespace tessera::dram {

namespace {

struct TimingName {
  const char* name;
  DramClocks Timings::*member;
};
constexpr TimingName kTimings[] = {
    {"RL", &Timings::RL},          {"WL", &Timings::WL},       {"BL", &Timings::BL},       {"RCD", &Timings::RCD},
    {"RP", &Timings::RP},          {"RPab", &Timings::RPab},   {"RAS", &Timings::RAS},     {"RC", &Timings::RC},
    {"CCD_S", &Timings::CCD_S},    {"CCD_L", &Timings::CCD_L}, {"RRD_S", &Timings::RRD_S}, {"RRD_L", &Timings::RRD_L},
    {"FAW", &Timings::FAW},        {"WTR_S", &Timings::WTR_S}, {"WTR_L", &Timings::WTR_L}, {"RTP", &Timings::RTP},
    {"WR", &Timings::WR},          {"RFC", &Timings::RFC},     {"REFI", &Timings::REFI},   {"PPD", &Timings::PPD},
    {"RTW_gap", &Timings::RTW_gap}};

DramClocks Timings::*find_timing(const std::string& name) {
  std::string legal;
  for (const TimingName& timing : kTimings) {
    if (timing.name == name) return timing.member;
    legal += (legal.empty() ? "" : ", ") + std::string(timing.name);
  }
  user_error("dram.timings.", name, ": unknown; expected one of ", legal);
}

}  // namespace

const Device& find_device(const std::string& name) {
  std::string legal;
  for (const Device& device : devices()) {
    if (device.name == name) return device;
    legal += (legal.empty() ? "" : ", ") + device.name;
  }
  user_error("dram.device = \"", name, "\": expected one of ", legal);
}

void set_timing(Device& device, const std::string& name, DramClocks value) {
  if (value < 0) user_error("dram.timings.", name, " = ", value, ": expected a number of clocks, at least 0");
  device.t.*find_timing(name) = value;
}

DramClocks get_timing(const Device& device, const std::string& name) { return device.t.*find_timing(name); }

std::vector<std::string> timing_names() {
  std::vector<std::string> names;
  for (const TimingName& timing : kTimings) names.emplace_back(timing.name);
  return names;
}

}  // namespace tessera::dram
