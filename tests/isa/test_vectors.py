"""The same vectors through three codecs: packed here from isa.json, then checked by C++ (isa_vectors_check) and by the
SystemVerilog package under Verilator: every member of the packed structures, and the *_legal functions.

Usage: test_vectors.py CHECKER PACKAGE.sv WORK_DIR
"""
import os
import random
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
ISA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "isa")
sys.path.insert(0, ISA)

from generator import model, strict_json  # noqa: E402

ROUNDS = 40


def legal_value(isa, f, rng):
    if f.enum:
        return rng.choice(isa.enums[f.enum].values)[1]
    return rng.choice([f.low, f.high, rng.randint(f.low, f.high), min(max(0, f.low), f.high)])


def illegal_choices(isa, i, leaves):
    """(leaf, value) that decode must refuse, over all fields."""
    out = []
    for leaf in leaves:
        f = leaf.field
        if leaf.path == "opcode":
            continue
        lowest, highest = (-(1 << (f.width - 1)), (1 << (f.width - 1)) - 1) if f.is_signed else (0, (1 << f.width) - 1)
        if leaf.path == "words":
            out += [(leaf, v) for v in range(4) if v != i.words - 1]
        elif f.enum:
            known = {v for _, v, _ in isa.enums[f.enum].values}
            out += [(leaf, v) for v in range(1 << f.width) if v not in known]
        else:
            out += [(leaf, v) for v in (f.low - 1, f.high + 1) if lowest <= v <= highest]
    return out


def pack(values, leaves):
    bits = 0
    for leaf in leaves:
        bits |= (values[leaf.path] & ((1 << leaf.field.width) - 1)) << leaf.lsb
    return bits


def vectors(isa, i):
    """Of one instruction: (legal, bits, values)."""
    rng = random.Random(i.opcode)
    leaves = model.leaves_of(isa, isa.header) + model.leaves_of(isa, i.fields)
    size = i.words * isa.word_bits
    used = 0
    for leaf in leaves:
        used |= ((1 << leaf.field.width) - 1) << leaf.lsb
    out = []

    def fresh():
        values = {leaf.path: legal_value(isa, leaf.field, rng) for leaf in leaves}
        values.update(opcode=i.opcode, words=i.words - 1)
        return values

    for _ in range(ROUNDS):
        values = fresh()
        out.append((1, pack(values, leaves), values))
    for leaf, value in illegal_choices(isa, i, leaves):
        values = fresh()
        values[leaf.path] = value
        out.append((0, pack(values, leaves), values))
    for bit in range(size):
        if not used >> bit & 1:
            values = fresh()
            out.append((0, pack(values, leaves) | 1 << bit, values))
    return out


def sv_member(path):
    return "f_" + path.replace(".", ".f_")


def testbench(isa, all_vectors, work):
    """One check per vector and field, in loops over memories of expected values."""
    out = ["`timescale 1ns/1ps", "module tb;", "  import tessera_isa_pkg::*;", "  int errors = 0;", "  int checks = 0;"]
    for i in isa.instructions:
        found = all_vectors[i.name]
        size = i.words * isa.word_bits
        leaves = model.leaves_of(isa, isa.header) + model.leaves_of(isa, i.fields)
        with open(os.path.join(work, f"{i.name}.hex"), "w", encoding="ascii") as f:
            f.writelines(f"{bits:0{size // 4}x}\n" for _, bits, _ in found)
        with open(os.path.join(work, f"{i.name}_fields.hex"), "w", encoding="ascii") as f:
            for legal, _, values in found:
                row = [legal] + [values[leaf.path] for leaf in leaves]
                f.writelines(f"{v & (1 << 64) - 1:016x}\n" for v in row)
        columns = len(leaves) + 1
        out.append(f"  logic [{size - 1}:0] {i.name}_w [{len(found)}];")
        out.append(f"  logic [63:0] {i.name}_f [{len(found) * columns}];")
        out.append(f"  header_t {i.name}_h;\n  {i.name}_body_t {i.name}_b;")
        out.append("  initial begin")
        out.append(f'    $readmemh("{work}/{i.name}.hex", {i.name}_w);')
        out.append(f'    $readmemh("{work}/{i.name}_fields.hex", {i.name}_f);')
        out.append(f"    for (int v = 0; v < {len(found)}; v++) begin")
        out.append(f"      {{{i.name}_b, {i.name}_h}} = {i.name}_w[v];")
        out.append(f"      checks++;\n      if ({i.name}_legal({i.name}_w[v]) != {i.name}_f[v*{columns}][0]) begin")
        out.append(f'        errors++; $display("{i.name} vector %0d: legal is wrong", v);\n      end')
        out.append(f"      if ($bits({i.name}_b) + $bits({i.name}_h) != {i.name.capitalize()}Bits) errors++;")
        for n, leaf in enumerate(leaves):
            holder = f"{i.name}_h" if n < len(model.leaves_of(isa, isa.header)) else f"{i.name}_b"
            member = f"{holder}.{sv_member(leaf.path)}"
            width = leaf.field.width
            out.append(f"      if ({member} != {i.name}_f[v*{columns}+{n + 1}][{width - 1}:0]) begin errors++; "
                       f'$display("{i.name} vector %0d: {leaf.path} is wrong", v); end')
        out.append("    end\n  end")
    out.append('  initial begin #1; $display("%0d checks, %0d errors", checks, errors); $finish; end')
    out.append("endmodule\n")
    return "\n".join(out)


def main():
    checker, package, work = sys.argv[1:]
    os.makedirs(work, exist_ok=True)
    isa, errors = model.build(strict_json.load(os.path.join(ISA, "isa.json")), "isa.json")
    assert not errors, errors
    all_vectors = {i.name: vectors(isa, i) for i in isa.instructions}
    total = sum(len(v) for v in all_vectors.values())
    lines = []
    for i in isa.instructions:
        for legal, bits, values in all_vectors[i.name]:
            words = bits.to_bytes(i.words * isa.word_bytes, "little").hex()
            lines.append(f"{legal} {words} " + " ".join(f"{k}={v}" for k, v in values.items()) + "\n")
    path = os.path.join(work, "vectors.txt")
    with open(path, "w", encoding="ascii") as f:
        f.writelines(lines)
    done = subprocess.run([checker, path], capture_output=True, text=True, check=False)
    print("C++:", done.stdout.strip(), done.stderr.strip())
    if done.returncode or done.stdout.strip() != f"{total} vectors":
        return 1
    if not shutil.which("verilator"):
        print("SystemVerilog: SKIPPED, no verilator")
        return 0
    bench = os.path.join(work, "tb.sv")
    with open(bench, "w", encoding="ascii") as f:
        f.write(testbench(isa, all_vectors, work))
    build = subprocess.run(["verilator", "--binary", "-Wno-fatal", "-Wno-lint", "-CFLAGS", "-O0", "--Mdir", os.path.join(work, "obj"),
                            "--top-module", "tb", package, bench], capture_output=True, text=True, check=False)
    if build.returncode:
        print(build.stdout[-3000:], build.stderr[-3000:])
        return 1
    ran = subprocess.run([os.path.join(work, "obj", "Vtb")], capture_output=True, text=True, check=False)
    print("SystemVerilog:", ran.stdout.strip()[-2000:])
    return 0 if f"{total} checks, 0 errors" in ran.stdout else 1


if __name__ == "__main__":
    sys.exit(main())
