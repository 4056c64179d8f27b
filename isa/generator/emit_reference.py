"""isa/REFERENCE.md: what people read. Committed; a test regenerates and compares."""
from .model import leaves_of


def _range(isa, f):
    if f.enum:
        return f.enum
    return f"{f.low} .. {f.high}"


def _table(isa, fields):
    out = ["| bits | field | range | meaning |", "|---|---|---|---|"]
    for f in fields:
        name = f.name + (f"[{f.count}]" if f.count > 1 else "")
        kind = f"[{f.group}](#{f.group.lower()})" if f.group else _range(isa, f)
        out.append(f"| {f.end - 1}..{f.lsb} | {name} | {kind} | {f.doc} |")
    return out


def page(isa, keys):
    out = ["# ISA reference", "",
           "Generated from isa.json and chip_schema.json by `isa/generate.py --reference isa/REFERENCE.md`; a test compares.",
           "",
           f"Version {isa.version}. An instruction is 1 to {isa.max_words} words of {isa.word_bytes} bytes, little-endian: bit i "
           "is bit i % 8 of byte i / 8,",
           "counted over its words. Bits that no field names are reserved: zero, and checked. A value out of range is the fault",
           "`illegal_word`.", "", "## Header", ""]
    out += _table(isa, isa.header)
    for i in isa.instructions:
        bits = sum(leaf.field.width for leaf in leaves_of(isa, i.fields))
        out += ["", f"## {i.name}", "", i.doc, "",
                f"Opcode {i.opcode}, {i.words} word{'s' if i.words > 1 else ''}, {bits} bits used beyond the header; queues: "
                f"{', '.join(i.queues)}.", ""]
        out += _table(isa, i.fields)
    out += ["", "## Groups", ""]
    for g in isa.groups.values():
        out += [f"### {g.name}", "", f"{g.doc} {g.width} bits.", ""]
        out += _table(isa, g.fields) + [""]
    out += ["## Enums", ""]
    for e in isa.enums.values():
        out += [f"### {e.name}", "", e.doc, "", "| value | name | meaning |", "|---|---|---|"]
        out += [f"| {v} | {n} | {d} |" for n, v, d in e.values] + [""]
    out += ["## Registers", "", "| offset | name | access | reset | meaning |", "|---|---|---|---|---|"]
    for r in isa.registers:
        name = r.name + (f"[{r.count}], stride {r.stride}" if r.count > 1 else "")
        out.append(f"| 0x{r.offset:03x} | {name} | {r.access} | 0x{r.reset:x} | {r.doc} |")
    out += ["", "## Chip-file keys", "", "| key | type | range | unit | tag | meaning |", "|---|---|---|---|---|---|"]
    for k in keys:
        span = f"{k.low} .. {k.high}" if k.type in ("uint", "clocks") else ", ".join(k.choices)
        if k.default not in (None, {}):
            span += f"; default {k.default}"
        out.append(f"| {k.path} | {k.type} | {span} | {k.unit} | {k.tag} | {k.doc} |")
    return "\n".join(out) + "\n"
