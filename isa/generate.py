#!/usr/bin/python3
"""Generates from isa.json and chip_schema.json: C++ codec and chip structure, SystemVerilog package, firmware header,
reference page. First proves that the descriptions are well formed; a failing proof prints file, item and rule.

  isa/generate.py --out BUILD/generated         everything that goes to the build directory
  isa/generate.py --reference isa/REFERENCE.md   the page that is committed
Files are written only when their bytes changed.
"""
import argparse
import os
import sys

sys.dont_write_bytecode = True  # never write next to sources
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from generator import chip, emit_c, emit_chip, emit_cpp, emit_reference, emit_sv, model, strict_json  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))


def write_if_changed(path, text):
    data = text.encode("utf-8")
    try:
        with open(path, "rb") as f:
            if f.read() == data:
                return
    except OSError:
        pass
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    beside = path + ".part"
    with open(beside, "wb") as f:
        f.write(data)
    os.replace(beside, path)


def load_all(isa_path, chip_path):
    isa, errors = model.build(strict_json.load(isa_path), isa_path)
    keys, chip_errors = chip.build(strict_json.load(chip_path), chip_path)
    errors = errors + chip_errors
    if errors:
        raise strict_json.BadInput("\n".join(errors))
    return isa, keys


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--isa", default=os.path.join(HERE, "isa.json"))
    parser.add_argument("--chip-schema", default=os.path.join(HERE, "chip_schema.json"))
    parser.add_argument("--chips", nargs="*", default=[], help="chip files built into the binary")
    parser.add_argument("--out", help="directory of the generated code")
    parser.add_argument("--reference", help="where to write the reference page")
    args = parser.parse_args()
    try:
        isa, keys = load_all(args.isa, args.chip_schema)
        files = {}
        if args.out:
            files["isa/isa.hpp"] = emit_cpp.header(isa)
            files["isa/isa.cpp"] = emit_cpp.source(isa)
            files["isa/chip.hpp"] = emit_chip.header(keys)
            files["isa/chip.cpp"] = emit_chip.source(keys)
            files["isa/builtin_chips.cpp"] = emit_chip.builtin(args.chips)
            files["tessera_isa_pkg.sv"] = emit_sv.package(isa)
            files["tessera_isa.h"] = emit_c.header(isa)
    except strict_json.BadInput as e:
        sys.stderr.write(f"{e}\n")
        return 2
    for name, text in files.items():
        write_if_changed(os.path.join(args.out, name), text)
    if args.reference:
        write_if_changed(args.reference, emit_reference.page(isa, keys))
    return 0


if __name__ == "__main__":
    sys.exit(main())
