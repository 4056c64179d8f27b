"""Every proof of isa/generate.py is fed a description that breaks it; the committed page is compared."""
import copy
import os
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ISA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "isa")
sys.path.insert(0, ISA)

from generator import chip, emit_reference, model, strict_json  # noqa: E402

RAW = strict_json.load(os.path.join(ISA, "isa.json"))
CHIP = strict_json.load(os.path.join(ISA, "chip_schema.json"))


def instruction(raw, name):
    return next(i for i in raw["instructions"] if i["name"] == name)


def field(holder, name):
    return next(f for f in holder["fields"] if f["name"] == name)


class IsaProofs(unittest.TestCase):
    def broken(self, change, *expected):
        raw = copy.deepcopy(RAW)
        change(raw)
        _, errors = model.build(raw, "isa.json")
        for text in expected:
            self.assertIn(f"isa.json: {text}", errors)

    def test_the_isa_itself_is_well_formed(self):
        isa, errors = model.build(copy.deepcopy(RAW), "isa.json")
        self.assertEqual(errors, [])
        self.assertEqual(len(isa.instructions), 8)

    def test_fields_lie_inside_their_words(self):
        self.broken(lambda r: field(instruction(r, "nop"), "cycles").update(lsb=500),
                    "nop.cycles: bits 500..531 do not lie inside 160..511")
        self.broken(lambda r: field(instruction(r, "nop"), "cycles").update(lsb=159),
                    "nop.cycles: bits 159..190 do not lie inside 160..511")
        self.broken(lambda r: r["groups"]["Wait"]["fields"][1].update(lsb=9),
                    "Wait.count: bits 9..16 do not lie inside 0..15")
        self.broken(lambda r: r["header"][5].update(count=5), "header.signals: bits 96..175 do not lie inside 0..159")
        self.broken(lambda r: instruction(r, "load").update(words=1),
                    "load.wrap_rows: bits 640..655 do not lie inside 160..511")

    def test_fields_do_not_overlap(self):
        self.broken(lambda r: field(instruction(r, "gemm"), "shift").update(lsb=622),
                    "gemm.shift: overlaps gemm.multiplier at bit 622")
        self.broken(lambda r: r["header"][2].update(lsb=9), "header.overlap: overlaps header.words at bit 9")
        self.broken(lambda r: r["groups"]["DmaDim"]["fields"][1].update(lsb=15),
                    "DmaDim.dram_stride: overlaps DmaDim.count at bit 15")

    def test_opcodes_are_unique(self):
        self.broken(lambda r: r["enums"]["Opcode"]["values"][1].update(value=1),
                    "Opcode.load: value 1 is already nop: two opcodes would match the same word")
        self.broken(lambda r: r["instructions"].append(copy.deepcopy(instruction(r, "nop"))),
                    "nop: the instruction appears twice: two opcodes would match the same word")
        self.broken(lambda r: instruction(r, "dsp").update(name="dspx"), "dspx: has no value in enum Opcode",
                    "Opcode.dsp: no instruction of that name is described")
        self.broken(lambda r: r["enums"]["Opcode"]["values"][0].update(value=256), "Opcode.nop: value 256 does not fit 8 bits")

    def test_registers_are_aligned_and_unique(self):
        self.broken(lambda r: r["registers"][1].update(offset=6),
                    "register isa_version: offset 6 and stride 4: expected multiples of 4")
        self.broken(lambda r: r["registers"][1].update(offset=0), "register isa_version: offset 0 is already register id")
        self.broken(lambda r: next(x for x in r["registers"] if x["name"] == "semaphore").update(count=65),
                    "register cycle_low: offset 1024 is already register semaphore")
        self.broken(lambda r: r["registers"][0].update(access="r"), "register id: access 'r': expected ro, rw, wo or rw1c")
        self.broken(lambda r: r["registers"][0].update(reset=1 << 32),
                    "register id: reset value 4294967296 does not fit 32 bits")

    def test_everything_is_documented(self):
        rule = "is not documented: every item needs a 'doc' sentence"
        self.broken(lambda r: field(instruction(r, "conv"), "kh").pop("doc"), f"conv.kh: {rule}")
        self.broken(lambda r: r["enums"]["EdpOp"]["values"][0].update(doc=" "), f"EdpOp.none: {rule}")
        self.broken(lambda r: instruction(r, "gemm").pop("doc"), f"gemm: {rule}")
        self.broken(lambda r: r["registers"][3].pop("doc"), f"register status: {rule}")
        self.broken(lambda r: r["groups"]["SramTensor"].pop("doc"), f"SramTensor: {rule}")
        self.broken(lambda r: r["enums"]["ConvMode"].pop("doc"), f"ConvMode: {rule}")

    def test_ranges_enums_and_groups_exist(self):
        self.broken(lambda r: field(instruction(r, "conv"), "kh").update(max=256),
                    "conv.kh: range [1, 256] does not lie in [0, 255], what 8 bits hold")
        self.broken(lambda r: field(instruction(r, "conv"), "mode").update(enum="Mode"), "conv.mode: unknown enum 'Mode'")
        self.broken(lambda r: field(instruction(r, "conv"), "mode").update(width=3),
                    "conv.mode: width 3, but enum ConvMode has 2 bits")
        self.broken(lambda r: field(instruction(r, "conv"), "in").update(group="Map"), "conv.in: unknown group 'Map'")
        self.broken(lambda r: instruction(r, "conv")["queues"].append("conv9"), "conv: unknown queue 'conv9'")
        self.broken(lambda r: instruction(r, "conv").update(words=5), "conv: 5 words: expected 1 to 4")
        self.broken(lambda r: field(instruction(r, "conv"), "kh").update(width=41), "conv.kh: width 41: expected 1 to 40 bits")

    def test_unknown_keys_and_wrong_types(self):
        self.broken(lambda r: field(instruction(r, "conv"), "kh").update(sgined=True),
                    "conv.kh: unknown key 'sgined'; known: count, doc, enum, group, lsb, max, min, name, signed, width")
        self.broken(lambda r: field(instruction(r, "conv"), "kh").update(lsb="1"), "conv.kh: 'lsb' is '1': expected a int")
        self.broken(lambda r: field(instruction(r, "conv"), "kh").update(name="Kh"),
                    "conv.Kh: a field is named in snake_case")


class ChipProofs(unittest.TestCase):
    def broken(self, change, expected):
        raw = copy.deepcopy(CHIP)
        change({k["path"]: k for k in raw["keys"]}, raw)
        _, errors = chip.build(raw, "chip_schema.json")
        self.assertIn(f"chip_schema.json: {expected}", errors)

    def test_the_schema_itself_is_well_formed(self):
        keys, errors = chip.build(copy.deepcopy(CHIP), "chip_schema.json")
        self.assertEqual(errors, [])
        self.assertGreater(len(keys), 50)

    def test_proofs(self):
        self.broken(lambda k, r: k["cores"].update(tag="fast"), "cores: tag 'fast': expected one of arch, timing, cost")
        self.broken(lambda k, r: k["cores"].update(type="int"),
                    "cores: type 'int': expected one of uint, string, choice, shapes, clocks")
        self.broken(lambda k, r: k["cores"].update(min=3), "cores: range [3, 2]: expected 0 <= min <= max < 2^63")
        self.broken(lambda k, r: k["cores"].pop("doc"), "cores: is not documented: every key needs a 'doc' sentence")
        self.broken(lambda k, r: k["cores"].pop("unit"), "cores: needs a 'unit' (empty for none)")
        self.broken(lambda k, r: r["keys"].append(dict(k["cores"])), "cores: the path appears twice")
        self.broken(lambda k, r: k["cores"].update(path="gemm"), "gemm.rows: is both a value and a part, see gemm")
        self.broken(lambda k, r: k["cores"].update(path="a.b.c"),
                    "a.b.c: a path is one or two snake_case words joined by a dot")
        self.broken(lambda k, r: k["dram.refresh"].update(choices=["x", "x"]),
                    "dram.refresh: a choice needs different 'choices'")


class Command(unittest.TestCase):
    def run_generator(self, *arguments):
        return subprocess.run(["/usr/bin/python3", "-B", os.path.join(ISA, "generate.py"), *arguments],
                              capture_output=True, text=True, check=False)

    def test_a_broken_file_prints_file_item_rule_and_writes_nothing(self):
        with tempfile.TemporaryDirectory() as tmp:
            bad = os.path.join(tmp, "bad.json")
            with open(os.path.join(ISA, "isa.json"), encoding="utf-8") as f:
                text = f.read()
            with open(bad, "w", encoding="utf-8") as f:
                f.write(text.replace('"name": "cycles", "width": 32', '"name": "cycles", "width": 400'))
            out = os.path.join(tmp, "out")
            done = self.run_generator("--isa", bad, "--out", out)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"{bad}: nop.cycles: width 400: expected 1 to 40 bits\n", done.stderr)
            self.assertFalse(os.path.exists(out))

    def test_repeated_keys_are_refused(self):
        with tempfile.TemporaryDirectory() as tmp:
            bad = os.path.join(tmp, "bad.json")
            with open(bad, "w", encoding="utf-8") as f:
                f.write('{"version": 1, "version": 2}')
            done = self.run_generator("--isa", bad)
            self.assertEqual((done.returncode, done.stderr), (2, f"{bad}: key 'version' appears twice\n"))

    def test_unchanged_files_are_not_written(self):
        with tempfile.TemporaryDirectory() as tmp:
            self.assertEqual(self.run_generator("--out", tmp).returncode, 0)
            path = os.path.join(tmp, "isa", "isa.hpp")
            os.utime(path, (1, 1))
            self.assertEqual(self.run_generator("--out", tmp).returncode, 0)
            self.assertEqual(os.stat(path).st_mtime, 1)

    def test_the_committed_page_is_current(self):
        isa, _ = model.build(copy.deepcopy(RAW), "isa.json")
        keys, _ = chip.build(copy.deepcopy(CHIP), "chip_schema.json")
        with open(os.path.join(ISA, "REFERENCE.md"), encoding="utf-8") as f:
            self.assertEqual(f.read(), emit_reference.page(isa, keys), "run isa/generate.py --reference isa/REFERENCE.md")


if __name__ == "__main__":
    unittest.main()
