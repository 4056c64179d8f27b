// From a chip file to ChipConfig and back, driven by the schema's key table (generated isa/chip.hpp).
#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>
#include <type_traits>

#include <nlohmann/json.hpp>

#include "hw/common/config_reader.hpp"
#include "hw/common/error.hpp"
#include "hw/common/hash.hpp"
#include "isa/chip.hpp"
#include "isa/dram_devices.hpp"

namespace tessera::isa {
namespace {

using Json = nlohmann::json;

std::string leaf_of(const std::string& path) { return path.substr(path.find('.') + 1); }  // npos + 1 == 0: whole path

/// "12x1" -> {12, 1}; sizes of 0 stand for "not a shape".
PixelShape parse_shape(const std::string& text) {
  const std::size_t cross = text.find('x');
  const auto number = [](const std::string& digits) -> std::int64_t {
    const bool fine =
        !digits.empty() && digits.size() <= 3 && digits.find_first_not_of("0123456789") == std::string::npos;
    return fine ? std::stoll(digits) : 0;
  };
  if (cross == std::string::npos) {
    return {0, 0};
  }
  return {number(text.substr(0, cross)), number(text.substr(cross + 1))};
}

struct ReadKey {
  ConfigReader& top;
  std::map<std::string, ConfigReader>& parts;

  ConfigReader& holder(const KeyInfo& key) const {
    const std::size_t dot = key.path.find('.');
    return dot == std::string::npos ? top : parts.at(key.path.substr(0, dot));
  }
  void operator()(const KeyInfo& key, std::int64_t& value) const {
    value = holder(key).integer(leaf_of(key.path), {key.min, key.max});
  }
  void operator()(const KeyInfo& key, std::string& value) const {
    if (key.choices.empty()) {
      value = holder(key).text(leaf_of(key.path));
    } else {
      value = key.choices[holder(key).choice(leaf_of(key.path), key.choices)];
    }
  }
  void operator()(const KeyInfo& key, std::vector<PixelShape>& value) const {
    ConfigReader& reader = holder(key);
    value.clear();
    for (const std::string& text : reader.texts(leaf_of(key.path))) {
      const PixelShape shape = parse_shape(text);
      if (shape.px < 1 || shape.py < 1) {
        reader.error(leaf_of(key.path), "expected an array of shapes such as [\"12x1\", \"4x3\"]");
        return;
      }
      value.push_back(shape);
    }
  }
  void operator()(const KeyInfo& key, std::map<std::string, std::int64_t>& value) const {
    ConfigReader reader = holder(key).object(leaf_of(key.path));
    value.clear();
    for (const std::string& name : reader.keys()) {
      const std::int64_t clocks = reader.integer(name, {key.min, key.max});
      if (!value.emplace(timing_name(name), clocks).second) {
        reader.error(name, "expected each timing once, whichever way it is spelt");
      }
    }
    reader.finish();
  }
  template <typename Enum, typename = std::enable_if_t<std::is_enum_v<Enum>>>
  void operator()(const KeyInfo& key, Enum& value) const {
    value = static_cast<Enum>(holder(key).choice(leaf_of(key.path), key.choices));
  }
};

Json value_of(std::int64_t value) { return value; }
Json value_of(const std::string& value) { return value; }
Json value_of(const std::map<std::string, std::int64_t>& clocks) { return Json(clocks); }
Json value_of(const std::vector<PixelShape>& shapes) {
  Json out = Json::array();
  for (const PixelShape& shape : shapes) {
    out.push_back(std::to_string(shape.px) + "x" + std::to_string(shape.py));
  }
  return out;
}
template <typename Enum, typename = std::enable_if_t<std::is_enum_v<Enum>>>
Json value_of(Enum value) {
  return to_string(value);
}

/// Steps of insertion, deletion and replacement between two texts: finds the key that was meant.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) {
    row[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t corner = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = corner + (a[i - 1] == b[j - 1] ? 0 : 1);
      corner = row[j];
      row[j] = std::min({replace, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

/// "mapB" -> its fields, in the width and with the ranks of this chip; field lists stay as they are.
std::string resolve_map(const ChipConfig& chip) {
  const std::string& map = chip.dram.address_map;
  const DramDevice* device = find_dram_device(chip.dram.device);
  if (device == nullptr || map.size() != 4 || map.compare(0, 3, "map") != 0 || map[3] < 'A' || map[3] > 'C') {
    return map;
  }
  std::string fields(device->maps[static_cast<std::size_t>(map[3] - 'A')]);
  if (fields.empty()) {
    return map;  // check_chip says which there are
  }
  int off = device->burst_bits;
  for (std::int64_t bits = chip.dram.channel_bits; bits > device->channel_bits; bits /= 2) {
    ++off;
  }
  for (std::int64_t bits = device->channel_bits; chip.dram.channel_bits > 0 && bits > chip.dram.channel_bits;
       bits /= 2) {
    --off;
  }
  fields = "off:" + std::to_string(off) + fields.substr(fields.find(','));
  return fields + (chip.dram.ranks > 1 ? ",ra:1" : "");
}

void apply_set(ConfigReader& reader, const std::string& set) {
  const std::string origin = "--set " + set;
  const std::size_t equals = set.find('=');
  if (equals == std::string::npos || equals == 0) {
    user_error(origin, ": expected KEY=VALUE, e.g. --set gemm.rows=32");
  }
  std::string path = set.substr(0, equals);
  const std::vector<KeyInfo>& keys = chip_keys();
  const auto key = std::find_if(keys.begin(), keys.end(), [&](const KeyInfo& k) {
    const bool one_of = k.type == KeyType::clocks && path.compare(0, k.path.size() + 1, k.path + ".") == 0;
    return k.path == path || one_of;
  });
  if (key == keys.end()) {
    const auto near = std::min_element(keys.begin(), keys.end(), [&](const KeyInfo& a, const KeyInfo& b) {
      return edit_distance(a.path, path) < edit_distance(b.path, path);
    });
    user_error(origin, ": unknown key ", path, "; did you mean ", near->path, "? `tessera chip keys` lists all");
  }
  if (key->path != path) {
    const std::string name = path.substr(key->path.size() + 1);
    path = key->path + "." + std::string(timing_name(name));
  }
  std::string value = set.substr(equals + 1);
  const bool textual = key->type == KeyType::text || key->type == KeyType::choice;
  if (textual && (value.empty() || value.front() != '"')) {
    value = Json(value).dump(-1, ' ', false, Json::error_handler_t::replace);  // shells eat quotes: a bare word is text
  }
  reader.override_value(path, value, origin);
  if (path == "dram.channel_bits" || path == "dram.ranks") {  // the map must fit; a later --set may change it
    reader.override_value("dram.address_map", "\"mapA\"", origin);
  }
  if (path == "dram.device") {  // the clock and the address map belong to the device; a later --set may change them
    if (const DramDevice* device = find_dram_device(set.substr(equals + 1)); device != nullptr) {
      reader.override_value("dram.tck_fs", std::to_string(device->tck_fs), origin);
      reader.override_value("dram.address_map", "\"mapA\"", origin);
    }
  }
}

ChipConfig read(ConfigReader reader, const std::vector<std::string>& sets) {
  for (const std::string& set : sets) {
    apply_set(reader, set);
  }
  for (const KeyInfo& key : chip_keys()) {
    if (!key.fallback.empty()) {
      reader.default_value(key.path, key.fallback);
    }
  }
  std::map<std::string, ConfigReader> parts;
  for (const KeyInfo& key : chip_keys()) {
    const std::size_t dot = key.path.find('.');
    if (dot != std::string::npos && parts.count(key.path.substr(0, dot)) == 0) {
      const std::string part = key.path.substr(0, dot);
      parts.emplace(part, reader.object(part));
    }
  }
  ChipConfig chip;
  for_each_key(chip, ReadKey{reader, parts});
  for (auto& [name, part] : parts) {
    part.finish();
  }
  chip.dram.address_map = resolve_map(chip);
  if (!reader.failed()) {
    std::string with;
    for (const std::string& set : sets) {
      with += " --set " + set;
    }
    for (const std::string& rule : check_chip(chip)) {
      reader.file_error((with.empty() ? "" : "with" + with + ": ") + rule);
    }
  }
  reader.finish();
  return chip;
}

std::uint64_t fingerprint(const ChipConfig& chip, KeyTag tag) {
  std::map<std::string, std::string> lines;  // sorted, so that the order of the schema does not matter
  for_each_key(chip, [&](const KeyInfo& key, const auto& value) {
    const bool label = key.path == "name" || key.path == "source";
    if (key.tag == tag && !label) {
      lines[key.path] = value_of(value).dump();
    }
  });
  Fnv64 hash;
  for (const auto& [path, value] : lines) {
    hash.add(path + "=" + value + "\n");
  }
  return hash.value();
}

}  // namespace

const char* to_string(KeyType type) {
  switch (type) {
    case KeyType::uint:
      return "uint";
    case KeyType::text:
      return "string";
    case KeyType::choice:
      return "choice";
    case KeyType::shapes:
      return "shapes";
    case KeyType::clocks:
      return "clocks";
  }
  return "?";
}

const char* to_string(KeyTag tag) {
  switch (tag) {
    case KeyTag::arch:
      return "arch";
    case KeyTag::timing:
      return "timing";
    case KeyTag::cost:
      return "cost";
  }
  return "?";
}

ChipConfig load_chip(const std::string& name_or_path, const std::vector<std::string>& sets) {
  for (const BuiltinChip& builtin : builtin_chips()) {
    if (name_or_path == builtin.name) {
      return read(ConfigReader::from_text(builtin.json, name_or_path + ".json"), sets);
    }
  }
  std::error_code ignored;
  if (!std::filesystem::exists(name_or_path, ignored)) {
    std::string names;
    for (const BuiltinChip& builtin : builtin_chips()) {
      names += (names.empty() ? "" : ", ") + std::string(builtin.name);
    }
    user_error("chip '", name_or_path, "': neither a built-in chip (", names, ") nor a file; give a name or a path");
  }
  return read(ConfigReader::from_file(name_or_path), sets);
}

ChipConfig load_chip_text(const std::string& text, const std::string& file, const std::vector<std::string>& sets) {
  return read(ConfigReader::from_text(text, file), sets);
}

std::uint64_t arch_hash(const ChipConfig& chip) { return fingerprint(chip, KeyTag::arch); }
std::uint64_t timing_hash(const ChipConfig& chip) { return fingerprint(chip, KeyTag::timing); }

std::string chip_json(const ChipConfig& chip) {
  Json out = Json::object();
  for_each_key(chip, [&](const KeyInfo& key, const auto& value) {
    const std::size_t dot = key.path.find('.');
    Json& holder = dot == std::string::npos ? out : out[key.path.substr(0, dot)];
    holder[leaf_of(key.path)] = value_of(value);
  });
  return out.dump(2) + "\n";
}

std::string chip_value_json(const ChipConfig& chip, const std::string& path) {
  std::string out;
  for_each_key(chip, [&](const KeyInfo& key, const auto& value) {
    if (key.path == path) {
      out = value_of(value).dump();
    }
  });
  TESSERA_CHECK(!out.empty(), "no chip key ", path);
  return out;
}

std::string chip_keys_json() {
  Json out = Json::array();
  for (const KeyInfo& key : chip_keys()) {
    Json one = {{"path", key.path},
                {"type", to_string(key.type)},
                {"unit", key.unit},
                {"tag", to_string(key.tag)},
                {"doc", key.doc}};
    if (!key.fallback.empty()) {
      one["default"] = Json::parse(key.fallback);
    }
    if (key.type == KeyType::uint || key.type == KeyType::clocks) {
      one["min"] = key.min;
      one["max"] = key.max;
    }
    if (key.type == KeyType::choice) {
      one["choices"] = key.choices;
    }
    out.push_back(std::move(one));
  }
  return out.dump(2) + "\n";
}

}  // namespace tessera::isa
