"""The ISA as Python objects, and the proofs that it is well formed.

Every proof that fails is one line `file: item: rule`; all of them are reported at once.
"""
import re
from dataclasses import dataclass, field as dataclass_field

IDENTIFIER = re.compile(r"^[a-z][a-z0-9_]*$")
TYPE_NAME = re.compile(r"^[A-Z][A-Za-z0-9]*$")


@dataclass
class Enum:
    name: str
    doc: str
    width: int
    values: list  # of (name, value, doc)


@dataclass
class Field:
    """A field or an array of groups at a bit position relative to what holds it."""
    name: str
    doc: str
    lsb: int
    width: int  # of one element
    count: int
    is_signed: bool
    enum: str
    group: str
    low: int
    high: int

    @property
    def end(self):
        return self.lsb + self.width * self.count


@dataclass
class Group:
    name: str
    doc: str
    width: int
    fields: list


@dataclass
class Instruction:
    name: str
    doc: str
    opcode: int
    queues: list
    words: int
    fields: list

    @property
    def type_name(self):
        return camel(self.name)


@dataclass
class Leaf:
    """A scalar field of an instruction with its path, e.g. dims[0].count; lsb counts from bit 0 of word 0."""
    path: str
    lsb: int
    field: Field


@dataclass
class Register:
    name: str
    doc: str
    offset: int
    access: str
    reset: int
    count: int
    stride: int


@dataclass
class Isa:
    version: int
    word_bytes: int
    max_words: int
    header_bits: int
    enums: dict
    groups: dict
    header: list
    instructions: list
    registers: list
    errors: list = dataclass_field(default_factory=list)

    @property
    def word_bits(self):
        return self.word_bytes * 8


def camel(name):
    return "".join(part.capitalize() for part in name.split("_"))


def leaves_of(isa, fields, prefix="", base=0):
    """Flattens groups and arrays, in order of the description."""
    out = []
    for f in fields:
        for i in range(f.count):
            path = prefix + f.name + (f"[{i}]" if f.count > 1 else "")
            lsb = base + f.lsb + i * f.width
            if f.group:
                out += leaves_of(isa, isa.groups[f.group].fields, path + ".", lsb)
            else:
                out.append(Leaf(path, lsb, f))
    return out


class _Builder:
    def __init__(self, raw, file):
        self.raw, self.file, self.errors = raw, file, []

    def error(self, item, rule):
        self.errors.append(f"{self.file}: {item}: {rule}")

    def get(self, raw, key, kind, item, default=None):
        value = raw.get(key, default)
        wrong = not isinstance(value, kind) or (kind is int and isinstance(value, bool))
        if wrong:
            self.error(item, f"'{key}' is {value!r}: expected a {kind.__name__}")
            return kind()
        return value

    def only_keys(self, raw, item, known):
        for key in raw:
            if key not in known:
                self.error(item, f"unknown key '{key}'; known: {', '.join(sorted(known))}")

    def doc(self, raw, item):
        text = self.get(raw, "doc", str, item, "")
        if not text.strip():
            self.error(item, "is not documented: every item needs a 'doc' sentence")
        return text

    def enum(self, name, raw):
        self.only_keys(raw, name, {"doc", "width", "values"})
        if not TYPE_NAME.match(name):
            self.error(name, "an enum is named in UpperCamelCase")
        width = self.get(raw, "width", int, name)
        values, names, numbers = [], set(), {}
        for v in self.get(raw, "values", list, name):
            item = f"{name}.{v.get('name')}"
            self.only_keys(v, item, {"name", "value", "doc"})
            number = self.get(v, "value", int, item)
            if not IDENTIFIER.match(str(v.get("name"))):
                self.error(item, "a value is named in snake_case")
            if v.get("name") in names:
                self.error(item, "the name appears twice")
            if number in numbers:
                self.error(item, f"value {number} is already {numbers[number]}" +
                           (": two opcodes would match the same word" if name == "Opcode" else ""))
            if number < 0 or number >= 1 << width:
                self.error(item, f"value {number} does not fit {width} bits")
            names.add(v.get("name"))
            numbers[number] = v.get("name")
            values.append((v.get("name"), number, self.doc(v, item)))
        return Enum(name, self.doc(raw, name), width, values)

    def field(self, owner, raw, enums, groups):
        item = f"{owner}.{raw.get('name')}"
        self.only_keys(raw, item, {"name", "doc", "lsb", "width", "count", "signed", "enum", "group", "min", "max"})
        if not IDENTIFIER.match(str(raw.get("name"))):
            self.error(item, "a field is named in snake_case")
        group, enum = raw.get("group", ""), raw.get("enum", "")
        if group:
            if group not in groups:
                self.error(item, f"unknown group '{group}'")
                return None
            width = groups[group].width
        else:
            width = self.get(raw, "width", int, item)
            if not 1 <= width <= 40:
                self.error(item, f"width {width}: expected 1 to 40 bits")
        if enum:
            if enum not in enums:
                self.error(item, f"unknown enum '{enum}'")
                return None
            if enums[enum].width != width:
                self.error(item, f"width {width}, but enum {enum} has {enums[enum].width} bits")
        is_signed = bool(raw.get("signed", False))
        lowest = -(1 << (width - 1)) if is_signed else 0
        highest = (1 << (width - 1)) - 1 if is_signed else (1 << width) - 1
        low = self.get(raw, "min", int, item, lowest)
        high = self.get(raw, "max", int, item, highest)
        if not group and not lowest <= low <= high <= highest:
            self.error(item, f"range [{low}, {high}] does not lie in [{lowest}, {highest}], what {width} bits hold")
        count = self.get(raw, "count", int, item, 1)
        if count < 1:
            self.error(item, f"count {count}: expected at least 1")
        lsb = self.get(raw, "lsb", int, item)
        if lsb < 0:
            self.error(item, f"lsb {lsb}: expected at least 0")
        return Field(str(raw.get("name")), self.doc(raw, item), lsb, width, max(count, 1), is_signed, enum, group, low, high)

    def fields(self, owner, raws, enums, groups, first, end):
        """Fields of one holder: inside [first, end), no overlap, names unique."""
        out, taken, names = [], {}, set()
        for raw in raws:
            f = self.field(owner, raw, enums, groups)
            if f is None:
                continue
            item = f"{owner}.{f.name}"
            if f.name in names:
                self.error(item, "the name appears twice")
            names.add(f.name)
            if f.lsb < first or f.end > end:
                self.error(item, f"bits {f.lsb}..{f.end - 1} do not lie inside {first}..{end - 1}")
            for bit in range(f.lsb, f.end):
                if bit in taken:
                    self.error(item, f"overlaps {owner}.{taken[bit]} at bit {bit}")
                    break
                taken[bit] = f.name
            out.append(f)
        return out

    def register(self, raw):
        item = f"register {raw.get('name')}"
        self.only_keys(raw, item, {"name", "offset", "access", "reset", "count", "stride", "doc"})
        r = Register(str(raw.get("name")), self.doc(raw, item), self.get(raw, "offset", int, item), raw.get("access", ""),
                     self.get(raw, "reset", int, item), self.get(raw, "count", int, item, 1),
                     self.get(raw, "stride", int, item, 4))
        if not IDENTIFIER.match(r.name):
            self.error(item, "a register is named in snake_case")
        if r.offset % 4 or r.stride % 4 or r.offset < 0 or r.stride < 4:
            self.error(item, f"offset {r.offset} and stride {r.stride}: expected multiples of 4")
        if r.access not in ("ro", "rw", "wo", "rw1c"):
            self.error(item, f"access '{r.access}': expected ro, rw, wo or rw1c")
        if not 0 <= r.reset < 1 << 32:
            self.error(item, f"reset value {r.reset} does not fit 32 bits")
        return r

    def build(self):
        raw = self.raw
        self.only_keys(raw, "top level", {"version", "word_bytes", "max_words", "header_bits", "enums", "groups",
                                          "header", "instructions", "registers"})
        top = {k: self.get(raw, k, int, "top level") for k in ("version", "word_bytes", "max_words", "header_bits")}
        word_bits = top["word_bytes"] * 8
        enums = {n: self.enum(n, e) for n, e in self.get(raw, "enums", dict, "top level").items()}
        for needed in ("Opcode", "QueueId"):
            if needed not in enums:
                self.error("top level", f"enum {needed} is missing")
                enums[needed] = Enum(needed, "", 0, [])
        groups = {}
        for name, g in self.get(raw, "groups", dict, "top level").items():
            self.only_keys(g, name, {"doc", "width", "fields"})
            if not TYPE_NAME.match(name):
                self.error(name, "a group is named in UpperCamelCase")
            width = self.get(g, "width", int, name)
            fields = self.fields(name, self.get(g, "fields", list, name), enums, {}, 0, width)
            groups[name] = Group(name, self.doc(g, name), width, fields)
        header = self.fields("header", self.get(raw, "header", list, "top level"), enums, groups, 0, top["header_bits"])
        opcodes = {n: v for n, v, _ in enums["Opcode"].values}
        queues = {n for n, _, _ in enums["QueueId"].values}
        instructions, seen = [], set()
        for i in self.get(raw, "instructions", list, "top level"):
            name = str(i.get("name"))
            self.only_keys(i, name, {"name", "doc", "queues", "words", "fields"})
            if name not in opcodes:
                self.error(name, "has no value in enum Opcode")
            if name in seen:
                self.error(name, "the instruction appears twice: two opcodes would match the same word")
            seen.add(name)
            words = self.get(i, "words", int, name)
            if not 1 <= words <= top["max_words"]:
                self.error(name, f"{words} words: expected 1 to {top['max_words']}")
            accepted = self.get(i, "queues", list, name)
            for q in accepted:
                if q not in queues:
                    self.error(name, f"unknown queue '{q}'")
            if not accepted:
                self.error(name, "no queue accepts it")
            fields = self.fields(name, self.get(i, "fields", list, name), enums, groups, top["header_bits"],
                                 words * word_bits)
            instructions.append(Instruction(name, self.doc(i, name), opcodes.get(name, 0), accepted, words, fields))
        for name in opcodes:
            if name not in seen:
                self.error(f"Opcode.{name}", "no instruction of that name is described")
        registers, used, names = [], {}, set()
        for r in self.get(raw, "registers", list, "top level"):
            reg = self.register(r)
            if reg.name in names:
                self.error(f"register {reg.name}", "the name appears twice")
            names.add(reg.name)
            for k in range(max(reg.count, 1)):
                offset = reg.offset + k * reg.stride
                if offset in used:
                    self.error(f"register {reg.name}", f"offset {offset} is already register {used[offset]}")
                    break
                used[offset] = reg.name
            registers.append(reg)
        return Isa(top["version"], top["word_bytes"], top["max_words"], top["header_bits"], enums, groups, header,
                   instructions, registers)


def build(raw, file):
    """Returns (Isa, errors)."""
    builder = _Builder(raw, file)
    isa = builder.build()
    return isa, builder.errors
