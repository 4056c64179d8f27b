"""isa/isa.hpp and isa/isa.cpp: enums, structs, bit-exact writers and readers, field tables."""
from .model import camel, leaves_of
from .text import banner, quote


def cpp_type(field):
    if field.group:
        return field.group
    if field.enum:
        return field.enum
    if field.width == 1:
        return "bool"
    bits = next(b for b in (8, 16, 32, 64) if field.width <= b)
    return f"std::{'' if field.is_signed else 'u'}int{bits}_t"


def default_of(isa, f):
    """0, or the nearest legal value, so that a fresh structure is legal."""
    if f.group:
        return ""
    if f.enum:
        values = isa.enums[f.enum].values
        name = next((n for n, v, _ in values if v == 0), values[0][0])
        return f" = {f.enum}::{name}"
    value = min(max(0, f.low), f.high)
    return f" = {'true' if value else 'false'}" if f.width == 1 else f" = {value}"


def struct(isa, name, doc, fields):
    out = [f"/// {doc}", f"struct {name} {{"]
    for f in fields:
        kind = cpp_type(f)
        if f.count > 1:
            declared = f"std::array<{kind}, {f.count}> {f.name}{{}};"
        else:
            declared = f"{kind} {f.name}{default_of(isa, f) or '{}'};"
        out.append(f"  {declared}  ///< {f.doc}")
    out.append("};")
    out.append(f"[[nodiscard]] inline bool operator==(const {name}& a, const {name}& b) {{")
    if fields:
        out.append("  return " + " &&\n         ".join(f"a.{f.name} == b.{f.name}" for f in fields) + ";")
    else:
        out.append("  static_cast<void>(a);\n  static_cast<void>(b);\n  return true;")
    out.append("}")
    out.append(f"[[nodiscard]] inline bool operator!=(const {name}& a, const {name}& b) {{ return !(a == b); }}\n")
    return "\n".join(out)


def storage_of(width):
    return 8 if width <= 8 else 16


def header(isa):
    out = [banner("//", "isa.json")]
    out.append("""// The instruction set: enums, one structure an instruction, binary codec, tables for the assembler. The wire format is
// little-endian: bit i of an instruction is bit i % 8 of byte i / 8, counted over its words.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "isa/program/word.hpp"

namespace tessera::isa {
""")
    out.append(f"inline constexpr std::uint32_t kIsaVersion = {isa.version};")
    out.append(f"inline constexpr std::size_t kWordBytes = {isa.word_bytes};")
    out.append(f"inline constexpr std::size_t kMaxWords = {isa.max_words};")
    out.append("static_assert(sizeof(Word) == kWordBytes);\n")
    for e in isa.enums.values():
        out.append(f"/// {e.doc}")
        out.append(f"enum class {e.name} : std::uint{storage_of(e.width)}_t {{")
        out += [f"  {n} = {v},  ///< {d}" for n, v, d in e.values]
        out.append("};")
        out.append(f"inline constexpr std::size_t k{e.name}Values = {len(e.values)};")
        out.append(f"/// The value's name in isa.json; \"?\" for none.")
        out.append(f"[[nodiscard]] const char* to_string({e.name} value);\n")
    for g in isa.groups.values():
        out.append(struct(isa, g.name, g.doc, g.fields))
    out.append(struct(isa, "Header", "First bits of every instruction; encode() sets opcode and words.", isa.header))
    for i in isa.instructions:
        out.append(struct(isa, i.type_name, i.doc, i.fields))
    names = ", ".join(i.type_name for i in isa.instructions)
    out.append(f"using Body = std::variant<{names}>;")
    out.append("struct Instruction {\n  Header header;\n  Body body;\n};")
    out.append("[[nodiscard]] inline bool operator==(const Instruction& a, const Instruction& b) {\n"
               "  return a.header == b.header && a.body == b.body;\n}")
    out.append("[[nodiscard]] inline bool operator!=(const Instruction& a, const Instruction& b) { return !(a == b); }\n")
    for i in isa.instructions:
        out.append(f"[[nodiscard]] constexpr Opcode opcode_of(const {i.type_name}&) {{ return Opcode::{i.name}; }}")
    out.append("""[[nodiscard]] Opcode opcode_of(const Instruction& instruction);

struct EnumValueInfo {
  const char* name;
  std::int64_t value;
  const char* doc;
};
struct EnumInfo {
  const char* name;
  const char* doc;
  const EnumValueInfo* values;
  std::size_t count;
};
/// A scalar field with its path inside the instruction, e.g. "dims[0].count".
struct FieldInfo {
  const char* path;
  std::uint16_t lsb;
  std::uint8_t width;
  bool is_signed;
  std::int64_t min;
  std::int64_t max;
  const EnumInfo* choices;  ///< nullptr: a number
  const char* doc;
};
struct InstructionDescription {
  Opcode opcode;
  const char* name;
  const char* doc;
  std::uint8_t words;
  std::uint32_t queues;  ///< bit i: QueueId i accepts it
  const FieldInfo* fields;  ///< header first, then the body
  std::size_t field_count;
  std::size_t header_fields;  ///< the first so many of `fields`
  const std::uint8_t* used;  ///< a mask of words * kWordBytes bytes: bits that a field holds; all others are reserved
};
/// The description of an opcode, or nullptr.
[[nodiscard]] const InstructionDescription* describe(std::uint8_t opcode);
[[nodiscard]] inline const InstructionDescription* describe(Opcode opcode) {
  return describe(static_cast<std::uint8_t>(opcode));
}
[[nodiscard]] const std::vector<const InstructionDescription*>& all_instructions();
[[nodiscard]] bool queue_accepts(QueueId queue, Opcode opcode);

/// The words of an instruction. A value that its field cannot hold is an InternalError; values outside the legal range
/// (FieldInfo::min, max) are encoded, so that tests can make faults.
[[nodiscard]] std::vector<Word> encode(const Instruction& instruction);

struct DecodeResult {
  FaultCause cause = FaultCause::none;
  std::string text;  ///< why it is a fault: field, value, what is legal
  Instruction instruction;
  std::size_t words = 0;  ///< consumed; 0 on a fault
  [[nodiscard]] bool ok() const { return cause == FaultCause::none; }
};
/// Checks opcode, length, reserved bits and the range of every field; `available` words stand at `words`.
[[nodiscard]] DecodeResult decode(const Word* words, std::size_t available);

/// One line of assembly: "conv in.base=0x100 ... wait=3:1 signal=4:1 layer=7"; fields that hold their default are left out.
[[nodiscard]] std::string disassemble(const Instruction& instruction);

/// Address offsets of the control port.
namespace registers {""")
    for r in isa.registers:
        out.append(f"inline constexpr std::uint32_t k{camel(r.name)} = {r.offset};  ///< {r.doc}")
        if r.count > 1:
            out.append(f"inline constexpr std::uint32_t k{camel(r.name)}Count = {r.count};")
            out.append(f"inline constexpr std::uint32_t k{camel(r.name)}Stride = {r.stride};")
        if r.reset:
            out.append(f"inline constexpr std::uint32_t k{camel(r.name)}Reset = {r.reset};")
    out.append("}  // namespace registers\n")
    out.append("namespace codec {\nvoid write_header(const Header& header, std::uint8_t* bytes);")
    out.append("void read_header(const std::uint8_t* bytes, Header& header);")
    out.append("void write_body(const Body& body, std::uint8_t* bytes);")
    out.append("void read_body(const std::uint8_t* bytes, Opcode opcode, Body& body);\n}  // namespace codec\n")
    out.append("}  // namespace tessera::isa\n")
    return "\n".join(out)


def _access(isa, fields, name, write):
    """Statements that move each field; lsb are compile-time constants."""
    out = []

    def walk(fields, member, base, depth):
        for f in fields:
            for i in range(f.count):
                m = f"{member}.{f.name}" + (f"[{i}]" if f.count > 1 else "")
                lsb = base + f.lsb + i * f.width
                if f.group:
                    walk(isa.groups[f.group].fields, m, lsb, depth + 1)
                elif write:
                    out.append(f"  put<{lsb}, {f.width}, {'true' if f.is_signed else 'false'}>"
                               f"(bytes, {m}, {quote(m)});")
                else:
                    out.append(f"  take<{lsb}, {f.width}, {'true' if f.is_signed else 'false'}>(bytes, {m});")

    walk(fields, name, 0, 0)
    return out


def source(isa):
    out = [banner("//", "isa.json")]
    out.append("""#include "isa/isa.hpp"

#include "isa/bits.hpp"

namespace tessera::isa {
namespace {

using codec::put;
using codec::take;
""")
    for e in isa.enums.values():
        out.append(f"constexpr EnumValueInfo k{e.name}Table[] = {{")
        out += [f"    {{{quote(n)}, {v}, {quote(d)}}}," for n, v, d in e.values]
        out.append("};")
        out.append(f"constexpr EnumInfo k{e.name}Info{{{quote(e.name)}, {quote(e.doc)}, k{e.name}Table, "
                   f"{len(e.values)}}};\n")
    for i in isa.instructions:
        out.append(f"constexpr FieldInfo k{i.type_name}Fields[] = {{")
        leaves = leaves_of(isa, isa.header) + leaves_of(isa, i.fields)
        mask = [0] * (i.words * isa.word_bytes)
        for leaf in leaves:
            f = leaf.field
            choices = f"&k{f.enum}Info" if f.enum else "nullptr"
            out.append(f"    {{{quote(leaf.path)}, {leaf.lsb}, {f.width}, {'true' if f.is_signed else 'false'}, {f.low}, "
                       f"{f.high}, {choices}, {quote(f.doc)}}},")
            for bit in range(leaf.lsb, leaf.lsb + f.width):
                mask[bit // 8] |= 1 << (bit % 8)
        out.append("};")
        out.append(f"constexpr std::uint8_t k{i.type_name}Used[] = {{{', '.join(str(m) for m in mask)}}};")
        queues = sum(1 << v for n, v, _ in isa.enums["QueueId"].values if n in i.queues)
        out.append(f"constexpr InstructionDescription k{i.type_name}Info{{Opcode::{i.name}, {quote(i.name)}, {quote(i.doc)}, "
                   f"{i.words}, {queues}U, k{i.type_name}Fields, {len(leaves)}, {len(leaves_of(isa, isa.header))}, "
                   f"k{i.type_name}Used}};\n")
    for i in isa.instructions:
        out.append(f"void write_body_of(const {i.type_name}& body, std::uint8_t* bytes) {{")
        out += _access(isa, i.fields, "body", True)
        out.append("}")
        out.append(f"void read_body_of(const std::uint8_t* bytes, {i.type_name}& body) {{")
        out += _access(isa, i.fields, "body", False)
        out.append("}\n")
    out.append("}  // namespace\n")
    for e in isa.enums.values():
        out.append(f"const char* to_string({e.name} value) {{\n  switch (value) {{")
        out += [f"    case {e.name}::{n}:\n      return {quote(n)};" for n, v, _ in e.values]
        out.append('  }\n  return "?";\n}\n')
    out.append("Opcode opcode_of(const Instruction& instruction) {\n"
               "  return std::visit([](const auto& body) { return opcode_of(body); }, instruction.body);\n}\n")
    out.append("const InstructionDescription* describe(std::uint8_t opcode) {\n  switch (opcode) {")
    out += [f"    case {i.opcode}:\n      return &k{i.type_name}Info;" for i in isa.instructions]
    out.append("    default:\n      return nullptr;\n  }\n}\n")
    out.append("const std::vector<const InstructionDescription*>& all_instructions() {\n"
               "  static const std::vector<const InstructionDescription*> all{"
               + ", ".join(f"&k{i.type_name}Info" for i in isa.instructions) + "};\n  return all;\n}\n")
    out.append("namespace codec {\n")
    out.append("void write_header(const Header& header, std::uint8_t* bytes) {")
    out += _access(isa, isa.header, "header", True)
    out.append("}\n\nvoid read_header(const std::uint8_t* bytes, Header& header) {")
    out += _access(isa, isa.header, "header", False)
    out.append("}\n")
    out.append("void write_body(const Body& body, std::uint8_t* bytes) {\n"
               "  std::visit([bytes](const auto& b) { write_body_of(b, bytes); }, body);\n}\n")
    out.append("void read_body(const std::uint8_t* bytes, Opcode opcode, Body& body) {\n  switch (opcode) {")
    for i in isa.instructions:
        out.append(f"    case Opcode::{i.name}:\n      read_body_of(bytes, body.emplace<{i.type_name}>());\n      return;")
    out.append("  }\n}\n\n}  // namespace codec\n\n}  // namespace tessera::isa\n")
    return "\n".join(out)
