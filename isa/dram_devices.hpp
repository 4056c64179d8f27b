// What a chip file must know of each DRAM device it can name: clock, width, burst, address maps, names of timings. The
// timings' values live with the controller (hw/models/dram). Clocks follow from the data rate in the name (JESD209-4,
// JESD209-5, JESD79-4).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tessera::isa {

struct DramDevice {
  std::string_view name;
  std::int64_t tck_fs;  ///< period of the command clock
  int transfers_per_clock;
  int channel_bits;
  int burst_bits;  ///< log2 of the bytes of one burst on one channel of that width
  /// mapA, mapB, mapC, from the least significant bit; empty where the device has no such map.
  std::array<std::string_view, 3> maps;
};

inline constexpr std::array<DramDevice, 5> kDramDevices{{
    {"LPDDR4-3200", 625000, 2, 16, 5, {"off:5,co:6,ba:3,ro:16", "", ""}},
    {"LPDDR4-4266", 468750, 2, 16, 5, {"off:5,co:6,ba:3,ro:16", "", ""}},
    {"LPDDR5-6400",
     1250000,
     8,
     16,
     5,
     {"off:5,bg:2,co:6,ba:2,ro:15", "off:5,co:6,bg:2,ba:2,ro:15", "off:5,co:1,bg:2,co:5,ba:2,ro:15"}},
    {"LPDDR5-6400-8B", 1250000, 8, 16, 6, {"off:6,co:6,ba:3,ro:15", "", ""}},
    {"DDR4-3200", 625000, 2, 64, 6, {"off:6,bg:2,co:7,ba:2,ro:16", "off:6,co:7,bg:2,ba:2,ro:16", ""}},
}};

/// Timings that dram.timings may override; JEDEC names without the leading t.
inline constexpr std::array<std::string_view, 27> kDramTimings{
    "RL",    "WL",    "BL",      "RCD",   "RP",      "RPab",    "RAS", "RC",     "CCD_S",
    "CCD_L", "RRD_S", "RRD_L",   "FAW",   "WTR_S",   "WTR_L",   "RTP", "WR",     "RFC",
    "REFI",  "PPD",   "RTW_gap", "RFCpb", "PBR2PBR", "PBR2ACT", "AAD", "WCKPST", "RTRS"};

/// Other spellings of a timing (as data sheets and other simulators write it), after the leading t is gone.
struct DramTimingAlias {
  std::string_view alias;
  std::string_view name;
};
inline constexpr std::array<DramTimingAlias, 9> kDramTimingAliases{{{"CL", "RL"},
                                                                    {"CWL", "WL"},
                                                                    {"BLc", "BL"},
                                                                    {"RPpb", "RP"},
                                                                    {"RCpb", "RC"},
                                                                    {"RFCab", "RFC"},
                                                                    {"RFC1", "RFC"},
                                                                    {"pbR2pbR", "PBR2PBR"},
                                                                    {"pbR2act", "PBR2ACT"}}};

/// tFAW -> FAW, tCL -> RL; an unknown name stays as it is.
[[nodiscard]] constexpr std::string_view timing_name(std::string_view given) {
  const std::string_view bare = given.size() > 1 && given.front() == 't' ? given.substr(1) : given;
  for (const DramTimingAlias& alias : kDramTimingAliases) {
    if (alias.alias == bare) {
      return alias.name;
    }
  }
  for (const std::string_view name : kDramTimings) {
    if (name == bare) {
      return name;
    }
  }
  return given;
}

/// nullptr for "fixed" and names that are none; quotes around the name do not matter.
[[nodiscard]] constexpr const DramDevice* find_dram_device(std::string_view name) {
  if (name.size() > 2 && name.front() == '"' && name.back() == '"') {
    name = name.substr(1, name.size() - 2);
  }
  for (const DramDevice& device : kDramDevices) {
    if (device.name == name) {
      return &device;
    }
  }
  return nullptr;
}

}  // namespace tessera::isa
