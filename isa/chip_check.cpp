// Rules between the keys of a chip file. Each message begins with the key, what was found, and what is legal.
#include <algorithm>
#include <limits>

#include "hw/common/error.hpp"
#include "isa/chip.hpp"
#include "isa/dram_devices.hpp"

namespace tessera::isa {
namespace {

class Rules {
 public:
  explicit Rules(const ChipConfig& chip) : chip_(chip) {}

  std::vector<std::string> all() {
    layout();
    convolution();
    gemm_and_edp();
    sram();
    bus();
    dram();
    cache_and_traffic();
    return errors_;
  }

 private:
  template <typename... Parts>
  void require(bool holds, const Parts&... parts) {
    if (!holds) {
      errors_.push_back(tessera::detail::concat(parts...));
    }
  }

  static bool power_of_two(std::int64_t value) { return value > 0 && (value & (value - 1)) == 0; }

  void multiple(const char* key, std::int64_t value, const char* of_key, std::int64_t of) {
    require(value % of == 0, key, " = ", value, ": expected a multiple of ", of_key, " = ", of);
  }

  void layout() {
    multiple("sram.line_bytes", chip_.sram.line_bytes, "layout.channel_block", chip_.layout.channel_block);
    multiple("conv.cin_lanes", chip_.conv.cin_lanes, "layout.channel_block", chip_.layout.channel_block);
    multiple("conv.cout_lanes", chip_.conv.cout_lanes, "layout.channel_block", chip_.layout.channel_block);
  }

  void convolution() {
    const auto& conv = chip_.conv;
    require(!conv.pixel_shapes.empty() && conv.pixel_shapes.size() <= 4, "conv.pixel_shapes has ",
            conv.pixel_shapes.size(), " entries: expected 1 to 4 (the instruction's field has 2 bits)");
    const std::int64_t line_pixels = chip_.sram.line_bytes / chip_.layout.channel_block;
    for (const PixelShape& shape : conv.pixel_shapes) {
      require(shape.px * shape.py == conv.pixel_lanes, "conv.pixel_shapes: ", shape.px, "x", shape.py, " makes ",
              shape.px * shape.py, " lanes: expected a product of conv.pixel_lanes = ", conv.pixel_lanes);
      require(shape.px % line_pixels == 0, "conv.pixel_shapes: ", shape.px, "x", shape.py,
              ": expected columns in multiples of the ", line_pixels,
              " pixels of a line (sram.line_bytes / layout.channel_block)");
    }
    // One pixel of every lane, all input lanes: less and no step has its operands in the window.
    const std::int64_t smallest = std::max(chip_.sram.line_bytes, conv.pixel_lanes * conv.cin_lanes);
    require(conv.window_bytes >= smallest, "conv.window_bytes = ", conv.window_bytes, ": expected at least ", smallest,
            " (conv.pixel_lanes x conv.cin_lanes, and one line)");
  }

  void gemm_and_edp() {
    require(chip_.gemm.rows <= chip_.sram.line_bytes, "gemm.rows = ", chip_.gemm.rows,
            ": expected at most sram.line_bytes = ", chip_.sram.line_bytes, " (a line feeds the rows of the array)");
    require(chip_.gemm.cols <= chip_.sram.line_bytes, "gemm.cols = ", chip_.gemm.cols,
            ": expected at most sram.line_bytes = ", chip_.sram.line_bytes, " (a row of results is a line)");
    require(chip_.edp.lanes <= chip_.sram.line_bytes, "edp.lanes = ", chip_.edp.lanes,
            ": expected at most sram.line_bytes = ", chip_.sram.line_bytes, " (ports are one line wide)");
  }

  void sram() {
    multiple("sram.size_bytes", chip_.sram.size_bytes, "sram.line_bytes", chip_.sram.line_bytes);
    require(chip_.sram.size_bytes <= std::numeric_limits<std::uint32_t>::max() / chip_.sram.banks,
            "sram.size_bytes = ", chip_.sram.size_bytes, ": expected sram.banks = ", chip_.sram.banks,
            " of them to fit 32-bit SRAM addresses");
  }

  void bus() {
    const auto& axi = chip_.axi;
    require(power_of_two(axi.data_bytes), "axi.data_bytes = ", axi.data_bytes, ": expected a power of two");
    const std::int64_t burst = axi.data_bytes * axi.max_burst_beats;
    require(burst <= 4096, "axi.max_burst_beats = ", axi.max_burst_beats, ": expected at most ", 4096 / axi.data_bytes,
            " beats of axi.data_bytes = ", axi.data_bytes, " (a burst never crosses 4 KiB)");
    require(power_of_two(axi.max_burst_beats), "axi.max_burst_beats = ", axi.max_burst_beats,
            ": expected a power of two, so that bursts stay aligned");
    require(chip_.load.landing_bytes >= burst, "load.landing_bytes = ", chip_.load.landing_bytes,
            ": expected at least one burst of ", burst, " bytes (space is reserved before AR)");
    require(chip_.store.buffer_bytes >= burst, "store.buffer_bytes = ", chip_.store.buffer_bytes,
            ": expected at least one burst of ", burst, " bytes (a burst is whole before AW)");
    const auto& cp = chip_.cp;
    require(cp.fetch_words * 64 <= std::min<std::int64_t>(4096, 256 * axi.data_bytes),
            "cp.fetch_words = ", cp.fetch_words, ": expected at most ", std::min<std::int64_t>(64, 4 * axi.data_bytes),
            " words (256 beats, 4 KiB)");
    require(cp.fetch_words <= cp.prefetch_words, "cp.fetch_words = ", cp.fetch_words,
            ": expected at most cp.prefetch_words = ", cp.prefetch_words, " (words land in the prefetch buffer)");
  }

  void dram() {
    const auto& dram = chip_.dram;
    require(power_of_two(dram.interleave_bytes), "dram.interleave_bytes = ", dram.interleave_bytes,
            ": expected a power of two");
    require(power_of_two(dram.channels), "dram.channels = ", dram.channels, ": expected a power of two");
    const DramDevice* device = find_dram_device(dram.device);
    if (device != nullptr) {
      require(dram.tck_fs == device->tck_fs, "dram.tck_fs = ", dram.tck_fs, ": ", dram.device, " runs at ",
              device->tck_fs, " fs (", device->transfers_per_clock, " transfers a clock)");
    }
    int burst_bits = device != nullptr ? device->burst_bits : -1;
    if (device != nullptr && dram.channel_bits != 0) {
      std::int64_t burst_bytes = (std::int64_t{1} << burst_bits) * dram.channel_bits / device->channel_bits;
      require(power_of_two(dram.channel_bits) && burst_bytes >= 8 && burst_bytes <= 64,
              "dram.channel_bits = ", dram.channel_bits, ": expected 0 or a power of two in [",
              std::max(8, device->channel_bits >> (burst_bits - 3)), ", ", device->channel_bits << (6 - burst_bits),
              "] for ", dram.device, " (a burst holds 8 to 64 bytes)");
      for (burst_bits = 0; burst_bytes > 1; burst_bytes /= 2) {
        ++burst_bits;
      }
    }
    for (const auto& [name, clocks] : dram.timings) {
      std::string legal;
      for (const std::string_view known : kDramTimings) {
        legal += (legal.empty() ? "" : ", ") + std::string(known);
      }
      require(std::find(kDramTimings.begin(), kDramTimings.end(), name) != kDramTimings.end(), "dram.timings.", name,
              " = ", clocks, ": unknown; expected one of ", legal);
    }
    if (dram.address_map.compare(0, 3, "map") == 0) {  // no map of the device: chip_load resolves those
      if (device == nullptr) {
        return;
      }
      std::string legal;
      for (std::size_t i = 0; i < device->maps.size(); ++i) {
        if (!device->maps[i].empty()) {
          legal += (legal.empty() ? "map" : ", map") + std::string(1, static_cast<char>('A' + i));
        }
      }
      errors_.push_back("dram.address_map = \"" + dram.address_map + "\": " + dram.device + " has " + legal +
                        "; or give fields, e.g. off:5,co:6,ba:3,ro:16");
      return;
    }
    address_map(burst_bits);
  }

  void cache_and_traffic() {
    const auto& cache = chip_.cache;
    require(power_of_two(cache.line_bytes), "cache.line_bytes = ", cache.line_bytes, ": expected a power of two");
    require(power_of_two(cache.banks), "cache.banks = ", cache.banks, ": expected a power of two");
    if (cache.size_bytes > 0) {
      const std::int64_t way = cache.ways * cache.line_bytes;
      const bool whole = cache.size_bytes % way == 0;
      require(whole && cache.size_bytes / way % cache.banks == 0, "cache.size_bytes = ", cache.size_bytes,
              ": expected a multiple of cache.ways x cache.line_bytes x cache.banks = ", way * cache.banks);
      require(chip_.dram.device != "fixed", "cache.size_bytes = ", cache.size_bytes,
              ": the fixed test memory has no cache in front; expected 0 or a DRAM device");
    }
    const auto& traffic = chip_.traffic;
    require(traffic.cpu_span_bytes <= chip_.dram.size_bytes, "traffic.cpu_span_bytes = ", traffic.cpu_span_bytes,
            ": expected at most dram.size_bytes = ", chip_.dram.size_bytes);
    require(traffic.camera_bytes <= chip_.dram.size_bytes, "traffic.camera_bytes = ", traffic.camera_bytes,
            ": expected at most dram.size_bytes = ", chip_.dram.size_bytes);
    require((traffic.camera_bytes == 0 && traffic.cpu_bytes_per_s == 0) || chip_.dram.device != "fixed",
            "traffic: the fixed test memory takes no background traffic; expected a DRAM device");
  }

  void address_map(int burst_bits) {
    const std::string& map = chip_.dram.address_map;
    const std::string expected =
        ": expected name:bits from the least significant bit, separated by commas, names off, bg, co, ba, ro, ra";
    int total = 0;
    int fields = 0;
    bool has_row = false;
    bool has_column = false;
    int rank_bits = 0;
    for (std::size_t at = 0; at <= map.size();) {
      const std::size_t comma = std::min(map.find(',', at), map.size());
      const std::string field = map.substr(at, comma - at);
      at = comma + 1;
      const std::size_t colon = field.find(':');
      const std::string name = field.substr(0, colon);
      const std::string bits = colon == std::string::npos ? "" : field.substr(colon + 1);
      const bool known = name == "off" || name == "bg" || name == "co" || name == "ba" || name == "ro" || name == "ra";
      const bool number =
          !bits.empty() && bits.size() <= 2 && bits.find_first_not_of("0123456789") == std::string::npos;
      if (!known || !number || std::stoi(bits) < 1) {
        errors_.push_back("dram.address_map = \"" + map + "\": \"" + field + "\" is no field" + expected);
        return;
      }
      if ((name == "off") != (fields == 0)) {
        errors_.push_back("dram.address_map = \"" + map + "\": off must come first, once" + expected);
        return;
      }
      if (name == "off") {
        require(burst_bits < 0 || std::stoi(bits) == burst_bits, "dram.address_map = \"", map, "\": off has ", bits,
                " bits: expected ", burst_bits, ", a burst of ", chip_.dram.device);
      }
      has_row = has_row || name == "ro";
      has_column = has_column || name == "co";
      rank_bits += name == "ra" ? std::stoi(bits) : 0;
      total += std::stoi(bits);
      ++fields;
    }
    require(has_row && has_column, "dram.address_map = \"", map, "\": co and ro are needed", expected);
    require((std::int64_t{1} << std::min(rank_bits, 8)) == chip_.dram.ranks, "dram.address_map = \"", map,
            "\": ra has ", rank_bits, " bits: expected what dram.ranks = ", chip_.dram.ranks, " needs");
    if (total > 40) {
      errors_.push_back(
          tessera::detail::concat("dram.address_map = \"", map, "\": ", total, " bits: expected at most 40"));
      return;
    }
    if (burst_bits >= 0) {
      std::int64_t capacity = (std::int64_t{1} << total) * chip_.dram.channels;
      if (chip_.dram.ecc == DramEcc::in_band) capacity -= capacity / 8;
      require(chip_.dram.size_bytes <= capacity, "dram.size_bytes = ", chip_.dram.size_bytes, ": expected at most ",
              capacity, ", what ", chip_.dram.channels, " channels of ", total, " address bits hold");
    }
  }

  const ChipConfig& chip_;
  std::vector<std::string> errors_;
};

}  // namespace

std::vector<std::string> check_chip(const ChipConfig& chip) { return Rules(chip).all(); }

}  // namespace tessera::isa
