"""tessera_isa_pkg.sv: enums, field positions, packed structures, legality functions, register offsets."""
from .model import camel, leaves_of
from .text import banner


def sv_name(path):
    """dims[0].sram_stride -> Dims0SramStride."""
    return camel(path.replace("[", "_").replace("]", "").replace(".", "_"))


def _struct(isa, name, doc, fields, end, first=0):
    """A packed struct of bits end-1 .. first, most significant first, gaps named reserved."""
    parts, at, gap = [], first, 0
    for f in sorted(fields, key=lambda f: f.lsb):
        if f.lsb > at:
            parts.append(f"    logic [{f.lsb - at - 1}:0] reserved{gap};")
            gap += 1
        if f.group:
            kind = f"{snake(f.group)}_t"
            parts.append(f"    {kind} {'[' + str(f.count - 1) + ':0] ' if f.count > 1 else ''}f_{f.name};")
        else:
            sign = "signed " if f.is_signed else ""
            array = f"[{f.count - 1}:0]" if f.count > 1 else ""
            parts.append(f"    logic {sign}{array}[{f.width - 1}:0] f_{f.name};  // {f.doc}")
        at = f.end
    if at < end:
        parts.append(f"    logic [{end - at - 1}:0] reserved{gap};")
    body = "\n".join(reversed(parts))
    return f"  // {doc}\n  typedef struct packed {{\n{body}\n  }} {name};\n"


def snake(name):
    return "".join("_" + c.lower() if c.isupper() else c for c in name).lstrip("_")


def package(isa):
    out = [banner("//", "isa.json")]
    out.append("""// Bit i of an instruction is bit i of {word[n-1], ..., word[0]}; byte 0 of a word is bits 7..0. Members of the packed
// structures carry the prefix f_, since some names of fields are words of the language.
`timescale 1ns/1ps
/* verilator lint_off UNUSED */
package tessera_isa_pkg;
""")
    out.append(f"  localparam int unsigned WordBytes = {isa.word_bytes};")
    out.append(f"  localparam int unsigned WordBits = {isa.word_bits};")
    out.append(f"  localparam int unsigned MaxWords = {isa.max_words};")
    out.append(f"  localparam int unsigned HeaderBits = {isa.header_bits};")
    out.append(f"  localparam int unsigned IsaVersion = {isa.version};\n")
    for e in isa.enums.values():
        out.append(f"  // {e.doc}")
        out.append(f"  typedef enum logic [{e.width - 1}:0] {{")
        out.append(",\n".join(f"    {e.name}{camel(n)} = {e.width}'d{v}" for n, v, _ in e.values))
        out.append(f"  }} {snake(e.name)}_e;\n")
    for g in isa.groups.values():
        out.append(_struct(isa, f"{snake(g.name)}_t", g.doc, g.fields, g.width))
    out.append(_struct(isa, "header_t", "First bits of every instruction.", isa.header, isa.header_bits))
    for leaf in leaves_of(isa, isa.header):
        out.append(f"  localparam int unsigned Header{sv_name(leaf.path)}Lsb = {leaf.lsb};")
        out.append(f"  localparam int unsigned Header{sv_name(leaf.path)}Width = {leaf.field.width};")
    for i in isa.instructions:
        t = i.type_name
        out.append(f"\n  // {i.name}: {i.doc}")
        out.append(f"  localparam int unsigned {t}Words = {i.words};")
        out.append(f"  localparam int unsigned {t}Bits = {i.words * isa.word_bits};")
        for leaf in leaves_of(isa, i.fields):
            out.append(f"  localparam int unsigned {t}{sv_name(leaf.path)}Lsb = {leaf.lsb};")
            out.append(f"  localparam int unsigned {t}{sv_name(leaf.path)}Width = {leaf.field.width};")
        out.append(_struct(isa, f"{i.name}_body_t", f"Bits {t}Bits-1 .. HeaderBits of {i.name}.", i.fields,
                           i.words * isa.word_bits, isa.header_bits))
        out.append(_legal(isa, i))
    out.append(_queue_accepts(isa))
    out.append(_words_of(isa))
    out.append("  // Offsets of the control port.")
    for r in isa.registers:
        out.append(f"  localparam logic [15:0] Reg{camel(r.name)} = 16'd{r.offset};  // {r.access}: {r.doc}")
        if r.count > 1:
            out.append(f"  localparam int unsigned Reg{camel(r.name)}Count = {r.count};")
            out.append(f"  localparam int unsigned Reg{camel(r.name)}Stride = {r.stride};")
        if r.reset:
            out.append(f"  localparam logic [31:0] Reg{camel(r.name)}Reset = 32'd{r.reset};")
    out.append("\nendpackage\n/* verilator lint_on UNUSED */\n")
    return "\n".join(out)


def _legal(isa, i):
    """What decode() checks of an instruction whose opcode is known: length, reserved bits, ranges, enum values."""
    bits = i.words * isa.word_bits
    used, checks = 0, [f"w[{isa_lsb(isa, 'words')}+:2] == 2'd{i.words - 1}"]
    for leaf in leaves_of(isa, isa.header) + leaves_of(isa, i.fields):
        f, here = leaf.field, f"w[{leaf.lsb}+:{leaf.field.width}]"
        used |= ((1 << f.width) - 1) << leaf.lsb
        if f.enum:
            if leaf.path != "opcode" and len(isa.enums[f.enum].values) < 1 << f.width:
                options = " || ".join(f"{here} == {f.width}'d{v}" for _, v, _ in isa.enums[f.enum].values)
                checks.append(f"({options})")
            continue
        lowest = -(1 << (f.width - 1)) if f.is_signed else 0
        highest = (1 << (f.width - 1)) - 1 if f.is_signed else (1 << f.width) - 1
        value = f"$signed({here})" if f.is_signed else here
        literal = "{w}'sd{v}" if f.is_signed else "{w}'d{v}"

        def number(v):
            return ("-" if v < 0 else "") + literal.format(w=f.width, v=abs(v))
        if f.low > lowest:
            checks.append(f"{here} != {f.width}'d0" if f.low == 1 and not f.is_signed else f"{value} >= {number(f.low)}")
        if f.high < highest:
            checks.append(f"{here} == {f.width}'d0" if f.high == 0 and not f.is_signed else f"{value} <= {number(f.high)}")
    reserved = ((1 << bits) - 1) & ~used
    if reserved:
        checks.append(f"(w & {bits}'h{reserved:x}) == {bits}'d0")
    joined = "\n        && ".join(checks)
    return (f"  // 1: length, reserved bits and every range of {i.name} are legal; the opcode is taken for granted.\n"
            f"  function automatic logic {i.name}_legal(input logic [{bits - 1}:0] w);\n"
            f"    return {joined};\n  endfunction\n")


def isa_lsb(isa, name):
    return next(f.lsb for f in isa.header if f.name == name)


def _queue_accepts(isa):
    out = ["\n  // 1: the queue takes the opcode.",
           "  function automatic logic queue_accepts(input logic [3:0] queue, input logic [7:0] opcode);",
           "    unique case (opcode)"]
    for i in isa.instructions:
        numbers = [v for n, v, _ in isa.enums["QueueId"].values if n in i.queues]
        terms = " || ".join(f"queue == 4'd{v}" for v in numbers)
        out.append(f"      8'd{i.opcode}: return {terms};")
    out += ["      default: return 1'b0;", "    endcase", "  endfunction"]
    return "\n".join(out)


def _words_of(isa):
    out = ["\n  // Words of an instruction by opcode; 0: no such opcode.",
           "  function automatic logic [2:0] words_of(input logic [7:0] opcode);", "    unique case (opcode)"]
    out += [f"      8'd{i.opcode}: return 3'd{i.words};" for i in isa.instructions]
    out += ["      default: return 3'd0;", "    endcase", "  endfunction\n"]
    return "\n".join(out)
