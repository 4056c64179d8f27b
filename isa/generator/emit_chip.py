"""isa/chip.hpp and isa/chip.cpp: the chip file as a structure, its key table and a walk over all keys."""
import json
import os

from . import strict_json
from .model import camel
from .text import banner, quote


def member_type(key):
    if key.type == "uint":
        return "std::int64_t", f" = {key.default or 0}"
    if key.type == "clocks":
        return "std::map<std::string, std::int64_t>", ""
    if key.type == "shapes":
        return "std::vector<PixelShape>", ""
    if key.enum_name:
        return key.enum_name, f" = {key.enum_name}::{key.default or key.choices[0]}"
    return "std::string", ""


def parts_of(keys):
    parts = {}
    for k in keys:
        parts.setdefault(k.part, []).append(k)
    return parts


def header(keys):
    out = [banner("//", "chip_schema.json")]
    out.append("""// A chip: every key of its JSON file, resolved. Read by compiler, models and tests alike; models never see JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace tessera::isa {

/// An arrangement of the pixel lanes: px columns x py rows.
struct PixelShape {
  std::int64_t px = 1;
  std::int64_t py = 1;
};
[[nodiscard]] inline bool operator==(const PixelShape& a, const PixelShape& b) { return a.px == b.px && a.py == b.py; }
""")
    for k in keys:
        if k.enum_name:
            out.append(f"/// {k.doc}\nenum class {k.enum_name} : std::uint8_t {{ {', '.join(k.choices)} }};")
            out.append(f"[[nodiscard]] const char* to_string({k.enum_name} value);\n")
    out.append("struct ChipConfig {")
    for part, members in parts_of(keys).items():
        indent = "  "
        if part:
            out.append(f"  struct {camel(part)}Keys {{")
            indent = "    "
        for k in members:
            kind, init = member_type(k)
            unit = f" [{k.unit}]" if k.unit else ""
            out.append(f"{indent}{kind} {k.leaf}{init};  ///< {k.doc}{unit}")
        if part:
            out.append(f"  }} {part};")
    out.append("};\n")
    out.append("""enum class KeyType : std::uint8_t { uint, text, choice, shapes, clocks };
enum class KeyTag : std::uint8_t { arch, timing, cost };
[[nodiscard]] const char* to_string(KeyType type);
[[nodiscard]] const char* to_string(KeyTag tag);

/// What chip_schema.json says of one key.
struct KeyInfo {
  std::string path;
  KeyType type;
  KeyTag tag;
  std::int64_t min;  ///< uint and clocks only
  std::int64_t max;
  std::vector<std::string> choices;
  std::string unit;
  std::string doc;
  std::string fallback;  ///< JSON that stands for an absent key; empty: every chip file must say it
};
[[nodiscard]] const std::vector<KeyInfo>& chip_keys();

/// Calls visit(KeyInfo, member) for every key in the order of chip_keys().
template <typename Config, typename Visitor>
void for_each_key(Config& config, Visitor&& visit) {
  const std::vector<KeyInfo>& keys = chip_keys();""")
    for i, k in enumerate(keys):
        out.append(f"  visit(keys[{i}], config.{k.path});")
    out.append("""}

/// A chip file that is built into the binary.
struct BuiltinChip {
  const char* name;
  const char* json;
};
/// Names of hw/configs, in the order of the alphabet.
[[nodiscard]] const std::vector<BuiltinChip>& builtin_chips();

/// Reads a built-in chip by name or a chip file by path, applies `sets` ("a.b=JSONVALUE") and checks everything.
/// Throws UserError with all mistakes at once.
[[nodiscard]] ChipConfig load_chip(const std::string& name_or_path, const std::vector<std::string>& sets = {});
/// The same on the text of a chip file; `file` is what messages call it.
[[nodiscard]] ChipConfig load_chip_text(const std::string& text, const std::string& file,
                                        const std::vector<std::string>& sets = {});
/// Rules between keys; one sentence each that begins with the key, empty when the chip is sound.
[[nodiscard]] std::vector<std::string> check_chip(const ChipConfig& chip);

/// Fingerprint of all keys a program sees; must match between compiler and chip.
[[nodiscard]] std::uint64_t arch_hash(const ChipConfig& chip);
/// Fingerprint of all keys that only cycles see, name and source aside; may differ, and is reported.
[[nodiscard]] std::uint64_t timing_hash(const ChipConfig& chip);
/// The resolved chip file: sorted keys, two spaces; load_chip_text reads it back.
[[nodiscard]] std::string chip_json(const ChipConfig& chip);
/// The value of one key as JSON text.
[[nodiscard]] std::string chip_value_json(const ChipConfig& chip, const std::string& path);
/// CLI: "tessera chip keys --json".
[[nodiscard]] std::string chip_keys_json();

}  // namespace tessera::isa
""")
    return "\n".join(out)


def source(keys):
    out = [banner("//", "chip_schema.json")]
    out.append('#include "isa/chip.hpp"\n\nnamespace tessera::isa {\n')
    for k in keys:
        if k.enum_name:
            out.append(f"const char* to_string({k.enum_name} value) {{\n  switch (value) {{")
            out += [f"    case {k.enum_name}::{c}:\n      return {quote(c)};" for c in k.choices]
            out.append('  }\n  return "?";\n}\n')
    names = {"uint": "uint", "string": "text", "choice": "choice", "shapes": "shapes", "clocks": "clocks"}
    out.append("const std::vector<KeyInfo>& chip_keys() {\n  static const std::vector<KeyInfo> keys{")
    for k in keys:
        choices = ", ".join(quote(c) for c in k.choices)
        fallback = "" if k.default is None else json.dumps(k.default)
        out.append(f"      {{{quote(k.path)}, KeyType::{names[k.type]}, KeyTag::{k.tag}, {k.low}, {k.high}, {{{choices}}}, "
                   f"{quote(k.unit)}, {quote(k.doc)}, {quote(fallback)}}},")
    out.append("  };\n  return keys;\n}\n\n}  // namespace tessera::isa\n")
    return "\n".join(out)


def builtin(paths):
    out = [banner("//", "hw/configs/*.json")]
    out.append('#include "isa/chip.hpp"\n\nnamespace tessera::isa {\n')
    out.append("const std::vector<BuiltinChip>& builtin_chips() {\n  static const std::vector<BuiltinChip> chips{")
    for path in sorted(paths, key=os.path.basename):
        name = os.path.splitext(os.path.basename(path))[0]
        strict_json.load(path)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        out.append(f'      {{{quote(name)}, R"json({text})json"}},')
    out.append("  };\n  return chips;\n}\n\n}  // namespace tessera::isa\n")
    return "\n".join(out)
