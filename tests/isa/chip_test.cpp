// Chip files: the named chips, strict reading, --set, rules between keys, fingerprints.
#include "isa/chip.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>

#include <gtest/gtest.h>

#include "hw/common/error.hpp"
#include "isa/dram_devices.hpp"

namespace tessera::isa {
namespace {

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const UserError& e) {
    return e.what();
  }
  return "no error";
}

std::string set_message(const std::string& chip, const std::vector<std::string>& sets) {
  return message_of([&] { static_cast<void>(load_chip(chip, sets)); });
}

TEST(Chip, TheNamedChipsAreThoseOfTheMachineContract) {
  std::vector<std::string> names;
  for (const BuiltinChip& chip : builtin_chips()) {
    names.emplace_back(chip.name);
    EXPECT_EQ(load_chip(chip.name).name, chip.name);
    EXPECT_GT(load_chip(chip.name).source.size(), 100U) << "say what is published and what is assumed";
  }
  EXPECT_EQ(names, (std::vector<std::string>{"a1000", "j5", "micro", "tiny"}));

  const ChipConfig a1000 = load_chip("a1000");
  EXPECT_EQ(a1000.conv.engines, 2);
  EXPECT_EQ(a1000.conv.pixel_shapes, (std::vector<PixelShape>{{12, 1}, {4, 3}}));
  EXPECT_EQ(a1000.sram.banks * a1000.sram.size_bytes, 8 << 20);
  EXPECT_EQ(a1000.sram.line_bytes / a1000.layout.channel_block, 4);
  // 2 x 32 x 32 x 12 MACs of convolution and 64 x 64 of GEMM, two operations each, at 1 GHz
  const std::int64_t macs = a1000.conv.engines * a1000.conv.cin_lanes * a1000.conv.cout_lanes * a1000.conv.pixel_lanes +
                            a1000.gemm.rows * a1000.gemm.cols;
  EXPECT_EQ(macs * 2 * a1000.clock_hz / 1000000000000, 57);

  const ChipConfig j5 = load_chip("j5");
  EXPECT_EQ(j5.cores, 2);
  EXPECT_EQ(j5.dram.channels, 8);
  EXPECT_EQ(j5.align.reduction, 256);
  EXPECT_EQ(load_chip("micro").dram.device, "fixed");
  EXPECT_EQ(load_chip("tiny").sram.line_bytes, 8);
}

TEST(Chip, ResolvedTextReadsBackEqual) {
  for (const BuiltinChip& builtin : builtin_chips()) {
    const ChipConfig chip = load_chip(builtin.name, {"clock_hz=900000000"});
    const ChipConfig again = load_chip_text(chip_json(chip), "resolved.json");
    EXPECT_EQ(chip_json(again), chip_json(chip));
    EXPECT_EQ(arch_hash(again), arch_hash(chip));
    EXPECT_EQ(timing_hash(again), timing_hash(chip));
    EXPECT_EQ(again.clock_hz, 900000000);
  }
}

TEST(Chip, AFileIsReadByPath) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "chip_by_path.json";
  std::ofstream(path) << chip_json(load_chip("tiny", {"name=mine"}));
  EXPECT_EQ(load_chip(path.string()).name, "mine");
  std::filesystem::remove(path);
  EXPECT_EQ(set_message("nochip", {}),
            "chip 'nochip': neither a built-in chip (a1000, j5, micro, tiny) nor a file; give a name or a path");
}

TEST(Chip, TagsDecideWhichFingerprintMoves) {
  const ChipConfig base = load_chip("a1000");
  for (const KeyInfo& key : chip_keys()) {
    if (key.type != KeyType::uint) {
      continue;
    }
    ChipConfig other = base;
    for_each_key(other, [&](const KeyInfo& k, auto& value) {
      if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::int64_t>) {
        if (k.path == key.path) {
          ++value;
        }
      }
    });
    EXPECT_EQ(arch_hash(other) != arch_hash(base), key.tag == KeyTag::arch) << key.path;
    EXPECT_EQ(timing_hash(other) != timing_hash(base), key.tag == KeyTag::timing) << key.path;
  }
  const ChipConfig renamed = load_chip("a1000", {"name=x", "source=y"});
  EXPECT_EQ(timing_hash(renamed), timing_hash(base)) << "labels change no cycle";
  EXPECT_NE(arch_hash(load_chip("a1000", {R"(conv.pixel_shapes=["12x1"])"})), arch_hash(base));
}

TEST(Chip, SetMessages) {
  EXPECT_EQ(set_message("tiny", {"gemm.rows=3000"}), "--set gemm.rows=3000: expected a value in [1, 256]");
  EXPECT_EQ(set_message("tiny", {"gemm.row=3"}),
            "--set gemm.row=3: unknown key gemm.row; did you mean gemm.rows? `tessera chip keys` lists all");
  EXPECT_EQ(set_message("tiny", {"gemm.rows"}), "--set gemm.rows: expected KEY=VALUE, e.g. --set gemm.rows=32");
  EXPECT_EQ(set_message("tiny", {"gemm={}"}).substr(0, 32), "--set gemm={}: unknown key gemm;");
  EXPECT_EQ(set_message("tiny", {"gemm.rows=abc"}).substr(0, 43), "--set gemm.rows=abc: not valid JSON at byte");
  EXPECT_EQ(set_message("tiny", {"dram.device=DDR9"}),
            "--set dram.device=DDR9: expected one of \"fixed\", \"LPDDR4-3200\", \"LPDDR4-4266\", \"LPDDR5-6400\", "
            "\"LPDDR5-6400-8B\", \"DDR4-3200\"");
  EXPECT_EQ(set_message("tiny", {"conv.pixel_shapes=[\"2by1\"]"}),
            "--set conv.pixel_shapes=[\"2by1\"]: expected an array of shapes such as [\"12x1\", \"4x3\"]");
  // two mistakes, one message; the later of two settings of one key holds
  EXPECT_EQ(set_message("tiny", {"gemm.rows=0", "edp.lanes=0", "gemm.rows=4"}),
            "--set edp.lanes=0: expected a value in [1, 1024]");
}

TEST(Chip, SettingADeviceBringsItsClockAndMap) {
  for (const DramDevice& device : kDramDevices) {
    for (const char* quote : {"", "\""}) {
      const ChipConfig chip = load_chip("a1000", {"dram.device=" + (quote + std::string(device.name)) + quote});
      EXPECT_EQ(chip.dram.tck_fs, device.tck_fs);
      EXPECT_EQ(chip.dram.address_map, device.maps[0]);
    }
  }
  const ChipConfig chip = load_chip("a1000", {"dram.device=DDR4-3200", "dram.address_map=off:6,co:7,bg:2,ba:2,ro:16"});
  EXPECT_EQ(chip.dram.address_map, "off:6,co:7,bg:2,ba:2,ro:16");
}

TEST(Chip, RulesBetweenKeys) {
  const auto rule = [](const std::vector<std::string>& sets) {
    std::string text = set_message("a1000", sets);
    std::string prefix = "a1000.json: with";
    for (const std::string& set : sets) {
      prefix += " --set " + set;
    }
    EXPECT_EQ(text.substr(0, prefix.size() + 2), prefix + ": ") << text;
    return text.substr(std::min(text.size(), prefix.size() + 2));
  };
  EXPECT_EQ(rule({"conv.cin_lanes=48"}), "conv.cin_lanes = 48: expected a multiple of layout.channel_block = 32");
  EXPECT_EQ(rule({"conv.cout_lanes=48"}), "conv.cout_lanes = 48: expected a multiple of layout.channel_block = 32");
  EXPECT_EQ(rule({R"(conv.pixel_shapes=["12x1","4x2"])"}),
            "conv.pixel_shapes: 4x2 makes 8 lanes: expected a product of conv.pixel_lanes = 12");
  EXPECT_EQ(rule({R"(conv.pixel_shapes=["6x2"])"}),
            "conv.pixel_shapes: 6x2: expected columns in multiples of the 4 pixels of a line (sram.line_bytes / "
            "layout.channel_block)");
  EXPECT_EQ(rule({"conv.window_bytes=383"}),
            "conv.window_bytes = 383: expected at least 384 (conv.pixel_lanes x conv.cin_lanes, and one line)");
  EXPECT_EQ(rule({"sram.size_bytes=1000"}), "sram.size_bytes = 1000: expected a multiple of sram.line_bytes = 128");
  EXPECT_EQ(
      rule({"axi.max_burst_beats=128"}),
      "axi.max_burst_beats = 128: expected at most 64 beats of axi.data_bytes = 64 (a burst never crosses 4 KiB)");
  EXPECT_EQ(rule({"load.landing_bytes=1023"}),
            "load.landing_bytes = 1023: expected at least one burst of 1024 bytes (space is reserved before AR)");
  EXPECT_EQ(rule({"store.buffer_bytes=512"}),
            "store.buffer_bytes = 512: expected at least one burst of 1024 bytes (a burst is whole before AW)");
  EXPECT_EQ(rule({"dram.tck_fs=500000"}), "dram.tck_fs = 500000: LPDDR4-4266 runs at 468750 fs (2 transfers a clock)");
  EXPECT_EQ(rule({"dram.address_map=off:6,co:6,ba:3,ro:16"}),
            "dram.address_map = \"off:6,co:6,ba:3,ro:16\": off has 6 bits: expected 5, a burst of LPDDR4-4266");
  EXPECT_EQ(rule({"dram.address_map=off:5,xx:6,ro:16"}),
            "dram.address_map = \"off:5,xx:6,ro:16\": \"xx:6\" is no field: expected name:bits from the least "
            "significant bit, separated by commas, names off, bg, co, ba, ro, ra");
  EXPECT_EQ(rule({"dram.size_bytes=68719476736"}),
            "dram.size_bytes = 68719476736: expected at most 4294967296, what 4 channels of 30 address bits hold");
  EXPECT_EQ(rule({"edp.lanes=256"}),
            "edp.lanes = 256: expected at most sram.line_bytes = 128 (ports are one line wide)");
}

TEST(Chip, KeysWithADefaultMayBeAbsent) {
  std::string text = chip_json(load_chip("a1000", {"cache.size_bytes=65536"}));
  const std::size_t begin = text.find("\"cache\": {");
  ASSERT_NE(begin, std::string::npos);
  text.erase(begin, text.find('}', begin) + 2 - begin);
  const ChipConfig chip = load_chip_text(text, "old.json");
  EXPECT_EQ(chip.cache.size_bytes, 0);
  EXPECT_EQ(chip.cache.ways, 8);
  EXPECT_EQ(chip_json(chip), chip_json(load_chip("a1000")));
  EXPECT_EQ(load_chip_text(text, "old.json", {"cache.ways=4"}).cache.ways, 4);
}

TEST(Chip, TimingsOfTheDram) {
  const ChipConfig chip = load_chip("a1000", {"dram.timings.tFAW=128", "dram.timings.CL=40", "dram.timings.FAW=130"});
  EXPECT_EQ(chip.dram.timings, (std::map<std::string, std::int64_t>{{"FAW", 130}, {"RL", 40}})) << "the later holds";
  EXPECT_EQ(load_chip_text(chip_json(chip), "again.json").dram.timings, chip.dram.timings);
  EXPECT_NE(timing_hash(chip), timing_hash(load_chip("a1000")));
  EXPECT_EQ(set_message("a1000", {"dram.timings.FAW=-1"}),
            "--set dram.timings.FAW=-1: expected a value in [0, 1000000000]");
  EXPECT_EQ(
      set_message("a1000", {"dram.timings.FAV=1"}).substr(0, 106),
      "a1000.json: with --set dram.timings.FAV=1: dram.timings.FAV = 1: unknown; expected one of RL, WL, BL, RCD,");
}

TEST(Chip, NamedAddressMaps) {
  EXPECT_EQ(load_chip("a1000", {"dram.device=LPDDR5-6400", "dram.address_map=mapC"}).dram.address_map,
            "off:5,co:1,bg:2,co:5,ba:2,ro:15");
  EXPECT_EQ(load_chip("a1000", {"dram.channel_bits=32", "dram.ranks=2"}).dram.address_map,
            "off:6,co:6,ba:3,ro:16,ra:1");
  EXPECT_EQ(set_message("a1000", {"dram.address_map=mapB"}),
            "a1000.json: with --set dram.address_map=mapB: dram.address_map = \"mapB\": LPDDR4-4266 has mapA; or give "
            "fields, e.g. off:5,co:6,ba:3,ro:16");
  EXPECT_EQ(set_message("a1000", {"dram.channel_bits=24"}).substr(45, 109),
            "dram.channel_bits = 24: expected 0 or a power of two in [8, 32] for LPDDR4-4266 (a burst holds 8 to 64 "
            "bytes)");
}

TEST(Chip, RulesHoldExactlyAtTheirEdge) {
  EXPECT_EQ(set_message("a1000", {"conv.window_bytes=384"}), "no error");
  EXPECT_EQ(set_message("a1000", {"load.landing_bytes=1024", "store.buffer_bytes=1024"}), "no error");
  EXPECT_EQ(set_message("a1000", {"dram.size_bytes=4294967296"}), "no error");
  EXPECT_EQ(set_message("a1000", {"axi.max_burst_beats=64"}), "no error");
}

// The settings that the project's documents use, and the sweeps they speak of.
TEST(Chip, UsualSettingsAreLegal) {
  EXPECT_EQ(set_message("a1000", {"gemm.rows=32", "gemm.cols=32"}), "no error");
  EXPECT_EQ(set_message("a1000", {"dram.channels=1"}), "no error");
  EXPECT_EQ(set_message("a1000", {"clock_hz=4000000000"}), "no error");
  for (const char* chip : {"micro", "tiny", "a1000", "j5"}) {
    for (int kib = 1; kib <= 1024; kib *= 2) {
      EXPECT_EQ(set_message(chip, {"sram.size_bytes=" + std::to_string(kib * 1024)}), "no error");
    }
    EXPECT_EQ(set_message(chip, {"dram.device=\"fixed\""}), "no error");
  }
}

TEST(Chip, MissingAndUnknownKeysOfAFile) {
  std::string text = chip_json(load_chip("micro"));
  const std::size_t at = text.find("\"banks\": 4", text.find("\"sram\""));
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 10, "\"bansk\": 4");
  EXPECT_EQ(message_of([&] { static_cast<void>(load_chip_text(text, "m.json")); }),
            "m.json: /sram/banks is missing: expected a value in [1, 64]\n"
            "m.json: /sram/bansk = 4: unknown key; known here: banks, line_bytes, read_latency, size_bytes");
}

TEST(Chip, KeysAreDescribedForTheCommand) {
  const std::string json = chip_keys_json();
  EXPECT_NE(json.find("\"path\": \"sram.size_bytes\""), std::string::npos);
  EXPECT_NE(json.find("\"tag\": \"arch\""), std::string::npos);
  EXPECT_EQ(chip_value_json(load_chip("tiny"), "gemm.rows"), "8");
  EXPECT_EQ(chip_value_json(load_chip("tiny"), "dram.refresh"), "\"all_bank\"");
}

}  // namespace
}  // namespace tessera::isa
