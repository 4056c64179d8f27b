// What a chip file must know of each DRAM device it can name: clock, burst, natural address map. Timing parameters live
// with the controller (hw/models/dram). Clocks follow from the data rate in the name (JESD209-4, JESD209-5, JESD79-4).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tessera::isa {

struct DramDevice {
  std::string_view name;
  std::int64_t tck_fs;  ///< period of the command clock
  int transfers_per_clock;
  int burst_bits;  ///< log2 of the bytes of one burst on one channel
  std::string_view address_map;
};

inline constexpr std::array<DramDevice, 4> kDramDevices{{
    {"LPDDR4-3200", 625000, 2, 5, "off:5,co:6,ba:3,ro:16"},
    {"LPDDR4-4266", 468750, 2, 5, "off:5,co:6,ba:3,ro:16"},
    {"LPDDR5-6400", 1250000, 8, 5, "off:5,bg:2,co:6,ba:2,ro:15"},
    {"DDR4-3200", 625000, 2, 6, "off:6,bg:2,co:7,ba:2,ro:16"},
}};

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
