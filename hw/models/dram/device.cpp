#include "hw/models/dram/device.hpp"

#include <algorithm>

#include "hw/common/error.hpp"

namespace tessera::dram {

namespace {

struct TimingName {
  const char* name;
  DramClocks Timings::*member;
};
constexpr TimingName kTimings[] = {
    {"RL", &Timings::RL},       {"WL", &Timings::WL},           {"BL", &Timings::BL},
    {"RCD", &Timings::RCD},     {"RP", &Timings::RP},           {"RPab", &Timings::RPab},
    {"RAS", &Timings::RAS},     {"RC", &Timings::RC},           {"CCD_S", &Timings::CCD_S},
    {"CCD_L", &Timings::CCD_L}, {"RRD_S", &Timings::RRD_S},     {"RRD_L", &Timings::RRD_L},
    {"FAW", &Timings::FAW},     {"WTR_S", &Timings::WTR_S},     {"WTR_L", &Timings::WTR_L},
    {"RTP", &Timings::RTP},     {"WR", &Timings::WR},           {"RFC", &Timings::RFC},
    {"REFI", &Timings::REFI},   {"PPD", &Timings::PPD},         {"RTW_gap", &Timings::RTW_gap},
    {"RFCpb", &Timings::RFCpb}, {"PBR2PBR", &Timings::PBR2PBR}, {"PBR2ACT", &Timings::PBR2ACT},
    {"AAD", &Timings::AAD},     {"WCKPST", &Timings::WCKPST},   {"RTRS", &Timings::RTRS}};

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

Device with_channel_bits(Device device, int bits) {
  const Bytes bytes = device.burst_bytes * bits / device.channel_bits;
  if (bits <= 0 || bytes * device.channel_bits != device.burst_bytes * bits || bytes < 8 || bytes > 64 ||
      (bytes & (bytes - 1)) != 0) {
    user_error("dram.channel_bits = ", bits, ": expected a width at which a burst of ", device.name,
               " holds 8, 16, 32 or 64 bytes (", device.burst_bytes, " at ", device.channel_bits, " bits)");
  }
  device.burst_bytes = bytes;
  device.power.chips = std::max(1, device.power.chips * bits / device.channel_bits);
  device.channel_bits = bits;
  return device;
}

void set_timing(Device& device, const std::string& name, DramClocks value) {
  if (value < 0) user_error("dram.timings.", name, " = ", value, ": expected a number of clocks, at least 0");
  device.t.*find_timing(name) = value;
}

void check_timings(const Device& device) {
  const Timings& t = device.t;
  const auto at_least = [](const char* name, DramClocks value, const char* what, DramClocks least) {
    if (value < least) user_error("dram.timings.", name, " = ", value, ": expected at least ", least, " (", what, ")");
  };
  at_least("BL", t.BL, "a burst takes time", 1);
  at_least("CCD_S", t.CCD_S, "BL: bursts must not overlap", t.BL);
  at_least("CCD_L", t.CCD_L, "BL: bursts must not overlap", t.BL);
  at_least("RTP", t.RTP, "a column command is over before the precharge", 1);
  at_least("REFI", t.REFI, "precharge and refresh must fit in", 2 * (t.RFC + t.RPab + t.RC));
  if (device.wck()) at_least("RCD", t.RCD, "AAD + 1: ACT-2 comes first", t.AAD + 1);
  if (t.RL + t.BL + t.RTW_gap < t.WL) {
    user_error("dram.timings.WL = ", t.WL, ": expected at most RL + BL + RTW_gap = ", t.RL + t.BL + t.RTW_gap);
  }
  if (device.banks_per_refresh > 0) {
    const DramClocks groups = device.banks() / device.banks_per_refresh;
    at_least("REFI", t.REFI, "per-bank refreshes must fit in", 2 * groups * t.PBR2PBR);
  }
}

DramClocks get_timing(const Device& device, const std::string& name) { return device.t.*find_timing(name); }

std::vector<std::string> timing_names() {
  std::vector<std::string> names;
  for (const TimingName& timing : kTimings) names.emplace_back(timing.name);
  return names;
}

}  // namespace tessera::dram
